package bitspin

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/revgen/revgen/asm"
)

// BenchmarkMetropolis reports the time of one Metropolis step of one sample.
func BenchmarkMetropolis(b *testing.B) {
	const samples, steps = 2048, 4
	for _, l := range []int{3, 4, 8, 16} {
		for _, p := range proposals(b)[1:] {
			for _, h := range []float64{0, 0.1} {
				b.Run(fmt.Sprintf("L=%d/%v/h=%v", l, p, h), func(b *testing.B) {
					k := mustMetropolis(b, mustModel(b, l, 1, h), 0.4, p)
					batch := make([]uint64, samples*k.model.Words)
					c, st := &asm.Counter{}, new(Count)
					for b.Loop() {
						c.Step++
						k.Run(nil, batch, batch, 0, samples, steps, c, 0, st)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*samples*steps), "ns/step")
				})
			}
		}
	}
}

func BenchmarkEnergies(b *testing.B) {
	for _, l := range []int{3, 8, 16, 64} {
		b.Run(fmt.Sprintf("L=%d", l), func(b *testing.B) {
			m := mustModel(b, l, 1, 0)
			r := rand.New(rand.NewPCG(1, 1))
			var batch []uint64
			for range 1024 {
				batch = append(batch, randomConfig(r, m.Lattice)...)
			}
			energies := make([]float64, 1024)
			b.SetBytes(int64(8 * len(batch)))
			for b.Loop() {
				m.Energies(energies, batch)
			}
		})
	}
}
