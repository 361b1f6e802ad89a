package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A calibration is a generator of some quality and what its target truly is.
type calibration struct {
	name, system, preset string
	train                []string // assignments of the training
	target               []string // and of the target that it is diagnosed for, if that is another
	truth                []string // and of chains that mix, for the truth
}

// calibrations are generators stopped early, of another temperature or other weights,
// with a mode lost, and good ones.
var calibrations = []calibration{
	{name: "3×3, β = 0.2, 40 steps", system: "ising", preset: "quick", train: []string{"training.steps=40"}},
	{name: "3×3, β = 0.2, 400 steps", system: "ising", preset: "quick", train: []string{"training.steps=400"}},
	{name: "3×3, of β = 0.2 at 0.3", system: "ising", preset: "quick", train: []string{"training.steps=200"}, target: []string{"target.beta=0.3"}},
	{name: "4×4, β = 0.44", system: "ising", preset: "best", train: []string{"target.l=4", "target.beta=0.44"}},
	{name: "4×4, of β = 0.3 at 0.44", system: "ising", preset: "best", train: []string{"target.l=4", "target.beta=0.3"}, target: []string{"target.beta=0.44"}},
	{name: "8×8, β = 0.4407", system: "ising", preset: "best", train: []string{"target.l=8", "target.beta=0.4407"}},
	{name: "8×8, β = 0.4407, 2 steps", system: "ising", preset: "best", train: []string{"target.l=8", "target.beta=0.4407", "training.steps=2"}},
	{name: "8×8, β = 0.44, of a field 0.2 at 0.001: a sector lost", system: "ising", preset: "best", train: []string{"target.l=8", "target.beta=0.44", "target.h=0.2"}, target: []string{"target.h=0.001"}},
	{name: "8×8, of β = 0.3 at 0.5 in a field 0.1", system: "ising", preset: "best", train: []string{"target.l=8", "target.beta=0.3", "target.h=0.1"}, target: []string{"target.beta=0.5"}},
	{name: "16×16, β = 0.28, 20 steps", system: "ising", preset: "best", train: []string{"target.l=16", "target.beta=0.28", "training.steps=20"}},
	{name: "16×16, of β = 0.28 at 0.4407", system: "ising", preset: "best", train: []string{"target.l=16", "target.beta=0.28", "training.steps=100"}, target: []string{"target.beta=0.4407"}},
	{name: "16×16, β = 0.28, 400 steps", system: "ising", preset: "best", train: []string{"target.l=16", "target.beta=0.28", "training.steps=400"}},
	{name: "mixture, 30 steps", system: "gmm", preset: "quick", train: []string{"training.steps=30"}, truth: wide},
	{name: "flow, 30 steps", system: "gmm", preset: "best", train: []string{"generator.kind=realnvp", "training.steps=30"}, truth: wide},
	{name: "flow, 300 steps", system: "gmm", preset: "best", train: []string{"generator.kind=realnvp", "training.steps=300"}, truth: wide},
	{name: "mixture, a mode lost, moves that cross", system: "gmm", preset: "quick", train: slices.Concat(one, wide, hundred), target: two, truth: wide},
	{name: "mixture, a mode lost, none cross", system: "gmm", preset: "quick", train: slices.Concat(one, hundred), target: two, truth: wide},
	{name: "the same without a density", system: "gmm", preset: "paper", train: slices.Concat(one, hundred, []string{"generator.kind=residual"}), target: two, truth: wide},
	{name: "mixture, weights wrong, none cross", system: "gmm", preset: "quick", train: slices.Concat(even, []string{"training.steps=300"}), target: two, truth: wide},
	{name: "wells, 400 steps", system: "hybrid", preset: "quick", train: []string{"training.steps=400"}},
	{name: "wells by pairs, 40 steps", system: "hybrid", preset: "paper", train: []string{"training.steps=40"}},
	{name: "wells by pairs, 400 steps", system: "hybrid", preset: "paper", train: []string{"training.steps=400"}},
	{name: "wells, of μ = 1, 9 at 1, 25", system: "hybrid", preset: "quick", train: []string{"target.mu=[1,9]", "training.steps=200"}, target: []string{"target.mu=[1,25]"}},
}

// Two Gaussians so far apart that no small move crosses, with other weights, or one of
// them alone; and moves that do cross.
var (
	two     = []string{mixtureOf(0.3, 0.7)}
	even    = []string{mixtureOf(0.5, 0.5)}
	one     = []string{`target.components=[{"weight":1,"mean":[-4,0],"covariance":[[1,0],[0,1]]}]`}
	wide    = []string{"transition.sigma=[0.5,3,8]"}
	hundred = []string{"training.steps=150"}
)

func mixtureOf(a, b float64) string {
	return fmt.Sprintf(`target.components=[{"weight":%v,"mean":[-4,0],"covariance":[[1,0],[0,1]]},{"weight":%v,"mean":[4,0],"covariance":[[1,0],[0,1]]}]`, a, b)
}

// What counts as right, in standard deviations of an observable: 16 384 samples show a
// bias of about the first, and a bias below the second is none.
const (
	rightBias = 0.06
	noBias    = 0.02
)

