package spins

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// sure is how many standard errors an average may be from its exact value: a
// normal number is further in one of 10⁸ cases. Standard errors are themselves
// estimates from hundreds of effective draws at least.
const sure = 5.8

func requireMean(t *testing.T, want float64, s stat.ChainSummary, name string) {
	t.Helper()
	require.InDelta(t, want, s.Mean, sure*s.StandardError+1e-12, name)
	require.Less(t, s.RHat, 1.05, name)
}

// hold returns chains at a temperature that begin at random.
func hold(t testing.TB, g *Graph, beta float64, chains int, seed uint64) *level {
	t.Helper()
	s, err := NewSweeper(g, beta)
	require.NoError(t, err)
	batch, c := make([]uint64, chains*g.Words()), asm.Counter{Seed: seed, Purpose: 1}
	for i := range chains {
		Randomize(batch[i*g.Words():][:g.Words()], g.N(), &c, uint64(i*g.Words()))
	}
	return s.Hold(batch).(*level)
}

// TestLevelsSampleTheBoltzmannLaw: chains at one temperature against the sum over all
// configurations, both ways of the heat bath, by the frequencies of energies and correlations.
func TestLevelsSampleTheBoltzmannLaw(t *testing.T) {
	long.SkipShort(t)
	field := sparse(10, 18, 5, someSign)
	for i := range field.Spins {
		field.Fields = append(field.Fields, float64(i%3-1))
	}
	for name, h := range map[string]Hamiltonian{
		"glass, field": field, "all to all": sherringtonKirkpatrick(10, 1), "odd ring": ring(9, -1), "one spin": {Spins: 1, Fields: []float64{0.5}},
	} {
		const beta, burn, rounds = 0.6, 100, 1500
		g := build(t, h)
		x, err := Enumerate(t.Context(), g, beta, 1)
		require.NoError(t, err)
		r := hold(t, g, beta, Lanes, 4)
		var energies []float64
		edges := make([][]float64, len(g.Edges()))
		batch := make([]uint64, Lanes*g.Words())
		c := asm.Counter{Seed: 4}
		e := make([]float64, Lanes)
		for ; c.Step < burn+rounds; c.Step++ {
			r.Advance(e, 0, Lanes, &c, 0)
			r.Stir(asm.Counter{Seed: 5, Step: c.Step}, 0)
			if c.Step < burn {
				continue
			}
			energies = append(energies, e...)
			r.Read(batch)
			for k, edge := range g.Edges() {
				for _, s := range batch {
					edges[k] = append(edges[k], 1-2*float64((s>>edge.I^s>>edge.J)&1))
				}
			}
		}
		requireMean(t, x.Energy, stat.Chains(energies, Lanes), name)
		for k := range edges {
			requireMean(t, x.EdgeCorrelations[k], stat.Chains(edges[k], Lanes), name)
		}
		require.Zero(t, alloctest.PerRun(3, func() { r.Advance(e, 0, Lanes, &c, 0) }))
	}
}

// TestLevelsDoNotDependOnTheirOrder of sweeping, nor on how chains are split.
func TestLevelsDoNotDependOnTheirOrder(t *testing.T) {
	const chains = 2*Lanes + 5
	for name, h := range graphs() {
		g := build(t, h)
		one, two := hold(t, g, 0.5, chains, 4), hold(t, g, 0.5, chains, 4)
		a, b := make([]float64, chains), make([]float64, chains)
		for c := (asm.Counter{Seed: 4}); c.Step < 5; c.Step++ {
			one.Advance(a, 0, chains, &c, 640)
			for lo := 2 * Lanes; lo >= 0; lo -= Lanes {
				two.Advance(b, lo, min(lo+Lanes, chains), &c, 640)
			}
			require.Equal(t, a, b, name)
		}
		x, y := make([]uint64, chains*g.Words()), make([]uint64, chains*g.Words())
		one.Read(x)
		two.Read(y)
		require.Equal(t, x, y, name)
	}
}

