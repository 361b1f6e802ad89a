package mmd

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// TestRanks: ranks that have no memory in common, each with a part of the pieces, have the
// bits of one process: loss and gradients, of one batch after the other.
func TestRanks(t *testing.T) {
	const n, spins, dim, modes = 300, 70, 3, 4
	type result struct {
		loss  float64
		grads [][]float32
	}
	losses := map[string]func(workers *pool.Pool) func(r *rand.Rand) result{
		"vectors": func(workers *pool.Pool) func(*rand.Rand) result {
			g := NewGram(n, dim, paperKernel(), U, workers)
			return func(r *rand.Rand) result {
				x, y := moves(r, n, dim, 0.4, 1)
				grad := make([]float32, n*dim)
				return result{g.LossGradient(x, y, grad), [][]float32{grad}}
			}
		},
		"spins": func(workers *pool.Pool) func(*rand.Rand) result {
			h := NewHamming(n, spins, testKernel, Surrogate, U, workers)
			return func(r *rand.Rand) result {
				x, y := batch(r, n, spins, n)
				grad := make([]float32, n*spins)
				return result{h.LossGradient(x, y, grad), [][]float32{grad}}
			}
		},
		"modes": func(workers *pool.Pool) func(*rand.Rand) result {
			m := NewMixed(n, dim, modes, paperKernel(), U, workers)
			return func(r *rand.Rand) result {
				x, y, k, l := mixedMoves(r, n, dim, modes, 0.4)
				gradX, gradK := make([]float32, n*dim), make([]float32, n*modes)
				return result{m.LossGradient(x, y, k, l, gradX, gradK), [][]float32{gradX, gradK}}
			}
		},
	}
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			run := func(workers *pool.Pool) (all []result) {
				step, r := loss(workers), rand.New(rand.NewPCG(1, 2))
				for range 2 {
					all = append(all, step(r))
				}
				return all
			}
			workers := pool.New(2)
			defer workers.Close()
			want := run(workers)
			require.NotEqual(t, want[0], want[1])
			for _, size := range []int{2, 5} {
				got := make([][]result, size)
				var all sync.WaitGroup
				for i, rank := range pool.Local(size) {
					all.Go(func() {
						workers := pool.New(1)
						defer workers.Close()
						workers.Join(rank)
						got[i] = run(workers)
					})
				}
				all.Wait()
				for i := range got {
					require.True(t, fmt.Sprint(want) == fmt.Sprint(got[i]), "rank %d of %d", i, size)
				}
			}
		})
	}
}
