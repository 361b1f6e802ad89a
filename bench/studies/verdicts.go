package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"path/filepath"
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
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/report"
	"github.com/revgen/revgen/internal/stat"
)

// VerdictsStudy is the name of the study that holds verdicts against targets whose answers
// are known.
const VerdictsStudy = "verdicts"

// Targets of a kind that are drawn, of which the first half are those that rules of the judge
// were chosen on, and what their tables are of, so that all of them take minutes.
const (
	ofKind  = 4
	learned = ofKind / 2
	tabled  = "evaluation.samples=20000"
)

// loosely is how many floors an average may be off that is loosely known.
const loosely = 8.

// moreSamples is how many times more samples than a table has figures are measured by.
const moreSamples = 64

// A VerdictOutcome is what was said of a generator, and what is true.
type VerdictOutcome struct {
	Name    string            `json:"name"` // of the target
	Kind    string            `json:"kind"`
	Title   string            `json:"title"`
	Preset  string            `json:"preset"`
	Learned bool              `json:"learned"` // whether rules were chosen on it
	Samples int               `json:"samples"`
	Seconds float64           `json:"seconds"` // of training
	Machine reproduce.Machine `json:"machine"`
	// Worst is the largest error of a known average, in sampling floors of as many exact
	// samples as the table has, measured by more, and Figure whose that is; where eight floors
	// count as three elsewhere, three eighths of it.
	Worst  float64 `json:"worst"`
	Figure string  `json:"figure"`
	// Verdict is that of the end of training, Full that of a diagnosis by itself.
	EffectiveSize float64          `json:"effective_size"`
	Verdict       diagnose.Verdict `json:"verdict"`
	Sentence      string           `json:"sentence"`
	Brief         float64          `json:"brief_seconds"`
	Full          diagnose.Verdict `json:"full"`
	FullSentence  string           `json:"full_sentence"`
	Whole         float64          `json:"full_seconds"`
	Warnings      []string         `json:"warnings,omitempty"`
	// Intervals are those of 95 % that the weights give: how many, how many hold the known
	// value, and the farthest, in standard errors; LogZ is ln Z's, NaN where none is given.
	Intervals int     `json:"intervals"`
	Held      int     `json:"held"`
	Farthest  float64 `json:"farthest"`
	LogZ      float64 `json:"log_z"`
}

// MarshalJSON implements json.Marshaler.
func (o VerdictOutcome) MarshalJSON() ([]byte, error) { return number.Marshal(o) }

// UnmarshalJSON implements json.Unmarshaler.
func (o *VerdictOutcome) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, o) }

// Right reports that all known averages are within three sampling floors.
func (o *VerdictOutcome) Right() bool { return o.Worst <= nearby }

// class says what a verdict is worth.
func (o *VerdictOutcome) class(v diagnose.Verdict) string {
	trusted := v == diagnose.Trustworthy
	switch {
	case o.Right() && trusted:
		return "right, trusted"
	case o.Right():
		return "right, refused"
	case trusted:
		return "WRONG, TRUSTED"
	}
	return "wrong, refused"
}

// verdictJobs draws the targets of a plan, whose seed is that of all.
func (p *Plan) verdictJobs() (all []job, err error) {
	for kind := range KnownKinds {
		for i := range ofKind {
			name := strings.NewReplacer(" ", "-", ",", "", "(", "", ")", "").Replace(KnownKinds[kind])
			all = append(all, p.knownJob(NewKnown(p.Seed, kind, i), fmt.Sprintf("%s-%d", name, i), i < learned))
		}
	}
	for _, k := range Posteriors() {
		all = append(all, p.knownJob(k, k.Title, false))
	}
	for _, pattern := range p.Only {
		matches := func(j job) bool { yes, _ := path.Match(pattern, j.Setting.Name); return yes }
		if !slices.ContainsFunc(all, matches) {
			return nil, fmt.Errorf("only: %q names none of %s's targets, which are a kind and a number, such as box-2, or a posterior", pattern, VerdictsStudy)
		}
	}
	return slices.DeleteFunc(all, func(j job) bool {
		return len(p.Only) > 0 && !slices.ContainsFunc(p.Only, func(pattern string) bool { yes, _ := path.Match(pattern, j.Setting.Name); return yes })
	}), nil
}

