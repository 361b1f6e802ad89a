package hybrid

import (
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/stat"
)

// Positive nodes of the four-point Gauss–Legendre rule on [−1, 1], and their weights.
var (
	gaussNodes   = [2]float64{0.339981043584856264803, 0.861136311594052575224}
	gaussWeights = [2]float64{0.652145154862546142627, 0.347854845137453857373}
)

// segment returns ∫ e^{−E} from a to b, which lie within one cell of the grid.
func (w *Well) segment(a, b float64) float64 {
	middle, half := (a+b)/2, (b-a)/2
	var sum float64
	for i, x := range gaussNodes {
		sum += gaussWeights[i] * (w.weight(middle-half*x) + w.weight(middle+half*x))
	}
	return half * sum
}

// CDF returns the probability in mode k of a coordinate at most x, with
// absolute error at most 1e-12.
func (w *Well) CDF(x float64) float64 {
	r := math.Abs(x)
	mass := 0.5 // between 0 and |x|
	switch {
	case r <= w.low:
		mass = 0
	case r < w.edge():
		i := int((r - w.low) / w.step)
		mass = min(mass, w.mass[min(i, len(w.mass)-1)]+w.segment(w.node(i), r)/w.z)
	}
	return 0.5 + math.Copysign(mass, x)
}

// CDFIntegral returns the integral of the CDF F from −∞ to x, which is x·F(x) − ∫ t p(t) dt. The
// substitution t² − μ makes that integral, from −∞ to x, an error function.
func (w *Well) CDFIntegral(x float64) float64 {
	return x*w.CDF(x) + math.Sqrt(math.Pi)/(4*w.z)*math.Erfc(x*x-w.mu)
}

// Mean returns ⟨x⟩ = 0.
func (w *Well) Mean() float64 { return 0 }

// edge returns an x beyond which both tails are negligible.
func (w *Well) edge() float64 { return w.node(len(w.mass) - 1) }

// Quantile returns the x with CDF(x) = u, 0 < u < 1, such that |CDF(x) − u| is
// at most 1e-12.
func (w *Well) Quantile(u float64) float64 {
	mass := math.Abs(u - 0.5)                 // between 0 and |x|
	i, _ := slices.BinarySearch(w.mass, mass) // w.mass[i−1] < mass ≤ w.mass[i]
	i = min(max(i, 1), len(w.mass)-1)
	a, b := w.node(i-1), w.node(i)
	start := a + (b-a)*min(1, (mass-w.mass[i-1])/(w.mass[i]-w.mass[i-1]))
	return math.Copysign(stat.Root(w, 0.5+mass, a, b, start), u-0.5)
}

// CDF returns the probability of a coordinate at most x.
func (t *Target) CDF(x float64) float64 {
	return t.mean(func(w *Well) float64 { return w.CDF(x) })
}

// mean returns the mean of a function of the wells.
func (t *Target) mean(f func(w *Well) float64) (mean float64) {
	for _, w := range t.wells {
		mean += f(w)
	}
	return mean / float64(len(t.wells))
}

// CDFIntegral returns the integral of the CDF from −∞ to x.
func (t *Target) CDFIntegral(x float64) float64 {
	return t.mean(func(w *Well) float64 { return w.CDFIntegral(x) })
}

// Mean returns ⟨x⟩ = 0.
func (t *Target) Mean() float64 { return 0 }

func (t *Target) edge() float64 { return slices.Max(lists.Map(t.wells, (*Well).edge)) }

// Quantile returns an x with CDF(x) = u, 0 < u < 1, such that |CDF(x) − u| is
// at most 1e-12.
func (t *Target) Quantile(u float64) float64 {
	upper := 0.5 + math.Abs(u-0.5)
	low, high := math.Inf(1), 0.0
	for _, w := range t.wells {
		q := w.Quantile(upper)
		low, high = min(low, q), max(high, q)
	}
	return math.Copysign(stat.Root(t, upper, low, high, (low+high)/2), u-0.5)
}

// Sample fills x and k, of one length, with the independent exact samples first, first+1, … of the
// stream c. Each sample has one block: 53 bits choose the quantile of x, 32 the mode.
func (t *Target) Sample(x []float32, k []uint8, c *rng.Counter, first uint64) {
	var words [4 * 64]uint32 // 64 blocks
	for len(x) > 0 {
		n := min(len(x), len(words)/4)
		asm.PhiloxBlocks(words[:4*n], c, first)
		for i := range n {
			b := words[4*i:]
			k[i] = uint8(uint64(b[2]) * uint64(t.Modes()) >> 32)
			u := (float64(uint64(b[0])<<21|uint64(b[1])>>11) + 0.5) * 0x1p-53
			x[i] = float32(t.wells[k[i]].Quantile(u))
		}
		x, k, first = x[n:], k[n:], first+uint64(n)
	}
}
