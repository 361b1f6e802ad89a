package sites

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

// Measure takes steps, with a visit after each, and returns ln Z of the last level, given that
// of the first.
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
// from sums over ladders that are independent of each other, whose scatter gives the error. It
// has the sums over each half of the steps for each ladder apart.
type bridge struct {
	betas    []float64
	ladders  int
	origin   []float64   // of the energies, by level: of the pair with the next
	up, down [][]float64 // by level, half and ladder
}

func newBridge(betas []float64, ladders int) *bridge {
	b := &bridge{betas: betas, ladders: ladders}
	for range betas {
		b.up, b.down = append(b.up, make([]float64, 2*ladders)), append(b.down, make([]float64, 2*ladders))
		b.origin = append(b.origin, math.NaN())
	}
	return b
}

// add adds an energy at a level to a sum. Energies of all ladders count from the first there.
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

// estimate returns ln Z of the last level by the sums low … high−1, given that of the first, and
// its standard error by the jackknife, without one ladder after the other.
func (b *bridge) estimate(first float64, low, high int) measure.Estimate {
	total := func(sums []float64, without int) (sum float64) {
		for i := low; i < high; i++ {
			if i%b.ladders != without {
				sum += sums[i]
			}
		}
		return sum
	}
	estimate := func(without int) float64 {
		z := first
		for k := range len(b.betas) - 1 {
			z += math.Log(total(b.up[k], without)/total(b.down[k+1], without)) - (b.betas[k+1]-b.betas[k])*b.origin[k]
		}
		return z
	}
	var spread stat.Mean
	for ladder := range b.ladders {
		spread.Add(estimate(ladder))
	}
	n := float64(b.ladders)
	return measure.Estimate{Value: estimate(-1), Uncertainty: spread.Deviation() * (n - 1) / math.Sqrt(n)}
}

// logZ returns ln Z of the last level. Halves that differ by more than their scatter says are of
// ladders that are all on their way together, and widen it.
func (b *bridge) logZ(first float64) measure.Estimate {
	const drifting = 3 // errors
	all, one, other := b.estimate(first, 0, 2*b.ladders), b.estimate(first, 0, b.ladders), b.estimate(first, b.ladders, 2*b.ladders)
	if apart := math.Abs(other.Value - one.Value); apart > drifting*math.Hypot(one.Uncertainty, other.Uncertainty) {
		all.Uncertainty = math.Hypot(all.Uncertainty, apart)
	}
	return all
}
