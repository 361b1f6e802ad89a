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
	"github.com/revgen/revgen/engine/rng"
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
	require.Equal(t, 5, independentSpacing(1, 5))
	require.Equal(t, 1, independentSpacing(1+1e-12, 1))
	require.Equal(t, 512_000_000, independentSpacing(1e6, 256))
	require.Equal(t, MaxSteps, independentSpacing(1e7, 256))
	far := &remembering{rho: 0.5}
	r, err := Run(t.Context(), far, Options{Chains: 1, Draws: 4, BurnIn: HalfBurnIn, Spacing: MaxSteps}, nil)
	require.NoError(t, err)
	require.Equal(t, MaxSteps, r.BurnedIn, "and not twice as many")
	require.Equal(t, 0.25, *(&Level{Accepted: 2, Proposed: 8}).Swaps())
	for _, c := range []struct {
		rHat, size float64
		doubtful   bool
	}{{1.01, 400, false}, {1.0101, 400, true}, {1.01, 399.9, true}, {math.NaN(), 500, true}} {
		o := Observable{ChainSummary: stat.ChainSummary{RHat: c.rHat, EffectiveSize: c.size}}
		require.Equal(t, c.doubtful, o.Doubtful(), "%v", c)
	}
}

// A broken system gives an error in place of a call of one kind, the one of that number.
type broken struct {
	engine.System
	engine.Sampler
	names  []string
	at     string
	number int
	calls  map[string]int
}

var errBroken = errors.New("out of order")

func (s *broken) call(at string) error {
	if s.calls[at]++; at == s.at && s.calls[at] == s.number {
		return errBroken
	}
	return nil
}

func (s *broken) NumParams() int                            { return 3 }
func (s *broken) Observables() []string                     { return s.names }
func (s *broken) Interrupt(error)                           {}
func (s *broken) Close() error                              { return nil }
func (s *broken) Err() error                                { return s.call("look") }
func (s *broken) Walk([]float32, uint64, int) (Walk, error) { return nil, nil }
func (s *broken) Formats() []engine.Format {
	return []engine.Format{{Name: "refined", Unrefined: true, RowBytes: 1}, {Name: "bytes", RowBytes: 2}, {Name: "wide", RowBytes: 1 << 40}}
}

func (s *broken) Chains(params []float32, n int) (Walk, error) {
	return brokenWalk{s, n}, s.call("chains")
}

func (s *broken) Ladder(betas []float64, n int) (Ladder, error) {
	return brokenLadder{brokenWalk{s, n}}, s.call("ladder")
}

type brokenLadder struct{ brokenWalk }

func (l brokenLadder) Level(int) Observed                    { return l.brokenWalk }
func (l brokenLadder) Swaps(int) (accepted, proposed uint64) { return 0, 0 }

type brokenWalk struct {
	s *broken
	n int
}

func (w brokenWalk) Advance(context.Context, int) error { return w.s.call("step") }
func (w brokenWalk) Own() (lo, hi int)                  { return 0, w.n }
func (w brokenWalk) Observe(values []float64)           { w.ObserveUnweighted(values) }
func (w brokenWalk) ObserveUnweighted(values []float64) {
	for i := range values {
		values[i] = float64((7*i+3*w.s.calls["step"])%5) / 5
	}
}

func (w brokenWalk) States(dst []byte, format string) error {
	for i := range dst {
		dst[i] = byte(10*w.s.calls["step"] + i)
	}
	return w.s.call("states")
}

