package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

func (p *program) verifyCommand() *cobra.Command {
	var threads int
	var b bounds
	names := strings.Join(append(p.systems.Names(), "all"), "|")
	cmd := &cobra.Command{
		Use:   "verify [" + names + "] [DIR|MODEL]",
		Short: "Check the mathematics of a system, or a trained model",
		Long: `Check the mathematics of a system, or of all: energies, transition matrices,
losses, gradients and exact references, each against an independent computation.
With a run directory or model file, check the trained model too: the file is whole,
its parameters are finite, and a second measurement reproduces its summary. For the
Ising model on at most 12 spins, Metropolis steps after generation must change the
law of the samples as the transition matrix says. A mode or sector of the target
that is missing from the samples is a failed check.

Pipelines can set bounds: --max METRIC=VALUE bounds the error of one metric of a
trained model, --max-floor bounds all errors in units of the sampling floor.

Each check writes one record to stdout. With --json it is NDJSON with the keys
system, check, ok, value, bound and detail. The exit code is 3 if a check failed.`,
		Args: usageArgs(cobra.MaximumNArgs(2)),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return append(p.systems.Names(), "all"), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error { return p.verify(args, b, threads) },
	}
	cmd.Flags().StringArrayVar(&b.max, "max", nil, "largest allowed error of a metric, `METRIC=VALUE`, relative if the table's is; may be repeated")
	cmd.Flags().Float64Var(&b.floor, "max-floor", 0, "largest allowed error of all metrics, in units of the sampling floor")
	addThreads(cmd, &threads)
	return cmd
}

// verify interprets the arguments: a system or all, a model, or both.
func (p *program) verify(args []string, b bounds, threads int) error {
	if err := b.parse(); err != nil {
		return err
	}
	systems, path := p.systems, ""
	switch {
	case len(args) == 0:
	case args[0] == "all":
		args = args[1:]
	default:
		def, err := p.systems.Find(args[0])
		switch {
		case err == nil:
			systems, args = []engine.Definition{*def}, args[1:]
		case len(args) > 1:
			return usageError{err}
		case !exists(args[0]):
			return usagef("%q is neither a system (%s), all, nor a run directory or model", args[0], strings.Join(p.systems.Names(), ", "))
		default:
			systems = nil
		}
	}
	if len(args) > 0 {
		path = args[0]
		if !exists(path) {
			return usagef("%s: no such run directory or model", path)
		}
	}
	if path == "" && (b.floor > 0 || len(b.max) > 0) {
		return usagef("--max and --max-floor need a trained model; name its run directory or file")
	}
	return p.runOnThreads(threads, func(ctx context.Context, workers *pool.Pool) error { return p.check(ctx, systems, path, b, workers) })
}

// check checks systems and, if path is not empty, a model.
func (p *program) check(ctx context.Context, systems []engine.Definition, path string, b bounds, workers *pool.Pool) error {
	r := &checkRecords{p: p, start: time.Now()}
	for _, def := range systems {
		if def.Verify == nil {
			continue
		}
		if err := def.Verify(ctx, workers, func(c engine.Check) { r.add(def.Name, c) }); err != nil {
			return fmt.Errorf("%s: %w", def.Name, err)
		}
	}
	if path != "" {
		if err := r.verifyModel(ctx, path, b, workers); err != nil {
			return err
		}
	}
	return r.end()
}

// checkRecords writes the outcomes of checks as they come, and counts them.
type checkRecords struct {
	p             *program
	start         time.Time
	count, failed int
	err           error // of the first write that failed
}

func (r *checkRecords) add(system string, c engine.Check) {
	r.count++
	if !c.OK {
		r.failed++
	}
	if r.err != nil {
		return
	}
	if r.p.json {
		c.System = system
		r.err = json.NewEncoder(r.p.stdout).Encode(c)
		return
	}
	outcome := "ok  "
	if !c.OK {
		outcome = "FAIL"
	}
	line := fmt.Sprintf("%s  %-8s %-40s %10.3g  bound %-10.3g %s", outcome, system, c.Name, c.Value, c.Bound, c.Detail)
	_, r.err = fmt.Fprintln(r.p.stdout, strings.TrimRight(line, " "))
}

func (r *checkRecords) end() error {
	r.p.say("%d checks, %d failed, %.1f s", r.count, r.failed, time.Since(r.start).Seconds())
	switch {
	case r.failed > 0:
		if r.err != nil && !errors.Is(r.err, errReaderGone) {
			r.p.report(r.err, exitCheck)
		}
		return errCheckFailed
	case r.err != nil:
		return r.err
	case r.count == 0:
		return fmt.Errorf("nothing was checked")
	}
	return nil
}

