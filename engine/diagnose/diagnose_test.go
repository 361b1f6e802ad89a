package diagnose

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/long"
)

// A normal is a system whose target has one or two modes, ±apart, in which x − mode is
// standard normal. A step forgets 1 − keep of that, in detailed balance; with crossing,
// it draws the mode anew with that probability.
type normal struct {
	engine.System
	apart, keep, cross float64
	chainCross         float64
	// What the generator draws: the mode + is that often, x off by so much.
	plus, off float64
	wide      float64 // and that much wider than 1
	weighted  bool
	tails     float64 // of the weights, of index 0.6 or shape
	shape     float64
	climb     float64 // how much ln π of two chains in the needle rises by a step, from −10⁶ on
	outside   bool    // ln π of some samples is −Inf
	needle    float64 // ln π/q where two of the chains are
	confined  bool    // all chains begin in the mode +
	blind     bool    // the weights are level whatever the generator draws
	seed      uint64
}

func (s *normal) Observables() []string {
	names := []string{"x", "plus", "log_density"}
	if s.weighted {
		names = append(names, engine.LogWeight)
	}
	return names
}

type normalWalk struct {
	s     *normal
	r     *rand.Rand
	x     []float64
	plus  []bool
	lost  int // the first states, that are in the needle
	steps int
	cross float64
	slow  time.Duration
}

func (s *normal) states(stream uint64, n int, plus, off, width, cross float64) *normalWalk {
	w := &normalWalk{s: s, r: rand.New(rand.NewPCG(s.seed, stream)), x: make([]float64, n), plus: make([]bool, n), cross: cross}
	for i := range w.x {
		w.x[i], w.plus[i] = off+width*w.r.NormFloat64(), w.r.Float64() < plus
	}
	return w
}

func (s *normal) Walk(_ []float32, _ uint64, n int) (chains.Walk, error) {
	return s.states(1, n, s.plus, s.off, 1+s.wide, s.cross), nil
}

func (s *normal) Chains(_ []float32, n int) (chains.Walk, error) {
	plus := 0.3
	if s.confined {
		plus = 1
	}
	w := s.states(2, n, plus, 0, 3, s.chainCross)
	if s.needle != 0 {
		w.lost = 2
	}
	return w, nil
}

func (w *normalWalk) Advance(ctx context.Context, steps int) error {
	fresh := math.Sqrt(1 - w.s.keep*w.s.keep)
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(w.slow)
		w.steps++
		for i := range w.x {
			w.x[i] = w.s.keep*w.x[i] + fresh*w.r.NormFloat64()
			if w.r.Float64() < w.cross {
				w.plus[i] = w.r.Float64() < 0.5
			}
		}
	}
	return nil
}

func (w *normalWalk) ObserveUnweighted(values []float64) { w.Observe(values) }

func (w *normalWalk) States([]byte, string) error { return errors.New("it has none") }

func (w *normalWalk) Own() (lo, hi int) { return 0, len(w.x) }

func (w *normalWalk) Observe(values []float64) {
	width := len(w.s.Observables())
	for i, x := range w.x {
		row := values[i*width:][:width]
		position, plus := x-w.s.apart, 0.0
		if w.plus[i] {
			position, plus = x+w.s.apart, 1
		}
		row[0], row[1], row[2] = position, plus, -x*x/2
		if w.s.outside && x > 2 {
			row[2] = math.Inf(-1)
		}
		if w.s.weighted {
			q := w.s.plus
			if !w.plus[i] {
				q = 1 - q
			}
			row[3] = math.Log(0.5/q) - x*x/2 + (x-w.s.off)*(x-w.s.off)/2
			if w.s.blind {
				row[3] = 0
			}
			if i < w.lost {
				row[3] = w.s.needle
				if w.s.climb > 0 {
					row[2] = -1e6 + w.s.climb*float64(w.steps)
				}
			}
			if w.s.tails > 0 {
				_, u := math.Modf(1e6 * math.Abs(x)) // as good as independent of x
				row[3] += math.Log1p(w.s.tails * math.Pow(u+1e-6, -max(w.s.shape, 0.6)))
			}
		}
	}
}

func brief() Options {
	o := Brief(0)
	o.Samples = 2048
	return o
}

