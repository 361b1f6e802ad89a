package hierarchy

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// small returns models of at most 16 spins, which can be enumerated.
func small(t testing.TB) map[string]*Model {
	workers := pool.New(1)
	defer workers.Close()
	all := map[string]*Model{}
	for name, c := range map[string]Square{
		"ferromagnet":     {Side: 4, J: 1, Beta: 0.4407, Neighbours: 6, Hidden: 2},
		"antiferromagnet": {Side: 4, J: -1, Beta: 0.3, Neighbours: 4, Hidden: 4},
		"field":           {Side: 4, J: 0.7, Field: 0.2, Beta: 0.5, Neighbours: 12, Hidden: 3},
		"staggered":       {Side: 4, J: -1, Field: 0.5, Beta: 0.4, Neighbours: 9, Hidden: 1},
		"rotations":       {Side: 4, J: 1, Field: 0.1, Beta: 0.6, Neighbours: 8, Hidden: 5, Rotations: true},
	} {
		m, err := NewSquare(c)
		require.NoError(t, err)
		all[name] = m
	}
	for name, g := range smallGraphs() {
		for _, inputs := range []string{Nearest, Reached} {
			m, err := NewGraph(Graph{Target: g, Neighbours: 7, Inputs: inputs, Hidden: 10}, workers)
			require.NoError(t, err)
			all[name+", "+inputs] = m
		}
	}
	return all
}

// smallGraphs are of all kinds: with exact spins of no, few and many
// neighbours, with centres and without.
func smallGraphs() map[string]Target {
	r := rand.New(rand.NewPCG(11, 12))
	glass := square(4, 1, 0, 0.8)
	for k := range glass.Bonds {
		glass.Bonds[k].Coupling = float64(r.IntN(2)*2 - 1)
	}
	sparse := Target{Spins: 14, Beta: 0.6, Fields: make([]float64, 14)}
	for i := range 14 {
		sparse.Fields[i] = r.NormFloat64() / 2
	}
	for range 17 {
		i := r.IntN(12) // two spins are free
		sparse.Bonds = append(sparse.Bonds, Bond{I: i, J: (i + 1 + r.IntN(11)) % 12, Coupling: r.NormFloat64()})
	}
	complete := Target{Spins: 8, Beta: 1}
	for i := range 8 {
		for j := range i {
			complete.Bonds = append(complete.Bonds, Bond{I: i, J: j, Coupling: r.NormFloat64() / 3})
		}
	}
	hub := Target{Spins: 12, Beta: 0.5} // of ten neighbours, and a pair beside it
	for i := range 10 {
		hub.Bonds = append(hub.Bonds, Bond{I: i, J: 10, Coupling: 0.3 * r.NormFloat64()})
	}
	hub.Bonds = append(hub.Bonds, Bond{I: 0, J: 11, Coupling: 1}, Bond{I: 11, J: 0, Coupling: -0.3})
	return map[string]Target{"glass": glass, "sparse graph": sparse, "complete graph": complete, "hub": hub, "one spin": {Spins: 1, Beta: 1, Fields: []float64{0.3}}}
}

func forEachSmall(t *testing.T, f func(t *testing.T, m *Model, workers *pool.Pool)) {
	workers := pool.New(2)
	defer workers.Close()
	for name, m := range small(t) {
		t.Run(name, func(t *testing.T) { f(t, m, workers) })
	}
}

// TestDensity compares ln q of every configuration with the definition of the
// learned spins times Boltzmann's law of the others, summed by brute force.
func TestDensity(t *testing.T) {
	long.SkipShort(t)
	forEachSmall(t, func(t *testing.T, m *Model, workers *pool.Pool) {
		params := wild(m, 3)
		target := m.Target()
		n := 1 << target.Spins
		configs, logq := make([]uint64, n), make([]float64, n)
		for i := range configs {
			configs[i] = uint64(i)
		}
		s := m.NewSampler(params, workers)
		logDensity(s, m, logq, configs)
		learned := learnedMask(m)
		weight := map[uint64]float64{} // of the learned spins
		for i := range configs {
			e := naiveEnergy(target, configs[i:i+1])
			weight[uint64(i)&learned] += math.Exp(-target.Beta * e)
		}
		require.Len(t, weight, 1<<m.Learned())
		var total float64
		p := wide(params)
		known := map[uint64]float64{}
		for i := range configs {
			key := uint64(i) & learned
			lq, ok := known[key]
			if !ok {
				lq = m.learned64(p, configs[i:i+1]) - math.Log(weight[key])
				known[key] = lq
			}
			require.InDelta(t, lq-target.Beta*naiveEnergy(target, configs[i:i+1]), logq[i], 1e-5)
			if !m.biased {
				require.InDelta(t, logq[i], logq[n-1-i], 1e-5, "odd")
			}
			total += math.Exp(logq[i])
		}
		require.InDelta(t, 1, total, 1e-5)
	})
}