// TestLevelsAreConfigurations: a step is a heat bath's of all spins, colour after colour; swaps and
// flips of all spins are those of the configurations, and energies are theirs throughout.
func TestLevelsAreConfigurations(t *testing.T) {
	const chains, first = Lanes + 9, 3 * Lanes
	for name, h := range graphs() {
		g := build(t, h)
		words := g.Words()
		levels := []*level{hold(t, g, 0.3, chains, 1), hold(t, g, 0.7, chains, 2)}
		want, got := make([][]uint64, 2), make([]uint64, chains*words)
		for k := range want {
			want[k] = make([]uint64, chains*words)
			levels[k].Read(want[k])
		}
		same := func() {
			t.Helper()
			for k, l := range levels {
				l.Read(got)
				require.Equal(t, want[k], got, name)
			}
		}
		swapped := 0
		for c := (asm.Counter{Seed: 7}); c.Step < 4; c.Step++ {
			flips := make([][]bool, 2)
			for k, l := range levels {
				energies, exact := make([]float64, chains), make([]float64, chains)
				l.Advance(energies, 0, chains, &c, first)
				for lo := 0; lo < chains; lo += Lanes {
					part := want[k][lo*words : min(chains, lo+Lanes)*words]
					x := l.heat.newLanes()
					bitspin.Columns(x.spins, part, g.N(), 1)
					flipped := l.flipped[lo/Lanes]
					for s := range x.spins {
						x.spins[s] ^= flipped
					}
					l.heat.tabulate(x)
					position := uint64((first + lo) / Lanes * g.N())
					for _, colour := range l.colours {
						for _, i := range colour {
							l.heat.update(x, []int32{i}, &c, position)
							position++
						}
					}
					for s := range x.spins {
						x.spins[s] ^= flipped
					}
					bitspin.Rows(part, part, x.spins, len(x.spins), 1)
				}
				g.Energies(exact, want[k])
				require.InDeltaSlice(t, exact, energies, 1e-12*(1+g.EnergyBound()), name)
			}
			same()
			for from, mask := range map[int]uint64{0: 0x8000_0000_f0f0_0001, Lanes: 0b1_0110_0101} {
				levels[0].Exchange(levels[1], from, mask)
				for i := range Lanes {
					if mask>>i&1 == 0 {
						continue
					}
					swapped++
					for w := (from + i) * words; w < (from+i+1)*words; w++ {
						want[0][w], want[1][w] = want[1][w], want[0][w]
					}
				}
			}
			same()
			for k, l := range levels {
				before := slices.Clone(want[k])
				l.Stir(asm.Counter{Seed: 9, Step: c.Step}, first)
				l.Read(want[k])
				for i := range chains {
					config := before[i*words:][:words]
					flipped := config[0]&1 != want[k][i*words]&1
					flips[k] = append(flips[k], flipped)
					if flipped {
						bitspin.Invert(config, g.N())
					}
				}
				require.Equal(t, before, want[k], name)
				if g.HasFields() {
					require.NotContains(t, flips[k], true, name)
				} else {
					require.Contains(t, flips[k], true, name)
					require.Contains(t, flips[k], false, name)
				}
			}
			require.Equal(t, flips[0], flips[1], name) // of the same numbers
		}
		require.Positive(t, swapped)
	}
}

// tempering returns what tempers a graph.
func tempering(g *Graph, beta float64, seed uint64, workers *pool.Pool) *Ensemble {
	return &Ensemble{
		States: Packed{Spins: g.N(), Shape: []int{g.N()}, Even: !g.HasFields()}, Beta: beta, Energy: g.Energies,
		Mixing:  func(beta float64) (Kernel, error) { return NewSweeper(g, beta) },
		Names:   []string{"energy"},
		Observe: func(values []float64, stride int, batch []uint64) { g.Energies(values, batch) },
		Seed:    seed, Workers: workers,
	}
}

// tempered are the averages that tempering gives.
type tempered struct {
	energy, abs, overlap stat.ChainSummary
	logZ, logZError      float64
}

func temper(t *testing.T, e *Ensemble, g *Graph, chains, burnIn, rounds int, visit func(batch []uint64)) (got tempered, l *sites.Ladder[uint64]) {
	t.Helper()
	l, err := e.Temper(t.Context(), 0, chains, burnIn)
	require.NoError(t, err)
	var energy, abs, overlap []float64
	z, err := l.Measure(t.Context(), rounds, float64(g.N())*math.Ln2, func(int) {
		batch, energies := l.Coldest()
		visit(batch)
		energy = append(energy, energies...)
		words := g.Words()
		for k := range chains {
			config := batch[k*words:][:words]
			abs = append(abs, math.Abs(float64(g.Magnetisation(config)))/float64(g.N()))
			if k%2 == 1 {
				q := 0.0
				for i := range g.N() {
					q += Spin(config, i) * Spin(batch[(k-1)*words:], i) / float64(g.N())
				}
				overlap = append(overlap, q*q)
			}
		}
	})
	require.NoError(t, err)
	return tempered{stat.Chains(energy, chains), stat.Chains(abs, chains), stat.Chains(overlap, chains/2), z.Value, z.Uncertainty}, l
}

