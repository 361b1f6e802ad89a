package answer

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/posteriordb"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/target/density"
)

// density64 is a target given by ln π of one state in float64.
type density64 struct {
	dim   int
	logPi func(x []float64) float64
}

// Dim implements vectors.Target.
func (t density64) Dim() int { return t.dim }

// LogDensity implements vectors.Target.
func (t density64) LogDensity(dst, x []float32, _ []uint8) {
	var buffer [256]float64
	state := buffer[:t.dim]
	for r := range dst {
		for i, v := range x[r*t.dim : (r+1)*t.dim] {
			state[i] = float64(v)
		}
		dst[r] = float32(t.logPi(state))
	}
}

// vectorProblem is a target of real vectors and functions of a state, whose means are asked
// for with errors of a hundredth of their standard deviations. Peers know the target by its
// name up to a dash, and load the arrays a and b as x and y.
func vectorProblem(name, about string, t density64, a, b []float64, functions []function) problem {
	observe := func(row, x []float64) {
		for i, f := range functions {
			v := f.value(x)
			row[2*i], row[2*i+1] = v, v*v
		}
	}
	p := problem{name: name, about: about}
	for i, f := range functions {
		o := meanObservable(f.name, 2*i, f.exact)
		o.unit = func(m []float64) float64 { return math.Sqrt(max(0, m[2*i+1]-m[2*i]*m[2*i])) }
		p.observables = append(p.observables, o)
	}
	width := 2 * len(functions)
	arrays := map[string]any{"x": a, "y": b}
	kind, _, _ := strings.Cut(name, "-")
	walkers := max(32, 4*t.dim)
	p.ours = revgen{
		system: density.Reals(name, about, t), width: width,
		observe: func(row []float64, state []byte) {
			x := make([]float64, t.dim)
			for i := range x {
				x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(state[4*i:])))
			}
			observe(row, x)
		},
	}
	p.peers = []contender{
		&nuts{chain{
			peer: "stan", title: "Stan's NUTS", arrays: arrays, stateWidth: t.dim, width: width, walkers: 1, observe: observe,
			selection: func(seed uint64) []any { return []any{kind, t.dim, seed} },
		}},
		&chain{
			peer: "emcee", title: "emcee", arrays: arrays, stateWidth: t.dim, width: width, walkers: walkers, observe: observe,
			selection: func(seed uint64) []any { return []any{kind, walkers, t.dim, seed} },
		},
	}
	return p
}

// A function is a function of a state, and its mean if that is known, NaN if not.
type function struct {
	name  string
	value func(x []float64) float64
	exact float64
}

func coordinate(i int, exact float64) function {
	return function{fmt.Sprint("x", i), func(x []float64) float64 { return x[i] }, exact}
}

func secondMoment(i int, exact float64) function {
	return function{fmt.Sprintf("x%d²", i), func(x []float64) float64 { return x[i] * x[i] }, exact}
}

func vectorProblems() []problem {
	none := []float64{}

	const funnelDim = 10
	funnel := density64{funnelDim, func(x []float64) float64 {
		sum := 0.0
		for _, v := range x[1:] {
			sum += v * v
		}
		return -x[0]*x[0]/18 - sum*math.Exp(-x[0])/2 - (funnelDim-1)*x[0]/2
	}}
	banana := density64{2, func(x []float64) float64 {
		residual := (x[1] - x[0]*x[0]) / 0.3
		return -x[0]*x[0]/2 - residual*residual/2
	}}
	secondMode := []float64{8, 0, 0, 0, 0} // the first is at 0
	modes := density64{len(secondMode), func(x []float64) float64 {
		energy1, energy2 := 0.0, 0.0
		for i, v := range x {
			energy1 += v * v / 2
			energy2 += (v - secondMode[i]) * (v - secondMode[i]) / 2
		}
		lower := min(energy1, energy2)
		return math.Log(0.7*math.Exp(lower-energy1)+0.3*math.Exp(lower-energy2)) - lower
	}}
	// Rubin (1981), in coordinates that do not depend on τ.
	effects, errors := []float64{28, 8, -3, 7, -1, 1, 18, 12}, []float64{15, 10, 16, 11, 9, 11, 10, 18}
	schools := density64{10, func(x []float64) float64 {
		mu, tau := x[0], math.Exp(x[1])
		sum := -mu*mu/50 - math.Log1p(tau*tau/25) + x[1]
		for j, z := range x[2:] {
			residual := (effects[j] - mu - tau*z) / errors[j]
			sum -= z*z/2 + residual*residual/2
		}
		return sum
	}}
	const observations = 200
	design, outcomes := simulateLogistic(10, observations)
	columns := make([]float64, len(design)) // of the design, each row times its outcome
	for i := range columns {
		columns[i] = outcomes[i%observations] * design[i%observations*10+i/observations]
	}
	logistic := density64{10, func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum -= v * v / (2 * 2.5 * 2.5)
		}
		var logits, exps [observations]float64
		asm.Combine64(logits[:], x, columns, observations)
		for i, t := range logits { // ln(1 + e^−t) = max(−t, 0) + ln(1 + e^−|t|), and 1 + e^−|t| ≤ 2
			sum += min(t, 0)
			exps[i] = -math.Abs(t)
		}
		asm.Exp64(exps[:], exps[:])
		product := 1.0 // at most 2²⁰⁰, which does not overflow
		for _, e := range exps {
			product *= 1 + e
		}
		return sum - math.Log(product)
	}}
	coordinates := func(d int) (functions []function) {
		for i := range d {
			functions = append(functions, coordinate(i, math.NaN()))
		}
		return functions
	}
	return append([]problem{
		vectorProblem("logistic", "a logistic regression of 10 coefficients and 200 observations", logistic, design, outcomes, coordinates(10)),
		vectorProblem("schools", "eight schools, not centred", schools, errors, effects, coordinates(10)),
		vectorProblem("funnel", "Neal's funnel of 10 coordinates", funnel, none, none, []function{
			coordinate(0, 0), secondMoment(0, 9),
			{"tanh x1", func(x []float64) float64 { return math.Tanh(x[1]) }, 0},
		}),
		vectorProblem("banana", "a banana: x1 near x0²", banana, none, none, []function{
			coordinate(0, 0), secondMoment(0, 1), coordinate(1, 1), secondMoment(1, 3.09),
		}),
		vectorProblem("two_modes", "two Gaussians 8 standard deviations apart, of weights 0.7 and 0.3, in 5 coordinates", modes, secondMode, none, []function{
			coordinate(0, 2.4), secondMoment(0, 0.3*64+1), coordinate(1, 0), secondMoment(1, 1),
		}),
		// The means are those of 28 and of 6 million Metropolis sweeps. Their standard errors are at
		// most a thousandth of a standard deviation.
		phi4("phi4", 8, 0.147517, 0.604793, -31.94784),
		phi4("phi4-16", 16, 0.073728, 0.604532, -127.7711),
	}, posteriordbRegressions()...)
}

