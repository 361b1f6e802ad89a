package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// A Plan says what to run.
type Plan struct {
	Dir         string   // where runs, figures and results go
	Presets     []string // one after another
	Only        []string // names of settings; empty for all
	Seed        uint64   // the first seed
	Seeds       int      // number of seeds: Seed, Seed+1, …
	Assignments []string // key.path=value, for every setting
	Program     string   // version of the program, for the record
}

// maxSeeds bounds the seeds of a setting.
const maxSeeds = 1000

// curvePoints is the number of points of a curve of errors.
const curvePoints = 25

// trials returns the trials of a plan, so that mistakes are reported before anything runs.
// It leaves out settings of other systems or other presets; those asked for by their names
// are an error.
func (p *Plan) trials(ctx context.Context, systems []engine.Definition) ([]Trial, error) {
	if err := CheckSeeds(p.Seed, p.Seeds); err != nil {
		return nil, err
	}
	settings, err := lists.Choose(Settings, p.Only, func(s Setting) string { return s.Name }, "unknown setting %q; the settings are %s")
	if err != nil {
		return nil, err
	}
	var trials []Trial
	for _, preset := range p.Presets {
		has := func(d engine.Definition) bool { return slices.Contains(d.Presets, preset) }
		for _, s := range settings {
			i := slices.IndexFunc(systems, func(d engine.Definition) bool { return d.Name == s.System })
			if i < 0 || s.Presets != nil && !slices.Contains(s.Presets, preset) || !has(systems[i]) && slices.ContainsFunc(systems, has) {
				continue
			}
			t := Trial{Setting: s, Preset: preset, Changed: p.Assignments, Dir: filepath.Join(p.Dir, preset, s.Name), Program: p.Program}
			if err := p.configure(ctx, &t, &systems[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			trials = append(trials, t)
		}
	}
	for _, name := range p.Only {
		if !slices.ContainsFunc(trials, func(t Trial) bool { return t.Setting.Name == name }) {
			return nil, fmt.Errorf("%s: not a setting of the preset %s", name, strings.Join(p.Presets, ", "))
		}
	}
	return trials, nil
}

// CheckSeeds returns an error if the number of seeds is out of range, or some do not exist.
func CheckSeeds(first uint64, n int) error {
	if n < 1 || n > maxSeeds {
		return fmt.Errorf("seeds: %d is not between 1 and %d", n, maxSeeds)
	}
	if first > math.MaxUint64-uint64(n) {
		return fmt.Errorf("seed: there are no %d seeds from %d on", n, first)
	}
	return nil
}

// configure sets a trial's configurations. Its first seed evaluates along the training if it
// has figures, for curves of errors.
func (p *Plan) configure(ctx context.Context, t *Trial, def *engine.Definition) error {
	seeds := p.Seeds
	if t.Setting.Seeds > 0 && len(p.Only) == 0 {
		seeds = min(seeds, t.Setting.Seeds)
	}
	if t.Setting.Presets == nil { // a setting of the paper
		t.Figures = filepath.Join(p.Dir, "figures")
	}
	for n := range seeds {
		cfg, err := t.Setting.Config(ctx, def, t.Preset, p.Seed+uint64(n), p.Assignments)
		if err != nil {
			return err
		}
		if e := &cfg.Shared().Evaluation; n == 0 && t.Figures != "" && e.Every == 0 {
			e.Every = max(1, cfg.Shared().Training.Steps/curvePoints)
		}
		if err := cfg.Validate(); err != nil {
			return err
		}
		t.Configs = append(t.Configs, cfg)
	}
	return nil
}

// Check returns an error if the plan cannot be executed.
func (p *Plan) Check(systems []engine.Definition) error {
	_, err := p.trials(context.Background(), systems)
	return err
}

// Config returns the setting's configuration of a preset and a seed, with assignments
// after the setting's own. It has not been validated.
func (s *Setting) Config(ctx context.Context, def *engine.Definition, preset string, seed uint64, assignments []string) (engine.Config, error) {
	cfg, _, err := catalogue.Systems{*def}.Resolve(ctx, catalogue.Source{System: def.Name, Preset: preset, Set: slices.Concat(s.Assignments, assignments)})
	if e, ok := errors.AsType[*catalogue.AssignmentError](err); ok {
		err = fmt.Errorf("%q: %w", e.Assignment, err)
	}
	if err != nil {
		return nil, err
	}
	cfg.Shared().Training.Seed = seed
	return cfg, nil
}

// Execute runs a plan. After each setting it writes the figures, results.json and results.md.
// Outcomes of earlier reproductions in the same directory stay in these files. When ctx is
// cancelled it returns the *run.StopError of the run that stopped; executing the plan again
// continues it.
func (p *Plan) Execute(ctx context.Context, systems []engine.Definition, workers *pool.Pool, watch Observer) (*Results, error) {
	trials, err := p.trials(ctx, systems)
	if err != nil {
		return nil, err
	}
	results, lock, err := Open(p.Dir, watch.Warning, Read)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	first, count := 0, 0
	for i := range trials {
		count += len(trials[i].Configs)
	}
	for i := range trials {
		t := &trials[i]
		t.Workers, t.Watch, t.First, t.Count = workers, watch, first, count
		first += len(t.Configs)
		o, err := t.Outcome(ctx, results.find(t.Setting.Name, t.Preset))
		if err != nil {
			return results, err
		}
		results.insert(*o)
		if err := results.Write(p.Dir); err != nil {
			return results, err
		}
		if watch.Outcome != nil {
			if err := watch.Outcome(o); err != nil {
				return results, err
			}
		}
	}
	return results, nil
}

// Open makes the directory of results, if there is none, locks it, and reads the results. The
// lock is needed as a process writes its outcomes together with those that it has read.
func Open[R any](dir string, warn func(string), read func(dir string) (*R, error)) (*R, *disk.Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	lock, err := disk.Own(dir)
	if errors.Is(err, disk.ErrNoLocks) {
		if warn != nil {
			warn(err.Error())
		}
	} else if err != nil {
		return nil, nil, err
	}
	results, err := read(dir)
	if err != nil {
		_ = lock.Release()
	}
	return results, lock, err
}
