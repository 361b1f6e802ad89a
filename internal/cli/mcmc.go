package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/report"
)

// mcmcOptions are the flags of mcmc.
type mcmcOptions struct {
	source
	chains, draws, burnIn, seed count
	burnInGiven                 bool
	spacing                     stepCount
	ladder                      ladder
	output, states, format      string
	threads                     int
}

func (p *program) mcmcCommand() *cobra.Command {
	w := mcmcOptions{chains: 64, draws: 1000, spacing: stepCount{n: 1}}
	cmd := &cobra.Command{
		Use:   "mcmc [" + strings.Join(p.systems.Names(), "|") + "|FILE|DIR]",
		Short: "Run Markov chains of a target, to compare a generator with",
		Long: `Run Markov chains of a target, without any generator. The target is given as for train,
or by a run directory. The table gives for each observable

  mean             with its Monte Carlo standard error
  time             the integrated autocorrelation time, in draws
  R̂                split R̂ of ranks and folded ranks; above 1.01 it is a warning
  effective size   of all chains together; below 400 it is a warning
  s per effective  seconds of drawing per effective sample

Chains start as far apart as knowledge of the target allows. A step is a heat-bath sweep of
the Ising lattice, a round of parallel tempering of spins on a graph, and a Metropolis
step of "transition" elsewhere. --spacing auto measures the autocorrelation time first
and puts draws about twice that time apart.

--ladder runs replica exchange of spins, with chains at each of the given inverse
temperatures instead of target.beta. A step is a heat-bath sweep of every chain, then a
swap of every other pair of neighbouring temperatures. The output gives the observables
at every temperature and the fraction of accepted swaps. If fewer than about 20 % are
accepted, insert temperatures between those two.

-o writes the draws of the observables as a structured NumPy array of shape
(chain, draw), with a field for each; docs/trust.md shows how ArviZ reads it. --states
writes the states, of shape (chain, draw, …), in a --format of sample. With --ladder the
temperature is the first axis of both. The result does not depend on the number of
threads. With several MPI ranks, each runs its share of the chains and writes their part
of the files.`,
		Example: `  revgen mcmc ising --set target.l=8 --set target.beta=0.4 --spacing auto
  revgen mcmc glass.txt --chains 128 --draws 4000 --spacing 4 -o draws.npy
  revgen mcmc ising -s target.l=16 --ladder 0.3:0.6:0.025 --states states.npy --format bits
  revgen mcmc runs/gmm-quick-seed1 --json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				w.name = args[0]
			}
			if cmd.Flags().Changed("seed") {
				w.assignments = append(w.assignments, "training.seed="+w.seed.String())
			}
			w.burnInGiven = cmd.Flags().Changed("burn-in")
			return p.mcmc(&w)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&w.preset, "preset", "p", "", "preset of the system (default the first)")
	flags.StringArrayVarP(&w.assignments, "set", "s", nil, "set a value of the configuration, `key.path=value`; may be repeated")
	flags.Var(&w.chains, "chains", "number of chains, at each temperature")
	flags.Var(&w.draws, "draws", "draws of each chain")
	flags.Var(&w.burnIn, "burn-in", "steps before the first draw (default half of those after it)")
	flags.Var(&w.spacing, "spacing", "steps from one draw to the next, or auto")
	flags.Var(&w.ladder, "ladder", "replica exchange at inverse temperatures first:last:step or a,b,c")
	flags.Var(&w.seed, "seed", "seed of the chains; the same as --set training.seed=N")
	flags.StringVarP(&w.output, "output", "o", "", "`file` for the draws, a name ending in .npy, or - for stdout in place of the table")
	flags.StringVar(&w.states, "states", "", "`file` for the states, a name ending in .npy, or - for stdout in place of the table")
	flags.StringVarP(&w.format, "format", "f", "", "layout of the states, as for sample (default the system's)")
	addThreads(cmd, &w.threads)
	return cmd
}

// ladder is a flag for inverse temperatures, in ascending order.
type ladder []float64

func (l *ladder) String() string {
	return strings.Join(lists.Map(*l, func(beta float64) string { return strconv.FormatFloat(beta, 'g', -1, 64) }), ",")
}
func (l *ladder) Type() string { return "BETAS" }

func (l *ladder) Set(text string) error {
	axis, err := batch.ParseGrid("beta=" + text)
	if err != nil {
		return fmt.Errorf("%q is not first:last:step or a,b,c", text)
	}
	values, err := batch.Axis(axis.Value)
	if err != nil {
		return err
	}
	for _, v := range values {
		beta, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return fmt.Errorf("%q: %s is not a number", text, v.String())
		}
		*l = append(*l, beta)
	}
	slices.Sort(*l)
	return nil
}

func (p *program) mcmc(w *mcmcOptions) error {
	if err := p.joinChains(); err != nil {
		return err
	}
	o := chains.Options{Chains: clampInt(w.chains), Draws: clampInt(w.draws), BurnIn: clampInt(w.burnIn), Spacing: w.spacing.n, Ladder: w.ladder}
	if w.spacing.auto {
		o.Spacing = chains.AutoSpacing
	}
	if !w.burnInGiven {
		o.BurnIn = chains.HalfBurnIn
	}
	if err := o.Validate(); err != nil {
		return usagef("--%w", err)
	}
	for _, output := range []struct{ flag, file string }{{"-o", w.output}, {"--states", w.states}} {
		switch file, flag := output.file, output.flag; file {
		case "":
		case "-":
			if p.world != nil {
				return usagef("%s -: %d ranks write parts of one file, which stdout is not; name a file", flag, p.world.Size())
			}
			if err := p.refuseTerminal(flag); err != nil {
				return err
			}
		default:
			if err := checkSuffix(flag, file); err != nil {
				return err
			}
		}
	}
	switch {
	case w.states == "" && w.format != "":
		return usagef("--format is of states; name their file by --states")
	case w.states == "-" && w.output == "-":
		return usagef("-o and --states are both stdout; name a file for one of them")
	}
	if _, err := p.systems.Find(w.name); err != nil && isDir(w.name) {
		w.name = filepath.Join(w.name, "config.json")
	}
	if err := p.checkApart([]string{p.targetFile(w.name)}, w.output, w.states); err != nil {
		return err
	}
	if p.world != nil {
		given, err := w.loadWithoutLook(p.systems)
		if err == nil {
			err = p.checkSameStart("mcmc", map[string]any{"": given.Config, "-o": w.output, "states": w.states, "format": w.format, "flags": o})
		}
		if err != nil {
			return err
		}
	}
	return p.runOnThreads(w.threads, func(ctx context.Context, workers *pool.Pool) error {
		cfg, err := w.load(ctx, p.systems)
		if err != nil {
			return err
		}
		p.describeTarget(cfg)
		return p.runChains(ctx, w, cfg, o, workers)
	})
}

// An mcmcResult is what mcmc prints with --json.
type mcmcResult struct {
	System        string              `json:"system"`
	Target        string              `json:"target,omitempty"`
	Seed          uint64              `json:"seed"`
	Chains        int                 `json:"chains"`
	Draws         int                 `json:"draws"`
	BurnIn        int                 `json:"burn_in"`
	Spacing       int                 `json:"spacing"`
	AutoSpacing   bool                `json:"auto_spacing,omitempty"`
	BurnInSeconds float64             `json:"burn_in_seconds"`
	Seconds       float64             `json:"seconds"`
	File          string              `json:"file,omitempty"`
	States        string              `json:"states,omitempty"` // file of the states
	Format        string              `json:"format,omitempty"` // of the states
	Observables   []chains.Observable `json:"observables,omitempty"`
	Ladder        []mcmcLevel         `json:"ladder,omitempty"` // in place of Observables
	Warnings      []string            `json:"warnings,omitempty"`
	run.Provenance
}

// An mcmcLevel is one inverse temperature of a ladder.
type mcmcLevel struct {
	Beta        float64             `json:"beta"`
	Observables []chains.Observable `json:"observables"`
	Swaps       *float64            `json:"swaps,omitempty"` // fraction of swaps with the next level that were accepted
}

func (p *program) runChains(ctx context.Context, w *mcmcOptions, cfg *resolvedConfig, o chains.Options, workers *pool.Pool) error {
	if p.world != nil {
		workers.Join(p.world)
		o.Ranks = workers
	}
	system, err := cfg.New(workers)
	if err != nil {
		return err
	}
	defer engine.Release(system)
	if w.states != "" {
		if o.States = w.format; o.States == "" {
			if s, ok := system.(engine.Sampler); ok {
				o.States = s.Formats()[0].Name
			}
		}
	}
	m := p.newMeter(int64(o.Draws), "draws")
	start := time.Now()
	r, err := chains.Run(ctx, system, o, func(draws int) {
		m.update(int64(draws), float64(draws)/time.Since(start).Seconds(), "")
	})
	m.end()
	shared := cfg.Shared()
	if err != nil && p.world != nil {
		err = p.agreeOnError(err) // all ranks reach this line
	}
	switch {
	case errors.Is(err, chains.ErrNone):
		return usagef("%s: %w", shared.System, err)
	case errors.As(err, new(*chains.OptionError)):
		return usagef("--%w", err)
	case err != nil:
		return err
	}
	var warnings []string
	warn := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf(format, args...))
		p.warn(warnings[len(warnings)-1])
	}
	if r.Unresolved > 0 {
		warn("the autocorrelation time exceeds %d steps, the most that can be measured; the spacing chosen by --spacing auto may be too small", r.Unresolved)
	}
	for k, l := range r.Levels {
		for i := range l.Observables {
			if x := &l.Observables[i]; x.Doubtful() {
				warn("%s is not reliable yet: R̂ is %.3f (at most %g is needed), effective size %.0f (at least %d is needed); take more draws, a larger --spacing or a larger --burn-in",
					x.Name+levelText(o.Ladder, k), x.RHat, chains.MaxRHat, x.EffectiveSize, chains.MinEffectiveSize)
			}
		}
	}
	if w.output != "" {
		if err := p.writeDraws(ctx, w.output, r, o); err != nil {
			return err
		}
	}
	if w.states != "" {
		if err := p.writeStates(ctx, w.states, r, o); err != nil {
			return err
		}
	}
	if w.output == "-" || w.states == "-" {
		return nil
	}
	if !p.json {
		return writeChains(p.stdout, r, o)
	}
	v := mcmcResult{System: shared.System, Seed: shared.Training.Seed, Chains: o.Chains, Draws: o.Draws, BurnIn: r.BurnedIn, Spacing: r.Spacing,
		AutoSpacing: o.Spacing == chains.AutoSpacing, BurnInSeconds: r.BurnIn, Seconds: r.Seconds, File: w.output, States: w.states, Format: o.States,
		Warnings: warnings, Provenance: run.Here(programName())}
	if o.Ladder == nil {
		v.Observables = r.Levels[0].Observables
	}
	for k, beta := range o.Ladder {
		v.Ladder = append(v.Ladder, mcmcLevel{beta, r.Levels[k].Observables, r.Levels[k].Swaps()})
	}
	if d, ok := cfg.Config.(engine.Explainer); ok {
		v.Target = d.Describe()
	}
	return json.NewEncoder(p.stdout).Encode(v)
}

// levelText says which level of a ladder is meant, "" if there is no ladder.
func levelText(ladder []float64, level int) string {
	if len(ladder) == 0 {
		return ""
	}
	return fmt.Sprintf(" at β = %g", ladder[level])
}

func writeChains(out io.Writer, r *chains.Result, o chains.Options) error {
	t := report.Table{Header: []string{"observable", "mean", "± standard error", "deviation", "time", "R̂", "effective size", "s per effective"}, Left: 1}
	if o.Ladder != nil {
		t.Header = append([]string{"β"}, t.Header...)
		t.Left = 2
	}
	for k, l := range r.Levels {
		for i := range l.Observables {
			x := &l.Observables[i]
			row := []string{report.Label(x.Name), fmt.Sprintf("%.6g", x.Mean), fmt.Sprintf("%.2g", x.StandardError), digits(x.Deviation),
				fmt.Sprintf("%.2f", x.Time), fmt.Sprintf("%.4f", x.RHat), fmt.Sprintf("%.0f", x.EffectiveSize), fmt.Sprintf("%.2g", x.SecondsPerEffective)}
			if o.Ladder != nil {
				row = append([]string{strconv.FormatFloat(o.Ladder[k], 'g', -1, 64)}, row...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	var b bytes.Buffer
	_ = t.WriteText(&b) // a buffer returns no error
	levels := ""
	if o.Ladder != nil {
		levels = fmt.Sprintf(" at each of %d temperatures", len(o.Ladder))
		t := report.Table{Header: []string{"β", "β′", "swaps"}, Left: 0}
		for k := range o.Ladder[1:] {
			t.Rows = append(t.Rows, []string{strconv.FormatFloat(o.Ladder[k], 'g', -1, 64), strconv.FormatFloat(o.Ladder[k+1], 'g', -1, 64),
				fmt.Sprintf("%.1f %%", 100**r.Levels[k].Swaps())})
		}
		fmt.Fprintln(&b)
		_ = t.WriteText(&b)
	}
	fmt.Fprintf(&b, "\n%s of %s%s, %s apart, after %s of burn-in: drawing took %.2f s, burn-in %.2f s\n", number.Count(o.Chains, "chain"), number.Count(o.Draws, "draw"), levels,
		number.Count(r.Spacing, "step"), number.Count(r.BurnedIn, "step"), r.Seconds, r.BurnIn)
	_, err := b.WriteTo(out)
	return err
}

// writeDraws writes a structured array of shape (chain, draw), with a field for each observable and
// the ladder, if there is one, as first axis.
func (p *program) writeDraws(ctx context.Context, path string, r *chains.Result, o chains.Options) error {
	names := lists.Map(r.Levels[0].Observables, func(x chains.Observable) string { return x.Name })
	descr, err := npy.Columns(names)
	if err != nil {
		return fmt.Errorf("-o: observable %w", err)
	}
	width := len(names)
	return p.writeByChain(ctx, path, descr, nil, r, o, func(dst []byte, level, c int) []byte {
		for t := range o.Draws {
			for _, v := range r.Levels[level].Values[(t*o.Chains+c)*width:][:width] {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
			}
		}
		return dst
	})
}

// writeStates writes the states, of shape (chain, draw, …), with the ladder, if there is one, as
// first axis.
func (p *program) writeStates(ctx context.Context, path string, r *chains.Result, o chains.Options) error {
	size := o.Draws * r.Format.RowBytes
	return p.writeByChain(ctx, path, r.Format.Descr, r.Format.Shape, r, o, func(dst []byte, level, c int) []byte {
		return append(dst, r.Levels[level].States[(c-r.Lo)*size:][:size]...)
	})
}

// writeByChain writes an array of shape (chain, draw, shape…), with the ladder, if there is one, as
// first axis. appendChain appends the data of chain c at a level.
func (p *program) writeByChain(ctx context.Context, path, descr string, shape []int, r *chains.Result, o chains.Options, appendChain func(dst []byte, level, c int) []byte) error {
	h := npy.Header{Descr: descr, Shape: append([]int{o.Chains, o.Draws}, shape...)}
	levels := 1
	if o.Ladder != nil {
		levels = len(o.Ladder)
		h.Shape = append([]int{levels}, h.Shape...)
	}
	write := func(w io.Writer, part func(offset, size int64)) error {
		var buffer []byte
		for level := range levels {
			for c := r.Lo; c < r.Hi; c++ {
				buffer = appendChain(buffer[:0], level, c)
				part(int64(level*o.Chains+c)*int64(len(buffer)), int64(len(buffer)))
				if _, err := w.Write(buffer); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if p.world == nil {
		return p.writeArray(ctx, path, h, func(w io.Writer) error { return write(w, func(int64, int64) {}) })
	}
	return p.writeShared(path, h, func(file *npy.Shared) error {
		if err := write(file, file.Part); err != nil {
			return err
		}
		return ctx.Err()
	})
}