func (p *Plan) knownJob(k *Known, name string, learned bool) job {
	system, preset := "spins", "quick"
	if k.Definition != nil {
		system = k.Definition.Name
	}
	j := job{known: k, learned: learned, record: (*execution).recordVerdict, Trial: p.trial(VerdictsStudy, preset, reproduce.Setting{Name: name, Title: k.Title, System: system})}
	j.Trial.Dir = filepath.Join(j.Trial.Dir, name)
	return j
}

// recordVerdict puts an outcome into the results, and writes these.
func (e *execution) recordVerdict(ctx context.Context, results *Results) error {
	within, cancel := ctx, context.CancelFunc(func() {})
	if e.Limit > 0 {
		within, cancel = context.WithTimeout(ctx, e.Limit)
	}
	defer cancel()
	o, err := e.judged(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		if e.watch.Warning != nil {
			e.watch.Warning(fmt.Sprintf("%s: not done within %v, and left out; the same command goes on with it", e.Setting.Name, e.Limit))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Setting.Name, err)
	}
	i := slices.IndexFunc(results.Verdicts, func(old VerdictOutcome) bool { return old.Name == o.Name })
	if i < 0 {
		results.Verdicts = append(results.Verdicts, *o)
	} else {
		if !e.Trained {
			o.Machine, o.Seconds = results.Verdicts[i].Machine, results.Verdicts[i].Seconds
		}
		results.Verdicts[i] = *o
	}
	return results.Write(e.Plan.Dir)
}

// judged trains a target, holds samples against what is known, and asks for the verdicts.
func (e *execution) judged(ctx context.Context) (*VerdictOutcome, error) {
	k, systems := e.known, e.systems
	if k.Definition != nil {
		systems = catalogue.Systems{*k.Definition}
	}
	cfg, _, err := systems.Resolve(ctx, catalogue.Source{System: e.Setting.System, Preset: e.Preset,
		Set: slices.Concat([]string{tabled, fmt.Sprint("training.seed=", e.Seed)}, k.Assignments, e.Assignments)})
	if err != nil {
		return nil, err
	}
	o := &VerdictOutcome{
		Name: e.Setting.Name, Kind: k.Kind, Title: k.Title, Preset: e.Preset, Learned: e.learned, Machine: e.Machine(),
		EffectiveSize: math.NaN(), Farthest: math.NaN(), LogZ: math.NaN(),
	}
	var full *diagnose.Report
	result, err := e.Train(ctx, cfg, e.Run(cfg, 0, e.Seed), run.Options{Diagnose: func(ctx context.Context, trained engine.System, r *run.Result) (any, error) {
		c := cfg.Shared().Training
		brief, long := diagnose.Brief(diagnose.Share(trained, c.Steps*c.Batch)), diagnosed
		long.Moves = diagnose.Work(trained) / 32
		brief.Evaluation, long.Evaluation = r.Evaluation, r.Evaluation
		said, err := diagnose.Run(ctx, trained, r.Params, brief)
		if err == nil {
			full, err = diagnose.Run(ctx, trained, r.Params, long)
		}
		if err == nil {
			said.Revise(r.Evaluation)
			err = o.hold(ctx, k, trained, cfg, r, e.Workers)
		}
		return said, err
	}})
	if err != nil {
		return nil, err
	}
	said := result.Diagnosis.(*diagnose.Report)
	o.Seconds, o.Warnings = result.Seconds, slices.Concat(result.Warnings, result.Evaluation.Warnings)
	o.Verdict, o.Sentence, o.Brief = said.Verdict, said.Sentence, said.Seconds
	o.Full, o.FullSentence, o.Whole = full.Verdict, full.Sentence, full.Seconds
	return o, nil
}

