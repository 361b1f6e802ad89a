package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/stat"
)

// A seen normal keeps what its walks were seen to be, in the order of the looks.
type seen struct {
	normal
	walked, chained [][]float64
}

type seenWalk struct {
	chains.Walk
	looks *[][]float64
}

func (w *seenWalk) Observe(values []float64) {
	w.Walk.Observe(values)
	*w.looks = append(*w.looks, slices.Clone(values))
}

func (w *seenWalk) ObserveUnweighted(values []float64) { w.Observe(values) }

func (s *seen) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	w, err := s.normal.Walk(params, first, n)
	return &seenWalk{w, &s.walked}, err
}

func (s *seen) Chains(params []float32, n int) (chains.Walk, error) {
	w, err := s.normal.Chains(params, n)
	return &seenWalk{w, &s.chained}, err
}

// diagnosed returns the report of one, with the options that it had.
func (s *seen) diagnosed(t *testing.T) (*Report, Options) {
	t.Helper()
	s.walked, s.chained = nil, nil
	o := Options{Samples: 1024, First: Fresh, Refine: 64, Chains: 128, Draws: 16}
	r, err := Run(t.Context(), s, nil, o)
	require.NoError(t, err)
	return r, o
}

// column returns what is judged of a look: x, its squared distance from the mean as drawn,
// plus, which has two values and no spread, and ln π with its spread.
func (s *seen) column(name string, look []float64) (values []float64) {
	j := slices.Index(s.Observables(), map[string]string{"x_spread": "x", "log_density_spread": "log_density"}[name])
	squared := j >= 0
	if !squared {
		j = slices.Index(s.Observables(), name)
	}
	stride := len(s.Observables())
	of := func(look []float64) (values []float64) {
		for i := j; i < len(look); i += stride {
			values = append(values, look[i])
		}
		return values
	}
	values = of(look)
	if squared {
		var center stat.Mean // to the last bit: the other half of a pair may be as far, for ranks
		for _, v := range of(s.walked[0]) {
			center.Add(v)
		}
		for i, v := range values {
			values[i] = (v - center.Value()) * (v - center.Value())
		}
	}
	return values
}

