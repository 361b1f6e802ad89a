package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/pool"
)

// A Plan says what to run.
type Plan struct {
	Dir         string        // where runs and results go
	Studies     []string      // names of studies, or "all"
	Only        []string      // names of targets, of a study of them, of verdicts with * and ?; empty for all
	Limit       time.Duration // of a target of verdicts; 0 for none
	Seed        uint64        // the first
	Seeds       int           // how many, Seed, Seed+1, …
	Assignments []string      // key.path=value, for every run
	Program     string        // version of the program, for the record
}

// An Observer is told how studies go. Its methods may be nil.
type Observer struct {
	reproduce.Observer
	// Done is called with a study of variants that is complete, with the neighbours or the
	// verdicts when all are, and with each row of a study of targets.
	Done func(part *Results) error
}

// done calls Done.
func (o *Observer) done(part *Results) error {
	if o.Done == nil {
		return nil
	}
	return o.Done(part)
}

// job is one variant of a study, or one target.
type job struct {
	reproduce.Trial
	study   *Study
	variant *Variant
	field   *FieldTarget // of a study of targets

	neighbour *Neighbour
	known     *Known // a target whose answers are known
	learned   bool   // and on which rules of the judge were chosen

	// record carries the job out, puts what it gave into the results, and writes these.
	record func(e *execution, ctx context.Context, results *Results) error
}

// runs returns how many runs a job has.
func (j *job) runs() int { return max(1, len(j.Configs)) }

// jobs checks a plan and returns what it comes to, so that mistakes are
// reported before anything runs.
func (p *Plan) jobs(ctx context.Context, systems []engine.Definition) ([]job, error) {
	if err := reproduce.CheckSeeds(p.Seed, p.Seeds); err != nil {
		return nil, err
	}
	switch {
	case !OfTargets(p.Studies):
		return p.studyJobs(ctx, systems)
	case p.Studies[0] == VerdictsStudy:
		return p.verdictJobs()
	case p.Studies[0] == ProtocolStudy:
		return p.targetJobs(ctx, systems, ProtocolStudy, ProtocolTargets, (*execution).recordProtocol)
	}
	return p.targetJobs(ctx, systems, FieldStudy, FieldTargets, (*execution).recordField)
}

// studyJobs is jobs for studies. Those of systems that are not among the
// definitions are left out of all of them.
func (p *Plan) studyJobs(ctx context.Context, systems []engine.Definition) ([]job, error) {
	studies, neighbours, err := chooseStudies(p.Studies)
	for _, kind := range p.Only {
		if err == nil && !(neighbours && len(studies) == 0 && slices.Contains(NeighbourKinds, kind)) {
			err = fmt.Errorf("only: it names targets, which %s has none to choose from, or of neighbours kinds: %s", strings.Join(p.Studies, ", "), strings.Join(NeighbourKinds, ", "))
		}
	}
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
			j := job{study: study, variant: v, record: (*execution).recordVariant, Trial: p.trial(study.Name, study.Preset, study.setting(v))}
			j.Changed = slices.Concat(v.Assignments, p.Assignments)
			j.Dir = filepath.Join(j.Dir, v.directory())
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

// trial returns that of a setting, without its configurations.
func (p *Plan) trial(study, preset string, s reproduce.Setting) reproduce.Trial {
	return reproduce.Trial{
		Study: study, Setting: s, Preset: preset, Changed: p.Assignments, Dir: filepath.Join(p.Dir, "studies", study), Program: p.Program,
	}
}

// configure sets a job's configurations, of all seeds.
func (p *Plan) configure(ctx context.Context, j *job, def *engine.Definition) error {
	for n := range p.Seeds {
		cfg, err := j.Setting.Config(ctx, def, j.Preset, p.Seed+uint64(n), p.Assignments)
		if err == nil {
			err = cfg.Validate()
		}
		if err != nil {
			return err
		}
		j.Configs = append(j.Configs, cfg)
	}
	return nil
}

// Check reports what is wrong with a plan.
func (p *Plan) Check(systems []engine.Definition) error {
	_, err := p.jobs(context.Background(), systems)
	return err
}

// An execution is that of one job.
type execution struct {
	*Plan
	*job
	systems catalogue.Systems
	watch   Observer
}

// Execute runs a plan. After each variant and each target it writes studies.json and
// studies.md, in which what earlier executions gave in the same directory stays. When ctx
// is cancelled it returns the *run.StopError of the run that stopped; executing the
// plan again continues.
func (p *Plan) Execute(ctx context.Context, systems []engine.Definition, workers *pool.Pool, watch Observer) (*Results, error) {
	jobs, err := p.jobs(ctx, systems)
	if err != nil {
		return nil, err
	}
	results, lock, err := reproduce.Open(p.Dir, watch.Warning, Read)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	first, count := 0, 0
	for i := range jobs {
		count += jobs[i].runs()
	}
	for i := range jobs {
		j := &jobs[i]
		j.Workers, j.Watch, j.First, j.Count = workers, watch.Observer, first, count
		first += j.runs()
		if err := j.record(&execution{p, j, systems, watch}, ctx, results); err != nil {
			return results, err
		}
	}
	if len(jobs) > 0 && jobs[len(jobs)-1].known != nil {
		return results, watch.done(&Results{Verdicts: results.Verdicts})
	}
	if len(jobs) > 0 && jobs[len(jobs)-1].neighbour != nil {
		return results, watch.done(&Results{Neighbours: results.Neighbours})
	}
	return results, nil
}

// recordVariant puts the outcome of a study's variant into the results, and writes these.
// The observer is told when the study's last is complete.
func (e *execution) recordVariant(ctx context.Context, results *Results) error {
	study := results.study(e.study)
	old := reproduce.Find(study.Variants, func(v reproduce.Outcome) bool { return v.Setting == e.Setting.Name })
	o, err := e.Outcome(ctx, old)
	if err != nil {
		return err
	}
	study.put(e.study, *o)
	if err := results.Write(e.Plan.Dir); err != nil {
		return err
	}
	if e.variant != &e.study.Variants[len(e.study.Variants)-1] {
		return nil
	}
	return e.watch.done(&Results{Studies: []StudyOutcome{*study}})
}

// Tabulate writes the document again, of the results in dir, which it prints as JSON or as
// tables.
func Tabulate(dir string, watch Observer, asJSON bool) error {
	results, err := Read(dir)
	if err != nil {
		return err
	}
	if results.empty() {
		return fmt.Errorf("%s holds no results", dir)
	}
	results, lock, err := reproduce.Open(dir, watch.Warning, Read)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := results.Write(dir); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(results)
	}
	return results.WriteText(os.Stdout)
}
