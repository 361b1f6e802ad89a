package bitspin

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
)

// The tests of this file replay few steps by plain loops, bit by bit, so that they take a moment
// also where the tests of statistics are held back.

func randomBatch(lat *Lattice, samples int) (batch []uint64) {
	r := rand.New(rand.NewPCG(7, uint64(lat.L)))
	for range samples {
		batch = append(batch, randomConfig(r, lat)...)
	}
	return batch
}

// TestFewStepsAgainstReference: of every way to decode a proposal, beyond a strip of samples.
func TestFewStepsAgainstReference(t *testing.T) {
	const steps, first = 5, 1000
	for _, l := range []int{2, 5, 8, 9} {
		for _, set := range settings[2:5] {
			for _, p := range proposals(t) {
				model := mustModel(t, l, set.j, set.h)
				k := mustMetropolis(t, model, set.beta, p)
				c := &asm.Counter{Seed: uint64(l), Purpose: 8, Step: 5}
				batch := randomBatch(model.Lattice, stripSize+3)
				want, got := append([]uint64(nil), batch...), append([]uint64(nil), batch...)
				accepted := reference(k, set.beta, want, steps, c, first)
				var st Count
				k.Run(nil, got, batch, 0, stripSize+3, steps, c, first, &st)
				require.Equal(t, want, got, "L=%d %+v %v", l, set, p)
				require.Equal(t, Count{(stripSize + 3) * steps, accepted}, st, "L=%d %+v %v", l, set, p)
			}
		}
	}
}

// TestRejectedDrawsAreRepeated with the first word of the sample's retry blocks that is not
// rejected itself. Half of all words are, here.
func TestRejectedDrawsAreRepeated(t *testing.T) {
	const n, first, step, half = 40, 9, 3, 1 << 31
	c := &asm.Counter{Seed: 3, Purpose: 2, Step: 1}
	// drawn repeats a draw in [0, n) by one word of block 0 or of the retry blocks.
	drawn := func(sample uint64, n uint32, word int) uint32 {
		var words [4]uint32
		for block := 0; ; block++ {
			asm.PhiloxBlocks(words[:], c, blockIndex(sample, step, block))
			if product := uint64(words[word]) * uint64(n); product&math.MaxUint32 >= half {
				return uint32(product >> 32)
			}
		}
	}
	firstWords := func(sample uint64) (words [4]uint32) {
		asm.PhiloxBlocks(words[:], c, blockIndex(sample, step, 0))
		return words
	}
	for _, l := range []int{3, 5, 9} {
		lat := mustLattice(t, l)
		for _, proposal := range []Proposal{mustMixture(t, 0.25), MultiSpin()} {
			p := newProposer(lat, proposal)
			if p.decode == floyd {
				continue // reads on
			}
			p.sites.reject = half
			for i := range p.subsets {
				p.subsets[i].reject = half
			}
			masks := make([]uint64, n*lat.Words)
			p.propose(masks, c, first, step)
			for i := range uint64(n) {
				mask := masks[int(i)*lat.Words:][:lat.Words]
				at := drawn(first+i, uint32(lat.N), 0)
				want := make([]uint64, lat.Words)
				switch p.decode {
				case oneOrAll, byFlips:
					want[at/64] = 1 << (at % 64)
					if firstWords(first + i)[1] < 1<<30 {
						lat.fill(want)
					}
				case tabulated:
					rank := drawn(first+i, uint32(Choose(lat.N, int(at)+1)), 1)
					for m := range uint64(1) << lat.N {
						if bits.OnesCount64(m) != int(at)+1 {
							continue
						}
						if rank == 0 {
							want[0] = m
							break
						}
						rank--
					}
				}
				require.Equal(t, want, mask, "L = %d, %v, sample %d", l, proposal, i)
			}
		}
	}
}

// TestSweeperAsColourByColour: blocks of replicas, laid out by sites, redraw colour after colour
// from a generator of their own.
func TestSweeperAsColourByColour(t *testing.T) {
	const samples = SweepBlock + 70
	c := &asm.Counter{Seed: 8, Purpose: 1, Step: 3}
	for _, l := range []int{2, 5, 9} {
		model := mustModel(t, l, -0.8, 0.3)
		s, err := NewSweeper(model, 0.45)
		require.NoError(t, err)
		require.Equal(t, SweepBlock, s.BlockSize())
		require.Equal(t, math.MaxInt32, s.MaxSteps())
		for up := range 5 {
			field := model.J*float64(2*up-4) + model.H
			require.InDelta(t, 1/(1+math.Exp(-2*0.45*field)), s.heat.Probability(up), math.Ldexp(1, -32))
		}
		src := randomBatch(model.Lattice, samples)
		dst, want := make([]uint64, len(src)), append([]uint64(nil), src...)
		var st Count
		s.Run(nil, dst, src, 0, samples, 2, c, 4*SweepBlock, &st)
		var flipped uint64
		for block := range 2 {
			first := block * SweepBlock
			last := min(samples, first+SweepBlock)
			spins := make([]uint64, model.N*asm.ReplicaWords)
			for i := first; i < last; i++ {
				for site := range model.N {
					spins[site*asm.ReplicaWords+(i-first)/64] |= src[i*model.Words+site/64] >> (site % 64) & 1 << (i % 64)
				}
			}
			var g asm.Xoshiro
			g.Seed(c, uint64(4+block)*16)
			order := []int{0, 1, 0, 1, 0}
			if l%2 == 1 {
				order = []int{0, 1, 2, 1, 0, 1, 2, 1, 0}
			}
			for _, colour := range order {
				s.heat.Redraw(spins, s.colours[colour], &g)
			}
			for i := first; i < last; i++ {
				for site := range model.N {
					bit := spins[site*asm.ReplicaWords+(i-first)/64] >> (i % 64) & 1
					word := &want[i*model.Words+site/64]
					flipped += (*word>>(site%64) ^ bit) & 1
					*word = *word&^(1<<(site%64)) | bit<<(site%64)
				}
			}
		}
		require.Equal(t, want, dst, "L = %d", l)
		require.Equal(t, Count{uint64(samples * model.N), flipped}, st)
	}
}