// TestSamplesFollowTheDensity compares frequencies with probabilities by
// Pearson's test, whose statistic exceeds the bound with probability 1e-6 at
// most if the density is right.
func TestSamplesFollowTheDensity(t *testing.T) {
	long.SkipShort(t)
	forEachSmall(t, func(t *testing.T, m *Model, workers *pool.Pool) {
		const samples = 400_000
		n := 1 << m.Spins()
		configs, logq := make([]uint64, n), make([]float64, n)
		for i := range configs {
			configs[i] = uint64(i)
		}
		s := m.NewSampler(wild(m, 3), workers)
		logDensity(s, m, logq, configs)
		drawn, r, again := make([]uint64, samples), make([]float64, samples), make([]float64, samples)
		require.NoError(t, s.Sample(drawn, r, 7, 0))
		s.R(again, drawn)
		counts := make([]float64, n)
		largest := 0.0
		for i, c := range drawn {
			counts[c]++
			largest = max(largest, math.Abs(again[i]-r[i]))
		}
		require.Less(t, largest, 1e-9)
		var statistic, bins, restCount, restExpected float64
		for i, have := range counts {
			want := samples * math.Exp(logq[i])
			if want < 10 {
				restCount, restExpected = restCount+have, restExpected+want
				continue
			}
			statistic += (have - want) * (have - want) / want
			bins++
		}
		if restExpected >= 10 {
			statistic += (restCount - restExpected) * (restCount - restExpected) / restExpected
			bins++
		}
		require.Greater(t, bins, min(100, float64(n)/2))
		// Wilson and Hilferty's normal approximation, at 4.75 standard deviations
		d := bins - 1
		require.Less(t, statistic, d*math.Pow(1-2/(9*d)+4.75*math.Sqrt(2/(9*d)), 3))
	})
}

// TestGradient compares Backward with central differences of the definition.
func TestGradient(t *testing.T) {
	long.SkipShort(t)
	models := small(t)
	for name, c := range map[string]Square{
		"larger":            {Side: 8, J: 1, Beta: 0.4407, Neighbours: 24, Hidden: 6},
		"larger in a field": {Side: 8, J: 1, Field: 0.1, Beta: 0.4407, Neighbours: 10, Hidden: 3},
	} {
		var err error
		models[name], err = NewSquare(c)
		require.NoError(t, err)
	}
	workers := pool.New(2)
	defer workers.Close()
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			const samples = 64
			params := wild(m, 4)
			b, err := m.NewBatch(samples, 0, 5, workers)
			require.NoError(t, err)
			b.Generate(params, 6)
			words := (m.Spins() + 63) / 64
			spins := make([]uint64, samples*words)
			b.Complete(spins)
			r := rand.New(rand.NewPCG(8, 9))
			coefficients := make([]float64, samples)
			for i := range coefficients {
				coefficients[i] = r.NormFloat64()
			}
			grad := make([]float32, m.NumParams())
			b.Backward(grad, coefficients)
			p := wide(params)
			value := func() (sum float64) {
				for i, c := range coefficients {
					sum += c * m.learned64(p, spins[i*words:][:words])
				}
				return sum
			}
			step := max(1, len(params)/40) // larger models by a sample of parameters
			for i := 0; i < len(params); i += step {
				require.InDelta(t, number.CentralDifference(&p[i], 1e-4, value), grad[i], 1e-3, "%d, %s", i, m.TensorName(i))
			}
		})
	}
}