func TestVerdicts(t *testing.T) {
	long.SkipShort(t)
	good := normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5}
	for name, c := range map[string]struct {
		change func(s *normal)
		want   Verdict
		says   string
	}{
		"exact":                         {func(*normal) {}, Trustworthy, "256 independent Markov chains find the same"},
		"one mode":                      {func(s *normal) { s.apart = 0 }, Trustworthy, "averages stay put"},
		"off":                           {func(s *normal) { s.off = 0.5 }, Refine, "usable after --refine"},
		"slow":                          {func(s *normal) { s.off, s.keep = 1.5, 0.999 }, Wrong, "has not come to rest"},
		"weights of modes":              {func(s *normal) { s.plus = 0.7 }, Refine, "--refine"},
		"a lost mode, crossed":          {func(s *normal) { s.plus, s.cross = 1, 0 }, Wrong, "modes are missing"},
		"a lost mode, not crossed":      {func(s *normal) { s.plus, s.cross, s.chainCross = 1, 0, 0 }, Unknown, "a mode may be missing"},
		"modes, not crossed":            {func(s *normal) { s.cross, s.chainCross = 0, 0 }, Unknown, "nothing crosses"},
		"off, not crossed":              {func(s *normal) { s.off, s.cross, s.chainCross = 0.5, 0, 0 }, Unknown, "cannot tell: as drawn, "},
		"a density":                     {func(s *normal) { s.weighted, s.cross, s.chainCross = true, 0, 0 }, Trustworthy, "weights"},
		"a density, tails":              {func(s *normal) { s.weighted, s.cross, s.chainCross, s.tails = true, 0, 0, 0.02 }, Trustworthy, "weights"},
		"a density, heavier tails":      {func(s *normal) { s.weighted, s.cross, s.chainCross, s.tails, s.shape = true, 0, 0, 0.02, 0.95 }, Unknown, "the largest weights have a tail of Pareto's k̂ = "},
		"a density, little tails":       {func(s *normal) { s.weighted, s.cross, s.chainCross, s.tails = true, 0, 0, 0.001 }, Trustworthy, "weights"},
		"a density, off":                {func(s *normal) { s.weighted, s.cross, s.chainCross, s.plus = true, 0, 0, 0.7 }, Wrong, "say that plus is off by 0.4"},
		"a density, a needle":           {func(s *normal) { s.weighted, s.cross, s.chainCross, s.needle = true, 0, 0, 11 }, Unknown, "2 of 256 independent Markov chains ended where the generator's density is too small for so many, and chains do not mix"},
		"a density, on their way":       {func(s *normal) { s.weighted, s.cross, s.chainCross, s.needle, s.climb = true, 0, 0, 11, 1 }, Trustworthy, "weights"},
		"a density, arrived":            {func(s *normal) { s.weighted, s.cross, s.chainCross, s.needle, s.climb = true, 0, 0, 11, 1e5 }, Unknown, "2 of 256"},
		"a density, a tail":             {func(s *normal) { s.weighted, s.cross, s.chainCross, s.needle = true, 0, 0, 8.95 }, Trustworthy, "weights"}, // two of 256 are beyond from ln √(2000·C(256, 2)) = 9.00 on
		"a density, a wide needle":      {func(s *normal) { s.weighted, s.cross, s.chainCross, s.needle = true, 0, 0, 9.05 }, Unknown, "2 of 256"},
		"a small mode beside others":    {func(s *normal) { s.weighted, s.needle = true, 11 }, Unknown, "a small mode or a tail is missing"},
		"a density, chains in one mode": {func(s *normal) { s.weighted, s.cross, s.chainCross, s.confined = true, 0, 0, true }, Trustworthy, "of the samples are where no chain came"},
		"a density against chains":      {func(s *normal) { s.weighted, s.blind, s.cross, s.plus = true, true, 0, 0.7 }, Unknown, "two pieces of evidence contradict each other"},
		"outside the support":           {func(s *normal) { s.outside, s.off = true, 0.5 }, Refine, "--refine"},
	} {
		s := good
		s.seed = 7
		c.change(&s)
		r, err := Run(context.Background(), &s, nil, brief())
		require.NoError(t, err)
		require.Equal(t, c.want, r.Verdict, "%s: %s", name, r.Sentence)
		require.Contains(t, r.Sentence, c.says, name)
		require.Equal(t, c.want == Trustworthy || c.want == Refine, r.Refine >= 0, name)
		if c.want == Refine {
			// What is left of the bias cannot be seen, nor is much more done than needed.
			x := r.Observables[0]
			left := math.Pow(s.keep, float64(r.Refine))
			require.Less(t, left*0.5, 0.1, "%s: %d steps", name, r.Refine)
			require.LessOrEqual(t, r.Refine, 64, name)
			require.InDelta(t, x.Chains.Mean, x.Refined, 6*math.Hypot(x.Chains.StandardError, x.Deviation/math.Sqrt(2048)))
		}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		var back Report
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, r.Sentence, back.Sentence)
		// Weights tell nothing of what samples lack.
		lacks := strings.Contains(r.Sentence, "ended where") || strings.Contains(r.Sentence, "contradict")
		require.Equal(t, lacks, r.Lacking != "", r.Sentence)
		if r.Weights != nil && lacks {
			require.Equal(t, r.Lacking, r.Weights.Warning)
			require.Nil(t, r.Observables[0].Weighted)
		}
	}
}

