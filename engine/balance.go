package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/conf"
)

// A Balancing says which reversible moves the loss of detailed balance compares states
// by: a mixture of local moves, the configuration's transition, and of independence
// Metropolis, whose proposals are other samples of the generator.
type Balancing struct {
	// Partners is the fraction of the pairs whose s′ is an independent sample of the
	// generator. Local moves reach where the generator draws too little; independent
	// partners compare what local moves do not connect, the weights of distant modes
	// first of all. With 1 no local moves are made, and the gradient is that of
	// KL(q‖π), twice.
	Partners float64 `json:"partners" when:"kind=balance"`
}

// Validate reports the first value that cannot be used, by its key.
func (b *Balancing) Validate() error { return conf.Fraction("partners", b.Partners) }

// A Balance is the loss of detailed balance of a generator whose density q is known,
//
//	L = ½ E (R(s) − R(s′))²,   R = ln q − ln π̃,
//
// over pairs that a kernel P connects which is reversible with respect to π, so that
//
//	R(s) − R(s′) = ln [q(s) P(s, s′) / (q(s′) P(s′, s))]
//
// is how far detailed balance is violated between them. It is zero exactly where q = π on
// what P connects, needs of π what an acceptance ratio needs, and its gradient with both
// states held fixed,
//
//	E [(R(s) − R(s′)) ∇(ln q(s) − ln q(s′))],
//
// has no noise there. Some of the N samples s of a batch have moved, each to its own s′.
// Those that have not are compared with one another: over all pairs of the batch L is the
// variance of R.
type Balance struct {
	R     []float64 // of each s
	RNext []float64 // of each s′; of a sample that does not move it is not read
	C     []float64 // the coefficient of ∇ln q(s)
	CNext []float64 // that of ∇ln q(s′), 0 where there is none
	// Apart is how far from its mean R of an independent sample may be before its slope stays,
	// as Huber's does; 0 for no bound.
	Apart float64

	sorted        []float64
	block, moving int // of so many samples, so many move
	moved         int // in all
	rate          float64
}

// NewBalance makes room for n samples in blocks of so many. The first of each block move, in
// numbers that are multiples of unit, so that all do together what Partners leaves.
func NewBalance(b Balancing, n, block, unit int) *Balance {
	l := &Balance{
		R: make([]float64, n), RNext: make([]float64, n), C: make([]float64, n), CNext: make([]float64, n),
		sorted: make([]float64, n), block: block, moving: int(math.Round((1-b.Partners)*float64(block)/float64(unit))) * unit,
	}
	if b.Partners < 1 {
		l.moving = max(l.moving, unit)
	}
	for lo := 0; lo < n; lo += block {
		l.moved += l.Moving(lo, min(lo+block, n)) - lo
	}
	return l
}

// Moving returns the end of the samples that move, of the block of samples lo … hi−1.
func (l *Balance) Moving(lo, hi int) int { return min(lo+l.moving, hi) }

// Moved returns how many samples move.
func (l *Balance) Moved() int { return l.moved }

// Limits of what one state counts.
const (
	// outside is by how much a state where π vanishes, and R has no end, counts more
	// than the largest R of others.
	outside = 10
	// mostDifference bounds R(s) − R(s′) of a local move in the gradient, which beyond
	// it is that of Huber's loss: a walker that leaves what the generator covers comes
	// where ln q is as low as −10⁴, and would alone decide the step.
	mostDifference = 10
	// mostOff is how far R may be from the batch's median. A state beyond, or whose R is not
	// known, has no part in the gradient: its weight vanishes against the others', or it is one
	// that the generator no longer makes since its batch was drawn, and either would alone decide
	// the step. In the loss it counts as one that is just so far, so that a generator that loses
	// states is seen to.
	mostOff = 1000
)

// Measure returns L of the batch whose R and Next are set, and sets the coefficients.
func (l *Balance) Measure() float64 {
	n := float64(len(l.R))
	l.bound()
	median := l.median()
	off := func(r float64) bool { return !(math.Abs(r-median) <= mostOff) }
	pairs := n - float64(l.moved) // of independent samples
	loss := l.level(pairs/n, off)
	clear(l.CNext)
	for lo := 0; lo < len(l.R); lo += l.block {
		for i := lo; i < l.Moving(lo, min(lo+l.block, len(l.R))); i++ {
			difference := l.R[i] - l.RNext[i]
			size := math.Abs(difference)
			away := off(l.R[i]) || !(size <= mostOff)
			if away {
				size = mostOff
			}
			slope := difference
			if size > mostDifference {
				slope = math.Copysign(mostDifference, difference)
				loss += mostDifference * (size - mostDifference/2) / n
			} else {
				loss += difference * difference / (2 * n)
			}
			if away {
				continue
			}
			l.C[i] += slope / n
			l.CNext[i] = -slope / n
		}
	}
	return loss
}