// TestPairs: s′ of the samples that move differs from s, and R is that of both.
func TestPairs(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for name, m := range small(t) {
		t.Run(name, func(t *testing.T) {
			const samples, moved = 256, 128
			params := wild(m, 4)
			training := Training{Steps: 10, Batch: samples, LearningRate: 0.01, Partners: 0.5}
			s := NewTrainer(t, m, training, 5, nil, workers).System().(*System)
			_, err := s.Loss(params, 3)
			require.NoError(t, err)
			require.Positive(t, s.Acceptance())
			first := make([]uint64, samples)
			s.batch.Complete(first)
			require.Equal(t, first[:moved], s.S)
			require.NotEqual(t, s.S, s.Next)
			r := make([]float64, samples)
			sampler := m.NewSampler(params, workers)
			sampler.R(r, first)
			require.InDeltaSlice(t, r, s.R, 1e-9)
			sampler.R(r[:moved], s.Next)
			require.InDeltaSlice(t, r[:moved], s.RNext[:moved], 1e-9)
		})
	}
}

// TestGradientOfTheLoss compares the loss's gradient with central differences in
// float64, and breaks it.
func TestGradientOfTheLoss(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for name, m := range small(t) {
		if m.NumParams() == 0 {
			continue
		}
		for _, partners := range []float64{0, 0.5, 1} {
			training := Training{Steps: 10, Batch: 128, LearningRate: 0.01, Partners: partners}
			s := NewTrainer(t, m, training, 5, nil, workers).System().(*System)
			params := wild(m, 4)
			worst, tensors := engine.GradientError(s, params, s.Backward)
			require.Less(t, worst, 2e-3, "%s, %v", name, partners)
			require.NotZero(t, tensors)
			worst, _ = engine.GradientError(s, params, func(params, grad []float32) {
				s.Backward(params, grad)
				grad[len(grad)/2] += 0.1 * float32(math.Sqrt(float64(len(grad))))
			})
			require.Greater(t, worst, 4e-3, "%s, %v", name, partners)
		}
	}
}

// TestRIsThatOfTheDensity: what Generate reports is ln q + βE of the completed
// samples.
func TestRIsThatOfTheDensity(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, c := range []Square{
		{Side: 8, J: 1, Beta: 0.4407, Neighbours: 24, Hidden: 6},
		{Side: 12, J: -1, Field: 0.1, Beta: 0.6, Neighbours: 20, Hidden: 5},
		{Side: 16, J: 1, Field: 0.3, Beta: 0.28, Neighbours: 8, Hidden: 2},
		{Side: 16, J: 1, Beta: 0.6, Neighbours: 28, Hidden: 4, Rotations: true},
	} {
		m, err := NewSquare(c)
		require.NoError(t, err)
		require.Equal(t, 3*c.Side*c.Side/8, m.Learned())
		params := wild(m, 5)
		b, err := m.NewBatch(192, 0, 5, workers)
		require.NoError(t, err)
		b.Generate(params, 1)
		words := (m.Spins() + 63) / 64
		spins, r, again := make([]uint64, 192*words), make([]float64, 192), make([]float64, 192)
		b.Complete(spins)
		b.R(r, nil)
		s := m.NewSampler(params, workers)
		s.R(again, spins)
		require.InDeltaSlice(t, r, again, 1e-9)
		logDensity(s, m, again, spins)
		p := wide(params)
		for i := range r {
			config := spins[i*words:][:words]
			logq := m.learned64(p, config) + naiveExact(m, config)
			require.InDelta(t, logq, again[i], 1e-4)
		}
	}
}

// naiveExact is the logarithm of the probability of the exact spins given the
// learned ones, by the chain rule over odd sites and the centres of stars.
func naiveExact(m *Model, config []uint64) (logp float64) {
	t := m.Target()
	near := t.neighbours()
	field := func(i int, without int) (h float64) {
		h = t.field(i)
		for _, n := range near[i] {
			if n.spin != without {
				h += n.coupling * spins.Spin(config, n.spin)
			}
		}
		return h
	}
	conditional := func(i int32, logit float64) { logp -= math.Log1p(math.Exp(-spins.Spin(config, int(i)) * logit)) }
	for _, s := range m.exact.stars {
		logit := 2 * t.Beta * t.field(int(s.centre))
		for _, n := range near[s.centre] {
			h := field(n.spin, int(s.centre))
			logit += math.Log(math.Cosh(t.Beta*(h+n.coupling))) - math.Log(math.Cosh(t.Beta*(h-n.coupling)))
			conditional(int32(n.spin), 2*t.Beta*field(n.spin, -1))
		}
		conditional(s.centre, logit)
	}
	return logp
}