// TestSmallErrors: a variance that is off by less than three sampling floors of the samples that
// were measured is none that counts, however many are diagnosed.
func TestSmallErrors(t *testing.T) {
	long.SkipShort(t)
	for measured, want := range map[int]Verdict{70: Trustworthy, 500: Refine} {
		for _, seed := range []uint64{7, 8} {
			s := normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 0, plus: 0.5, wide: 0.15, seed: seed}
			o := brief()
			o.Evaluation = &measure.Evaluation{Samples: measured}
			r, err := Run(t.Context(), &s, nil, o)
			require.NoError(t, err)
			require.Equal(t, want, r.Verdict, "%d: %s", measured, r.Sentence)
		}
	}
}

// TestMeasuredWeights: where only weights tell, those of more samples are asked too.
func TestMeasuredWeights(t *testing.T) {
	long.SkipShort(t)
	s := normal{keep: 0.8, apart: 3, plus: 0.5, weighted: true, seed: 7}
	o := brief()
	measured := &Weights{Samples: 1 << 20, EffectiveSize: 1}
	o.Evaluation = &measure.Evaluation{Weights: measured}
	r, err := Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Trustworthy, r.Verdict, r.Sentence)
	measured.EffectiveSize, measured.Largest = 0.05, 1789
	r, err = Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Unknown, r.Verdict)
	require.Contains(t, r.Sentence, "1048576 samples have an effective size of 0.05, where those of 2048 have 1: a few weights, up to 1.79e+03 times the mean")
	measured.Warning = "a few weights stand out"
	r, err = Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Unknown, r.Verdict)
	require.Contains(t, r.Sentence, "but of 1048576 samples that were measured a few weights stand out, and independent Markov chains do not mix")
	s.cross, s.chainCross = 0.2, 0.2
	r, err = Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Unknown, r.Verdict, "chains may have missed what a few samples have met")
	require.Regexp(t, `Markov chains find the same, which would .*, but the weights of 1048576 samples have an effective size of 0\.05, where those of 2048 have 1: a few weights, up to 1\.79e\+03 times the mean, make the difference: less`, r.Sentence)
	measured.EffectiveSize = 0.5
	r, err = Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Trustworthy, r.Verdict, "chains tell")
	measured.EffectiveSize = 0.9
	r, err = Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Unknown, r.Verdict, "of what the generator covers, but not of less than they can see")
	require.Equal(t, -1, r.Refine)
	require.Regexp(t, `Markov chains find the same, which would show a difference of more than 0\.\d+ standard deviations, but of 1048576 samples that were measured a few weights stand out: less than that only weights would show$`, r.Sentence)
	measured.EffectiveSize = 0.899
	r, err = Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Trustworthy, r.Verdict)
}

