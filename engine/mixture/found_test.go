package mixture

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/pool"
)

// TestFound: scouts find what they found, by annealing and by settling, where they are told
// where to look and where not.
func TestFound(t *testing.T) {
	systemtest.GoldenParts(t, "found", func(workers *pool.Pool, add func(string, any)) {
		for _, target := range []struct {
			dim   int
			logPi func(x []float32) float64
		}{
			{1, func(x []float32) float64 { return -math.Pow(float64(x[0])*float64(x[0])-9, 2) }},
			{3, func(x []float32) float64 { return chain(x, 4, 0.9, 0.1) }},
			{5, func(x []float32) float64 {
				return max(chain(x, 3, 0.5, 1), 1+chain(x, -3, -0.5, 0.5)) - math.Abs(float64(x[0]))
			}},
		} {
			d, own := target.dim, each(target.dim, target.logPi)
			center, scale := make([]float64, d), make([]float64, d)
			for i := range scale {
				center[i], scale[i] = 0.5, 5
			}
			for i, s := range []Scout{
				{Population: 130, Moves: 3, Seed: 1},
				{Population: 130, Moves: 2, Sweeps: 2, Center: center, Scale: scale, Seed: 2, Stream: 1},
				{Population: 64, Settle: true, Sums: d > 1, Seed: 3},
				{Population: 64, Settle: true, Center: center, Scale: scale, Seed: 4},
			} {
				found, err := s.Run(t.Context(), d, own, workers)
				require.NoError(t, err)
				part := fmt.Sprint(d, i)
				add("found "+part, found)
				stream := rng.Stream(5, rng.Scouting, 1)
				add("look "+part, found.Look(t.Context(), d, &stream))
			}
		}
	})
}
