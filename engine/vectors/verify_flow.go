package vectors

import (
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/number"
)

// flows returns a flow of the configured architecture and one of odd dimension.
func (v *subject) flows() []*flow {
	wide := GeneratorConfig{Kind: "realnvp", Depth: 5, Hidden: []int{20, 16}, Slope: 0.1, Partition: "halves", Clamp: 2}
	return []*flow{newFlow(v.config.Generator, 2), newFlow(wide, 5)}
}

// checkFlow takes noise through flows and back, and compares log-densities with
// determinants of numerical Jacobians.
func (v *subject) checkFlow(emit func(engine.Check)) {
	const rows, determinants = 2048, 40
	const gain = 2 // last layers large enough for maps that are far from linear
	var forward, roundTrip, volume, density float64
	for _, f := range v.flows() {
		d := f.nets.dim
		w := f.nets.newWeights(false)
		w.params = make([]float32, f.nets.params)
		f.nets.initialize(w.params, 1, gain)
		for net := range f.nets.nets {
			f.nets.pack(w, net)
		}
		params := number.Widen(w.params)
		z, back, x := make([]float32, rows*d), make([]float32, rows*d), make([]float32, rows*d)
		stream := rng.Stream(1, rng.SampleLatent, 0)
		rng.Normals(z, d, &stream, 0)
		p := f.newPass(rows, false).(*flowPass)
		p.transform(x, z, w)
		logQ := make([]float64, rows)
		v.flowDensity(p, logQ)
		v.inverse(p, back, x, w)
		for i := range z {
			roundTrip = max(roundTrip, math.Abs(float64(z[i]-back[i])))
		}
		for r := range determinants {
			noise := number.Widen(z[r*d : (r+1)*d])
			state, logVolume := v.transform64(f, params, noise)
			for i, s := range state {
				forward = max(forward, math.Abs(s-float64(x[r*d+i])))
			}
			numerical := numericalLogVolume(func(z []float64) []float64 {
				state, _ := v.transform64(f, params, z)
				return state
			}, noise)
			volume = max(volume, math.Abs(numerical-logVolume))
			log := -float64(d)/2*math.Log(2*math.Pi) - numerical
			for _, n := range noise {
				log -= n * n / 2
			}
			density = max(density, math.Abs(log-logQ[r]))
		}
	}
	emit(engine.AtMost("flow-forward", forward, 1e-5, "largest difference of states between float32 and float64, in two and five dimensions"))
	emit(engine.AtMost("flow-inverse", roundTrip, 1e-5, "largest |z − G⁻¹(G(z))| on %d draws each in two and five dimensions", rows))
	emit(engine.AtMost("flow-volume", volume, 1e-6, "ln |∂x/∂z| against the determinant of central differences on %d draws each", determinants))
	emit(engine.AtMost("flow-density", density, 2e-5, "ln q in float32 against N(z) and that determinant"))
}

// numericalLogVolume returns ln |det ∂x/∂z| of a map by central differences.
func numericalLogVolume(state func(z []float64) []float64, z []float64) float64 {
	const h = 1e-7 // so short a step hardly ever crosses a kink of LeakyReLU
	jacobian := mat.NewDense(len(z), len(z), nil)
	fd.Jacobian(jacobian, func(x, z []float64) { copy(x, state(z)) }, z, &fd.JacobianSettings{Formula: fd.Central, Step: h})
	logVolume, _ := mat.LogDet(jacobian)
	return logVolume
}
