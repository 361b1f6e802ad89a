package hybrid

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Verify checks the mathematics of the paper's target and, with it, that of the
// kit, and reports each check through emit.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	c := crash.Must(Preset("paper"))
	target := crash.Must(NewTarget(c.Target.Mu))
	own := func(emit func(engine.Check)) { checkTarget(emit, target) }
	return engine.RunChecks(ctx, emit, append([]engine.Checker{own}, vectors.ModalChecks(c.ModalConfig, known(target), workers)...)...)
}

// known says of the target what checks of the kit need.
func known(t *Target) vectors.Known {
	k := vectors.Known{
		Target: newDensity(t), Sample: t.Sample,
		Log:       func(x []float64, k int) float64 { return -t.Energy(x[0], k) - t.Well(k).LogZ() },
		Rank:      func(x []float32, k uint8) float64 { return t.Well(int(k)).CDF(float64(x[0])) },
		Deviation: func(x []float32, k []uint8) float64 { return moments(t, x, k) },
		Width:     0.1,
	}
	for range t.Modes() {
		k.Weights = append(k.Weights, 1/float64(t.Modes()))
	}
	return k
}

// moments returns by how many standard errors P(k), P(x > 0 | k), ⟨|x|⟩ and ⟨x²⟩ in
// each mode are off those of the target, at most.
func moments(t *Target, x []float32, k []uint8) (worst float64) {
	deviates := func(sum, squares, n, want float64) {
		se := math.Sqrt((squares/n - sum/n*sum/n) / n)
		worst = max(worst, math.Abs(sum/n-want)/se)
	}
	for mode := range t.Modes() {
		var in, abs, square, fourth, right float64
		for i := range x {
			if int(k[i]) != mode {
				continue
			}
			v := float64(x[i])
			in++
			abs += math.Abs(v)
			square += v * v
			fourth += v * v * v * v
			if v > 0 {
				right++
			}
		}
		deviates(in, in, float64(len(x)), 1/float64(t.Modes()))
		deviates(right, right, in, 0.5)
		deviates(abs, square, in, t.Well(mode).MeanAbs())
		deviates(square, fourth, in, t.Well(mode).MeanSquare())
	}
	return worst
}

// checkTarget compares the trapezoidal rule with the Gauss–Legendre rule of the
// quantile tables and with known digits, and quantiles with their inverse.
func checkTarget(emit func(engine.Check), target *Target) {
	known := map[float64][3]float64{ // ln Z, ⟨|x|⟩, ⟨x²⟩
		1:  {0.679926242894, 0.827392439339, 0.832745487128},
		9:  {-0.523903196021, 2.992975786952, 8.971958414172},
		25: {-1.036772487917, 4.998497817741, 24.989987961409},
	}
	var rules, digits, quantiles float64
	laws := []stat.Law{target}
	for _, w := range target.wells {
		rules = max(rules, math.Abs(2*w.mass[len(w.mass)-1]-1))
		if d, ok := known[w.mu]; ok {
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
