package pool

import (
	"math"
	"math/bits"
	"sync"
)

// What a run computes in is as long as what those of its like do. It is lent, so that a
// job of a batch neither clears tens of megabytes nor has the system find and clear pages
// for them before its first step: the job before it gave them back. The collector takes
// what nobody asks for.

// leastLent is the length from which it is worth while.
const leastLent = 1 << 11

// A shelf holds arrays of one capacity that were lent before.
type shelf[T float32 | float64] struct{ sizes sync.Map } // capacity to *sync.Pool of *[]T

var (
	float32s shelf[float32]
	float64s shelf[float64]
)

// A loan is what was lent together.
type loan struct {
	float32s lending[float32]
	float64s lending[float64]
}

type lending[T float32 | float64] struct{ out []*[]T }

// Lending calls f and returns how to give back what Float32s and Float64s lent to it,
// which nobody may use any longer then.
func (p *Pool) Lending(f func()) (giveBack func()) {
	l, before := new(loan), p.loan
	p.loan = l
	defer func() { p.loan = before }()
	f()
	return func() {
		l.float32s.giveBack(&float32s)
		l.float64s.giveBack(&float64s)
	}
}

// Float32s returns n numbers: for what is written before it is read. In a loan they are
// any numbers.
func (p *Pool) Float32s(n int) []float32 {
	if p.loan == nil {
		return make([]float32, n)
	}
	return p.loan.float32s.take(&float32s, n)
}

// Float64s is Float32s of float64.
func (p *Pool) Float64s(n int) []float64 {
	if p.loan == nil {
		return make([]float64, n)
	}
	return p.loan.float64s.take(&float64s, n)
}

func (l *lending[T]) take(from *shelf[T], n int) []T {
	if n < leastLent && !SpoilLent {
		return make([]T, n)
	}
	of := from.of(capacity(n))
	s, ok := of.Get().(*[]T)
	if !ok {
		all := make([]T, capacity(n))
		s = &all
	}
	l.out = append(l.out, s)
	return (*s)[:n:n]
}

// SpoilLent has arrays of all lengths lent, and filled with NaN when they are given back,
// of which nothing may come to light. Tests set it.
var SpoilLent bool

// giveBack lets others have what was lent.
func (l *lending[T]) giveBack(to *shelf[T]) {
	for _, s := range l.out {
		if SpoilLent {
			for i := range *s {
				(*s)[i] = T(math.NaN())
			}
		}
		to.of(len(*s)).Put(s)
	}
	l.out = nil
}

func (s *shelf[T]) of(capacity int) *sync.Pool {
	if p, ok := s.sizes.Load(capacity); ok {
		return p.(*sync.Pool)
	}
	p, _ := s.sizes.LoadOrStore(capacity, new(sync.Pool))
	return p.(*sync.Pool)
}

// capacity rounds a length up to one of eight between a power of two and the next.
func capacity(n int) int {
	step := 1 << max(0, bits.Len(uint(n-1))-4)
	return (n + step - 1) / step * step
}
