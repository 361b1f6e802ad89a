package bitspin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
)

func mustMetropolis(t testing.TB, m Model, beta float64, p Proposal) *Metropolis {
	k, err := NewMetropolis(m, beta, p)
	require.NoError(t, err)
	return k
}

// settings are models whose acceptance exercises every table.
var settings = []struct{ beta, j, h float64 }{
	{0.2, 1, 0}, {0.5, 1, 0}, {0.4, -1, 0}, {0.3, 1, 0.35}, {0.6, -0.7, -0.2}, {0, 1, 1},
}

// TestAgainstTransitionMatrix compares where samples go from a configuration
// with the row of the transition matrix, computed from sums over bonds.
func TestAgainstTransitionMatrix(t *testing.T) {
	long.SkipShort(t)
	const samples = 200000
	for _, set := range settings {
		for _, p := range proposals(t) {
			t.Run(fmt.Sprintf("%+v/%v", set, p), func(t *testing.T) {
				k := mustMetropolis(t, mustModel(t, 3, set.j, set.h), set.beta, p)
				for i, s := range []uint64{0, 0b000010011, 0b101110010} {
					batch, counts := make([]uint64, samples), make([]int, 512)
					for i := range batch {
						batch[i] = s
					}
					var st Count
					k.Run(nil, batch, batch, 0, samples, 1, &asm.Counter{Seed: 21, Step: uint32(i)}, 0, &st)
					for _, x := range batch {
						counts[x]++
					}
					require.Greater(t, rowPValue(set.beta, set.j, set.h, p, s, counts), significance)
					require.EqualValues(t, samples, st.Proposed)
					require.EqualValues(t, samples-counts[s], st.Accepted)
				}
			})
		}
	}
}

func rowPValue(beta, j, h float64, p Proposal, s uint64, counts []int) float64 {
	energy := func(s uint64) float64 {
		n := unpackNaive(3, []uint64{s})
		return -j*float64(n.bondSum()) - h*float64(n.magnetisation())
	}
	total := 0
	for _, c := range counts {
		total += c
	}
	expected := make([]float64, 512)
	stay := 1.0
	for mask := uint64(1); mask < 512; mask++ {
		q := p.Probability(9, []uint64{mask}) * min(1, math.Exp(-beta*(energy(s^mask)-energy(s))))
		expected[s^mask] = q * float64(total)
		stay -= q
	}
	if stay > 1e-12 {
		expected[s] = stay * float64(total)
	}
	return chiSquare(counts, expected)
}

// TestAgainstReference replays the draws with naive energies and exp: every
// size, proposal, sign of J and field must give the same bits.
func TestAgainstReference(t *testing.T) {
	long.SkipShort(t)
	const samples, steps = 70, 12
	for _, l := range []int{2, 3, 4, 5, 7, 8, 9, 11, 12} {
		for _, set := range settings {
			for _, p := range proposals(t) {
				model := mustModel(t, l, set.j, set.h)
				k := mustMetropolis(t, model, set.beta, p)
				c := &asm.Counter{Seed: uint64(l), Purpose: 8, Step: 5}
				r := rand.New(rand.NewPCG(3, uint64(l)))
				var batch []uint64
				for range samples {
					batch = append(batch, randomConfig(r, model.Lattice)...)
				}
				want := append([]uint64(nil), batch...)
				got := append([]uint64(nil), batch...)
				accepted := reference(k, set.beta, want, steps, c, 1000)
				var st Count
				k.Run(nil, got, batch, 0, samples, steps, c, 1000, &st)
				require.Equal(t, want, got, "L=%d %+v %v", l, set, p)
				require.Equal(t, Count{samples * steps, accepted}, st, "L=%d %+v %v", l, set, p)
			}
		}
	}
}