// TestTemperingAgreesWithEnumeration: every number that it gives.
func TestTemperingAgreesWithEnumeration(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for name, c := range map[string]struct {
		h    Hamiltonian
		beta float64
	}{
		"glass": {sparse(14, 35, 3, someSign), 2}, "all to all": {sherringtonKirkpatrick(12, 1), 2.5}, "hot": {ring(8, 1), 0},
	} {
		const rounds, chains = 800, 128
		g := build(t, c.h)
		samples, sums := 0.0, make([]float64, len(g.Edges()))
		got, _ := temper(t, tempering(g, c.beta, 7, workers), g, chains, 400, rounds, func(batch []uint64) {
			samples += float64(len(batch) / g.Words())
			for _, config := range batch {
				for k, e := range g.Edges() {
					sums[k] += 1 - 2*float64((config>>e.I^config>>e.J)&1)
				}
			}
		})
		require.EqualValues(t, chains*rounds, samples)
		x, err := Enumerate(t.Context(), g, c.beta, 1)
		require.NoError(t, err)
		requireMean(t, x.Energy, got.energy, name)
		requireMean(t, x.AbsMagnetisation, got.abs, name)
		requireMean(t, x.OverlapSquare, got.overlap, name)
		require.InDelta(t, x.LogZ, got.logZ, sure*got.logZError+1e-9, name)
		require.Less(t, got.logZError, 0.02)
		// Samples: their correlations are those of the chains.
		effective := samples / (2 * max(1, got.energy.Time))
		for k, want := range x.EdgeCorrelations {
			require.InDelta(t, want, sums[k]/samples, sure*math.Sqrt((1-want*want)/effective)+1e-3, name)
		}
	}
}

// TestLevels: those of a ladder ascend to the target, swap often, and have their own
// laws.
func TestLevels(t *testing.T) {
	const rounds, chains = 800, 128
	workers := pool.New(1)
	defer workers.Close()
	g := build(t, sparse(14, 35, 3, normal))
	l, err := tempering(g, 2, 7, workers).Temper(t.Context(), 0, chains, 400)
	require.NoError(t, err)
	betas := l.Betas()
	require.Zero(t, betas[0])
	require.Equal(t, 2.0, betas[len(betas)-1])
	moments, values := make([]stat.Mean, len(betas)), make([]float64, chains)
	for range rounds {
		require.NoError(t, l.Advance(t.Context(), 1))
		for k := range betas {
			l.Level(k).ObserveUnweighted(values)
			for _, x := range values {
				moments[k].Add(x)
			}
		}
	}
	for k, beta := range betas[1:] {
		require.Less(t, betas[k], beta)
		accepted, proposed := l.Swaps(k)
		require.Greater(t, float64(accepted), 0.3*float64(proposed))
		exact, err := Enumerate(t.Context(), g, beta, 1)
		require.NoError(t, err)
		m := moments[k+1]
		require.InDelta(t, exact.Energy, m.Value(), sure*math.Sqrt(exact.SpecificHeat)/beta*math.Sqrt(8./(chains*rounds)))
		require.InDelta(t, exact.SpecificHeat, math.Pow(beta*m.Deviation(), 2), 0.1*exact.SpecificHeat+1e-3)
	}
}

// TestTemperingGlass: on the ±J glass of 4×4×4 spins, which is not enumerated,
// both ways of the heat bath agree, on any number of threads.
func TestTemperingGlass(t *testing.T) {
	long.SkipShort(t)
	h := cubicGlass(4, 11)
	g := build(t, h)
	h.Edges[0].Coupling *= 1 + 1e-12
	tabulated := build(t, h)
	run := func(g *Graph, seed uint64, threads int) tempered {
		workers := pool.New(threads)
		defer workers.Close()
		got, _ := temper(t, tempering(g, 1, seed, workers), g, Lanes, 300, 300, func([]uint64) {})
		return got
	}
	a, b := run(g, 1, 1), run(tabulated, 2, 1)
	for name, pair := range map[string][2]stat.ChainSummary{
		"energy": {a.energy, b.energy}, "magnetisation": {a.abs, b.abs}, "overlap": {a.overlap, b.overlap},
	} {
		require.InDelta(t, pair[0].Mean, pair[1].Mean, sure*math.Hypot(pair[0].StandardError, pair[1].StandardError), name)
		require.Less(t, pair[0].RHat, 1.1, name)
	}
	require.InDelta(t, a.logZ, b.logZ, sure*math.Hypot(a.logZError, b.logZError))
	require.Equal(t, a, run(g, 1, 3))
	require.NotEqual(t, a.energy, run(g, 3, 1).energy)
}

// TestDrawsOfReferences are not those of chains that are diagnosed.
func TestDrawsOfReferences(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	g := build(t, cubicGlass(3, 1))
	var all [][]uint64
	for _, of := range []rng.Purpose{0, rng.OfReference} {
		l, err := tempering(g, 0.1, 7, workers).Temper(t.Context(), of, 2*Lanes, 64)
		require.NoError(t, err)
		batch, _ := l.Coldest()
		all = append(all, slices.Clone(batch))
	}
	for i, x := range all[0] {
		require.NotEqual(t, x, all[1][i])
	}
}
