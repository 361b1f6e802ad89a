package main

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// A naiveClusterChain moves as clusters are defined.
type naiveClusterChain struct {
	l     int
	bond  float64
	spin  []int8
	words []uint32
}

func (c *naiveClusterChain) next() (word uint32) {
	word, c.words = c.words[0], c.words[1:]
	return word
}

func (c *naiveClusterChain) chance(p float64) bool { return float64(c.next()) < p*0x1p32 }

// near returns the neighbours of a site: to the right, below, to the left and above.
func (c *naiveClusterChain) near(i int) []int {
	l, row, column := c.l, i/c.l, i%c.l
	return []int{row*l + (column+1)%l, (row+1)%l*l + column, row*l + (column+l-1)%l, (row+l-1)%l*l + column}
}

func (c *naiveClusterChain) wolff() {
	seed := int(uint64(c.next()) * uint64(len(c.spin)) >> 32)
	old := c.spin[seed]
	c.spin[seed] = -old
	for stack := []int{seed}; len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, j := range c.near(i) {
			if c.spin[j] == old && c.chance(c.bond) {
				c.spin[j] = -old
				stack = append(stack, j)
			}
		}
	}
}

func (c *naiveClusterChain) swendsenWang() {
	cluster := make([]int, len(c.spin)) // the first site of each site's
	for i := range cluster {
		cluster[i] = i
	}
	for i := range cluster {
		for _, j := range c.near(i)[:2] {
			if c.spin[i] != c.spin[j] || !c.chance(c.bond) {
				continue
			}
			one, other := min(cluster[i], cluster[j]), max(cluster[i], cluster[j])
			for k := range cluster {
				if cluster[k] == other {
					cluster[k] = one
				}
			}
		}
	}
	for i, first := range cluster {
		if c.spin[i] = c.spin[first]; first == i {
			c.spin[i] = int8(1 - 2*(c.next()>>31))
		}
	}
}

// quick returns the preset quick of a lattice, and its system.
func quick(t testing.TB, workers *pool.Pool, target ising.TargetConfig) (*ising.Config, engine.System) {
	t.Helper()
	cfg, err := catalogue.Systems(revgen.Systems()).Configure("ising", "quick", fmt.Sprintf("target.l=%d", target.L),
		fmt.Sprintf("target.beta=%v", target.Beta), fmt.Sprintf("target.j=%v", target.J), fmt.Sprintf("target.h=%v", target.H))
	require.NoError(t, err)
	system, err := cfg.New(workers)
	require.NoError(t, err)
	return cfg.(*ising.Config), system
}

// TestClusters compares chains with the definitions, spin by spin.
func TestClusters(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, target := range []ising.TargetConfig{{L: 4, Beta: 3, J: 20}, {L: 5, Beta: 0.44, J: 1}, {L: 16, Beta: 0.4407, J: 1}, {L: 21, Beta: 0.6, J: 0.7}} {
		c, s := quick(t, workers, target)
		for _, single := range []bool{true, false} {
			params := make([]float32, s.NumParams())
			w := newClusters(c, s.(observed).Observed(params, 2), workers, 2, single)
			for i := range w.chains {
				words, stream := make([]uint32, 1<<18), rng.Stream(c.Training.Seed, rng.ClusterTransition, uint32(i))
				asm.PhiloxBlocks(words, &stream, 0)
				naive := naiveClusterChain{l: target.L, bond: -math.Expm1(-2 * target.Beta * target.J), spin: make([]int8, target.L*target.L), words: words}
				for k := range naive.spin {
					naive.spin[k] = int8(1 - 2*(naive.next()>>31))
				}
				chain := &w.chains[i]
				for step := range 100 {
					require.Equal(t, naive.spin, chain.spin, "%+v, step %d", target, step)
					if single {
						naive.wolff()
						w.wolff(chain)
					} else {
						naive.swendsenWang()
						w.swendsenWang(chain)
					}
				}
			}
		}
	}
}

// BenchmarkClusters moves a chain at the critical temperature.
func BenchmarkClusters(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	for _, l := range []int{16, 64, 128} {
		c, s := quick(b, workers, ising.TargetConfig{L: l, Beta: 0.4406867935097715, J: 1})
		for _, p := range clustersOf(c, s, workers) {
			b.Run(fmt.Sprintf("%s/L=%d", p.name, l), func(b *testing.B) {
				walk, err := p.start(make([]float32, s.NumParams()), 1)
				require.NoError(b, err)
				require.NoError(b, walk.Advance(context.Background(), 100))
				for b.Loop() {
					require.NoError(b, walk.Advance(context.Background(), 64))
				}
			})
		}
	}
}

// TestClustersHaveKaufmansEnergies: at, above and below the critical temperature, of sides
// that are odd and even, with the correlations of their draws; and the same bits for any
// number of threads.
func TestClustersHaveKaufmansEnergies(t *testing.T) {
	if testing.Short() {
		t.Skip("runs chains for long")
	}
	for _, target := range []ising.TargetConfig{{L: 5, Beta: 0.3, J: 1}, {L: 16, Beta: 0.4407, J: 1}, {L: 8, Beta: 0.25, J: 2.4}} {
		k, err := ising.Kaufman(target.L, target.J, target.Beta)
		require.NoError(t, err)
		var first [2][]float64
		for _, threads := range []int{2, 3} {
			workers := pool.New(threads)
			defer workers.Close()
			c, s := quick(t, workers, target)
			peers := clustersOf(c, s, workers)
			require.Len(t, peers, 2)
			for i, p := range peers {
				r, err := chains.Run(context.Background(), s, chains.Options{Chains: 8, Draws: 1500, BurnIn: 100, Spacing: 3, Start: p.start}, nil)
				require.NoError(t, err)
				if first[i] == nil {
					first[i] = r.Levels[0].Values
				}
				require.Equal(t, first[i], r.Levels[0].Values, p.name)
				for _, o := range r.Levels[0].Observables {
					switch o.Name {
					case "energy":
						require.False(t, o.Doubtful(), "%s: %+v", p.name, o)
						require.Less(t, math.Abs(o.Mean-k.Energy), 5.5*o.StandardError, "%s, L = %d", p.name, target.L)
						require.Less(t, o.StandardError, 0.01*math.Abs(k.Energy))
					case "magnetisation":
						require.Less(t, math.Abs(o.Mean), 5.5*o.StandardError, p.name)
					}
				}
			}
		}
	}
	for _, target := range []ising.TargetConfig{{L: 8, Beta: 0.4, J: -1}, {L: 8, Beta: 0.4, J: 1, H: 0.1}} {
		workers := pool.New(1)
		defer workers.Close()
		c, s := quick(t, workers, target)
		require.Empty(t, clustersOf(c, s, workers), "clusters of another law")
	}
}
