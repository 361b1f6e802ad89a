package main

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every target has a title, averages with deviations, and ln Z.
func TestKnown(t *testing.T) {
	for kind, name := range KnownKinds {
		for i := range 2 {
			k := NewKnown(3, kind, i)
			if k.Title == "" || len(k.Figures) == 0 || math.IsNaN(k.LogZ) {
				t.Errorf("%s %d: %+v", name, i, k)
			}
			for _, f := range k.Figures {
				if !(f.Deviation > 0) || math.IsNaN(f.Value) || math.IsInf(f.Deviation, 0) {
					t.Errorf("%s: %s is %v, deviation %v", k.Title, f.Name, f.Value, f.Deviation)
				}
			}
			t.Log(name, "|", k.Title)
		}
	}
}

// TestPosteriorsFarAway: a regression with a flat law of ln σ is neither +∞ nor NaN, however large
// or small its coordinates.
func TestPosteriorsFarAway(t *testing.T) {
	m := posteriorModels["regression"](&posteriorData{Rows: 62, Factor: [][]float64{{1, 2}, {3}}, Target: []float64{1, 2}, Rest: 70})
	for _, x := range [][]float64{{1286, 105, 1136}, {0, 0, -1136}, {0, 0, 710}, {1e30, -1e30, 300}} {
		if l := m.f(x, 0); math.IsNaN(l) || math.IsInf(l, 1) {
			t.Errorf("ln π of %v is %v", x, l)
		}
	}
}

// TestRegressions: what is exact of linear regressions is what ten thousand draws of Stan say, to
// their noise, and ln Z of one coefficient is that of a sum over a grid.
func TestRegressions(t *testing.T) {
	var file struct {
		Posteriors []posterior
	}
	require.NoError(t, json.Unmarshal(posteriorsJSON, &file))
	figures, beyond := 0, 0
	for _, p := range file.Posteriors {
		if p.Model != "regression" {
			continue
		}
		stan := slices.Clone(p.Figures)
		require.False(t, math.IsNaN(p.Data.regression(p.Figures)))
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

	d := posteriorData{Rows: 5, Factor: [][]float64{{2}}, Target: []float64{3}, Rest: 1.5, Cauchy: 2, Means: []float64{1}, Deviations: []float64{0.5}}
	of, known := posteriorModels["regression"](&d), []posteriorFigure{{Mean: 1}, {}}
	var sum, first, third float64
	for x := -4.0; x < 7; x += 0.01 {
		for u := -4.0; u < 4; u += 0.01 {
			w := math.Exp(of.f([]float64{x, u}, 0)) * 0.0001
			sum, first, third = sum+w, first+w*x, third+w*u
		}
	}
	require.InDelta(t, math.Log(sum), d.regression(known), 1e-2)
	require.InDelta(t, first/sum, known[0].Mean, 1e-3)
	require.InDelta(t, third/sum, known[1].Mean, 1e-2)
}

// TestQuadrature holds a sum over a grid against a normal law, and against sums in NumPy over 90³ places
// within nine of Stan's deviations.
func TestQuadrature(t *testing.T) {
	normal := posteriorModel{dim: 2, f: func(x []float64, _ int) float64 { return 3 - (x[0]-1)*(x[0]-1)/2 - x[1]*x[1]/8 }}
	figures := []posteriorFigure{{Mean: 0.9, Deviation: 1.1}, {Mean: 0.1, Deviation: 1.9}}
	require.InDelta(t, 3+math.Log(4*math.Pi), normal.quadrature(figures), 1e-12)
	for i, want := range []posteriorFigure{{Mean: 1, Deviation: 1, OfSquare: math.Sqrt2}, {Mean: 0, Deviation: 2, OfSquare: 4 * math.Sqrt2}} {
		require.InDelta(t, want.Mean, figures[i].Mean, 1e-12)
		require.InDelta(t, want.Deviation, figures[i].Deviation, 1e-12)
		require.InDelta(t, want.OfSquare, figures[i].OfSquare, 1e-12)
	}
	at := slices.IndexFunc(Posteriors(), func(k *Known) bool { return k.Title == "gp_pois_regr-gp_regr" })
	for i, want := range [...]float64{1.9128710256, 0.8410751696, 0.5682117460} {
		of := Posteriors()[at].Figures[2*i:]
		require.InDelta(t, want, of[0].Value, 1e-6)
		require.InDelta(t, [...]float64{0.1895631733, 0.3166988763, 0.2739541377}[i], of[0].Deviation, 1e-6)
		require.InDelta(t, [...]float64{0.0537155298, 0.1382324020, 0.1039644879}[i], of[1].Deviation, 1e-5)
		require.Zero(t, of[0].Noise)
	}
}

// TestSpread: the variance of ln π is that of the weights, if it differs by more than chance, and eight floors
// of it count as three.
func TestSpread(t *testing.T) {
	var densities, logs []float64
	for i := range 4000 {
		densities = append(densities, []float64{-1, 1, -3, 3}[i%4])
		logs = append(logs, -math.Log([]float64{1.5, 1.5, 0.5, 0.5}[i%4])) // by which the variance is 3, not 5
	}
	o := &VerdictOutcome{Samples: 400}
	o.spread(densities, logs)
	require.InEpsilon(t, 3./8*2/(math.Sqrt(2/math.Pi)*math.Sqrt(12)/20), o.Worst, 1e-3)
	require.Equal(t, "variance of ln π, by weights", o.Figure)
	o.Worst, o.Figure = 6, "another"
	o.spread(densities, logs)
	require.Equal(t, "another", o.Figure)
	for i := range logs {
		logs[i] = 0
	}
	o.Worst = 0
	o.spread(densities, logs)
	require.InDelta(t, 0, o.Worst, 1e-9)
}
