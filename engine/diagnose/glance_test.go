package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// A glancing system's states are vectors of one coordinate, and it has chains from far away. It counts
// the steps of what it starts.
type glancing struct {
	normal
	stuck   bool      // its chains rest where ln π is low
	below   float64   // how much lower ln π is of chains in the needle
	answers []float64 // of a target outside of the process
	needle  uint64    // the sample that lies in a mode that is lost, 0 for none
	err     error
	steps   map[string][]int // of each walk, by its kind
}

type glancingWalk struct {
	chains.Walk
	s     *glancing
	logs  []float64
	steps *int
	rests bool
	first uint64 // sample
}

func (s *glancing) started(kind string, w chains.Walk, err error) (chains.Walk, error) {
	s.steps[kind] = append(s.steps[kind], 0)
	_, hi := w.Own()
	v := &glancingWalk{w, s, make([]float64, hi), &s.steps[kind][len(s.steps[kind])-1], s.stuck && kind != "walk", 1}
	v.look()
	return v, err
}

func (s *glancing) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	w, err := s.normal.Walk(params, first, n)
	v, err := s.started("walk", w, err)
	v.(*glancingWalk).first = first
	return v, err
}

func (s *glancing) Chains(params []float32, n int) (chains.Walk, error) {
	w, err := s.normal.Chains(params, n)
	return s.started("chains", w, err)
}

func (s *glancing) Prospect(params []float32, n int, _ []float64) (chains.Walk, error) {
	w, err := s.normal.Chains(params, n)
	return s.started("prospectors", w, err)
}

func (s *glancing) Probe() ([]float64, error) { return s.answers, s.err }
func (s *glancing) Key() string               { return "" }

func (w *glancingWalk) look() {
	stride := len(w.s.Observables())
	values := make([]float64, len(w.logs)*stride)
	w.Observe(values)
	for i := range w.logs {
		if w.logs[i] = values[i*stride+2]; w.rests {
			w.logs[i] = -100
		}
		if i < w.Walk.(*normalWalk).lost {
			w.logs[i] -= w.s.below
		}
	}
}

func (w *glancingWalk) Observe(values []float64) {
	w.Walk.Observe(values)
	names := w.s.Observables()
	if i := w.s.needle - w.first; i < uint64(len(values)/len(names)) {
		values[int(i)*len(names)+slices.Index(names, engine.LogWeight)] += 12
	}
}

func (w *glancingWalk) Advance(ctx context.Context, steps int) error {
	*w.steps += steps
	defer w.look()
	return w.Walk.Advance(ctx, steps)
}

func (w *glancingWalk) Shape(uint64)            {}
func (w *glancingWalk) LogDensities() []float64 { return w.logs }
func (w *glancingWalk) Moving() []float32       { return w.Coordinates() }
func (w *glancingWalk) Coordinates() []float32 {
	return number.Narrow(w.Walk.(*normalWalk).x)
}

// TestSearches: of a target that is cheap as many more samples are weighed as moves allow, and one that
// lies where a mode is lost leaves the verdict open; the diagnosis that follows does not weigh them again.
func TestSearches(t *testing.T) {
	const last = Fresh + 256*(1<<15/6/256) - 1
	for name, c := range map[string]struct {
		needle  uint64
		answers []float64
		want    Verdict
		walks   int // whose weights alone are looked at
	}{
		"none": {0, nil, Trustworthy, 1<<15/6/256 - 1}, "the last": {last, nil, Unknown, 1<<15/6/256 - 1},
		"beyond": {last + 1, nil, Trustworthy, 1<<15/6/256 - 1}, "answered": {last, []float64{1}, Trustworthy, 0},
	} {
		s := &glancing{normal: normal{keep: 0.8, apart: 3, plus: 0.5, weighted: true, seed: 3}, needle: c.needle, answers: c.answers, steps: map[string][]int{}}
		o := Options{Samples: 512, First: Fresh, Refine: 64, Chains: 8, Draws: 16, Need: true, Moves: 1 << 15, Evaluation: &measure.Evaluation{Samples: 2000, Weights: &measure.Weights{Samples: 20_000, EffectiveSize: 1}}}
		r, err := Run(t.Context(), s, nil, o)
		require.NoError(t, err)
		require.Equal(t, c.want, r.Verdict, "%s: %s", name, r.Sentence)
		resting := 0
		for _, steps := range s.steps["walk"] {
			if steps == 0 {
				resting++
			}
		}
		require.Equal(t, c.walks, resting, name)
		if c.want == Unknown {
			require.Contains(t, r.Sentence, "the weights of 5376 samples have an effective size of ", name)
		}
	}
}

