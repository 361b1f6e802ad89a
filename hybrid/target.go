package hybrid

import (
	"fmt"
	"math"
	"sync"

	"github.com/revgen/revgen/engine/vectors"
)

// A Well is the law of x in one mode, p(x | k) = e^{−(x²−μ)²} / Z, symmetric
// about 0. It is immutable.
type Well struct {
	mu, z, meanSquare float64

	// A grid of |x| with nodes low + i·step, outside which the mass is negligible.
	low, step float64
	mass      []float64 // between 0 and node i
}

// Limits of μ. Beyond the upper one, float32 resolves a well's width, about
// 1/√(8μ), with fewer than 400 values of x.
const (
	minMu = 1e-6
	maxMu = 1e4
)

const (
	cut          = 6.5 // |x²−μ| beyond which e^{−E} < 5·10⁻¹⁹ counts as zero
	nodesPerUnit = 8   // grid nodes per standard deviation of a well
)

// NewWell returns the well whose minima are at ±√μ. The trapezoidal rule gives
// Z and ⟨x²⟩ to rounding, as it does for any analytic density that vanishes at
// both ends.
func NewWell(mu float64) (*Well, error) {
	if !(mu >= minMu && mu <= maxMu) {
		return nil, fmt.Errorf("%v is not between %v and %v", mu, minMu, float64(maxMu))
	}
	w := &Well{mu: mu}
	w.step = 1 / (nodesPerUnit * math.Sqrt(8*mu+16))
	w.low = math.Sqrt(max(0, mu-cut))
	high := math.Sqrt(mu + cut)

	var sum, squares float64
	for j := int(w.low / w.step); float64(j)*w.step <= high; j++ {
		x := float64(j) * w.step
		f := w.weight(x)
		if j == 0 {
			f /= 2
		}
		sum += f
		squares += f * x * x
	}
	w.z = 2 * w.step * sum
	w.meanSquare = squares / sum

	w.mass = []float64{0}
	for i := range int(math.Ceil((high - w.low) / w.step)) {
		w.mass = append(w.mass, w.mass[i]+w.segment(w.node(i), w.node(i+1))/w.z)
	}
	return w, nil
}

// node returns node i of the grid.
func (w *Well) node(i int) float64 { return w.low + float64(i)*w.step }

// weight returns e^{−E(x)}.
func (w *Well) weight(x float64) float64 {
	e := x*x - w.mu
	return math.Exp(-e * e)
}

// Mu returns μ.
func (w *Well) Mu() float64 { return w.mu }

// Z returns the normalising constant ∫ e^{−E} dx, to 1e-13 of its value.
func (w *Well) Z() float64 { return w.z }

// LogZ returns ln Z.
func (w *Well) LogZ() float64 { return math.Log(w.z) }

// MeanAbs returns ⟨|x|⟩ = √π (1 + erf μ) / (2Z).
func (w *Well) MeanAbs() float64 {
	return math.Sqrt(math.Pi) * (1 + math.Erf(w.mu)) / (2 * w.z)
}

// MeanSquare returns ⟨x²⟩.
func (w *Well) MeanSquare() float64 { return w.meanSquare }

// Density returns p(x | k).
func (w *Well) Density(x float64) float64 { return w.weight(x) / w.z }

// A Target is the law p(x, k) of the whole system, M equally likely modes with
// a Well each. Its Density, CDF and Quantile are those of x, over all modes.
// It is immutable.
type Target struct {
	wells     []*Well
	errorLaws func() *errorLaws // simulated once
}

// MaxModes is the largest number of modes.
const MaxModes = vectors.MaxModes

// NewTarget returns the target with one mode for each μ_k.
func NewTarget(mu []float64) (*Target, error) {
	if len(mu) < 1 || len(mu) > MaxModes {
		return nil, fmt.Errorf("mu: %d modes are not between 1 and %d", len(mu), MaxModes)
	}
	t := &Target{}
	t.errorLaws = sync.OnceValue(t.simulateLaws)
	for k, m := range mu {
		w, err := NewWell(m)
		if err != nil {
			return nil, fmt.Errorf("mu[%d]: %w", k, err)
		}
		t.wells = append(t.wells, w)
	}
	return t, nil
}

// Modes returns M.
func (t *Target) Modes() int { return len(t.wells) }

// Well returns the law of x in mode k.
func (t *Target) Well(k int) *Well { return t.wells[k] }

// Energy returns E(x, k) = (x² − μ_k)².
func (t *Target) Energy(x float64, k int) float64 {
	e := x*x - t.wells[k].mu
	return e * e
}

// Density returns the density of x, averaged over the modes.
func (t *Target) Density(x float64) float64 {
	return t.mean(func(w *Well) float64 { return w.Density(x) })
}
