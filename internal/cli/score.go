package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/score"
	"github.com/revgen/revgen/internal/pool"
)

// scoreOptions are the flags of score.
type scoreOptions struct {
	source
	file    string
	model   string
	input   string // kind of the input, or auto
	format  string
	columns []string
	to      string // layout of the output; empty for the layout that its name says
	output  string
	threads int
}

func (p *program) scoreCommand() *cobra.Command {
	s := scoreOptions{file: "-", input: "auto", output: "-"}
	cmd := &cobra.Command{
		Use:   "score " + strings.Join(p.systems.Names(), "|") + "|FILE|DIR [STATES]",
		Short: "Evaluate energies, densities and observables of states",
		Long: `Evaluate states of a target. The target is given as for train, or by a run directory.
Each state gives a row: its energy E, ln π = −βE up to a constant, and the target's
observables. With --model RUN, if that generator's density is known, the row also has
ln q (log_model) and ln π − ln q (log_weight). Memory is constant.

States come from a file or stdin, in one of the layouts that sample writes:

  ndjson  a line is a list of numbers, which may be nested, or an object with a key
          for each field: [1,-1,1,1], {"x": [0.1,-2], "k": 3}
  npy     a NumPy array of the layout's dtype
  raw     the bytes of the states alone, for example packed bits: --input raw --format bits

ndjson and npy are recognised by their content. The first state that cannot be scored
ends the command with an error that names its line or number. The rows before it have
then gone to stdout; a file named by -o is not written.`,
		Example: `  revgen score ising --set target.l=4 states.ndjson -o scores.csv
  revgen sample run -n 1e6 -o - | revgen score run --model run -o weights.ndjson
  revgen score glass.txt bits.bin --input raw --format bits --columns energy --to npy -o energies.npy`,
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(_ *cobra.Command, args []string) error {
			s.name = args[0]
			if len(args) > 1 {
				s.file = args[1]
			}
			return p.score(&s)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&s.preset, "preset", "p", "", "preset of the system (default the first)")
	flags.StringArrayVarP(&s.assignments, "set", "s", nil, "set a value of the configuration, `key.path=value`; may be repeated")
	flags.StringVar(&s.model, "model", "", "run or `model` whose density to compare with the target's")
	p.addChoice(cmd, &s.input, "input", "", "format of the input: auto, ndjson, npy or raw", append([]string{"auto"}, score.Kinds...)...)
	flags.StringVarP(&s.format, "format", "f", "", "layout of a state, one of sample --format ? (default the first; for arrays, that of their type)")
	flags.StringSliceVar(&s.columns, "columns", nil, "`names` of the columns to write, separated by commas (default all)")
	p.addChoice(cmd, &s.to, "to", "", "format of the output: ndjson, csv or npy (default by the name of -o, else ndjson)", score.Layouts...)
	flags.StringVarP(&s.output, "output", "o", s.output, "`file` to write, - for stdout")
	addThreads(cmd, &s.threads)
	return cmd
}

// setLayout settles the layout of the output, and checks that its name agrees.
func (s *scoreOptions) setLayout() error {
	suffixes := map[string]string{".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".npy": "npy"}
	suffixLayout := suffixes[filepath.Ext(s.output)]
	switch {
	case s.to != "" && suffixLayout != "" && s.to != suffixLayout:
		return usagef("-o: %s: --to %s writes another kind of file; let its name end otherwise", s.output, s.to)
	case s.to == "" && suffixLayout == "" && s.output != "-" && filepath.Ext(s.output) != "":
		if info, err := os.Stat(s.output); err != nil || info.Mode().IsRegular() {
			return usagef("-o: %s: a name that ends in .ndjson, .csv or .npy says what to write; another needs --to", s.output)
		}
	}
	s.to = cmp.Or(s.to, suffixLayout, "ndjson")
	return nil
}

func (p *program) score(s *scoreOptions) error {
	if err := s.setLayout(); err != nil {
		return err
	}
	if p.inBatch && s.file == "-" {
		return usagef("a job of a batch has no stdin; give the file of the states after the target")
	}
	if config := filepath.Join(s.name, "config.json"); isDir(s.name) {
		_, system := p.systems.Find(s.name)
		if _, run := os.Stat(config); run == nil || system != nil { // a directory with a system's name may be no run
			s.name = config
		}
	}
	if err := p.checkApart([]string{p.targetFile(s.name), s.file, s.model}, s.output); err != nil {
		return err
	}
	return p.runOnThreads(s.threads, func(ctx context.Context, workers *pool.Pool) error {
		cfg, err := s.load(ctx, p.systems)
		if err != nil {
			return err
		}
		p.describeTarget(cfg)
		return p.scoreStates(ctx, s, cfg, workers)
	})
}

// A scoringSystem is a system that can score states.
type scoringSystem struct {
	engine.System
	engine.Scorer
	params  []float32       // of the generator, nil if only the target is needed
	formats []engine.Format // that hold a whole state, so that its energy can be computed
}

// newScoringSystem builds the system of a configuration, with the params of its generator or nil.
func newScoringSystem(cfg engine.Config, params []float32, workers *pool.Pool) (*scoringSystem, error) {
	system, err := cfg.New(workers)
	if err != nil {
		return nil, err
	}
	s, ok := system.(engine.Sampler)
	if !ok {
		engine.Release(system)
		return nil, usagef("%s: the system has no layouts of states", cfg.Shared().System)
	}
	if n := system.NumParams(); params != nil && n != len(params) {
		engine.Release(system)
		return nil, fmt.Errorf("its configuration needs %d parameters and it has %d", n, len(params))
	}
	var formats []engine.Format
	scorer, ok := system.(engine.Scorer)
	for _, f := range s.Formats() {
		if ok && !f.Unrefined {
			if _, err := scorer.Energies(nil, f.Name, nil); err == nil {
				formats = append(formats, f)
			}
		}
	}
	if len(formats) == 0 {
		engine.Release(system)
		return nil, usagef("%s: the system does not give the energies of states", cfg.Shared().System)
	}
	return &scoringSystem{system, scorer, params, formats}, nil
}

func (p *program) scoreStates(ctx context.Context, s *scoreOptions, cfg *resolvedConfig, workers *pool.Pool) error {
	target, err := newScoringSystem(cfg.Config, nil, workers)
	if err != nil {
		return err
	}
	defer engine.Release(target.System)
	judge := score.NewJudge(target, nil, nil)
	if s.model != "" {
		model, err := p.scoringModel(s.model, target, workers)
		if err != nil {
			return err
		}
		defer engine.Release(model.System)
		if judge = score.NewJudge(target, model, model.params); !judge.HasModel() {
			p.warn(s.model + ": the density of this generator is not known, and so not written; the presets quick and best train generators with a density, of lattices from 4×4 on")
		}
	}
	if s.columns != nil {
		if err := judge.Select(s.columns); err != nil {
			return usagef("--columns: %w", err)
		}
	}
	kind := s.input
	if kind == "auto" {
		kind = ""
	}
	in, err := score.Open(s.file, os.Stdin, kind, s.format, target.formats, workers.Threads())
	if err != nil {
		return usageError{err}
	}
	defer in.Close()
	if s.to == "npy" {
		if err := in.Count(); err != nil {
			return usageError{err}
		}
	}
	return p.writeScores(ctx, s, judge, in, workers)
}

// scoringModel reads a model, and checks that its states have the format of the target's.
func (p *program) scoringModel(path string, target *scoringSystem, workers *pool.Pool) (*scoringSystem, error) {
	file, cfg, err := run.Read(p.systems, path)
	if err != nil {
		return nil, err
	}
	model, err := newScoringSystem(cfg, file.Params, workers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a, b := target.formats[0], model.formats[0]
	if a.Name != b.Name || a.Descr != b.Descr || a.RowBytes != b.RowBytes {
		engine.Release(model.System)
		return nil, usagef("--model: %s is of states with dtype %s and shape %v, and those of the target have %s and %v", path, b.Descr, b.Shape, a.Descr, a.Shape)
	}
	return model, nil
}

func (p *program) writeScores(ctx context.Context, s *scoreOptions, judge *score.Judge, in *score.Input, workers *pool.Pool) error {
	start := time.Now()
	if s.output == "-" && s.to == "npy" {
		if err := p.refuseTerminal("-o"); err != nil {
			return err
		}
	}
	size := int64(0)
	if s.to == "npy" {
		size = in.Rows * 8 * int64(len(judge.Columns))
	}
	file, err := p.create(ctx, s.output, size)
	if err != nil {
		return err
	}
	out, err := score.NewOutput(file, s.to, judge.Columns, in.Rows, workers)
	if err != nil {
		return writeError(s.output, errors.Join(err, file.Cleanup()))
	}
	var rows int64
	err = p.writeOutput(s.output, file, func() (err error) {
		write := func(values []float64) error { return writeError(s.output, out.WriteRows(values)) }
		if rows, err = score.Run(ctx, judge, in, write); err == nil {
			err = writeError(s.output, out.Close())
		}
		return err
	}, func() string { return "the table on " + outputName(s.output) + " is not complete" })
	if errors.As(err, new(*score.BadError)) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	if rows == 0 {
		p.warn("no states: the input is empty")
	}
	p.say("%d states in %.2f s: %s states/s, %sB/s in, %sB/s out", rows, seconds, quantity(float64(rows)/seconds), quantity(float64(in.Bytes)/seconds), quantity(float64(out.Bytes)/seconds))
	if !p.json || s.output == "-" {
		return nil
	}
	return json.NewEncoder(p.stdout).Encode(struct {
		File    string   `json:"file"`
		States  int64    `json:"states"`
		Input   string   `json:"input"`
		Format  string   `json:"format"`
		Columns []string `json:"columns"`
		Seconds float64  `json:"seconds"`
	}{s.output, rows, in.Kind, in.Format.Name, judge.Columns, seconds})
}
