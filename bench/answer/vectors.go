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

// density64 is a target by a function of one state in float64.
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

// vectorProblem is a target of real vectors with functions of a state, whose means are
// asked for to a hundredth of their standard deviations. Peers know it by its name up to a dash.
func vectorProblem(name, about string, t density64, a, b []float64, functions []function) problem {
	expand := func(row, x []float64) {
		for i, f := range functions {
			v := f.of(x)
			row[2*i], row[2*i+1] = v, v*v
		}
	}
	p := problem{name: name, about: about}
	for i, f := range functions {
		o := mean(f.name, 2*i, f.exact)
		o.unit = func(m []float64) float64 { return math.Sqrt(max(0, m[2*i+1]-m[2*i]*m[2*i])) }
		p.observables = append(p.observables, o)
	}
	means := 2 * len(functions)
	load := map[string]any{"x": a, "y": b}
	kind, _, _ := strings.Cut(name, "-")
	walkers := max(32, 4*t.dim)
	p.ours = ours{
		system: density.Reals(name, about, t), width: means,
		expand: func(row []float64, state []byte) {
			x := make([]float64, t.dim)
			for i := range x {
				x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(state[4*i:])))
			}
			expand(row, x)
		},
	}
	p.peers = []contender{
		&nuts{chain{
			peer: "stan", title: "Stan's NUTS", load: load, width: t.dim, means: means, lanes: 1, expand: expand,
			choose: func(seed uint64) []any { return []any{kind, t.dim, seed} },
		}},
		&chain{
			peer: "emcee", title: "emcee", load: load, width: t.dim, means: means, lanes: walkers, expand: expand,
			choose: func(seed uint64) []any { return []any{kind, walkers, t.dim, seed} },
		},
	}
	return p
}

// A function of a state, and its mean if that is known, NaN if not.
type function struct {
	name  string
	of    func(x []float64) float64
	exact float64
}

func coordinate(i int, exact float64) function {
	return function{fmt.Sprint("x", i), func(x []float64) float64 { return x[i] }, exact}
}

func secondMoment(i int, exact float64) function {
	return function{fmt.Sprintf("x%d²", i), func(x []float64) float64 { return x[i] * x[i] }, exact}
}

func vectorProblems() []problem {
	unknown := math.NaN()
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
		off := (x[1] - x[0]*x[0]) / 0.3
		return -x[0]*x[0]/2 - off*off/2
	}}
	// Eight standard deviations apart.
	far := []float64{8, 0, 0, 0, 0}
	modes := density64{len(far), func(x []float64) float64 {
		near, there := 0.0, 0.0
		for i, v := range x {
			near += v * v / 2
			there += (v - far[i]) * (v - far[i]) / 2
		}
		low := min(near, there)
		return math.Log(0.7*math.Exp(low-near)+0.3*math.Exp(low-there)) - low
	}}
	// Rubin (1981), in coordinates that do not depend on τ.
	effects, errors := []float64{28, 8, -3, 7, -1, 1, 18, 12}, []float64{15, 10, 16, 11, 9, 11, 10, 18}
	schools := density64{10, func(x []float64) float64 {
		mu, tau := x[0], math.Exp(x[1])
		sum := -mu*mu/50 - math.Log1p(tau*tau/25) + x[1]
		for j, z := range x[2:] {
			off := (effects[j] - mu - tau*z) / errors[j]
			sum -= z*z/2 + off*off/2
		}
		return sum
	}}
	const observations = 200
	design, outcomes := regression(10, observations)
	columns := make([]float64, len(design)) // of outcomes times the design
	for i := range columns {
		columns[i] = outcomes[i%observations] * design[i%observations*10+i/observations]
	}
	logistic := density64{10, func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum -= v * v / (2 * 2.5 * 2.5)
		}
		var logits, small [observations]float64
		asm.Combine64(logits[:], x, columns, observations)
		for i, t := range logits { // ln(1 + e^−t) = max(−t, 0) + ln(1 + e^−|t|), the last of at most 2
			sum += min(t, 0)
			small[i] = -math.Abs(t)
		}
		asm.Exp64(small[:], small[:])
		product := 1.0
		for _, e := range small {
			product *= 1 + e
		}
		return sum - math.Log(product)
	}}
	each := func(d int, f func(i int) function) (all []function) {
		for i := range d {
			all = append(all, f(i))
		}
		return all
	}
	unknownMean := func(i int) function { return coordinate(i, unknown) }
	return append([]problem{
		vectorProblem("logistic", "a logistic regression of 10 coefficients and 200 observations", logistic, design, outcomes, each(10, unknownMean)),
		vectorProblem("schools", "eight schools, not centred", schools, errors, effects, each(10, unknownMean)),
		vectorProblem("funnel", "Neal's funnel of 10 coordinates", funnel, none, none, []function{
			coordinate(0, 0), secondMoment(0, 9),
			{"tanh x1", func(x []float64) float64 { return math.Tanh(x[1]) }, 0},
		}),
		vectorProblem("banana", "a banana: x1 near x0²", banana, none, none, []function{
			coordinate(0, 0), secondMoment(0, 1), coordinate(1, 1), secondMoment(1, 3.09),
		}),
		vectorProblem("two_modes", "two Gaussians 8 standard deviations apart, of weights 0.7 and 0.3, in 5 coordinates", modes, far, none, []function{
			coordinate(0, 2.4), secondMoment(0, 0.3*64+1), coordinate(1, 0), secondMoment(1, 1),
		}),
		// The means are of 28 and 6 million sweeps of Metropolis moves, with standard errors of at most
		// a thousandth of a deviation.
		field("phi4", 8, 0.147517, 0.604793, -31.94784),
		field("phi4-16", 16, 0.073728, 0.604532, -127.7711),
	}, regressions()...)
}

// field is φ⁴ on a periodic square lattice, with the means of |m|, of φ² and of ln π.
func field(name string, side int, m, square, mean float64) problem {
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

// regressions are linear ones of posteriordb, which with schools make eight of it. Their peers take
// numbers of the data, the triangle and what it is held against, and the means and deviations of
// coefficients, if there are priors of them.
func regressions() (all []problem) {
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
		var each []function
		for i := range p.Figures {
			each = append(each, coordinate(i, math.NaN()))
		}
		r := vectorProblem("regression-"+name, fmt.Sprintf("posteriordb's %s, of %d coefficients and ln σ", p.Name, dim-1),
			density64{dim, d.Regression()}, append(a, d.Target...), slices.Concat(d.Means, d.Deviations), each)
		r.solve = func() []float64 {
			d.Exact(p.Figures)
			return lists.Map(p.Figures, func(f posteriordb.Figure) float64 { return f.Mean })
		}
		all = append(all, r)
	}
	return all
}

// regression draws standard normal rows and outcomes ±1 of a logistic model.
func regression(d, n int) (design, outcomes []float64) {
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
