package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/ising"
	"github.com/revgen/revgen/target/density"
)

// A Known target is one whose averages and ln Z are known: by a closed form, quadrature,
// a transfer matrix or enumeration.
type Known struct {
	Kind, Title string
	// A target in Go is a definition; one of spins is assignments.
	Definition  *engine.Definition
	Assignments []string
	LogZ        float64 // NaN where it is not known
	Figures     []Known1
}

// A Known1 is one average that is known.
type Known1 struct {
	Name             string
	Value, Deviation float64 // of the target's states
	Noise            float64 // standard error of Value, 0 where it is exact
	Of               func(x []float64, k int) float64
	// Loose says that it counts as a spread or ln π does for a verdict, which may be off by
	// eight floors where others may by three.
	Loose bool
}

// KnownKinds are those that are drawn, each as often as any other.
var KnownKinds = []string{
	"modes apart", "needle", "scales", "Student", "funnel", "shell", "shells, (x, k)", "banana", "ridge", "box",
	"wells", "field", "switch, (x, k)", "posterior", "landscape", "glass", "triangular", "blocks", "hidden lattice",
}

// NewKnown draws target number i of a kind from a seed.
func NewKnown(seed uint64, kind, i int) *Known {
	r := draws{rand.New(rand.NewPCG(seed<<16+uint64(i), 0x6b6e6f776e+uint64(kind)))}
	t := []func() *Known{
		r.modesApart, r.needle, r.unlike, r.student, r.funnel, r.shell, r.shells, r.banana, r.ridge, r.box,
		r.chain, r.scalar, r.switches, r.proportions, r.landscape, r.smallGlass, r.triangular, r.blocks, r.hidden,
	}[kind]()
	t.Kind = KnownKinds[kind]
	return t
}

// A formulaInGo is a target's ln π.
type formulaInGo struct {
	dim, modes int
	f          func(x []float64, k int) float64
}

func (t formulaInGo) Dim() int { return t.dim }

func (t formulaInGo) LogDensity(dst, x []float32, k []uint8) {
	wide := make([]float64, len(dst))
	t.LogDensity64(wide, x, k)
	for r, v := range wide {
		dst[r] = float32(v)
	}
}

// LogDensity64 implements vectors.Precise.
func (t formulaInGo) LogDensity64(dst []float64, x []float32, k []uint8) {
	row, mode := make([]float64, t.dim), 0
	for r := range dst {
		for j := range row {
			row[j] = float64(x[r*t.dim+j])
		}
		if k != nil {
			mode = int(k[r])
		}
		dst[r] = t.f(row, mode)
	}
}

type modalInGo struct{ formulaInGo }

func (t modalInGo) Modes() int { return t.modes }

// overReals makes a Known of ln π over vectors, and over modes if there are any.
func overReals(title string, dim, modes int, logZ float64, f func(x []float64, k int) float64, figures []Known1, support ...[2]float64) *Known {
	t := formulaInGo{dim, modes, f}
	var d engine.Definition
	if modes > 0 {
		d = density.Mixed("known", title, modalInGo{t})
	} else {
		d = density.Reals("known", title, t, density.Hints{Support: support})
	}
	return &Known{Title: title, Definition: &d, LogZ: logZ, Figures: figures}
}

// coordinate is the average of a coordinate whose mean and variance are known, and squareOf
// that of its square, whose are the moments of second and fourth order.
func coordinate(i int, mean, variance float64) Known1 {
	return Known1{Name: fmt.Sprintf("x%d", i), Value: mean, Deviation: math.Sqrt(variance), Of: func(x []float64, _ int) float64 { return x[i] }}
}

func squareOf(i int, second, fourth float64) Known1 {
	return Known1{Name: fmt.Sprintf("x%d²", i), Value: second, Deviation: math.Sqrt(fourth - second*second), Of: func(x []float64, _ int) float64 { return x[i] * x[i] }}
}

// spreadOf is the average squared distance from a mean.
func spreadOf(i int, mean, variance, fourth float64) Known1 {
	return Known1{Name: fmt.Sprintf("variance of x%d", i), Value: variance, Deviation: math.Sqrt(fourth - variance*variance), Of: func(x []float64, _ int) float64 { return (x[i] - mean) * (x[i] - mean) }}
}

// ofMoments are the averages of a coordinate that its first four moments tell.
func ofMoments(i int, m [5]float64) []Known1 {
	mean, variance := m[1], m[2]-m[1]*m[1]
	fourth := m[4] - 4*mean*m[3] + 6*mean*mean*m[2] - 3*mean*mean*mean*mean
	return []Known1{coordinate(i, mean, variance), squareOf(i, m[2], m[4]), spreadOf(i, mean, variance, fourth)}
}

