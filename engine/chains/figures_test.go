package chains

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/stat"
)

// A remembering system's chains are x′ = ρ x + √(1−ρ²) ξ, whose integrated autocorrelation
// time is (1+ρ)/(1−ρ), and y = x³. It keeps what was seen of them.
type remembering struct {
	engine.System
	rho   float64
	steps []int       // before each look
	looks [][]float64 // x and y
}

func (s *remembering) NumParams() int        { return 3 }
func (s *remembering) Observables() []string { return []string{"x", engine.LogWeight, "y"} }

func (s *remembering) Walk([]float32, uint64, int) (Walk, error) { return nil, nil }

func (s *remembering) Chains(params []float32, n int) (Walk, error) {
	return &rememberingWalk{s, rand.New(rand.NewPCG(1, 2)), make([]float64, n), 0}, nil
}

type rememberingWalk struct {
	s     *remembering
	r     *rand.Rand
	x     []float64
	steps int
}

func (w *rememberingWalk) Advance(ctx context.Context, steps int) error {
	w.steps += steps
	kept := math.Pow(w.s.rho, float64(steps))
	for i := range w.x {
		w.x[i] = kept*w.x[i] + math.Sqrt(1-kept*kept)*w.r.NormFloat64()
	}
	return ctx.Err()
}

func (w *rememberingWalk) ObserveUnweighted(values []float64) { w.Observe(values) }

func (w *rememberingWalk) States([]byte, string) error { return errors.New("it has none") }

func (w *rememberingWalk) Own() (lo, hi int) { return 0, len(w.x) }

func (w *rememberingWalk) Observe(values []float64) {
	var look []float64
	for i, x := range w.x {
		copy(values[3*i:], []float64{x, math.NaN(), x * x * x})
		look = append(look, x, x*x*x)
	}
	w.s.looks, w.s.steps = append(w.s.looks, look), append(w.s.steps, w.steps)
}

// TestFiguresOfChains: values are what was seen, at the steps that were promised, and
// summaries those of the values.
func TestFiguresOfChains(t *testing.T) {
	for name, c := range map[string]struct {
		burnIn, spacing int
		rho             float64
		stages          int // of the pilot
	}{
		"given":      {7, 3, 0.5, 0},
		"half":       {HalfBurnIn, 3, 0.5, 0},
		"auto":       {7, AutoSpacing, 0.5, 1},
		"all auto":   {HalfBurnIn, AutoSpacing, 0.95, 2},
		"unresolved": {0, AutoSpacing, 0.99999, 5},
	} {
		t.Run(name, func(t *testing.T) {
			const chains, draws = 6, 50
			s := &remembering{rho: c.rho}
			calls := 0
			r, err := Run(t.Context(), s, Options{Chains: chains, Draws: draws, BurnIn: c.burnIn, Spacing: c.spacing}, func(done int) {
				calls++
				require.Equal(t, calls, done)
			})
			require.NoError(t, err)
			require.Equal(t, draws, calls)
			require.Len(t, s.looks, 256*c.stages+draws)
			spacing, steps, unresolved := c.spacing, max(0, c.burnIn), 0
			if c.stages > 0 {
				between := 1 << (2 * (c.stages - 1))
				var pilot []float64
				for _, look := range s.looks[256*(c.stages-1) : 256*c.stages] {
					pilot = append(pilot, look...)
				}
				longest := 0.0
				for _, s := range stat.Columns(pilot, chains, 2) {
					longest = max(longest, s.Time)
				}
				// Where ρ^spacing is e⁻⁴, with ρ = (τ−1)/(τ+1) between draws.
				spacing = int(math.Ceil(4 * float64(between) / math.Log((longest+1)/(longest-1))))
				if longest > 16 {
					unresolved = int(longest) * between
				}
				for i := range c.stages {
					for k := range 256 {
						require.Equal(t, steps+(256+k+1)<<(2*i), s.steps[256*i+k])
					}
					steps += 512 << (2 * i)
				}
			}
			if c.burnIn == HalfBurnIn {
				steps += draws * spacing / 2
			}
			require.Equal(t, []int{spacing, steps, unresolved}, []int{r.Spacing, r.BurnedIn, r.Unresolved})
			require.Equal(t, c.stages == 5, unresolved > 0)
			for i, at := range s.steps[256*c.stages:] {
				require.Equal(t, steps+(i+1)*spacing, at)
			}
			l := r.Levels[0]
			require.Equal(t, slices.Concat(s.looks[256*c.stages:]...), l.Values)
			for j, want := range stat.Columns(l.Values, chains, 2) {
				o := l.Observables[j]
				require.Equal(t, []string{"x", "y"}[j], o.Name)
				require.Equal(t, want, o.ChainSummary)
				require.InEpsilon(t, r.Seconds/want.EffectiveSize, o.SecondsPerEffective, 1e-12)
			}
			require.Equal(t, []int{0, chains}, []int{r.Lo, r.Hi})
			require.Nil(t, l.Swaps())
		})
	}
	require.Equal(t, 5, independent(1, 5))
	require.Equal(t, 1, independent(1+1e-12, 1))
	require.Equal(t, 0.25, *(&Level{Accepted: 2, Proposed: 8}).Swaps())
	for _, c := range []struct {
		rHat, size float64
		doubtful   bool
	}{{1.01, 400, false}, {1.0101, 400, true}, {1.01, 399.9, true}, {math.NaN(), 500, true}} {
		o := Observable{ChainSummary: stat.ChainSummary{RHat: c.rHat, EffectiveSize: c.size}}
		require.Equal(t, c.doubtful, o.Doubtful(), "%v", c)
	}
}