// hold holds the generator's samples against what is known of the target.
func (o *VerdictOutcome) hold(ctx context.Context, k *Known, trained engine.System, cfg engine.Config, r *run.Result, workers *pool.Pool) error {
	const part = 1 << 16
	o.Samples = r.Evaluation.Samples
	stream, err := engine.StreamOf(trained, cfg, r.Params, workers)
	if err != nil {
		return err
	}
	format, err := stream.Format("")
	if err != nil {
		return err
	}
	values, logs := make([][]float64, len(k.Figures)), []float64(nil) // of the table's samples
	var densities, all []float64                                      // ln π and −ln w of all
	means := make([]stat.Mean, len(k.Figures))
	for first := 0; first < moreSamples*o.Samples; first += part {
		n := min(part, moreSamples*o.Samples-first)
		states := make([]byte, n*format.RowBytes)
		if err := stream.Fill(ctx, states, format, uint64(first), 0); err != nil {
			return err
		}
		kept := min(n, o.Samples-first)
		for s := range n {
			x, mode := decode(states[s*format.RowBytes:][:format.RowBytes], format)
			for i, f := range k.Figures {
				v := f.Of(x, mode)
				means[i].Add(v)
				if s < kept {
					values[i] = append(values[i], v)
				}
			}
		}
		if scorer, ok := trained.(engine.Scorer); ok && r.Evaluation.Weights != nil {
			names := scorer.Observables()
			scores := make([]float64, n*len(names))
			if err := scorer.Score(scores, r.Params, format.Name, states); err != nil {
				return err
			}
			density := slices.Index(names, "log_density")
			for s := range n {
				row := scores[s*len(names):][:len(names)]
				if all = append(all, -row[len(row)-1]); density >= 0 {
					densities = append(densities, row[density])
				}
			}
			logs = all[:min(len(all), o.Samples)]
		}
	}
	for i, f := range k.Figures {
		floor := stat.MeanAbsolute(math.Hypot(f.Deviation/math.Sqrt(float64(o.Samples)), f.Noise))
		off := math.Abs(means[i].Value()-f.Value) / floor
		if f.Loose {
			off *= nearby / loosely
		}
		if !(off <= o.Worst) {
			o.Worst, o.Figure = off, f.Name
		}
	}
	if len(densities) > 0 {
		o.spread(densities, all)
	}
	if logs == nil {
		return nil
	}
	weights := measure.NewReweighing(logs)
	o.EffectiveSize = weights.EffectiveSize
	weights.Weights = *r.Evaluation.Weights // with what the diagnosis has seen
	if !weights.Trusted() {
		return nil
	}
	for i, f := range k.Figures {
		if a := weights.Mean(values[i]); a.StandardError > 0 && !a.Slow() { // or there is none
			o.interval((a.Value - f.Value) / math.Hypot(a.StandardError, f.Noise))
		}
	}
	if !math.IsNaN(k.LogZ) {
		o.LogZ = (weights.LogZ - k.LogZ) / math.Hypot(weights.LogZError, 0x1p-23*math.Abs(k.LogZ))
		o.interval(o.LogZ)
	}
	return nil
}

// spread counts the variance of ln π, which nobody knows, as the weights of all samples have it, if they
// can be used and say more than chance: it is loosely known.
func (o *VerdictOutcome) spread(densities, logs []float64) {
	weights := measure.NewReweighing(logs)
	if !weights.Trusted() {
		return
	}
	mean, squares, drawn := weights.Mean(densities).Value, make([]float64, len(densities)), stat.Mean{}
	for i, v := range densities {
		squares[i] = (v - mean) * (v - mean)
		drawn.Add(squares[i])
	}
	by := weights.Mean(squares)
	off := math.Abs(by.Value - drawn.Value())
	if floors := off / stat.MeanAbsolute(by.Deviation/math.Sqrt(float64(o.Samples))); off > 4*by.Apart && floors*nearby/loosely > o.Worst {
		o.Worst, o.Figure = floors*nearby/loosely, "variance of ln π, by weights"
	}
}

