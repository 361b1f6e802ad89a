package graph

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/spins"
)

// TestFiguresOfTables counts random configurations, in two batches, and computes each row
// from the list of them by its definition.
func TestFiguresOfTables(t *testing.T) {
	const n, samples, beta = 5, 300, 0.7
	edges := []spins.Edge{{I: 0, J: 1, Coupling: 1}, {I: 1, J: 2, Coupling: -2}, {I: 2, J: 3, Coupling: 1}, {I: 3, J: 4, Coupling: 1}}
	fields := []float64{0, 1, 0, -1, 0}
	g, err := spins.NewGraph(spins.Hamiltonian{Spins: n, Edges: edges, Fields: fields})
	require.NoError(t, err)
	r := &reference{
		Observables: spins.Observables{
			Energy: -2.5, SpecificHeat: 3, AbsMagnetisation: 0.4, Susceptibility: 1.5, OverlapSquare: 0.3,
			Magnetisations: []float64{0.1, -0.2, 0.3, 0, 0.5}, EdgeCorrelations: []float64{0.2, -0.4, 0.1, 0.3},
		},
		states: make([]float64, 1<<n), energies: measure.Bins{Origin: -8, Width: 2, N: 9}, energyLaw: make([]measure.Estimate, 9), overlapLaw: make([]measure.Estimate, overlapBins(n).N),
	}
	r.uncertainty.energy, r.uncertainty.specificHeat, r.uncertainty.absMagnetisation = 0.1, 0.2, 0.3
	r.uncertainty.susceptibility, r.uncertainty.overlapSquare, r.uncertainty.magnetisations, r.uncertainty.edgeCorrelations = 0.4, 0.5, 0.6, 0.7
	for i := range r.states {
		r.states[i] = 1.0 / 32
	}
	for i := range r.energyLaw {
		r.energyLaw[i] = measure.Estimate{Value: 1.0 / 9, Uncertainty: 0.01}
	}
	for i := range r.overlapLaw {
		r.overlapLaw[i] = measure.Estimate{Value: 1 / float64(len(r.overlapLaw)), Uncertainty: 0.02}
	}
	tally := &tally{graph: g, spins: make([]float64, n), edges: make([]float64, len(edges)), energies: make([]float64, 9), overlaps: make([]float64, len(r.overlapLaw)), states: make([]float64, 32)}
	random := rand.New(rand.NewPCG(1, 2))
	batch := make([]uint64, samples)
	for i := range batch {
		batch[i] = random.Uint64() & random.Uint64() & 31
	}
	tally.count(r, batch[:200])
	tally.count(r, batch[200:])

	spin := func(config uint64, i int) float64 { return float64(2*int(config>>i&1) - 1) }
	var e, abs, ee, aa, qq []float64
	states, energies := make([]float64, 32), make([]float64, 9)
	magnetisations, correlations := make([]float64, n), make([]float64, len(edges))
	for k, config := range batch {
		x := 0.0
		for j, edge := range edges {
			product := spin(config, edge.I) * spin(config, edge.J)
			x -= edge.Coupling * product
			correlations[j] += product / samples
		}
		for i, h := range fields {
			x -= h * spin(config, i)
			magnetisations[i] += spin(config, i) / samples
		}
		m := math.Abs(float64(2*bits.OnesCount64(config)-n)) / n
		e, abs = append(e, x), append(abs, m)
		ee, aa = append(ee, (x-r.Energy)*(x-r.Energy)), append(aa, (m-r.AbsMagnetisation)*(m-r.AbsMagnetisation))
		if k%2 == 1 {
			q := float64(n-2*bits.OnesCount64(config^batch[k-1])) / n
			qq = append(qq, q*q)
		}
		states[config]++
		energies[min(8, max(0, int(math.Floor((x+8)/2))))]++
	}
	rows := map[string]measure.Metric{}
	for _, m := range tally.compare(r, beta) {
		rows[m.Name] = m
	}
	require.Len(t, rows, 10)
	for name, c := range map[string]struct {
		exact, generated, uncertainty, scale float64
		terms                                []float64 // whose mean's error is the row's, but for the scale
		relative                             bool
	}{
		"energy":            {r.Energy, gonum.Mean(e, nil), 0.1, 1, e, true},
		"specific_heat":     {r.SpecificHeat, beta * beta * gonum.PopVariance(e, nil), 0.2, beta * beta, ee, true},
		"abs_magnetisation": {r.AbsMagnetisation, gonum.Mean(abs, nil), 0.3, 1, abs, false},
		"susceptibility":    {r.Susceptibility, beta * n * gonum.PopVariance(abs, nil), 0.4, beta * n, aa, true},
		"overlap_square":    {r.OverlapSquare, gonum.Mean(qq, nil), 0.5, 1, qq, false},
	} {
		m := rows[name]
		se := c.scale * gonum.StdDev(c.terms, nil) / math.Sqrt(float64(len(c.terms)))
		unit := 1.0
		if c.relative {
			unit = math.Abs(c.exact)
		}
		require.Equal(t, c.exact, m.Exact, name)
		require.Equal(t, c.relative, m.Relative, name)
		require.InDelta(t, c.generated, m.Generated, 1e-10, name)
		require.InDelta(t, math.Abs(c.generated-c.exact)/unit, m.Error, 1e-10, name)
		require.InDelta(t, c.uncertainty/unit, m.Uncertainty, 1e-12, name)
		require.InDelta(t, math.Sqrt(2/math.Pi)*se/unit, m.Floor, 1e-10, name)
		require.InDeltaSlice(t, []float64{c.generated - 1.959964*se, c.generated + 1.959964*se}, m.Interval[:], 1e-6, name)
	}
	for name, c := range map[string]struct {
		got, exact  []float64
		uncertainty float64
	}{"magnetisation": {magnetisations, r.Magnetisations, 0.6}, "edge_correlation": {correlations, r.EdgeCorrelations, 0.7}} {
		var off, floor float64
		for i, x := range c.got {
			off += math.Abs(x-c.exact[i]) / float64(len(c.got))
			floor += math.Sqrt(2/math.Pi*(1-c.exact[i]*c.exact[i])/samples) / float64(len(c.got))
		}
		m := rows[name]
		require.InDelta(t, off, m.Error, 1e-12, name)
		require.Equal(t, m.Error, m.Generated)
		require.InDelta(t, floor, m.Floor, 1e-12, name)
		require.Equal(t, c.uncertainty, m.Uncertainty)
		// Half the interval is half of what holds 95 % of the floor's law: 0.5 to 1.5 floors.
		require.InDelta(t, m.Error, (m.Interval[0]+m.Interval[1])/2, 1e-12)
		require.InDelta(t, floor, m.Interval[1]-m.Error, 0.6*floor, name)
	}
	for name, c := range map[string]struct {
		counts      []float64
		uncertainty float64 // of each probability
	}{"total_variation": {states, 0}, "energy_histogram": {energies, 0.01}, "overlap_histogram": {tally.overlaps, 0.02}} {
		k := float64(len(c.counts))
		var off, total float64
		for _, x := range c.counts {
			total += x
		}
		for _, x := range c.counts {
			off += math.Abs(x/total-1/k) / 2
		}
		m := rows[name]
		require.InDelta(t, off, m.Error, 1e-12, name)
		require.InDelta(t, k*c.uncertainty/2, m.Uncertainty, 1e-12, name)
		// Counts are nearly normal about their mean.
		require.InEpsilon(t, k*math.Sqrt(2/math.Pi*(1-1/k)/k/total)/2, m.Floor, 0.03, name)
		require.True(t, 0 <= m.Interval[0] && m.Interval[0] < m.Error && m.Error < m.Interval[1] && m.Interval[1] <= 1, name)
	}
	q := 0.0
	for k, x := range tally.overlaps { // bins of one value each
		at := -1 + 2*float64(k)/n
		q += at * at * x / (samples / 2)
	}
	require.InDelta(t, gonum.Mean(qq, nil), q, 1e-12)
}
