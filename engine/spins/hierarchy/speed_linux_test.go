package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// BenchmarkSample draws samples of the 16×16 lattice on one thread, the learned
// spins alone or all.
func BenchmarkSample(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	m, err := hierarchy.NewSquare(hierarchy.Square{Side: 16, J: 1, Beta: 0.4407, Neighbours: 24, Hidden: 6})
	require.NoError(b, err)
	params := make([]float32, m.NumParams())
	m.Initialize(params, 1)
	s := m.NewSampler(params, workers)
	spins, r := make([]uint64, 4*4096), make([]float64, 4096)
	for _, complete := range []bool{false, true} {
		name := "learned"
		if complete {
			name = "complete"
		}
		b.Run(name, func(b *testing.B) {
			first, start := uint64(0), cpu()
			for b.Loop() {
				into := spins
				if !complete {
					into = nil
				}
				require.NoError(b, s.Sample(into, r, 1, first))
				first += uint64(len(r))
			}
			b.ReportMetric(float64(b.N*len(r))/(cpu()-start), "samples/cpu-s")
		})
	}
}

// BenchmarkTrainingStep takes steps of 1,024 samples of the 16×16 lattice on
// one thread.
func BenchmarkTrainingStep(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	m, err := hierarchy.NewSquare(hierarchy.Square{Side: 16, J: 1, Beta: 0.4407, Neighbours: 24, Hidden: 6})
	require.NoError(b, err)
	t := hierarchy.NewTrainer(b, m, hierarchy.Training{Steps: 1 << 30, Batch: 1024, LearningRate: 1e-4, Partners: 0.5}, 0, nil, workers)
	start := cpu()
	for b.Loop() {
		require.NoError(b, t.Step())
	}
	b.ReportMetric(1024*float64(b.N)/(cpu()-start), "samples/cpu-s")
}
