package gmm

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/crash"
)

// checkDistances holds the figures of an evaluation against closed forms, for a
// flow that is the identity, so that q = N(0, I), and π = N(μ, σ²I).
func (v *subject) checkDistances(emit func(engine.Check)) {
	const mu, variance = 0.4, 1.5
	c := crash.Must(Preset("paper"))
	c.Generator.Gain, c.Generator.Depth, c.Generator.Hidden = math.SmallestNonzeroFloat32, 2, []int{4}
	c.Target = TargetConfig{Components: []Component{{Weight: 1, Mean: []float64{mu, 0}, Covariance: [][]float64{{variance, 0}, {0, variance}}}}}
	sys := crash.Must(c.New(v.workers))
	s := sys.(*system)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	all := crash.Must(v.integrate(s.newSampler(params)))
	overlapOf := func(v float64) float64 { return math.Exp(-mu*mu/(2*v)) / (2 * math.Pi * v) }
	var worst float64
	for _, pair := range []struct {
		figure func(o *overlap) float64
		want   float64
	}{
		{func(o *overlap) float64 { return o.square }, 1/(4*math.Pi) + 1/(4*math.Pi*variance) - 2*overlapOf(1+variance)},
		{func(o *overlap) float64 { return o.to }, (2/variance + mu*mu/variance - 2 + 2*math.Log(variance)) / 2},
		{func(o *overlap) float64 { return o.from }, (2*variance + mu*mu - 2 - 2*math.Log(variance)) / 2},
		{func(o *overlap) float64 { return o.mass }, 1},
	} {
		got, _ := all.estimate(pair.figure)
		worst = max(worst, math.Abs(got-pair.want))
	}
	worst = max(worst, math.Abs(s.target.SquaredNorm()-1/(4*math.Pi*variance)))
	emit(engine.AtMost("distances", worst, 1e-6, "∫(q−π)², ∫π², KL both ways and ∫q between two Gaussians, by quadrature, against closed forms"))
}