// TestRevise: of what was measured a report takes the intervals back where it lacks a part of the
// target, and else makes them as wide as the tail of more weights, or what chains found.
func TestRevise(t *testing.T) {
	measured := func() *measure.Evaluation {
		e := &measure.Evaluation{Metrics: []measure.Metric{{Name: "energy"}}, Weights: &Weights{Samples: 100, LogZError: 0.3}}
		e.Metrics[0].Reweigh(measure.WeightedMean{Value: 1, StandardError: 3, Reach: 10})
		return e
	}
	for _, c := range []struct {
		report        Report
		standardError float64
	}{
		{Report{}, 3}, {Report{Weights: &Weights{Samples: 101, Unseen: 0.4}}, 5}, {Report{Weights: &Weights{Samples: 100, Unseen: 0.4}}, 3},
		{Report{Chains: &Chains{Unseen: 0.4}, Weights: &Weights{Samples: 101, Unseen: 0.2}}, 5},
		{Report{Many: &Weights{Samples: 101, Unseen: 0.4}, Weights: &Weights{Samples: 101, Unseen: 0.2}}, 5}, {Report{Many: &Weights{Samples: 100, Unseen: 0.4}}, 3},
		{Report{Many: &Weights{Samples: 101, LogZ: -math.Log1p(-0.8)}}, math.Sqrt(9 + 64)}, {Report{Many: &Weights{Samples: 100, LogZ: 9}}, 3},
		{Report{Many: &Weights{Samples: 101, LogZ: -math.Log1p(-0.59)}}, 3}, {Report{Many: &Weights{Samples: 101, LogZ: -9}}, 3},
	} {
		e := measured()
		c.report.Revise(e)
		require.InDelta(t, c.standardError, e.Metrics[0].Reweighted.StandardError, 1e-12)
		require.InDelta(t, c.standardError/10, e.Weights.LogZError, 1e-12)
		require.True(t, e.Weights.Trusted())
		c.report.Revise(nil)
		c.report.Revise(&measure.Evaluation{})
	}
	e := measured()
	(&Report{Lacking: "a mode is lost", Weights: &Weights{Unseen: 0.4}}).Revise(e)
	require.Nil(t, e.Metrics[0].Reweighted)
	require.Equal(t, "a mode is lost", e.Weights.Warning)
}

// TestRefuted: what was measured before takes a verdict back.
func TestRefuted(t *testing.T) {
	long.SkipShort(t)
	s := normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, seed: 7}
	far := measure.Metric{Name: "energy", Exact: 1, Error: 0.05, Floor: 0.01, Quantile: 0.02}
	unsettled, inexact := far, far
	unsettled.Unsettled, inexact.Uncertainty = true, 0.001
	for name, c := range map[string]struct {
		e    measure.Evaluation
		off  float64
		want Verdict
		says string
	}{
		"an exact reference":     {measure.Evaluation{Samples: 5000, Metrics: []measure.Metric{far}}, 0, Wrong, "wrong, as 5000 samples show: energy (0.05 where as many exact samples have 0.01, 5.0 times that)"},
		"a lost mode":            {measure.Evaluation{Lost: []string{"mode 2 is all but lost"}}, 0, Wrong, "mode 2 is all but lost"},
		"lost, after more steps": {measure.Evaluation{Lost: []string{"mode 2 is all but lost"}}, 0.5, Wrong, "mode 2 is all but lost"},
		"off, as drawn":          {measure.Evaluation{Metrics: []measure.Metric{far}}, 0.5, Refine, "usable after"},
		"an unsettled reference": {measure.Evaluation{Metrics: []measure.Metric{unsettled}}, 0, Trustworthy, "averages stay put"},
		"an inexact reference":   {measure.Evaluation{Metrics: []measure.Metric{inexact}}, 0, Trustworthy, "averages stay put"},
	} {
		s.off = c.off
		o := brief()
		o.Evaluation = &c.e
		r, err := Run(t.Context(), &s, nil, o)
		require.NoError(t, err)
		require.Equal(t, c.want, r.Verdict, "%s: %s", name, r.Sentence)
		require.Contains(t, r.Sentence, c.says, name)
		require.Equal(t, c.want != Wrong, r.Refine >= 0, name)
	}
}

// TestFalseAlarms: exact samples are trusted whatever the seed. An alarm has a
// probability of a thousandth in each of drift and chains; more than 5 of 200 have one
// of less than 1e-6 even if both reach it.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("diagnoses 200 times")
	}
	alarms := 0
	o := brief()
	o.Samples, o.Refine, o.Chains, o.Draws = 512, 16, 64, 32
	for seed := range uint64(200) {
		s := normal{keep: 0.5, cross: 0.5, chainCross: 0.5, apart: 2, plus: 0.5, seed: seed}
		r, err := Run(context.Background(), &s, nil, o)
		require.NoError(t, err)
		if r.Verdict == Wrong || r.Verdict == Refine {
			alarms++
		}
	}
	require.LessOrEqual(t, alarms, 5)
}