// Of returns the loss that a batch with these R and R of s′ would have.
func (l *Balance) Of(r, next []float64) float64 {
	copied := *l
	copied.R, copied.RNext = r, next
	copied.C, copied.CNext, copied.sorted = make([]float64, len(r)), make([]float64, len(r)), make([]float64, len(r))
	return copied.Measure()
}

// median returns that of R where some R is far from others, and otherwise some R.
func (l *Balance) median() float64 {
	if slices.Max(l.R)-slices.Min(l.R) <= mostOff {
		return l.R[0]
	}
	copy(l.sorted, l.R)
	slices.Sort(l.sorted)
	return l.sorted[len(l.sorted)/2]
}

// level returns a part of the variance of R, and sets the samples' coefficients to those of
// its gradient, which sum to 0. States that are off have none.
func (l *Balance) level(part float64, off func(r float64) bool) float64 {
	n, mean, kept := float64(len(l.R)), 0.0, 0
	for _, r := range l.R {
		if !off(r) {
			mean += r
			kept++
		}
	}
	mean /= float64(kept)
	var loss, lost float64             // what bounds take off the slopes
	flat := float64(mostOff * mostOff) // of a state that is off
	if l.Apart > 0 {
		flat = l.Apart * (2*mostOff - l.Apart)
	}
	l.rate = 0
	for i, r := range l.R { // of moves to the neighbour, an independent sample
		l.C[i] = min(0, r-l.R[(i+1)%len(l.R)])
	}
	asm.Exp64(l.C, l.C)
	for i, r := range l.R {
		if rate := l.C[i]; !math.IsNaN(rate) {
			l.rate += rate / n
		}
		if off(r) {
			l.C[i] = 0
			loss += flat
			continue
		}
		slope := r - mean
		if size := math.Abs(slope); l.Apart > 0 && size > l.Apart {
			bounded := math.Copysign(l.Apart, slope)
			loss += l.Apart * (2*size - l.Apart)
			lost += slope - bounded
			slope = bounded
		} else {
			loss += slope * slope
		}
		l.C[i] = 2 * part * slope / (n - 1)
	}
	if lost != 0 { // so that the coefficients sum to 0 all the same
		for i, r := range l.R {
			if !off(r) {
				l.C[i] += 2 * part * lost / (n - 1) / float64(kept)
			}
		}
	}
	return part * loss / (n - 1)
}

// bound gives states where π vanishes an R: one that did not find the way in counts with
// its partners alone.
func (l *Balance) bound() {
	highest := math.Inf(-1)
	for _, r := range l.R {
		if r > highest && !math.IsInf(r, 1) {
			highest = r
		}
	}
	for i, r := range l.R {
		if math.IsInf(r, 1) {
			l.R[i] = highest + outside
			if math.IsInf(l.RNext[i], 1) {
				l.RNext[i] = l.R[i]
			}
		}
	}
}

// Acceptance returns the fraction of the proposals of the last Measure's pairs that
// Metropolis accepts, given that of the local moves.
func (l *Balance) Acceptance(local float64) float64 {
	n := float64(len(l.R))
	return (float64(l.moved)*local + (n-float64(l.moved))*l.rate) / n
}

// Explain is the end of Explainer's sentence, given the local moves.
func (b *Balancing) Explain(moves string) string {
	pairs := fmt.Sprintf("pairs (s, s′): %.0f %% are %s apart, %.0f %% are independent samples", 100*(1-b.Partners), moves, 100*b.Partners)
	switch b.Partners {
	case 0:
		pairs = "pairs (s, s′) are " + moves + " apart"
	case 1:
		pairs = "pairs (s, s′) are independent samples"
	}
	return "trained by reversibility on its log density; loss ½ E (R(s) − R(s′))² with R = ln q − ln π; " + pairs
}

// ByPairs is the end of Explainer's sentence for losses of pairs of samples.
func ByPairs(loss, moves string) string {
	return fmt.Sprintf("trained by reversibility on pairs of samples; loss: %s between the laws of (s, s′) and (s′, s); s and s′ are %s apart", loss, moves)
}

// Moves names a number of moves.
func Moves(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
