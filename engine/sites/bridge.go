package sites

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

// Measure takes steps, calls visit after each, and returns ln Z of the last level, given ln Z of
// the first.
func (l *Ladder[W]) Measure(ctx context.Context, steps int, first float64, visit func(step int)) (measure.Estimate, error) {
	n := len(l.energies[0])
	b := newBridge(l.betas, n)
	for step := range steps {
		if err := l.Advance(ctx, 1); err != nil {
			return measure.Estimate{}, err
		}
		for level, energies := range l.energies {
			for i, x := range energies {
				b.add(level, 2*step/steps*n+i, x)
			}
		}
		visit(step)
	}
	return b.logZ(first), nil
}

// A bridge estimates ratios of partition functions of neighbouring levels of a ladder,
//
//	Z′/Z = ⟨exp(−(β′−β)E/2)⟩ / ⟨exp(+(β′−β)E/2)⟩′,
//
// from ladders that are independent of each other, whose scatter gives the error. Each ladder has
// a sum for either half of the steps.
type bridge struct {
	betas   []float64
	ladders int
	origin  []float64   // [level] subtracted from the energies of this level and the next
	up      [][]float64 // [level][half·ladders + ladder] sums of the numerator, with the next level
	down    [][]float64 // the same of the denominator, with the level before
}

func newBridge(betas []float64, ladders int) *bridge {
	b := &bridge{betas: betas, ladders: ladders}
	for range betas {
		b.up, b.down = append(b.up, make([]float64, 2*ladders)), append(b.down, make([]float64, 2*ladders))
		b.origin = append(b.origin, math.NaN())
	}
	return b
}

// add adds an energy at a level to a sum. The first energy of a level becomes its origin.
func (b *bridge) add(level, sum int, energy float64) {
	if math.IsNaN(b.origin[level]) {
		b.origin[level] = energy
	}
	if level < len(b.betas)-1 {
		b.up[level][sum] += math.Exp(-(b.betas[level+1] - b.betas[level]) / 2 * (energy - b.origin[level]))
	}
	if level > 0 {
		b.down[level][sum] += math.Exp((b.betas[level] - b.betas[level-1]) / 2 * (energy - b.origin[level-1]))
	}
}

// estimate returns ln Z of the last level by the sums low … high−1, given ln Z of the first. Its
// standard error is that of the jackknife, which omits one ladder after the other.
func (b *bridge) estimate(first float64, low, high int) measure.Estimate {
	total := func(sums []float64, omitted int) (sum float64) {
		for i := low; i < high; i++ {
			if i%b.ladders != omitted {
				sum += sums[i]
			}
		}
		return sum
	}
	estimate := func(omitted int) float64 {
		logZ := first
		for k := range len(b.betas) - 1 {
			logZ += math.Log(total(b.up[k], omitted)/total(b.down[k+1], omitted)) - (b.betas[k+1]-b.betas[k])*b.origin[k]
		}
		return logZ
	}
	var spread stat.Mean
	for ladder := range b.ladders {
		spread.Add(estimate(ladder))
	}
	n := float64(b.ladders)
	return measure.Estimate{Value: estimate(-1), Uncertainty: spread.Deviation() * (n - 1) / math.Sqrt(n)}
}

// logZ returns ln Z of the last level. If the halves of the steps differ by more than their
// errors, all ladders drift alike, and the difference adds to the error.
func (b *bridge) logZ(first float64) measure.Estimate {
	const drift = 3 // standard errors of the difference
	whole, firstHalf, secondHalf := b.estimate(first, 0, 2*b.ladders), b.estimate(first, 0, b.ladders), b.estimate(first, b.ladders, 2*b.ladders)
	if difference := math.Abs(secondHalf.Value - firstHalf.Value); difference > drift*math.Hypot(firstHalf.Uncertainty, secondHalf.Uncertainty) {
		whole.Uncertainty = math.Hypot(whole.Uncertainty, difference)
	}
	return whole
}
