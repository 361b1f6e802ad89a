package cli

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/report"
)

// walking is what the flags of mcmc ask for.
type walking struct {
	source
	chains, draws, burnIn, spacing, seed count
	burns                                bool // burnIn was given
	output                               string
	threads                              int
}

func (p *program) mcmcCommand() *cobra.Command {
	w := walking{chains: 64, draws: 1000, spacing: 1}
	cmd := &cobra.Command{
		Use:   "mcmc [" + strings.Join(p.systems.Names(), "|") + "|FILE|DIR]",
		Short: "Run a target's own Markov chains: what a generator is compared with",
		Long: `Run Markov chains of a target, given as to train or by a run directory, that owe
nothing to any generator, and tell of each observable its mean, the Monte Carlo
standard error of that, the integrated autocorrelation time in draws, R̂ (split,
of ranks and folded ranks), the effective sample size of all chains, and the
seconds of drawing per effective sample. A warning names averages whose R̂ is above
1.01 or whose effective size is below 400.

Chains begin as far apart as is known of the target. A step is what mixes best of
what the system has: heat-bath sweeps of the Ising lattice, rounds of parallel
tempering of spins on a graph, Metropolis steps of "transition" elsewhere.

-o writes the draws of the observables as a structured NumPy array of shape
(chain, draw), one field for each, as docs/trust.md shows for ArviZ. They are a
function of configuration, seed and these flags, not of the number of threads.`,
		Example: `  revgen mcmc ising --set target.l=8 --set target.beta=0.4
  revgen mcmc glass.txt --chains 128 --draws 4000 --spacing 4 -o draws.npy
  revgen mcmc runs/gmm-quick-seed1 --json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				w.name = args[0]
			}
			if cmd.Flags().Changed("seed") {
				w.assignments = append(w.assignments, "training.seed="+w.seed.String())
			}
			w.burns = cmd.Flags().Changed("burn-in")
			return p.mcmc(&w)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&w.preset, "preset", "p", "", "preset of the system (default the first)")
	flags.StringArrayVarP(&w.assignments, "set", "s", nil, "set a value of the configuration, `key.path=value`; may be repeated")
	flags.Var(&w.chains, "chains", "number of chains")
	flags.Var(&w.draws, "draws", "draws of each chain")
	flags.Var(&w.burnIn, "burn-in", "steps before the first draw (default half of those after it)")
	flags.Var(&w.spacing, "spacing", "steps from one draw to the next")
	flags.Var(&w.seed, "seed", "seed of the chains; the same as --set training.seed=N")
	flags.StringVarP(&w.output, "output", "o", "", "`file` for the draws, a name ending in .npy, or - for stdout in place of the table")
	addThreads(cmd, &w.threads)
	return cmd
}

func (p *program) mcmc(w *walking) error {
	bounded := func(n count) int { return int(min(n, math.MaxInt32+1)) }
	o := chains.Options{Chains: bounded(w.chains), Draws: bounded(w.draws), BurnIn: bounded(w.burnIn), Spacing: bounded(w.spacing)}
	if !w.burns {
		o.BurnIn = min(o.Draws, chains.MostSteps) * min(o.Spacing, chains.MostSteps) / 2
		o.BurnIn = min(o.BurnIn, chains.MostSteps)
	}
	if err := o.Validate(); err != nil {
		return usagef("--%w", err)
	}
	if w.output != "" && w.output != "-" {
		if err := checkSuffix(w.output); err != nil {
			return err
		}
	}
	if w.output == "-" && terminal(p.stdout) != nil {
		return usagef("-o -: stdout is a terminal; redirect it or name a file")
	}
	if info, err := os.Stat(w.name); err == nil && info.IsDir() {
		w.name = filepath.Join(w.name, "config.json")
	}
	cfg, err := w.load(p.systems)
	if err != nil {
		return err
	}
	p.describeTarget(cfg)
	return p.interruptible(func(ctx context.Context) error { return p.runChains(ctx, w, cfg, o) })
}

// A walked is what mcmc prints with --json.
type walked struct {
	System        string              `json:"system"`
	Target        string              `json:"target,omitempty"`
	Seed          uint64              `json:"seed"`
	Chains        int                 `json:"chains"`
	Draws         int                 `json:"draws"`
	BurnIn        int                 `json:"burn_in"`
	Spacing       int                 `json:"spacing"`
	BurnInSeconds float64             `json:"burn_in_seconds"`
	Seconds       float64             `json:"seconds"`
	File          string              `json:"file,omitempty"`
	Observables   []chains.Observable `json:"observables"`
	Warnings      []string            `json:"warnings,omitempty"`
	engine.Provenance
}

// runChains runs them and leaves what was asked for.
func (p *program) runChains(ctx context.Context, w *walking, cfg *resolved, o chains.Options) error {
	workers, err := p.newPool(w.threads)
	if err != nil {
		return err
	}
	defer workers.Close()
	system, err := cfg.New(workers)
	if err != nil {
		return err
	}
	defer engine.Release(system)
	m := p.newMeter(int64(o.Draws), "draws")
	start := time.Now()
	r, err := chains.Run(ctx, system, o, func(draws int) {
		m.update(int64(draws), float64(draws)/time.Since(start).Seconds(), "")
	})
	m.end()
	shared := cfg.Shared()
	switch {
	case errors.Is(err, chains.ErrNone):
		return usagef("%s: %w", shared.System, err)
	case err != nil:
		return err
	}
	var warnings []string
	for i := range r.Observables {
		if x := &r.Observables[i]; x.Doubtful() {
			warnings = append(warnings, fmt.Sprintf("%s: R̂ %.3f, effective size %.0f: chains that agree have at most %g and at least %d; take more draws, a larger --spacing or --burn-in",
				x.Name, x.RHat, x.EffectiveSize, chains.MixedRHat, chains.LeastSize))
			p.warn(warnings[len(warnings)-1])
		}
	}
	if w.output != "" {
		if err := p.writeDraws(ctx, w.output, r, o); err != nil || w.output == "-" {
			return err
		}
	}
	if !p.json {
		return writeChains(p.stdout, r, o)
	}
	v := walked{shared.System, "", shared.Training.Seed, o.Chains, o.Draws, o.BurnIn, o.Spacing, r.BurnIn, r.Seconds, w.output,
		r.Observables, warnings, engine.Here(programName())}
	if d, ok := cfg.Config.(engine.Describer); ok {
		v.Target = d.Describe()
	}
	return json.NewEncoder(p.stdout).Encode(v)
}

// writeChains writes a table for people.
func writeChains(out io.Writer, r *chains.Result, o chains.Options) error {
	t := report.Table{Header: []string{"observable", "mean", "± standard error", "deviation", "time", "R̂", "effective size", "s per effective"}, Left: 1}
	for i := range r.Observables {
		x := &r.Observables[i]
		t.Rows = append(t.Rows, []string{report.Label(x.Name), fmt.Sprintf("%.6g", x.Mean), fmt.Sprintf("%.2g", x.StandardError), digits(x.Deviation),
			fmt.Sprintf("%.2f", x.Time), fmt.Sprintf("%.4f", x.RHat), fmt.Sprintf("%.0f", x.EffectiveSize), fmt.Sprintf("%.2g", x.SecondsPerEffective)})
	}
	if err := t.WriteText(out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d chains of %d draws, %d steps apart, after %d steps: %.2f s and %.2f s before\n", o.Chains, o.Draws, o.Spacing, o.BurnIn, r.Seconds, r.BurnIn)
	return err
}

// writeDraws writes a structured array of shape (chain, draw), a field for each
// observable.
func (p *program) writeDraws(ctx context.Context, path string, r *chains.Result, o chains.Options) error {
	var fields []string
	for _, x := range r.Observables {
		if strings.ContainsAny(x.Name, "'\\\n") {
			return fmt.Errorf("-o: observable %q: NumPy's header has no room for such a name", x.Name)
		}
		fields = append(fields, "('"+x.Name+"', '<f8')")
	}
	width := len(fields)
	h := npy.Header{Descr: "[" + strings.Join(fields, ", ") + "]", Shape: []int{o.Chains, o.Draws}}
	var w *npy.Writer
	var err error
	if path == "-" {
		w, err = npy.NewWriter(p.stdout, h)
	} else {
		w, err = npy.Create(ctx, path, h)
	}
	if err != nil {
		return sayWhere(path, err)
	}
	chain := make([]byte, 0, 8*width*o.Draws)
	for c := range o.Chains {
		chain = chain[:0]
		for t := range o.Draws {
			for _, v := range r.Values[(t*o.Chains+c)*width:][:width] {
				chain = binary.LittleEndian.AppendUint64(chain, math.Float64bits(v))
			}
		}
		if _, err := w.Write(chain); err != nil {
			return sayWhere(path, errors.Join(err, w.Abort()))
		}
	}
	if err := w.Close(); err != nil {
		return sayWhere(path, err)
	}
	return nil
}
