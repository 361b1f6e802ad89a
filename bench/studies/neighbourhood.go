package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/report"
	"github.com/revgen/revgen/internal/stat"
)

// NeighboursStudy is the name of the study that trains targets drawn from seeds.
const NeighboursStudy = "neighbours"

// neighbourPreset is what all of them are trained by.
const neighbourPreset = "best"

// nearby is how many times the sampling floor every error may be.
const nearby = 3

// manyTimes is by how many times more samples a generator is measured once more, so that
// the noise of an average is a quarter of what it is in the table that ends its training.
const manyTimes = 16

// A NeighbourOutcome is what a recipe gave for a target that was drawn.
type NeighbourOutcome struct {
	Seed    uint64            `json:"seed"`
	Kind    string            `json:"kind"`
	Title   string            `json:"title"`
	System  string            `json:"system"`
	Preset  string            `json:"preset"`
	Changed []string          `json:"changed,omitempty"` // assignments that the user added
	Samples int               `json:"samples"`
	Steps   int               `json:"steps"`
	Seconds float64           `json:"seconds"` // of training
	Machine reproduce.Machine `json:"machine"`
	// Rows is how many errors have a sampling floor, Worst the largest of them in its
	// units, and Metric whose that is.
	Rows   int     `json:"rows"`
	Worst  float64 `json:"worst"`
	Metric string  `json:"metric"`
	// Many is by how many samples errors were measured once more, the Samples being the
	// first of them: 0 if they were not. WorstOfMany is the largest of these errors, in
	// units of the floors of Samples, and MetricOfMany whose that is.
	Many         int     `json:"many,omitempty"`
	WorstOfMany  float64 `json:"worst_of_many,omitempty"`
	MetricOfMany string  `json:"metric_of_many,omitempty"`
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

// Near reports that no error measured by Samples is more than three times its sampling
// floor, which is that of Samples.
func (o *NeighbourOutcome) Near() bool { return o.Worst <= nearby }

// NearByMany reports the same of the errors measured by Many, if there are any: the floor
// is that of Samples still.
func (o *NeighbourOutcome) NearByMany() bool { return o.Many > 0 && o.WorstOfMany <= nearby }

// beyond reports an error that is more, by either measure.
func (o *NeighbourOutcome) beyond() bool { return !o.Near() || o.Many > 0 && !o.NearByMany() }

// Warned reports that the training or its table of metrics has a warning. That a
// reference is that of long chains, or that a row has none, is not counted; that chains have
// not settled is.
func (o *NeighbourOutcome) Warned() bool {
	return slices.ContainsFunc(o.Warnings, func(w string) bool {
		return !strings.HasPrefix(w, measure.Inexact) && (!strings.HasPrefix(w, measure.Unknown) || strings.HasPrefix(w, measure.Unsettled))
	})
}

// Neighbours are outcomes by their seeds.
type Neighbours []NeighbourOutcome

// neighbourJobs draws the targets of a plan. Those whose system is not among the
// definitions are left out. Their recipes, which look at the target, are chosen when
// it is their turn.
func (p *Plan) neighbourJobs(systems []engine.Definition) (all []job) {
	kinds := inTurn
	if len(p.Only) > 0 {
		kinds = p.Only
	}
	for i := range p.Seeds {
		n := NewNeighbour(p.Seed+uint64(i), kinds)
		if slices.ContainsFunc(systems, func(d engine.Definition) bool { return d.Name == n.System }) {
			setting := reproduce.Setting{Name: n.Title, Title: n.Title, System: n.System, Assignments: n.Assignments}
			all = append(all, job{neighbour: &n, record: (*execution).recordNeighbour, Trial: p.trial(NeighboursStudy, neighbourPreset, setting)})
		}
	}
	return all
}

// recordNeighbour puts a neighbour's outcome into the results, and writes these.
func (e *execution) recordNeighbour(ctx context.Context, results *Results) error {
	o, err := e.neighbourhood(ctx)
	if err != nil {
		return err
	}
	if old := reproduce.Find(results.Neighbours, func(old NeighbourOutcome) bool { return old.Seed == o.Seed }); old != nil && !e.Trained {
		o.Machine, o.Seconds = old.Machine, old.Seconds
	}
	results.Neighbours = replaced(results.Neighbours, *o, func(o *NeighbourOutcome) uint64 { return o.Seed }, bySeed)
	return results.Write(e.Plan.Dir)
}

// neighbourhood trains, measures and diagnoses the target of a job.
func (e *execution) neighbourhood(ctx context.Context) (*NeighbourOutcome, error) {
	n := e.neighbour
	cfg, _, err := e.systems.Resolve(ctx, catalogue.Source{System: n.System, Preset: e.Preset, Set: slices.Concat(n.Assignments, e.Assignments)})
	if err != nil {
		return nil, fmt.Errorf("seed %d: %s: %w", n.Seed, n.Title, err)
	}
	many := manyTimes * cfg.Shared().Evaluation.Samples
	if err := affordable(cfg, many); err != nil {
		return nil, fmt.Errorf("seed %d: %s: measured by %d samples: %w", n.Seed, n.Title, many, err)
	}
	var larger *measure.Evaluation
	result, err := e.Train(ctx, cfg, e.Run(cfg, 0, n.Seed), run.Options{Diagnose: func(ctx context.Context, trained engine.System, r *run.Result) (_ any, err error) {
		// The system that was evaluated has its reference still.
		if larger, err = trained.(engine.Evaluator).Evaluate(ctx, r.Params, many); err != nil {
			return nil, err
		}
		o := diagnosed
		o.Moves, o.Evaluation = diagnose.Work(trained)/4, r.Evaluation
		return diagnose.Run(ctx, trained, r.Params, o)
	}})
	if err != nil {
		return nil, err
	}
	o := &NeighbourOutcome{
		Seed: n.Seed, Kind: n.Kind, Title: n.Title, System: n.System, Preset: e.Preset, Changed: e.Assignments,
		Samples: result.Evaluation.Samples, Steps: result.Steps, Seconds: result.Seconds, Machine: e.Machine(),
		Warnings: slices.Concat(result.Warnings, result.Evaluation.Warnings),
	}
	o.judge(result.Evaluation, larger)
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

// affordable reports why a trained generator cannot be measured by so many samples.
func affordable(cfg engine.Config, samples int) error {
	e := &cfg.Shared().Evaluation
	defer func(asked int) { e.Samples = asked }(e.Samples)
	e.Samples = samples
	return cfg.Validate()
}

// judge looks for the errors that are furthest from their sampling floors: of an
// evaluation, and of another of the same generator against the same reference by more
// samples, nil for none, whose errors are held against the floors of the first.
func (o *NeighbourOutcome) judge(e, larger *measure.Evaluation) {
	o.EffectiveSampleSize = math.NaN()
	if larger != nil {
		o.Many = larger.Samples
	}
	for _, m := range e.Metrics {
		if m.Name == "effective_sample_size" {
			o.EffectiveSampleSize = m.Generated
		}
		if !(m.Floor > 0) {
			continue
		}
		o.Rows++
		further(&o.Worst, &o.Metric, m)
		if larger == nil {
			continue
		}
		m.Error = math.NaN() // if it could not be measured
		if again := reproduce.Find(larger.Metrics, func(other measure.Metric) bool { return other.Name == m.Name }); again != nil {
			m.Error = again.Error
		}
		further(&o.WorstOfMany, &o.MetricOfMany, m)
	}
}

// further puts a metric in place of another that is nearer to its floor.
func further(worst *float64, name *string, m measure.Metric) {
	// What is not a number is worse than any.
	if f := m.Floors(); *name == "" || !math.IsNaN(*worst) && !(f <= *worst) {
		*worst, *name = f, m.Name
	}
}

// NeighboursTitle heads the table of neighbours.
const NeighboursTitle = "Targets drawn from seeds, with the best preset and nothing but the target set"

// NeighboursLegend explains the table of neighbours.
const NeighboursLegend = "The worst row is the metric whose error is the largest in units of its sampling floor, the expected error of as many exact samples, held against a reference that is as uncertain as this one. An average of exact samples is beyond 3 floors in 1.7 % of cases, and the worst of several rows of them, if these were averages and independent, within 95 % in 95 % of cases: of twenty targets of nine rows exact samples would have two or three beyond. So each generator is measured once more by sixteen times as many samples, the first of which are the same, against the same reference and in the same units. Their noise is a quarter of a floor or less, by which exact samples would never be beyond; where the reference is uncertain itself, what that is off by stays, and they are beyond more seldom than in those 1.7 %. Warned: the training, or the table that ends it, has a warning. The diagnosis knows no reference."

// Table returns a line for each target.
func (all Neighbours) Table() *report.Table {
	t := &report.Table{Header: []string{"seed", "target", "worst row", "× floor", "95 %", "worst row of " + all.many(), "× floor", "warned", "effective size", "diagnosis", "steps", "trained in"}, Left: 3}
	for i := range all {
		o := &all[i]
		warned, title := "no", o.Title
		if o.Warned() {
			warned = "yes"
		}
		if len(o.Changed) > 0 {
			title += ", with " + strings.Join(o.Changed, " ")
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(o.Seed), title, report.Label(o.Metric), fmt.Sprintf("%.2f", o.Worst), fmt.Sprintf("%.2f", ofExact(o.Rows)),
			orDash(o.Many > 0, "%s", report.Label(o.MetricOfMany)), orDash(o.Many > 0, "%.2f", o.WorstOfMany),
			warned, orDash(number.Finite(o.EffectiveSampleSize), "%.4f", o.EffectiveSampleSize), string(o.Verdict), figure.Count(o.Steps), report.Seconds(o.Seconds),
		})
	}
	return t
}

// ofExact returns how many floors the worst of a number of independent averages of exact
// samples is within in 95 % of cases: the floor is the mean of their size.
func ofExact(rows int) float64 {
	return math.Sqrt(math.Pi) * math.Erfinv(math.Pow(0.95, 1/float64(rows)))
}

// many says by how many samples errors are measured the second time.
func (all Neighbours) many() string {
	most := 0
	for i := range all {
		most = max(most, all[i].Many)
	}
	return figure.Count(most)
}

// Summary counts who is near by either measure, who is beyond by one of them and says so,
// and who is silent.
func (all Neighbours) Summary() string {
	near, nearByMany, measured, warned, silent, rows := 0, 0, 0, 0, 0, 0
	var times []float64
	for i := range all {
		o := &all[i]
		rows += o.Rows
		times = append(times, o.Seconds)
		if o.Near() {
			near++
		}
		if o.Many > 0 {
			measured++
		}
		if o.NearByMany() {
			nearByMany++
		}
		switch {
		case !o.beyond():
		case o.Warned():
			warned++
		default:
			silent++
		}
	}
	return fmt.Sprintf("%d of %d within %d × the sampling floor of %s samples in all of their rows (%d together), measured by as many, and %d of %d measured by %s, whose own noise is a quarter of a floor; beyond by either: %d warned, %d silent; trained in %s each (median)",
		near, len(all), nearby, figure.Count(all[0].Samples), rows, nearByMany, measured, all.many(), warned, silent, report.Seconds(stat.Median(times)))
}