// TestFiguresOfReports computes every figure of a report from what was seen of the states,
// by the formula that its description names.
func TestFiguresOfReports(t *testing.T) {
	long.SkipShort(t)
	for name, s := range map[string]*seen{
		"refine":      {normal: normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, off: 1, seed: 7}},
		"exact":       {normal: normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, seed: 8}},
		"weights":     {normal: normal{keep: 0.8, apart: 3, plus: 0.48, off: 0.02, weighted: true, seed: 9}},
		"weights off": {normal: normal{keep: 0.8, apart: 3, plus: 0.7, weighted: true, seed: 1}},
		"lost":        {normal: normal{keep: 0.8, chainCross: 0.2, apart: 3, plus: 1, seed: 11}},
		"slow":        {normal: normal{keep: 0.999, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, off: 1.5, seed: 12}},
		"far":         {normal: normal{keep: 0.8, apart: 30, plus: 1, seed: 13}},
		"uncrossed":   {normal: normal{keep: 0.8, apart: 3, plus: 0.5, seed: 14}},
		"needle":      {normal: normal{keep: 0.8, apart: 3, plus: 0.5, weighted: true, needle: 11, seed: 7}},
		"off":         {normal: normal{keep: 0.8, apart: 3, plus: 0.5, off: 0.5, seed: 15}},
	} {
		t.Run(name, func(t *testing.T) {
			r, o := s.diagnosed(t)
			names := []string{"x", "x_spread", "plus", "log_density", "log_density_spread"}
			width := float64(len(names))
			n := float64(o.Samples)
			var steps []int // of the stages
			for i := range r.Observables[0].Drift {
				steps = append(steps, 1<<i)
			}
			stages := s.walked[:len(steps)+1]
			last := stages[len(steps)]
			require.Equal(t, steps[len(steps)-1], r.Steps)
			require.Equal(t, o.Samples, r.Samples)
			require.EqualValues(t, Fresh, r.First)
			// Hoeffding's bound of S, for each of 7 stages of 5 columns, of both signs.
			require.InEpsilon(t, (math.Sqrt(2*math.Log(2*7*width/1e-3))+1)*math.Sqrt(2/n), r.Resolution, 1e-12)
			chance := -stat.NormalQuantile(1e-3 / 2 / width)

			// The last looks at the chains are the draws of their last run, but for one more
			// that looks where those that do not mix, or have weights, have ended.
			looks := s.chained
			if !r.Chains.Mixed || s.weighted {
				looks = looks[:len(looks)-1]
			}
			total := 0 // of the runs so far, half as long again as the draws, twice as long each
			for run := range len(looks) / o.Draws {
				total += (o.Draws + o.Draws/2) << run
			}
			require.Equal(t, total, r.Chains.Steps)
			require.Equal(t, o.Chains, r.Chains.Number)
			looks = looks[len(looks)-o.Draws:]

			refined := max(r.Refine, 0)
			stage := slices.Index(append([]int{0}, steps...), refined)
			switch name {
			case "lost":
				stage = len(steps)
			case "off": // which ends, though nobody can tell what is left
				for _, seen := range r.Observables {
					stage = max(stage, slices.Index(append([]int{0}, steps...), seen.Settled))
				}
			}
			rHat, size, reach, visible, effective, k, unseen := 0.0, math.Inf(1), 0.0, 0.0, 0.0, 0.0, 0.0
			shifted, off, floors := "", 0.0, 0.0
			apart, gapZ := "", 0.0
			var weights []float64
			// Samples that are weighed beside the first; the last look is at those that walked.
			more := s.walked[len(stages):]
			weighed := slices.Concat(append([][]float64{stages[0]}, more[:max(0, len(more)-1)]...)...)
			number := float64(len(weighed) / len(s.Observables()))
			if s.weighted {
				require.EqualValues(t, number, r.Weights.Samples)
				var sum, squares float64
				for _, l := range s.column(engine.LogWeight, weighed) {
					w := math.Exp(l)
					weights = append(weights, w)
					sum, squares = sum+w, squares+w*w
				}
				effective, k = sum*sum/squares/number, r.Weights.ParetoK
				// Of π so much is beyond q times the largest weight.
				beyond, draws := 0.0, s.column(engine.LogWeight, slices.Concat(looks...))
				for _, l := range draws {
					beyond += max(0, 1-slices.Max(weights)/math.Exp(l))
				}
				unseen = beyond / float64(len(draws))
				if r.Lacking == "" {
					require.InDelta(t, unseen, r.Weights.Unseen, 1e-12)
					require.InEpsilon(t, math.Hypot(math.Hypot(math.Sqrt((1/effective-1)/number), 1/number), unseen), r.Weights.LogZError, 1e-9)
				}
			}
			require.Len(t, r.Observables, len(names))
			for j, name := range names {
				seen := r.Observables[j]
				require.Equal(t, name, seen.Name)
				first := s.column(name, stages[0])
				require.InDelta(t, gonum.Mean(first, nil), seen.Mean, 1e-12, name)
				require.InDelta(t, gonum.StdDev(first, nil), seen.Deviation, 1e-11, name)
				if memory := gonum.Correlation(first, s.column(name, last), nil); math.IsNaN(memory) {
					require.Zero(t, seen.Memory, "a constant")
				} else {
					require.InDelta(t, memory, seen.Memory, 1e-10, name)
				}
				require.InDelta(t, gonum.Mean(s.column(name, stages[stage]), nil), seen.Refined, 1e-12, name)
				for i, d := range seen.Drift {
					change, z := differences(first, s.column(name, stages[i+1]))
					require.Equal(t, steps[i], d.Steps)
					require.InDelta(t, gonum.Mean(change, nil), d.Change, 1e-12, name)
					require.InDelta(t, math.Sqrt(gonum.PopVariance(change, nil)/n), d.StandardError, 1e-10, name)
					require.InDelta(t, z, d.Z, 1e-9, name)
				}
				settled := len(steps)
				for settled > 0 {
					if _, z := differences(s.column(name, stages[settled-1]), s.column(name, last)); math.Abs(z) > 3.5 {
						break
					}
					settled--
				}
				at := append([]int{0}, steps...)[settled]
				if 4*at > r.Steps {
					at = -1
				}
				require.Equal(t, at, seen.Settled, name)

				var draws []float64
				for _, look := range looks {
					draws = append(draws, s.column(name, look)...)
				}
				chains := stat.Columns(draws, o.Chains, 1)[0]
				rHat, size = max(rHat, chains.RHat), min(size, chains.EffectiveSize)
				reach = max(reach, chance*math.Hypot(chains.StandardError/chains.Deviation, 1/math.Sqrt(n)))
				require.InDelta(t, gonum.Mean(draws, nil), seen.Chains.Mean, 1e-10, name)
				require.Equal(t, chains.StandardError, seen.Chains.StandardError, name)
				require.Equal(t, chains.RHat, seen.Chains.RHat, name)
				require.Equal(t, chains.EffectiveSize, seen.Chains.EffectiveSize, name)
				mean, deviation := gonum.MeanStdDev(s.column(name, stages[stage]), nil)
				gap := mean - gonum.Mean(draws, nil)
				require.InDelta(t, gap/math.Hypot(chains.StandardError, deviation/math.Sqrt(n)), seen.Chains.Z, 1e-8, name)
				if z := math.Abs(seen.Chains.Z); z > gapZ {
					gapZ, apart = z, fmt.Sprintf("%s at %.4g ± %.1g, and samples after %s have it at %.4g, %.2g standard deviations off",
						name, seen.Chains.Mean, chains.StandardError, count(append([]int{0}, steps...)[stage], "Metropolis step"), mean, math.Abs(gap)/max(deviation, chains.Deviation))
				}
				within := (chains.Deviation*chains.Deviation + deviation*deviation) / 2
				require.InDelta(t, math.Sqrt((within+gap*gap/2)/within), seen.Chains.RHatBoth, 1e-9, name)

				require.Equal(t, s.weighted && r.Lacking == "", seen.Weighted != nil, "none where a mode is lost")
				if seen.Weighted == nil {
					continue
				}
				all := s.column(name, weighed)
				mean = gonum.Mean(all, weights)
				cut := slices.Sorted(slices.Values(weights))[len(weights)-1-stat.TailSize(len(weights))]
				var squares, sum, largest, above, further float64
				var influence, terms []float64
				for i, w := range weights {
					sum += w
					term := w * math.Abs(all[i]-mean)
					largest, terms = max(largest, term), append(terms, math.Log(term))
					squares += term * term
					above, further = above+max(0, w-cut), further+max(0, w-cut)*math.Pow(all[i]-mean, 2)
				}
				squares += math.Pow(unseen*sum, 2) * further / above
				if k, _ := stat.ParetoK(terms); k > 0.3 {
					squares += math.Pow(largest/(1-min(k, 0.9)), 2)
				}
				for i, w := range weights {
					influence = append(influence, (w*number/sum-1)*(all[i]-mean))
				}
				var around []float64
				for _, v := range all {
					around = append(around, math.Pow(v-mean, 2))
				}
				deviation = min(gonum.StdDev(all, nil), math.Sqrt(gonum.Mean(around, weights)))
				by := min(gonum.StdDev(influence, nil)/math.Sqrt(number), math.Hypot(math.Sqrt(squares)/sum, deviation/math.Sqrt(number)))
				floor := math.Sqrt(2/math.Pi) * deviation / math.Sqrt(n)
				counts := 3 * floor
				if strings.HasPrefix(name, "log_density") {
					counts = 8 * floor
				}
				visible = max(visible, max(counts, 4*by)/deviation)
				shift := mean - gonum.Mean(all, nil)
				if m := math.Abs(shift) / floor; m > max(floors, counts/floor) && math.Abs(shift) > 4*by {
					shifted, off, floors = name, math.Abs(shift)/deviation, m
				}
				require.InDelta(t, mean, *seen.Weighted, 1e-10, name)
				require.InEpsilon(t, math.Sqrt(squares)/sum, seen.WeightedError, 1e-9, name)
				require.InDelta(t, shift/math.Hypot(by, deviation/math.Sqrt(number)), seen.WeightedZ, 1e-8, name)
			}
			settledAll := append([]int{0}, steps...)[stage]
			require.Equal(t, rHat, r.Chains.RHat)
			require.Equal(t, size, r.Chains.EffectiveSize)
			require.Equal(t, rHat < 1.02 && size >= 400, r.Chains.Mixed)

			// The sentence's figures.
			var most Drift
			drifts := ""
			for _, seen := range r.Observables {
				for _, d := range seen.Drift {
					if math.Abs(d.Z) > math.Abs(most.Z) {
						deviation := max(seen.Deviation, gonum.StdDev(s.column(seen.Name, last), nil))
						most, drifts = d, fmt.Sprintf("%s drifts by %.2g standard deviations within %s", seen.Name, math.Abs(d.Change)/deviation, count(d.Steps, "Metropolis step"))
					}
				}
			}
			require.Equal(t, map[string]string{
				"exact":  fmt.Sprintf("trustworthy: averages stay put over %d Metropolis steps, and 128 independent Markov chains find the same (a difference of more than %.2g standard deviations would show)", r.Steps, reach),
				"refine": fmt.Sprintf("usable after --refine %d: as drawn, %s; after %s averages stay put, and 128 independent Markov chains find the same (a difference of more than %.2g standard deviations would show)", r.Refine, drifts, count(r.Refine, "step"), reach),
				"weights": fmt.Sprintf("trustworthy: averages stay put over %d Metropolis steps, and importance weights give the same (effective size %.4g, k̂ %.2f; a difference of more than %.2g standard deviations would show); independent Markov chains end where samples are, but do not mix within %d steps (R̂ = %.3g)",
					r.Steps, effective, k, visible, total, rHat),
				"weights off": fmt.Sprintf("wrong, do not use: importance weights of %d samples say that %s is off by %.2g standard deviations, %.1f sampling floors, which Metropolis steps do not mend; independent Markov chains do not mix within %d steps (R̂ = %.3g)",
					int(number), shifted, off, floors, total, rHat),
				"lost":      fmt.Sprintf("wrong, do not use: 128 independent Markov chains, which mix, have %s: modes are missing, or their weights are wrong", apart),
				"slow":      fmt.Sprintf("wrong, do not use: %s, and has not come to rest, or not for long, within %d", drifts, r.Steps),
				"far":       fmt.Sprintf("cannot tell: %d of 128 independent Markov chains ended where no sample is near, and chains do not mix (R̂ = %.3g): a mode may be missing", r.Chains.Far, rHat),
				"uncrossed": fmt.Sprintf("cannot tell: averages stay put over %d Metropolis steps, but nothing crosses between the values of plus, and independent Markov chains do not mix within %d steps (R̂ = %.3g)", r.Steps, total, rHat),
				"needle":    fmt.Sprintf("cannot tell: 2 of 128 independent Markov chains ended where the generator's density is too small for so many, and chains do not mix (R̂ = %.3g): a mode or a tail is missing, or the chains are still on their way", rHat),
				"off":       fmt.Sprintf("cannot tell: as drawn, %s; after %s averages stay put, but nothing crosses between the values of plus, and independent Markov chains do not mix within %d steps (R̂ = %.3g)", drifts, count(settledAll, "step"), total, rHat),
			}[name], r.Sentence)
		})
	}
}

// differences returns those of two stages, and S = Σd/√Σd².
func differences(a, b []float64) (d []float64, z float64) {
	var sum, squares float64
	for i := range a {
		d = append(d, b[i]-a[i])
		sum, squares = sum+d[i], squares+d[i]*d[i]
	}
	return d, sum / max(math.Sqrt(squares), math.SmallestNonzeroFloat64)
}

