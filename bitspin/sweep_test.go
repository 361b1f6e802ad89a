package bitspin

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/long"
)

// Exact energies per site of the periodic L×L lattice, h = 0, |J| = 1, by
// enumeration.
var enumerated = []struct {
	l            int
	beta, energy float64
}{
	{3, 0.4406867935, -1.6112463815},
	{4, 0.4406867935, -1.5656237876},
	{5, 0.4406867935, -1.5367195165},
	{3, 0.6, -1.9065580111},
	{4, 0.6, -1.9080695278},
}

// onsager returns the energy per site of the infinite lattice at coupling J = 1.
func onsager(beta float64) float64 {
	tanh := math.Tanh(2 * beta)
	kappa := 2 * math.Sinh(2*beta) / math.Pow(math.Cosh(2*beta), 2)
	// The complete elliptic integral by the arithmetic-geometric mean.
	a, g := 1.0, math.Sqrt(1-kappa*kappa)
	for range 40 {
		a, g = (a+g)/2, math.Sqrt(a*g)
	}
	k := math.Pi / (2 * a)
	return -1 / tanh * (1 + 2/math.Pi*(2*tanh*tanh-1)*k)
}

// sweeps are those of asm.Sweep on blocks of replicas of a model without a field.
type sweeps struct {
	Model
	*asm.Sweep
	stream     asm.Counter
	spins      []uint64
	generators []asm.Xoshiro // of the blocks
}

// newSweeps returns blocks of replicas in random configurations.
func newSweeps(model Model, beta float64, blocks int, seed uint64) *sweeps {
	cost := 4 * beta * math.Abs(model.J)
	s := &sweeps{
		Model: model, Sweep: asm.NewSweep(model.L, math.Exp(-cost), math.Exp(-2*cost), model.J < 0), stream: asm.Counter{Seed: seed},
		spins: make([]uint64, blocks*model.N*asm.ReplicaWords), generators: make([]asm.Xoshiro, blocks),
	}
	words, start := make([]uint32, 2*len(s.spins)), asm.Counter{Seed: seed, Step: math.MaxUint32}
	asm.PhiloxBlocks(words, &start, 0)
	for i := range s.spins {
		s.spins[i] = join(words[2*i+1], words[2*i])
	}
	for i := range s.generators {
		s.generators[i].Seed(&start, uint64(len(s.spins)+16*i))
	}
	return s
}

// independent performs n sweeps with a draw of its own for each site of each replica.
func (s *sweeps) independent(n int) {
	size := s.N * asm.ReplicaWords
	for i := range s.generators {
		for range n {
			s.Independent(s.spins[i*size:(i+1)*size], &s.generators[i])
		}
	}
}

// shared performs n sweeps with a draw for each site.
func (s *sweeps) shared(n int) {
	s.SharedSweeps(s.spins, &s.stream, n)
	s.stream.Step += uint32(n)
}

// batch returns all replicas.
func (s *sweeps) batch() []uint64 {
	blocks, each := len(s.generators), asm.ReplicaBits*s.Words
	batch := make([]uint64, blocks*each)
	for i := range blocks {
		part := batch[i*each:][:each]
		Rows(part, part, s.spins[i*s.N*asm.ReplicaWords:], s.N, asm.ReplicaWords)
	}
	return batch
}

// energyPerSite returns the mean over replicas and measurements of E/N, and with
// independent draws its standard error, from the averages of each replica over time.
func (s *sweeps) energyPerSite(sweep func(n int), burn, measurements, between int) (mean, deviation float64) {
	sweep(burn)
	average := make([]float64, len(s.generators)*asm.ReplicaBits)
	energies := make([]float64, len(average))
	for range measurements {
		sweep(between)
		s.Energies(energies, s.batch())
		for i, e := range energies {
			average[i] += e / float64(s.N*measurements)
		}
	}
	var sum, squares float64
	for _, e := range average {
		sum += e
		squares += e * e
	}
	n := float64(len(average))
	mean = sum / n
	return mean, math.Sqrt((squares/n - mean*mean) / (n - 1))
}

// The tests of statistics hold the mean of independent replicas within 5.5 of
// its standard errors: 4·10⁻⁸.
const sweepBound = 5.5

