package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/conf"
)

// A Balancing says which pairs of states the loss of detailed balance compares: those of
// local moves, which are the configuration's transition, or of independence Metropolis, whose
// proposals are other samples of the generator.
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
	RNext []float64 // of each s′; not read if the sample does not move
	C     []float64 // coefficient of ∇ln q(s)
	CNext []float64 // coefficient of ∇ln q(s′), 0 if the sample does not move
	// SlopeBound is how far R of an independent sample may be from the mean before the slope of
	// its loss stays the same, as Huber's does; 0 is no bound.
	SlopeBound float64

	sorted            []float64
	block             int     // samples of a block
	moving            int     // samples of a block that move, its first ones
	numMoving         int     // samples of the batch that move
	partnerAcceptance float64 // of independence Metropolis between the samples
}

// NewBalance makes room for n samples in blocks of the given length. The fraction 1 − Partners
// of each block moves, rounded to a multiple of unit, and at least one unit if it is not 0.
func NewBalance(b Balancing, n, block, unit int) *Balance {
	l := &Balance{
		R: make([]float64, n), RNext: make([]float64, n), C: make([]float64, n), CNext: make([]float64, n),
		sorted: make([]float64, n), block: block, moving: int(math.Round((1-b.Partners)*float64(block)/float64(unit))) * unit,
	}
	if b.Partners < 1 {
		l.moving = max(l.moving, unit)
	}
	for lo := 0; lo < n; lo += block {
		l.numMoving += l.EndOfMoving(lo, min(lo+block, n)) - lo
	}
	return l
}

// EndOfMoving returns the end of the moving samples in the block of samples lo … hi−1.
func (l *Balance) EndOfMoving(lo, hi int) int { return min(lo+l.moving, hi) }

// NumMoving returns how many samples move.
func (l *Balance) NumMoving() int { return l.numMoving }

// Limits of what one state counts.
const (
	// vanishingExcess is by how much R of a state where π vanishes, which is +Inf, is taken
	// to exceed the largest R of the other states.
	vanishingExcess = 10
	// maxDifference bounds R(s) − R(s′) of a local move in the gradient, as in Huber's loss:
	// a walker that leaves what the generator covers comes where ln q is as low as −10⁴, and
	// would alone decide the step.
	maxDifference = 10
	// maxDeviation is how far R may be from the batch's median. An outlier, which is further away
	// or whose R is NaN, has no part in the gradient: its weight vanishes against the
	// others', or the generator no longer makes such states since the batch was drawn, and
	// either would alone decide the step. In the loss its deviation counts as maxDeviation,
	// which shows a generator that loses states.
	maxDeviation = 1000
)

// Measure returns L of the batch whose R and RNext are set, and sets the coefficients.
func (l *Balance) Measure() float64 {
	n := float64(len(l.R))
	l.boundVanishing()
	median := l.median()
	isOutlier := func(r float64) bool { return !(math.Abs(r-median) <= maxDeviation) }
	independent := n - float64(l.numMoving)
	loss := l.variance(independent/n, isOutlier)
	clear(l.CNext)
	for lo := 0; lo < len(l.R); lo += l.block {
		for i := lo; i < l.EndOfMoving(lo, min(lo+l.block, len(l.R))); i++ {
			difference := l.R[i] - l.RNext[i]
			size := math.Abs(difference)
			outlying := isOutlier(l.R[i]) || !(size <= maxDeviation)
			if outlying {
				size = maxDeviation
			}
			slope := difference
			if size > maxDifference {
				slope = math.Copysign(maxDifference, difference)
				loss += maxDifference * (size - maxDifference/2) / n
			} else {
				loss += difference * difference / (2 * n)
			}
			if outlying {
				continue
			}
			l.C[i] += slope / n
			l.CNext[i] = -slope / n
		}
	}
	return loss
}

// LossOf returns the loss that a batch with these R and RNext would have.
func (l *Balance) LossOf(r, rNext []float64) float64 {
	copied := *l
	copied.R, copied.RNext = r, rNext
	copied.C, copied.CNext, copied.sorted = make([]float64, len(r)), make([]float64, len(r)), make([]float64, len(r))
	return copied.Measure()
}

