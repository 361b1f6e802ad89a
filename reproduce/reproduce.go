package reproduce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/figure/draw"
	"github.com/revgen/revgen/internal/pool"
)

// A Plan says what to run.
type Plan struct {
	Dir         string   // where runs, figures and results go
	Presets     []string // one after another
	Only        []string // names of settings; empty for all
	Studies     []string // names of studies, or "all", to run instead of settings
	Seed        uint64   // the first
	Seeds       int      // how many, Seed, Seed+1, …
	Assignments []string // key.path=value, for every setting
	Program     string   // version of the program, for the record
}

// An Observer is told how a reproduction goes. Its methods may be nil.
type Observer struct {
	// Begin is called before each run with its directory, after Resumed steps.
	Begin func(run Run)
	// Progress is that of the present run.
	Progress func(run.Progress)
	// End is called after each run.
	End     func(run Run)
	Warning func(string)
	// Outcome is called when a setting is complete, Study when a study is, and
	// Neighbours when all are.
	Outcome    func(*Outcome) error
	Study      func(*StudyOutcome) error
	Neighbours func(Neighbours) error
	Field      func(*FieldRow) error    // a row of the study of the field's targets
	Protocol   func(*ProtocolRow) error // and of that of the literature's distances
}

// A Run is one training run of a reproduction.
type Run struct {
	Study   string // empty for a setting
	Setting Setting
	Preset  string
	Seed    uint64
	Steps   int
	Dir     string
	Index   int // of Count, from 0
	Count   int
}

// mostSeeds bounds the seeds of a setting.
const mostSeeds = 1000

// evaluations is how many points the curves of errors have.
const evaluations = 25

// job is one setting with one preset, one variant of a study, or one neighbour.
type job struct {
	setting Setting
	preset  string
	study   *Study
	variant *Variant
	field   *FieldTarget    // of a study of targets
	dir     string          // of the runs, under the plan's
	configs []engine.Config // by seed; none of a neighbour

	protocol bool // the study of targets is that of the literature's distances

	neighbour *Neighbour
	systems   []engine.Definition // of a neighbour
}

// pictured reports that the job's first run is drawn.
func (j *job) pictured() bool { return j.study == nil && !j.setting.ours() }

// runs returns how many runs a job has.
func (j *job) runs() int { return max(1, len(j.configs)) }

// jobs checks a plan and returns what it comes to, so that mistakes are
// reported before anything runs. Settings of systems that are not among the
// definitions, or not of the preset, are left out, unless they are asked for.
func (p *Plan) jobs(ctx context.Context, systems []engine.Definition) ([]job, error) {
	if p.Seeds < 1 || p.Seeds > mostSeeds {
		return nil, fmt.Errorf("seeds: %d is not between 1 and %d", p.Seeds, mostSeeds)
	}
	if p.Seed > math.MaxUint64-uint64(p.Seeds) {
		return nil, fmt.Errorf("seed: there are no %d seeds from %d on", p.Seeds, p.Seed)
	}
	if OfTargets(p.Studies) {
		targets := FieldTargets
		if p.Studies[0] == ProtocolStudy {
			targets = ProtocolTargets
		}
		return p.targetJobs(ctx, systems, p.Studies[0], targets)
	}
	if len(p.Studies) > 0 {
		return p.studyJobs(ctx, systems)
	}
	settings, err := choose(p.Only)
	if err != nil {
		return nil, err
	}
	var all []job
	for _, preset := range p.Presets {
		has := func(d engine.Definition) bool { return slices.Contains(d.Presets, preset) }
		for _, s := range settings {
			i := slices.IndexFunc(systems, func(d engine.Definition) bool { return d.Name == s.System })
			if i < 0 || !s.has(preset) || !has(systems[i]) && slices.ContainsFunc(systems, has) {
				continue
			}
			j := job{setting: s, preset: preset, dir: filepath.Join(preset, s.Name)}
			if err := p.configure(ctx, &j, &systems[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			all = append(all, j)
		}
	}
	for _, name := range p.Only {
		if !slices.ContainsFunc(all, func(j job) bool { return j.setting.Name == name }) {
			return nil, fmt.Errorf("%s: not a setting of the preset %s", name, strings.Join(p.Presets, ", "))
		}
	}
	return all, nil
}

// studyJobs is jobs for studies. Those of systems that are not among the
// definitions are left out of all of them.
func (p *Plan) studyJobs(ctx context.Context, systems []engine.Definition) ([]job, error) {
	studies, neighbours, err := chooseStudies(p.Studies)
	if err != nil {
		return nil, err
	}
	var all []job
	for i := range studies {
		study := &studies[i]
		d := slices.IndexFunc(systems, func(d engine.Definition) bool { return d.Name == study.System })
		if d < 0 {
			if slices.Contains(p.Studies, study.Name) {
				return nil, fmt.Errorf("%s: there is no system %s", study.Name, study.System)
			}
			continue
		}
		for n := range study.Variants {
			v := &study.Variants[n]
			j := job{
				setting: study.setting(v), preset: study.Preset, study: study, variant: v,
				dir: filepath.Join("studies", study.Name, v.directory()),
			}
			if err := p.configure(ctx, &j, &systems[d]); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", study.Name, v.Label, err)
			}
			all = append(all, j)
		}
	}
	if neighbours {
		all = append(all, p.neighbourJobs(systems)...)
	}
	return all, nil
}

// configure sets a job's configurations. The first of a setting with pictures has
// curves of its errors.
func (p *Plan) configure(ctx context.Context, j *job, def *engine.Definition) error {
	seeds := p.Seeds
	if most := j.setting.Seeds; most > 0 && len(p.Only) == 0 {
		seeds = min(seeds, most)
	}
	for n := range seeds {
		cfg, err := p.config(ctx, def, &j.setting, j.preset, p.Seed+uint64(n), n == 0 && j.pictured())
		if err != nil {
			return err
		}
		j.configs = append(j.configs, cfg)
	}
	return nil
}

// Check reports what is wrong with a plan.
func (p *Plan) Check(systems []engine.Definition) error {
	_, err := p.jobs(context.Background(), systems)
	return err
}

func (p *Plan) config(ctx context.Context, def *engine.Definition, s *Setting, preset string, seed uint64, curves bool) (engine.Config, error) {
	cfg, _, err := catalogue.Systems{*def}.Resolve(ctx, catalogue.Source{System: def.Name, Preset: preset, Set: slices.Concat(s.Assignments, p.Assignments)})
	var wrong *catalogue.AssignmentError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%q: %w", wrong.Assignment, err)
	}
	if err != nil {
		return nil, err
	}
	shared := cfg.Shared()
	shared.Training.Seed = seed
	if curves && shared.Evaluation.Every == 0 {
		shared.Evaluation.Every = max(1, shared.Training.Steps/evaluations)
	}
	return cfg, cfg.Validate()
}

