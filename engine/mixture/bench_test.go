package mixture

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkDensity: rows of a mixture in ten coordinates, and their gradient.
func BenchmarkDensity(b *testing.B) {
	const rows = 64
	r := rand.New(rand.NewPCG(1, 2))
	m, params := scattered(New(10, 1, 16, false), r)
	p, w := m.NewPacked(), m.NewWork(rows)
	p.Set(params)
	x, dst, grad := make([]float32, rows*10), make([]float64, rows), make([]float32, len(params))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	b.Run("density", func(b *testing.B) {
		for b.Loop() {
			p.LogDensity(dst, x, nil, w)
		}
	})
	b.Run("score", func(b *testing.B) {
		for b.Loop() {
			p.Score(grad, nil, dst, w)
		}
	})
}