// meanSquare is that of d coordinates.
func meanSquare(d int, mean, variance float64) Known1 {
	return Known1{Name: "|x|²/d", Value: mean, Deviation: math.Sqrt(variance), Of: func(x []float64, _ int) float64 { return dot(x, x) / float64(d) }}
}

// logOf is the average of ln π, whose mean and variance are the derivatives of ln Z of π's power
// 1 + e.
func logOf(f func(x []float64, k int) float64, mean, variance float64) Known1 {
	return Known1{Name: "ln π", Value: mean, Deviation: math.Sqrt(variance), Of: f, Loose: true}
}

// derivatives returns those of f at 0.
func derivatives(f func(e float64) float64) (first, second float64) {
	const e = 1e-3
	low, middle, high := f(-e), f(0), f(e)
	return (high - low) / (2 * e), (high + low - 2*middle) / (e * e)
}

// share is the average of what is 1 in a part of the states, or the part of each.
func share(name string, p float64, of func(x []float64, k int) float64) Known1 {
	return Known1{Name: name, Value: p, Deviation: math.Sqrt(p * (1 - p)), Of: of}
}

// A bell is a Gaussian of a mixture, of independent coordinates.
type bell struct {
	weight, sigma float64
	mean          []float64
}

func (b *bell) log(x []float64) float64 {
	l := math.Log(b.weight) - float64(len(x))*math.Log(b.sigma)
	for i, v := range x {
		u := (v - b.mean[i]) / b.sigma
		l -= u * u / 2
	}
	return l
}

// bells makes a Known of a mixture, over modes too where modal.
func bells(title string, all []bell, modal bool) *Known {
	dim := len(all[0].mean)
	logs := func(x []float64) []float64 {
		l := make([]float64, len(all))
		for c := range all {
			l[c] = all[c].log(x)
		}
		return l
	}
	f, modes := func(x []float64, _ int) float64 { return floats.LogSumExp(logs(x)) }, 0
	if modal {
		f, modes = func(x []float64, k int) float64 { return all[k].log(x) }, len(all)
	}
	var figures []Known1
	for c := range all {
		of := func(x []float64, _ int) float64 { l := logs(x); return math.Exp(l[c] - floats.LogSumExp(l)) }
		if modal {
			of = func(_ []float64, k int) float64 {
				if k == c {
					return 1
				}
				return 0
			}
		}
		figures = append(figures, share(fmt.Sprintf("weight %d", c), all[c].weight, of))
	}
	for i := range min(dim, 3) {
		var moments [5]float64
		for _, b := range all {
			m, s := b.mean[i], b.sigma*b.sigma
			for n, v := range [...]float64{1, m, m*m + s, m * (m*m + 3*s), m*m*m*m + 6*m*m*s + 3*s*s} {
				moments[n] += b.weight * v
			}
		}
		figures = append(figures, ofMoments(i, moments)...)
	}
	return overReals(title, dim, modes, float64(dim)/2*math.Log(2*math.Pi), f, figures)
}

// direction returns a vector of a length.
func (r draws) direction(d int, length float64) []float64 {
	v := vector(d, r.NormFloat64)
	norm := math.Sqrt(dot(v, v))
	for i := range v {
		v[i] *= length / norm
	}
	return v
}

func (r draws) modesApart() *Known {
	d, apart := []int{2, 3, 5, 10}[r.IntN(4)], r.ratio(5, 50)
	weights := r.weights(2 + r.IntN(2))
	all := lists.Map(weights, func(w float64) bell { return bell{w, 1, r.direction(d, apart*r.between(.5, 1))} })
	return bells(fmt.Sprintf("%d modes, weights %s, up to %v σ from the centre, in %s", len(all), numbers(weights), apart, dimensions(d)), all, false)
}

func (r draws) needle() *Known {
	d, sigma, w := 2+r.IntN(2), math.Pow(10, r.between(-2.5, -1)), r.between(.1, .5)
	return bells(fmt.Sprintf("a needle of weight %v, σ = %.2g, in %s", w, sigma, dimensions(d)),
		[]bell{{1 - w, 1, make([]float64, d)}, {w, sigma, r.direction(d, r.between(.5, 3))}}, false)
}

