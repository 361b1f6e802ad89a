package ising

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	peer "github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/pool"
)

// TestClustersHaveKaufmansEnergies: at, above and below the critical temperature, of sides
// that are odd and even, with the correlations of their draws; and the same bits for any
// number of threads.
func TestClustersHaveKaufmansEnergies(t *testing.T) {
	if testing.Short() {
		t.Skip("runs chains for long")
	}
	for _, target := range []TargetConfig{{L: 5, Beta: 0.3, J: 1}, {L: 16, Beta: 0.4407, J: 1}, {L: 8, Beta: 0.25, J: 2.4}} {
		k, err := Kaufman(target.L, target.J, target.Beta)
		require.NoError(t, err)
		c := adapted(t, "quick", target)
		var first [2][]float64
		for _, threads := range []int{2, 3} {
			workers := pool.New(threads)
			defer workers.Close()
			s, err := newHierarchical(c, workers)
			require.NoError(t, err)
			peers := s.Peers()
			require.Len(t, peers, 2)
			for i, p := range peers {
				r, err := peer.Run(context.Background(), s, peer.Options{Chains: 8, Draws: 1500, BurnIn: 100, Spacing: 3, Peer: &p}, nil)
				require.NoError(t, err)
				if first[i] == nil {
					first[i] = r.Levels[0].Values
				}
				require.Equal(t, first[i], r.Levels[0].Values, p.Name)
				for _, o := range r.Levels[0].Observables {
					switch o.Name {
					case "energy":
						require.False(t, o.Doubtful(), "%s: %+v", p.Name, o)
						require.Less(t, math.Abs(o.Mean-k.Energy), 5.5*o.StandardError, "%s, L = %d", p.Name, target.L)
						require.Less(t, o.StandardError, 0.01*math.Abs(k.Energy))
					case "magnetisation":
						require.Less(t, math.Abs(o.Mean), 5.5*o.StandardError, p.Name)
					}
				}
			}
		}
	}
	for _, target := range []TargetConfig{{L: 8, Beta: 0.4, J: -1}, {L: 8, Beta: 0.4, J: 1, H: 0.1}} {
		workers := pool.New(1)
		defer workers.Close()
		s, err := newHierarchical(adapted(t, "quick", target), workers)
		require.NoError(t, err)
		require.Empty(t, s.Peers(), "clusters of another law")
	}
}
