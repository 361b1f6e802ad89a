package posteriordb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestRegressionsFarAway: a regression with a flat law of ln σ is neither +∞ nor NaN, however large
// or small its coordinates.
func TestRegressionsFarAway(t *testing.T) {
	d := Data{Rows: 62, Factor: [][]float64{{1, 2}, {3}}, Target: []float64{1, 2}, Rest: 70}
	for _, x := range [][]float64{{1286, 105, 1136}, {0, 0, -1136}, {0, 0, 710}, {1e30, -1e30, 300}} {
		if l := d.Regression()(x); math.IsNaN(l) || math.IsInf(l, 1) {
			t.Errorf("ln π of %v is %v", x, l)
		}
	}
}

// TestRegressions: what is exact of linear regressions is what ten thousand draws of Stan say, to
// their noise, and ln Z of one coefficient is that of a sum over a grid.
func TestRegressions(t *testing.T) {
	figures, beyond := 0, 0
	for _, p := range All() {
		if p.Model != "regression" {
			continue
		}
		stan := slices.Clone(p.Figures)
		require.False(t, math.IsNaN(p.Data.SetExact(p.Figures)))
		for i, f := range p.Figures {
			for _, z := range []float64{
				(stan[i].Mean - f.Mean) / (f.Deviation / 100),
				(stan[i].Deviation*stan[i].Deviation - f.Deviation*f.Deviation) / (f.OfSquare / 100),
			} {
				figures++
				if math.Abs(z) > 1.96 {
					beyond++
				}
				require.Less(t, math.Abs(z), 4., "%s: %s", p.Name, f.Name)
			}
			require.InEpsilon(t, stan[i].OfSquare, f.OfSquare, 0.1)
		}
	}
	require.Greater(t, figures, 60)
	require.Less(t, beyond, figures/8) // of one in twenty; a chance of 1e-3

	d := Data{Rows: 5, Factor: [][]float64{{2}}, Target: []float64{3}, Rest: 1.5, Cauchy: 2, Means: []float64{1}, Deviations: []float64{0.5}}
	of, known := d.Regression(), []Figure{{Mean: 1}, {}}
	var sum, first, third float64
	for x := -4.0; x < 7; x += 0.01 {
		for u := -4.0; u < 4; u += 0.01 {
			w := math.Exp(of([]float64{x, u})) * 0.0001
			sum, first, third = sum+w, first+w*x, third+w*u
		}
	}
	require.InDelta(t, math.Log(sum), d.SetExact(known), 1e-2)
	require.InDelta(t, first/sum, known[0].Mean, 1e-3)
	require.InDelta(t, third/sum, known[1].Mean, 1e-2)
}

// TestRegressionDensities: ln π is that of what a regression says, but for a constant.
func TestRegressionDensities(t *testing.T) {
	normal := func(x, mu, sigma float64) float64 { return distuv.Normal{Mu: mu, Sigma: sigma}.LogProb(x) }
	random := rand.New(rand.NewPCG(7, 8))
	for _, posterior := range All() {
		if posterior.Model != "regression" {
			continue
		}
		d := posterior.Data
		p, of := len(d.Target), d.Regression()
		constant := math.NaN()
		for range 20 {
			x := make([]float64, p+1)
			for i := range x {
				x[i] = random.NormFloat64()
			}
			sigma := math.Exp(x[p])
			want := x[p] + (d.Rows-float64(p))*normal(0, 0, sigma) - d.Rest/(2*sigma*sigma) // with |dσ/d ln σ|
			for i, row := range d.Factor {
				want += normal(d.Target[i], floats.Dot(row, x[i:p]), sigma)
			}
			for i, mean := range d.Means {
				want += normal(x[i], mean, d.Deviations[i])
			}
			if d.Cauchy > 0 {
				want += distuv.StudentsT{Sigma: d.Cauchy, Nu: 1}.LogProb(sigma)
			}
			if d.Normal > 0 {
				want += normal(sigma, 0, d.Normal)
			}
			if got := of(x); math.IsNaN(constant) {
				constant = want - got
			} else {
				require.InDelta(t, constant, want-got, 1e-11*math.Abs(got)+1e-9, posterior.Name)
			}
		}
	}
}