// TestNoTimeForChains: means as drawn are shown where only weights could be asked.
func TestNoTimeForChains(t *testing.T) {
	s := &slowed{normal{keep: 0.5, cross: 0.5, chainCross: 0.5, plus: 0.5, weighted: true}}
	r, err := Run(t.Context(), s, nil, Options{Samples: 256, First: Fresh, Refine: 64, Chains: 64, Draws: 64, Time: 20 * time.Millisecond})
	require.NoError(t, err)
	require.Nil(t, r.Chains)
	require.Contains(t, r.Sentence, fmt.Sprintf("cannot tell: averages stay put over %s and importance weights give the same, but the time was too short for independent Markov chains, which look for what the samples leave out", count(r.Steps, "Metropolis step")))
	for _, seen := range r.Observables {
		require.Equal(t, seen.Mean, seen.Refined, seen.Name)
	}
}

// TestTails: what keeps weights from telling alone.
func TestTails(t *testing.T) {
	for _, c := range []struct {
		k        float64
		measured *Weights
		want     string
	}{
		{0.1, &Weights{Samples: 5000, EffectiveSize: 0.55, Warning: ""}, ""},
		{0.1, &Weights{Samples: 5000, EffectiveSize: 0.53, Warning: ""}, "a chain came there"},
		{0.49, nil, ""},
		{0.69, nil, ""},
		{0.1, &Weights{Samples: 5000, EffectiveSize: 0.31, Warning: "k̂"}, "of 5000 samples that were measured k̂"},
		{0.1, &Weights{Samples: 5000, EffectiveSize: 0.31}, ""},
		{0.1, &Weights{Samples: 5000, EffectiveSize: 0.29, Largest: 123.4}, "the weights of 5000 samples have an effective size of 0.29, where those of 1000 have 0.6: a few weights, up to 123 times the mean, make the difference"},
		{0.51, &Weights{Samples: 5000, EffectiveSize: 1, Warning: "a few stand out"}, "of 5000 samples that were measured a few stand out"},
	} {
		d := &diagnosis{options: Options{Evaluation: &measure.Evaluation{Weights: c.measured}}, weights: &Weights{Samples: 1000, EffectiveSize: 0.6, ParetoK: c.k, Tail: 0.5}}
		if measured := c.measured; measured != nil && measured.EffectiveSize > 0.5 && c.k == 0.1 {
			d.options.Evaluation.Doubt = "a chain came there"
		}
		require.Equal(t, c.want, d.tailDoubt())
	}
}

// A still walk does not move.
type still struct {
	values []float64
	x      []float32
	logs   []float64
}

func (w *still) ObserveUnweighted(values []float64) { w.Observe(values) }

func (w *still) States([]byte, string) error { return errors.New("it has none") }

func (w *still) Own() (lo, hi int) { return 0, 1 }

func (w *still) Advance(context.Context, int) error { return nil }
func (w *still) Observe(values []float64)           { copy(values, w.values) }
func (w *still) Coordinates() []float32             { return w.x }
func (w *still) Shape(uint64)                       {}
func (w *still) LogDensities() []float64            { return w.logs }
func (w *still) Moving() []float32                  { return w.x }

// A prospecting system's chains from far away end where they are told.
type prospecting struct {
	chains.Observer
	ends *still
}

func (s prospecting) Prospect([]float32, int, []float64) (chains.Walk, error) { return s.ends, nil }

// TestProspect: a mode is lost where the weight is beyond all that q accounts for and ln π, in
// the coordinates that chains move in, is as high as of samples: not at a wall where it is high
// in the target's own alone.
func TestProspect(t *testing.T) {
	d := &diagnosis{observables: []string{"x", logDensity, engine.LogWeight}, weights: &Weights{LogZ: 2, EffectiveSize: 1}, lowLogPi: -3, logPi: []float64{0},
		columns: []column{{low: -9, high: 9}}, names: []string{"x"}, width: 1, stages: [][]float64{{-1, 1}}, options: Options{Samples: 2}}
	for _, c := range []struct {
		beyond, log float64
		lost        int
	}{{0.01, -2.9, 1}, {-0.01, -2.9, 0}, {0.01, -3.1, 0}} {
		ends := &still{values: make([]float64, 3*prospectors), logs: make([]float64, prospectors)}
		copy(ends.values, []float64{1, 9, 2 + math.Log(1000*prospectors) + c.beyond})
		ends.logs[0] = c.log
		d.observer = prospecting{ends: ends}
		require.NoError(t, d.prospect(t.Context()))
		require.Equal(t, c.lost, d.found.Lost, "%+v", c)
	}
	require.Equal(t, "", d.found.Near)
}

// TestFarChains counts the ends of chains that are far by the distances of all pairs.
func TestFarChains(t *testing.T) {
	const n, chains = 64, 8
	random := rand.New(rand.NewPCG(1, 2))
	for _, weighted := range []bool{false, true} {
		d := &diagnosis{observables: []string{"x", "y"}, options: Options{Samples: n, Chains: chains}, chain: &chainResult{climbs: make([]bool, chains)}}
		if weighted {
			d.observables[1], d.weights = engine.LogWeight, &Weights{LogZ: 1, EffectiveSize: 1}
		}
		values := make([]float64, 2*n)
		for i := range values {
			values[i] = 3 * random.NormFloat64()
		}
		values[21] = math.Inf(-1)
		var x, y []float64
		for i := range n {
			x = append(x, values[2*i])
			if 2*i+1 != 21 {
				y = append(y, values[2*i+1])
			}
		}
		wide, high := gonum.StdDev(x, nil), gonum.StdDev(y, nil)
		if weighted {
			high = max(high, 1)
		}
		least := func(x, y float64) float64 { // from the samples that are no probes
			distance := math.Inf(1)
			for i := chains; i < n; i++ {
				up := (y - values[2*i+1]) / high
				if math.IsInf(up, 0) {
					up = 0
				}
				distance = min(distance, math.Hypot((x-values[2*i])/wide, up))
			}
			return distance
		}
		typical := 0.0
		for i := range chains {
			typical = max(typical, least(values[2*i], values[2*i+1]))
		}
		// Eight ends to the right of all samples, at distances about the bound.
		right := slices.Max(x) + 20*wide
		ends := make([]float64, 2*chains)
		want, beyond := 0, 0
		for i := range chains {
			y := 1 + math.Log(100*chains) + 0.01*(float64(i)-3.5)
			at := right
			goal := 2 * typical * (1 + 0.001*(float64(i)-2.5))
			for step := 4 * wide; step > 1e-5*wide; step /= 2 {
				for least(at-step, y) > goal {
					at -= step
				}
			}
			ends[2*i], ends[2*i+1] = at, y
			if least(at, y) > 2*typical {
				want++
			}
			if weighted { // for eight of eight the bound is far lower than for one
				beyond++
			}
		}
		d.sampleWalk, d.chainWalk = &still{values: values}, &still{values: ends}
		far, out := d.far()
		require.Equal(t, []int{want, beyond}, []int{far, len(out)})
		require.True(t, 2 < want && want < chains, "%d", want)
	}
}

