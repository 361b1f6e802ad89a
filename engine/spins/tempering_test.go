package spins

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/memory"
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

// TestReplicasSampleTheBoltzmannLaw: chains at one temperature against the sum
// over all configurations, both ways of the heat bath, by the frequencies of
// energies and correlations.
func TestReplicasSampleTheBoltzmannLaw(t *testing.T) {
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
		r, err := NewReplicas(g, []float64{beta, 2 * beta}, asm.Counter{Seed: 4})
		require.NoError(t, err)
		require.Equal(t, 2, len(r.groups))
		require.Equal(t, 2*beta, r.heat[1].beta)
		r.Sweep(0, 1, burn)
		var energies []float64
		edges := make([][]float64, len(g.Edges()))
		batch := make([]uint64, Lanes*g.Words())
		for range rounds {
			r.Sweep(0, 1, 1)
			var e [Lanes]float64
			r.Energies(&e, 0)
			energies = append(energies, e[:]...)
			r.Configurations(batch, 0)
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
		require.Zero(t, alloctest.PerRun(3, func() { r.Sweep(0, 2, 1) }))
	}
}

// TestReplicasDoNotDependOnTheirOrder of sweeping.
func TestReplicasDoNotDependOnTheirOrder(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		betas := []float64{0.1, 0.5, 0.9}
		one, err := NewReplicas(g, betas, asm.Counter{Seed: 4})
		require.NoError(t, err)
		two, err := NewReplicas(g, betas, asm.Counter{Seed: 4})
		require.NoError(t, err)
		one.Sweep(0, 3, 5)
		for k := 2; k >= 0; k-- {
			two.Sweep(k, k+1, 2)
			two.Sweep(k, k+1, 3)
		}
		a, b := make([]uint64, Lanes*g.Words()), make([]uint64, Lanes*g.Words())
		for k := range betas {
			one.Configurations(a, k)
			two.Configurations(b, k)
			require.Equal(t, a, b, name)
		}
	}
}

// TestRelevel: chains go on where they were, with draws that were not used before.
func TestRelevel(t *testing.T) {
	for name, h := range graphs() {
		g := build(t, h)
		r, err := NewReplicas(g, []float64{0.1, 0.5, 0.9}, asm.Counter{Seed: 4})
		require.NoError(t, err)
		r.Sweep(0, 3, 7)
		from := []int{0, 0, 2, 1}
		next, err := r.relevel([]float64{0, 0.1, 1, 0.6}, from)
		require.NoError(t, err)
		a, b := make([]uint64, Lanes*g.Words()), make([]uint64, Lanes*g.Words())
		want, got := make([]float64, Lanes), new([Lanes]float64)
		for k, f := range from {
			r.Configurations(a, f)
			next.Configurations(b, k)
			require.Equal(t, a, b, name)
			g.Energies(want, b)
			next.Energies(got, k)
			require.InDeltaSlice(t, want, got[:], 1e-12*(1+g.EnergyBound()), name)
			require.EqualValues(t, 7, next.sweeps[k])
		}
		// They are copies.
		next.Sweep(0, 4, 1)
		r.Configurations(b, 1)
		require.Equal(t, a, b, name)
	}
}

func TestReplicasErrors(t *testing.T) {
	g := build(t, sherringtonKirkpatrick(4, 1))
	_, err := NewReplicas(g, nil, asm.Counter{})
	require.EqualError(t, err, "no inverse temperature; at least one group is needed")
	_, err = NewReplicas(g, []float64{1, math.Inf(1)}, asm.Counter{})
	require.EqualError(t, err, "inverse temperature β = +Inf is not a finite number ≥ 0")
	limit := memory.Limit
	defer func() { memory.Limit = limit }()
	memory.Limit = func() float64 { return 4096 }
	_, err = NewReplicas(g, []float64{1, 2}, asm.Counter{})
	require.EqualError(t, err, "2 groups of 64 chains of 4 spins take 3.87e-06 GiB, and there are 3.81e-06; take fewer groups")
}