// Execute runs a plan. After each setting, and each variant of a study, it
// writes results.json and results.md, or studies.md, in which the outcomes of earlier
// reproductions in the same directory stay, and the figures. When ctx is
// cancelled it returns the *run.StopError of the run that
// stopped; executing the plan again continues.
func (p *Plan) Execute(ctx context.Context, systems []engine.Definition, workers *pool.Pool, watch Observer) (*Results, error) {
	jobs, err := p.jobs(ctx, systems)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := own(p.Dir, watch.Warning)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	results, err := Read(p.Dir)
	if err != nil {
		return nil, err
	}
	first, count := 0, 0
	for i := range jobs {
		count += jobs[i].runs()
	}
	for i := range jobs {
		e := execution{Plan: p, job: &jobs[i], workers: workers, watch: watch, first: first, count: count}
		first += jobs[i].runs()
		if e.neighbour != nil {
			o, err := e.neighbourhood(ctx)
			if err != nil {
				return results, err
			}
			if err := e.recordNeighbour(results, o, i == len(jobs)-1); err != nil {
				return results, err
			}
			continue
		}
		if e.field != nil {
			record := e.recordField
			if e.protocol {
				record = e.recordProtocol
			}
			if err := record(ctx, results); err != nil {
				return results, err
			}
			continue
		}
		o, err := e.outcome(ctx)
		if err != nil {
			return results, err
		}
		old := results.find(o.Setting, o.Preset)
		if e.study != nil {
			old = results.study(e.study).find(o.Setting)
		}
		if old != nil && !e.trained && slices.Equal(old.Seeds, o.Seeds) {
			// What was only measured again has been computed where it was.
			o.Machine, o.Seconds, o.Processors = old.Machine, old.Seconds, old.Processors
		}
		if err := e.record(results, o); err != nil {
			return results, err
		}
	}
	return results, nil
}

// own takes possession of the directory of results, of which each process writes
// what it has read with its own.
func own(dir string, warn func(string)) (*disk.Lock, error) {
	lock, err := disk.Own(dir)
	if errors.Is(err, disk.ErrNoLocks) {
		if warn != nil {
			warn(err.Error())
		}
		err = nil
	}
	return lock, err
}

// Tabulate writes the documents again, of the results in dir, which it returns.
func Tabulate(dir string, warn func(string)) (*Results, error) {
	results, err := Read(dir)
	if err != nil || results.Empty() {
		return results, err
	}
	lock, err := own(dir, warn)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if results, err = Read(dir); err != nil {
		return nil, err
	}
	return results, results.Write(dir)
}

// record puts an outcome into the results, writes these and tells the observer.
func (e *execution) record(results *Results, o *Outcome) error {
	if e.study == nil {
		results.put(*o)
	} else {
		results.study(e.study).put(e.study, *o)
	}
	if err := results.Write(e.Dir); err != nil {
		return err
	}
	switch {
	case e.study == nil && e.watch.Outcome != nil:
		return e.watch.Outcome(o)
	case e.study != nil && e.variant == &e.study.Variants[len(e.study.Variants)-1] && e.watch.Study != nil:
		return e.watch.Study(results.study(e.study))
	}
	return nil
}

