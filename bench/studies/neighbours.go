package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
)

// A Neighbour is a target near those of the presets, on which no recipe was chosen:
// what is drawn from a seed, and nothing but the target is set.
type Neighbour struct {
	Seed        uint64
	Kind        string // one of NeighbourKinds
	Title       string // the target in words
	System      string
	Assignments []string // target.key=value
}

// NeighbourKinds are the kinds of targets. Seeds take all but the last in turn unless others
// are asked for: one more would make other targets of the seeds that were measured.
var NeighbourKinds = []string{"lattice", "mixture", "wells", "graph", "reals", "mixed", "sites"}

var inTurn = NeighbourKinds[:6]

// NewNeighbour returns the target that belongs to a seed, whose kind is that of the seed's
// remainder by the number of kinds.
func NewNeighbour(seed uint64, kinds []string) Neighbour {
	r := draws{rand.New(rand.NewPCG(seed, 0x6e65696768))}
	kind := kinds[seed%uint64(len(kinds))]
	n := []func() Neighbour{r.lattice, r.mixture, r.wells, r.graph, r.reals, r.mixed, r.sites}[slices.Index(NeighbourKinds, kind)]()
	n.Seed, n.Kind = seed, kind
	return n
}

// draws are what neighbours are made of.
type draws struct{ *rand.Rand }

// between returns a number of an interval, with two decimals.
func (r draws) between(low, high float64) float64 { return rounded(low + (high-low)*r.Float64()) }

// ratio returns a number of an interval, evenly on the logarithmic scale.
func (r draws) ratio(low, high float64) float64 {
	return rounded(low * math.Exp(math.Log(high/low)*r.Float64()))
}

// signed returns a number whose size is of an interval.
func (r draws) signed(low, high float64) float64 {
	v := r.between(low, high)
	if r.IntN(2) == 0 {
		return -v
	}
	return v
}

// vector returns so many draws.
func vector(n int, draw func() float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = draw()
	}
	return v
}