// TestLimits: time ends a diagnosis with what was seen, and a cancellation without.
func TestLimits(t *testing.T) {
	s := normal{keep: 0.99, cross: 0.001, chainCross: 0.001, apart: 3, plus: 0.5}
	slow := &slowed{normal: s}
	o := brief()
	o.Samples, o.Time = 256, 50*time.Millisecond
	r, err := Run(context.Background(), slow, nil, o)
	require.NoError(t, err)
	require.NotEmpty(t, r.Limits)
	require.Less(t, r.Steps, o.Refine)

	// A limit of moves is met, and the same is seen however slow a step is.
	o.Time, o.Moves = 0, 100_000
	w := &counted{normal: s, levels: 1}
	r, err = Run(context.Background(), w, nil, o)
	require.NoError(t, err)
	require.Len(t, r.Limits, 2)
	alone := r.Chains.Steps
	require.Equal(t, 128, r.Steps, "of 256 samples within 60 %, and not 256")
	require.Equal(t, 128*256, w.walked)
	require.LessOrEqual(t, w.walked+w.chained, o.Moves)
	require.Greater(t, w.walked+w.chained+2*w.last, o.Moves, "nor much less")

	// Chains at eight temperatures move eight states each, so they may take fewer steps.
	w = &counted{normal: s, levels: 8}
	o.Moves *= 4
	r, err = Run(context.Background(), w, nil, o)
	require.NoError(t, err)
	require.Less(t, r.Chains.Steps, 4*alone)
	require.LessOrEqual(t, w.walked+w.chained, o.Moves)
	require.Greater(t, w.walked+w.chained+2*w.last, o.Moves, "nor much less")

	o.Moves = 1
	r, err = Run(context.Background(), w, nil, o)
	require.NoError(t, err)
	require.Zero(t, r.Steps)
	require.NotNil(t, r.Chains, "the shortest chains are run whatever they cost")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Run(ctx, slow, nil, o)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Run(context.Background(), struct{ engine.System }{}, nil, o)
	require.ErrorContains(t, err, "cannot be walked")
	for key, change := range map[string]func(o *Options){
		"samples": func(o *Options) { o.Samples = 1 }, "max-refine": func(o *Options) { o.Refine = 3 },
		"moves": func(o *Options) { o.Moves = -1 }, "chains": func(o *Options) { o.Chains = 1 }, "draws": func(o *Options) { o.Draws = 1 }, "max-time": func(o *Options) { o.Time = -1 },
	} {
		o := Full()
		require.NoError(t, o.Validate())
		change(&o)
		require.ErrorContains(t, o.Validate(), key+":")
	}
}

// A counted normal counts the moves of its states.
type counted struct {
	normal
	levels                int // of the chains
	walked, chained, last int
}

func (s *counted) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	w, err := s.normal.Walk(params, first, n)
	return &countedWalk{w, 1, n, func(moves int) { s.walked += moves }}, err
}

func (s *counted) Chains(params []float32, n int) (chains.Walk, error) {
	w, err := s.normal.Chains(params, n)
	return &countedWalk{w, s.levels, n * s.levels, func(moves int) { s.chained, s.last = s.chained+moves, moves*48 }}, err
}

type countedWalk struct {
	chains.Walk
	levels int
	states int // with those of all levels
	count  func(moves int)
}

func (w *countedWalk) Levels() int { return w.levels }

func (w *countedWalk) Advance(ctx context.Context, steps int) error {
	w.count(steps * w.states)
	return w.Walk.Advance(ctx, steps)
}

type slowed struct{ normal }

func (s *slowed) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	w := s.states(1, n, s.plus, s.off, 1, s.cross)
	w.slow = time.Millisecond
	return w, nil
}

func (s *slowed) Chains(params []float32, n int) (chains.Walk, error) {
	w := s.states(2, n, 0.3, 0, 3, s.chainCross)
	w.slow = time.Millisecond
	return w, nil
}

// A vector is a normal beside which states have twelve coordinates that no observable
// names. One of the generator's is half as wide until the fourth step.
type vector struct {
	normal
	narrow int // which, −1 if none is
}