func TestSweepsAgainstEnumeration(t *testing.T) {
	long.SkipShort(t)
	for _, c := range enumerated {
		model := mustModel(t, c.l, 1, 0)
		s := newSweeps(model, c.beta, 16, 11)
		mean, deviation := s.energyPerSite(s.independent, 300, 60, 10)
		require.InDelta(t, c.energy, mean, sweepBound*deviation, "L = %d, β = %v", c.l, c.beta)
		require.Less(t, deviation, 0.002)
	}
	// On an even lattice, neighbours that want opposite spins have the same energies.
	model := mustModel(t, 4, -1, 0)
	s := newSweeps(model, enumerated[1].beta, 16, 12)
	mean, deviation := s.energyPerSite(s.independent, 300, 60, 10)
	require.InDelta(t, enumerated[1].energy, mean, sweepBound*deviation, "J = −1")
}

// With shared draws only different seeds are independent.
func TestSweepsWithSharedDraws(t *testing.T) {
	for _, c := range enumerated[:2] {
		const seeds = 40
		var sum, squares float64
		for seed := range uint64(seeds) {
			s := newSweeps(mustModel(t, c.l, 1, 0), c.beta, 1, seed)
			mean, _ := s.energyPerSite(s.shared, 200, 40, 5)
			sum += mean
			squares += mean * mean
		}
		mean := sum / seeds
		deviation := math.Sqrt((squares/seeds - mean*mean) / (seeds - 1))
		// 40 seeds: Student's t at 39 degrees of freedom exceeds 7.5 once in 2·10⁸.
		require.InDelta(t, c.energy, mean, 7.5*deviation, "L = %d", c.l)
	}
}

// All configurations occur, with their Boltzmann weights: a χ² test over
// independent replicas, those that start in patterns of stripes included.
func TestSweepsOccupyAll(t *testing.T) {
	long.SkipShort(t)
	for _, c := range []struct {
		l int
		j float64
	}{{2, 1}, {3, 1}, {3, -1}} {
		const beta = 0.1
		model := mustModel(t, c.l, c.j, 0)
		b := newSweeps(model, beta, 128, 14)
		b.independent(150)
		batch := b.batch()
		states := 1 << model.N
		counts, weights := make([]float64, states), make([]float64, states)
		for _, s := range batch {
			counts[s]++
		}
		var z, chi2 float64
		for s := range weights {
			weights[s] = math.Exp(-beta * model.Energy([]uint64{uint64(s)}))
			z += weights[s]
		}
		for s, w := range weights {
			want := w / z * float64(len(batch))
			require.Greater(t, want, 5.0)
			chi2 += (counts[s] - want) * (counts[s] - want) / want
		}
		// χ² to the power 1/3 is nearly normal (Wilson and Hilferty).
		n := float64(states - 1)
		deviations := (math.Cbrt(chi2/n) - (1 - 2/(9*n))) / math.Sqrt(2/(9*n))
		require.Less(t, deviations, 5.2, "L = %d, J = %v: χ² = %v of %v", c.l, c.j, chi2, n)
	}
}

// A lattice of alternating rows is left, although no flip costs energy there.
func TestSweepsLeaveStripes(t *testing.T) {
	for _, shared := range []bool{false, true} {
		b := newSweeps(mustModel(t, 4, 1, 0), 0.6, 1, 15)
		for i := range b.spins {
			b.spins[i] = -uint64(i / asm.ReplicaWords / 4 % 2)
		}
		if shared {
			b.shared(60)
		} else {
			b.independent(60)
		}
		left := 0
		for _, config := range b.batch() {
			if b.BondSum([]uint64{config}) > 0 {
				left++
			}
		}
		require.Greater(t, left, asm.ReplicaBits*9/10)
	}
}

// Above the critical temperature a lattice that is much larger than the
// correlation length has the energy of the infinite one.
func TestSweepsAgainstOnsager(t *testing.T) {
	const beta = 0.3
	require.InDelta(t, -math.Sqrt2, onsager(math.Log(1+math.Sqrt2)/2-1e-12), 1e-9) // critical point
	for _, l := range []int{32, 33} {
		s := newSweeps(mustModel(t, l, 1, 0), beta, 1, 13)
		mean, deviation := s.energyPerSite(s.independent, 100, 20, 10)
		require.InDelta(t, onsager(beta), mean, sweepBound*deviation, "L = %d", l)
		require.Less(t, deviation, 0.001)
	}
}
