package mmd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/revgen/revgen/internal/pool"
)

// BenchmarkFold times what LossGradient does before it turns to the pairs of
// samples, on many batches in turn so that branches cannot be learned by heart.
func BenchmarkFold(b *testing.B) {
	const n, batches = 2048, 64
	workers := pool.New(1)
	defer workers.Close()
	for _, spins := range []int{9, 16, 64} {
		r := rand.New(rand.NewPCG(1, uint64(spins)))
		s, t := make([]uint64, batches*n), make([]uint64, batches*n)
		for i := range s {
			s[i] = r.Uint64() >> (64 - spins)
			t[i] = s[i]
			if r.IntN(4) > 0 {
				t[i] ^= 1 << r.IntN(spins)
			}
		}
		h := NewHamming(n, spins, paperKernel(), Surrogate, V, workers)
		b.Run(fmt.Sprintf("spins=%d", spins), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				from := i % batches * n
				h.s, h.t = s[from:from+n], t[from:from+n]
				h.fold.foldPairs(h.s, h.t)
				h.pack()
			}
		})
	}
}
