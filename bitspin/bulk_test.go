package bitspin

import (
	"fmt"
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

// sums returns the bond sum and the magnetisation of each replica.
func sums(b *Bulk) (bonds, magnetisations []int) {
	batch := make([]uint64, b.Replicas()*b.Words)
	b.Configurations(batch)
	for ; len(batch) > 0; batch = batch[b.Words:] {
		bonds, magnetisations = append(bonds, b.BondSum(batch[:b.Words])), append(magnetisations, b.Magnetisation(batch[:b.Words]))
	}
	return bonds, magnetisations
}

// energyPerSite runs one Bulk and returns the mean over replicas and
// measurements of E/N, and with independent draws its standard error, from the
// averages of each replica over time.
func energyPerSite(t *testing.T, b *Bulk, burn, measurements, between int) (mean, deviation float64) {
	t.Helper()
	return energyBySweeps(b, func(n int) { b.Sweep(0, b.Blocks(), n) }, burn, measurements, between)
}

func energyBySweeps(b *Bulk, sweep func(n int), burn, measurements, between int) (mean, deviation float64) {
	sweep(burn)
	average := make([]float64, b.Replicas())
	for range measurements {
		sweep(between)
		bonds, _ := sums(b)
		for i, sum := range bonds {
			average[i] += b.EnergyOf(sum, 0) / float64(b.N*measurements)
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
const bulkBound = 5.5

func TestBulkAgainstEnumeration(t *testing.T) {
	long.SkipShort(t)
	for _, c := range enumerated {
		model := mustModel(t, c.l, 1, 0)
		b, err := NewBulk(model, c.beta, 16*BulkReplicas, asm.Counter{Seed: 11})
		require.NoError(t, err)
		mean, deviation := energyPerSite(t, b, 300, 60, 10)
		require.InDelta(t, c.energy, mean, bulkBound*deviation, "L = %d, β = %v", c.l, c.beta)
		require.Less(t, deviation, 0.002)
	}
	// On an even lattice, neighbours that want opposite spins have the same energies.
	model := mustModel(t, 4, -1, 0)
	b, err := NewBulk(model, enumerated[1].beta, 16*BulkReplicas, asm.Counter{Seed: 12})
	require.NoError(t, err)
	mean, deviation := energyPerSite(t, b, 300, 60, 10)
	require.InDelta(t, enumerated[1].energy, mean, bulkBound*deviation, "J = −1")
}

// withSharedDraws returns sweeps of a Bulk's replicas by asm.Sweep's shared draws.
func withSharedDraws(b *Bulk) func(n int) {
	cost := 4 * b.Beta * math.Abs(b.J)
	shared, c := asm.NewSweep(b.L, math.Exp(-cost), math.Exp(-2*cost), b.J < 0), b.stream
	c.Step = 0
	return func(n int) {
		shared.SharedSweeps(b.spins, &c, n)
		c.Step += uint32(n)
	}
}

// With shared draws only different seeds are independent.
func TestSharedDraws(t *testing.T) {
	for _, c := range enumerated[:2] {
		const seeds = 40
		var sum, squares float64
		for seed := range uint64(seeds) {
			b, err := NewBulk(mustModel(t, c.l, 1, 0), c.beta, BulkReplicas, asm.Counter{Seed: seed})
			require.NoError(t, err)
			mean, _ := energyBySweeps(b, withSharedDraws(b), 200, 40, 5)
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
func TestBulkOccupations(t *testing.T) {
	long.SkipShort(t)
	for _, c := range []struct {
		l          int
		j, h, beta float64
	}{{2, 1, 0, 0.1}, {3, 1, 0, 0.1}, {3, -1, 0, 0.1}, {2, 1, -0.5, 0.2}, {3, 1, 0.7, 0.1}, {3, -1, -1, 0.1}, {3, 0, 2, 0.1}} {
		model := mustModel(t, c.l, c.j, c.h)
		b, err := NewBulk(model, c.beta, 128*BulkReplicas, asm.Counter{Seed: 14})
		require.NoError(t, err)
		b.Sweep(0, b.Blocks(), 150)
		batch := make([]uint64, b.Replicas())
		b.Configurations(batch)
		states := 1 << model.N
		counts, weights := make([]float64, states), make([]float64, states)
		for _, s := range batch {
			counts[s]++
		}
		var z, chi2 float64
		for s := range weights {
			weights[s] = math.Exp(-c.beta * model.Energy([]uint64{uint64(s)}))
			z += weights[s]
		}
		for s, w := range weights {
			want := w / z * float64(b.Replicas())
			require.Greater(t, want, 5.0)
			chi2 += (counts[s] - want) * (counts[s] - want) / want
		}
		// χ² to the power 1/3 is nearly normal (Wilson and Hilferty).
		n := float64(states - 1)
		deviations := (math.Cbrt(chi2/n) - (1 - 2/(9*n))) / math.Sqrt(2/(9*n))
		require.Less(t, deviations, 5.2, "L = %d, J = %v, h = %v: χ² = %v of %v", c.l, c.j, c.h, chi2, n)
	}
}

// A lattice of alternating rows is left, although no flip costs energy there.
func TestBulkLeavesStripes(t *testing.T) {
	for _, shared := range []bool{false, true} {
		b, err := NewBulk(mustModel(t, 4, 1, 0), 0.6, BulkReplicas, asm.Counter{Seed: 15})
		require.NoError(t, err)
		for i := range b.spins {
			b.spins[i] = -uint64(i / asm.ReplicaWords / 4 % 2)
		}
		if shared {
			withSharedDraws(b)(60)
		} else {
			b.Sweep(0, 1, 60)
		}
		left := 0
		bonds, _ := sums(b)
		for _, sum := range bonds {
			if sum > 0 {
				left++
			}
		}
		require.Greater(t, left, BulkReplicas*9/10)
	}
}

// Above the critical temperature a lattice that is much larger than the
// correlation length has the energy of the infinite one.
func TestBulkAgainstOnsager(t *testing.T) {
	const beta = 0.3
	require.InDelta(t, -math.Sqrt2, onsager(math.Log(1+math.Sqrt2)/2-1e-12), 1e-9) // critical point
	for _, l := range []int{32, 33} {
		b, err := NewBulk(mustModel(t, l, 1, 0), beta, BulkReplicas, asm.Counter{Seed: 13})
		require.NoError(t, err)
		mean, deviation := energyPerSite(t, b, 100, 20, 10)
		require.InDelta(t, onsager(beta), mean, bulkBound*deviation, "L = %d", l)
		require.Less(t, deviation, 0.001)
	}
}

func TestBulkConfigurations(t *testing.T) {
	for _, l := range []int{2, 5, 8, 9, 12} {
		model := mustModel(t, l, 1, 0)
		b, err := NewBulk(model, 0.4, 2*BulkReplicas, asm.Counter{Seed: uint64(l)})
		require.NoError(t, err)
		b.Sweep(0, 2, 3)
		batch := make([]uint64, b.Replicas()*b.Words)
		b.Configurations(batch)
		for i := range b.Replicas() {
			config := batch[i*b.Words : (i+1)*b.Words]
			for site := range b.N {
				bit := b.block(i / BulkReplicas)[site*asm.ReplicaWords+i%BulkReplicas/64] >> (i % 64) & 1
				require.Equal(t, bit, config[site/64]>>(site%64)&1)
			}
		}
	}
}

// How blocks are shared out among goroutines does not matter.
func TestBulkBlocksAreIndependent(t *testing.T) {
	for _, h := range []float64{0, 0.2} {
		var want []uint64
		for _, parts := range [][]int{{0, 3}, {0, 1, 3}, {0, 1, 2, 3}} {
			b, err := NewBulk(mustModel(t, 6, 1, h), 0.4, 3*BulkReplicas, asm.Counter{Seed: 1})
			require.NoError(t, err)
			for i := len(parts) - 2; i >= 0; i-- {
				b.Sweep(parts[i], parts[i+1], 2)
				b.Sweep(parts[i], parts[i+1], 1)
			}
			if want == nil {
				want = b.spins
			}
			require.Equal(t, want, b.spins)
		}
	}
}

func TestBulkRefuses(t *testing.T) {
	model := mustModel(t, 4, 1, 0)
	for _, c := range []struct {
		model    Model
		beta     float64
		replicas int
		says     string
	}{
		{model, nan(), BulkReplicas, "inverse temperature"},
		{model, -1, BulkReplicas, "inverse temperature"},
		{model, 0.4, 100, "multiple of 512"},
		{model, 0.4, 0, "multiple of 512"},
		{model, math.Inf(1), BulkReplicas, "inverse temperature +Inf is not a finite number of at least 0"},
		{model, 0.4, -BulkReplicas, "number of replicas -512 is not a positive multiple of 512"},
		{model, 0.4, BulkReplicas + 1, "number of replicas 513 is not a positive multiple of 512"},
	} {
		_, err := NewBulk(c.model, c.beta, c.replicas, asm.Counter{})
		require.ErrorContains(t, err, c.says)
	}
	b, err := NewBulk(model, 0, 2*BulkReplicas, asm.Counter{})
	require.NoError(t, err)
	require.Equal(t, 2, b.Blocks())
}

func BenchmarkBulk(b *testing.B) {
	for _, l := range []int{64, 256, 1024} {
		b.Run(fmt.Sprintf("L=%d", l), func(b *testing.B) {
			bulk, err := NewBulk(mustModel(b, l, 1, 0), 0.44, BulkReplicas, asm.Counter{})
			require.NoError(b, err)
			bulk.Sweep(0, 1, 5)
			for b.Loop() {
				bulk.Sweep(0, 1, 1)
			}
			b.ReportMetric(float64(b.N)*float64(bulk.N)*BulkReplicas/float64(b.Elapsed().Nanoseconds()), "flips/ns")
		})
	}
}

func ExampleBulk() {
	model, err := NewModel(64, 1, 0)
	if err != nil {
		panic(err)
	}
	b, err := NewBulk(model, 0.3, BulkReplicas, asm.Counter{Seed: 1})
	if err != nil {
		panic(err)
	}
	b.Sweep(0, b.Blocks(), 100)
	energies, batch := make([]float64, b.Replicas()), make([]uint64, b.Replicas()*b.Words)
	b.Configurations(batch)
	b.Energies(energies, batch)
	var energy float64
	for _, e := range energies {
		energy += e / float64(b.N*b.Replicas())
	}
	fmt.Printf("%d replicas, energy per site %.3f, exact %.3f\n", b.Replicas(), energy, onsager(b.Beta))
	// Output: 512 replicas, energy per site -0.704, exact -0.704
}

func TestBulkAlign(t *testing.T) {
	b, err := NewBulk(mustModel(t, 9, 1, 0), 0.4, 2*BulkReplicas, asm.Counter{Seed: 1})
	require.NoError(t, err)
	b.Align()
	_, m := sums(b)
	for _, m := range m {
		require.Equal(t, 81, m)
	}
	b, err = NewBulk(mustModel(t, 9, 1, -0.1), 0.4, BulkReplicas, asm.Counter{Seed: 1})
	require.NoError(t, err)
	b.Align()
	_, m = sums(b)
	require.Equal(t, -81, m[7])
}

// In a field, where flips have many costs, blocks of replicas at the same time
// are as independent as replicas: their spins agree on half of the sites at β = 0.
func TestBulkInAFieldDrawsForEverySite(t *testing.T) {
	b, err := NewBulk(mustModel(t, 5, 1, 0.5), 0, 2*BulkReplicas, asm.Counter{Seed: 3})
	require.NoError(t, err)
	b.Align()
	b.Sweep(0, 2, 1)
	// After one sweep at β = 0 a spin is down with probability 63/64.
	_, m := sums(b)
	sum := 0
	for _, v := range m {
		sum += v + b.N
	}
	ups := float64(sum) / 2
	mean := float64(b.Replicas()*b.N) / 64
	require.InDelta(t, mean, ups, 5.5*math.Sqrt(mean))
	differ := 0
	for i := range b.block(0) {
		if b.block(0)[i] != b.block(1)[i] {
			differ++
		}
	}
	require.Greater(t, differ, len(b.block(0))/2)
}

func BenchmarkBulkInAField(b *testing.B) {
	bulk, err := NewBulk(mustModel(b, 32, 1, 0.1), 0.44, BulkReplicas, asm.Counter{})
	require.NoError(b, err)
	for b.Loop() {
		bulk.Sweep(0, 1, 1)
	}
	b.ReportMetric(float64(b.N)*float64(bulk.N)*BulkReplicas/float64(b.Elapsed().Nanoseconds()), "flips/ns")
}