func reference(k *Metropolis, beta float64, batch []uint64, steps int, c *asm.Counter, first uint64) (accepted uint64) {
	words := k.model.Words
	for i := range len(batch) / words {
		s := batch[i*words:][:words]
		for step := range steps {
			mask := make([]uint64, words)
			k.proposer.propose(mask, c, first+uint64(i), step)
			before := unpackNaive(k.model.L, s)
			after := before.flipped(mask)
			delta := k.model.EnergyOf(after.bondSum()-before.bondSum(), after.magnetisation()-before.magnetisation())
			if float64(acceptanceWords(k.proposer, c, first+uint64(i), step))/(1<<64) < math.Exp(-beta*delta) {
				accepted++
				for w := range s {
					s[w] ^= mask[w]
				}
			}
		}
	}
	return accepted
}

// acceptanceWords returns the number that decides a step's acceptance.
func acceptanceWords(p *proposer, c *asm.Counter, sample uint64, step int) uint64 {
	if p.decode == floyd {
		r := p.read(make([]uint64, p.lattice.Words), c, sample, step)
		hi := r.word()
		return join(hi, r.word())
	}
	var words [4]uint32
	asm.PhiloxBlocks(words[:], c, blockIndex(sample, step, 0))
	return join(words[2], words[3])
}

func TestRunDoesNotDependOnTheSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model, err := NewModel(rapid.SampledFrom([]int{2, 3, 4, 6, 8, 9, 12}).Draw(t, "L"), 1, rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "h"))
		require.NoError(t, err)
		p, err := ParseProposal(rapid.SampledFrom(proposalNames).Draw(t, "proposal"), 0.2)
		require.NoError(t, err)
		k, err := NewMetropolis(model, 0.4, p)
		require.NoError(t, err)
		const samples = 150
		src := rapid.SliceOfN(rapid.Uint64(), samples*model.Words, samples*model.Words).Draw(t, "batch")
		for i := range samples {
			src[(i+1)*model.Words-1] &= model.lastWord
		}
		c := &asm.Counter{Seed: rapid.Uint64().Draw(t, "seed")}
		whole, parts := make([]uint64, len(src)), append([]uint64(nil), src...)
		var a, b Count
		k.Run(nil, whole, src, 0, samples, 3, c, 9, &a)
		for lo := 0; lo < samples; {
			hi := rapid.IntRange(lo+1, samples).Draw(t, "hi")
			var st Count
			k.Run(nil, parts, parts, lo, hi, 3, c, 9, &st)
			b.Add(st)
			lo = hi
		}
		require.Equal(t, whole, parts)
		require.Equal(t, a, b)
	})
}

// TestRunIsHalted in the middle of its steps, of every kind of proposal and of sweeps.
func TestRunIsHalted(t *testing.T) {
	halts := func(run func(halted func() bool, samples int)) {
		asked := 0
		run(func() bool { asked++; return asked > 100 }, 3*SweepBlock)
		require.Equal(t, 101, asked)
	}
	for _, l := range []int{3, 6, 9} {
		model := mustModel(t, l, 1, 0)
		batch := make([]uint64, 3*SweepBlock*model.Words)
		for _, name := range proposalNames {
			p, err := ParseProposal(name, 0.2)
			require.NoError(t, err)
			k := mustMetropolis(t, model, 0.4, p)
			halts(func(halted func() bool, samples int) {
				k.Run(halted, batch, batch, 0, samples, min(k.MaxSteps(), 1<<20), &asm.Counter{}, 0, new(Count))
			})
		}
		s, err := NewSweeper(model, 0.4)
		require.NoError(t, err)
		halts(func(halted func() bool, samples int) {
			s.Run(halted, batch, batch, 0, samples, 1<<20, &asm.Counter{}, 0, new(Count))
		})
	}
}

func TestRunTouchesOnlyItsRange(t *testing.T) {
	k := mustMetropolis(t, mustModel(t, 9, 1, 0), 0.1, SingleSpin())
	dst := make([]uint64, 20)
	for i := range dst {
		dst[i] = 77
	}
	k.Run(nil, dst, make([]uint64, 20), 3, 5, 1, &asm.Counter{}, 0, new(Count))
	for i, w := range dst {
		if i < 6 || i >= 10 {
			require.EqualValues(t, 77, w)
		}
	}
}