type vectorWalk struct {
	chains.Walk
	r      *rand.Rand
	x      []float32
	steps  int
	narrow int
}

const vectorDim = 12

func (s *vector) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	w, err := s.normal.Walk(params, first, n)
	return &vectorWalk{w, rand.New(rand.NewPCG(s.seed, 3)), make([]float32, n*vectorDim), 0, s.narrow}, err
}

func (s *vector) Chains(params []float32, n int) (chains.Walk, error) {
	w, err := s.normal.Chains(params, n)
	return &vectorWalk{w, rand.New(rand.NewPCG(s.seed, 4)), make([]float32, n*vectorDim), 0, -1}, err
}

func (w *vectorWalk) Advance(ctx context.Context, steps int) error {
	w.steps += steps
	return w.Walk.Advance(ctx, steps)
}

func (w *vectorWalk) Shape(uint64) {} // of few coordinates

func (w *vectorWalk) LogDensities() []float64 { return nil }

func (w *vectorWalk) Moving() []float32 { return w.Coordinates() }

func (w *vectorWalk) Coordinates() []float32 {
	for i := range w.x {
		w.x[i] = float32(w.r.NormFloat64())
		if i%vectorDim == w.narrow && w.steps < 4 {
			w.x[i] /= 2
		}
	}
	return w.x
}

// TestCoordinates: what no observable shows of a coordinate, chains that mix do.
func TestCoordinates(t *testing.T) {
	for narrow, want := range map[int]Verdict{-1: Trustworthy, 10: Refine} {
		s := vector{normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, seed: 7}, narrow}
		r, err := Run(t.Context(), &s, nil, brief())
		require.NoError(t, err)
		require.Equal(t, want, r.Verdict, r.Sentence)
		if want == Refine {
			require.Contains(t, r.Sentence, "--refine 4: as drawn, the spread of coordinate 10 differs from that of chains")
		}
	}
	s := vector{normal{keep: 0.8, apart: 3, plus: 0.5, off: 0.1, weighted: true, seed: 7}, -1}
	o := brief()
	o.Evaluation = &measure.Evaluation{Samples: 20_000}
	r, err := Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Greater(t, r.Weights.Samples, o.Samples)
	require.Contains(t, r.Sentence, "say that x is off by 0.03", "and no coordinate")
}

// TestFigure draws what drifts most first.
func TestFigure(t *testing.T) {
	s := normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, off: 0.5}
	r, err := Run(context.Background(), &s, nil, brief())
	require.NoError(t, err)
	p := r.Figure().Rows[0].Panels[0]
	require.Len(t, p.Layers, 2*drawn+1)
	points := p.Layers[1]
	require.Contains(t, []string{"x", "log density"}, points.Label)
	require.InDelta(t, 1, points.X[0], 0.2)
	require.Len(t, points.Y, len(points.X))
	for i := range points.X {
		require.Less(t, points.Low[i], points.High[i])
	}
}

// TestWeighsAsManyAsItTakes: a bias of three sampling floors of the measured samples shows, though
// fewer are diagnosed, and where weights vary more samples are weighed, as many as moves allow.
func TestWeighsAsManyAsItTakes(t *testing.T) {
	long.SkipShort(t)
	s := normal{keep: 0.8, apart: 3, plus: 0.5, off: 0.1, weighted: true, seed: 7}
	o := brief()
	r, err := Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Trustworthy, r.Verdict, r.Sentence)
	require.Equal(t, o.Samples, r.Weights.Samples)
	o.Evaluation = &measure.Evaluation{Samples: 20_000}
	r, err = Run(t.Context(), &s, nil, o)
	require.NoError(t, err)
	require.Equal(t, Wrong, r.Verdict, r.Sentence)
	require.Contains(t, r.Sentence, "say that x is off by 0.03")

	s.off, s.tails, s.shape = 0, 0.1, 0.4
	for moves, want := range map[int]int{0: 1 << 16, 1 << 21: 1 << 16, 1 << 17: 1 << 13, 1 << 15: 1 << 11} {
		o.Moves = moves
		r, err = Run(t.Context(), &s, nil, o)
		require.NoError(t, err)
		require.Equal(t, want, r.Weights.Samples, "%d moves: %s", moves, r.Sentence)
	}
}