// TestColoursPartLattice into sites that are no neighbours, each with its four neighbours.
func TestColoursPartLattice(t *testing.T) {
	for _, l := range []int{2, 3, 4, 5, 6, 9} {
		all := Colours(l)
		require.Len(t, all, 2+l%2)
		of := map[int]int{}
		for colour, sites := range all {
			for _, site := range sites {
				of[site] = colour
			}
		}
		require.Len(t, of, l*l)
		for _, sites := range all {
			for i, hood := range neighbourhoods(l, sites) {
				row, col := sites[i]/l, sites[i]%l
				require.EqualValues(t, sites[i], hood[0])
				require.Equal(t, [4]uint32{
					uint32((row+l-1)%l*l + col), uint32((row+1)%l*l + col), uint32(row*l + (col+l-1)%l), uint32(row*l + (col+1)%l),
				}, [4]uint32(hood[1:]))
				for _, neighbour := range hood[1:] {
					require.NotEqual(t, of[sites[i]], of[int(neighbour)], "L = %d", l)
				}
			}
		}
	}
	var order []int
	SweepOrder(3, 0, func(colour int) { order = append(order, colour) })
	require.Empty(t, order)
}

// TestLimitsOfKernels: what is refused, up to the last value that is not.
func TestLimitsOfKernels(t *testing.T) {
	for _, c := range []struct {
		beta, reach float64
		says        string
	}{
		{0, 1e300, ""},
		{1e9, 1, ""},
		{1.0001e9, 1, "β·E reaches 1e+09; β, J and h must keep it below 1e9"},
		{1e300, 1e300, "β·E reaches +Inf; β, J and h must keep it below 1e9"},
		{-1e-9, 1, "inverse temperature β = -1e-09 is not a finite number ≥ 0"},
		{math.Inf(1), 0, "inverse temperature β = +Inf is not a finite number ≥ 0"},
	} {
		err := CheckTemperature(c.beta, c.reach)
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.says)
		}
	}
	require.Equal(t, 9*(4*1.5+2*0.25), mustModel(t, 3, -1.5, -0.25).EnergyRange())
	_, err := NewSweeper(mustModel(t, 3, 1, 0), 1e9/36)
	require.NoError(t, err)
	_, err = NewSweeper(mustModel(t, 3, 1, 0), 1e9/35)
	require.Error(t, err)
	_, err = NewLattice(MaxSide)
	require.NoError(t, err)
	_, err = NewLattice(MaxSide + 1)
	require.EqualError(t, err, "lattice side 1025 is outside 2 to 1024")
	_, err = Mixture(1)
	require.EqualError(t, err, "probability of the global flip 1 is not in [0, 1)")
	_, err = Mixture(math.Nextafter(1, 0))
	require.Error(t, err, "as it is rounded to 1")
	p, err := Mixture(1 - math.Ldexp(1, -32))
	require.NoError(t, err)
	require.EqualValues(t, math.MaxUint32, p.global)

	model := mustModel(t, 3, 1, 0)
	k := mustMetropolis(t, model, 0.2, SingleSpin())
	require.Equal(t, 1, k.BlockSize())
	require.Equal(t, 1<<22, k.MaxSteps())
	require.Equal(t, 1<<22, mustMetropolis(t, mustModel(t, 9, 1, 0), 0.2, MultiSpin()).MaxSteps(), "64 blocks hold a step")
	batch := make([]uint64, 2)
	run := func(hi int, first uint64, steps int) func() {
		return func() { k.Run(nil, batch, batch, 0, hi, steps, &asm.Counter{}, first, new(Count)) }
	}
	require.PanicsWithValue(t, "bitspin: samples 68719476735 to 68719476737 exceed the 68719476736 of a stream", run(2, MaxSamples-1, 1))
	require.PanicsWithValue(t, "bitspin: samples 0 to 18446744073709551615 exceed the 68719476736 of a stream", run(-1, 0, 1))
	require.PanicsWithValue(t, "bitspin: 4194305 steps exceed the 4194304 of a stream", run(1, 0, 1<<22+1))
	require.NotPanics(t, run(0, 0, 1<<22))
	require.NotPanics(t, run(2, MaxSamples-2, 1))
	require.PanicsWithValue(t, "bitspin: 10 values are no whole number of configurations of 9 spins", func() {
		Pack(batch, make([]float32, 10), 9)
	})

	s, err := NewSweeper(model, 0.2)
	require.NoError(t, err)
	sweep := func(hi int, first uint64, sweeps int) func() {
		return func() { s.Run(nil, batch, batch, 0, hi, sweeps, &asm.Counter{}, first, new(Count)) }
	}
	require.NotPanics(t, sweep(2, MaxSamples-SweepBlock, 1))
	require.NotPanics(t, sweep(0, MaxSamples, 1))
	require.PanicsWithValue(t, "bitspin: sweeps of samples 68719476736 to 68719476738, not of blocks of 512 below 68719476736", sweep(2, MaxSamples, 1))
	require.PanicsWithValue(t, "bitspin: -1 sweeps", sweep(2, 0, -1))
	require.PanicsWithValue(t, "bitspin: sweeps of samples 3 to 5, not of blocks of 512 below 68719476736", sweep(2, 3, 1))
}
