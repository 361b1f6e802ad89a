package spins

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
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
	none, err := NewTransition[uint64](c, training, 0, nil, 1, nil)
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

	limited := func(steps int) stepsOf { return stepsOf{Boltzmann{g, 1}, steps} }
	for want, c := range map[string]TransitionConfig{
		"": {Steps: 100, Anneal: 1, AnnealFrom: 1}, "transition.steps: 0 ": {}, "transition.steps: 101 ": {Steps: 101},
		"transition.anneal: ": {Steps: 1, Anneal: 1.1}, "transition.anneal_from: ": {Steps: 1, AnnealFrom: -0.1},
	} {
		c.Proposal = "single"
		if err := c.ValidateFor(limited(100)); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	require.NoError(t, (&TransitionConfig{Proposal: "single", Steps: 1 << 16}).ValidateFor(limited(math.MaxInt32)))
	require.Error(t, (&TransitionConfig{Proposal: "single", Steps: 1<<16 + 1}).ValidateFor(limited(math.MaxInt32)))
}

// stepsOf is a target whose kernels have random numbers for so many steps.
type stepsOf struct {
	Boltzmann
	most int
}

func (t stepsOf) Kernel(c *TransitionConfig, fraction float64) (Kernel, error) {
	k, err := t.Boltzmann.Kernel(c, fraction)
	return fewSteps{k, t.most}, err
}

type fewSteps struct {
	Kernel
	most int
}

func (k fewSteps) MaxSteps() int { return k.most }

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
			require.Nil(t, heat.tableOf)
			require.Nil(t, heat.negative)
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
	}
	for _, global := range []float64{-1e-9, 1 + 1e-9, math.NaN()} {
		_, err := NewMetropolis(g, 1, global)
		require.EqualError(t, err, fmt.Sprintf("the probability of flipping all spins, %v, is not in [0, 1]", global))
	}
	m, err := NewMetropolis(g, 1, 1)
	require.NoError(t, err)
	require.Equal(t, 1<<22, m.MaxSteps())
	require.Equal(t, 1, m.BlockSize())
	batch := make([]uint64, 2)
	var st bitspin.Count
	run := func(k Kernel, lo, hi, steps int, first uint64) func() {
		return func() { k.Run(nil, batch, batch, lo, hi, steps, &asm.Counter{}, first, &st) }
	}
	require.NotPanics(t, run(m, 0, 2, 1, MaxSamples-2))
	require.NotPanics(t, run(m, 0, 0, 1<<22, MaxSamples))
	require.Equal(t, bitspin.Count{Proposed: 2, Accepted: 2}, st, "all flips are of all spins, at no cost")
	require.PanicsWithValue(t, "bitspin: samples 68719476735 to 68719476737 exceed the 68719476736 of a stream", run(m, 0, 2, 1, MaxSamples-1))
	require.PanicsWithValue(t, "bitspin: 4194305 steps exceed the 4194304 of a stream", run(m, 0, 2, 1<<22+1, 0))
	require.PanicsWithValue(t, "bitspin: -1 steps exceed the 4194304 of a stream", run(m, 0, 2, -1, 0))
	require.PanicsWithValue(t, "bitspin: samples 1 to 0 exceed the 68719476736 of a stream", run(m, 1, 0, 1, 0))

	s, err := NewSweeper(g, 1)
	require.NoError(t, err)
	require.Equal(t, Lanes, s.BlockSize())
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
}

// TestFieldsAreTabulatedAgain every so many sweeps, so that rounding errors do not add up.
func TestFieldsAreTabulatedAgain(t *testing.T) {
	g := build(t, sparse(10, 20, 1, normal))
	h := hold(t, g, 0.5, 3, 1)
	fields := h.lanes[0].fields
	fields[0] += 1e-3 // as if by rounding
	exact := h.heat.newLanes()
	off := func() (most float64) {
		copy(exact.spins, h.lanes[0].spins)
		h.heat.tabulate(exact)
		for i, f := range exact.fields {
			most = max(most, math.Abs(f-fields[i]))
		}
		return most
	}
	energies := make([]float64, 3)
	for step := uint32(254); step < 256; step++ {
		h.Advance(energies, 0, 3, &asm.Counter{Seed: 1, Step: step}, 0)
	}
	require.InDelta(t, 1e-3, off(), 1e-9)
	h.Advance(energies, 0, 3, &asm.Counter{Seed: 1, Step: 256}, 0)
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