// TestTemperingAgreesWithEnumeration: every number that it gives.
func TestTemperingAgreesWithEnumeration(t *testing.T) {
	long.SkipShort(t)
	for name, c := range map[string]struct {
		h    Hamiltonian
		beta float64
	}{
		"glass": {sparse(14, 35, 3, someSign), 2}, "all to all": {sherringtonKirkpatrick(12, 1), 2.5}, "hot": {ring(8, 1), 0},
	} {
		const rounds, every, sets = 800, 2, 2
		g := build(t, c.h)
		samples, sums := 0.0, make([]float64, len(g.Edges()))
		got, err := Tempering{
			Beta: c.beta, BurnIn: 400, Rounds: rounds, Every: every, Sets: sets, Stream: asm.Counter{Seed: 7, Purpose: 9},
		}.Run(t.Context(), g, func(batch []uint64) {
			samples += float64(len(batch) / g.Words())
			for _, config := range batch {
				for k, e := range g.Edges() {
					sums[k] += 1 - 2*float64((config>>e.I^config>>e.J)&1)
				}
			}
		})
		require.NoError(t, err)
		require.EqualValues(t, Lanes*sets*rounds/every, samples)
		x, err := Enumerate(t.Context(), g, c.beta, 1)
		require.NoError(t, err)
		requireMean(t, x.Energy, got.Energy, name)
		requireMean(t, x.AbsMagnetisation, got.AbsMagnetisation, name)
		requireMean(t, x.OverlapSquare, got.OverlapSquare, name)
		require.InDelta(t, x.LogZ, got.LogZ, sure*got.LogZError+1e-9, name)
		require.Less(t, got.LogZError, 0.02)
		// Samples: their correlations are those of the chains.
		effective := samples / (2 * max(1, got.Energy.Time))
		for k, want := range x.EdgeCorrelations {
			require.InDelta(t, want, sums[k]/samples, sure*math.Sqrt((1-want*want)/effective)+1e-3, name)
		}
	}
}

// TestLevels: those of a ladder ascend to the target, swap often, and have their own
// laws.
func TestLevels(t *testing.T) {
	const rounds = 800
	g := build(t, sparse(14, 35, 3, normal))
	e := &Exchange{Tempering: Tempering{Beta: 2, Sets: 2, BurnIn: 400, Stream: asm.Counter{Seed: 7, Purpose: 9}}, graph: g, workers: pool.New(1)}
	defer e.workers.Close()
	require.NoError(t, e.begin(t.Context()))
	require.Zero(t, e.betas[0])
	require.Equal(t, 2.0, e.betas[len(e.betas)-1])
	swapped := make([]int, len(e.betas)-1)
	for range rounds {
		e.step()
		e.addMoments()
		for level := int(e.round & 1); level < len(swapped); level += 2 { // those that have not just swapped
			swapped[level] += swaps(e, level)
		}
	}
	for k, beta := range e.betas[1:] {
		require.Less(t, e.betas[k], beta)
		require.Greater(t, float64(swapped[k]), 0.3*Lanes*rounds/2)
		exact, err := Enumerate(t.Context(), g, beta, 1)
		require.NoError(t, err)
		m := e.moments[k+1]
		require.InDelta(t, exact.Energy, m.Value(), sure*math.Sqrt(exact.SpecificHeat)/beta*math.Sqrt(8./(Lanes*2*rounds)))
		require.InDelta(t, exact.SpecificHeat, math.Pow(beta*m.Deviation(), 2), 0.1*exact.SpecificHeat+1e-3)
	}
}

// swaps tries to swap the chains of a level's first group with those of the next, and
// returns how many it did.
func swaps(e *Exchange, level int) (n int) {
	before := e.energies[level*e.Sets]
	e.swapPair(level, 0)
	for k, energy := range e.energies[level*e.Sets] {
		if energy != before[k] {
			n++
		}
	}
	return n
}