// recordNeighbour is record for a neighbour. The observer is told when the last is
// complete.
func (e *execution) recordNeighbour(results *Results, o *NeighbourOutcome, last bool) error {
	if i := slices.IndexFunc(results.Neighbours, func(old NeighbourOutcome) bool { return old.Seed == o.Seed }); i >= 0 && !e.trained {
		o.Machine, o.Seconds = results.Neighbours[i].Machine, results.Neighbours[i].Seconds
	}
	results.Neighbours.put(*o)
	if err := results.Write(e.Dir); err != nil {
		return err
	}
	if last && e.watch.Neighbours != nil {
		return e.watch.Neighbours(results.Neighbours)
	}
	return nil
}

// An execution is that of one job.
type execution struct {
	*Plan
	*job
	workers      *pool.Pool
	watch        Observer
	first, count int
	trained      bool // a step was taken, in this execution
}

// machine returns where this is computed.
func (e *execution) machine() Machine {
	path, _, _ := asm.Active()
	return Machine{CPU: asm.CPUName(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Threads: e.workers.Threads(), Path: path.String(), Program: e.Program}
}

func (e *execution) outcome(ctx context.Context) (*Outcome, error) {
	shared := e.configs[0].Shared()
	o := &Outcome{
		Setting: e.setting.Name, Title: e.setting.Title, System: e.setting.System, Preset: e.preset, Published: e.setting.Published,
		Steps: shared.Training.Steps, Batch: shared.Training.Batch, Changed: e.Assignments,
		Machine: e.machine(),
	}
	if e.study != nil {
		o.Changed = slices.Concat(e.variant.Assignments, e.Assignments)
	}
	var tables, larger []*measure.Evaluation
	var times, processors []float64
	for n, cfg := range e.configs {
		one := Run{
			Setting: e.setting, Preset: e.preset, Seed: cfg.Shared().Training.Seed, Steps: o.Steps,
			Index: e.first + n, Count: e.count,
		}
		if e.study != nil {
			one.Study = e.study.Name
		}
		one.Dir = filepath.Join(e.Dir, e.dir, fmt.Sprintf("seed%d", one.Seed))
		_, begun := os.Stat(one.Dir)
		watch := newStopwatch()
		result, err := e.train(ctx, cfg, one, nil)
		if err != nil {
			return nil, err
		}
		if errors.Is(begun, fs.ErrNotExist) {
			processors = append(processors, watch.seconds())
		}
		if result.Evaluation == nil {
			return nil, fmt.Errorf("%s: the system cannot be measured", e.setting.Name)
		}
		o.Seeds, times, tables = append(o.Seeds, one.Seed), append(times, result.Seconds), append(tables, result.Evaluation)
		found := slices.Concat(result.Warnings, result.Evaluation.Warnings)
		if len(found) > 0 {
			o.Warned++
		}
		for _, w := range found {
			if len(e.configs) > 1 {
				w = fmt.Sprintf("seed %d: %s", one.Seed, w)
			}
			o.Warnings = append(o.Warnings, w)
		}
		if e.setting.Million && e.preset == "best" {
			more, err := e.measure(ctx, cfg, result.Params, million)
			if err != nil {
				return nil, result.Stop(err)
			}
			larger = append(larger, more)
		}
		if n == 0 && e.pictured() {
			if o.Figures, err = e.draw(ctx, cfg, result, one.Dir); err != nil {
				return nil, result.Stop(err)
			}
		}
	}
	o.Samples, o.Seconds = tables[0].Samples, median(times)
	if len(processors) > 0 {
		o.Processors = median(processors)
	}
	var err error
	if o.Metrics, err = combine(tables); err == nil && larger != nil {
		o.Million, err = combine(larger)
	}
	return o, err
}

// measure returns the table of a trained generator by another number of samples.
func (e *execution) measure(ctx context.Context, cfg engine.Config, params []float32, samples int) (*measure.Evaluation, error) {
	system, err := cfg.New(e.workers)
	if err != nil {
		return nil, err
	}
	defer engine.Release(system)
	return system.(engine.Evaluator).Evaluate(ctx, params, samples)
}

func (e *execution) train(ctx context.Context, cfg engine.Config, one Run, judge func(context.Context, engine.System, *run.Result) (any, error)) (*run.Result, error) {
	options := run.Options{Dir: one.Dir, Resume: "auto", Warning: e.watch.Warning, Diagnose: judge, Unmeasured: e.field != nil}
	options.Progress = func(now run.Progress) {
		e.trained = true
		if e.watch.Progress != nil {
			e.watch.Progress(now)
		}
	}
	if e.watch.Begin != nil {
		e.watch.Begin(one)
	}
	if e.watch.End != nil {
		defer e.watch.End(one)
	}
	return run.Train(ctx, cfg, e.workers, options)
}

// draw writes the figures of a run under names that tell it from the others,
// and returns these.
func (e *execution) draw(ctx context.Context, cfg engine.Config, result *run.Result, dir string) ([]string, error) {
	figures, err := run.Illustrate(ctx, cfg, result.Params, e.workers, dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range figures {
		figures[i].Name = e.preset + "-" + e.setting.Name + "-" + figures[i].Name
		names = append(names, figures[i].Name)
	}
	_, err = draw.Write(filepath.Join(e.Dir, "figures"), figures)
	return names, err
}
