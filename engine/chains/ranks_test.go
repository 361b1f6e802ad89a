package chains_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// onRanks runs the chains on ranks that have no memory in common.
func onRanks(t *testing.T, size int, o chains.Options, contexts func(rank int) context.Context, system string, set ...string) ([]*chains.Result, []error) {
	t.Helper()
	results, errs := make([]*chains.Result, size), make([]error, size)
	var all sync.WaitGroup
	for i, rank := range pool.Local(size) {
		all.Go(func() {
			cfg, _, err := root.Systems().Resolve(context.Background(), source(system, set))
			if errs[i] = err; err != nil {
				return
			}
			workers := pool.New(1 + i%2)
			defer workers.Close()
			workers.Join(rank)
			s, err := cfg.New(workers)
			if errs[i] = err; err != nil {
				return
			}
			defer engine.Release(s)
			o := o
			o.Ranks = workers
			results[i], errs[i] = chains.Run(contexts(i), s, o, nil)
		})
	}
	all.Wait()
	return results, errs
}

// Ranks have the values of one process, and each the states of its own chains.
func TestRanks(t *testing.T) {
	long.SkipShort(t)
	background := func(int) context.Context { return context.Background() }
	for name, x := range map[string]struct {
		o      chains.Options
		shared bool // whether a rank has but a part
		system string
		set    []string
	}{
		"flips":     {chains.Options{Chains: 1100, Draws: 5, BurnIn: 3, Spacing: 1, States: "bits"}, true, "ising", []string{"target.l=4", "target.beta=0.4"}},
		"few":       {chains.Options{Chains: 20, Draws: 5, BurnIn: 3, Spacing: 1, States: "spins"}, true, "ising", []string{"target.l=4", "target.beta=0.4"}},
		"ladder":    {chains.Options{Chains: 1100, Draws: 5, BurnIn: 3, Spacing: 2, States: "bits", Ladder: []float64{0.2, 0.3, 0.4}}, true, "ising", []string{"target.l=4"}},
		"pilot":     {chains.Options{Chains: 600, Draws: 4, BurnIn: chains.HalfBurnIn, Spacing: chains.AutoSpacing, States: "bits"}, true, "ising", []string{"target.l=4", "target.beta=0.3", "target.h=0.1"}},
		"modes":     {chains.Options{Chains: 300, Draws: 5, BurnIn: 3, Spacing: 2, States: "states"}, true, "hybrid", nil},
		"density":   {chains.Options{Chains: 300, Draws: 5, BurnIn: 3, Spacing: 2, States: "states"}, true, "reals", []string{"target.dim=2", "target.expression=-x[0]^2 - x[1]^2"}},
		"tempering": {chains.Options{Chains: 70, Draws: 5, BurnIn: 3, Spacing: 2, States: "spins"}, false, "spins", []string{"target.spins=4", "target.edges=[[0,1,1],[1,2,-1],[2,3,0.5]]"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := runAll(t, x.o, 2, x.system, x.set...)
			results, errs := onRanks(t, 3, x.o, background, x.system, x.set...)
			next := 0
			states := make([][]byte, len(want.Levels))
			for i, r := range results {
				require.NoError(t, errs[i])
				require.Equal(t, want.Spacing, r.Spacing)
				require.Equal(t, want.BurnedIn, r.BurnedIn)
				require.True(t, name != "pilot" || r.Spacing > 1, "a pilot that has nothing to find")
				for k, l := range r.Levels {
					require.Equal(t, want.Levels[k].Values, l.Values, "rank %d", i)
					require.Equal(t, want.Levels[k].Accepted, l.Accepted)
					require.Equal(t, want.Levels[k].Proposed, l.Proposed)
					require.Equal(t, want.Levels[k].Observables[0].ChainSummary, l.Observables[0].ChainSummary)
					states[k] = append(states[k], l.States...)
				}
				if r.Lo < r.Hi {
					require.Equal(t, next, r.Lo)
					next = r.Hi
					require.Equal(t, x.shared && x.o.Chains > 20, r.Hi-r.Lo < x.o.Chains, "rank %d has chains %d to %d", i, r.Lo, r.Hi)
				}
			}
			require.Equal(t, x.o.Chains, next)
			for k, l := range want.Levels {
				require.Equal(t, l.States, states[k])
			}
		})
	}
}

// Where one rank is stopped all return, and none waits.
func TestRanksAgreeOnErrors(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	o := chains.Options{Chains: 600, Draws: 5, BurnIn: 3, Spacing: 1}
	_, errs := onRanks(t, 3, o, func(rank int) context.Context {
		if rank == 1 {
			return stopped
		}
		return context.Background()
	}, "ising", "target.l=4", "target.beta=0.4")
	for i, err := range errs {
		require.Equal(t, i == 1, errors.Is(err, context.Canceled), "rank %d: %v", i, err)
		require.Equal(t, i != 1, errors.Is(err, engine.ErrElsewhere), "rank %d: %v", i, err)
	}
	o.States = "nothing"
	_, errs = onRanks(t, 3, o, func(int) context.Context { return context.Background() }, "ising", "target.l=4")
	for _, err := range errs {
		require.ErrorContains(t, err, "format")
	}
}