// TestVerdictsAreCalibrated counts how often verdicts are right, too mild and too harsh.
// -v prints the table of which docs/trust.md has some rows.
func TestVerdictsAreCalibrated(t *testing.T) {
	long.Only(t)
	var rows []string
	count := map[string]int{}
	for _, c := range calibrations {
		before, after, r := c.outcome(t)
		class := classify(r, before, after)
		count[class]++
		refined := "–"
		if r.Refine > 0 {
			refined = fmt.Sprintf("%.3f", after)
		}
		verdict := string(r.Verdict)
		if r.Verdict == diagnose.Refine {
			verdict += fmt.Sprintf(" %d", r.Refine)
		}
		rows = append(rows, fmt.Sprintf("| %s | %.3f | %s | %s | %s |", c.name, before, verdict, refined, class))
		t.Logf("%s: bias %.3f, %s: %s", c.name, before, class, r.Sentence)
	}
	t.Logf("%v\n| generator | bias | verdict | bias refined | |\n|---|--:|---|--:|---|\n%s", count, strings.Join(rows, "\n"))
	require.LessOrEqual(t, 10*count[mild], len(rows), "verdicts that are too mild")
	require.LessOrEqual(t, 10*count[harsh], len(rows), "verdicts that are too harsh")
}

const (
	right     = "right"
	mild      = "too mild"
	harsh     = "too harsh"
	abstained = "cannot tell"
)

func classify(r *diagnose.Report, before, after float64) string {
	switch {
	case r.Verdict == diagnose.Unknown:
		return abstained
	case r.Verdict == diagnose.Trustworthy && before > rightBias, r.Verdict == diagnose.Refine && after > rightBias:
		return mild
	case r.Verdict == diagnose.Wrong && before < rightBias, r.Verdict == diagnose.Refine && before < noBias:
		return harsh
	}
	return right
}

// outcome trains and diagnoses, and returns the largest bias of an observable or of its
// spread as drawn and after the refinement that was found.
func (c *calibration) outcome(t *testing.T) (before, after float64, r *diagnose.Report) {
	t.Helper()
	ctx, workers := context.Background(), pool.New(0)
	defer workers.Close()
	// A pair's result is not evaluated: what is exact plays no part.
	trained, err := engine.NewTrainer(c.config(t, c.train), workers)
	require.NoError(t, err)
	for range c.config(t, c.train).Shared().Training.Steps {
		require.NoError(t, trained.Step())
	}
	params := trained.Params()
	system, err := c.config(t, c.train, c.target).New(workers)
	require.NoError(t, err)
	o := diagnose.Options{Samples: 1 << 14, First: diagnose.Fresh, Refine: 512, Chains: 256, Draws: 32}
	r, err = diagnose.Run(ctx, system, params, o)
	require.NoError(t, err)

	// The truth: long chains that mix, of another seed.
	other, err := c.config(t, c.train, c.target, c.truth, []string{"training.seed=12345"}).New(workers)
	require.NoError(t, err)
	observer := other.(chains.Observer)
	const walkers, draws, between, samples = 512, 64, 40, 1 << 16
	names := observer.Observables()
	w, err := observer.Chains(params, walkers)
	require.NoError(t, err)
	require.NoError(t, w.Advance(ctx, 1024))
	all := make([]float64, draws*walkers*len(names))
	for d := range draws {
		require.NoError(t, w.Advance(ctx, between))
		w.ObserveUnweighted(all[d*walkers*len(names):][:walkers*len(names)])
	}
	walk, err := system.(chains.Observer).Walk(params, diagnose.Fresh+1<<20, samples)
	require.NoError(t, err)
	seen := make([]float64, samples*len(names))
	walk.ObserveUnweighted(seen)
	before = c.bias(t, names, all, seen, walkers)
	if r.Refine > 0 {
		require.NoError(t, walk.Advance(ctx, r.Refine))
		walk.ObserveUnweighted(seen)
		after = c.bias(t, names, all, seen, walkers)
	}
	return before, after, r
}

// bias returns the largest difference of means, and of means of squared distances from
// the truth's, in the truth's standard deviations.
func (c *calibration) bias(t *testing.T, names []string, truth, seen []float64, chains int) (largest float64) {
	t.Helper()
	column := func(values []float64, j int, of func(v float64) float64) (x []float64, m stat.Mean) {
		for i := j; i < len(values); i += len(names) {
			v := of(values[i])
			x = append(x, v)
			m.Add(v)
		}
		return x, m
	}
	for j, name := range names {
		if name == engine.LogWeight {
			continue
		}
		_, center := column(truth, j, func(v float64) float64 { return v })
		for _, of := range []func(v float64) float64{
			func(v float64) float64 { return v },
			func(v float64) float64 { return (v - center.Value()) * (v - center.Value()) },
		} {
			x, want := column(truth, j, of)
			_, got := column(seen, j, of)
			if want.Deviation() == 0 {
				continue
			}
			summary := stat.RankChains(x, chains)
			require.Less(t, summary.RHat, 1.2, "%s: the truth's chains do not mix, by %s", c.name, name)
			largest = max(largest, math.Abs(got.Value()-want.Value())/want.Deviation())
		}
	}
	return largest
}

func (c *calibration) config(t *testing.T, assignments ...[]string) engine.Config {
	t.Helper()
	// The recipe is that of the target of the training.
	cfg, err := catalogue.Systems(revgen.Systems()).Configure(c.system, c.preset, assignments[0]...)
	require.NoError(t, err, c.name)
	require.NoError(t, conf.Set(cfg, slices.Concat(assignments[1:]...)...))
	require.NoError(t, cfg.Validate(), c.name)
	return cfg
}