// TestSearchesAmongKnown: the samples whose weights are known already are among them.
func TestSearchesAmongKnown(t *testing.T) {
	d := &diagnosis{options: Options{Samples: 4, Moves: 4 * searchMoves}, cheap: true, logs: []float64{0, 0, 0, math.Log(4)}, weights: &Weights{EffectiveSize: 1}}
	require.NoError(t, d.search(t.Context()))
	require.Equal(t, 4, d.many.Samples)
	require.InEpsilon(t, 49./4/19, d.many.EffectiveSize, 1e-12)
}

// TestSearchesFewer: those of a generator of many parameters take longer, so that fewer are drawn.
func TestSearchesFewer(t *testing.T) {
	s := &normal{plus: 0.5, weighted: true}
	drawn := func(parameters int) int {
		d := &diagnosis{options: Options{Samples: 4, Moves: 1 << 12}, cheap: true, logs: make([]float64, 4), params: make([]float32, parameters),
			observer: s, observables: s.Observables(), weights: &Weights{EffectiveSize: 1}}
		require.NoError(t, d.search(t.Context()))
		return d.many.Samples
	}
	require.Equal(t, (1<<12)/searchMoves/4*4, drawn(paramsPerMove-1))
	require.Equal(t, (1<<12)/(searchMoves+3)/4*4, drawn(3*paramsPerMove))
}

// TestGlances: where weights are level two steps of half of the samples are enough, if all chains come
// to where samples are: after all steps where these are cheap and leave those from far away all of
// theirs, or sooner. Otherwise the same chains go
// on in a diagnosis of all samples, as one does that is not asked for a glance.
func TestGlances(t *testing.T) {
	level := &measure.Weights{Samples: 20_000, EffectiveSize: 1}
	heavy := &measure.Weights{Samples: 20_000, EffectiveSize: 0.98}
	scarce, unusable := &measure.Weights{Samples: 20_000, EffectiveSize: 0.89}, &measure.Weights{Samples: 20_000, EffectiveSize: 0.98, Warning: "bad"}
	for name, c := range map[string]struct {
		need    bool
		weights *measure.Weights
		answers []float64
		stuck   bool
		samples int
		most    int // steps of the chains' approach
		chains  int // how often they are started
		moves   int
	}{
		"cheap": {true, level, nil, false, 512, 1024, 1, 0}, "answered": {true, level, []float64{1}, false, 512, 16, 1, 0},
		"enough": {true, level, nil, false, 512, 1024, 1, 2*512 + 1024*(128+96)}, "too few": {true, level, nil, false, 512, 16, 1, 2*512 + 1024*(128+96) - 1},
		"away": {true, level, nil, true, 1024, 1024, 1, 0}, "not asked for": {false, level, nil, false, 1024, 0, 1, 0}, "varied": {true, heavy, nil, false, 1024, 0, 1, 0}, "unknown": {true, nil, nil, false, 1024, 0, 1, 0},
		"varied, answered": {true, heavy, []float64{1}, false, 512, 16, 1, 0}, "scarce, answered": {true, scarce, []float64{1}, false, 1024, 0, 1, 0},
		"unusable, answered": {true, unusable, []float64{1}, false, 1024, 0, 1, 0},
	} {
		s := &glancing{normal: normal{keep: 0.8, apart: 3, plus: 0.5, weighted: true, seed: 3}, stuck: c.stuck, answers: c.answers, steps: map[string][]int{}}
		o := Options{Samples: 1024, First: Fresh, Refine: 64, Chains: 128, Draws: 16, Need: c.need, Moves: c.moves, Evaluation: &measure.Evaluation{Samples: 2000, Weights: c.weights}}
		r, err := Run(t.Context(), s, nil, o)
		require.NoError(t, err, name)
		require.Equal(t, c.samples, r.Samples, name)
		require.Len(t, s.steps["chains"], c.chains, name)
		require.Empty(t, r.Limits, name)
		s.steps["walk"] = slices.DeleteFunc(s.steps["walk"], func(steps int) bool { return steps == 0 }) // whose weights alone are looked at
		if c.samples == 1024 {
			require.Equal(t, r.Steps, s.steps["walk"][len(s.steps["walk"])-1], name)
			require.Greater(t, r.Steps, glanceSteps, name)
			glance := 0
			if c.most > 0 {
				glance = c.most + 12
				require.Equal(t, glanceSteps, s.steps["walk"][0], name)
			}
			require.Equal(t, glance+r.Chains.Steps, s.steps["chains"][0], name)
			require.Equal(t, 1024, r.Prospect.Steps, name)
			continue
		}
		require.Equal(t, []int{glanceSteps}, s.steps["walk"], name)
		require.Equal(t, glanceSteps, r.Steps, name)
		// Eight draws, after half as many again.
		approach := s.steps["chains"][0] - 12
		require.Equal(t, approach+12, r.Chains.Steps, name)
		if c.most == 1024 {
			require.Equal(t, 1024, approach)
		} else {
			require.Zero(t, approach%8)
			require.LessOrEqual(t, approach, c.most)
		}
		prospectors := 96
		if c.answers == nil {
			require.Equal(t, 64, r.Prospect.Steps, name)
		} else {
			prospectors = 48
			require.Equal(t, 128, r.Prospect.Steps, name)
		}
		require.Equal(t, []int{r.Prospect.Steps}, s.steps["prospectors"], name)
		require.Equal(t, prospectors, r.Prospect.Chains, name)
		require.Equal(t, []any{Trustworthy, 0}, []any{r.Verdict, r.Refine}, r.Sentence)
		require.Contains(t, r.Sentence, "trustworthy: averages stay put over 2 Metropolis steps, and importance weights give the same (effective size 1, k̂ ")
		require.Contains(t, r.Sentence, fmt.Sprintf("would show); independent Markov chains came to where samples are within %d steps; %d chains started up to 40 times the target's scale away and met no other mode", r.Chains.Steps, prospectors))
	}
	s := &glancing{normal: normal{keep: 0.8, weighted: true, plus: 0.5}, err: errors.New("no answer")}
	_, err := Run(t.Context(), s, nil, Options{Samples: 256, First: Fresh, Refine: 1, Chains: 8, Draws: 8, Need: true, Evaluation: &measure.Evaluation{Weights: level}})
	require.Equal(t, s.err, err)
}

