package bitspin

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
)

// colourUpdate returns the transition matrix of one colour's update, row by row,
// with the probabilities as they were rounded.
func colourUpdate(s *Sweeper, colour int) []float64 {
	states := 1 << s.model.N
	k := make([]float64, states*states)
	sites := neighbourhoods(s.model.L, Colours(s.model.L)[colour])
	for from := range states {
		for outcome := range 1 << len(sites) {
			to, p := from, 1.0
			for i, site := range sites {
				count := 0
				for _, j := range site[1:] {
					count += from >> j & 1
				}
				up := s.heat.Probability(count)
				if outcome>>i&1 == 1 {
					to |= 1 << site[0]
					p *= up
				} else {
					to &^= 1 << site[0]
					p *= 1 - up
				}
			}
			k[from*states+to] = p
		}
	}
	return k
}

func product(a, b []float64, n int) []float64 {
	c := make([]float64, n*n)
	for i := range n {
		for k, x := range a[i*n : (i+1)*n] {
			if x == 0 {
				continue
			}
			for j, y := range b[k*n : (k+1)*n] {
				c[i*n+j] += x * y
			}
		}
	}
	return c
}

// sweepMatrix returns the transition matrix of a number of sweeps.
func sweepMatrix(s *Sweeper, sweeps int) (k []float64) {
	states := 1 << s.model.N
	var updates [][]float64
	for c := range s.colours {
		updates = append(updates, colourUpdate(s, c))
	}
	SweepOrder(len(updates), sweeps, func(colour int) {
		if k == nil {
			k = updates[colour]
		} else {
			k = product(k, updates[colour], states)
		}
	})
	return k
}

func boltzmann(model Model, beta float64) []float64 {
	pi := make([]float64, 1<<model.N)
	var z float64
	for s := range pi {
		pi[s] = math.Exp(-beta * model.Energy([]uint64{uint64(s)}))
		z += pi[s]
	}
	for s := range pi {
		pi[s] /= z
	}
	return pi
}

// asymmetry returns the largest |π(s)K(s, s′) − π(s′)K(s′, s)| by the largest of
// the two terms, of all pairs.
func asymmetry(pi, k []float64) (worst float64) {
	n := len(pi)
	for s := range n {
		for t := range s {
			x, y := pi[s]*k[s*n+t], pi[t]*k[t*n+s]
			if x != y {
				worst = max(worst, math.Abs(x-y)/max(x, y))
			}
		}
	}
	return worst
}

var sweepCases = []struct {
	l          int
	j, h, beta float64
}{{2, 1, 0, 0.3}, {2, -1, 0.4, 0.2}, {3, 1, 0, 0.5}, {3, -1, 0, 0.3}, {3, 1, -0.3, 0.2}}

// Sweeps satisfy detailed balance, pair by pair: by their order, as it is not so
// for a sweep in one direction.
func TestSweeperDetailedBalance(t *testing.T) {
	long.SkipShort(t)
	for _, c := range sweepCases {
		model := mustModel(t, c.l, c.j, c.h)
		s, err := NewSweeper(model, c.beta)
		require.NoError(t, err)
		pi, states := boltzmann(model, c.beta), 1<<model.N
		for sweeps := 1; sweeps <= 4-c.l; sweeps++ {
			k := sweepMatrix(s, sweeps)
			require.Less(t, asymmetry(pi, k), 1e-6, "%+v, %d sweeps", c, sweeps)
			for from := range states {
				var sum float64
				for _, p := range k[from*states : (from+1)*states] {
					sum += p
				}
				require.InDelta(t, 1, sum, 1e-12)
			}
		}
		oneWay := colourUpdate(s, 0)
		for colour := 1; colour < len(s.colours); colour++ {
			oneWay = product(oneWay, colourUpdate(s, colour), states)
		}
		require.Greater(t, asymmetry(pi, oneWay), 0.1, "%+v", c)
	}
}

// What Run does to one configuration has the law that its row of the matrix says:
// a χ² test.
func TestSweeperFollowsItsMatrix(t *testing.T) {
	long.SkipShort(t)
	for i, c := range sweepCases {
		model := mustModel(t, c.l, c.j, c.h)
		const beta, n = 0.1, 160*SweepBlock - 77
		s, err := NewSweeper(model, beta)
		require.NoError(t, err)
		states := 1 << model.N
		start := uint64(0b101100110) & (1<<model.N - 1)
		batch := make([]uint64, n)
		for i := range batch {
			batch[i] = start
		}
		var st Count
		s.Run(nil, batch, batch, 0, n, 1, &asm.Counter{Seed: uint64(i)}, 3*SweepBlock, &st)
		row := sweepMatrix(s, 1)[int(start)*states:][:states]
		counts := make([]float64, states)
		flips := 0
		for _, b := range batch {
			counts[b]++
			for x := b ^ start; x > 0; x &= x - 1 {
				flips++
			}
		}
		require.Equal(t, Count{uint64(n * model.N), uint64(flips)}, st)
		var chi2 float64
		for s, p := range row {
			require.Greater(t, n*p, 5.0)
			chi2 += (counts[s] - n*p) * (counts[s] - n*p) / (n * p)
		}
		// χ² to the power 1/3 is nearly normal (Wilson and Hilferty).
		freedom := float64(states - 1)
		deviations := (math.Cbrt(chi2/freedom) - (1 - 2/(9*freedom))) / math.Sqrt(2/(9*freedom))
		require.Less(t, math.Abs(deviations), 5.2, "%+v: χ² = %v of %v", c, chi2, freedom)
	}
}

