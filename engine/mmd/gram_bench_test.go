package mmd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// BenchmarkGram measures the loss and gradient of the Gaussian-mixture
// experiment: states in the plane, five Gaussians and one multiquadric.
func BenchmarkGram(b *testing.B) {
	before, _, _ := asm.Active()
	defer func() { require.NoError(b, asm.Use(before)) }()
	for _, path := range asm.Supported() {
		for _, threads := range []int{1, 2} {
			for _, n := range []int{512, 2048} {
				for _, rejected := range []float64{0, .16} {
					b.Run(fmt.Sprintf("path=%v/threads=%d/n=%d/rejected=%v", path, threads, n, rejected), func(b *testing.B) {
						require.NoError(b, asm.Use(path))
						workers := pool.New(threads)
						defer workers.Close()
						g := NewGram(n, 2, paperKernel(), V, workers)
						s, t := moves(rand.New(rand.NewPCG(1, 2)), n, 2, rejected, 1)
						grad := make([]float32, n*2)
						for b.Loop() {
							g.LossGradient(s, t, grad)
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/float64(n), "ns/pair")
					})
				}
			}
		}
	}
}
