package hierarchy_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// cpu returns the seconds of processor time that the program has used.
func cpu() float64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkRecipe trains by the recipe on one thread and reports the processor
// time that it took, the effective sample size, the divergence from the target
// and the error of ln Z in standard errors where Kaufman's is known, and the
// rate of complete samples. With -benchtime 1x each row is one training:
//
//	go test -run - -bench 'Recipe/side=16/beta=0.4407/field=0/seed=1' -benchtime 1x ./engine/spins/hierarchy
func BenchmarkRecipe(b *testing.B) {
	for _, side := range []int{8, 16, 24, 32, 64, 128} {
		for _, beta := range []float64{0.28, 0.4407, 0.6} {
			for _, field := range []float64{0, 0.1} {
				for seed := range uint64(5) {
					c := hierarchy.Square{Side: side, J: 1, Beta: beta, Field: field, Neighbours: 28, Hidden: 4, Rotations: true}
					name := fmt.Sprintf("side=%d/beta=%v/field=%v/seed=%d", side, beta, field, seed+1)
					b.Run(name, func(b *testing.B) { benchmarkRecipe(b, c, seed+1) })
				}
			}
		}
	}
}

func benchmarkRecipe(b *testing.B, c hierarchy.Square, seed uint64) {
	workers := pool.New(1)
	defer workers.Close()
	for b.Loop() {
		start := cpu()
		m, params := hierarchy.Follow(b, c, seed, func(*hierarchy.Training) {}, workers)
		b.ReportMetric(cpu()-start, "cpu-s")
		weigh(b, m, params, workers, func() float64 {
			exact, err := ising.Kaufman(c.Side, c.J, c.Beta)
			if err != nil || c.Field != 0 {
				return math.NaN()
			}
			return exact.LogZ
		}())
	}
}

func weigh(b *testing.B, m *hierarchy.Model, params []float32, workers *pool.Pool, logZ float64) {
	n := 1 << 16
	if m.Spins() > 10_000 {
		n = 1 << 14
	}
	r, spins := make([]float64, n), make([]uint64, n*((m.Spins()+63)/64))
	s := m.NewSampler(params, workers)
	start := cpu()
	require.NoError(b, s.Sample(spins, r, 99, 0))
	b.ReportMetric(float64(n)/(cpu()-start), "samples/s")
	e := measure.Weigh(r)
	b.ReportMetric(e.EffectiveSize, "ESS")
	b.ReportMetric(e.LogZ, "lnZ")
	b.ReportMetric(e.LogZError, "±lnZ")
	if !math.IsNaN(logZ) {
		b.ReportMetric((e.LogZ-logZ)/e.LogZError, "σ")
		b.ReportMetric(e.KL-e.LogZ+logZ, "KL")
	} else {
		b.ReportMetric(e.KL, "KL")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGlass is BenchmarkRecipe for ±J glasses.
func BenchmarkGlass(b *testing.B) {
	for _, side := range []int{8, 16} {
		for seed := range uint64(5) {
			b.Run(fmt.Sprintf("side=%d/seed=%d", side, seed+1), func(b *testing.B) {
				workers := pool.New(1)
				defer workers.Close()
				g := hierarchy.Glass(side, seed+1, 1)
				logZ := math.NaN()
				if side <= 8 {
					logZ = hierarchy.TransferLogZ(side, g)
				}
				graph := hierarchy.Graph{Target: g, Neighbours: 24, Inputs: hierarchy.Reached, Hidden: 16}
				m, err := hierarchy.NewGraph(graph, workers)
				require.NoError(b, err)
				for b.Loop() {
					start := cpu()
					training := hierarchy.GraphTraining(graph.Order, m.Learned())
					t := hierarchy.NewTrainer(b, m, training, seed+1, nil, workers)
					for range training.Steps {
						require.NoError(b, t.Step())
					}
					b.ReportMetric(cpu()-start, "cpu-s")
					weigh(b, m, t.Params(), workers, logZ)
				}
			})
		}
	}
}
