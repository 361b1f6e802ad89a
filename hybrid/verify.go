package hybrid

import (
	"context"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Verify checks the mathematics of the paper's target, and of the kit with that target, and reports each
// check through emit. The error is that of ctx.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	c := crash.Must(Preset("paper"))
	target := crash.Must(NewTarget(c.Target.Mu))
	targetCheck := func(emit func(engine.Check)) { checkTarget(emit, target) }
	return engine.RunChecks(ctx, emit, append([]engine.Checker{targetCheck}, vectors.ModalChecks(c.ModalConfig, known(target), workers)...)...)
}

// known returns the target with all that the checks of the kit need to know of it.
func known(t *Target) vectors.Known {
	return vectors.Known{
		Target: newDensity(t), Sample: t.Sample,
		Log:       func(x []float64, k int) float64 { return -t.Energy(x[0], k) - t.Well(k).LogZ() },
		Rank:      func(x []float32, k uint8) float64 { return t.Well(int(k)).CDF(float64(x[0])) },
		Deviation: func(x []float32, k []uint8) float64 { return moments(t, x, k) },
		Width:     0.1, Weights: slices.Repeat([]float64{1 / float64(t.Modes())}, t.Modes()),
	}
}

// moments returns the largest deviation of P(k), and of ⟨sign x⟩, ⟨|x|⟩ and ⟨x²⟩ in each mode, from those of
// the target, in standard errors.
func moments(t *Target, x []float32, k []uint8) (worst float64) {
	compare := func(m stat.Mean, want float64) {
		worst = max(worst, math.Abs(m.Value()-want)/m.StandardError())
	}
	for mode := range t.Modes() {
		var probability, sign, abs, square stat.Mean
		for i, v := range number.Widen(x) {
			if int(k[i]) != mode {
				probability.Add(0)
				continue
			}
			probability.Add(1)
			sign.Add(math.Copysign(1, v))
			abs.Add(math.Abs(v))
			square.Add(v * v)
		}
		compare(probability, 1/float64(t.Modes()))
		compare(sign, 0)
		compare(abs, t.Well(mode).MeanAbs())
		compare(square, t.Well(mode).MeanSquare())
	}
	return worst
}

// checkTarget compares moments by the trapezoidal rule with the Gauss–Legendre rule of the grid and with
// known digits, and quantiles with the CDF.
func checkTarget(emit func(engine.Check), target *Target) {
	knownDigits := map[float64][3]float64{ // ln Z, ⟨|x|⟩, ⟨x²⟩
		1:  {0.679926242894, 0.827392439339, 0.832745487128},
		9:  {-0.523903196021, 2.992975786952, 8.971958414172},
		25: {-1.036772487917, 4.998497817741, 24.989987961409},
	}
	var rules, digits, quantiles float64
	laws := []stat.Law{target}
	for _, w := range target.wells {
		rules = max(rules, math.Abs(2*w.mass[len(w.mass)-1]-1))
		if d, ok := knownDigits[w.mu]; ok {
			for i, v := range [3]float64{w.LogZ(), w.MeanAbs(), w.MeanSquare()} {
				digits = max(digits, math.Abs(v-d[i]))
			}
		}
		laws = append(laws, w)
	}
	for _, l := range laws {
		for i := 1; i < 1000; i++ {
			u := float64(i) / 1000
			quantiles = max(quantiles, math.Abs(l.CDF(l.Quantile(u))-u))
		}
	}
	emit(engine.AtMost("normalising_constants", rules, 1e-12, "Z by two quadrature rules, relative"))
	emit(engine.AtMost("known_moments", digits, 2e-12, "ln Z, ⟨|x|⟩ and ⟨x²⟩ for μ = 1, 9, 25 against known digits"))
	emit(engine.AtMost("quantiles", quantiles, 1e-12, "|F(Q(u)) − u| of the modes and of their mixture"))
}
