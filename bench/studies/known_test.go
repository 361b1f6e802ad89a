package main

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/posteriordb"
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

// TestQuadrature holds a sum over a grid against a normal law, and against sums in NumPy over 90³ places
// within nine of Stan's deviations.
func TestQuadrature(t *testing.T) {
	normal := posteriorModel{dim: 2, f: func(x []float64, _ int) float64 { return 3 - (x[0]-1)*(x[0]-1)/2 - x[1]*x[1]/8 }}
	figures := []posteriordb.Figure{{Mean: 0.9, Deviation: 1.1}, {Mean: 0.1, Deviation: 1.9}}
	require.InDelta(t, 3+math.Log(4*math.Pi), normal.quadrature(figures), 1e-12)
	for i, want := range []posteriordb.Figure{{Mean: 1, Deviation: 1, OfSquare: math.Sqrt2}, {Mean: 0, Deviation: 2, OfSquare: 4 * math.Sqrt2}} {
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