func (r draws) unlike() *Known {
	d, scale, w := 1+r.IntN(4), r.ratio(10, 100), r.between(.2, .8)
	return bells(fmt.Sprintf("two modes in %s, of weights %v and %.2f, the second %v × as wide", dimensions(d), w, 1-w, scale),
		[]bell{{w, 1, make([]float64, d)}, {1 - w, scale, r.direction(d, scale*r.between(1, 4))}}, false)
}

func (r draws) switches() *Known {
	d, weights := 1+r.IntN(4), r.weights(2+r.IntN(5))
	all := lists.Map(weights, func(w float64) bell {
		return bell{w, r.ratio(.3, 3), vector(d, func() float64 { return rounded(4 * r.NormFloat64()) })}
	})
	return bells(fmt.Sprintf("%d modes beside %s, weights %s", len(all), dimensions(d), numbers(weights)), all, true)
}

// trigamma returns ψ′(x), of x > 0.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

func logGamma(x float64) float64 { l, _ := math.Lgamma(x); return l }

// integrate sums f over a fine grid, which is exact for what is smooth and vanishes at both
// ends, and otherwise as good as Simpson's rule.
func integrate(f func(x float64) float64, low, high float64) (sum float64) {
	const n = 1 << 14
	h := (high - low) / n
	for i := range n + 1 {
		w := 2 + 2*float64(i%2)
		if i == 0 || i == n {
			w = 1
		}
		sum += w * h / 3 * f(low+h*float64(i))
	}
	return sum
}

func (r draws) student() *Known {
	d, nu := 1+r.IntN(6), r.between(2.5, 10)
	norm := math.Exp(logGamma((nu+1)/2)-logGamma(nu/2)) / math.Sqrt(nu*math.Pi)
	inside := integrate(func(x float64) float64 { return norm * math.Pow(1+x*x/nu, -(nu+1)/2) }, -1, 1)
	squares := func(x []float64) float64 { return math.Log1p(dot(x, x) / nu) }
	half := (nu + float64(d)) / 2
	known := overReals(fmt.Sprintf("Student's law, ν = %v, in %s", nu, dimensions(d)), d, 0,
		logGamma(nu/2)-logGamma(half)+float64(d)/2*math.Log(nu*math.Pi),
		func(x []float64, _ int) float64 { return -half * squares(x) },
		[]Known1{
			share("x0 < 0", .5, func(x []float64, _ int) float64 { return step(-x[0]) }),
			share("|x0| < 1", inside, func(x []float64, _ int) float64 { return step(1 - math.Abs(x[0])) }),
			{Name: "ln(1 + |x|²/ν)", Value: mathext.Digamma(half) - mathext.Digamma(nu/2), Deviation: math.Sqrt(trigamma(nu/2) - trigamma(half)),
				Of: func(x []float64, _ int) float64 { return squares(x) }},
		})
	if nu > 4 {
		second := nu / (nu - 2)
		known.Figures = append(known.Figures, squareOf(0, second, 3*nu*second/(nu-4)))
	}
	return known
}

// step is 1 of what is positive.
func step(x float64) float64 {
	if x > 0 {
		return 1
	}
	return 0
}

func (r draws) funnel() *Known {
	d, s := 2+r.IntN(5), r.between(1, 3)
	log := math.Log(2) + mathext.Digamma(.5)
	f := func(x []float64, _ int) float64 {
		return -x[0]*x[0]/(2*s*s) - float64(d-1)*x[0]/2 - math.Exp(-x[0])*dot(x[1:], x[1:])/2
	}
	n, m, a := float64(d), float64(d-1), s*s
	e, e2 := math.Exp(a/2), math.Exp(2*a) // E[x1²] and E[x1² x2²]
	return overReals(fmt.Sprintf("funnel, ln of the variance with deviation %v, in %s", s, dimensions(d)), d, 0,
		n/2*math.Log(2*math.Pi)+math.Log(s), f,
		[]Known1{
			logOf(f, -n/2, .5+m*m*a/4+m/2),
			meanSquare(d, (a+m*e)/n, (2*a*a+m*(3*e2-e*e)+m*(m-1)*(e2-e*e)+2*m*a*a*e)/(n*n)),
			coordinate(0, 0, s*s), squareOf(0, s*s, 3*s*s*s*s), squareOf(1, math.Exp(s*s/2), 3*math.Exp(2*s*s)),
			share("x1 < 0", .5, func(x []float64, _ int) float64 { return step(-x[1]) }),
			{Name: "ln x1²", Value: log, Deviation: math.Sqrt(s*s + trigamma(.5)), Of: func(x []float64, _ int) float64 { return math.Log(x[1] * x[1]) }},
		})
}