// median returns the median of R, or any R if none can be an outlier.
func (l *Balance) median() float64 {
	if slices.Max(l.R)-slices.Min(l.R) <= maxDeviation {
		return l.R[0]
	}
	copy(l.sorted, l.R)
	slices.Sort(l.sorted)
	return l.sorted[len(l.sorted)/2]
}

// variance returns part times the variance of R. It sets the coefficients C to those of its
// gradient, which sum to 0 and are 0 for outliers.
func (l *Balance) variance(part float64, isOutlier func(r float64) bool) float64 {
	n, mean, inliers := float64(len(l.R)), 0.0, 0
	for _, r := range l.R {
		if !isOutlier(r) {
			mean += r
			inliers++
		}
	}
	mean /= float64(inliers)
	var loss, clipped float64 // clipped is the sum of what SlopeBound takes off the slopes
	outlierLoss := float64(maxDeviation * maxDeviation)
	if l.SlopeBound > 0 {
		outlierLoss = l.SlopeBound * (2*maxDeviation - l.SlopeBound)
	}
	l.partnerAcceptance = 0
	for i, r := range l.R { // ln of the acceptance of the next sample as a proposal
		l.C[i] = min(0, r-l.R[(i+1)%len(l.R)])
	}
	asm.Exp64(l.C, l.C)
	for i, r := range l.R {
		if acceptance := l.C[i]; !math.IsNaN(acceptance) {
			l.partnerAcceptance += acceptance / n
		}
		if isOutlier(r) {
			l.C[i] = 0
			loss += outlierLoss
			continue
		}
		slope := r - mean
		if size := math.Abs(slope); l.SlopeBound > 0 && size > l.SlopeBound {
			bounded := math.Copysign(l.SlopeBound, slope)
			loss += l.SlopeBound * (2*size - l.SlopeBound)
			clipped += slope - bounded
			slope = bounded
		} else {
			loss += slope * slope
		}
		l.C[i] = 2 * part * slope / (n - 1)
	}
	if clipped != 0 { // so that the coefficients sum to 0 all the same
		for i, r := range l.R {
			if !isOutlier(r) {
				l.C[i] += 2 * part * clipped / (n - 1) / float64(inliers)
			}
		}
	}
	return part * loss / (n - 1)
}

// boundVanishing sets R of states where π vanishes to a number. If π vanishes at s′ too, R(s′)
// becomes the same: such a pair has no difference, and s counts with its partners alone.
func (l *Balance) boundVanishing() {
	highest := math.Inf(-1)
	for _, r := range l.R {
		if r > highest && !math.IsInf(r, 1) {
			highest = r
		}
	}
	for i, r := range l.R {
		if math.IsInf(r, 1) {
			l.R[i] = highest + vanishingExcess
			if math.IsInf(l.RNext[i], 1) {
				l.RNext[i] = l.R[i]
			}
		}
	}
}

// Acceptance returns the fraction of proposals that Metropolis accepts over all pairs of the
// last Measure; local is the fraction among local moves.
func (l *Balance) Acceptance(local float64) float64 {
	n := float64(len(l.R))
	return (float64(l.numMoving)*local + (n-float64(l.numMoving))*l.partnerAcceptance) / n
}

// Explain returns the end of Explainer's sentence; moves describes the local moves.
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

// ByPairs returns the end of Explainer's sentence for a loss of pairs of samples.
func ByPairs(loss, moves string) string {
	return fmt.Sprintf("trained by reversibility on pairs of samples; loss: %s between the laws of (s, s′) and (s′, s); s and s′ are %s apart", loss, moves)
}

// Moves describes n moves of a kind, such as "one sweep" or "3 sweeps".
func Moves(n int, kind string) string {
	if n == 1 {
		return "one " + kind
	}
	return fmt.Sprintf("%d %ss", n, kind)
}
