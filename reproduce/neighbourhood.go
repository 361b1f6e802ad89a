package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/report"
)

// NeighboursStudy is the name of the study that trains targets drawn from seeds.
const NeighboursStudy = "neighbours"

// neighbourPreset is what all of them are trained by.
const neighbourPreset = "best"

// nearby is how many times the sampling floor every error may be.
const nearby = 3

// A NeighbourOutcome is what a recipe gave for a target that was drawn.
type NeighbourOutcome struct {
	Seed    uint64   `json:"seed"`
	Kind    string   `json:"kind"`
	Title   string   `json:"title"`
	System  string   `json:"system"`
	Preset  string   `json:"preset"`
	Changed []string `json:"changed,omitempty"` // assignments that the user added
	Samples int      `json:"samples"`
	Steps   int      `json:"steps"`
	Seconds float64  `json:"seconds"` // of training
	Machine Machine  `json:"machine"`
	// Rows is how many errors have a sampling floor, Worst the largest of them in its
	// units, and Metric whose that is.
	Rows   int     `json:"rows"`
	Worst  float64 `json:"worst"`
	Metric string  `json:"metric"`
	// EffectiveSampleSize is NaN of generators without a density.
	EffectiveSampleSize float64          `json:"effective_sample_size"`
	Warnings            []string         `json:"warnings,omitempty"`
	Verdict             diagnose.Verdict `json:"verdict"`
	Sentence            string           `json:"sentence"`
}

// MarshalJSON implements json.Marshaler.
func (o NeighbourOutcome) MarshalJSON() ([]byte, error) { return number.Marshal(o) }

// UnmarshalJSON implements json.Unmarshaler.
func (o *NeighbourOutcome) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, o) }

// Near reports that no error is more than three times its sampling floor.
func (o *NeighbourOutcome) Near() bool { return o.Worst <= nearby }

// Warned reports that the training or its table of metrics has a warning. That a
// reference is that of long chains, or that a row has none, is not counted.
func (o *NeighbourOutcome) Warned() bool {
	return slices.ContainsFunc(o.Warnings, func(w string) bool {
		return !strings.HasPrefix(w, engine.Inexact) && !strings.HasPrefix(w, engine.Unknown)
	})
}

// Neighbours are outcomes by their seeds.
type Neighbours []NeighbourOutcome

// put replaces an outcome or adds it in its place.
func (all *Neighbours) put(o NeighbourOutcome) {
	*all = slices.DeleteFunc(*all, func(old NeighbourOutcome) bool { return old.Seed == o.Seed })
	*all = append(*all, o)
	slices.SortFunc(*all, func(a, b NeighbourOutcome) int { return cmp.Compare(a.Seed, b.Seed) })
}

// neighbourJobs draws the targets of a plan. Those whose system is not among the
// definitions are left out. Their recipes, which look at the target, are chosen when
// it is their turn.
func (p *Plan) neighbourJobs(systems []engine.Definition) (all []job) {
	for i := range p.Seeds {
		n := NewNeighbour(p.Seed + uint64(i))
		if slices.ContainsFunc(systems, func(d engine.Definition) bool { return d.Name == n.System }) {
			all = append(all, job{
				neighbour: &n, systems: systems, preset: neighbourPreset,
				setting: Setting{Name: n.Title, Title: n.Title, System: n.System, Assignments: n.Assignments},
				dir:     filepath.Join("studies", NeighboursStudy),
			})
		}
	}
	return all
}

// neighbourhood trains, measures and diagnoses the target of a job.
func (e *execution) neighbourhood(ctx context.Context) (*NeighbourOutcome, error) {
	n := e.neighbour
	cfg, _, err := engine.Systems(e.systems).Resolve(ctx, engine.Source{System: n.System, Preset: e.preset, Set: slices.Concat(n.Assignments, e.Assignments)})
	if err != nil {
		return nil, fmt.Errorf("seed %d: %s: %w", n.Seed, n.Title, err)
	}
	shared := cfg.Shared()
	run := Run{
		Study: NeighboursStudy, Setting: e.setting, Preset: e.preset, Seed: n.Seed, Steps: shared.Training.Steps,
		Dir: filepath.Join(e.Dir, e.dir, fmt.Sprintf("seed%d", n.Seed)), Index: e.first, Count: e.count,
	}
	result, err := e.train(ctx, cfg, run, func(ctx context.Context, trained engine.System, r *engine.Result) (any, error) {
		o := diagnosed
		o.Moves, o.Measured = diagnose.Work(trained)/4, r.Evaluation.Weights
		return diagnose.Run(ctx, trained, r.Params, o)
	})
	if err != nil {
		return nil, err
	}
	o := &NeighbourOutcome{
		Seed: n.Seed, Kind: n.Kind, Title: n.Title, System: n.System, Preset: e.preset, Changed: e.Assignments,
		Samples: result.Evaluation.Samples, Steps: result.Steps, Seconds: result.Seconds, Machine: e.machine(),
		Warnings: slices.Concat(result.Warnings, result.Evaluation.Warnings),
	}
	o.judge(result.Evaluation)
	r := result.Diagnosis.(*diagnose.Report)
	o.Verdict, o.Sentence = r.Verdict, r.Sentence
	return o, nil
}