// radial returns ln of the integral of exp(−(|x| − radius)²/2w²) over d dimensions, and the
// moments of |x|.
func radial(d int, radius, w float64) (logZ float64, moment func(n int) float64) {
	raw := func(n int) float64 {
		return integrate(func(r float64) float64 {
			u := (r - radius) / w
			return math.Pow(r, float64(d-1+n)) * math.Exp(-u*u/2)
		}, max(0, radius-12*w), radius+12*w)
	}
	sphere := math.Log(2) + float64(d)/2*math.Log(math.Pi) - logGamma(float64(d)/2)
	return sphere + math.Log(raw(0)), func(n int) float64 { return raw(n) / raw(0) }
}

func length(x []float64, _ int) float64 { return math.Sqrt(dot(x, x)) }

func (r draws) shell() *Known {
	d, radius, w := 2+r.IntN(5), r.between(1, 6), r.ratio(.1, .8)
	return inShells(fmt.Sprintf("shell of radius %v, width %v, in %s", radius, w, dimensions(d)), d, 0, w, radius)
}

func (r draws) shells() *Known {
	n, d, w := 2+r.IntN(4), 2+r.IntN(2), r.ratio(.08, .4)
	radii := make([]float64, n)
	for k := range radii {
		radii[k] = float64(k+1) * r.between(.8, 1.2)
	}
	return inShells(fmt.Sprintf("%d shells of radii %s, width %v, in %s", n, numbers(radii), w, dimensions(d)), d, n, w, radii...)
}

// inShells makes a Known of a shell for each mode, or of one without modes.
func inShells(title string, d, modes int, w float64, radii ...float64) *Known {
	logs := func(w float64) []float64 {
		return lists.Map(radii, func(radius float64) float64 { l, _ := radial(d, radius, w); return l })
	}
	own := logs(w)
	logZ := floats.LogSumExp(own)
	var figures []Known1
	var first, second, fourth float64
	for k, radius := range radii {
		p := math.Exp(own[k] - logZ)
		_, moment := radial(d, radius, w)
		first, second, fourth = first+p*moment(1), second+p*moment(2), fourth+p*moment(4)
		if modes > 0 {
			figures = append(figures, share(fmt.Sprintf("mode %d", k), p, func(_ []float64, at int) float64 { return step(.5 - math.Abs(float64(at-k))) }))
		}
	}
	f := func(x []float64, k int) float64 { u := (length(x, k) - radii[k]) / w; return -u * u / 2 }
	log, spread := derivatives(func(e float64) float64 { return floats.LogSumExp(logs(w / math.Sqrt(1+e))) })
	n := float64(d)
	figures = append(figures, Known1{Name: "|x|", Value: first, Deviation: math.Sqrt(second - first*first), Of: length},
		logOf(f, log, spread), meanSquare(d, second/n, (fourth-second*second)/(n*n)))
	for i := range d {
		figures = append(figures, coordinate(i, 0, second/n), squareOf(i, second/n, 3*fourth/(n*(n+2))))
	}
	return overReals(title, d, modes, logZ, f, figures)
}

func (r draws) banana() *Known {
	d, a, b := 2+r.IntN(3), r.between(.5, 3), r.signed(.1, 1)
	v, n := b*b*a*a*a*a, float64(d)
	f := func(x []float64, _ int) float64 {
		u := x[1] - b*(x[0]*x[0]-a*a)
		return -x[0]*x[0]/(2*a*a) - u*u/2 - dot(x[2:], x[2:])/2
	}
	second, fourth := 1+2*v, 3+12*v+60*v*v // of x1
	return overReals(fmt.Sprintf("banana of width %v and bend %v in %s", a, b, dimensions(d)), d, 0,
		n/2*math.Log(2*math.Pi)+math.Log(a), f,
		[]Known1{
			coordinate(0, 0, a*a), squareOf(0, a*a, 3*a*a*a*a), coordinate(1, 0, second), squareOf(1, second, fourth), logOf(f, -n/2, n/2),
			meanSquare(d, (a*a+second+n-2)/n, (2*a*a*a*a+fourth-second*second+16*v*a*a+2*(n-2))/(n*n)),
		})
}

