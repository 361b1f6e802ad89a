package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/figure/draw"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// trainOptions are the flags of train.
type trainOptions struct {
	source
	dir            string
	resume         string
	maxTime        duration
	maxEvaluations count // of the target
	seed           count
	threads        int
	samples        count
	samplesGiven   bool
	init           string // path of the model to start from
	extend         bool
	start          *run.Start // the model at init
	strict         bool
	figures        string   // svg, all or none
	diagnose       string   // brief or none
	grid           []string // key=values, which make the command a batch of runs
}

// defaultSampleBytes bounds samples.npy unless --samples is given.
const defaultSampleBytes = 64 << 20

func (p *program) trainCommand() *cobra.Command {
	t := trainOptions{resume: "auto", figures: "svg", diagnose: "brief"}
	cmd := &cobra.Command{
		Use:   "train [" + strings.Join(p.systems.Names(), "|") + "|FILE.json]",
		Short: "Train a generator and measure it",
		Long: fmt.Sprintf(`Train a generator, starting from a preset of a system or from a configuration
file, and print its observables beside the exact ones. Without an argument it
trains the %s preset of %s.

Systems and their presets:
%s
The run directory holds config.json (enough to repeat the run), model.rvg, the table in
summary.json, the measured samples.npy, report.html, figures, metrics.jsonl,
status.json, and the last two checkpoints.

SIGINT, SIGTERM, SIGUSR1, --max-time and --max-evaluations stop a run at any time. The
run then leaves a checkpoint and exits with 75; the same command continues it. The
result depends neither on interruptions nor on the number of threads.`, p.systems[0].Presets[0], p.systems[0].Name, p.systems),
		Example: `  revgen train
  revgen train ising --preset paper --set target.beta=0.5 -o cold
  revgen train config.json --max-time 01:50:00 --json > summary.json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.systems.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				t.name = args[0]
			}
			if cmd.Flags().Changed("seed") {
				t.assignments = append(t.assignments, "training.seed="+t.seed.String())
			}
			if len(t.grid) > 0 {
				return p.trainGrid(cmd, args, t.grid, &batchOptions{dir: t.dir, resume: t.resume, shard: shard{count: 1}, threads: t.threads, maxTime: t.maxTime})
			}
			t.samplesGiven = cmd.Flags().Changed("samples")
			return p.train(&t)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&t.preset, "preset", "p", "", "preset of the system (default the first of those listed above)")
	flags.StringArrayVarP(&t.assignments, "set", "s", nil, "set a value of the configuration, `key.path=value`; may be repeated")
	flags.StringVarP(&t.dir, "output", "o", "", "run `directory` (default runs/SYSTEM-PRESET-SEED)")
	flags.StringVar(&t.init, "init", "", "start from the generator of another run or `model`, for example at another temperature or of half the size")
	flags.BoolVar(&t.extend, "extend", false, "allow a resumed run to have more training.steps than it began with")
	p.addChoice(cmd, &t.resume, "resume", "", "continue from the directory's checkpoint: auto (if there is one), never or must", "auto", "never", "must")
	flags.Var(&t.maxTime, "max-time", "stop with a checkpoint this long after the start of the process: 90m, 01:30:00 or 1-12:00:00")
	flags.Var(&t.maxEvaluations, "max-evaluations", "stop with a checkpoint after this many evaluations of the target, the first look at it included; for reals, mixed and targets in Go")
	flags.Var(&t.seed, "seed", "seed of all random numbers; the same as --set training.seed=N")
	flags.Var(&t.samples, "samples", "number of samples in samples.npy (default as many as were measured, up to 64 MiB)")
	flags.BoolVar(&t.strict, "strict", false, "exit with 3 unless the verdict of the diagnosis is trustworthy")
	p.addChoice(cmd, &t.figures, "figures", "", "figures and report.html in the run directory: svg, all (PNG too) or none", "svg", "all", "none")
	p.addChoice(cmd, &t.diagnose, "diagnose", "", "diagnosis after the training: brief or none", "brief", "none")
	flags.StringArrayVar(&t.grid, "grid", nil, "train once for each value in `key.path=first:last:step` or key.path=a,b,c; may be repeated, for all combinations; -o is the directory of the batch, as in revgen run")
	addThreads(cmd, &t.threads)
	p.complete(cmd, "preset", func(args []string) []string { return p.completedSystem(args).Presets })
	p.complete(cmd, "set", func(args []string) []string {
		def := p.completedSystem(args)
		cfg, err := def.Preset(def.Presets[0])
		if err != nil {
			return nil
		}
		return lists.Map(conf.Keys(cfg), func(key string) string { return key + "=" })
	})
	return cmd
}

// completedSystem returns the system of a command line that is being typed.
func (p *program) completedSystem(args []string) *engine.Definition {
	if len(args) > 0 {
		if def, err := p.systems.Find(args[0]); err == nil {
			return def
		}
	}
	return &p.systems[0]
}

// usageArgs makes the errors of an argument check usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return flagError(cmd, err)
		}
		return nil
	}
}

func (p *program) train(t *trainOptions) error {
	if t.diagnose == "none" && t.strict {
		return usagef("--strict judges by the diagnosis that --diagnose none leaves out; omit one of them")
	}
	if err := checkThreads(t.threads); err != nil {
		return err
	}
	if t.samples > engine.MaxEvaluationSamples {
		return usagef("--samples: %d are more than %d; draw more with revgen sample", t.samples, engine.MaxEvaluationSamples)
	}
	task, err := p.joinTraining(t.dir)
	if err != nil {
		return err
	}
	t.dir = strings.ReplaceAll(t.dir, taskMark, strconv.Itoa(task.Index))
	var start *run.Start
	if t.init != "" {
		model, from, err := run.Read(p.systems, t.init)
		if err != nil {
			return err
		}
		start = &run.Start{Config: from, Params: model.Params}
		t.assignments = append(t.assignments, "training.start="+start.Hash())
	}
	given, err := t.loadWithoutLook(p.systems)
	if err != nil {
		return err
	}
	if p.world != nil {
		if err := p.checkSameStart("train", given.Config); err != nil {
			return err
		}
	}
	t.start = start
	if t.dir == "" {
		if t.dir, err = defaultDir(given); err != nil {
			return err
		}
	}
	if err := p.checkRunDir(t); err != nil {
		return err
	}
	return p.runResumable(t.maxTime, t.maxEvaluations, func(ctx context.Context) error {
		if !given.needsLook {
			return p.trainAndMeasure(ctx, given, t, nil)
		}
		return p.lookAndTrain(ctx, given, t)
	})
}

// lookAndTrain is trainAndMeasure for a preset whose recipe first looks at the target. Rank 0 looks
// for all ranks.
func (p *program) lookAndTrain(ctx context.Context, given *resolvedConfig, t *trainOptions) error {
	p.say("%s preset, taking a first look at the target: %s", given.Shared().Preset, t.dir)
	var setup *run.Setup
	var cfg *resolvedConfig
	from := given.from
	firstLook, err := fromRankZero(p, func() (_ *catalogue.Look, err error) {
		if setup, err = run.SetUp(t.dir, t.resume, given.Config, p.warn); err == nil {
			from.Look = run.ReadLook(t.dir)
			if cfg, err = look(setup.Noting(ctx), p.systems, from); err == nil {
				err = setup.Keep(from.Look)
			}
		}
		return from.Look, err
	})
	if err == nil && p.isOtherRank() {
		from.Look = firstLook
		cfg, err = look(context.WithoutCancel(ctx), p.systems, from)
	}
	if err == nil {
		err = p.trainAndMeasure(ctx, cfg, t, setup)
	}
	switch {
	case setup != nil:
		return setup.End(err)
	case p.isOtherRank() && engine.Cancelled(err):
		return &run.StopError{Step: -1}
	}
	return err
}

// trainAndMeasure trains, measures, and fills the run directory. setup, if not nil, already owns
// the directory.
func (p *program) trainAndMeasure(ctx context.Context, resolved *resolvedConfig, t *trainOptions, setup *run.Setup) error {
	cfg := resolved.Config
	p.describeTarget(resolved)
	if e, ok := cfg.(engine.Explainer); ok {
		p.say("%s", e.Explain())
	}
	if resolved.reason != "" {
		p.say("%s preset for this target: %s", cfg.Shared().Preset, resolved.reason)
	}
	workers, err := p.newPool(t.threads)
	if err != nil {
		return err
	}
	defer workers.Close()
	shared := cfg.Shared()
	p.say("%s, %s preset, seed %d, %d steps of %d samples, %d threads: %s",
		shared.System, shared.Preset, shared.Training.Seed, shared.Training.Steps, shared.Training.Batch, workers.Threads(), t.dir)
	if p.world != nil {
		workers.Join(p.world)
	}
	samples := ""
	writeResults := func(ctx context.Context, trained engine.System, r *run.Result) (err error) {
		if samples, err = p.writeRunSamples(ctx, trained, cfg, r.Params, workers, t); err != nil || t.figures == "none" {
			return err
		}
		if err := p.writeFigures(ctx, trained, cfg, r, t); err != nil {
			return err
		}
		return p.writePage([]string{t.dir}, filepath.Join(t.dir, "report.html"))
	}
	result, err := p.runTraining(ctx, cfg, workers, t, setup, writeResults)
	if err != nil || workers.Rank() > 0 {
		return err
	}
	if err := p.printTraining(t.dir, samples, shared.Preset, result); err != nil {
		return err
	}
	r, diagnosed := result.Diagnosis.(*diagnose.Report)
	if t.strict && (!diagnosed || r.Verdict != diagnose.Trustworthy) {
		return p.refuseSamples(r)
	}
	return nil
}

// refuseSamples returns the error of --strict. With --quiet nothing else has said why, so it does.
func (p *program) refuseSamples(r *diagnose.Report) error {
	if p.quiet && !p.json {
		if r == nil {
			fmt.Fprintln(p.stderr, "revgen: --strict: there is no diagnosis")
		} else {
			fmt.Fprintf(p.stderr, "revgen: --strict: %s\n", r.Sentence)
		}
	}
	return errCheckFailed
}

// briefDiagnosis returns what diagnoses a generator that has just been trained.
func briefDiagnosis(shared *engine.Common) func(context.Context, engine.System, *run.Result) (any, error) {
	return func(ctx context.Context, trained engine.System, r *run.Result) (any, error) {
		if _, ok := trained.(chains.Observer); !ok {
			return nil, nil
		}
		brief := diagnose.Brief(diagnose.Share(trained, shared.Training.Steps*shared.Training.Batch))
		brief.Evaluation = r.Evaluation
		report, err := diagnose.Run(ctx, trained, r.Params, brief)
		if err == nil {
			report.Revise(r.Evaluation)
		}
		return report, err
	}
}

// defaultDir names a run's directory by what determines the run, so that a repeated command
// continues its run and a changed one starts another.
func defaultDir(given *resolvedConfig) (string, error) {
	shared := given.Shared()
	name := fmt.Sprintf("%s-%s-seed%d", shared.System, shared.Preset, shared.Training.Seed)
	if !given.isPreset() {
		encode := conf.Encode
		if given.needsLook {
			encode = conf.EncodeAll // keeps the settings of kinds that the recipe has not chosen yet
		}
		text, err := encode(given.Config)
		if err != nil {
			return "", err
		}
		name += fmt.Sprintf("-%x", sha256.Sum256(text))[:9]
	}
	return filepath.Join("runs", strings.ReplaceAll(name, string(filepath.Separator), "_")), nil
}

func (p *program) runTraining(ctx context.Context, cfg engine.Config, workers *pool.Pool, t *trainOptions, setup *run.Setup, writeResults func(context.Context, engine.System, *run.Result) error) (*run.Result, error) {
	if s, _ := readStatus(t.dir); s != nil && s.Checkpoint >= 0 {
		if more := t.extend && s.Checkpoint < cfg.Shared().Training.Steps; s.Checkpoint == s.Steps && !more {
			p.say("this run is complete: measuring it again")
		} else {
			p.say("continuing from step %d", s.Checkpoint)
		}
	}
	m := p.newMeter(int64(cfg.Shared().Training.Steps), "steps")
	defer m.end()
	opt := run.Options{
		Start: t.start, Extend: t.extend,
		Dir: t.dir, Resume: t.resume, Setup: setup, Program: programName(), Asked: p.startTime, Leave: writeResults,
		Warning:  p.warn,
		Progress: m.updateTraining,
	}
	if t.diagnose == "brief" {
		opt.Diagnose = briefDiagnosis(cfg.Shared())
	}
	result, err := run.Train(ctx, cfg, workers, opt)
	if err == nil {
		p.setupSeconds = result.Setup
	}
	return result, err
}

// writeRunSamples writes samples.npy and returns its path, "" if it wrote none.
func (p *program) writeRunSamples(ctx context.Context, trained engine.System, cfg engine.Config, params []float32, workers *pool.Pool, t *trainOptions) (string, error) {
	if t.samplesGiven && t.samples == 0 {
		return "", nil
	}
	stream, err := engine.StreamOf(trained, cfg, params, workers)
	if err != nil {
		if t.samplesGiven {
			return "", err
		}
		return "", nil // not every system can sample
	}
	format, err := stream.Format("")
	if err != nil {
		return "", err
	}
	n := uint64(t.samples)
	if !t.samplesGiven {
		n = min(uint64(cfg.Shared().Evaluation.Samples), defaultSampleBytes/uint64(max(1, format.RowBytes)))
	}
	if n == 0 {
		return "", nil
	}
	path := filepath.Join(t.dir, "samples.npy")
	r := sampleFile{path: path, format: format, n: n}
	if err := p.writeSamples(ctx, stream, r); err != nil {
		return "", err
	}
	model, err := run.NewModel(cfg, &run.Result{Params: params})
	if err != nil {
		return "", err
	}
	return path, writeRecord(r, cfg, model)
}

func (p *program) writeFigures(ctx context.Context, trained engine.System, cfg engine.Config, result *run.Result, t *trainOptions) error {
	figures, err := run.Illustrate(ctx, trained, cfg, result.Params, t.dir)
	if err != nil {
		return err
	}
	if r, ok := result.Diagnosis.(*diagnose.Report); ok {
		figures = append(figures, r.Figure())
	}
	formats := []draw.Format{draw.Vector}
	if t.figures == "all" {
		formats = append(formats, draw.Raster)
	}
	return draw.Write(filepath.Join(t.dir, "figures"), figures, formats...)
}

// printTraining prints the table, or with --json the summary as one object.
func (p *program) printTraining(dir, samples, preset string, result *run.Result) error {
	if p.json {
		summary := result.Summary
		if r, ok := summary.Diagnosis.(*diagnose.Report); ok && p.inBatch { // a batch has many records
			summary.Diagnosis = map[string]any{"verdict": r.Verdict, "sentence": r.Sentence, "refine": r.Refine}
		}
		return json.NewEncoder(p.stdout).Encode(struct {
			run.Summary
			Directory string `json:"directory"`
			Samples   string `json:"samples_file,omitempty"`
		}{summary, dir, samples})
	}
	if e := result.Evaluation; e != nil {
		for _, warning := range e.Warnings {
			p.warn(warning)
		}
		if err := evaluationTable(preset, e).WriteText(p.stdout); err != nil {
			return err
		}
		p.say("trained for %s in %.1f s, then measured with %s", number.Count(result.Steps, "step"), result.Seconds, number.Count(e.Samples, "sample"))
		if spent := result.Evaluations; spent != nil {
			p.say("evaluations of ln π: %s", evaluationsText(spent))
		}
	}
	if r, ok := result.Diagnosis.(*diagnose.Report); ok {
		p.say("diagnosis: %s", r.Sentence)
		if r.Verdict == diagnose.Unknown {
			p.say("for a longer diagnosis: revgen diagnose %s", dir)
		}
	}
	if samples != "" {
		p.say("samples: %s", samples)
	}
	return nil
}
