package main

import (
	"math"
	"slices"

	"github.com/revgen/revgen/bench/posteriordb"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/target/density"
)

// A posteriorModel is ln π in unconstrained coordinates, Jacobian included, and what the
// reference has of a state, nil where that is the coordinates.
type posteriorModel struct {
	dim   int
	f     func(x []float64, _ int) float64
	shown func(x []float64) []float64

	operations int // of an evaluation, where they are many
}

// laborious is a formula that says how many numbers it computes.
type laborious struct {
	formulaInGo
	operations int
}

// Operations implements vectors.Laborious.
func (l laborious) Operations() int { return l.operations }

// Posteriors returns twenty of posteriordb. What ten thousand draws say of linear regressions is
// replaced by what is so: given ln σ coefficients are Gaussian, and over ln σ a sum is exact. So is a
// sum over a grid in three coordinates.
func Posteriors() (all []*Known) {
	for _, p := range posteriordb.All() {
		m := posteriorModels[p.Model](&p.Data)
		if m.shown == nil {
			m.shown = func(x []float64) []float64 { return x }
		}
		d := density.Reals("known", p.Name, laborious{formulaInGo{m.dim, 0, m.f}, m.operations})
		k := &Known{Kind: "posteriordb", Title: p.Name, Definition: &d, LogZ: math.NaN()}
		root := math.Sqrt(p.Draws)
		switch {
		case p.Model == "regression":
			k.LogZ, root = p.Data.SetExact(p.Figures), math.Inf(1)
		case m.dim == 3:
			k.LogZ, root = m.quadrature(p.Figures), math.Inf(1)
		}
		for i, f := range p.Figures {
			k.Figures = append(k.Figures,
				Known1{Name: f.Name, Value: f.Mean, Deviation: f.Deviation, Noise: f.Deviation / root,
					Of: func(x []float64, _ int) float64 { return m.shown(x)[i] }},
				Known1{Name: "variance of " + f.Name, Value: f.Deviation * f.Deviation, Deviation: f.OfSquare, Noise: f.OfSquare / root,
					Of: func(x []float64, _ int) float64 { v := m.shown(x)[i] - f.Mean; return v * v }})
		}
		all = append(all, k)
	}
	return all
}

// quadrature sets figures, which are the coordinates, to their values by a sum over a grid, and
// returns ln Z.
func (m *posteriorModel) quadrature(figures []posteriordb.Figure) (logZ float64) {
	const reach, points = 9., 41 // in Stan's deviations, and of a coordinate
	const step = 2 * reach / (points - 1)
	x, volume := make([]float64, m.dim), 1.
	for i, f := range figures {
		x[i] = f.Mean
		volume *= step * f.Deviation
	}
	most := m.f(x, 0)
	var sum float64
	moments := make([][5]float64, m.dim)
	var over func(i int)
	over = func(i int) {
		if i < m.dim {
			for p := range points {
				x[i] = figures[i].Mean + (float64(p)*step-reach)*figures[i].Deviation
				over(i + 1)
			}
			return
		}
		w := math.Exp(m.f(x, 0) - most)
		sum += w
		for j, f := range figures {
			power := w
			for n := range moments[j] {
				moments[j][n] += power
				power *= x[j] - f.Mean
			}
		}
	}
	over(0)
	posteriordb.SetFigures(figures, moments, sum)
	return most + math.Log(sum*volume)
}

// logistic returns 1/(1 + e^−u) and ln of its derivative.
func logistic(u float64) (p, jacobian float64) {
	p = 1 / (1 + math.Exp(-u))
	return p, -math.Abs(u) - 2*math.Log1p(math.Exp(-math.Abs(u)))
}