// verifyModel checks a trained model. A file that cannot be read is an error, and no failed check.
func (r *checkRecords) verifyModel(ctx context.Context, path string, b bounds, workers *pool.Pool) error {
	model, cfg, err := run.Read(r.p.systems, path)
	if err != nil {
		return err
	}
	add := func(c engine.Check) { r.add(model.System, c) }
	add(engine.Check{Name: "model.checksum", OK: true, Detail: "the file is whole"})
	bad := 0
	for _, x := range model.Params {
		if x-x != 0 {
			bad++
		}
	}
	add(engine.Check{Name: "model.finite", OK: bad == 0, Value: float64(bad), Detail: "number of parameters that are not finite"})

	system, err := cfg.New(workers)
	if err != nil {
		return err
	}
	defer engine.Release(system)
	missing := system.NumParams() - len(model.Params)
	add(engine.Check{Name: "model.parameters", OK: missing == 0, Value: float64(missing), Detail: "number of parameters that the configuration needs and the file lacks"})
	if checker, ok := system.(engine.SelfChecker); ok && missing == 0 && bad == 0 {
		samples := cfg.Shared().Evaluation.Samples
		if err := checker.VerifyModel(ctx, model.Params, samples, add); err != nil {
			return err
		}
	}
	evaluator, ok := system.(engine.Evaluator)
	summary, err := readSummary(path)
	bounded := b.floor > 0 || len(b.max) > 0
	switch {
	case err != nil || missing != 0 || bad != 0:
		return err
	case !ok && bounded:
		return usagef("--max, --max-floor: the system has no table of metrics")
	case !ok || summary == nil && !bounded:
		return nil
	}
	samples := cfg.Shared().Evaluation.Samples
	if summary != nil {
		samples = summary.Samples
	}
	second, err := evaluator.Evaluate(ctx, model.Params, samples)
	if err != nil {
		return err
	}
	if summary != nil {
		add(summaryCheck(summary, second))
	}
	detail := "number of modes, sectors or wells of the target that are missing from the samples"
	if len(second.Lost) > 0 {
		detail += ": " + strings.Join(second.Lost, "; ")
	}
	add(engine.Check{Name: "model.modes", OK: len(second.Lost) == 0, Value: float64(len(second.Lost)), Detail: detail})
	return b.check(second, add)
}

// bounds are upper bounds of the errors of a trained model.
type bounds struct {
	max   []string // METRIC=VALUE
	floor float64  // in units of the sampling floors; 0 for none

	metrics []string
	values  []float64
}

func (b *bounds) parse() error {
	if !(b.floor >= 0) {
		return usagef("--max-floor: %v is not a number of at least 0", b.floor)
	}
	for _, m := range b.max {
		name, text, ok := strings.Cut(m, "=")
		v, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(v >= 0) {
			return usagef("--max: %q is not METRIC=VALUE with a value of at least 0, such as total_variation=0.05", m)
		}
		b.metrics, b.values = append(b.metrics, name), append(b.values, v)
	}
	return nil
}

func (b *bounds) check(e *measure.Evaluation, emit func(engine.Check)) error {
	names := lists.Map(e.Metrics, func(m measure.Metric) string { return m.Name })
	for i, name := range b.metrics {
		row := slices.Index(names, name)
		if row < 0 {
			return usagef("--max: there is no metric %q; there are %s", name, strings.Join(names, ", "))
		}
		emit(engine.AtMost("max/"+name, e.Metrics[row].Error, b.values[i], "error of %d samples", e.Samples))
	}
	if b.floor == 0 {
		return nil
	}
	judged := 0
	for _, m := range e.Metrics {
		// A metric without a reference is not judged.
		if !math.IsNaN(m.Exact) && (m.Floor > 0 || math.IsNaN(m.Error)) {
			judged++
			emit(engine.AtMost("floor/"+m.Name, m.Floors(), b.floor, "error of %d samples, in sampling floors", e.Samples))
		}
	}
	if judged == 0 {
		emit(engine.Check{Name: "floor", Detail: "no metric has a sampling floor to compare with"})
	}
	return nil
}

// readSummary returns the evaluation in summary.json of a run directory, nil if path is no
// directory or has no such file.
func readSummary(path string) (*measure.Evaluation, error) {
	return readJSON[measure.Evaluation](path, "summary.json", maxSummary)
}

// summaryCheck checks that a second evaluation gives the numbers of the first. On another kernel
// path a few samples may differ, so that the bound is a tenth of the half width of the confidence
// interval.
func summaryCheck(first, second *measure.Evaluation) engine.Check {
	c := engine.Check{Name: "model.summary", OK: len(first.Metrics) == len(second.Metrics), Bound: 0.1,
		Detail: "largest change of a metric when measured again, in half widths of its confidence interval"}
	for i := range min(len(first.Metrics), len(second.Metrics)) {
		a, b := first.Metrics[i], second.Metrics[i]
		half := (a.Interval[1] - a.Interval[0]) / 2
		change := 0.0
		if a.Generated != b.Generated { // infinite ones have no difference
			change = math.Abs(a.Generated-b.Generated) / half
		}
		if a.Name != b.Name || math.IsNaN(change) {
			c.OK = false
		}
		c.Value = math.Max(c.Value, change)
	}
	c.OK = c.OK && c.Value <= c.Bound
	return c
}
