package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// diagnoseOptions are the flags of diagnose.
type diagnoseOptions struct {
	model     string
	samples   count
	refine    count
	maxTime   duration
	seed      count
	seedGiven bool
	strict    bool
	threads   int
}

func (p *program) diagnoseCommand() *cobra.Command {
	full := diagnose.Full()
	d := diagnoseOptions{samples: count(full.Samples), refine: count(full.Refine), maxTime: duration(full.Time)}
	cmd := &cobra.Command{
		Use:   "diagnose DIR|MODEL",
		Short: "Tell how far the samples of a trained generator can be trusted",
		Long: `Tell how far the samples of a trained generator can be trusted. No exact result is
needed. Fresh samples are examined in three ways:

  drift    how averages change under 1, 2, 4, … Metropolis steps, and when they stop
  chains   whether independent Markov chains find the same averages
  weights  whether importance weights give the same averages (if the generator's
           density is known)

The verdict is one of four:

  trustworthy  averages agree, to the accuracy that the sentence states
  refine       usable after the stated number of Metropolis steps (sample --refine auto)
  wrong        do not use the samples
  unknown      the evidence does not decide, for the stated reason

The verdict and a table of observables go to stdout; --json adds all details. In a run
directory they are kept in diagnosis.json, which sample --refine auto reads. With
--strict the exit code is 3 unless the verdict is trustworthy. docs/trust.md explains
the verdicts and their limits.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.model, d.seedGiven = args[0], cmd.Flags().Changed("seed")
			return p.diagnose(&d)
		},
	}
	flags := cmd.Flags()
	flags.VarP(&d.samples, "samples", "n", "number of samples to examine; more samples reveal smaller errors")
	flags.Var(&d.refine, "max-refine", "largest number of Metropolis `steps`, a power of two")
	flags.Var(&d.maxTime, "max-time", "end after about this long, with the evidence found by then")
	flags.Var(&d.seed, "seed", "seed of samples and chains (default that of the training run)")
	flags.BoolVar(&d.strict, "strict", false, "exit with 3 unless the verdict is trustworthy")
	addThreads(cmd, &d.threads)
	return cmd
}

func (p *program) diagnose(d *diagnoseOptions) error {
	o := diagnose.Full()
	o.Samples, o.Refine, o.Time = int(min(d.samples, math.MaxInt32)), int(min(d.refine, math.MaxInt32)), time.Duration(d.maxTime)
	if err := o.Validate(); err != nil {
		return usagef("--%w", err)
	}
	if err := disk.CheckLinks(d.model, diagnosisFile); err != nil {
		return usageError{err}
	}
	model, cfg, err := run.Read(p.systems, d.model)
	if err != nil {
		return err
	}
	if d.seedGiven {
		cfg.Shared().Training.Seed = uint64(d.seed)
	}
	return p.runOnThreads(d.threads, func(ctx context.Context, workers *pool.Pool) error {
		r, err := diagnosis(ctx, d.model, model, cfg, o, workers)
		if err != nil {
			return err
		}
		if isDir(d.model) {
			if err := disk.WriteJSON(filepath.Join(d.model, diagnosisFile), keptDiagnosis{model.Hash(), run.Here(programName()), r}); err != nil {
				return err
			}
		}
		if p.json {
			err = json.NewEncoder(p.stdout).Encode(r)
		} else {
			err = writeDiagnosis(p.stdout, r)
		}
		if err == nil && d.strict && r.Verdict != diagnose.Trustworthy {
			err = errCheckFailed
		}
		return err
	})
}

func diagnosis(ctx context.Context, path string, model *run.Model, cfg engine.Config, o diagnose.Options, workers *pool.Pool) (*diagnose.Report, error) {
	system, err := cfg.New(workers)
	if err != nil {
		return nil, err
	}
	defer engine.Release(system)
	if n := system.NumParams(); n != len(model.Params) {
		return nil, fmt.Errorf("%s: its configuration needs %d parameters and it has %d", path, n, len(model.Params))
	}
	o.Moves = diagnose.Work(system)
	// The evaluation after training is evidence too, as in the brief diagnosis.
	if o.Evaluation, err = readSummary(path); err != nil {
		return nil, err
	}
	r, err := diagnose.Run(ctx, system, model.Params, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// A keptDiagnosis is the content of diagnosis.json.
type keptDiagnosis struct {
	Model string `json:"model"` // run.Model.Hash of the diagnosed model
	run.Provenance
	*diagnose.Report
}

// readDiagnosis returns the diagnosis of a model in diagnosis.json, nil if there is none.
func readDiagnosis(dir string, model *run.Model) (*diagnose.Report, error) {
	k, err := readJSON[keptDiagnosis](dir, diagnosisFile, maxSummary)
	if k == nil || k.Model != model.Hash() { // no file, or one of an earlier training in the directory
		return nil, err
	}
	return k.Report, nil
}

// lastDiagnosis returns the diagnosis of a model in diagnosis.json, or else the brief one of its
// training in summary.json; nil if there is neither.
func lastDiagnosis(dir string, model *run.Model) (*diagnose.Report, error) {
	if r, err := readDiagnosis(dir, model); r != nil || err != nil {
		return r, err
	}
	s, err := readJSON[struct{ Diagnosis *diagnose.Report }](dir, "summary.json", maxSummary)
	if s == nil {
		return nil, err
	}
	return s.Diagnosis, nil
}

func writeDiagnosis(w io.Writer, r *diagnose.Report) error {
	fmt.Fprintf(w, "%s\n\n", r.Sentence)
	if err := diagnosisTable(r).WriteText(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", diagnosisLegend)
	fmt.Fprintf(w, "\n%s after %s", number.Count(r.Samples, "sample"), number.Count(r.Steps, "step"))
	if c := r.Chains; c != nil {
		fmt.Fprintf(w, "; %d chains of %d steps: largest R̂ %.3f, least effective size %.0f", c.Number, c.Steps, c.RHat, c.EffectiveSize)
	}
	if x := r.Weights; x != nil {
		fmt.Fprintf(w, "; weights: effective size %.6f, Pareto k̂ %s, ln Z %.6f ± %.1g", x.EffectiveSize, stat.ShapeText(x.ParetoK), x.LogZ, x.LogZError)
		if !x.Trusted() {
			fmt.Fprintf(w, " (not to be trusted: %s)", x.Warning)
		}
	}
	for _, l := range r.Limits {
		fmt.Fprintf(w, "; %s", l)
	}
	_, err := fmt.Fprintf(w, "; %.1f s\n", r.Seconds)
	return err
}