var posteriorModels = map[string]func(d *posteriordb.Data) posteriorModel{
	"regression": func(d *posteriordb.Data) posteriorModel {
		of := d.Regression()
		return posteriorModel{dim: len(d.Target) + 1, f: func(x []float64, _ int) float64 { return of(x) }}
	},
	"arma": func(d *posteriordb.Data) posteriorModel {
		return posteriorModel{dim: 4, f: func(x []float64, _ int) float64 {
			mu, phi, theta, sigma := x[0], x[1], x[2], math.Exp(x[3])
			l := posteriordb.NormalLog(mu, 0, 10) + posteriordb.NormalLog(phi, 0, 2) + posteriordb.NormalLog(theta, 0, 2) + posteriordb.PriorOfScale(sigma, 2.5, 0)
			before, off := mu, 0.0
			for _, y := range d.Y {
				off = y - (mu + phi*before + theta*off)
				before = y
				l -= off * off / (2 * sigma * sigma)
			}
			return l - float64(len(d.Y))*x[3]
		}}
	},
	"garch": func(d *posteriordb.Data) posteriorModel {
		return posteriorModel{dim: 4, operations: 20 * len(d.Y), f: func(x []float64, _ int) float64 {
			alpha0 := math.Exp(x[1])
			alpha1, first := logistic(x[2])
			part, second := logistic(x[3])
			beta1 := part * (1 - alpha1)
			l, variance := x[1]+first+second+math.Log1p(-alpha1), d.Sigma1*d.Sigma1
			for t, y := range d.Y {
				if t > 0 {
					before := d.Y[t-1] - x[0]
					variance = alpha0 + alpha1*before*before + beta1*variance
				}
				l -= (y-x[0])*(y-x[0])/(2*variance) + math.Log(variance)/2
			}
			return l
		}}
	},
	"gauss_mix": func(d *posteriordb.Data) posteriorModel {
		return posteriorModel{dim: 5, operations: 20 * len(d.Y), f: func(x []float64, _ int) float64 {
			mu1, mu2, sigma1, sigma2 := x[0], x[0]+math.Exp(x[1]), math.Exp(x[2]), math.Exp(x[3])
			theta, jacobian := logistic(x[4])
			l := posteriordb.NormalLog(mu1, 0, 2) + posteriordb.NormalLog(mu2, 0, 2) + x[1] + posteriordb.PriorOfScale(sigma1, 0, 2) + posteriordb.PriorOfScale(sigma2, 0, 2) +
				jacobian + 4*math.Log(theta*(1-theta))
			// Products of 16 terms stay within float64, of which few logarithms are taken.
			product := 1.0
			for i, y := range d.Y {
				a, b := (y-mu1)/sigma1, (y-mu2)/sigma2
				product *= theta/sigma1*math.Exp(-a*a/2) + (1-theta)/sigma2*math.Exp(-b*b/2)
				if i%16 == 15 || i == len(d.Y)-1 {
					l += math.Log(product)
					product = 1
				}
			}
			return l
		}}
	},
	"hmm": func(d *posteriordb.Data) posteriorModel {
		return posteriorModel{dim: 4, operations: 40 * len(d.Y), f: func(x []float64, _ int) float64 {
			p, first := logistic(x[0])
			q, second := logistic(x[1])
			mu1 := math.Exp(x[2])
			mu2 := mu1 + math.Exp(x[3])
			l, a, b := first+second+x[2]+x[3]+posteriordb.NormalLog(mu1, 3, 1)+posteriordb.NormalLog(mu2, 10, 1), 1.0, 1.0
			for t, y := range d.Y {
				if t > 0 {
					a, b = a*p+b*q, a*(1-p)+b*(1-q)
				}
				// The likelier of the two has the weight 1.
				u, v := (y-mu1)*(y-mu1)/2, (y-mu2)*(y-mu2)/2
				least := min(u, v)
				a, b = a*math.Exp(least-u), b*math.Exp(least-v)
				sum := a + b
				l += math.Log(sum) - least
				a, b = a/sum, b/sum
			}
			return l
		}}
	},
	"gp_regr": func(d *posteriordb.Data) posteriorModel {
		return posteriorModel{dim: 3, operations: covarianceWork(len(d.X)), f: func(x []float64, _ int) float64 {
			rho, alpha, sigma := math.Exp(x[0]), math.Exp(x[1]), math.Exp(x[2])
			factor, ok := squaredExponential(d.X, alpha, rho, sigma)
			if !ok {
				return math.Inf(-1)
			}
			l := lengthPrior(rho) + x[0] + posteriordb.PriorOfScale(alpha, 0, 2) + posteriordb.PriorOfScale(sigma, 0, 1)
			u := make([]float64, len(d.Y)) // of L u = y
			for i := range u {
				row := mixture.Row(factor, i)
				u[i] = (d.Y[i] - dot(row[:i], u)) / row[i]
				l -= u[i]*u[i]/2 + math.Log(row[i])
			}
			return l
		}}
	},
	"gp_pois": func(d *posteriordb.Data) posteriorModel {
		rates := func(x []float64) []float64 {
			factor, ok := squaredExponential(d.X, math.Exp(x[1]), math.Exp(x[0]), 1e-10)
			if !ok {
				return nil
			}
			f := make([]float64, len(d.X))
			for i := range f {
				f[i] = dot(mixture.Row(factor, i), x[2:])
			}
			return f
		}
		return posteriorModel{dim: 2 + len(d.X), operations: covarianceWork(len(d.X)),
			f: func(x []float64, _ int) float64 {
				rho, alpha := math.Exp(x[0]), math.Exp(x[1])
				f := rates(x)
				if f == nil {
					return math.Inf(-1)
				}
				l := lengthPrior(rho) + x[0] + posteriordb.PriorOfScale(alpha, 0, 2) - dot(x[2:], x[2:])/2
				for i, v := range f {
					l += d.Y[i]*v - math.Exp(v)
				}
				return l
			},
			shown: func(x []float64) []float64 { return slices.Concat(x[:2], rates(x)) }}
	},
	"schools": func(d *posteriordb.Data) posteriorModel {
		theta := func(x []float64, i int) float64 { return x[i]*math.Exp(x[9]) + x[8] }
		return posteriorModel{dim: 10,
			f: func(x []float64, _ int) float64 {
				l := posteriordb.NormalLog(x[8], 0, 5) + posteriordb.PriorOfScale(math.Exp(x[9]), 5, 0)
				for i, y := range d.Y {
					l += posteriordb.NormalLog(x[i], 0, 1) + posteriordb.NormalLog(y, theta(x, i), d.Sigma[i])
				}
				return l
			},
			shown: func(x []float64) []float64 {
				s := slices.Clone(x)
				for i := range d.Y {
					s[i] = theta(x, i)
				}
				return s
			}}
	},
	"lotka_volterra": func(d *posteriordb.Data) posteriorModel {
		return posteriorModel{dim: 8, operations: 250 * len(d.Y), f: func(x []float64, _ int) float64 {
			var p [8]float64
			l := 0.0
			for i, v := range x {
				p[i] = math.Exp(v)
				l += v // the Jacobian
			}
			for i := range 4 {
				l += posteriordb.NormalLog(p[i], []float64{1, .05, 1, .05}[i], []float64{.5, .05, .5, .05}[i])
			}
			for i := range 2 {
				l += posteriordb.NormalLog(x[4+i], math.Log(10), 1) - x[4+i] + posteriordb.NormalLog(x[6+i], -1, 1) - x[6+i]
			}
			z := [2]float64{p[4], p[5]}
			for t := range len(d.Y) / 2 {
				if t > 0 {
					z = grow(z, p[:4])
				}
				for i := range 2 {
					l += posteriordb.NormalLog(math.Log(d.Y[2*t+i]), math.Log(z[i]), p[6+i])
				}
			}
			if math.IsNaN(l) {
				return math.Inf(-1)
			}
			return l
		}}
	},
}

