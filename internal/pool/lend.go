package pool

import (
	"math"
	"math/bits"
	"sync"
)

// Runs of a batch compute in buffers of the same lengths, so buffers are lent. A job takes
// those that the job before it gave back: it neither clears tens of megabytes nor has the
// system find and clear pages for them before its first step. The collector takes what
// nobody asks for.

// leastLent is the length from which it is worth while.
const leastLent = 1 << 11

// shelves hold arrays that were lent before: capacity to *sync.Pool of *[]float32.
var shelves sync.Map

// A loan is what was lent together.
type loan struct{ out []*[]float32 }

// Lending calls f and returns how to give back what Float32s lent to it, which nobody may
// use any longer then.
func (p *Pool) Lending(f func()) (giveBack func()) {
	l, before := new(loan), p.loan
	p.loan = l
	defer func() { p.loan = before }()
	f()
	return l.giveBack
}

// Float32s returns n numbers: for what is written before it is read. In a loan they are
// any numbers. A nil pool lends nothing.
func (p *Pool) Float32s(n int) []float32 {
	if p == nil || p.loan == nil {
		return make([]float32, n)
	}
	return p.loan.take(n)
}

func (l *loan) take(n int) []float32 {
	if n < leastLent && !SpoilLent {
		return make([]float32, n)
	}
	s, ok := shelf(capacity(n)).Get().(*[]float32)
	if !ok {
		all := make([]float32, capacity(n))
		s = &all
	}
	l.out = append(l.out, s)
	return (*s)[:n:n]
}

// SpoilLent has arrays of all lengths lent, and filled with NaN when they are given back,
// of which nothing may come to light. Tests set it.
var SpoilLent bool

// giveBack lets others have what was lent.
func (l *loan) giveBack() {
	for _, s := range l.out {
		if SpoilLent {
			for i := range *s {
				(*s)[i] = float32(math.NaN())
			}
		}
		shelf(len(*s)).Put(s)
	}
	l.out = nil
}

func shelf(capacity int) *sync.Pool {
	if p, ok := shelves.Load(capacity); ok {
		return p.(*sync.Pool)
	}
	p, _ := shelves.LoadOrStore(capacity, new(sync.Pool))
	return p.(*sync.Pool)
}

// capacity rounds a length up to one of eight between a power of two and the next.
func capacity(n int) int {
	step := 1 << max(0, bits.Len(uint(n-1))-4)
	return (n + step - 1) / step * step
}
