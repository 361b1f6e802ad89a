package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench"
	"github.com/revgen/revgen/internal/disk"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	bench.Options
	paths                          []string
	format, baseline, from, failOn string
}

func (p *program) benchCommand() *cobra.Command {
	b := benchOptions{format: "md"}
	var about strings.Builder
	for _, s := range bench.Suites() {
		fmt.Fprintf(&about, "  %-10s %s; sizes %s\n", s.Name, s.Summary, s.Size)
	}
	cmd := &cobra.Command{
		Use:   "bench [" + strings.Join(bench.Names(), "|") + "]…",
		Short: "Measure throughput, compared with the machine's limits and other programs",
		Long: `Measure throughput. Every row gives the time of a repetition, the time floor (the time
that the counted operations would take at the machine's measured peak rates), the ratio
of the two, and the time of other programs for the same computation. Those programs are
compiled or started on first use, checked to give the same results, and timed in turn
with RevGen. A program that is not installed is reported as missing.

Suites:
` + about.String() + `
A baseline is an earlier output of -o json. Each row is then faster, slower or
inconclusive, by the 95 % confidence interval of the ratio of times, with an allowance
for the machine's own variation; on a busy machine all rows are inconclusive. With
--fail-on slower the exit code is 3 if any row is slower.`,
		Example: `  revgen bench
  revgen bench gemm --isa avx512,avx2 --threads 1,2 --sizes 2048x64x64,2048x256x256
  revgen bench -o json > before.json; revgen bench --baseline before.json
  revgen bench --from before.json -o csv
  revgen bench rng math -o go | benchstat -col /program -`,
		Args:      usageArgs(cobra.OnlyValidArgs),
		ValidArgs: bench.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, measuring := range []string{"isa", "threads", "sizes", "repetitions", "time", "peers"} {
				if b.from != "" && cmd.Flags().Changed(measuring) {
					return usagef("--from measures nothing: it goes without --%s", measuring)
				}
			}
			return p.bench(&b, args)
		},
	}
	cmd.AddCommand(p.benchAnswerCommand())
	flags := cmd.Flags()
	p.addChoice(cmd, &b.format, "output", "o", "format: "+strings.Join(bench.Formats, ", "), bench.Formats...)
	flags.StringSliceVar(&b.paths, "isa", nil, "kernel paths, separated by commas (default the best one)")
	flags.IntSliceVarP(&b.Threads, "threads", "t", nil, "numbers of threads (default 1 and all)")
	flags.StringSliceVar(&b.Sizes, "sizes", nil, "sizes of one suite")
	flags.IntVar(&b.Repetitions, "repetitions", bench.DefaultRepetitions, "repetitions of every measurement")
	flags.DurationVar(&b.Time, "time", bench.DefaultTime, "time of a repetition")
	flags.BoolVar(&b.Peers, "peers", true, "compare with other programs")
	flags.StringVar(&b.baseline, "baseline", "", "compare with an earlier output of -o json")
	flags.StringVar(&b.from, "from", "", "measure nothing: convert an earlier output of -o json to another format")
	p.addChoice(cmd, &b.failOn, "fail-on", "", "exit with 3 if a row has this verdict against the baseline: slower", bench.Slower)
	return cmd
}

func (p *program) bench(b *benchOptions, suites []string) error {
	if p.json {
		b.format = "json"
	}
	if b.failOn != "" && b.baseline == "" {
		return usagef("--fail-on needs a --baseline to be slower than")
	}
	former, err := readReport("--baseline", b.baseline)
	if err != nil {
		return err
	}
	if b.from != "" {
		if len(suites) > 0 {
			return usagef("--from measures nothing: name no suite")
		}
		report, err := readReport("--from", b.from)
		if err != nil {
			return err
		}
		return p.writeReport(report, former, b)
	}
	b.Suites, b.Systems, b.Log = suites, p.systems, p.say
	for _, name := range b.paths {
		path, err := asm.ParsePath(name)
		if err != nil {
			return usagef("--isa: %s", strings.TrimPrefix(err.Error(), "asm: "))
		}
		b.Paths = append(b.Paths, path)
	}
	return p.runInterruptible(func(ctx context.Context) error {
		report, err := bench.Run(ctx, b.Options)
		switch {
		case errors.As(err, new(*bench.OptionError)):
			return usageError{err}
		case report == nil || len(report.Rows) == 0 && err != nil:
			return err
		}
		// What was measured before an error or an interruption is still written.
		werr := p.writeReport(report, former, b)
		if err != nil && errors.Is(werr, errCheckFailed) {
			return err // the measurement did not run to its end
		}
		return errors.Join(err, werr)
	})
}

// writeReport writes a report, compared with a former one if there is one. With --fail-on it fails
// if a row is slower.
func (p *program) writeReport(report, former *bench.Report, b *benchOptions) error {
	if former != nil {
		report.Compare(former)
	}
	if err := report.Write(p.stdout, b.format); err != nil {
		return err
	}
	if slower := report.Slower(); b.failOn != "" && len(slower) > 0 {
		p.say("slower than %s: %s", b.baseline, strings.Join(slower, ", "))
		return errCheckFailed
	}
	return nil
}

// readReport reads the report at path, which is the value of a flag, nil if path is empty.
func readReport(flag, path string) (*bench.Report, error) {
	if path == "" {
		return nil, nil
	}
	text, err := disk.Read(path, maxReport)
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	report, err := bench.ReadJSON(bytes.NewReader(text))
	if err != nil {
		return nil, usagef("%s: %s: %w", flag, path, err)
	}
	return report, nil
}
