package gmm

import (
	"context"
	"fmt"
	"math"
	"slices"
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

// TestAxesOfFigures: each coordinate has an axis of its own, from the 2·10⁻⁴ quantile of its
// law to that from above and a twentieth more at both ends, wherever it is shown; and what is
// drawn on it is the target's density and that of N(0, I), or how many samples each cell has.
func TestAxesOfFigures(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	const z, n = 3.5400837992061458, 3000 // P(|x| > z) = 4·10⁻⁴
	mean, sigma := []float64{1, -2, 0.5, 7, 0, 3, 4}, []float64{0.5, 2, 1, 3, 1, 0.25, 1}
	law := func(x float64, i int) float64 { return normalDensity((x-mean[i])/sigma[i]) / sigma[i] }
	for _, c := range []struct {
		kind string
		dim  int
	}{{"realnvp", 2}, {"residual", 2}, {"realnvp", 7}} {
		config := normal(c.dim, 0, 1)
		axes := make([]figure.Axis, c.dim)
		for i := range axes {
			config.Components[0].Mean[i], config.Components[0].Covariance[i][i] = mean[i], sigma[i]*sigma[i]
			axes[i] = figure.Axis{Label: fmt.Sprintf("*x*_{%d}", i+1), Min: mean[i] - 1.1*z*sigma[i], Max: mean[i] + 1.1*z*sigma[i]}
		}
		near := func(want, got figure.Axis) {
			require.Equal(t, want.Label, got.Label)
			require.InDeltaSlice(t, []float64{want.Min, want.Max}, []float64{got.Min, got.Max}, 1e-6)
		}
		s, params := gaussianSystem(t, config, workers)
		if s.config.Generator.Kind = c.kind; c.kind == "residual" {
			sys, err := s.config.New(workers)
			require.NoError(t, err)
			s, params = sys.(*system), make([]float32, sys.NumParams())
			s.Initialize(params)
		}
		x := make([]float32, n*c.dim)
		require.NoError(t, s.NewSampler(params).DrawAll(t.Context(), s.states(x), nil))
		figures, err := s.Figures(t.Context(), params, n)
		require.NoError(t, err)
		require.Equal(t, []string{"distributions", fmt.Sprintf("Gaussian mixture, 1 components, *d* = %d", c.dim)}, []string{figures[0].Name, figures[0].Title})
		rows := figures[0].Rows
		if c.dim == 2 {
			planes := rows[0]
			require.Equal(t, []any{1.3, 3, "density"}, []any{planes.Height, len(planes.Panels), planes.Panels[2].Y.Label})
			target, generated := planes.Panels[0].Layers[0].Grid, planes.Panels[1].Layers[0].Grid
			for k, p := range planes.Panels[:2] {
				require.Equal(t, []any{[]string{"target", "generated"}[k], true, figure.Heat, figure.Contour, figure.Reference, "target's lines of equal density"},
					[]any{p.Title, p.Square, p.Layers[0].Mark, p.Layers[1].Mark, p.Layers[1].Role, p.Layers[1].Label})
				near(axes[0], p.X)
				near(axes[1], p.Y)
				g, highest := p.Layers[0].Grid, slices.Max(target.Z)
				require.Equal(t, []float64{p.X.Min, p.X.Max, p.Y.Min, p.Y.Max}, []float64{g.X0, g.X1, g.Y0, g.Y1})
				require.Equal(t, max(highest, slices.Max(generated.Z)), g.Max)
				require.Same(t, target, p.Layers[1].Grid)
				require.InDeltaSlice(t, []float64{0.02 * highest, 0.1 * highest, 0.3 * highest, 0.6 * highest, 0.9 * highest}, p.Layers[1].Y, 1e-12)
			}
			cells := map[string]int{"realnvp": 160, "residual": 64}[c.kind]
			require.Equal(t, []int{160, 160, cells, cells}, []int{target.NX, target.NY, generated.NX, generated.NY})
			for j := range target.NY {
				for i := range target.NX {
					u, v := target.X(i), target.Y(j)
					require.InDelta(t, law(u, 0)*law(v, 1), target.Z[j*target.NX+i], 1e-6)
					if c.kind == "realnvp" {
						require.InDelta(t, normalDensity(u)*normalDensity(v), generated.Z[j*generated.NX+i], 1e-6)
					}
				}
			}
			width, height := (axes[0].Max-axes[0].Min)/64, (axes[1].Max-axes[1].Min)/64
			want := make([]float64, len(generated.Z))
			for r := range n {
				for cell := range want {
					u, v := float64(x[2*r])-axes[0].Min-width*float64(cell%64), float64(x[2*r+1])-axes[1].Min-height*float64(cell/64)
					if u >= 0 && u < width && v >= 0 && v < height {
						want[cell] += 1 / (n * width * height)
					}
				}
			}
			if c.kind == "residual" {
				require.InDeltaSlice(t, want, generated.Z, 1e-6)
			}
			rows = rows[1:]
		}
		require.Len(t, rows, map[int]int{2: 1, 7: 2}[c.dim])
		for i := range min(c.dim, 6) {
			p := rows[i/3].Panels[i%3]
			near(axes[i], p.X)
			require.Equal(t, map[bool]string{true: "density"}[i == 0], p.Y.Label)
			area, points := p.Layers[0], p.Layers[1]
			require.Equal(t, []any{figure.Area, "target", 201, 64, "generated (3000 samples)"}, []any{area.Mark, area.Label, len(area.X), len(points.X), points.Label})
			require.InDeltaSlice(t, []float64{axes[i].Min, axes[i].Max}, []float64{area.X[0], area.X[200]}, 1e-6)
			for k, u := range area.X {
				require.InDelta(t, law(u, i), area.Y[k], 1e-6)
			}
			width := (axes[i].Max - axes[i].Min) / 64
			for k, u := range points.X {
				require.InDelta(t, axes[i].Min+(float64(k)+0.5)*width, u, 1e-6)
				in := 0
				for r := range n {
					if v := float64(x[r*c.dim+i]); v >= u-width/2 && v < u+width/2 {
						in++
					}
				}
				require.InDelta(t, float64(in)/n/width, points.Y[k], 1e-6)
			}
		}
	}
}
