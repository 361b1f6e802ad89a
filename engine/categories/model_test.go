package categories

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// A sample case has few enough states to be enumerated.
type sampleCase struct {
	Target
	Network
}

// small returns targets of all kinds: every code, with fields and without, sites of
// different numbers of states, stars with centres and without, free sites.
func small() map[string]sampleCase {
	r := rand.New(rand.NewPCG(3, 4))
	graph := func(states []int, edges [][2]int, table func(q, p int) []float64) (t Target) {
		t = Target{States: states, Beta: 0.7, Offset: 0.3}
		for _, e := range edges {
			t.Pairs = append(t.Pairs, Pair{e[0], e[1], table(states[e[0]], states[e[1]])})
		}
		return t
	}
	ring := [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {0, 3}, {1, 4}, {1, 0}}
	potts := func(q, _ int) []float64 { return Potts(q, r.NormFloat64()) }
	clock := func(q, _ int) []float64 { return Clock(q, r.NormFloat64()) }
	any := func(q, p int) []float64 {
		x := make([]float64, q*p)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	fields := func(t Target) Target {
		t.Fields = make([][]float64, len(t.States))
		for i, q := range t.States {
			if i%3 == 2 {
				continue
			}
			for range q {
				t.Fields[i] = append(t.Fields[i], r.NormFloat64())
			}
		}
		return t
	}
	return map[string]sampleCase{
		"potts":            {graph(Uniform(7, 3), ring, potts), Network{Neighbours: 5, Hidden: 5}},
		"potts, fields":    {fields(graph(Uniform(6, 3), ring, potts)), Network{Neighbours: 3, Hidden: 16}},
		"clock":            {graph(Uniform(6, 5), ring, clock), Network{Neighbours: 4, Hidden: 6}},
		"clock, fields":    {fields(graph(Uniform(6, 4), ring, clock)), Network{Neighbours: 4, Hidden: 6}},
		"tables":           {fields(graph([]int{2, 5, 3, 4, 2, 3}, ring, any)), Network{Neighbours: 4, Hidden: 6}},
		"complete":         {graph(Uniform(5, 4), [][2]int{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}, potts), Network{Neighbours: 4, Hidden: 6}},
		"alone":            {fields(graph([]int{3}, nil, potts)), Network{Neighbours: 1, Hidden: 1}},
		"lattice of spins": {Target{States: Uniform(16, 2), Pairs: Lattice(4, Potts(2, 1)), Beta: 0.8}, Network{Side: 4, Neighbours: 6, Hidden: 2}},
	}
}

// wild are parameters for which probabilities are far from equal.
func wild(m *Model) []float32 {
	r := rand.New(rand.NewPCG(5, 6))
	params := make([]float32, m.NumParams())
	for i := range params {
		params[i] = float32(0.5 * r.NormFloat64())
	}
	return params
}

// TestDensity: q sums to 1 over all configurations, is what samples are drawn by, by a
// χ² test at the level 10⁻⁶, and R is what Sample says of each.
func TestDensity(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for name, c := range small() {
		t.Run(name, func(t *testing.T) {
			m, err := NewModel(c.Target, c.Network, workers)
			require.NoError(t, err)
			require.Less(t, m.Learned(), m.Sites())
			params := wild(m)
			sampler := m.NewSampler(params, workers)
			var all []byte
			c.Each(func(_ int, s []byte) { all = append(all, s...) })
			n := m.Sites()
			r, index := make([]float64, len(all)/n), map[string]int{}
			sampler.R(r, all)
			var sum float64
			q := make([]float64, len(r))
			wide := make([]float64, len(params))
			for i, p := range params {
				wide[i] = float64(p)
			}
			l := m.law.copy()
			l.setBeta(c.Beta)
			for i := range r {
				s := all[i*n:][:n]
				index[string(s)] = i
				q[i] = math.Exp(r[i] - c.Beta*c.Energy(s))
				sum += q[i]
				if i%(1+len(r)/100) == 0 {
					state := make([]byte, n*block)
					columns(state, s, n)
					var minus [block]float64
					l.addLogWeights(&minus, -1, state)
					require.InDelta(t, m.learned64(wide, s)+minus[3], r[i], 2e-5)
				}
			}
			require.InDelta(t, 1, sum, 1e-5)

			const samples = 100_000
			batch, drawn := make([]byte, samples*n), make([]float64, samples)
			require.NoError(t, sampler.Sample(batch, drawn, 7, 5))
			counts := make([]float64, len(q))
			for i := range samples {
				k := index[string(batch[i*n:][:n])]
				counts[k]++
				require.Equal(t, r[k], drawn[i], "R of sample %d", i)
			}
			require.Less(t, chiSquare(q, counts, samples), 4.75)
		})
	}
}

// TestUnitsInOrder: a model takes no unit that looks at what is not drawn yet, nor one of sites
// that are.
func TestUnitsInOrder(t *testing.T) {
	m := &Model{target: Target{States: Uniform(3, 3)}, coding: newCoding(Same, 3), symmetric: true}
	one := hierarchy.Layout{Name: "one", Sites: []int{1}, Inputs: [][]int{{0}}, Hidden: 2}
	require.PanicsWithValue(t, "hierarchy: a unit looks at a site that is not drawn yet", func() { _ = m.addUnit(one, make([]bool, 3)) })
	require.PanicsWithValue(t, "hierarchy: a site is drawn twice", func() { _ = m.addUnit(one, []bool{true, true, false}) })
	known := []bool{true, false, false}
	require.NoError(t, m.addUnit(one, known))
	require.Equal(t, []bool{true, true, false}, known)
	require.Equal(t, 1, m.Learned())
}

// TestGradient compares the gradient of the loss with central differences in float64.
func TestGradient(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for name, c := range small() {
		m, err := NewModel(c.Target, c.Network, workers)
		require.NoError(t, err)
		if m.NumParams() == 0 {
			continue
		}
		training := &engine.Training{Seed: 3, Batch: 256, Steps: 10}
		s, err := NewSystem(m, training, engine.Balancing{Partners: 0.5}, &spins.TransitionConfig{Proposal: spins.Sweeping, Steps: 1}, workers)
		require.NoError(t, err)
		off, tensors := engine.GradientError(s, wild(m), s.Backward)
		require.Less(t, off, 2e-3, "%s: %d tensors", name, tensors)
		require.Greater(t, tensors, 0)
	}
}

// TestSystem: a step draws and moves its batch at the temperature of its level, and R of what moved is
// what a sampler says at that of the target once it is reached; without moves nothing is accepted. What
// is drawn later, weighed and named is the model's.
func TestSystem(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for name, c := range small() {
		m, err := NewModel(c.Target, c.Network, workers)
		require.NoError(t, err)
		for _, partners := range []float64{0.5, 1} {
			training := &engine.Training{Seed: 3, Batch: 256, Steps: 10}
			config := &spins.TransitionConfig{Proposal: "single", Steps: 3, Anneal: 0.5, AnnealFrom: 0.25}
			s, err := NewSystem(m, training, engine.Balancing{Partners: partners}, config, workers)
			require.NoError(t, err)
			require.Same(t, m, s.Model())
			require.Equal(t, []any{m.NumParams(), m.TensorName(0)}, []any{s.NumParams(), s.TensorName(0)})
			params, same := wild(m), make([]float32, m.NumParams())
			s.Initialize(params)
			m.Initialize(same, 3)
			require.Equal(t, same, params)
			params = wild(m)
			b := s.Generator.(*hierarchy.Batch[byte])
			n, l := m.Sites(), b.Workspace.(*workspace)
			require.Equal(t, int(256*(1-partners))/block, b.ScoredBlocks)
			for _, step := range []uint32{1, 4, 5, 10} {
				_, err := s.Loss(params, step)
				require.NoError(t, err)
				beta := c.Beta // from a quarter of it in 32 levels
				if step < 5 {
					beta *= 0.25 + 0.75*(1+math.Floor(float64(step)/5*31))/32
				}
				require.InDelta(t, beta, l.law.beta, 1e-15, name)
				require.Equal(t, partners < 1, s.Transition.Acceptance() > 0.05, name)
				if step < 5 {
					continue
				}
				r, next := make([]float64, b.SampleBlocks*block), make([]float64, b.ScoredBlocks*block)
				b.R(r, next)
				batch, want := make([]byte, len(next)*n), make([]float64, len(next))
				for k := range b.ScoredBlocks {
					rows(batch[k*block*n:][:block*n], l.block(b.SampleBlocks+k), n, 0)
				}
				s.Weigher(params)(want, batch)
				require.InDeltaSlice(t, want, next, 1e-4, name)
				for k := range b.SampleBlocks {
					require.Equal(t, l.Rs[k][:], r[k*block:][:block])
				}
			}
			const first, count = 70, 100
			batch, r, want, wantR := make([]byte, count*n), make([]float64, count), make([]byte, count*n), make([]float64, count)
			s.NewDraws(params).Generate(batch, r, first)
			require.NoError(t, m.NewSampler(params, workers).Sample(want, wantR, 3, first))
			require.Equal(t, want, batch)
			require.Equal(t, wantR, r)
		}
	}
}

// TestMoves: every kernel leaves the law as it is, and reaches it from one state.
func TestMoves(t *testing.T) {
	long.SkipShort(t)
	const blocks = 300
	for name, c := range small() {
		for _, kind := range []string{spins.Sweeping, "single", "mixture"} {
			steps := map[string]int{spins.Sweeping: 40, "single": 1500, "mixture": 1500}[kind]
			kernel, err := NewMoves(&c.Target, &spins.TransitionConfig{Proposal: kind, GlobalFlip: 0.1}, 1)
			if _, even := c.Code(); kind == "mixture" && !even {
				require.ErrorContains(t, err, "transition.proposal")
				continue
			}
			require.NoError(t, err)
			var z, mean, square float64
			c.Each(func(_ int, s []byte) {
				e := c.Energy(s)
				w := math.Exp(-c.Beta * e)
				z, mean, square = z+w, mean+w*e, square+w*e*e
			})
			mean, square = mean/z, square/z
			stream := rng.Stream(1, rng.ChainTransition, 0)
			n := c.N()
			var count engine.Count
			var sum float64
			state, row := make([]byte, n*block), make([]byte, n)
			few := blocks * 40 / steps
			for k := range few {
				clear(state)
				kernel.run(state, 0, steps, &stream, uint64(k), &count)
				for b := range block {
					rows(row, state, n, b)
					sum += c.Energy(row)
				}
			}
			samples := float64(few * block)
			require.Less(t, math.Abs(sum/samples-mean), 5*math.Sqrt((square-mean*mean)/samples), "%s by %s", name, kind)
			require.Greater(t, count.Rate(), 0.1)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	t := Target{States: Uniform(256, 3), Pairs: Lattice(16, Potts(3, 1)), Beta: 1.005}
	for _, hidden := range []int{2, 4, 6} {
		m, err := NewModel(t, Network{Side: 16, Neighbours: 12 + (hidden-2)*3, Hidden: hidden}, workers)
		require.NoError(b, err)
		training := &engine.Training{Seed: 3, Batch: 512, Steps: 10}
		s, err := NewSystem(m, training, engine.Balancing{Partners: 0.75}, &spins.TransitionConfig{Proposal: spins.Sweeping, Steps: 2}, workers)
		require.NoError(b, err)
		params, grad := make([]float32, m.NumParams()), make([]float32, m.NumParams())
		s.Initialize(params)
		b.Run("train"+string(rune('0'+hidden)), func(b *testing.B) {
			for b.Loop() {
				s.Loss(params, 1)
				s.Backward(params, grad)
			}
		})
		b.Run("draw"+string(rune('0'+hidden)), func(b *testing.B) {
			sampler, batch, r := m.NewSampler(params, workers), make([]byte, 2048*256), make([]float64, 2048)
			for b.Loop() {
				sampler.Sample(batch, r, 1, 0)
			}
			b.ReportMetric(float64(b.N)*2048/b.Elapsed().Seconds(), "draws/s")
		})
	}
}

// BenchmarkSweep redraws the sites of the 64×64 lattice by heat bath.
func BenchmarkSweep(b *testing.B) {
	for _, q := range []int{3, 4, 8} {
		const n = 64 * 64
		m, err := NewMoves(&Target{States: Uniform(n, q), Pairs: Lattice(64, Potts(q, 1)), Beta: 1}, &spins.TransitionConfig{Proposal: spins.Sweeping}, 1)
		require.NoError(b, err)
		b.Run(fmt.Sprint("q=", q), func(b *testing.B) {
			state, stream := make([]byte, n*block), rng.Stream(1, rng.ChainTransition, 0)
			var count engine.Count
			for b.Loop() {
				m.run(state, 0, 1, &stream, 0, &count)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(2*b.N*n*block), "ns/site")
		})
	}
}
