// Package posteriordb has the data of twenty posteriors of posteriordb
// (https://github.com/stan-dev/posteriordb), and statistics of ten thousand draws of each by
// Stan.
package posteriordb

import (
	_ "embed"
	"encoding/json"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

//go:embed posteriors.json
var file []byte

// Data is the data of a model. Each model has some of the keys.
type Data struct {
	Y      []float64 `json:"y"`
	X      []float64 `json:"x"`
	Sigma  []float64 `json:"sigma"`
	Sigma1 float64   `json:"sigma1"`
	// The design of a regression is given by its QR decomposition: the sum of squared residuals is
	// |Factor·coefficients − Target|² + Rest.
	Rows   float64     `json:"rows"`   // observations
	Factor [][]float64 `json:"factor"` // upper triangular, each row from its diagonal on
	Target []float64   `json:"target"`
	Rest   float64     `json:"rest"`
	// The priors of a regression are normal for the coefficients, flat if Means is empty; and
	// half-Cauchy or half-normal for σ, flat if both scales are 0.
	Means      []float64 `json:"means"`
	Deviations []float64 `json:"deviations"`
	Cauchy     float64   `json:"cauchy"` // scale
	Normal     float64   `json:"normal"` // scale
}

// A Figure is the mean and standard deviation of a coordinate.
type Figure struct {
	Name            string
	Mean, Deviation float64
	OfSquare        float64 `json:"of_square"` // standard deviation of the squared distance from the mean
}

// A Posterior is a model with its data, and Stan's statistics.
type Posterior struct {
	Name, Model string
	Data        Data
	Draws       float64 // by Stan
	Figures     []Figure
}

// All returns copies of all posteriors, which the caller may change.
func All() []Posterior {
	var all struct{ Posteriors []Posterior }
	if err := json.Unmarshal(file, &all); err != nil {
		panic(err) // it is part of the program
	}
	return all.Posteriors
}

// Regression returns ln π of the coefficients and of ln σ of a linear regression, up to a constant.
func (d *Data) Regression() func(x []float64) float64 {
	p := len(d.Target)
	return func(x []float64) float64 {
		sigma, squares, l := math.Exp(x[p]), d.Rest, 0.0
		for i, row := range d.Factor {
			residual := floats.Dot(row, x[i:p]) - d.Target[i]
			squares += residual * residual
		}
		for i, s := range d.Deviations {
			l += NormalLog(x[i], d.Means[i], s)
		}
		return l + PriorOfScale(sigma, d.Cauchy, d.Normal) - d.Rows*x[p] - squares/(2*sigma*sigma)
	}
}

// SetExact sets figures of a regression, those of the coefficients and of ln σ, to their exact
// values, and returns ln Z. Given ln σ the coefficients are Gaussian. The integral over ln σ,
// within reach of the mode, is a sum in steps so fine that it is exact.
func (d *Data) SetExact(figures []Figure) (logZ float64) {
	const coarse, fine, reach = 0.05, 0.001, 1.5
	p := len(d.Target)
	var chol mat.Cholesky
	// conditional returns ln of the weight of u = ln σ, and the mean and covariance of the
	// coefficients given u.
	conditional := func(u float64) (log float64, mean *mat.VecDense, covariance *mat.SymDense) {
		precision, slope := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
		squares := d.Rest * math.Exp(-2*u)
		for r, row := range d.Factor {
			squares += d.Target[r] * d.Target[r] * math.Exp(-2*u)
			for i, v := range row {
				slope.SetVec(r+i, slope.AtVec(r+i)+v*d.Target[r]*math.Exp(-2*u))
				for j, w := range row[:i+1] {
					precision.SetSym(r+i, r+j, precision.At(r+i, r+j)+v*w*math.Exp(-2*u))
				}
			}
		}
		for i, s := range d.Deviations {
			squares += d.Means[i] * d.Means[i] / (s * s)
			slope.SetVec(i, slope.AtVec(i)+d.Means[i]/(s*s))
			precision.SetSym(i, i, precision.At(i, i)+1/(s*s))
			log -= math.Log(s)
		}
		if !chol.Factorize(precision) {
			panic("a regression whose columns depend on each other")
		}
		mean, covariance = mat.NewVecDense(p, nil), mat.NewSymDense(p, nil)
		if err := errors.Join(chol.SolveVecTo(mean, slope), chol.InverseTo(covariance)); err != nil {
			panic(err)
		}
		log += PriorOfScale(math.Exp(u), d.Cauchy, d.Normal) - d.Rows*u - squares/2
		return log + mat.Dot(mean, slope)/2 + float64(p)/2*math.Log(2*math.Pi) - chol.LogDet()/2, mean, covariance
	}
	maxLog, mode := math.Inf(-1), 0.0
	for u := -20.0; u < 20; u += coarse {
		if log, _, _ := conditional(u); log > maxLog {
			maxLog, mode = log, u
		}
	}
	var sum float64
	moments := make([][5]float64, p+1) // about Stan's means
	for u := mode - reach; u < mode+reach; u += fine {
		log, mean, covariance := conditional(u)
		w := math.Exp(log-maxLog) * fine
		sum += w
		for i := range moments {
			x, v := u, 0.0 // mean and variance given u
			if i < p {
				x, v = mean.AtVec(i), covariance.At(i, i)
			}
			x -= figures[i].Mean
			for n, m := range [...]float64{1, x, x*x + v, x*x*x + 3*x*v, x*x*x*x + 6*x*x*v + 3*v*v} {
				moments[i][n] += w * m
			}
		}
	}
	SetFigures(figures, moments, sum)
	return maxLog + math.Log(sum)
}

// SetFigures sets figures by weighted sums of the powers 0 to 4 of the distances from their
// present means; sum is the sum of the weights.
func SetFigures(figures []Figure, moments [][5]float64, sum float64) {
	for i, m := range moments {
		a, b, c, e := m[1]/sum, m[2]/sum, m[3]/sum, m[4]/sum
		variance, fourth := b-a*a, e-4*a*c+6*a*a*b-3*a*a*a*a
		f := &figures[i]
		f.Mean, f.Deviation, f.OfSquare = f.Mean+a, math.Sqrt(variance), math.Sqrt(fourth-variance*variance)
	}
}

// NormalLog is ln of a normal density, up to a constant.
func NormalLog(x, mean, deviation float64) float64 {
	u := (x - mean) / deviation
	return -u*u/2 - math.Log(deviation)
}

// PriorOfScale is ln of the half-Cauchy, half-normal or flat prior of σ, up to a constant, as
// a density of ln σ. An infinite σ, by overflow, has no weight, as in every posterior.
func PriorOfScale(sigma, cauchy, normal float64) (l float64) {
	if math.IsInf(sigma, 1) {
		return math.Inf(-1)
	}
	if cauchy > 0 {
		l -= math.Log1p(sigma * sigma / (cauchy * cauchy))
	}
	if normal > 0 {
		l -= sigma * sigma / (2 * normal * normal)
	}
	return l + math.Log(sigma)
}