// TestFiguresOfCoordinates computes the profiles of samples and of chains by their
// definitions, and looks for what is farthest apart.
func TestFiguresOfCoordinates(t *testing.T) {
	const dim, n, chains, draws = 9, 50, 12, 3
	random := rand.New(rand.NewPCG(3, 4))
	state := func(states, dim int) *still {
		w := &still{x: make([]float32, states*dim)}
		for i := range w.x {
			w.x[i] = float32(1 + random.NormFloat64())
		}
		return w
	}
	x, _ := coordinates(state(n, maxObserved), n)
	require.Nil(t, x)
	d := &diagnosis{options: Options{Samples: n}}
	center := make([]float64, dim)
	of := func(w *still, states, j int) (values []float64) { // of coordinate j, or of its distance
		for i := range states {
			v := float64(w.x[i*dim+j%dim])
			if j >= dim {
				v = (v - center[j-dim]) * (v - center[j-dim])
			}
			values = append(values, v)
		}
		return values
	}
	for stage := range 2 {
		w := state(n, dim)
		d.sampleWalk = w
		d.locate()
		for j := range 2 * dim {
			mean, deviation := gonum.MeanStdDev(of(w, n, j), nil)
			if stage == 0 && j < dim {
				center[j] = mean
			}
			require.InDelta(t, mean, d.profiles[stage][j].mean, 1e-10)
			require.InDelta(t, deviation, d.profiles[stage][j].deviation, 1e-10)
			require.InDelta(t, deviation/math.Sqrt(n), d.profiles[stage][j].standardError, 1e-10)
		}
	}
	var l located
	all, means := make([][]float64, 2*dim), make([][chains]float64, 2*dim)
	for range draws {
		w := state(chains, dim)
		l.add(w.x, dim, d.center)
		for j := range all {
			for i, v := range of(w, chains, j) {
				all[j] = append(all[j], v)
				means[j][i] += v / draws
			}
		}
	}
	p := l.profile()
	for j := range all {
		require.InDelta(t, gonum.Mean(all[j], nil), p[j].mean, 1e-10)
		require.InDelta(t, gonum.StdDev(all[j], nil), p[j].deviation, 1e-10)
		require.InDelta(t, gonum.StdErr(gonum.StdDev(means[j][:], nil), chains), p[j].standardError, 1e-10)
	}

	// One that is as far off as the level allows, or by a little more.
	bound := -stat.NormalQuantile(1e-3 / 2 / (2 * dim))
	for _, j := range []int{4, dim + 5} {
		name := map[int]string{4: "coordinate 4", dim + 5: "the spread of coordinate 5"}[j]
		for _, by := range []float64{-1.001, -0.999, 0.999, 1.001} {
			s := d.profiles[1]
			for i := range p {
				p[i].mean = s[i].mean
			}
			p[j].mean -= by * bound * math.Hypot(s[j].standardError, p[j].standardError)
			d.chain = &chainResult{coordinates: p}
			worst, beyond := d.away(1)
			require.Equal(t, math.Abs(by) > 1, beyond)
			require.InEpsilon(t, by*bound, worst.z, 1e-6)
			worst.z = 0
			require.Equal(t, gap{name, s[j].mean, p[j].mean, p[j].standardError, s[j].deviation, p[j].deviation, 0}, worst)
		}
	}
}

// TestFigureOfDrifts: a curve is the drift in standard deviations with its intervals of 95 %,
// beside the others.
func TestFigureOfDrifts(t *testing.T) {
	r := Report{Observables: []Observable{
		{Name: "a", Deviation: 2, Drift: []Drift{{Steps: 1, Change: 0.1, StandardError: 0.1, Z: -1}, {Steps: 2, Change: 1, StandardError: 0.5, Z: 2}}},
		{Name: "b", Deviation: 4, Drift: []Drift{{Steps: 1, Change: -1, StandardError: 0.25, Z: -4}}},
		{Name: "constant", Drift: []Drift{{Steps: 1}}},
	}}
	layers := r.Figure().Rows[0].Panels[0].Layers
	require.Len(t, layers, 5)
	require.Equal(t, "b", layers[1].Label, "that drifts most")
	aside := math.Exp2(-0.06)
	require.InDeltaSlice(t, []float64{aside, 2 * aside}, layers[3].X, 1e-12)
	require.InDeltaSlice(t, []float64{math.Exp2(-0.18)}, layers[1].X, 1e-12)
	require.Equal(t, []float64{0.05, 0.5}, layers[3].Y)
	require.Equal(t, [][]float64{layers[3].X, layers[3].Y}, [][]float64{layers[2].X, layers[2].Y})
	require.InDeltaSlice(t, []float64{0.05 - 0.098, 0.5 - 0.49}, layers[3].Low, 1e-12)
	require.InDeltaSlice(t, []float64{0.05 + 0.098, 0.5 + 0.49}, layers[3].High, 1e-12)
	require.InDeltaSlice(t, []float64{-0.25 - 0.1225}, layers[1].Low, 1e-12)
}

// A sized system has states of so many bytes.
type sized struct {
	engine.System
	engine.Sampler
	bytes int
}

func (s sized) Formats() []engine.Format { return []engine.Format{{RowBytes: s.bytes}} }

// A laborious system has a target whose evaluation computes so many numbers.
type laborious struct {
	sized
	operations int
}

func (laborious) Count(*engine.Tally) {}
func (c laborious) Operations() int   { return c.operations }

// TestBudgets: the moves that sizes leave, and the options' bounds.
func TestBudgets(t *testing.T) {
	for bytes, want := range map[int][2]int{0: {1 << 26, 3 << 20}, 1 << 12: {1 << 24, 1 << 18}, 1 << 7: {1 << 26, 1 << 21}, 1 << 17: {1 << 20, 1 << 18}} {
		require.Equal(t, want, [2]int{Work(sized{bytes: bytes}), Share(sized{bytes: bytes}, 1000)}, "%d", bytes)
	}
	require.Equal(t, [2]int{1 << 20, 1 << 18}, [2]int{Work(struct{ engine.System }{}), Share(struct{ engine.System }{}, 0)})
	require.Equal(t, 1<<28/48, Share(sized{bytes: 64}, 1<<28))
	for operations, want := range map[int]int{0: 3 << 20, 1 << 7: 3 << 20, 3 << 7: 1 << 20, 1 << 16: (1 << 22) / 48, 1 << 20: (1 << 22) / 48} {
		require.Equal(t, want, Share(laborious{sized{bytes: 64}, operations}, 1<<22), "%d", operations)
	}
	require.Equal(t, []int{1000, 1 << 18, 1 << 9, 1}, []int{Share(laborious{sized{bytes: 64}, 0}, 1000), Share(laborious{sized{bytes: 1 << 14}, 1}, 1<<22),
		Share(laborious{sized{bytes: 1 << 14}, 1 << 16}, 1<<14), Share(laborious{}, 0)})
	for _, c := range []struct {
		change func(o *Options, by int)
		bound  int
		less   int // what is refused, from the bound
	}{
		{func(o *Options, n int) { o.Samples = n }, 256, -1}, {func(o *Options, n int) { o.Samples = n }, 1 << 24, 1},
		{func(o *Options, n int) { o.Refine = n }, 1, -1}, {func(o *Options, n int) { o.Refine = n }, 1 << 24, 1 << 24},
		{func(o *Options, n int) { o.Chains = n }, 8, -1}, {func(o *Options, n int) { o.Chains = n }, 1 << 16, 1},
		{func(o *Options, n int) { o.Draws = n }, 8, -1}, {func(o *Options, n int) { o.Draws = n }, 1 << 16, 1},
		{func(o *Options, n int) { o.Moves = n }, 0, -1}, {func(o *Options, n int) { o.Time = time.Duration(n) }, 0, -1},
	} {
		o := Full()
		c.change(&o, c.bound)
		require.NoError(t, o.Validate())
		c.change(&o, c.bound+c.less)
		require.Error(t, o.Validate())
	}
}

// TestMemoryFarFromZero: a correlation does not lose its digits where values are far from
// 0, and a constant has none.
func TestMemoryFarFromZero(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	first, last, constant := make([]float64, 500), make([]float64, 500), make([]float64, 500)
	for i := range first {
		x := random.NormFloat64()
		first[i], last[i], constant[i] = 1e8+x, 1e8+0.6*x+0.8*random.NormFloat64(), 3
	}
	d := &diagnosis{options: Options{Samples: 500}, width: 1, stages: [][]float64{first, last}}
	require.InDelta(t, gonum.Correlation(first, last, nil), d.memory(0), 1e-6)
	for _, stages := range [][][]float64{{constant, last}, {first, constant}} {
		d.stages = stages
		require.Zero(t, d.memory(0))
	}
}

// A staying walk's states are normal about 30 in each of two coordinates, where the target has so
// much weight.
type staying struct {
	still
	random *rand.Rand
	weight float64
}

func (w *staying) Advance(context.Context, int) error {
	for i := range w.logs {
		w.logs[i] = math.Log(w.weight / (2 * math.Pi))
		for j := range 2 {
			u := w.random.NormFloat64()
			w.x[2*i+j] = float32(30 + u)
			w.logs[i] -= u * u / 2
		}
	}
	return nil
}