// phi4 is φ⁴ on a periodic square lattice, with the means of |m|, of φ² and of ln π.
func phi4(name string, side int, m, square, mean float64) problem {
	const kappa, lambda = 0.2, 0.02
	logPi := func(x []float64) float64 {
		sum, above := 0.0, x[len(x)-side:]
		for y := 0; y < len(x); y += side {
			row := x[y : y+side]
			left := row[side-1]
			for i, v := range row {
				sum += v*(2*kappa*(left+above[i])-v) - lambda*(v*v-1)*(v*v-1)
				left = v
			}
			above = row
		}
		return sum
	}
	return vectorProblem(name, fmt.Sprintf("the φ⁴ field of %d×%d sites, κ = %g, λ = %g", side, side, kappa, lambda), density64{side * side, logPi}, []float64{kappa, lambda}, []float64{}, []function{
		{"abs magnetisation", func(x []float64) float64 { return math.Abs(floats.Sum(x)) / float64(len(x)) }, m},
		{"magnetisation", func(x []float64) float64 { return floats.Sum(x) / float64(len(x)) }, 0},
		secondMoment(0, square),
		{"ln π", logPi, mean},
	})
}

// posteriordbRegressions are seven linear regressions of posteriordb. Their peers take Rows,
// Rest, Cauchy, Factor and Target as x, and the priors' Means and Deviations as y.
func posteriordbRegressions() (problems []problem) {
	for _, p := range posteriordb.All() {
		_, name, _ := strings.Cut(p.Name, "-")
		if !slices.Contains([]string{"kidscore_momiq", "kidscore_interaction", "earn_height", "logmesquite_logvas", "kilpisjarvi", "nes", "arK"}, name) {
			continue
		}
		d := &p.Data
		a := []float64{d.Rows, d.Rest, d.Cauchy}
		for _, row := range d.Factor {
			a = append(a, row...)
		}
		dim := len(d.Target) + 1
		var functions []function
		for i := range p.Figures {
			functions = append(functions, coordinate(i, math.NaN()))
		}
		r := vectorProblem("regression-"+name, fmt.Sprintf("posteriordb's %s, of %d coefficients and ln σ", p.Name, dim-1),
			density64{dim, d.Regression()}, append(a, d.Target...), slices.Concat(d.Means, d.Deviations), functions)
		r.solve = func() []float64 {
			d.SetExact(p.Figures)
			return lists.Map(p.Figures, func(f posteriordb.Figure) float64 { return f.Mean })
		}
		problems = append(problems, r)
	}
	return problems
}

// simulateLogistic draws n standard normal rows of d numbers and outcomes ±1 of a logistic model.
func simulateLogistic(d, n int) (design, outcomes []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	truth := make([]float64, d)
	for j := range truth {
		truth[j] = r.NormFloat64()
	}
	for range n {
		dot := 0.0
		for j := range d {
			v := r.NormFloat64()
			design = append(design, v)
			dot += v * truth[j]
		}
		y := -1.0
		if r.Float64() < 1/(1+math.Exp(-dot)) {
			y = 1
		}
		outcomes = append(outcomes, y)
	}
	return design, outcomes
}