// TestThinChains: chains that end where the generator hardly draws, and that do not mix with the others, are
// thin where they say that there is next to no weight.
func TestThinChains(t *testing.T) {
	for _, c := range []struct {
		below, cross float64
		want         []int // Far, Beyond, Thin
	}{{0, 0, []int{0, 2, 0}}, {25, 0, []int{0, 0, 2}}, {0, 0.2, []int{0, 2, 0}}, {25, 0.2, []int{0, 2, 0}}} {
		s := &glancing{normal: normal{keep: 0.8, apart: 3, plus: 0.5, cross: c.cross, chainCross: c.cross, weighted: true, needle: 11, seed: 7}, below: c.below, steps: map[string][]int{}}
		r, err := Run(t.Context(), s, nil, Options{Samples: 1024, First: Fresh, Refine: 32, Chains: 128, Draws: 32})
		require.NoError(t, err)
		require.Equal(t, c.cross > 0, r.Chains.Mixed)
		require.Equal(t, c.want, []int{r.Chains.Far, r.Chains.Beyond, r.Chains.Thin}, c)
	}
}

// TestWhatIsThin: a place is as far away as the observable in which it is farthest, of those that are
// averages and vary, and is that of all draws of its chain; ln π rises there from the mean of the samples'.
func TestWhatIsThin(t *testing.T) {
	const n, draws, dim = 3, 40, 2
	d := &diagnosis{
		names: []string{"x", "x_spread", logDensity, "constant", "y"}, width: 5, meanLogPi: -2,
		columns: []column{{}, {squared: true}, {}, {}, {}}, weights: &Weights{LogZ: 0.5, EffectiveSize: 1},
	}
	const samples = 256 // of which the mean of a constant is exact
	d.options.Samples, d.stages = samples, make([][]float64, 1)
	for i := range samples {
		at := float64(i%2*2 - 1)
		d.stages[0] = append(d.stages[0], at, at/100, at/100, 7, 2+at/4)
	}
	w := &staying{still{nil, make([]float32, dim*n), make([]float64, n)}, rand.New(rand.NewPCG(1, 2)), 1e-5}
	seen := trace{n: n}
	places := make([]measure.Place, 2)
	for t0 := range draws {
		_ = w.Advance(t.Context(), 1)
		columns := make([]float64, 5*n)
		for c := range n {
			copy(columns[5*c:], []float64{3 + float64(c) + float64(t0)/draws, 500, -900, 99, 2 - float64(t0)/8})
		}
		seen.add(w, columns, draws)
		for i, c := range []int{2, 0} {
			p := &places[i]
			for _, v := range w.x[c*dim : (c+1)*dim] {
				p.X = append(p.X, float64(v))
			}
			p.LogPi = append(p.LogPi, w.logs[c])
		}
	}
	deviation := math.Sqrt(samples / (samples - 1.))
	for i := range places { // y, by four deviations times 39/8
		places[i].Away = 4 * 39. / 8 / deviation
	}
	lack := d.weights.UnseenBias(places)
	most := int(math.Ceil(1/(lack*lack))) - 1
	require.Greater(t, most, samples)
	for measured, thin := range map[int]bool{most: true, most + 1: false} {
		d.options.Evaluation = &measure.Evaluation{Samples: measured}
		require.Equal(t, thin, d.thin(&seen, []int{2, 0}), measured)
	}
	seen.x, seen.logs, seen.columns = seen.x[:4*n*dim], seen.logs[:4*n], seen.columns[:4*n*5]
	// Four draws do not tell what a place holds, but the height of ln π may: it is negligible in two
	// coordinates where ln π is ln 10⁶ + 2 ln 100 + 2 ln away below the samples'.
	away := (5 + 3./draws) / deviation
	bound := d.meanLogPi - math.Log(1e6) - 2*math.Log(100) - 2*math.Log(away)
	for by, thin := range map[float64]bool{-1e-9: true, 1e-9: false} {
		for i := range seen.logs {
			seen.logs[i] = bound + by - float64(i/n%2)
		}
		require.Equal(t, thin, d.thin(&seen, []int{2}), by)
	}
	require.False(t, d.thin(&trace{n: n}, []int{2}))
}

