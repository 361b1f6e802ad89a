package potts

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestFiguresOfTables computes each row of a table from the list of all configurations and that
// of those drawn, by its definition.
func TestFiguresOfTables(t *testing.T) {
	const sites, q, beta, samples = 5, 3, 0.6, 200
	edges := []struct {
		i, j     int
		coupling float64
	}{{0, 1, 1}, {1, 2, -1}, {2, 3, 0.5}, {3, 4, 1}, {4, 0, 1}, {0, 2, 0.25}}
	c := configure(t, "target.l=0", "target.q=3", "target.sites=5", "target.beta=0.6", "target.edges=[[0,1,1],[1,2,-1],[2,3,0.5],[3,4,1],[4,0,1],[0,2,0.25]]", "target.fields=[[0.5,0,0],[],[0,0.25,0],[],[]]")
	workers := pool.New(2)
	defer workers.Close()
	built, err := c.New(workers)
	require.NoError(t, err)
	s := built.(*system)
	energyOf := func(x []byte) (e float64) {
		for _, edge := range edges {
			if x[edge.i] == x[edge.j] {
				e -= edge.coupling
			}
		}
		return e - map[byte]float64{0: 0.5}[x[0]] - map[byte]float64{1: 0.25}[x[2]]
	}
	orderOf := func(x []byte) float64 {
		most := 0.0
		for c := range byte(q) {
			k := 0.0
			for _, y := range x {
				if y == c {
					k++
				}
			}
			most = max(most, k)
		}
		return (q*most/sites - 1) / (q - 1)
	}
	indicators := func(x []byte) (marginals, pairs []float64) {
		is := func(b bool) float64 { return map[bool]float64{true: 1}[b] }
		for _, y := range x {
			for c := range byte(q) {
				marginals = append(marginals, is(y == c))
			}
		}
		for _, edge := range edges {
			pairs = append(pairs, is(x[edge.i] == x[edge.j]))
		}
		return marginals, pairs
	}
	number := func(x []byte) (k int) {
		for i := range x {
			k = k*q + int(x[i])
		}
		return k
	}

	r, err := s.reference(context.Background())
	require.NoError(t, err)
	r.means[energy].Uncertainty, r.variances[energy].Uncertainty, r.means[order].Uncertainty, r.variances[order].Uncertainty = 0.1, 0.2, 0.3, 0.4
	r.marginalsError, r.pairsError, r.logZError = 0.5, 0.6, 0.7
	for i := range r.energyLaw {
		r.energyLaw[i].Uncertainty = 0.01
	}
	for i := range r.orderLaw {
		r.orderLaw[i].Uncertainty = 0.02
	}
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	for i := range params {
		params[i] += float32(0.3 * math.Sin(float64(i)))
	}
	_, tally, err := s.sample(context.Background(), params, samples)
	require.NoError(t, err)
	require.Len(t, tally.first, samples*sites, "all are kept")

	// The list of all configurations.
	var all [][]byte
	var p, es, ms []float64
	x := make([]byte, sites)
	for k := range int(math.Pow(q, sites)) {
		for i, rest := sites-1, k; i >= 0; i, rest = i-1, rest/q {
			x[i] = byte(rest % q)
		}
		all = append(all, append([]byte(nil), x...))
		es, ms = append(es, energyOf(x)), append(ms, orderOf(x))
		p = append(p, math.Exp(-beta*es[k]))
	}
	z := 0.0
	for _, w := range p {
		z += w
	}
	exactMarginals, exactPairs := make([]float64, sites*q), make([]float64, len(edges))
	energies, orders := make([]float64, r.energies.N), make([]float64, r.orders.N)
	bin := func(b measure.Bins, x float64) int { return max(0, min(b.N-1, int(math.Floor((x-b.Origin)/b.Width)))) }
	for k, x := range all {
		p[k] /= z
		a, b := indicators(x)
		for i := range a {
			exactMarginals[i] += p[k] * a[i]
		}
		for i := range b {
			exactPairs[i] += p[k] * b[i]
		}
		energies[bin(r.energies, es[k])] += p[k]
		orders[bin(r.orders, ms[k])] += p[k]
	}
	variance := func(x []float64) float64 {
		m, v := gonum.Mean(x, p), 0.0
		for k := range x {
			v += p[k] * (x[k] - m) * (x[k] - m)
		}
		return v
	}

	// The list of those drawn.
	var e, m, ee, mm []float64
	marginals, pairs := make([]float64, sites*q), make([]float64, len(edges))
	counts, energyCounts, orderCounts := make([]float64, len(all)), make([]float64, len(energies)), make([]float64, len(orders))
	for k := range samples {
		x := tally.first[k*sites:][:sites]
		e, m = append(e, energyOf(x)), append(m, orderOf(x))
		a, b := indicators(x)
		for i := range a {
			marginals[i] += a[i] / samples
		}
		for i := range b {
			pairs[i] += b[i] / samples
		}
		counts[number(x)]++
		energyCounts[bin(r.energies, e[k])]++
		orderCounts[bin(r.orders, m[k])]++
	}
	for k := range samples {
		ee, mm = append(ee, math.Pow(e[k]-gonum.Mean(e, nil), 2)), append(mm, math.Pow(m[k]-gonum.Mean(m, nil), 2))
	}

	var logs []float64
	require.NoError(t, s.Measure(context.Background(), params, samples, 0, samples, func(_ []byte, r []float64) { logs = append(logs, r...) }))
	evaluation := measure.Evaluation{Samples: samples, Metrics: tally.compare(r, beta)}
	require.NoError(t, s.Reweigh(context.Background(), params, &evaluation, r.logZ, r.logZError, tally.order))
	rows := map[string]measure.Metric{}
	for _, m := range evaluation.Metrics {
		rows[m.Name] = m
	}
	require.Len(t, rows, 12)
	w, total := make([]float64, samples), 0.0
	for k := range w {
		w[k] = math.Exp(-logs[k])
		total += w[k]
	}
	for name, c := range map[string]struct {
		exact, uncertainty, scale float64
		terms, values             []float64
		relative, spread          bool
	}{
		"energy":         {gonum.Mean(es, p), 0.1, 1, e, e, true, false},
		"specific_heat":  {beta * beta * variance(es), 0.2, beta * beta, ee, e, true, true},
		"order":          {gonum.Mean(ms, p), 0.3, 1, m, m, false, false},
		"susceptibility": {beta * sites * variance(ms), 0.4, beta * sites, mm, m, true, true},
	} {
		m, unit := rows[name], 1.0
		generated, se := c.scale*gonum.Mean(c.terms, nil), c.scale*gonum.StdDev(c.terms, nil)/math.Sqrt(samples)
		if c.relative {
			unit = math.Abs(c.exact)
		}
		require.Equal(t, c.relative, m.Relative, name)
		require.InDelta(t, c.exact, m.Exact, 1e-10, name)
		require.InDelta(t, generated, m.Generated, 1e-10, name)
		require.InDelta(t, math.Abs(generated-c.exact)/unit, m.Error, 1e-10, name)
		require.InDelta(t, c.scale*c.uncertainty/unit, m.Uncertainty, 1e-10, name)
		require.InDelta(t, math.Sqrt(2/math.Pi)*se/unit, m.Floor, 1e-10, name)
		require.InDeltaSlice(t, []float64{generated - 1.959964*se, generated + 1.959964*se}, m.Interval[:], 1e-6, name)

		by, byError := c.values, 0.0
		value := gonum.Mean(by, w)
		if c.spread {
			by = nil
			for _, x := range c.values {
				by = append(by, (x-value)*(x-value))
			}
			value = gonum.Mean(by, w)
		}
		var terms []float64
		for k := range by {
			term := w[k] / total * math.Abs(by[k]-value)
			byError, terms = byError+term*term, append(terms, math.Log(term))
		}
		if k, _ := stat.ParetoK(terms); k > 0.3 {
			byError += math.Pow(math.Exp(slices.Max(terms))/(1-min(k, 0.9)), 2)
		}
		require.NotNil(t, m.Reweighted, name)
		require.InDelta(t, c.scale*value, m.Reweighted.Value, 1e-10, name)
		require.InDelta(t, c.scale*math.Sqrt(byError), m.Reweighted.StandardError, 1e-10, name)
		require.InDelta(t, math.Abs(c.scale*value-c.exact)/unit, m.Reweighted.Error, 1e-10, name)
	}
	for name, c := range map[string]struct {
		got, exact  []float64
		uncertainty float64
	}{"marginal": {marginals, exactMarginals, 0.5}, "pair_agreement": {pairs, exactPairs, 0.6}} {
		var off, floor float64
		for i, x := range c.got {
			off += math.Abs(x-c.exact[i]) / float64(len(c.got))
			floor += math.Sqrt(2/math.Pi*c.exact[i]*(1-c.exact[i])/samples) / float64(len(c.got))
		}
		m := rows[name]
		require.InDelta(t, off, m.Error, 1e-10, name)
		require.Equal(t, m.Error, m.Generated, name)
		require.InDelta(t, floor, m.Floor, 1e-10, name)
		require.Equal(t, c.uncertainty, m.Uncertainty, name)
		require.InDelta(t, m.Error, (m.Interval[0]+m.Interval[1])/2, 1e-10, name)
		require.InDelta(t, floor, m.Interval[1]-m.Error, 0.6*floor, name)
	}
	for name, c := range map[string]struct {
		counts, law []float64
		uncertainty float64
	}{"total_variation": {counts, p, 0}, "energy_histogram": {energyCounts, energies, 0.01}, "order_histogram": {orderCounts, orders, 0.02}} {
		var off, floor float64
		for i, x := range c.counts {
			off += math.Abs(x/samples-c.law[i]) / 2
			floor += meanDeviation(samples, c.law[i]) / 2
		}
		m := rows[name]
		require.InDelta(t, off, m.Error, 1e-10, name)
		require.InDelta(t, float64(len(c.law))*c.uncertainty/2, m.Uncertainty, 1e-10, name)
		require.InDelta(t, floor, m.Floor, 1e-9, name)
		require.True(t, 0 <= m.Interval[0] && m.Interval[0] < m.Error && m.Error < m.Interval[1] && m.Interval[1] <= 1, name)
	}
	logZ := rows["log_z"]
	require.InDelta(t, math.Log(z), logZ.Exact, 1e-10)
	require.InDelta(t, math.Log(total/samples), logZ.Generated, 1e-10)
	require.InDelta(t, gonum.Mean(logs, nil)+math.Log(z), rows["kl_by_density"].Generated, 1e-10)
	require.Equal(t, []float64{0.7, 0.7, 0}, []float64{logZ.Uncertainty, rows["kl_by_density"].Uncertainty, rows["effective_sample_size"].Uncertainty})
}

// meanDeviation is E|k/n − p| of a binomial k, summed over k.
func meanDeviation(n int, p float64) (sum float64) {
	for k := range n + 1 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		weight := math.Exp(a - b - c)
		sum += weight * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k)) * math.Abs(float64(k)/float64(n)-p)
	}
	return sum
}
