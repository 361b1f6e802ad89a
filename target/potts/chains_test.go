package potts

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/categories"
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