// TestVisits: of chains that have found the samples' places what is beyond the largest weight of
// the samples is a part of Z that errors include.
func TestVisits(t *testing.T) {
	d := &diagnosis{
		observables: []string{"x", engine.LogWeight}, logs: []float64{0.5, 1, -3}, visits: make([]visits, 3), shifts: []shift{{standardError: 0.6, reach: 20}},
		observed: []float64{9, 1, 9, 1.5, 9, 2},
	}
	d.visit([]bool{true, true, true}) // weights are not known
	require.Equal(t, make([]visits, 3), d.visits)
	d.widen()
	d.weights, d.chain = &Weights{Unseen: 0.3, LogZError: 0.5}, &chainResult{}
	d.visit([]bool{true, true, false})
	beyond := 1 - math.Exp(-0.5)
	require.InDelta(t, beyond, d.visits[1].beyond, 1e-15)
	require.Equal(t, []visits{{1, 0}, {1, d.visits[1].beyond}, {0, 0}}, d.visits)
	d.observed = []float64{0, 1, 0, 0, 0, math.Inf(-1)}
	d.visit([]bool{true, false, false})
	require.Equal(t, []visits{{2, 0}, {1, d.visits[1].beyond}, {0, 0}}, d.visits)
	d.weights.Unseen = 0.1
	d.widen()
	require.InDelta(t, beyond/3, d.weights.Unseen, 1e-15)
	more := math.Sqrt(beyond*beyond/9 - 0.01)
	require.InDelta(t, math.Hypot(0.5, more), d.weights.LogZError, 1e-12)
	require.InDelta(t, math.Hypot(0.6, 20*more), d.shifts[0].standardError, 1e-12)
	require.InDelta(t, beyond/3, d.chain.Unseen, 1e-15)
	d.visits[1] = visits{states: 20, beyond: 1} // of 22, less than a tail has
	d.widen()
	require.InDelta(t, 1.0/22, d.chain.Unseen, 1e-15)
	// What was measured has a larger weight.
	d.options.Evaluation = &measure.Evaluation{Weights: &Weights{LogZ: 0.5, Largest: math.E}}
	d.visits, d.observed = make([]visits, 1), []float64{0, 2}
	d.visit([]bool{true})
	require.InDelta(t, 1-math.Exp(-0.5), d.visits[0].beyond, 1e-15)
	require.InDelta(t, beyond/3, d.weights.Unseen, 1e-15)
}

// TestThinPlaces: what chains are in that the generator lacks is thin where its share of Z times
// the squared distance from the samples is less than an average's error by chance, and the report
// says that chains ended there.
func TestThinPlaces(t *testing.T) {
	for weight, thin := range map[float64]bool{5e-6: true, 2e-5: false, 0.3: false} {
		d := &diagnosis{
			observables: []string{"x"}, names: []string{"x"}, columns: []column{{low: -9, high: 99}}, width: 1, stages: [][]float64{{-1, 1, -1, 1}},
			weights: &Weights{LogZ: 0, EffectiveSize: 1}, options: Options{Samples: 4, Evaluation: &measure.Evaluation{Samples: 20_000}},
		}
		w := &staying{still{[]float64{30, 30}, make([]float32, 4), make([]float64, 2)}, rand.New(rand.NewPCG(1, 2)), weight}
		seen := trace{n: 2}
		for range 128 {
			require.NoError(t, w.Advance(t.Context(), 1))
			seen.add(w, []float64{30, 30}, 128)
		}
		require.Equal(t, thin, d.thin(&seen, []int{1}), weight)
		require.False(t, d.thin(&seen, nil))
	}
	d := &diagnosis{chain: &chainResult{Chains: Chains{Thin: 3}}, found: &Prospect{Chains: 96, Scale: 40, Thin: 1}}
	require.Equal(t, "; 96 chains started up to 40 times the target's scale away and met no other mode that counts; 4 chains ended in states that the generator hardly draws, which hold too little of the target to show in averages", d.describeProspect())
	d.chain.Thin, d.found.Thin = 0, 0
	require.Equal(t, "; 96 chains started up to 40 times the target's scale away and met no other mode", d.describeProspect())
	require.Empty(t, (&diagnosis{}).describeProspect())
}

// TestSlight: a drift counts from three sampling floors of what was measured on, and from eight of a
// fourth moment and of ln π, at whatever step it is largest.
func TestSlight(t *testing.T) {
	const n, measured = 400, 1600
	for name, c := range map[string]struct {
		column column
		floors float64
	}{"x": {column{}, 3}, "x_spread": {column{squared: true}, 3}, "mean_square_spread": {column{squared: true, fourth: true}, 8}, logDensity: {column{}, 8}} {
		for _, samples := range []int{n, measured} {
			for to := 1; to < 4; to++ {
				for _, by := range []float64{-0.99, -1.01, 0.99, 1.01} {
					d := &diagnosis{columns: []column{{}, c.column}, names: []string{"other", name}, width: 2, options: Options{Samples: n}, steps: []int{0, 1, 2, 4}}
					if samples == measured {
						d.options.Evaluation = &measure.Evaluation{Samples: measured}
					}
					deviation := math.Sqrt(n / (n - 1.0))
					floor := math.Sqrt(2/math.Pi) * deviation / math.Sqrt(float64(samples))
					for stage := range d.steps {
						values := make([]float64, 2*n)
						for i := range n {
							values[2*i], values[2*i+1] = float64(i%3), float64(i%2*2-1)
							if stage == to {
								values[2*i+1] += by * c.floors * floor
							}
						}
						d.stages = append(d.stages, values)
					}
					require.Equal(t, math.Abs(by) < 1, d.driftsSlightly(), "%s, %d samples, stage %d, %v", name, samples, to, by)
				}
			}
		}
	}
}

// TestAstray: six of four thousand samples, far away and almost without weight, are an error in the
// target's deviations, which theirs would hide.
func TestAstray(t *testing.T) {
	const n = 4000
	random := rand.New(rand.NewPCG(5, 1))
	for _, astray := range []int{0, 6} {
		d := &diagnosis{columns: []column{{}}, names: []string{"x"}, width: 1, options: Options{Samples: n}}
		values := make([]float64, n)
		for i := range values {
			values[i] = random.NormFloat64()
			d.logs = append(d.logs, 0.01*random.NormFloat64())
		}
		for i := range astray {
			values[i], d.logs[i] = 100, -40
		}
		d.computeShifts(values)
		require.InDelta(t, 1, d.shifts[0].deviation, 0.05)
		_, beyond := d.largestShift()
		require.Equal(t, astray > 0, beyond)
		require.Equal(t, astray == 0, d.resolved())
		require.InEpsilon(t, math.Sqrt(2/math.Pi/n)*d.shifts[0].deviation, d.shifts[0].floor, 1e-12)
		if astray > 0 {
			require.InDelta(t, -6*100.0/n, d.shifts[0].difference, 0.01)
			require.InEpsilon(t, math.Hypot(d.shifts[0].standardError, d.shifts[0].deviation/math.Sqrt(n)), d.shifts[0].apart, 1e-12)
		}
	}
}

// TestWeighsCoordinates: weights tell of all coordinates of neither few nor many, whose first are
// columns.
func TestWeighsCoordinates(t *testing.T) {
	const n = 4000
	random := rand.New(rand.NewPCG(6, 1))
	for dim, weighed := range map[int]int{8: 0, 9: 1, 10: 2, 64: 56, 65: 0} {
		w := &still{x: make([]float32, n*dim)}
		d := &diagnosis{columns: []column{{}}, names: []string{"x"}, width: 1, options: Options{Samples: n}, sampleWalk: w}
		last := func(i int) float64 { return float64(w.x[(i+1)*dim-1]) }
		for i := range w.x {
			w.x[i] = float32(2 + random.NormFloat64())
		}
		d.logs = make([]float64, n)
		d.locate()
		for shift, name := range []string{"coordinate %d", "the spread of coordinate %d"} {
			for i := range d.logs {
				d.logs[i] = 0.1*(last(i)-2) - 0.1*0.1/2 // a mean of 2.1
				if shift == 1 {
					d.logs[i] = 0.1*(last(i)-2)*(last(i)-2) + math.Log(0.8)/2 // a variance of 1/0.8
				}
			}
			d.computeShifts(make([]float64, n))
			require.Len(t, d.shifts, 1+2*weighed)
			worst, beyond := d.largestShift()
			require.Equal(t, weighed > 0, beyond)
			if beyond {
				by := d.shifts[worst]
				require.Equal(t, fmt.Sprintf(name, dim-1), by.name)
				require.InDelta(t, []float64{0.1, 0.25}[shift], by.difference, 0.04)
				require.InEpsilon(t, 3*by.floor, by.tolerance, 1e-12)
			}
		}
	}
}