var _ engine.Prober = (*glancing)(nil)

// TestAdoptsMany: sums of many samples tell by how much averages as drawn are off, and how precisely, as
// their weights do one by one; where fewer samples tell it more precisely, or columns are others, shifts stay.
func TestAdoptsMany(t *testing.T) {
	const n = 5000
	r := rand.New(rand.NewPCG(11, 12))
	logs, values, rs := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range logs {
		logs[i], values[i] = 0.3*r.NormFloat64(), 2+r.NormFloat64()
		rs[i] = -logs[i]
		if i%1000 == 0 { // astray
			logs[i], rs[i], values[i] = -50, 50, 1000
		}
	}
	estimate := measure.NewReweighing(rs)
	by, drawn := estimate.Mean(values), stat.Mean{}
	d := &diagnosis{columns: []column{{observable: 0}}, names: []string{"x"}, weights: &estimate.Weights, shifts: []shift{{mean: by.Value, apart: 1, deviation: 3}}}
	all := make([]sums, 1)
	for i, v := range values {
		drawn.Add(v)
		d.addSums(all, []float64{v}, logs[i])
	}
	d.many = &multitude{estimate.Weights, []string{"x"}, n, all}
	d.adoptMany()
	s := d.shifts[0]
	require.InDelta(t, by.Value-drawn.Value(), s.difference, 1e-9)
	require.Less(t, s.difference, -0.9)
	require.InEpsilon(t, by.Apart, s.apart, 1e-3)
	require.Less(t, s.apart, 0.03)
	require.InEpsilon(t, s.difference/math.Hypot(s.apart, 3/math.Sqrt(n)), s.z, 1e-12)
	require.Equal(t, n, s.samples)
	for name, change := range map[string]func(){
		"more precise": func() { d.shifts[0].apart = s.apart * 0.999 }, "other columns": func() { d.many.names = []string{"y"} },
		"many that cannot be used": func() { d.many.Warning = "bad" }, "nor can few": func() { d.weights = &Weights{Warning: "bad"} },
	} {
		known, weight, was := *d.many, d.weights, shift{mean: by.Value, apart: 1, deviation: 3}
		d.shifts[0] = was
		change()
		was = d.shifts[0]
		d.adoptMany()
		require.Equal(t, was, d.shifts[0], name)
		d.many, d.weights = &known, weight
	}
}