func (r draws) ridge() *Known {
	d, exponent := 3+r.IntN(14), r.between(1, 4)
	rho := 1 - math.Pow(10, -exponent)
	s := 1 - rho*rho
	step := Known1{Name: "(x1 − x0)²", Value: 2 * (1 - rho), Deviation: math.Sqrt2 * 2 * (1 - rho),
		Of: func(x []float64, _ int) float64 { return (x[1] - x[0]) * (x[1] - x[0]) }}
	f := func(x []float64, _ int) float64 {
		l := -x[0] * x[0] / 2
		for i := 1; i < d; i++ {
			u := x[i] - rho*x[i-1]
			l -= u * u / (2 * s)
		}
		return l
	}
	return overReals(fmt.Sprintf("ridge: AR(1), 1 − ρ = %.2g, in %s", 1-rho, dimensions(d)), d, 0,
		float64(d)/2*math.Log(2*math.Pi)+float64(d-1)/2*math.Log(s), f,
		[]Known1{logOf(f, -float64(d)/2, float64(d)/2), coordinate(0, 0, 1), squareOf(0, 1, 3), coordinate(d-1, 0, 1), squareOf(d-1, 1, 3), step})
}

func (r draws) box() *Known {
	d := 1 + r.IntN(5)
	tilt := vector(d, func() float64 { return r.signed(.5, 15) })
	logZ := 0.0
	var figures []Known1
	var log, spread float64 // of ln π
	for i, t := range tilt {
		moment := func(n int) float64 {
			return integrate(func(x float64) float64 { return math.Pow(x, float64(n)) * math.Exp(t*x-max(t, 0)) }, 0, 1)
		}
		z := moment(0)
		logZ += math.Log(z) + max(t, 0)
		mean, second := moment(1)/z, moment(2)/z
		log, spread = log+t*mean, spread+t*t*(second-mean*mean)
		if i < 3 {
			figures = append(figures, ofMoments(i, [5]float64{1, mean, second, moment(3) / z, moment(4) / z})...)
		}
	}
	f := func(x []float64, _ int) float64 { return dot(tilt, x) }
	return overReals("box in "+dimensions(d)+", tilted by "+numbers(tilt), d, 0, logZ, f, append(figures, logOf(f, log, spread)), [2]float64{0, 1})
}

// transfer makes a Known of an open chain of coordinates with ln π = Σ v(x_i) + c Σ x_i x_i+1
// by transfer matrices on a grid.
func transfer(title string, d int, c, high float64, v func(x float64) float64) *Known {
	const n = 401
	x, h := make([]float64, n), 2*high/(n-1)
	for a := range x {
		x[a] = -high + h*float64(a)
	}
	// sums returns ln Z of ln π times a number, plus square Σ x²/d, and the sums over so many
	// sites at one end.
	sums := func(times, square float64) (logZ float64, reach [][]float64) {
		own, t, edge := make([]float64, n), make([][]float64, n), make([]float64, n)
		for a := range x {
			own[a], t[a] = times*v(x[a])+square*x[a]*x[a]/float64(d), make([]float64, n)
			edge[a] = math.Exp(own[a] / 2)
		}
		most := math.Inf(-1)
		for a := range x {
			for b := range x {
				t[a][b] = own[a]/2 + own[b]/2 + times*c*x[a]*x[b]
				most = max(most, t[a][b])
			}
		}
		for a := range t {
			for b := range t[a] {
				t[a][b] = math.Exp(t[a][b]-most) * h
			}
		}
		reach = [][]float64{edge}
		for i := 1; i < d; i++ {
			next := make([]float64, n)
			for a := range t {
				next[a] = dot(t[a], reach[i-1])
			}
			reach = append(reach, next)
		}
		return math.Log(dot(edge, reach[d-1])*h) + float64(d-1)*most, reach
	}
	logZ, reach := sums(1, 0)
	z := dot(reach[0], reach[d-1])
	moment := func(i, n int) (sum float64) { // of site i
		for a := range x {
			sum += reach[i][a] * reach[d-1-i][a] * math.Pow(x[a], float64(n)) / z
		}
		return sum
	}
	var figures []Known1
	for _, i := range []int{0, d / 2} {
		figures = append(figures, ofMoments(i, [5]float64{1, moment(i, 1), moment(i, 2), moment(i, 3), moment(i, 4)})...)
		var up float64
		for a := range x {
			if x[a] > 0 {
				up += reach[i][a] * reach[d-1-i][a] / z
			} else if x[a] == 0 {
				up += reach[i][a] * reach[d-1-i][a] / z / 2
			}
		}
		figures = append(figures, share(fmt.Sprintf("x%d > 0", i), up, func(x []float64, _ int) float64 { return step(x[i]) }))
	}
	f := func(x []float64, _ int) float64 {
		l := v(x[0])
		for i := 1; i < d; i++ {
			l += v(x[i]) + c*x[i]*x[i-1]
		}
		return l
	}
	log, spread := derivatives(func(e float64) float64 { l, _ := sums(1+e, 0); return l })
	square, noise := derivatives(func(e float64) float64 { l, _ := sums(1, e); return l })
	return overReals(title, d, 0, logZ, f, append(figures, logOf(f, log, spread), meanSquare(d, square, noise)))
}

