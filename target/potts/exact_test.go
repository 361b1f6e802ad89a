package potts

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/internal/pool"
)

// TestObserved: no more than 4096 pairs and states of sites are looked at, evenly spread.
func TestObserved(t *testing.T) {
	for n, want := range map[int]int{4096: 4096, 4097: 2049, 8192: 4096, 8193: 2731} {
		law := &categories.Target{States: categories.Uniform(max(n, n/2+1), 2)}
		for i := range n {
			law.Pairs = append(law.Pairs, categories.Pair{I: i % len(law.States), J: (i + 1) % len(law.States), Energy: categories.Potts(2, 1)})
		}
		l := newObservables(law, "potts")
		require.Len(t, l.pairs, want)
		for k, p := range l.pairs {
			require.Equal(t, k*l.pairs[1], p)
		}
		law.States = law.States[:n/2+n%2]
		law.Pairs = nil
		l = newObservables(law, "potts")
		stride := 1
		for (n+n%2+stride-1)/stride > 4096 {
			stride++
		}
		require.Len(t, l.sites, (n+n%2+stride-1)/stride)
		for k, at := range l.sites {
			require.Equal(t, [2]int{k * stride / 2, k * stride % 2}, at)
		}
		require.Empty(t, l.pairs)
	}
}

// TestObservables compares order parameters and agreement with their definitions.
func TestObservables(t *testing.T) {
	law := &categories.Target{States: categories.Uniform(4, 3), Offset: 0.5, Pairs: []categories.Pair{{I: 0, J: 1, Energy: categories.Potts(3, 2)}, {I: 2, J: 3, Energy: categories.Potts(3, 1)}, {I: 1, J: 3, Energy: categories.Potts(3, 1)}}}
	for model, orders := range map[string][]float64{
		"potts": {1, (3.0*2/4 - 1) / 2, (3.0*3/4 - 1) / 2},
		// 4, then 2 + 1·e^(2πi/3) + 1·e^(4πi/3) = 1, then 3 + e^(4πi/3).
		"clock": {1, 0.25, math.Hypot(3-0.5, math.Sqrt(3)/2) / 4},
	} {
		o := &observables{law: law, q: 3, model: model}
		batch := []byte{1, 1, 1, 1, 0, 0, 1, 2, 2, 0, 0, 0}
		energies, agreements := []float64{-3.5, -1.5, -1.5}, []float64{1, 1.0 / 3, 2.0 / 3}
		values := make([]float64, 3*6)
		o.observe(values, 6, batch)
		for i := range 3 {
			e, m := energies[i], orders[i]
			require.InDeltaSlice(t, []float64{e, e * e, m, m * m, agreements[i], 0}, values[6*i:][:6], 1e-12, "%s %d", model, i)
		}
		values = values[:5]
		o.observe(values, 6, batch[:4])
		require.InDelta(t, 1, values[4], 1e-15)
	}
	require.Zero(t, (&observables{law: &categories.Target{States: categories.Uniform(2, 3)}}).agreement([]byte{0, 0}))
}

// TestLogZ: that of lattices by closed forms and transfer matrices is that of sums, with an
// offset; it is left as it is where there is none.
func TestLogZ(t *testing.T) {
	for _, set := range [][]string{{"target.q=2"}, {"target.q=2", "target.model=clock"}, {"target.q=3"}, {"target.q=5", "target.model=clock", "target.l=3"}} {
		c := configure(t, append([]string{"target.l=4", "target.beta=0.7", "target.j=1.2", "target.offset=0.3"}, set...)...)
		law, err := c.Target.law()
		require.NoError(t, err)
		s, err := categories.NewSum(context.Background(), law)
		require.NoError(t, err)
		r := reference{logZ: math.NaN(), logZError: 1}
		(&evaluator{config: c, law: law}).setLogZ(&r)
		require.InDelta(t, s.LogZ, r.logZ, 1e-10)
		require.Zero(t, r.logZError)
		r = reference{logZ: 7, logZError: 1}
		c.Target.Fields = [][]float64{{}}
		(&evaluator{config: c, law: law}).setLogZ(&r)
		c.Target.Fields, c.Target.L = nil, 0
		(&evaluator{config: c, law: law}).setLogZ(&r)
		c.Target.Q, c.Target.L = 16, 4 // more than the transfer matrix takes
		(&evaluator{config: c, law: law}).setLogZ(&r)
		require.Equal(t, reference{logZ: 7, logZError: 1}, r)
	}
}

// TestLatticeFigures: the first configurations are shown as they were drawn.
func TestLatticeFigures(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := configure(t, "target.l=4", "target.q=2", "target.beta=0.5")
	built, err := c.New(workers)
	require.NoError(t, err)
	s := built.(*system)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	for _, samples := range []int{3, 10} {
		figures, err := s.Figures(context.Background(), params, samples)
		require.NoError(t, err)
		require.Len(t, figures, 1)
		require.Equal(t, "distributions", figures[0].Name)
		require.Equal(t, "potts of 2 states, 16 sites, *β* = 0.5", figures[0].Title)
		require.Len(t, figures[0].Rows, 2)
		require.Len(t, figures[0].Rows[0].Panels, 2)
		require.Len(t, figures[0].Rows[1].Panels, min(4, samples))
		states := make([]byte, samples*16)
		require.NoError(t, s.Sample(states, "states", params, 0, samples, 0))
		for k, p := range figures[0].Rows[1].Panels {
			grid := p.Layers[0].Grid
			require.Equal(t, []float64{2, 1}, []float64{float64(grid.States), grid.Max})
			require.True(t, p.Square)
			require.Equal(t, 4.0, p.X.Max)
			require.Len(t, grid.Z, 16)
			for i, x := range grid.Z {
				require.Equal(t, float64(states[k*16+i]), float64(x))
			}
		}
	}
	value, standardError, err := s.LogZ(context.Background())
	require.NoError(t, err)
	require.Zero(t, standardError)
	want, _ := s.law.Enumerate()
	require.Equal(t, want, value)
}

// TestUnsettled: where the reference's chains do not agree, the rows that are compared with them
// judge nothing.
func TestUnsettled(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, warnings := range [][]string{nil, {"the reference has not converged"}} {
		built, err := configure(t, "target.l=4", "target.q=3").New(workers)
		require.NoError(t, err)
		s := built.(*system)
		_, err = s.referenceCache.Get(func() (*reference, error) {
			r, err := s.drawReference(t.Context())
			r.warnings = warnings
			return r, err
		})
		require.NoError(t, err)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		e, err := s.Evaluate(t.Context(), params, 1000)
		require.NoError(t, err)
		require.Subset(t, e.Warnings, warnings)
		var unsettled []string
		for _, m := range e.Metrics {
			if m.Unsettled {
				unsettled = append(unsettled, m.Name)
			}
		}
		if warnings == nil {
			require.Empty(t, unsettled)
			continue
		}
		// The energy's moments, ln Z and by symmetry marginals are exact.
		require.Equal(t, []string{"order", "susceptibility", "pair_agreement", "energy_histogram", "order_histogram"}, unsettled)
	}
}
