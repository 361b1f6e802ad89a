package spins

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestTransitionsByLevel: a step's transition is the kernel at the temperature of its level, in
// pieces of the batch, with draws of the training's stream.
func TestTransitionsByLevel(t *testing.T) {
	g := build(t, ring(5, -0.8))
	workers := pool.New(2)
	defer workers.Close()
	const n, beta = 4000, 0.9
	training := &engine.Training{Seed: 7, Steps: 10}
	s, _ := randomBatch(rand.New(rand.NewPCG(1, 2)), 5, n)
	for _, proposal := range []string{"single", "mixture", Sweeping} {
		c := &TransitionConfig{Proposal: proposal, GlobalFlip: 0.25, Steps: 3, Anneal: 0.5, AnnealFrom: 0.2}
		tr, err := NewTransition(c, training, n, Boltzmann{g, beta}, 1, workers)
		require.NoError(t, err)
		require.Equal(t, (n+tr.rows-1)/tr.rows, len(tr.counts))
		for step, level := range map[uint32]int{0: 1, 1: 7, 2: 13, 4: 25, 5: 32, 9: 32} {
			require.Equal(t, level, c.Level(step, training.Steps))
			fraction := 0.2 + 0.8*float64(level)/32
			require.InDelta(t, fraction, c.Fraction(level), 1e-15)
			var k Kernel
			switch proposal {
			case "single":
				k, err = NewMetropolis(g, c.Fraction(level)*beta, 0)
			case "mixture":
				k, err = NewMetropolis(g, c.Fraction(level)*beta, 0.25)
			default:
				k, err = NewSweeper(g, c.Fraction(level)*beta)
			}
			require.NoError(t, err)
			next, want := make([]uint64, n), make([]uint64, n)
			require.NoError(t, tr.Move(next, s, step))
			stream := rng.Stream(7, rng.TrainTransition, step)
			var counts bitspin.Count
			k.Run(nil, want, s, 0, n, 3, &stream, 0, &counts)
			require.Equal(t, want, next, "%s, step %d", proposal, step)
			require.Equal(t, counts, tr.count)
			require.Equal(t, counts.Rate(), tr.Acceptance())
		}
	}
	// Without annealing there is one level.
	c := &TransitionConfig{Proposal: "single", Steps: 1}
	tr, err := NewTransition(c, training, n, Boltzmann{g, beta}, 1, workers)
	require.NoError(t, err)
	for level, k := range tr.levels {
		require.Equal(t, level == AnnealLevels-1, k != nil)
	}
	require.Equal(t, sites.PieceOf(tr.levels[AnnealLevels-1]), tr.rows)
	require.Equal(t, AnnealLevels, c.Level(0, 10))
	none, err := NewTransition(c, training, 0, nil, 1, nil)
	require.NoError(t, err)
	require.NoError(t, none.Move(nil, nil, 0))
	require.Zero(t, none.Acceptance())
	// Kernels of the target and of lower levels may be refused.
	c = &TransitionConfig{Proposal: "multi-spin", Steps: 1}
	_, err = NewTransition(c, training, n, Boltzmann{g, beta}, 1, workers)
	require.EqualError(t, err, `transition.proposal: "multi-spin" is for lattices; a graph takes single, mixture or sweep`)
	c = &TransitionConfig{Proposal: "mixture", GlobalFlip: 1.5, Steps: 1}
	_, err = NewTransition(c, training, n, Boltzmann{g, beta}, 1, workers)
	require.EqualError(t, err, "transition.global_flip: the probability of flipping all spins, 1.5, is not in [0, 1]")
	c = &TransitionConfig{Proposal: "single", Steps: 1, Anneal: 1, AnnealFrom: -32}
	_, err = NewTransition(c, training, n, Boltzmann{g, 1}, 1, workers)
	require.ErrorContains(t, err, "is not a finite number ≥ 0")
	for proposal, says := range map[string]string{"single": "single Metropolis step", Sweeping: "heat-bath sweep"} {
		c.Proposal = proposal
		require.Equal(t, engine.Moves(1, says), c.Explain())
	}
	require.Equal(t, 5, Boltzmann{g, 1}.Spins())

	for want, c := range map[string]TransitionConfig{
		"": {Steps: 100, Anneal: 1, AnnealFrom: 1}, "transition.steps: 0 ": {}, "transition.steps: 101 ": {Steps: 101},
		"transition.anneal: ": {Steps: 1, Anneal: 1.1}, "transition.anneal_from: ": {Steps: 1, AnnealFrom: -0.1},
	} {
		if err := c.Validate(100); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	require.NoError(t, (&TransitionConfig{Steps: 1 << 16}).Validate(math.MaxInt32))
	require.Error(t, (&TransitionConfig{Steps: 1<<16 + 1}).Validate(math.MaxInt32))
}

// TestTemperedFiguresAreThoseOfRounds: averages are of the chains that an exchange with the same
// draws goes through round by round, and ln Z of their energies.
func TestTemperedFiguresAreThoseOfRounds(t *testing.T) {
	const rounds, every, sets = 10, 3, 2
	h := sparse(9, 20, 3, normal)
	g := build(t, h)
	config := Tempering{Beta: 1.5, Sets: sets, BurnIn: 90, Rounds: rounds, Every: every, Threads: 2, Stream: asm.Counter{Seed: 7, Purpose: 9}}
	var visited []uint64
	got, err := config.Run(t.Context(), g, func(batch []uint64) { visited = append(visited, batch...) })
	require.NoError(t, err)

	workers := pool.New(1)
	defer workers.Close()
	e, err := config.Start(t.Context(), g, workers)
	require.NoError(t, err)
	require.EqualValues(t, 90, e.round)
	levels := e.Levels()
	require.Equal(t, levels, got.Levels)
	require.Greater(t, levels, 2)
	var energy, abs, overlap []float64
	var want []uint64
	b := newBridge(e)
	b.Rounds = rounds
	for round := range rounds {
		require.NoError(t, e.Advance(t.Context(), 1))
		batch := make([]uint64, sets*Lanes)
		e.Configurations(batch)
		if round%every == every-1 {
			want = append(want, batch...)
		}
		spin := func(chain, i int) float64 { return Spin(batch[chain:chain+1], i) }
		for chain := range batch {
			var m float64
			for i := range 9 {
				m += spin(chain, i)
			}
			abs = append(abs, math.Abs(m)/9)
			energy = append(energy, g.Energy(batch[chain:chain+1]))
			if chain%2 == 0 {
				var q float64
				for i := range 9 {
					q += spin(chain, i) * spin(chain+1, i) / 9
				}
				overlap = append(overlap, q*q)
			}
		}
		for level := range levels {
			for set := range sets {
				for lane, x := range e.energies[level*sets+set] {
					half := round / (rounds / 2)
					at := half*sets*Lanes + set*Lanes + lane
					if level < levels-1 {
						if round == 0 && set == 0 && lane == 0 {
							b.origin[level] = mean(e.energies[level*sets:][:2*sets])
						}
						b.up[level][at] += math.Exp(-(e.betas[level+1] - e.betas[level]) / 2 * (x - b.origin[level]))
					}
					if level > 0 {
						b.down[level][at] += math.Exp((e.betas[level] - e.betas[level-1]) / 2 * (x - b.origin[level-1]))
					}
				}
			}
		}
	}
	require.Equal(t, want, visited)
	for name, pair := range map[string][2]stat.ChainSummary{
		"energy":        {stat.Chains(energy, sets*Lanes), got.Energy},
		"magnetisation": {stat.Chains(abs, sets*Lanes), got.AbsMagnetisation},
		"overlap":       {stat.Chains(overlap, sets*Lanes/2), got.OverlapSquare},
	} {
		require.InEpsilon(t, pair[0].Mean, pair[1].Mean, 1e-9, name)
		require.InEpsilon(t, pair[0].StandardError, pair[1].StandardError, 1e-6, name)
		require.InEpsilon(t, pair[0].RHat, pair[1].RHat, 1e-6, name)
	}
	value, standardError := b.logZ()
	require.InDelta(t, value, got.LogZ, 1e-9)
	require.InEpsilon(t, standardError, got.LogZError, 1e-6)
}

func mean(groups [][Lanes]float64) (sum float64) {
	for _, lanes := range groups {
		for _, x := range lanes {
			sum += x / float64(len(groups)*Lanes)
		}
	}
	return sum
}

// TestRoundsOfAnExchange: each is a sweep of all chains, then swaps of every other pair of levels by
// draws of their own, of every set; and a ladder is that of four stages, each of which measures the
// energy's variance in its second half.
func TestRoundsOfAnExchange(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, h := range []Hamiltonian{ring(30, 1), sparse(30, 50, 2, normal)} {
		g := build(t, h)
		const sets, beta, burnIn = 3, 0.8, 90
		stream := asm.Counter{Seed: 7, Purpose: 9}
		e := &Exchange{Tempering: Tempering{Beta: beta, Sets: sets, BurnIn: burnIn, Stream: stream}, graph: g, workers: workers}
		betas := []float64{0, 0.2, 0.4, 0.6, 0.8} // the root of 30, in equal steps
		require.NoError(t, e.start(betas, nil))
		sweeps, err := NewReplicas(g, slices.Repeat([]float64{0}, 15), stream)
		require.NoError(t, err)
		moments := make([]stat.Mean, 5)
		configurations := func(r *Replicas, group int) []uint64 {
			batch := make([]uint64, Lanes)
			r.Configurations(batch, group)
			return batch
		}
		for group := range 15 {
			require.Equal(t, configurations(sweeps, group), configurations(e.replicas, group))
		}
		for round := range uint32(4) {
			before, err := e.replicas.relevel(groupsOf(betas, sets), sequence(15))
			require.NoError(t, err)
			require.NoError(t, e.rounds(t.Context(), 1, int(round%2))) // of every other, moments
			before.Sweep(0, 15, 1)
			var want [15][]uint64
			var energies [15][Lanes]float64
			for group := range want {
				want[group] = configurations(before, group)
				before.Energies(&energies[group], group)
			}
			for level := int(round % 2); level < 4; level += 2 {
				for set := range sets {
					a, b := level*sets+set, (level+1)*sets+set
					c := stream
					c.Step = round
					words := make([]uint32, Lanes)
					asm.PhiloxBlocks(words, &c, 1<<60+uint64(16*a))
					for k, u := range words {
						if (float64(u)+0.5)/(1<<32) < math.Exp((betas[level]-betas[level+1])*(energies[a][k]-energies[b][k])) {
							want[a][k], want[b][k] = want[b][k], want[a][k]
							energies[a][k], energies[b][k] = energies[b][k], energies[a][k]
						}
					}
				}
			}
			for group := range want {
				require.Equal(t, want[group], configurations(e.replicas, group), "group %d, round %d", group, round)
				require.InDeltaSlice(t, energies[group][:], e.energies[group][:], 1e-9)
				for _, x := range e.energies[group] {
					if round%2 == 0 {
						moments[group/sets].Add(x)
					}
				}
			}
		}
		require.Equal(t, moments, e.moments)

		chosen := &Exchange{Tempering: e.Tempering, graph: g, workers: workers}
		require.NoError(t, chosen.begin(t.Context()))
		e.round = 0
		require.NoError(t, e.start(betas, nil))
		for range 4 {
			require.NoError(t, e.rounds(t.Context(), 11, 5))
			length, sigma := []float64{0}, []float64{}
			for k := range e.betas {
				sigma = append(sigma, e.moments[k].Deviation())
			}
			least := slices.Max(sigma) / 50
			for k := 1; k < len(e.betas); k++ {
				length = append(length, length[k-1]+(max(sigma[k], least)+max(sigma[k-1], least))/2*(e.betas[k]-e.betas[k-1]))
			}
			levels := max(2, 1+int(math.Ceil(length[len(length)-1]/1.2)))
			next := ladder(e.betas, length, levels)
			require.NoError(t, e.start(next, nearest(e.betas, next)))
		}
		require.NoError(t, e.rounds(t.Context(), 46, 46))
		require.InDeltaSlice(t, e.betas, chosen.betas, 1e-12)
		require.Equal(t, len(e.betas), chosen.Levels())
		require.EqualValues(t, 90, chosen.round)
		for group := range e.energies {
			require.Equal(t, configurations(e.replicas, group), configurations(chosen.replicas, group))
		}
	}
}

// groupsOf are the inverse temperatures of sets of chains at each level.
func groupsOf(betas []float64, sets int) (groups []float64) {
	for _, beta := range betas {
		groups = append(groups, slices.Repeat([]float64{beta}, sets)...)
	}
	return groups
}

func sequence(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestMemoryOfChains: what chains take, up to four fifths of the memory that there is, and what
// the energies of rounds take, up to half of it.
func TestMemoryOfChains(t *testing.T) {
	limit := memory.Limit
	defer func() { memory.Limit = limit }()
	for bytes, h := range map[float64]Hamiltonian{8: ring(10, 1), 8 + 8*64: sparse(10, 20, 1, normal)} {
		g := build(t, h)
		for _, short := range []float64{0, 1} {
			memory.Limit = func() float64 { return 3*10*bytes/0.8 - short }
			_, err := NewReplicas(g, []float64{0.1, 0.2, 0.1}, asm.Counter{})
			require.Equal(t, short > 0, err != nil, err)
		}
	}
	g := build(t, Hamiltonian{Spins: 1})
	config := Tempering{Sets: 2, BurnIn: 64, Rounds: 400, Every: 1}
	for _, short := range []float64{0, 1} {
		memory.Limit = func() float64 { return 2*20*64*2*400 - short }
		_, err := config.Run(t.Context(), g, func([]uint64) {})
		require.Equal(t, short > 0, err != nil, err)
	}
}

// TestExchangeAtInfiniteTemperature has one level, all of whose configurations are as likely.
func TestExchangeAtInfiniteTemperature(t *testing.T) {
	g := build(t, ring(6, 1))
	workers := pool.New(1)
	defer workers.Close()
	config := Tempering{Sets: 1, BurnIn: 64}
	e, err := config.Start(t.Context(), g, workers)
	require.NoError(t, err)
	require.Equal(t, []float64{0}, e.betas)
	require.EqualValues(t, 64, e.round)
	require.NoError(t, e.Advance(t.Context(), 3))
	require.EqualValues(t, 67, e.round)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.Advance(ended, 1), context.Canceled)
	require.EqualValues(t, 67, e.round)
	for _, beta := range []float64{0, 1} {
		config.Beta = beta
		_, err = config.Start(ended, g, workers)
		require.ErrorIs(t, err, context.Canceled)
		config := config
		config.Rounds, config.Every = 4, 1
		_, err = config.Run(ended, g, nil)
		require.ErrorIs(t, err, context.Canceled)
	}
	config.Beta = 1e9
	_, err = config.Start(t.Context(), g, workers)
	require.ErrorContains(t, err, "β·E reaches")
	config.Beta, config.Sets = 1, 0
	_, err = config.Start(t.Context(), g, workers)
	require.EqualError(t, err, "sets: 0 is not positive")

	good := Tempering{Beta: 1, Sets: 1, BurnIn: 1 << 30, Rounds: 1 << 30, Every: 1}
	require.NoError(t, good.Validate())
	least := Tempering{Sets: 1, BurnIn: 64, Rounds: 4, Every: 1}
	require.NoError(t, least.Validate())
	for want, change := range map[string]func(c *Tempering){
		"beta: +Inf": func(c *Tempering) { c.Beta = math.Inf(1) },
		"beta: NaN":  func(c *Tempering) { c.Beta = math.NaN() },
		"burn-in: 1073741825 rounds are not between 64, which choose a ladder, and 1073741824": func(c *Tempering) { c.BurnIn++ },
		"rounds: 1073741825 is not between 4 and 1073741824":                                   func(c *Tempering) { c.Rounds++ },
	} {
		c := good
		change(&c)
		require.ErrorContains(t, c.Validate(), want)
	}
}

// TestWaysOfTheHeatBath: equal strengths are sliced up to so many neighbours and kinds of spins.
func TestWaysOfTheHeatBath(t *testing.T) {
	star := func(leaves int) Hamiltonian {
		h := Hamiltonian{Spins: leaves + 1}
		for i := range leaves {
			h.Edges = append(h.Edges, Edge{0, i + 1, float64(1 - i%2*2)})
		}
		return h
	}
	require.NotNil(t, newHeatBath(build(t, star(15)), 0.5).tables)
	require.Nil(t, newHeatBath(build(t, star(16)), 0.5).tables)
	for kinds, sliced := range map[int]bool{1024: true, 1025: false} {
		h := ring(kinds, 1)
		for i := range kinds {
			h.Fields = append(h.Fields, float64(i))
		}
		heat := newHeatBath(build(t, h), 1e-3)
		require.Equal(t, sliced, heat.tables != nil)
		if !sliced {
			require.Nil(t, heat.kind)
			require.Nil(t, heat.wants)
		} else {
			require.Len(t, heat.tables, kinds)
		}
	}
	zero := ring(3, 0)
	require.Nil(t, newHeatBath(build(t, zero), 1).tables)
	require.Nil(t, newHeatBath(build(t, Hamiltonian{Spins: 3}), 1).tables)
	require.EqualValues(t, 1, threshold(0))
	require.EqualValues(t, 1<<32-1, threshold(1))
	require.EqualValues(t, 1<<31, threshold(0.5))
	require.EqualValues(t, 3, threshold(math.Ldexp(2.6, -32)))
}

// TestBoundsOfKernels: what is refused, up to the last value that is not.
func TestBoundsOfKernels(t *testing.T) {
	g := build(t, ring(6, 1))
	for _, beta := range []float64{-1, math.NaN(), 1e9} {
		_, err := NewMetropolis(g, beta, 0)
		require.Error(t, err)
		_, err = NewSweeper(g, beta)
		require.Error(t, err)
		_, err = NewReplicas(g, []float64{beta}, asm.Counter{})
		require.Error(t, err)
	}
	for _, global := range []float64{-1e-9, 1 + 1e-9, math.NaN()} {
		_, err := NewMetropolis(g, 1, global)
		require.EqualError(t, err, fmt.Sprintf("the probability of flipping all spins, %v, is not in [0, 1]", global))
	}
	m, err := NewMetropolis(g, 1, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1<<32, m.global)
	require.Equal(t, 1<<22, m.MaxSteps())
	require.Equal(t, 1, m.Together())
	batch := make([]uint64, 2)
	var st bitspin.Count
	run := func(k Kernel, lo, hi, steps int, first uint64) func() {
		return func() { k.Run(nil, batch, batch, lo, hi, steps, &asm.Counter{}, first, &st) }
	}
	require.NotPanics(t, run(m, 0, 2, 1, MaxSamples-2))
	require.NotPanics(t, run(m, 0, 0, 1<<22, MaxSamples))
	require.Equal(t, bitspin.Count{Proposed: 2, Accepted: 2}, st, "all flips are of all spins, at no cost")
	require.PanicsWithValue(t, "spins: 1 steps of samples 68719476735 to 68719476737 exceed a stream", run(m, 0, 2, 1, MaxSamples-1))
	require.PanicsWithValue(t, "spins: 4194305 steps of samples 0 to 2 exceed a stream", run(m, 0, 2, 1<<22+1, 0))
	require.PanicsWithValue(t, "spins: -1 steps of samples 0 to 2 exceed a stream", run(m, 0, 2, -1, 0))
	require.PanicsWithValue(t, "spins: 1 steps of samples 1 to 0 exceed a stream", run(m, 1, 0, 1, 0))

	s, err := NewSweeper(g, 1)
	require.NoError(t, err)
	require.Equal(t, Lanes, s.Together())
	require.EqualValues(t, 9, s.updates(1))
	require.EqualValues(t, 15, s.updates(2))
	require.Zero(t, s.updates(0))
	require.Equal(t, 1+(1<<22-9)/6, s.MaxSteps())
	free, err := NewSweeper(build(t, Hamiltonian{Spins: 5}), 1)
	require.NoError(t, err)
	require.EqualValues(t, 5, free.updates(2), "all of one colour")
	require.Equal(t, 1+1<<22-5, free.MaxSteps())
	require.NotPanics(t, run(s, 0, 2, 1, MaxSamples-Lanes))
	require.NotPanics(t, run(s, 0, 0, 1, MaxSamples))
	require.PanicsWithValue(t, "spins: sweeps of samples 68719476736 to 68719476738, not of blocks of 64 below 68719476736", run(s, 0, 2, 1, MaxSamples))
	require.PanicsWithValue(t, "spins: sweeps of samples 64 to 63, not of blocks of 64 below 68719476736", run(s, 1, 0, 1, 63))
	require.PanicsWithValue(t, "spins: -1 sweeps of 2 samples exceed a stream", run(s, 0, 2, -1, 0))
	require.PanicsWithValue(t, "spins: batch of 2 words for 3 configurations of 1 words", func() { g.Energies(make([]float64, 3), batch) })
	r, err := NewReplicas(g, []float64{1}, asm.Counter{})
	require.NoError(t, err)
	require.PanicsWithValue(t, "spins: batch of 2 words for 64 configurations of 1 words", func() { r.Configurations(batch, 0) })
	_, err = r.relevel([]float64{-1}, []int{0})
	require.ErrorContains(t, err, "is not a finite number ≥ 0")
}

// TestFieldsAreTabulatedAgain every so many sweeps, so that rounding errors do not add up.
func TestFieldsAreTabulatedAgain(t *testing.T) {
	g := build(t, sparse(10, 20, 1, normal))
	r, err := NewReplicas(g, []float64{0.5}, asm.Counter{Seed: 1})
	require.NoError(t, err)
	fields := r.groups[0].fields
	fields[0] += 1e-3 // as if by rounding
	exact := r.heat[0].newLanes()
	off := func() (most float64) {
		copy(exact.spins, r.groups[0].spins)
		r.heat[0].tabulate(exact)
		for i, f := range exact.fields {
			most = max(most, math.Abs(f-fields[i]))
		}
		return most
	}
	r.sweeps[0] = 254
	r.Sweep(0, 1, 2)
	require.InDelta(t, 1e-3, off(), 1e-9)
	require.EqualValues(t, 256, r.sweeps[0])
	r.Sweep(0, 1, 1)
	require.Less(t, off(), 1e-9)
}

// TestLargeTransferMatrices are refused by their widest frontier or by all numbers together.
func TestLargeTransferMatrices(t *testing.T) {
	_, err := NewTransfer(build(t, sherringtonKirkpatrick(MaxFrontier+1, 1)))
	require.NoError(t, err)
	_, err = NewTransfer(build(t, sherringtonKirkpatrick(MaxFrontier+2, 1)))
	require.EqualError(t, err, "the frontier of a transfer matrix is 23 spins; at most 22 can be")
	const wide, long = 19, 500
	h := Hamiltonian{Spins: wide * long}
	for i := range h.Spins {
		if i%wide+1 < wide {
			h.Edges = append(h.Edges, Edge{i, i + 1, 1})
		}
		if i+wide < h.Spins {
			h.Edges = append(h.Edges, Edge{i, i + wide, 1})
		}
	}
	_, err = NewTransfer(build(t, h))
	require.ErrorContains(t, err, "the transfer matrix of 9500 spins would take")
	require.ErrorContains(t, err, "more than the limit of 4.3e+09")
}

// TestNumbersInText: a text of one of the formats of lines begins with a header or numbers.
func TestNumbersInText(t *testing.T) {
	for text, want := range map[string]bool{
		"2 1\n1 2 x\n": true, "# a\n\n3 4 5e-1\n": true, "p qubo 0 1 1 0\n": true, "c note\np qubo\n": true,
		"": false, "# only this\n": false, "two words\n": false, "1 2 three\n": false, "1\n": false, "{": false, "c\n3 4\n": false,
	} {
		require.Equal(t, want, Numbers([]byte(text)), "%q", text)
	}
}