// TestTemperingGlass: on the ±J glass of 4×4×4 spins, which is not enumerated,
// both ways of the heat bath agree, on any number of threads.
func TestTemperingGlass(t *testing.T) {
	long.SkipShort(t)
	h := cubicGlass(4, 11)
	g := build(t, h)
	h.Edges[0].Coupling *= 1 + 1e-12
	tabulated := build(t, h)
	run := func(g *Graph, seed uint64, threads int) *Tempered {
		got, err := Tempering{
			Beta: 1, Sets: 1, BurnIn: 300, Rounds: 300, Every: 10, Threads: threads, Stream: asm.Counter{Seed: seed},
		}.Run(t.Context(), g, func([]uint64) {})
		require.NoError(t, err)
		return got
	}
	a, b := run(g, 1, 1), run(tabulated, 2, 1)
	for name, pair := range map[string][2]stat.ChainSummary{
		"energy": {a.Energy, b.Energy}, "magnetisation": {a.AbsMagnetisation, b.AbsMagnetisation}, "overlap": {a.OverlapSquare, b.OverlapSquare},
	} {
		require.InDelta(t, pair[0].Mean, pair[1].Mean, sure*math.Hypot(pair[0].StandardError, pair[1].StandardError), name)
		require.Less(t, pair[0].RHat, 1.1, name)
	}
	require.InDelta(t, a.LogZ, b.LogZ, sure*math.Hypot(a.LogZError, b.LogZError))
	require.Equal(t, a, run(g, 1, 3))
	require.NotEqual(t, a.Energy, run(g, 3, 1).Energy)
}

// TestSwapsKeepEnergies: after a round each chain's energy is that of the
// configuration at its level.
func TestSwapsKeepEnergies(t *testing.T) {
	g := build(t, cubicGlass(4, 1))
	e := &Exchange{Tempering: Tempering{Sets: 2, Stream: asm.Counter{Seed: 1}}, graph: g, workers: pool.New(1)}
	defer e.workers.Close()
	require.NoError(t, e.start([]float64{0.1, 0.2, 0.3, 0.4}, nil))
	batch, energies := make([]uint64, Lanes*g.Words()), make([]float64, Lanes)
	swapped := 0
	for range 4 {
		e.step()
		for level := range 3 {
			swapped += swaps(e, level)
		}
		for group := range e.energies {
			e.replicas.Configurations(batch, group)
			g.Energies(energies, batch)
			require.Equal(t, energies, e.energies[group][:])
		}
	}
	require.Greater(t, swapped, 100)
}

func TestTemperingStops(t *testing.T) {
	g := build(t, ring(6, 1))
	config := Tempering{Beta: 1, Sets: 1, BurnIn: 64, Rounds: 10, Every: 1}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := config.Run(ctx, g, func([]uint64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	for want, change := range map[string]func(c *Tempering){
		"beta: -1 is not a finite number ≥ 0":                                          func(c *Tempering) { c.Beta = -1 },
		"sets: 0 is not positive":                                                      func(c *Tempering) { c.Sets = 0 },
		"burn-in: 63 rounds are not between 64, which choose a ladder, and 1073741824": func(c *Tempering) { c.BurnIn = 63 },
		"rounds: 3 is not between 4 and 1073741824":                                    func(c *Tempering) { c.Rounds = 3 },
		"every: 0 is not positive":                                                     func(c *Tempering) { c.Every = 0 },
		"β·E reaches 6e+12; β, J and h must keep it below 1e9":                         func(c *Tempering) { c.Beta = 1e12 },
	} {
		c := config
		change(&c)
		_, err := c.Run(t.Context(), g, nil)
		require.EqualError(t, err, want)
	}
	limit := memory.Limit
	defer func() { memory.Limit = limit }()
	memory.Limit = func() float64 { return 1 << 30 }
	config.Rounds, config.Sets = 1<<19, 2
	_, err = config.Run(t.Context(), g, nil)
	require.EqualError(t, err, "rounds: the energies of 524288 rounds of 128 chains take 1.25 GiB, and there are 1; take fewer")
}

func TestLadders(t *testing.T) {
	// σ falls as 1 − β/2: the length to β is β − β²/4.
	betas, deviations := make([]float64, 101), make([]float64, 101)
	for k := range betas {
		betas[k] = float64(k) / 100
		deviations[k] = 1 - betas[k]/2
	}
	for k, b := range ladder(betas, ladderLength(betas, deviations), 6) {
		require.InDelta(t, 0.75*float64(k)/5, b-b*b/4, 1e-4)
	}
	ends := []float64{0, 1}
	require.Equal(t, []float64{0, 0.5, 1}, ladder(ends, ladderLength(ends, []float64{0, 0}), 3))
	require.Equal(t, []int{0, 0, 1, 2, 2}, nearest([]float64{0, 0.5, 1}, []float64{0, 0.2, 0.4, 0.9, 2}))
}
