package gmm

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/pool"
)

// TestFigures shows N(0, I) as the generator of all kinds and dimensions.
func TestFigures(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, kind := range []string{"realnvp", "residual"} {
		for _, d := range []int{2, 3} {
			s, params := gaussianSystem(t, normal(d, 0, 1), workers)
			if kind == "residual" {
				s.config.Generator.Kind = kind
				sys, err := s.config.New(workers)
				require.NoError(t, err)
				s, params = sys.(*system), make([]float32, sys.NumParams())
				s.Initialize(params)
			}
			const n = 50_000
			figures, err := s.Figures(context.Background(), params, n)
			require.NoError(t, err)
			require.Len(t, figures, 1)
			rows := figures[0].Rows
			require.Len(t, rows, map[int]int{2: 2, 3: 1}[d])
			if d == 2 {
				planes := rows[0].Panels
				require.Len(t, planes, 3)
				target, generated := planes[0].Layers[0].Grid, planes[1].Layers[0].Grid
				require.Equal(t, target.Max, generated.Max, "one scale of colours")
				peak := 1 / (2 * math.Pi)
				for j := range generated.NY {
					for i := range generated.NX {
						want := s.target.Density([]float64{generated.X(i), generated.Y(j)})
						tolerance := 1e-6
						if kind == "residual" {
							tolerance = 0.55 * peak // six standard errors of a cell
						}
						require.InDelta(t, want, generated.Z[j*generated.NX+i], tolerance)
					}
				}
			}
			marginals := rows[len(rows)-1].Panels
			require.Len(t, marginals, d)
			for _, p := range marginals {
				area, points := p.Layers[0], p.Layers[1]
				require.Equal(t, []figure.Role{figure.Target, figure.Generated}, []figure.Role{area.Role, points.Role})
				for i, x := range points.X {
					require.InDelta(t, normalDensity(x), points.Y[i], 0.02)
				}
			}
		}
	}
	s, params := gaussianSystem(t, paperTarget(), workers)
	params[0] = float32(math.NaN())
	_, err := s.Figures(context.Background(), params, 100)
	require.ErrorContains(t, err, "not finite")
}