// weights returns positive numbers of sum 1, up to ten times each other.
func (r draws) weights(n int) []float64 {
	w := vector(n, func() float64 { return math.Exp(math.Log(10) * r.Float64()) })
	var sum float64
	for _, v := range w {
		sum += v
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

func rounded(v float64) float64 { return math.Round(100*v) / 100 }

// assign writes key=value, the value in JSON.
func assign(key string, value any) string {
	return "target." + key + "=" + strings.Trim(string(crash.Must(json.Marshal(value))), `"`)
}

// lattice draws an Ising model: sides 3 to 16, couplings of either sign between 0.5 and
// 1.5, β between 0.1 and 0.6, and half of them in a field of either sign up to 0.5.
func (r draws) lattice() Neighbour {
	l, j, beta, h := 3+r.IntN(14), r.signed(0.5, 1.5), r.between(0.1, 0.6), 0.0
	title := fmt.Sprintf("lattice %d×%d, J = %v, β = %v", l, l, j, beta)
	if r.IntN(2) == 0 {
		h = r.signed(0.01, 0.5)
		title += fmt.Sprintf(", h = %v", h)
	}
	return Neighbour{System: "ising", Title: title,
		Assignments: []string{assign("l", l), assign("j", j), assign("beta", beta), assign("h", h)}}
}

// mixture draws 2 to 6 Gaussians in 1 to 16 dimensions, of weights up to ten times each
// other's, with standard deviations along their axes between 0.4 and 1.6, whose means
// are at distances of about 2 to 8, and no two of them nearer than half of that.
func (r draws) mixture() Neighbour {
	d, weights := 1+r.IntN(16), r.weights(2+r.IntN(5))
	separation := r.between(2, 8)
	means := r.apart(len(weights), d, separation)
	var components []map[string]any
	for k, w := range weights {
		components = append(components, map[string]any{"weight": w, "mean": means[k], "covariance": r.covariance(d)})
	}
	return Neighbour{System: "gmm", Assignments: []string{assign("components", components)},
		Title: fmt.Sprintf("mixture of %d Gaussians about %v apart in %s", len(weights), separation, dimensions(d))}
}

// apart draws points at about a distance from each other, and none at less than half of
// it.
func (r draws) apart(n, d int, distance float64) (points [][]float64) {
	for len(points) < n {
		p := vector(d, func() float64 {
			v := distance * r.NormFloat64() / math.Sqrt(float64(2*d))
			if d < 3 { // where there is little room
				v *= float64(n)
			}
			return rounded(v)
		})
		near := false
		for _, other := range points {
			var square float64
			for i, v := range p {
				square += (v - other[i]) * (v - other[i])
			}
			near = near || square < distance*distance/4
		}
		if !near {
			points = append(points, p)
		}
	}
	return points
}

// covariance draws a matrix of random axes.
func (r draws) covariance(d int) [][]float64 {
	axes := make([][]float64, 0, d)
	for len(axes) < d {
		v := vector(d, r.NormFloat64)
		for _, a := range axes {
			along := dot(a, v)
			for i := range v {
				v[i] -= along * a[i]
			}
		}
		length := math.Sqrt(dot(v, v))
		for i := range v {
			v[i] /= length
		}
		axes = append(axes, v)
	}
	c := make([][]float64, d)
	for i := range c {
		c[i] = make([]float64, d)
	}
	for _, a := range axes {
		deviation := 0.4 * math.Exp(math.Log(4)*r.Float64())
		for i := range d {
			for j := range i + 1 {
				c[i][j] += deviation * deviation * a[i] * a[j]
				c[j][i] = c[i][j]
			}
		}
	}
	return c
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// wells draws 2 to 8 modes of double wells, with μ between 0.25 and 40.
func (r draws) wells() Neighbour {
	mu := vector(2+r.IntN(7), func() float64 { return r.ratio(0.25, 40) })
	return Neighbour{System: "hybrid", Title: fmt.Sprintf("%d modes of double wells, μ = %s", len(mu), numbers(mu)),
		Assignments: []string{assign("mu", mu)}}
}

// graph draws 8 to 40 spins of three to six neighbours on average, with couplings ±1 or
// normal ones, at β between 0.2 and 1, and half of them in fields of their own.
func (r draws) graph() Neighbour {
	n, degree, beta := 8+r.IntN(33), 3+r.IntN(4), r.between(0.2, 1)
	kind, coupling := "±1", func() float64 { return float64(2*r.IntN(2) - 1) }
	if r.IntN(2) == 0 {
		kind, coupling = "normal", func() float64 { return rounded(r.NormFloat64()) }
	}
	edges := r.edges(n, degree, coupling)
	title := fmt.Sprintf("graph of %d spins and %d couplings, %s, β = %v", n, len(edges), kind, beta)
	assignments := []string{assign("spins", n), assign("edges", edges), assign("beta", beta)}
	if r.IntN(2) == 0 {
		title += ", in fields"
		assignments = append(assignments, assign("fields", vector(n, func() float64 { return rounded(0.5 * r.NormFloat64()) })))
	}
	return Neighbour{System: "spins", Title: title, Assignments: assignments}
}

// edges draws the couplings of a random graph.
func (r draws) edges(n, degree int, coupling func() float64) (edges [][3]float64) {
	joined := map[[2]int]bool{}
	for len(edges) < n*degree/2 {
		i, j := r.IntN(n), r.IntN(n)
		if i >= j || joined[[2]int{i, j}] {
			continue
		}
		joined[[2]int{i, j}] = true
		if v := coupling(); v != 0 {
			edges = append(edges, [3]float64{float64(i), float64(j), v})
		}
	}
	return edges
}

// sites draws 8 to 24 sites of 3 to 8 states with three or four neighbours on average, Potts
// or clocks, with normal couplings of both signs, at β between 0.2 and 1.5, and half of them
// in a field.
func (r draws) sites() Neighbour {
	n, q, beta := 8+r.IntN(17), 3+r.IntN(6), r.between(0.2, 1.5)
	model := []string{"potts", "clock"}[r.IntN(2)]
	edges := r.edges(n, 3+r.IntN(2), func() float64 { return rounded(r.NormFloat64()) })
	title := fmt.Sprintf("%s, %d sites of %d states, %d couplings, β = %v", model, n, q, len(edges), beta)
	assignments := []string{assign("l", 0), assign("q", q), assign("model", model), assign("sites", n), assign("edges", edges), assign("beta", beta)}
	if r.IntN(2) == 0 {
		title += ", in a field"
		assignments = append(assignments, assign("fields", [][]float64{vector(q, func() float64 { return rounded(0.5 * r.NormFloat64()) })}))
	}
	return Neighbour{System: "potts", Title: title, Assignments: assignments}
}

// A formula is a target given by an expression.
func formula(system, title string, dim int, expression string, parameters map[string]any, more ...string) Neighbour {
	return Neighbour{System: system, Title: title, Assignments: append([]string{
		assign("dim", dim), "target.expression=" + expression, assign("parameters", parameters),
	}, more...)}
}

// reals draws an expression over real vectors: a field, a shell, a banana, a Student
// law, a posterior, or a chain of wells.
func (r draws) reals() Neighbour {
	type parameters = map[string]any
	switch r.IntN(6) {
	case 0:
		side, kappa, lambda := 2+r.IntN(3), r.signed(0.05, 0.22), r.ratio(0.02, 0.5)
		sides := fmt.Sprintf("[%d,%d]", side, side)
		return formula("reals", fmt.Sprintf("φ⁴ field on %d×%d sites, κ = %v, λ = %v", side, side, kappa, lambda), side*side,
			"2*kappa*sum(x*(shift(x, "+sides+", [1,0]) + shift(x, "+sides+", [0,1]))) - sum(x^2 + lambda*(x^2 - 1)^2)",
			parameters{"kappa": kappa, "lambda": lambda})
	case 1:
		d, radius, width := 2+r.IntN(3), r.between(1, 4), r.between(0.3, 0.8)
		return formula("reals", fmt.Sprintf("shell of radius %v and width %v in %s", radius, width, dimensions(d)), d,
			"-(sqrt(sum(x^2)) - radius)^2/(2*width^2)", parameters{"radius": radius, "width": width})
	case 2:
		a, b := r.between(0.5, 2), r.signed(0.1, 0.6)
		return formula("reals", fmt.Sprintf("banana of width %v and bend %v", a, b), 2,
			"-x[0]^2/(2*a^2) - (x[1] - b*(x[0]^2 - a^2))^2/2", parameters{"a": a, "b": b})
	case 3:
		d, nu := 1+r.IntN(6), 6+r.IntN(20)
		return formula("reals", fmt.Sprintf("Student law of %d degrees of freedom in %s", nu, dimensions(d)), d,
			"-(nu + len(x))/2*log1p(sum(x^2)/nu)", parameters{"nu": nu})
	case 4:
		d, rows := 2+r.IntN(7), 10+r.IntN(31)
		data, y := make([][]float64, rows), make([]float64, rows)
		truth := vector(d, r.NormFloat64)
		for i := range data {
			data[i] = vector(d, func() float64 { return rounded(r.NormFloat64()) })
			if r.Float64() < 1/(1+math.Exp(-dot(data[i], truth))) {
				y[i] = 1
			}
		}
		return formula("reals", fmt.Sprintf("posterior of a logistic regression, %d data, %d coefficients", rows, d), d,
			"sum(y*dot(X, x) - softplus(dot(X, x))) - sum(x^2)/8", parameters{"X": data, "y": y})
	}
	d, mu, coupling := 1+r.IntN(3), r.between(0.5, 2.5), r.between(0, 0.5)
	return formula("reals", fmt.Sprintf("chain of %d double wells at ±√%v, coupled by %v", d, mu, coupling), d,
		"-sum((x^2 - mu)^2) + c*sum(x*shift(x, 1))", parameters{"mu": mu, "c": coupling})
}

// mixed draws an expression over 2 to 6 modes beside a vector of 1 to 4 coordinates, in
// each of which it is Gaussian or flatter.
func (r draws) mixed() Neighbour {
	weights := r.weights(2 + r.IntN(5))
	d, q := 1+r.IntN(4), r.between(0, 0.5)
	if r.IntN(2) == 0 {
		q = 0
	}
	for i, w := range weights {
		weights[i] = rounded(100*w) / 100
	}
	scales := vector(len(weights), func() float64 { return r.ratio(0.4, 2.5) })
	centres := make([][]float64, len(weights))
	for k := range centres {
		centres[k] = vector(d, func() float64 { return rounded(3 * r.NormFloat64()) })
	}
	return formula("mixed", fmt.Sprintf("%d modes in %s, weights %s, scales %s, ln π −%vu⁴", len(weights), dimensions(d), numbers(weights), numbers(scales), q), d,
		"let u = (x - mu[k])/s[k]; log(w[k]) - sum(u^2/2 + q*u^4) - len(x)*log(s[k])",
		map[string]any{"w": weights, "mu": centres, "s": scales, "q": q}, assign("modes", len(weights)))
}

// dimensions writes a number of them.
func dimensions(d int) string {
	if d == 1 {
		return "1 dimension"
	}
	return fmt.Sprintf("%d dimensions", d)
}

// numbers writes a list.
func numbers(v []float64) string {
	return strings.Join(lists.Map(v, func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }), ", ")
}