// TestCollapsed: samples of which a few make the difference, and heavy tails beside weights that are
// not level, say nothing of what they leave out.
func TestCollapsed(t *testing.T) {
	heavy := Weights{Samples: 40_000, EffectiveSize: 0.995, ParetoK: 0.75, Tail: 0.001, Largest: 9}
	for _, c := range []struct {
		few, weight Weights
		measured    *Weights
		want        string
	}{
		{Weights{EffectiveSize: 0.5}, Weights{EffectiveSize: 1}, nil, ""},
		{Weights{EffectiveSize: 0.9}, Weights{Samples: 70, EffectiveSize: 0.44, Largest: 12}, nil, "the weights of 70 samples have an effective size of 0.44, where those of 0 have 0.9: a few weights, up to 12 times the mean, make the difference"},
		{Weights{EffectiveSize: 0.99}, heavy, &Weights{EffectiveSize: 0.99}, ""},
		{Weights{EffectiveSize: 0.99}, heavy, &Weights{Samples: 20, EffectiveSize: 0.9894}, "the weights of 40000 samples have a tail of Pareto's k̂ = 0.75, and those of 20 an effective size of 0.989: what the tail holds is not known"},
		{Weights{EffectiveSize: 0.99}, Weights{Samples: 20, EffectiveSize: 0.98}, &heavy, "the weights of 40000 samples have a tail of Pareto's k̂ = 0.75, and those of 20 an effective size of 0.98: what the tail holds is not known"},
		{Weights{EffectiveSize: 0.99}, Weights{EffectiveSize: 0.98}, &Weights{Samples: 40_000, EffectiveSize: 0.995, ParetoK: 0.69, Tail: 0.001}, ""},
		{Weights{EffectiveSize: 0.99}, Weights{EffectiveSize: 0.98}, &Weights{Samples: 40_000, EffectiveSize: 0.995, ParetoK: 0.75, Tail: 0.0004}, ""},
	} {
		d := &diagnosis{walkWeights: &c.few, weights: &c.weight}
		if c.measured != nil {
			d.options.Evaluation = &measure.Evaluation{Weights: c.measured}
		}
		require.Equal(t, c.want, d.collapseDoubt())
	}
}

// TestOutskirts: where chains mix weights are asked of what the chains do not see, unless none of them
// cover most of the target; those that do are contradicted by others that have met what they lack.
func TestOutskirts(t *testing.T) {
	ample, poor, needle := Weights{Samples: 10, EffectiveSize: 0.95}, Weights{Samples: 20, EffectiveSize: 0.3}, Weights{Samples: 30, EffectiveSize: 0.0004, Largest: 9, Warning: "bad"}
	for name, c := range map[string]struct {
		few, weight, measured Weights
		want                  string
	}{
		"all cover most":                 {ample, ample, ample, ""},
		"none do":                        {poor, poor, needle, ""},
		"one does, the others nearly":    {ample, Weights{EffectiveSize: 0.89}, Weights{EffectiveSize: 0.89}, ""},
		"those measured met a needle":    {ample, ample, needle, "the weights of 30 samples have an effective size of 0.0004, where those of 10 have 0.95: a few weights, up to 9 times the mean, make the difference"},
		"those diagnosed met it":         {ample, needle, ample, "the weights of 30 samples have an effective size of 0.0004, where those of 10 have 0.95: a few weights, up to 9 times the mean, make the difference"},
		"all cover most and have a tail": {ample, Weights{EffectiveSize: 0.95, Warning: "a tail"}, ample, "a tail"},
	} {
		d := &diagnosis{walkWeights: &c.few, weights: &c.weight}
		d.options.Evaluation = &measure.Evaluation{Weights: &c.measured}
		require.Equal(t, c.want, d.outskirtsDoubt(), name)
	}
	require.Empty(t, (&diagnosis{walkWeights: &ample}).outskirtsDoubt())
}

// A broken system gives an error in place of a call of one kind: the one of that number.
type broken struct {
	normal
	at     string
	number int
	err    error
	calls  map[string]int
}

func (s *broken) call(at string) error {
	if s.calls[at]++; at == s.at && s.calls[at] == s.number {
		return s.err
	}
	return nil
}

type brokenWalk struct {
	chains.Walk
	s  *broken
	at string
}

func (w *brokenWalk) Advance(ctx context.Context, steps int) error {
	return errors.Join(w.s.call(w.at), w.Walk.Advance(ctx, steps))
}

func (s *broken) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	w, err := s.normal.Walk(params, first, n)
	return &brokenWalk{w, s, "walk's step"}, errors.Join(err, s.call("walk"))
}

func (s *broken) Chains(params []float32, n int) (chains.Walk, error) {
	w, err := s.normal.Chains(params, n)
	return &brokenWalk{w, s, "chains' step"}, errors.Join(err, s.call("chains"))
}

func (s *broken) Prospect(params []float32, n int, _ []float64) (chains.Walk, error) {
	w, err := s.normal.Chains(params, n)
	return &brokenWalk{w, s, "prospectors' step"}, errors.Join(err, s.call("prospectors"))
}

// TestErrorsOfSystems: whatever a system cannot do ends a diagnosis with its error.
func TestErrorsOfSystems(t *testing.T) {
	s := &broken{normal: normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, weighted: true, tails: 0.1, shape: 0.4, seed: 7}, err: errors.New("out of order")}
	o := Options{Samples: 256, First: Fresh, Refine: 4, Chains: 8, Draws: 8, Evaluation: &measure.Evaluation{Samples: 20_000}}
	for _, c := range []struct {
		at     string
		number int
	}{
		{"walk", 1}, {"walk", 2}, {"walk", 4}, {"walk's step", 1}, {"walk's step", 3}, {"chains", 1}, {"chains' step", 1}, {"chains' step", 4}, {"chains' step", 5}, {"chains' step", 12},
		{"prospectors", 1}, {"prospectors' step", 1}, {"prospectors' step", 2}, {"prospectors' step", 65},
	} {
		s.at, s.number, s.calls = c.at, c.number, map[string]int{}
		_, err := Run(t.Context(), s, nil, o)
		require.ErrorIs(t, err, s.err, c)
		require.Equal(t, c.number, s.calls[c.at], "no call after that")
	}
	s.at, s.calls = "", map[string]int{}
	r, err := Run(t.Context(), s, nil, o)
	require.NoError(t, err)
	require.Equal(t, 65, s.calls["prospectors' step"])
	require.Equal(t, 1<<10, r.Prospect.Steps)
	require.Equal(t, []any{96, 40.0}, []any{r.Prospect.Chains, r.Prospect.Scale})
	// Work allows prospectors fewer steps, each a half, down to none.
	for steps, want := range map[int]string{1 << 10: "", 1 << 9: "", 1: "", 0: "its share of work allowed no chains from far away"} {
		d := &diagnosis{observer: s, observables: s.Observables(), options: Options{Moves: 1000 + 96*steps + 95}, moves: 1000, logPi: []float64{0}, lowLogPi: -1,
			weights: &Weights{EffectiveSize: 1}, names: []string{"x"}, columns: []column{{low: -9, high: 9}}, width: 1, stages: [][]float64{{-1, 1}}}
		require.NoError(t, d.prospect(t.Context()))
		require.Equal(t, want, strings.Join(d.limits, ""))
		if steps > 0 {
			require.Equal(t, steps, d.found.Steps)
			require.Equal(t, 1000+96*steps, d.moves)
		}
	}
	d := &diagnosis{observer: s, observables: s.Observables(), options: Options{Time: time.Millisecond}, start: time.Now().Add(-time.Second), logPi: []float64{0}, weights: &Weights{EffectiveSize: 1}}
	require.NoError(t, d.prospect(t.Context()))
	require.Equal(t, []string{"time allowed no chains from far away"}, d.limits)
	require.Nil(t, d.found)
}

