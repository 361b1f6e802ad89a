package revgen_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// starts resolves the best preset for a target and takes a step of its training, in
// small batches and with a small population.
func starts(t *testing.T, system string, target ...string) {
	t.Helper()
	small := []string{"training.batch=64"}
	if system != "ising" {
		small = append(small, "generator.scout.population=64", "generator.scout.moves=1")
	}
	cfg, err := revgen.Configure(system, "best", slices.Concat(target, small)...)
	require.NoError(t, err, target)
	workers := pool.New(1)
	defer workers.Close()
	trainer, err := engine.NewTrainer(cfg, workers)
	require.NoError(t, err, target)
	require.NoError(t, trainer.Step(), target)
}

// The best preset with nothing but a target starts for every lattice of up to 32 rows,
// at the corners of the couplings, fields and temperatures, and resolves for all.
func TestBestOfLattices(t *testing.T) {
	long.SkipShort(t)
	for l := 2; l <= 32; l++ {
		for _, j := range []float64{-1, 0, 1} {
			for _, h := range []float64{0, -0.3} {
				for _, beta := range []float64{0, 0.44, 1} {
					target := []string{fmt.Sprint("target.l=", l), fmt.Sprint("target.j=", j), fmt.Sprint("target.h=", h), fmt.Sprint("target.beta=", beta)}
					_, err := revgen.Configure("ising", "best", target...)
					require.NoError(t, err, target)
					if slices.Contains([]int{2, 3, 4, 5, 8, 17, 31, 32}, l) && (beta == 1 || l < 6) {
						starts(t, "ising", target...)
					}
				}
			}
		}
	}
}

// So it does for mixtures of one to six Gaussians in up to 32 dimensions.
func TestBestOfMixtures(t *testing.T) {
	long.SkipShort(t)
	type component struct {
		Weight     float64     `json:"weight"`
		Mean       []float64   `json:"mean"`
		Covariance [][]float64 `json:"covariance"`
	}
	for _, d := range []int{1, 2, 3, 32} {
		for n := 1; n <= 6; n++ {
			var all []component
			for k := range n {
				c := component{Weight: 1 / float64(n)}
				for i := range d {
					c.Mean = append(c.Mean, float64((k+1)*(i+1)%7)-3)
					c.Covariance = append(c.Covariance, make([]float64, d))
					c.Covariance[i][i] = 0.5 + float64(k+i)/10
				}
				all = append(all, c)
			}
			text, err := json.Marshal(all)
			require.NoError(t, err)
			starts(t, "gmm", "target.components="+string(text))
		}
	}
}

// And for one to eight wells, wide and narrow.
func TestBestOfWells(t *testing.T) {
	long.SkipShort(t)
	var all []float64
	for _, mu := range []float64{0.2, 1, 2, 4, 9, 16, 25, 64} {
		all = append(all, mu)
		text, err := json.Marshal(all)
		require.NoError(t, err)
		starts(t, "hybrid", "target.mu="+string(text))
	}
}