// Equilibrium on lattices of several words, of two and of three colours.
func TestSweeperAgainstExactEnergies(t *testing.T) {
	for _, c := range []struct {
		l            int
		beta, energy float64
	}{{4, 0.4406867935, -1.5656237876}, {5, 0.4406867935, -1.5367195165}, {32, 0.3, onsager(0.3)}, {33, 0.3, onsager(0.3)}} {
		model := mustModel(t, c.l, 1, 0)
		s, err := NewSweeper(model, c.beta)
		require.NoError(t, err)
		blocks := 24
		if c.l > 5 {
			blocks = 1
		}
		n := blocks * SweepBlock
		batch := make([]uint64, n*model.Words)
		r := rand.New(rand.NewPCG(1, uint64(c.l)))
		for i := range batch {
			batch[i] = r.Uint64()
			if i%model.Words == model.Words-1 && model.N%64 != 0 {
				batch[i] &= 1<<(model.N%64) - 1
			}
		}
		var st Count
		s.Run(nil, batch, batch, 0, n, 150, &asm.Counter{Seed: 7}, 0, &st)
		var sum, squares float64
		for i := range n {
			e := model.Energy(batch[i*model.Words:(i+1)*model.Words]) / float64(model.N)
			sum += e
			squares += e * e
		}
		mean := sum / float64(n)
		deviation := math.Sqrt((squares/float64(n) - mean*mean) / float64(n-1))
		require.InDelta(t, c.energy, mean, sweepBound*deviation, "L = %d", c.l)
		require.Less(t, deviation, 0.01)
	}
}

// Without sweeps configurations are only laid out and packed again; blocks do
// not depend on each other, nor on where a batch is cut.
func TestSweeperBlocks(t *testing.T) {
	for _, l := range []int{2, 7, 8, 9, 12} {
		model := mustModel(t, l, 1, 0)
		s, err := NewSweeper(model, 0.4)
		require.NoError(t, err)
		const n = 2*SweepBlock + 100
		src := make([]uint64, n*model.Words)
		r := rand.New(rand.NewPCG(1, uint64(l)))
		for i := range src {
			src[i] = r.Uint64()
			if i%model.Words == model.Words-1 && model.N%64 != 0 {
				src[i] &= 1<<(model.N%64) - 1
			}
		}
		dst, parts := make([]uint64, len(src)), make([]uint64, len(src))
		c := &asm.Counter{Seed: 3, Step: 9}
		var st Count
		s.Run(nil, dst, src, 0, n, 0, c, 0, &st)
		require.Equal(t, src, dst)
		require.Zero(t, st.Accepted)
		s.Run(nil, dst, src, 0, n, 3, c, 0, &st)
		require.NotEqual(t, src, dst)
		s.Run(nil, parts, src, SweepBlock, n, 3, c, 0, &st)
		s.Run(nil, parts, src, 0, SweepBlock, 3, c, 0, &st)
		require.Equal(t, dst, parts)
		s.Run(nil, parts, src[SweepBlock*model.Words:], 0, SweepBlock, 3, c, SweepBlock, &st)
		require.Equal(t, dst[SweepBlock*model.Words:2*SweepBlock*model.Words], parts[:SweepBlock*model.Words])
		require.Zero(t, alloctest.PerRun(3, func() { s.Run(nil, dst, src, 0, n, 1, c, 0, &st) }))
		require.Panics(t, func() { s.Run(nil, dst, src, 1, n, 1, c, 0, &st) })
		require.Panics(t, func() { s.Run(nil, dst, src, 0, n, 1, c, MaxSamples-SweepBlock, &st) })
		require.Panics(t, func() { s.Run(nil, dst, src, 0, n, -1, c, 0, &st) })
	}
	_, err := NewSweeper(mustModel(t, 3, 1, 0), math.NaN())
	require.ErrorContains(t, err, "inverse temperature")
}

func BenchmarkSweeper(b *testing.B) {
	model := mustModel(b, 16, 1, 0)
	s, err := NewSweeper(model, 0.44)
	require.NoError(b, err)
	const n, sweeps = 1024, 16
	batch := make([]uint64, n*model.Words)
	var st Count
	for b.Loop() {
		s.Run(nil, batch, batch, 0, n, sweeps, &asm.Counter{}, 0, &st)
	}
	b.ReportMetric(float64(b.N)*n*sweeps*float64(model.N)/float64(b.Elapsed().Nanoseconds()), "flips/ns")
}