// TestWhatIsRefused has each option's message, from just beyond its bounds.
func TestWhatIsRefused(t *testing.T) {
	for want, change := range map[string]func(o *Options){
		"samples: 255 is not between 256 and 16777216":              func(o *Options) { o.Samples = 255 },
		"samples: 16777217 is not between 256 and 16777216":         func(o *Options) { o.Samples = 1<<24 + 1 },
		"max-refine: 0 is not a power of two up to 16777216":        func(o *Options) { o.Refine = 0 },
		"max-refine: 6 is not a power of two up to 16777216":        func(o *Options) { o.Refine = 6 },
		"max-refine: 33554432 is not a power of two up to 16777216": func(o *Options) { o.Refine = 1 << 25 },
		"chains: 7 is not between 8 and 65536":                      func(o *Options) { o.Chains = 7 },
		"chains: 65537 is not between 8 and 65536":                  func(o *Options) { o.Chains = 1<<16 + 1 },
		"draws: 7 is not between 8 and 65536":                       func(o *Options) { o.Draws = 7 },
		"draws: 65537 is not between 8 and 65536":                   func(o *Options) { o.Draws = 1<<16 + 1 },
		"moves: -1 is negative":                                     func(o *Options) { o.Moves = -1 },
		"max-time: -1ns is negative":                                func(o *Options) { o.Time = -1 },
	} {
		o := Full()
		change(&o)
		_, err := Run(t.Context(), &normal{}, nil, o)
		require.EqualError(t, err, want)
	}
	require.Equal(t, Options{Samples: 32768, First: 1 << 35, Refine: 4096, Chains: 512, Draws: 64, Time: 10 * time.Minute}, Full())
	require.Equal(t, Options{Samples: 8192, First: 1 << 35, Refine: 256, Chains: 256, Draws: 32, Moves: 1 << 18, Need: true}, Brief(1<<18))
	require.Equal(t, Options{Samples: 2048, First: 1 << 35, Refine: 256, Chains: 64, Draws: 32, Moves: 1<<18 - 1, Need: true}, Brief(1<<18-1))
	require.Equal(t, 256, Brief(0).Chains)
}

// TestColumns: a value that is not finite is the largest or least of those that are, two
// values have no spread, and 0 stands for all where none is finite.
func TestColumns(t *testing.T) {
	inf := math.Inf(1)
	d := &diagnosis{observables: []string{"a", engine.LogWeight, "b", "none"}}
	values := []float64{
		1, -1, 5, math.NaN(),
		inf, -2, 5, inf,
		2, -3, 7, -inf,
		4, -3, 7, -inf,
		-inf, -4, math.NaN(), inf,
	}
	d.choose(values)
	require.Equal(t, []string{"a", "a_spread", "b", "none"}, d.names)
	require.Equal(t, 4, d.width)
	require.Equal(t, []float64{-1, -2, -3, -3, -4}, d.logs)
	// The mean of a is that of 1, 4, 2, 4 and 1.
	require.InDeltaSlice(t, []float64{1, 1.96, 5, 0, 4, 2.56, 5, 0, 2, 0.16, 7, 0, 4, 2.56, 7, 0, 1, 1.96, 5, 0}, d.columnsOf(values), 1e-12)
}

// TestComparisonsOfConstants: means without errors agree or are infinitely far apart.
func TestComparisonsOfConstants(t *testing.T) {
	for mean, z := range map[float64]float64{3: 0, 4: math.Inf(1), 2: math.Inf(-1)} {
		d := &diagnosis{width: 1, options: Options{Samples: 2}, stages: [][]float64{{mean, mean}}, chain: &chainResult{summaries: []stat.ChainSummary{{Mean: 3, RHat: 1.5, EffectiveSize: 70}}}}
		require.Equal(t, &Comparison{Mean: 3, Z: z, RHat: 1.5, RHatBoth: 1, EffectiveSize: 70}, d.compare(0, 0))
	}
	require.Nil(t, (&diagnosis{}).compare(0, 0))
	require.Equal(t, "; as drawn, it falls", driftSuffix(findings{moved: true}, "it falls"))
	require.Empty(t, driftSuffix(findings{}, "it falls"))
}

// TestClimbs: a chain climbs whose ln π is on average no lower in the second half of its draws
// than ever in the first.
func TestClimbs(t *testing.T) {
	// Draws of three chains beside each other; the fifth is in neither half.
	require.Equal(t, []bool{true, false, true}, climbs([]float64{1, 1, 7, 2, 2, 7, 3, 3, 7, 1, 0, 7, -9, 99, -9}, 3))
	require.Equal(t, []bool{false, false}, climbs([]float64{1, 2}, 2))
	require.Equal(t, 2.0, lowQuantile([]float64{3, 2, 1, 4}[:2]))
	hundred := make([]float64, 200)
	for i := range hundred {
		hundred[i] = float64(199 - i)
	}
	require.Equal(t, 2.0, lowQuantile(hundred), "which 1 % lie below")
	require.Equal(t, math.Inf(-1), lowQuantile(nil))
}

// A rising walk's ln π is its number of steps, but of some states, that rest at −1, and of the
// last, which passes 99 in the eighth.
type rising struct {
	still
	steps, resting int
}

func (w *rising) Advance(_ context.Context, steps int) error {
	w.steps += steps
	for i := range w.logs {
		switch {
		case i < w.resting || i == len(w.logs)-1:
			w.logs[i] = -1
		default:
			w.logs[i] = float64(w.steps)
		}
	}
	if w.steps == 8 {
		w.logs[len(w.logs)-1] = 99
	}
	return nil
}

// TestApproach: chains move until all but fewer than one in a hundred have come to where ln π is
// as high as of samples, or all steps where these are asked for.
func TestApproach(t *testing.T) {
	for _, c := range []struct {
		resting, moves, most, steps int
		all, home                   bool
	}{
		{0, 0, 1000, 24, false, true}, {1, 0, 1000, 24, false, true}, {2, 0, 1000, 1000, false, false}, {2, 0, 12, 16, false, false},
		{0, 16 * 200, 1000, 16, false, false}, {0, 24*200 - 1, 1000, 16, false, false}, {0, 24 * 200, 1000, 24, false, true},
		{0, 0, 1000, 1000, true, true}, {2, 0, 1000, 1000, true, false}, {0, 32 * 200, 1000, 32, true, true},
	} {
		d := &diagnosis{lowLogPi: 20, options: Options{Moves: c.moves}}
		if c.resting == 0 {
			d.lowLogPi = 24
		}
		w := &rising{still: still{logs: make([]float64, 200)}, resting: c.resting}
		var visited []int // after so many steps
		steps, home, err := d.approach(t.Context(), w, 8, c.most, c.all, func(came []bool) {
			visited = append(visited, w.steps)
			require.Len(t, came, 200)
			for i, has := range came {
				require.Equal(t, i >= c.resting, has, "the last has been there, and left")
			}
		})
		require.NoError(t, err)
		var want []int
		for at := 520; at <= c.steps; at += 32 { // in the second half
			want = append(want, at)
		}
		require.Equal(t, want, visited)
		require.Equal(t, []any{c.steps, c.home}, []any{steps, home}, c)
		require.Equal(t, 200*steps, d.moves)
	}
}

// A large system has states of so many bytes.
type large struct {
	normal
	engine.Sampler
	bytes int
}

func (s *large) Observables() []string { return s.normal.Observables() }

func (s *large) Formats() []engine.Format { return []engine.Format{{RowBytes: s.bytes}} }

// TestLargeStates: samples take no more than 2²⁸ bytes, but there are 256.
func TestLargeStates(t *testing.T) {
	for bytes, want := range map[int]int{1 << 18: 512, 1 << 19: 512, 1<<19 + 1<<18: 341, 1 << 20: 256, 1 << 21: 256} {
		s := &large{normal: normal{keep: 0.8, cross: 0.2, chainCross: 0.2, plus: 0.5}, bytes: bytes}
		r, err := Run(t.Context(), s, nil, Options{Samples: 512, First: Fresh, Refine: 1, Chains: 8, Draws: 8})
		require.NoError(t, err)
		require.Equal(t, want, r.Samples, bytes)
	}
}