// TestErrorsOfSystems: whatever a system cannot do ends a run with its error.
func TestErrorsOfSystems(t *testing.T) {
	s := &broken{names: []string{"x", "y"}}
	plain := Options{Chains: 2, Draws: 5, BurnIn: 3, Spacing: 2, States: "bytes"}
	pilot, ladder := plain, plain
	pilot.Spacing, pilot.BurnIn = AutoSpacing, HalfBurnIn
	ladder.Ladder = []float64{0.1, 0.2}
	for _, c := range []struct {
		o      Options
		at     string
		number int
	}{
		{plain, "chains", 1}, {plain, "step", 1}, {plain, "step", 2}, {plain, "step", 6}, {plain, "look", 1}, {plain, "look", 5}, {plain, "states", 1}, {plain, "states", 5},
		{pilot, "step", 1}, {pilot, "step", 2}, {pilot, "step", 257}, {pilot, "step", 258}, {pilot, "look", 1}, {pilot, "look", 256}, {pilot, "look", 257},
		{ladder, "ladder", 1}, {ladder, "look", 2}, {ladder, "states", 2},
	} {
		s.at, s.number, s.calls = c.at, c.number, map[string]int{}
		_, err := Run(t.Context(), s, c.o, nil)
		require.ErrorIs(t, err, errBroken, c)
		require.Equal(t, c.number, s.calls[c.at], "no call after that")
		var option *OptionError
		require.Equal(t, c.at == "ladder", errors.As(err, &option))
		if option != nil {
			require.EqualError(t, err, "ladder: out of order")
			require.ErrorIs(t, option.Unwrap(), errBroken)
		}
	}
	s.at, s.calls = "", map[string]int{}
	r, err := Run(t.Context(), s, plain, nil)
	require.NoError(t, err)
	// Two chains of two bytes: those of a chain's draws stand beside each other.
	require.Equal(t, []byte{20, 21, 30, 31, 40, 41, 50, 51, 60, 61, 22, 23, 32, 33, 42, 43, 52, 53, 62, 63}, r.Levels[0].States)
	require.Equal(t, "bytes", r.Format.Name)

	none := *s
	none.names = []string{engine.LogWeight}
	_, err = Run(t.Context(), &none, plain, nil)
	require.Equal(t, ErrNone, err)
	for want, change := range map[string]func(o *Options){
		`format: "refined" is not one of bytes, wide`:       func(o *Options) { o.States = "refined" },
		"draws: 10 states take 1.02e+04 GiB, and there are": func(o *Options) { o.States = "wide" },
		"chains: 0 is not between":                          func(o *Options) { o.Chains = 0 },
	} {
		o := plain
		change(&o)
		_, err := Run(t.Context(), s, o, nil)
		require.ErrorContains(t, err, want)
	}
	started := plain
	started.Start = func(params []float32, n int) (Walk, error) {
		require.Equal(t, []int{3, 2}, []int{len(params), n})
		return nil, errBroken
	}
	_, err = Run(t.Context(), s, started, nil)
	require.Equal(t, errBroken, err)
	_, err = Run(t.Context(), &remembering{}, plain, nil)
	require.EqualError(t, err, "the system has no chains of its own that give their states")
}

// TestStrides: steps are taken in slices with streams of their own, until the context ends or
// there are no more streams.
func TestStrides(t *testing.T) {
	s := Strides{Seed: 3, Purpose: rng.SampleTransition, Slice: 4, Calls: math.MaxUint32 - 3}
	var taken []int
	take := func(ctx context.Context, steps int) error {
		return s.Take(ctx, steps, func(stream rng.Counter, steps int) {
			require.Equal(t, rng.Stream(3, rng.SampleTransition, s.Calls), stream)
			taken = append(taken, steps)
		})
	}
	require.NoError(t, take(t.Context(), 0))
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, take(ended, 0))
	require.ErrorIs(t, take(ended, 1), context.Canceled)
	require.NoError(t, take(t.Context(), 4))
	require.NoError(t, take(t.Context(), 5))
	require.Equal(t, []int{4, 4, 1}, taken)
	require.EqualError(t, take(t.Context(), 1), "the walk's random numbers have come to their end")
	require.Len(t, taken, 3)
}

// A waiting system takes steps until it is interrupted.
type waiting struct {
	*broken
	interrupted chan error
}

func (s waiting) Interrupt(cause error) { s.interrupted <- cause }

func (s waiting) Chains([]float32, int) (Walk, error) {
	return waitingWalk{brokenWalk{s.broken, 2}, s}, nil
}

type waitingWalk struct {
	brokenWalk
	s waiting
}

func (w waitingWalk) Advance(context.Context, int) error { return <-w.s.interrupted }

// TestRunsThatEnd: the end of a context interrupts a target while chains run, with the context's error, and not
// afterwards.
func TestRunsThatEnd(t *testing.T) {
	s := waiting{&broken{names: []string{"x"}, calls: map[string]int{}}, make(chan error, 1)}
	ctx, end := context.WithCancel(t.Context())
	end()
	_, err := Run(ctx, s, Options{Chains: 2, Draws: 4, Spacing: 1}, nil)
	require.Equal(t, context.Canceled, err)
	ctx, end = context.WithCancel(t.Context())
	for range cap(s.interrupted) {
		s.interrupted <- errBroken
	}
	_, err = Run(ctx, s, Options{Chains: 2, Draws: 4, Spacing: 1}, nil)
	require.Equal(t, errBroken, err)
	end()
	require.Empty(t, s.interrupted)
}