// TestGlobalFlips holds the mixture's flips of all spins against their probability. Without a
// field they are accepted with certainty, and at low temperatures no other flip is.
func TestGlobalFlips(t *testing.T) {
	for _, l := range []int{3, 9} {
		k := mustMetropolis(t, mustModel(t, l, 1, 0), 5, mustMixture(t, 0.1))
		batch := make([]uint64, 5000*k.model.Words)
		var st Count
		k.Run(nil, batch, batch, 0, 5000, 20, &asm.Counter{Seed: 4}, 0, &st)
		require.EqualValues(t, 100000, st.Proposed)
		require.InDelta(t, 10000, float64(st.Accepted), 5*math.Sqrt(9000))
		for i := range 5000 {
			require.EqualValues(t, k.model.N, max(k.model.Magnetisation(batch[i*k.model.Words:]), -k.model.Magnetisation(batch[i*k.model.Words:])))
		}
	}
	require.Zero(t, Count{}.Rate())
}

// TestAcceptanceTables holds both forms of the thresholds against math.Exp.
func TestAcceptanceTables(t *testing.T) {
	for _, l := range []int{2, 3, 8, 9, 16} {
		for _, set := range settings {
			model := mustModel(t, l, set.j, set.h)
			a := newAcceptance(model, set.beta)
			r := rand.New(rand.NewPCG(5, 0))
			for i := range 2000 {
				b, m := r.IntN(2*model.N+1)-model.N, r.IntN(2*model.N+1)-model.N
				if i < 15 {
					b, m = i%5-2, i/5-1 // flips of single spins
				}
				x := -set.beta * model.EnergyOf(4*b, 2*m)
				got := a.compute(b, m)
				switch {
				case a.table != nil:
					require.Equal(t, a.table[a.origin+b+a.row*m], got)
				case i < 15:
					require.Equal(t, a.oneFlip[b+2][m+1], got)
				}
				if x >= 1e-12 {
					require.EqualValues(t, uint64(math.MaxUint64), got)
					continue
				}
				want := math.Exp(x)
				require.InDelta(t, want, float64(got)/(1<<64), 1e-12*want+math.Ldexp(1, -63))
			}
		}
	}
}

// TestAcceptanceFarApart: differences of bonds and of the field that cancel, and such as float64
// has no weight for.
func TestAcceptanceFarApart(t *testing.T) {
	for _, l := range []int{8, 9} {
		model := mustModel(t, l, 250, 499.9995)
		a := newAcceptance(model, 1000)
		require.InEpsilon(t, math.Exp(-1), float64(a.compute(-1, 1))/(1<<64), 1e-9)
		require.Zero(t, a.compute(-1, 0))
		require.EqualValues(t, uint64(math.MaxUint64), a.compute(1, 0))
		require.EqualValues(t, uint64(math.MaxUint64), a.compute(model.N, -1))
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	for _, l := range []int{3, 4, 5, 9} {
		for _, p := range proposals(t) {
			k := mustMetropolis(t, mustModel(t, l, 1, 0.1), 0.4, p)
			batch := make([]uint64, 100*k.model.Words)
			c, st := &asm.Counter{}, new(Count)
			require.Zero(t, alloctest.PerRun(20, func() {
				k.Run(nil, batch, batch, 0, 100, 3, c, 0, st)
			}), "L=%d %v", l, p)
		}
	}
}

func TestBadMetropolis(t *testing.T) {
	m := mustModel(t, 3, 1, 0)
	for _, beta := range []float64{nan(), -0.1, 1 / zero(), 1e300} {
		_, err := NewMetropolis(m, beta, MultiSpin())
		require.Error(t, err, "β = %v", beta)
	}
	k := mustMetropolis(t, m, 0.2, MultiSpin())
	batch := make([]uint64, 2)
	run := func(first uint64, steps int) func() {
		return func() { k.Run(nil, batch, batch, 0, 2, steps, &asm.Counter{}, first, new(Count)) }
	}
	require.Panics(t, run(MaxSamples-1, 1))
	require.Panics(t, run(0, k.proposer.MaxSteps()+1))
	require.Panics(t, run(0, -1))
	require.NotPanics(t, run(MaxSamples-2, 0))
	wide := newProposer(mustLattice(t, 64), MultiSpin())
	require.GreaterOrEqual(t, wide.MaxSteps(), 1<<16)
}