// TestSteady: a tail that few samples show does not count if many more, whose weights are ample and can
// be used, bound what it and their own hold by half of an average's error by chance.
func TestSteady(t *testing.T) {
	for name, c := range map[string]struct {
		few, many Weights
		want      bool
	}{
		"no tail":            {Weights{Largest: 2}, Weights{Samples: 1e6, EffectiveSize: 0.9}, true},
		"not ample":          {Weights{Largest: 2}, Weights{Samples: 1e6, EffectiveSize: 0.89}, false},
		"not usable":         {Weights{Largest: 2}, Weights{Samples: 1e6, EffectiveSize: 1, Warning: "bad"}, false},
		"a large weight":     {Weights{Largest: 4999}, Weights{Samples: 1e6, EffectiveSize: 1}, true},
		"too large a weight": {Weights{Largest: 5001}, Weights{Samples: 1e6, EffectiveSize: 1}, false},
		"a tail":             {Weights{Samples: 100, Tail: 49}, Weights{Samples: 1e6, EffectiveSize: 1}, true},
		"too much of a tail": {Weights{Samples: 100, Tail: 51}, Weights{Samples: 1e6, EffectiveSize: 1}, false},
		"beyond":             {Weights{}, Weights{Samples: 1e6, EffectiveSize: 1, Unseen: 0.0049}, true},
		"too much beyond":    {Weights{}, Weights{Samples: 1e6, EffectiveSize: 1, Unseen: 0.0051}, false},
		"both":               {Weights{Largest: 2500}, Weights{Samples: 1e6, EffectiveSize: 1, Unseen: 0.0026}, false},
	} {
		d := &diagnosis{options: Options{Samples: 10_000}, many: &multitude{Weights: c.many}, weights: &c.few}
		require.Equal(t, c.want, d.steady(), name)
	}
	require.False(t, (&diagnosis{}).steady())

	// What it excuses: warnings, those of the table, and weights that differ.
	heavy := Weights{Samples: 100, EffectiveSize: 0.95, ParetoK: 0.9, Tail: 0.1, Warning: "heavy"}
	d := &diagnosis{walkWeights: &Weights{}, weights: &Weights{EffectiveSize: 0.995}, options: Options{Samples: 10_000, Evaluation: &measure.Evaluation{Weights: &heavy}}}
	require.Equal(t, "of 100 samples that were measured heavy", d.tailDoubt())
	d.walkWeights.EffectiveSize, heavy.EffectiveSize = 0.95, 0.95
	d.many = &multitude{Weights: Weights{Samples: 1e6, EffectiveSize: 1}}
	require.Empty(t, d.tailDoubt())
	d.many.EffectiveSize = 0.5
	require.Equal(t, "of 100 samples that were measured heavy", d.tailDoubt())
	heavy.Warning = ""
	require.Contains(t, d.tailDoubt(), "the weights of 100 samples have a tail of Pareto's k̂ = 0.90, and those of ")
	d.many.EffectiveSize = 1
	require.Empty(t, d.tailDoubt())
}

// TestSlow: of what has no average that converges nothing counts, but of fourth moments alone.
func TestSlow(t *testing.T) {
	const n = 4000
	r := rand.New(rand.NewPCG(5, 6))
	values, rs := make([]float64, n), make([]float64, n)
	for i := range values {
		values[i], rs[i] = math.Pow(1-r.Float64(), -1.1), 0.02*r.NormFloat64() // k = 1.1
	}
	d := &diagnosis{options: Options{Samples: n}}
	estimate := measure.NewReweighing(rs)
	require.Greater(t, estimate.Mean(values).Shape, 0.9)
	for _, loose := range []bool{false, true} {
		s := d.shiftOf(estimate, "x", values, loose)
		require.Equal(t, loose, s.slow)
		s.difference, s.apart, s.tolerance = 9, 1, 2
		d.shifts = []shift{s}
		_, beyond := d.largestShift()
		require.Equal(t, !loose, beyond)
		d.shifts[0].difference = 0
		require.Equal(t, loose, d.resolved())
		require.Equal(t, loose, d.visibleBias() == 0)
	}
	for i := range values {
		values[i] = r.NormFloat64()
	}
	require.False(t, d.shiftOf(estimate, "x", values, true).slow)
}