// diagnosed are, with the moves of a quarter of a whole diagnosis, bounds that end one
// within seconds, and on every machine alike.
var diagnosed = func() diagnose.Options {
	o := diagnose.Full()
	o.Refine, o.Time = 512, 0
	return o
}()

// judge looks for the error that is furthest from its sampling floor.
func (o *NeighbourOutcome) judge(e *engine.Evaluation) {
	o.EffectiveSampleSize = math.NaN()
	for i := range e.Metrics {
		m := &e.Metrics[i]
		if m.Name == "effective_sample_size" {
			o.EffectiveSampleSize = m.Generated
		}
		if !(m.Floor > 0) {
			continue
		}
		o.Rows++
		// What is not a number is worse than any.
		if f := m.Floors(); o.Metric == "" || !math.IsNaN(o.Worst) && !(f <= o.Worst) {
			o.Worst, o.Metric = f, m.Name
		}
	}
}

// NeighboursTitle heads the table of neighbours.
const NeighboursTitle = "Targets drawn from seeds, with the best preset and nothing but the target set"

// NeighboursLegend explains the table of neighbours.
const NeighboursLegend = "The worst row is the metric whose error is the largest in units of its sampling floor, the expected error of as many exact samples, held against a reference that is as uncertain as this one. An average of exact samples is beyond 3 floors in 1.7 % of cases, and the worst of several rows of them, if these were averages and independent, within 95 % in 95 % of cases. Warned: the training, or the table that ends it, has a warning. The diagnosis knows no reference."

// Table returns a line for each target.
func (all Neighbours) Table() *report.Table {
	t := &report.Table{Header: []string{"seed", "target", "worst row", "× floor", "95 %", "warned", "effective size", "diagnosis", "steps", "trained in"}, Left: 3}
	for i := range all {
		o := &all[i]
		warned, size := "no", "–"
		if o.Warned() {
			warned = "yes"
		}
		if number.Finite(o.EffectiveSampleSize) {
			size = fmt.Sprintf("%.4f", o.EffectiveSampleSize)
		}
		title := o.Title
		if len(o.Changed) > 0 {
			title += ", with " + strings.Join(o.Changed, " ")
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(o.Seed), title, report.Label(o.Metric), fmt.Sprintf("%.2f", o.Worst), fmt.Sprintf("%.2f", ofExact(o.Rows)), warned, size,
			string(o.Verdict), figure.Count(o.Steps), seconds(o.Seconds),
		})
	}
	return t
}

// ofExact returns how many floors the worst of a number of independent averages of exact
// samples is within in 95 % of cases: the floor is the mean of their size.
func ofExact(rows int) float64 {
	return math.Sqrt(math.Pi) * math.Erfinv(math.Pow(0.95, 1/float64(rows)))
}

// Summary counts who is near, who is not and says so, and who is silent.
func (all Neighbours) Summary() string {
	near, warned, silent, rows := 0, 0, 0, 0
	var times []float64
	for i := range all {
		o := &all[i]
		rows += o.Rows
		times = append(times, o.Seconds)
		switch {
		case o.Near():
			near++
		case o.Warned():
			warned++
		default:
			silent++
		}
	}
	return fmt.Sprintf("%d of %d within %d × the sampling floor of %s samples in all of their rows (%d together); beyond: %d warned, %d silent; trained in %s each (median)",
		near, len(all), nearby, figure.Count(all[0].Samples), rows, warned, silent, seconds(median(times)))
}
