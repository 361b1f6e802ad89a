package potts

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// TestReferencesStop: whichever way a reference takes, and all that waits for it.
func TestReferencesStop(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, set := range map[string][]string{
		"draws":    {"target.l=5", "target.q=2", "target.j=0.5"},
		"clusters": {"target.l=16", "target.q=2"},
		"exchange": {"target.l=8", "target.q=5", "target.model=clock"},
	} {
		c := configure(t, set...)
		built, err := c.New(workers)
		require.NoError(t, err)
		s := built.(*system)
		require.Equal(t, name == "draws", categories.Summable(s.law), name)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		_, _, err = s.LogZ(ended)
		require.ErrorIs(t, err, context.Canceled, name)
		if name != "draws" {
			continue
		}
		_, err = s.Evaluate(ended, params, 10)
		require.ErrorIs(t, err, context.Canceled, name)
		_, err = s.Figures(ended, params, 10)
		require.ErrorIs(t, err, context.Canceled, name)
	}
}

// TestManyPairs: how many there may be.
func TestManyPairs(t *testing.T) {
	long.SkipShort(t)
	target := TargetConfig{Model: "potts", Q: 2, Sites: 730, Beta: 0.1}
	for i := range 730 {
		for j := range i {
			if len(target.Edges) <= mostPairs {
				target.Edges = append(target.Edges, spins.Edge{I: i, J: j, Coupling: 0.1})
			}
		}
	}
	_, err := target.law()
	require.EqualError(t, err, "edges: 262145 pairs are more than 262144")
	target.Edges = target.Edges[1:]
	law, err := target.law()
	require.NoError(t, err)
	require.Len(t, law.Pairs, mostPairs)
}

// TestClusteredChains: 64 chains that begin in one state each or mixed, take half as many rounds
// of clusters before the first that counts, and two moves for each.
func TestClusteredChains(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	m, err := newMeasured(configure(t, "target.l=3", "target.q=3", "training.seed=7"), workers)
	require.NoError(t, err)
	clusters, err := categories.NewClusters(m.law)
	require.NoError(t, err)
	const rounds = 7
	l := newLook(m.law, "potts")
	all, err := m.clustered(t.Context(), l, clusters, rounds)
	require.NoError(t, err)
	require.Len(t, all, 64)
	for g, of := range all {
		x := make([]byte, 9)
		for i := range x {
			x[i] = byte(g / 2 % 3)
			if g%2 == 1 {
				x[i] = byte((7919*i + i/13 + g) % 3)
			}
		}
		stream := rng.Stream(7, rng.Reference, uint32(g))
		clusters.Move(x, &stream, 0, 3)
		want := l.newSums()
		for k := range uint64(rounds) {
			clusters.Move(x, &stream, 3+2*k, 2)
			want.add(l, x, 1)
		}
		require.Equal(t, want, of, "chain %d", g)
	}
}

// TestExchangedChains: ladders of one standard deviation of the energy a level, and ln Z by the
// averages of e^(∓ΔβE/2) of neighbouring levels, its error by leaving out every sixteenth group.
func TestExchangedChains(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	m, err := newMeasured(configure(t, "target.l=3", "target.q=5", "target.model=clock", "target.beta=1.5", "target.j=2", "training.seed=7"), workers)
	require.NoError(t, err)
	l, ctx := newLook(m.law, "clock"), t.Context()
	betas, err := m.ladder(ctx)
	require.NoError(t, err)
	stride := len(m.Observables())
	energies := func(run interface {
		Observe(level int, values []float64)
	}, level int) (all [64]float64) {
		values := make([]float64, 64*stride)
		run.Observe(level, values)
		for g := range all {
			all[g] = values[g*stride]
		}
		return all
	}
	var coarse []float64
	for k := range 17 {
		coarse = append(coarse, 1.5*float64(k)/16)
	}
	run, err := m.Ladder(coarse, 64)
	require.NoError(t, err)
	require.NoError(t, run.Advance(ctx, 64))
	deviation := make([]float64, 17)
	for k := range deviation {
		all := energies(run, k)
		deviation[k] = gonum.StdDev(all[:], nil)
	}
	want := []float64{0}
	for at := 0.0; at < 1.5; want = append(want, at) {
		k := 0
		for k < 15 && coarse[k+1] <= at {
			k++
		}
		at = min(1.5, at+1/max(deviation[k], deviation[k+1], 1/1.5))
	}
	require.InDeltaSlice(t, want, betas, 1e-12)

	const rounds = 9
	all, logZ, levels, err := m.tempered(ctx, l, rounds)
	require.NoError(t, err)
	require.Equal(t, len(betas), levels)
	run, err = m.Ladder(betas, 64)
	require.NoError(t, err)
	require.NoError(t, run.Advance(ctx, rounds/2))
	seen := make([][][64]float64, rounds) // energies of a round's levels
	for k := range seen {
		require.NoError(t, run.Advance(ctx, 1))
		for level := range betas {
			seen[k] = append(seen[k], energies(run, level))
		}
		for g, e := range seen[k][levels-1] {
			require.Equal(t, e, all[g].values[energy][k])
		}
	}
	of := func(without int) float64 {
		sum := 9 * math.Log(5)
		for level := range levels - 1 {
			half := (betas[level+1] - betas[level]) / 2
			var up, down float64
			for k := range seen {
				for g := range 64 {
					if g%16 != without {
						up, down = up+math.Exp(-half*seen[k][level][g]), down+math.Exp(half*seen[k][level+1][g])
					}
				}
			}
			sum += math.Log(up / down)
		}
		return sum
	}
	require.InDelta(t, of(-1), logZ.Value, 1e-10)
	var parts []float64
	for part := range 16 {
		parts = append(parts, of(part))
	}
	require.InDelta(t, gonum.StdDev(parts, nil)*15/4, logZ.Uncertainty, 1e-9)

	m, err = newMeasured(configure(t, "target.l=3", "target.beta=0"), workers)
	require.NoError(t, err)
	betas, err = m.ladder(ctx)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1e-9}, betas)
}