func (r draws) chain() *Known {
	d, mu, c, tilt := 1+r.IntN(6), r.between(1, 3.5), r.between(0, .6), r.between(0, .3)
	return transfer(fmt.Sprintf("%d wells at ±√%v, coupled by %v, tilted by %v", d, mu, c, tilt), d, c, 5,
		func(x float64) float64 { u := x*x - mu; return -u*u/2 + tilt*x })
}

func (r draws) scalar() *Known {
	d, lambda, mass := 4+r.IntN(13), r.ratio(.02, .5), r.between(.3, 1)
	return transfer(fmt.Sprintf("chain of a field, λ = %v, mass² = %v, %d sites", lambda, mass, d), d, 1, 9,
		func(x float64) float64 { return -(1+mass/2)*x*x - lambda*x*x*x*x })
}

// proportions is the posterior of d proportions, in logits.
func (r draws) proportions() *Known {
	d, logZ := 1+r.IntN(8), 0.0
	a, b := vector(d, func() float64 { return r.ratio(.5, 60) }), vector(d, func() float64 { return r.ratio(.5, 60) })
	var figures []Known1
	var square, noise float64 // of Σ x², and its variance
	var log, spread float64   // of ln π, likewise
	for i := range a {
		logZ += logGamma(a[i]) + logGamma(b[i]) - logGamma(a[i]+b[i])
		p := a[i] / (a[i] + b[i])
		mean, variance := mathext.Digamma(a[i])-mathext.Digamma(b[i]), trigamma(a[i])+trigamma(b[i])
		third := 2 * (mathext.Zeta(3, b[i]) - mathext.Zeta(3, a[i]))
		fourth := 6*(mathext.Zeta(4, a[i])+mathext.Zeta(4, b[i])) + 3*variance*variance
		figures = append(figures, coordinate(i, mean, variance), spreadOf(i, mean, variance, fourth),
			Known1{Name: fmt.Sprintf("p%d", i), Value: p, Deviation: math.Sqrt(p * (1 - p) / (a[i] + b[i] + 1)), Of: func(x []float64, _ int) float64 { return 1 / (1 + math.Exp(-x[i])) }})
		both := a[i] + b[i]
		log += a[i]*mathext.Digamma(a[i]) + b[i]*mathext.Digamma(b[i]) - both*mathext.Digamma(both)
		spread += a[i]*a[i]*trigamma(a[i]) + b[i]*b[i]*trigamma(b[i]) - both*both*trigamma(both)
		square += mean*mean + variance
		noise += fourth + 4*mean*third + 4*mean*mean*variance - variance*variance
	}
	figures = append(figures, Known1{Name: "|x|²", Value: square, Deviation: math.Sqrt(noise), Of: func(x []float64, _ int) float64 { return dot(x, x) }})
	f := func(x []float64, _ int) (l float64) {
		for i, v := range x {
			l += a[i]*v - (a[i]+b[i])*(math.Log1p(math.Exp(-math.Abs(v)))+max(v, 0))
		}
		return l
	}
	return overReals(fmt.Sprintf("posterior of %d proportions in logits, from %s successes and %s failures", d, numbers(a), numbers(b)), d, 0, logZ,
		f, append(figures, logOf(f, log, spread)))
}