// grow lets prey and predators live for a year, by the rule of Runge and Kutta.
func grow(z [2]float64, p []float64) [2]float64 {
	const steps = 5
	slope := func(z [2]float64) [2]float64 {
		return [2]float64{(p[0] - p[1]*z[1]) * z[0], (-p[2] + p[3]*z[0]) * z[1]}
	}
	at := func(z, k [2]float64, h float64) [2]float64 { return [2]float64{z[0] + h*k[0], z[1] + h*k[1]} }
	for range steps {
		const h = 1.0 / steps
		a := slope(z)
		b := slope(at(z, a, h/2))
		c := slope(at(z, b, h/2))
		d := slope(at(z, c, h))
		for i := range z {
			z[i] += h / 6 * (a[i] + 2*b[i] + 2*c[i] + d[i])
		}
	}
	return z
}

// lengthPrior is ln of the prior of a length, Γ(25, 4).
func lengthPrior(rho float64) float64 { return 24*math.Log(rho) - 4*rho }

// squaredExponential returns the Cholesky factor of the covariances of a Gaussian process, a
// lower triangle, if there is one. There is more of the same point.
func squaredExponential(x []float64, alpha, rho, more float64) (factor []float64, ok bool) {
	factor = make([]float64, 0, len(x)*(len(x)+1)/2)
	for i := range x {
		for j := range i + 1 {
			u := (x[i] - x[j]) / rho
			factor = append(factor, alpha*alpha*math.Exp(-u*u/2))
		}
		factor[len(factor)-1] += more
	}
	return factor, mixture.Factorise(factor, len(x), 0, 0) < 0
}

// covarianceWork is how many numbers so large a one takes, an exponential ten, and its factor.
func covarianceWork(n int) int { return 5*n*n + n*n*n/3 }
