package potts

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

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
			if len(target.Edges) <= maxPairs {
				target.Edges = append(target.Edges, spins.Edge{I: i, J: j, Coupling: 0.1})
			}
		}
	}
	_, err := target.law()
	require.EqualError(t, err, "edges: 262145 pairs are more than 262144")
	target.Edges = target.Edges[1:]
	law, err := target.law()
	require.NoError(t, err)
	require.Len(t, law.Pairs, maxPairs)
}

// TestClusteredChains: 64 chains that begin in one state each or mixed, take half as many rounds
// of clusters before the first that counts, and two moves for each.
func TestClusteredChains(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	m, err := newEvaluator(configure(t, "target.l=3", "target.q=3", "training.seed=7"), workers)
	require.NoError(t, err)
	clusters, err := categories.NewClusters(m.law)
	require.NoError(t, err)
	const rounds = 7
	l := newObservables(m.law, "potts")
	all, err := m.runClusters(t.Context(), clusters, rounds)
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

// TestExchangedChains: the configurations of 64 ladders after each round, half as many rounds after
// they began, and ln Z from that of sites alone.
func TestExchangedChains(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, beta := range []string{"1.5", "0"} {
		m, err := newEvaluator(configure(t, "target.l=3", "target.q=5", "target.model=clock", "target.beta="+beta, "target.j=2", "training.seed=7"), workers)
		require.NoError(t, err)
		l, ctx := newObservables(m.law, "clock"), t.Context()
		const rounds = 301
		all, logZ, levels, err := m.runTempering(ctx, rounds)
		require.NoError(t, err)
		require.Len(t, all, 64)
		run, err := m.Temper(ctx, rng.OfReference, 64, rounds/2)
		require.NoError(t, err)
		require.Len(t, run.Betas(), levels)
		want, err := run.Measure(ctx, rounds, 9*math.Log(5), func(round int) {
			states, energies := run.Coldest()
			for g, of := range all {
				require.Equal(t, energies[g], of.values[energy][round])
				require.Equal(t, l.order(states[9*g:][:9]), of.values[order][round])
			}
		})
		require.NoError(t, err)
		require.InDelta(t, want.Value, logZ.Value, 1e-10)
		require.InDelta(t, want.Uncertainty, logZ.Uncertainty, 1e-10)
		sum, err := categories.NewSum(ctx, m.law)
		require.NoError(t, err)
		require.InDelta(t, sum.LogZ, logZ.Value, 6*logZ.Uncertainty+1e-12)
		require.Less(t, logZ.Uncertainty, 0.05)
	}
}