func (r draws) landscape() *Known {
	s, height := r.between(1.5, 4), r.between(1, 5)
	a, b, p, q := r.between(.5, 2), r.between(.5, 2), r.between(0, 6), r.between(0, 6)
	f := func(x []float64, _ int) float64 {
		return -(x[0]*x[0]+x[1]*x[1])/(2*s*s) + height*math.Sin(a*x[0]+p)*math.Sin(b*x[1]+q)
	}
	const n = 801
	var z, log, logs, fourth float64
	var m [2][5]float64
	at, h := make([]float64, 2), 20*s/(n-1)
	for i := range n {
		for j := range n {
			at[0], at[1] = -10*s+h*float64(i), -10*s+h*float64(j)
			l, square := f(at, 0), dot(at, at)
			w := math.Exp(l-height) * h * h
			z, log, logs, fourth = z+w, log+w*l, logs+w*l*l, fourth+w*square*square
			for c := range 2 {
				for e := range 5 {
					m[c][e] += w * math.Pow(at[c], float64(e))
				}
			}
		}
	}
	var figures []Known1
	for c := range 2 {
		for e := range m[c] {
			m[c][e] /= z
		}
		figures = append(figures, ofMoments(c, m[c])...)
	}
	square := (m[0][2] + m[1][2]) / 2
	figures = append(figures, logOf(f, log/z, logs/z-log*log/(z*z)), meanSquare(2, square, fourth/z/4-square*square))
	return overReals(fmt.Sprintf("landscape of hills %v high, frequencies %v and %v, within %v", height, a, b, s), 2, 0, math.Log(z)+height, f, figures)
}

// overSpins makes a Known of a graph's file.
func overSpins(title string, n int, edges [][3]float64, fields []float64, beta, logZ float64, figures []Known1) *Known {
	set := []string{assign("spins", n), assign("edges", edges), assign("beta", beta)}
	if fields != nil {
		set = append(set, assign("fields", fields))
	}
	return &Known{Title: title, Assignments: set, LogZ: logZ, Figures: figures}
}

func energyOf(edges [][3]float64, fields []float64) func(s []float64, _ int) float64 {
	return func(s []float64, _ int) (e float64) {
		for _, j := range edges {
			e -= j[2] * s[int(j[0])] * s[int(j[1])]
		}
		for i, h := range fields {
			e -= h * s[i]
		}
		return e
	}
}

// settle sets figures to their averages over states whose ln weights are given, and returns ln Z.
func settle(figures []Known1, logs []float64, value func(state, figure int) float64) (logZ float64) {
	logZ = floats.LogSumExp(logs)
	for f := range figures {
		var mean, square float64
		for i, l := range logs {
			w, v := math.Exp(l-logZ), value(i, f)
			mean, square = mean+w*v, square+w*v*v
		}
		figures[f].Value, figures[f].Deviation = mean, math.Sqrt(max(0, square-mean*mean))
	}
	return logZ
}

// enumerated makes a Known of few spins.
func enumerated(title string, n int, edges [][3]float64, fields []float64, beta float64) *Known {
	energy := energyOf(edges, fields)
	s, logs := make([]float64, n), make([]float64, 1<<n)
	state := func(c int) []float64 {
		for i := range s {
			s[i] = float64(1 - 2*(c>>i&1))
		}
		return s
	}
	for c := range logs {
		logs[c] = -beta * energy(state(c), 0)
	}
	figures := []Known1{{Name: "energy", Of: energy}}
	value := func(c, f int) float64 { return figures[f].Of(state(c), 0) }
	settle(figures, logs, value)
	mean := figures[0].Value
	figures = append(figures, Known1{Name: "variance of the energy", Of: func(s []float64, _ int) float64 { return (energy(s, 0) - mean) * (energy(s, 0) - mean) }})
	for i := range 3 {
		figures = append(figures, Known1{Name: fmt.Sprintf("s%d", i), Of: func(s []float64, _ int) float64 { return s[i] }},
			Known1{Name: fmt.Sprintf("s%d s%d", i, i+1), Of: func(s []float64, _ int) float64 { return s[i] * s[i+1] }})
	}
	logZ := settle(figures, logs, value)
	return overSpins(title, n, edges, fields, beta, logZ, figures)
}

// someFields are fields of a deviation, or none.
func (r draws) someFields(n int, deviation float64) []float64 {
	return vector(n, func() float64 { return rounded(deviation * r.NormFloat64()) })
}

func (r draws) smallGlass() *Known {
	n, beta, h := 8+r.IntN(9), r.ratio(.3, 3), r.between(0, .5)
	var edges [][3]float64
	for i := range n {
		for j := range i {
			if v := rounded(r.NormFloat64() / math.Sqrt(float64(n))); v != 0 {
				edges = append(edges, [3]float64{float64(j), float64(i), v})
			}
		}
	}
	return enumerated(fmt.Sprintf("glass of %d spins, all coupled, β = %v, fields of deviation %v", n, beta, h), n, edges, r.someFields(n, h), beta)
}