// TestStreams: a sample is a function of seed and index, and a gradient of seed
// and step, for any number of threads and any slices.
func TestStreams(t *testing.T) {
	m, err := NewSquare(Square{Side: 8, J: 1, Beta: 0.4407, Neighbours: 12, Hidden: 4})
	require.NoError(t, err)
	params := wild(m, 6)
	const n = 5000
	var spins []uint64
	var r []float64
	var grads [][]float32
	for _, threads := range []int{1, 3} {
		workers := pool.New(threads)
		defer workers.Close()
		s := m.NewSampler(params, workers)
		haveSpins, haveR := make([]uint64, n), make([]float64, n)
		require.NoError(t, s.Sample(haveSpins, haveR, 9, 1000))
		if spins == nil {
			spins, r = slices.Clone(haveSpins), slices.Clone(haveR)
		}
		require.True(t, slices.Equal(spins, haveSpins))
		require.True(t, slices.Equal(r, haveR))
		for _, cut := range []int{1, 63, 64, 100, 4999} {
			clear(haveSpins)
			clear(haveR)
			require.NoError(t, s.Sample(haveSpins[:cut], haveR[:cut], 9, 1000))
			require.NoError(t, s.Sample(haveSpins[cut:], haveR[cut:], 9, 1000+uint64(cut)))
			require.True(t, slices.Equal(spins, haveSpins))
			require.True(t, slices.Equal(r, haveR))
		}
		require.NoError(t, s.Sample(nil, haveR, 10, 1000))
		require.False(t, slices.Equal(r, haveR))

		start := slices.Clone(params)
		for _, partners := range []float64{0.5, 1} {
			training := Training{Steps: 3, Batch: 1024, LearningRate: 0.01, Warmup: 1, Partners: partners}
			tr := NewTrainer(t, m, training, 0, params, workers)
			for range training.Steps {
				require.NoError(t, tr.Step())
			}
			start = append(start, tr.Params()...)
		}
		grads = append(grads, start)
	}
	require.True(t, slices.Equal(grads[0], grads[1]))
	s := m.NewSampler(params, pool.New(1))
	const most = 1 << 40 // docs/formats.md
	require.ErrorContains(t, s.Sample(nil, r, 1, most-n+1), "are not all among the 1099511627776 of a seed")
	require.NoError(t, s.Sample(nil, r[:100], 1, most-100), "the last of them")
}

func TestNothingAllocates(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	m, err := NewSquare(Square{Side: 8, J: 1, Field: 0.1, Beta: 0.4407, Neighbours: 12, Hidden: 4})
	require.NoError(t, err)
	params := make([]float32, m.NumParams())
	m.Initialize(params, 1)
	for _, partners := range []float64{0, 0.5, 1} {
		tr := NewTrainer(t, m, Training{Steps: 100, Batch: 256, LearningRate: 0.01, Anneal: 1, Partners: partners}, 0, params, workers)
		require.Zero(t, alloctest.PerRun(5, func() { _ = tr.Step() }), partners)
	}
	s := m.NewSampler(params, workers)
	spins, r := make([]uint64, 1000), make([]float64, 1000)
	require.Zero(t, alloctest.PerRun(5, func() { _ = s.Sample(spins, r, 1, 77) }))
}