// TestBiasBelowChains: weights tell of a bias that chains that mix cannot see.
func TestBiasBelowChains(t *testing.T) {
	s := normal{keep: 0.8, cross: 0.2, chainCross: 0.2, apart: 3, plus: 0.5, off: 0.13, weighted: true, seed: 7}
	r, err := Run(t.Context(), &s, nil, Options{Samples: 1024, First: Fresh, Refine: 16, Chains: 128, Draws: 16, Evaluation: &measure.Evaluation{Samples: 20_000}})
	require.NoError(t, err)
	require.True(t, r.Chains.Mixed)
	require.Equal(t, Wrong, r.Verdict, r.Sentence)
	require.Regexp(t, `^wrong, do not use: importance weights of \d+ samples say that x is off by 0\.0\d+ standard deviations, \d\.\d sampling floors, which is too little for chains to see$`, r.Sentence)
	require.Equal(t, -1, r.Refine)
	require.Empty(t, r.Lacking)
}

// TestDisagreement: where chains contradict level weights, the samples decide if more than a tenth
// of them are where no chain came, and nobody otherwise.
func TestDisagreement(t *testing.T) {
	const n, chains = 80, 16
	g := gap{name: "x", mean: 2.25, chains: 1.5, standardError: 0.0234}
	for away, want := range map[int]string{
		9: "trustworthy: averages stay put over 64 Metropolis steps, and importance weights give the same (effective size 0.8765, k̂ 0.31; a difference of more than 0.15 standard deviations would show); 16 independent Markov chains have x at 1.5 ± 0.02, and the samples at 2.25, but 11 % of the samples are where no chain came, so chains cannot decide",
		8: "cannot tell: two pieces of evidence contradict each other: 16 independent Markov chains have x at 1.5 ± 0.02, and the samples at 2.25, while importance weights (effective size 0.8765, k̂ 0.31) agree with the samples; longer chains decide: revgen mcmc",
	} {
		samples, ends := make([]float64, n), make([]float64, chains)
		for i := range ends {
			ends[i] = float64(i)
		}
		for i := range samples {
			samples[i] = ends[i%chains] + 3.99 // twice as far as the first end is from the third, at most
			if i < away {
				samples[i] = ends[chains-1] + 4.01
			}
		}
		d := &diagnosis{observables: []string{"x"}, options: Options{Samples: n, Chains: chains}, sampleWalk: &still{values: samples}, chainWalk: &still{values: ends},
			weights: &Weights{EffectiveSize: 0.87654, ParetoK: 0.31}, shifts: []shift{{deviation: 2, tolerance: 0.3, apart: 0.01}, {deviation: 0, tolerance: 9}, {deviation: 1, tolerance: 0.01, apart: 0.03}}}
		require.Equal(t, float64(away)/n, d.unvisited())
		r := &Report{Steps: 64, Refine: -1, Weights: d.weights}
		require.Zero(t, d.judgeDisagreement(r, g, func(v Verdict, format string, args ...any) {
			r.Verdict, r.Sentence = v, lead[v]+fmt.Sprintf(format, args...)
		}))
		require.Equal(t, want, r.Sentence)
		if away > 8 {
			require.Equal(t, []any{Trustworthy, 0, ""}, []any{r.Verdict, r.Refine, r.Lacking})
		} else {
			require.Equal(t, []any{Unknown, -1, "by weights there are neither ln Z nor averages: chains that agree with each other contradict them"}, []any{r.Verdict, r.Refine, r.Lacking})
			require.Equal(t, r.Lacking, d.weights.Warning)
		}
	}
}

// TestRefutations: what takes verdicts back, and of which verdicts.
func TestRefutations(t *testing.T) {
	off := measure.Metric{Name: "a", Exact: 1, Error: math.Inf(1), Floor: 1}
	far := &measure.Evaluation{Samples: 500, Metrics: []measure.Metric{off}}
	missing := &measure.Evaluation{Samples: 500, Lost: []string{"a mode is gone", "another"}, Metrics: []measure.Metric{off}}
	lost := &Prospect{Chains: 96, Scale: 40, Lost: 2, Near: "x = 3"}
	const (
		gone  = "wrong, as 500 samples show: a mode is gone; another; a (infinite)"
		error = "wrong, as 500 samples show: a (infinite)"
		mode  = "wrong, do not use: 2 of 96 chains, started up to 40 times the target's scale away, ended in states that are as likely as the samples and that the generator hardly draws: a mode is lost, near x = 3"
	)
	for _, c := range []struct {
		verdict    Verdict
		found      *Prospect
		evaluation *measure.Evaluation
		want       string // "" where it stays
	}{
		{Trustworthy, nil, nil, ""}, {Trustworthy, &Prospect{Chains: 96}, &measure.Evaluation{}, ""},
		{Trustworthy, nil, far, error}, {Unknown, nil, far, error}, {Refine, nil, far, ""}, {Wrong, nil, far, ""},
		{Trustworthy, nil, missing, gone}, {Unknown, nil, missing, gone}, {Refine, nil, missing, gone}, {Wrong, nil, missing, ""},
		{Trustworthy, lost, nil, mode}, {Unknown, lost, missing, mode}, {Refine, lost, far, mode}, {Wrong, lost, missing, ""},
	} {
		d := &diagnosis{found: c.found, options: Options{Evaluation: c.evaluation}}
		r := &Report{Verdict: c.verdict, Sentence: "as it was", Refine: 8}
		d.refute(r)
		if c.want == "" {
			require.Equal(t, &Report{Verdict: c.verdict, Sentence: "as it was", Refine: 8}, r)
			continue
		}
		want := &Report{Verdict: Wrong, Sentence: c.want, Refine: -1}
		if c.want == mode {
			want.Lacking = "by weights there are neither ln Z nor averages: a mode is lost, near x = 3"
		}
		require.Equal(t, want, r)
	}
}

// A walk of spins has states that are up or down at random, unless there are none.
type spinning struct {
	*still
	random *rand.Rand
	err    error
}

func (w *spinning) States(dst []byte, _ string) error {
	for i := range dst {
		dst[i] = byte(w.random.IntN(2)*2 - 1)
	}
	return w.err
}

// A lattice has the formats of spins.
type latticed struct {
	engine.System
	engine.Sampler
	chains.Observer
	format engine.Format
}

func (s latticed) Formats() []engine.Format { return []engine.Format{s.format} }

// TestWeighsSpins: weights tell of each of up to 64 spins.
func TestWeighsSpins(t *testing.T) {
	const n = 4000
	for name, c := range map[string]struct {
		format engine.Format
		want   int
	}{
		"one": {engine.Format{Name: "spins", RowBytes: 1}, 1}, "64": {engine.Format{Name: "spins", RowBytes: 64}, 64},
		"65": {engine.Format{Name: "spins", RowBytes: 65}, 0}, "others": {engine.Format{Name: "states", RowBytes: 9}, 0},
	} {
		w := &spinning{&still{}, rand.New(rand.NewPCG(3, 4)), nil}
		d := &diagnosis{observer: latticed{format: c.format}, columns: []column{{}}, names: []string{"x"}, width: 1, options: Options{Samples: n}, logs: make([]float64, n)}
		var err error
		d.spots, err = d.spins(w, n)
		require.NoError(t, err, name)
		require.Len(t, d.spots, n*c.want, name)
		for i := range d.logs {
			if c.want > 0 {
				d.logs[i] = 0.1 * float64(d.spots[(i+1)*c.want-1]) // a mean of tanh 0.1
			}
		}
		d.computeShifts(make([]float64, n))
		require.Len(t, d.shifts, 1+c.want, name)
		worst, beyond := d.largestShift()
		require.Equal(t, c.want > 0, beyond, name)
		if beyond {
			require.Equal(t, fmt.Sprintf("s%d", c.want-1), d.shifts[worst].name)
			require.InDelta(t, math.Tanh(0.1), d.shifts[worst].difference, 0.01)
		}
		w.err = errors.New("none")
		_, err = d.spins(w, n)
		require.Equal(t, c.want == 0, err == nil, name)
	}
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