// torus returns the couplings of an a×b lattice, with a diagonal if triangular.
func torus(a, b int, triangular bool, coupling func(i, j int) float64) (edges [][3]float64) {
	for y := range a {
		for x := range b {
			i := y*b + x
			to := []int{y*b + (x+1)%b, (y+1)%a*b + x}
			if triangular {
				to = append(to, (y+1)%a*b+(x+1)%b)
			}
			for _, j := range to {
				edges = append(edges, [3]float64{float64(min(i, j)), float64(max(i, j)), coupling(i, j)})
			}
		}
	}
	return edges
}

func (r draws) triangular() *Known {
	beta, h := r.ratio(.2, 3), r.between(0, 2)
	fields := slices.Repeat([]float64{h}, 16)
	return enumerated(fmt.Sprintf("triangular antiferromagnet 4×4, β = %v, h = %v", beta, h), 16, torus(4, 4, true, func(int, int) float64 { return -1 }), fields, beta)
}

// blocks are three groups of spins, all coupled, whose states are counted.
func (r draws) blocks() *Known {
	sizes, beta := []int{8 + r.IntN(9), 8 + r.IntN(9), 8 + r.IntN(9)}, r.ratio(.3, 1.6)
	n, group := 0, []int{}
	for g, s := range sizes {
		for range s {
			group = append(group, g)
		}
		n += s
	}
	var between [3][3]float64
	field := vector(3, func() float64 { return r.signed(0, .2) })
	for a := range 3 {
		for b := a; b < 3; b++ {
			between[a][b] = rounded(1.5*r.NormFloat64()) / float64(n)
			between[b][a] = between[a][b]
		}
	}
	var edges [][3]float64
	fields := make([]float64, n)
	for i, g := range group {
		fields[i] = field[g]
		for j := range i {
			edges = append(edges, [3]float64{float64(j), float64(i), between[group[j]][g]})
		}
	}
	sum := func(s []float64, g int) (m float64) {
		for i, v := range s {
			if group[i] == g {
				m += v
			}
		}
		return m
	}
	figures := []Known1{{Name: "energy", Of: energyOf(edges, fields)}}
	for g := range 3 {
		figures = append(figures, Known1{Name: fmt.Sprintf("sum of group %d", g), Of: func(s []float64, _ int) float64 { return sum(s, g) }},
			Known1{Name: fmt.Sprintf("its square, group %d", g), Of: func(s []float64, _ int) float64 { return sum(s, g) * sum(s, g) }})
	}
	var logs []float64
	var values [][7]float64
	for up := range (sizes[0] + 1) * (sizes[1] + 1) * (sizes[2] + 1) {
		ups := []int{up % (sizes[0] + 1), up / (sizes[0] + 1) % (sizes[1] + 1), up / (sizes[0] + 1) / (sizes[1] + 1)}
		var m [3]float64
		l, e := 0.0, 0.0
		for g, u := range ups {
			m[g] = float64(2*u - sizes[g])
			l += logGamma(float64(sizes[g]+1)) - logGamma(float64(u+1)) - logGamma(float64(sizes[g]-u+1))
			e -= field[g] * m[g]
		}
		for a := range 3 {
			e -= between[a][a] * (m[a]*m[a] - float64(sizes[a])) / 2
			for b := range a {
				e -= between[a][b] * m[a] * m[b]
			}
		}
		logs = append(logs, l-beta*e)
		values = append(values, [7]float64{e, m[0], m[0] * m[0], m[1], m[1] * m[1], m[2], m[2] * m[2]})
	}
	logZ := settle(figures, logs, func(state, figure int) float64 { return values[state][figure] })
	return overSpins(fmt.Sprintf("three groups of %d, %d and %d spins, β = %v", sizes[0], sizes[1], sizes[2], beta), n, edges, fields, beta, logZ, figures)
}

// hidden is a ferromagnet whose spins are counted from random signs, so that its couplings
// look like a glass's.
func (r draws) hidden() *Known {
	l, beta := 2*(4+r.IntN(3)), r.between(.25, .6)
	sign := vector(l*l, func() float64 { return float64(2*r.IntN(2) - 1) })
	edges := torus(l, l, false, func(i, j int) float64 { return sign[i] * sign[j] })
	exact := crash.Must(ising.Kaufman(l, 1, beta)) // J is positive
	return overSpins(fmt.Sprintf("lattice %d×%d behind random signs, β = %v", l, l, beta), l*l, edges, nil, beta, exact.LogZ,
		[]Known1{{Name: "energy", Value: exact.Energy, Deviation: math.Sqrt(exact.SpecificHeat) / beta, Of: energyOf(edges, nil)}})
}