// TestValues: a net that has a table of its values has it after as many blocks as that
// takes, gives the same bits as before, and others after the next Set.
func TestValues(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	r := rand.New(rand.NewPCG(19, 20))
	states := make([]uint64, 2*20)
	for i := range states {
		states[i] = r.Uint64()
	}
	states[19], states[39] = 0, 0
	for _, m := range []int{1, 3, 6, 10, 13, 16, 17} {
		net, err := NewNet(m, nil, 5, true, true, 0)
		require.NoError(t, err)
		inputs := make([]int32, net.padded)
		for j := range inputs {
			inputs[j] = 19
			if j < m {
				inputs[j] = int32(j * 7 % 19)
			}
		}
		params := [2][]float32{make([]float32, net.end), make([]float32, net.end)}
		for i := range net.end {
			params[0][i], params[1][i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		k := NewKernels([]*Net{net}, workers)
		require.Nil(t, k.At(0).values)
		k.Tabulate()
		for _, p := range params {
			k.Set(p)
			require.False(t, k.At(0).tabulated.Load())
			var first, again [2][block]float32
			k.At(0).Logits(first[:], states, inputs)
			for blocks := 2; blocks < 1<<m/block; blocks += 2 {
				require.False(t, k.At(0).tabulated.Load(), "%d inputs after %d blocks", m, blocks)
				k.At(0).Logits(again[:], states, inputs)
			}
			require.Equal(t, m <= asm.BitNumber, k.At(0).tabulated.Load(), m)
			k.At(0).Logits(again[:], states, inputs)
			require.Equal(t, first, again)
		}
		require.NotZero(t, k.At(0).bits.Bias)
	}
	// Tables of so many nets are too long together.
	var nets []*Net
	for range maxValuesBytes/(4<<16) + 1 {
		net, err := NewNet(16, nil, 1, false, false, 0)
		require.NoError(t, err)
		nets = append(nets, net)
	}
	small, err := NewNet(4, nil, 1, false, false, 0)
	require.NoError(t, err)
	k := NewKernels(append(nets, small), workers)
	k.Tabulate()
	require.Nil(t, k.At(0).values)
	require.NotNil(t, k.At(len(nets)).values)
}

// TestStencils: no spin looks at one that is not known, the images permute the
// inputs, and members of a group are apart.
func TestStencils(t *testing.T) {
	for _, halves := range []bool{false, true} {
		g := grouping{halves}
		seen := map[int]int{}
		for y := range 8 {
			for x := range 8 {
				r := g.rank(x, y)
				seen[r]++
				require.Equal(t, r, g.rank(x-8, y+16))
				if !halves {
					require.Equal(t, r, g.rank(x+4, y-4))
				}
				for dy := -3; dy <= 3; dy++ {
					for dx := -3; dx <= 3; dx++ {
						if r > 0 && (dx != 0 || dy != 0) {
							require.NotEqual(t, r, g.rank(x+dx, y+dy))
						}
					}
				}
			}
		}
		require.Equal(t, 16, seen[0])
		for group := 1; group <= groups; group++ {
			for _, n := range []int{4, 12, 24, 56} {
				near := g.stencil(group, n)
				offsets, images := near.offsets, near.images
				if seen[group] == 0 {
					require.False(t, halves)
					require.Empty(t, offsets)
					continue
				}
				require.GreaterOrEqual(t, len(offsets), n)
				require.LessOrEqual(t, len(offsets), n+8)
				require.Len(t, images, 8)
				for i, image := range images {
					sorted := slices.Clone(image)
					slices.Sort(sorted)
					for j := range sorted {
						require.Equal(t, j, sorted[j])
						a, b := offsets[j], offsets[image[j]]
						require.Equal(t, a[0]*a[0]+a[1]*a[1], b[0]*b[0]+b[1]*b[1])
						if i < rotations { // by a quarter more than the one before
							before := offsets[images[(i+rotations-1)%rotations][j]]
							require.Equal(t, [2]int{-before[1], before[0]}, b)
						}
					}
				}
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a [64]uint64
	for i := range a {
		a[i] = r.Uint64()
	}
	b := a
	asm.Transpose64(&b)
	for i := range 64 {
		for j := range 64 {
			require.Equal(t, a[i]>>j&1, b[j]>>i&1)
		}
	}
}

func TestTransfer(t *testing.T) {
	model := func(side, neighbours, hidden int, field float64) *Model {
		m, err := NewSquare(Square{Side: side, J: 1, Field: field, Beta: 0.4407, Neighbours: neighbours, Hidden: hidden})
		require.NoError(t, err)
		return m
	}
	small := model(16, 12, 2, 0)
	from := wild(small, 1)
	for _, large := range []*Model{model(32, 12, 2, 0), model(32, 14, 4, 0)} {
		to := make([]float32, large.NumParams())
		large.Initialize(to, 2)
		require.Zero(t, large.Transfer(to, small, from))
		for name, source := range map[string]string{"2:A1": "2:A1", "4:X1": "4:X1", "8:X1": "4:X1", "8:B2": "4:B2", "16:X1": "8:X1"} {
			a, b := small.unitNamed(source), large.unitNamed(name)
			require.Equal(t, from[a.weights:][:a.m], to[b.weights:][:a.m])
			require.Equal(t, from[a.output:][:a.hidden], to[b.output:][:a.hidden])
			for _, v := range to[b.output+a.hidden:][:b.hidden-a.hidden] {
				require.Zero(t, v)
			}
		}
	}
	// In a field units have biases and a shift, which go along.
	biased, large := model(16, 12, 2, 0.3), model(32, 14, 4, 0.3)
	of, to := wild(biased, 4), make([]float32, large.NumParams())
	require.Zero(t, large.Transfer(to, biased, of))
	a, b := biased.unitNamed("4:X1"), large.unitNamed("8:X1")
	require.True(t, large.biased)
	require.Equal(t, of[a.biases:][:a.hidden], to[b.biases:][:a.hidden])
	require.Equal(t, of[a.shift], to[b.shift])
	// What is transferred to a larger architecture is the same function.
	wider := model(16, 20, 5, 0)
	to = make([]float32, wider.NumParams())
	wider.Initialize(to, 3)
	require.Zero(t, wider.Transfer(to, small, from))
	workers := pool.New(1)
	defer workers.Close()
	spins, r, again := make([]uint64, 400), make([]float64, 100), make([]float64, 100)
	require.NoError(t, small.NewSampler(from, workers).Sample(spins, r, 1, 0))
	wider.NewSampler(to, workers).R(again, spins)
	require.InDeltaSlice(t, r, again, 1e-4)
	// The smallest lattice lacks second halves of faces.
	require.Equal(t, 4, small.Transfer(make([]float32, small.NumParams()), model(8, 12, 2, 0), wild(model(8, 12, 2, 0), 1)))
	require.NotZero(t, model(16, 12, 2, 1).Transfer(make([]float32, model(16, 12, 2, 1).NumParams()), small, from))
}

// TestTransferOfGraphs: spins of a graph take their own weights by the inputs that both models
// have, so that values are what they were without the others.
func TestTransferOfGraphs(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	model := func(target Target, beta float64, neighbours, hidden int) *Model {
		target.Beta = beta
		m, err := NewGraph(Graph{Target: target, Neighbours: neighbours, Hidden: hidden, Inputs: Reached}, workers)
		require.NoError(t, err)
		return m
	}
	r := rand.New(rand.NewPCG(8, 9))
	kept, dropped := 0, 0
	for name, target := range map[string]Target{"complete": smallGraphs()["complete graph"], "sparse": smallGraphs()["sparse graph"], "glass": cubicGlass(3, 4)} {
		from := model(target, 0.8, 6, 3)
		params := wild(from, 3)
		for _, to := range []*Model{model(target, 0.8, 6, 3), model(target, 0.3, 12, 5), model(target, 1.5, 2, 3)} {
			dst := make([]float32, to.NumParams())
			to.Initialize(dst, 1)
			require.Zero(t, to.Transfer(dst, from, params), name)
			for i := range to.Units {
				u := &to.Units[i]
				o := from.unitNamed(u.Name)
				require.Equal(t, o.Sites, u.Sites)
				for range 5 {
					at := make([]float64, to.Spins()+1)
					for k := range to.Spins() {
						at[k] = float64(2*r.IntN(2) - 1)
					}
					theirs := func(j int) float64 {
						if j < o.m && !slices.Contains(u.Inputs[0][:u.m], o.Inputs[0][j]) {
							dropped++
							return 0
						}
						kept++
						return at[o.Inputs[0][j]]
					}
					require.InDelta(t, o.Value64(number.Widen(params), theirs), u.Value64(number.Widen(dst), func(j int) float64 { return at[u.Inputs[0][j]] }), 1e-9, name)
				}
			}
		}
		// Fewer hidden units have no room for those of the other model.
		less, without := model(target, 0.8, 6, 2), 0
		before := make([]float32, less.NumParams())
		less.Initialize(before, 1)
		after := slices.Clone(before)
		for i := range less.Units {
			if less.Units[i].m > 0 {
				without++
			}
		}
		require.Equal(t, without, less.Transfer(after, from, params), name)
		if !less.biased { // or spins without inputs take a shift
			require.Equal(t, before, after)
		}
	}
	require.Positive(t, kept)
	require.Positive(t, dropped)
	plain, biased := smallGraphs()["sparse graph"], smallGraphs()["sparse graph"]
	plain.Fields = nil
	from := model(biased, 0.8, 6, 3)
	to := model(plain, 0.8, 6, 3)
	require.Equal(t, len(to.Units), to.Transfer(make([]float32, to.NumParams()), from, wild(from, 1)))
}

func (m *Model) unitNamed(name string) *Unit {
	return &m.Units[slices.IndexFunc(m.Units, func(u Unit) bool { return u.Name == name })]
}

func TestTensorNames(t *testing.T) {
	m, err := NewSquare(Square{Side: 4, J: 1, Field: 1, Beta: 1, Neighbours: 4, Hidden: 2})
	require.NoError(t, err)
	count := map[string]int{}
	for i := range m.NumParams() {
		count[m.TensorName(i)]++
	}
	require.Equal(t, 1, count["base:0.shift"])
	require.Equal(t, 16*3, count["base:3.weights"])
	require.Equal(t, 8, count["2:A1.weights"])
	require.Equal(t, 2, count["2:A3.output"])
	require.Equal(t, 2, count["2:A3.biases"])
	require.Equal(t, 1, count["2:A3.shift"])
}

func TestRefusesWrongValues(t *testing.T) {
	good := Square{Side: 8, J: 1, Beta: 0.4, Neighbours: 8, Hidden: 2}
	most := good
	most.Neighbours, most.Hidden = 56, 8
	for _, s := range []Square{good, most} {
		_, err := NewSquare(s)
		require.NoError(t, err)
	}
	for want, change := range map[string]func(s *Square){
		"side":       func(s *Square) { s.Side = 6 },
		"neighbours": func(s *Square) { s.Neighbours = 57 },
		"hidden":     func(s *Square) { s.Hidden = 9 },
	} {
		bad := good
		change(&bad)
		_, err := NewSquare(bad)
		require.ErrorContains(t, err, want)
	}
	_, err := NewGraph(Graph{Target: smallGraphs()["glass"], Neighbours: 8, Inputs: "all", Hidden: 2}, nil)
	require.ErrorContains(t, err, "inputs")
}

// TestPaths: the density does not depend on the kernels beyond their rounding.
func TestPaths(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	m, err := NewSquare(Square{Side: 8, J: 1, Beta: 0.4407, Neighbours: 24, Hidden: 6})
	require.NoError(t, err)
	params := wild(m, 7)
	spins, first := make([]uint64, 640), make([]float64, 640)
	require.NoError(t, m.NewSampler(params, workers).Sample(spins, first, 1, 0))
	path, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(path)) }()
	for _, p := range asm.Supported() {
		require.NoError(t, asm.Use(p))
		r := make([]float64, len(first))
		m.NewSampler(params, workers).R(r, spins)
		require.InDeltaSlice(t, first, r, 3e-5, fmt.Sprint(p))
	}
	require.NotZero(t, bits.OnesCount64(spins[0]))
}

// TestReachedInputs: the law of a spin given those drawn before it is that given its
// inputs, where there is room for all that are reached, and none of these can be left out.
func TestReachedInputs(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for name, g := range smallGraphs() {
		m, err := NewGraph(Graph{Target: g, Neighbours: MaxInputs, Inputs: Reached, Hidden: 1}, workers)
		require.NoError(t, err)
		known := 0
		for i := range m.Units {
			u := &m.Units[i]
			inputs := 0
			for _, j := range u.Inputs[0][:u.m] {
				inputs |= 1 << j
			}
			given := conditional(&g, known, int(u.Sites[0]))
			for config, up := range given {
				require.InDelta(t, given[config&inputs], up, 1e-12, "%s, %s", name, u.Name)
			}
			for _, j := range u.Inputs[0][:u.m] {
				needed := false
				for config, up := range given {
					needed = needed || math.Abs(given[config^1<<j]-up) > 1e-6
				}
				require.True(t, needed, "%s, %s: %d", name, u.Name, j)
			}
			known |= 1 << u.Sites[0]
		}
	}
}

// conditional returns the probability of s_i = +1 given each configuration of the known
// spins, by brute force.
func conditional(t *Target, known, i int) map[int]float64 {
	up, all := map[int]float64{}, map[int]float64{}
	for config := range 1 << t.Spins {
		w := math.Exp(-t.Beta * naiveEnergy(t, []uint64{uint64(config)}))
		all[config&known] += w
		if config>>i&1 == 1 {
			up[config&known] += w
		}
	}
	for key := range all {
		all[key] = up[key] / all[key]
	}
	return all
}

// TestMostLikelyEnds: on a line of spins a gambler's ruin, over a weak bond no walk.
func TestMostLikelyEnds(t *testing.T) {
	line := Target{Spins: 7, Beta: 1}
	for i := range 6 {
		line.Bonds = append(line.Bonds, Bond{I: i, J: i + 1, Coupling: 0.5})
	}
	known := []int32{6, 0}
	reached := func(from int32, n int) []int32 {
		order, rank := append(slices.Clone(known), from), []int32{7, 7, 7, 7, 7, 7, 7}
		for k, i := range order {
			rank[i] = int32(k)
		}
		return newInputFinder(newSparseGraph(line.Beta, line.neighbours()), order, rank).mostLikelyEnds(len(known), n)
	}
	require.Equal(t, []int32{0}, reached(2, 1))
	require.Equal(t, []int32{6}, reached(4, 1))
	require.Equal(t, []int32{6}, reached(3, 1), "the first of equals")
	require.Equal(t, []int32{6, 0}, reached(3, 2), "the first of equals first")
	require.Equal(t, []int32{0, 6}, reached(2, 2), "the nearer first")
	line.Bonds[1].Coupling = 0.01
	require.Equal(t, []int32{6}, reached(2, 1))
	line.Bonds[1].Coupling = 0
	require.Equal(t, []int32{6}, reached(2, 2))
	known = append(known, 3)
	require.Equal(t, []int32{3}, reached(2, 2))
	line.Bonds[2].Coupling = 0
	require.Empty(t, reached(2, 2))
}

// TestNearest: known spins by their distance, of equals the first in the order first, and then those
// that no way leads to, in their order.
func TestNearest(t *testing.T) {
	graph := Target{Spins: 9, Beta: 1}
	for i, j := range []int{1, 2, 3} { // 0 – 1 – 2 – 3, and the others apart
		graph.Bonds = append(graph.Bonds, Bond{I: i, J: j, Coupling: 0.5})
	}
	graph.Bonds = append(graph.Bonds, Bond{I: 7, J: 8, Coupling: 1})
	order := []int32{8, 3, 0, 5, 1, 2}
	rank := slices.Repeat([]int32{math.MaxInt32}, 9)
	for k, i := range order {
		rank[i] = int32(k)
	}
	s := newInputFinder(newSparseGraph(graph.Beta, graph.neighbours()), order, rank)
	for _, c := range []struct {
		k, n int
		want []int32
	}{
		{0, 3, nil}, {1, 3, []int32{8}}, {2, 3, []int32{3, 8}}, {3, 3, []int32{8, 3, 0}}, {5, 1, []int32{3}}, {5, 2, []int32{3, 1}}, {5, 3, []int32{3, 1, 0}},
		{4, 1, []int32{0}}, {4, 2, []int32{0, 3}}, {4, 3, []int32{0, 3, 8}}, {4, 9, []int32{0, 3, 8, 5}}, {5, 9, []int32{3, 1, 0, 8, 5}},
	} {
		require.Equal(t, c.want, append([]int32(nil), s.nearest(c.k, c.n)...), "%v", c)
	}
}