// interval counts one by how many standard errors it is off.
func (o *VerdictOutcome) interval(z float64) {
	z = math.Abs(z)
	o.Intervals++
	if z <= -stat.NormalQuantile(.025) {
		o.Held++
	}
	if !(z <= o.Farthest) {
		o.Farthest = z
	}
}

// decode reads a state: spins of int8, or coordinates of float32 and a mode of int32.
func decode(row []byte, f engine.Format) (x []float64, mode int) {
	if f.Name == "spins" {
		x = make([]float64, len(row))
		for i, b := range row {
			x[i] = float64(int8(b))
		}
		return x, 0
	}
	d := len(row) / 4
	if len(f.Shape) == 0 { // a structure, which ends with the mode
		d--
		mode = int(int32(binary.LittleEndian.Uint32(row[4*d:])))
	}
	x = make([]float64, d)
	for i := range x {
		x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:])))
	}
	return x, mode
}

// Verdicts are outcomes in the order of their targets.
type Verdicts []VerdictOutcome

// VerdictsTitle heads their table, and VerdictsLegend explains it.
const (
	VerdictsTitle  = "What is said of samples, and what is true"
	VerdictsLegend = "Each target is drawn from a seed, and its averages and ln Z are known by closed forms, quadrature, transfer matrices or enumeration. The worst error is that of a known average, in sampling floors of the table's samples and measured by 64 times as many; more than 3 is wrong. Brief is the verdict that ends training, full that of a diagnosis by itself. Held are the 95 % intervals by weights that hold the known value, of those that are given, and the farthest of them in standard errors."
)

// Table returns a line for each target that is reported.
func (all Verdicts) Table() *report.Table {
	t := &report.Table{Header: []string{"target", "preset", "worst error", "× floor", "effective size", "brief", "full", "held", "farthest"}, Left: 3}
	for i := range all {
		o := &all[i]
		if o.Learned {
			continue
		}
		t.Rows = append(t.Rows, []string{
			o.Title, o.Preset, o.Figure, fmt.Sprintf("%.1f", o.Worst), orDash(number.Finite(o.EffectiveSize), "%.4f", o.EffectiveSize),
			o.class(o.Verdict), o.class(o.Full), fmt.Sprintf("%d of %d", o.Held, o.Intervals), orDash(o.Intervals > 0, "%.3g", o.Farthest),
		})
	}
	return t
}

// Summary counts classes and intervals, of targets that rules were chosen on and of others.
func (all Verdicts) Summary() string {
	var parts []string
	for _, learned := range []bool{true, false} {
		counts, n, given, held, covered, farthest := map[string]int{}, 0, 0, 0, 0, 0.0
		for i := range all {
			o := &all[i]
			if o.Learned != learned {
				continue
			}
			n++
			counts["brief "+o.class(o.Verdict)]++
			counts["full "+o.class(o.Full)]++
			given, held = given+o.Intervals, held+o.Held
			if o.Intervals > 0 {
				farthest = max(farthest, o.Farthest)
			}
			if !math.IsNaN(o.LogZ) {
				counts["ln Z"]++
				if math.Abs(o.LogZ) < 1.96 {
					covered++
				}
			}
		}
		name := "reported"
		if learned {
			name = "learned from"
		}
		part := fmt.Sprintf("%d targets %s", n, name)
		for _, look := range []string{"brief", "full"} {
			part += fmt.Sprintf("; %s: %d right and trusted, %d right and refused, %d wrong and refused, %d wrong and trusted", look,
				counts[look+" right, trusted"], counts[look+" right, refused"], counts[look+" wrong, refused"], counts[look+" WRONG, TRUSTED"])
		}
		parts = append(parts, part+fmt.Sprintf("; %d of %s intervals hold, %d of %d of ln Z, the farthest is %.3g standard errors off", held, figure.Count(given), covered, counts["ln Z"], farthest))
	}
	return strings.Join(parts, ". ")
}
