package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench"
)

// benchmark is what the flags of bench ask for.
type benchmark struct {
	format      string
	paths       []string
	threads     []int
	sizes       []string
	repetitions int
	time        time.Duration
	peers       bool
	baseline    string
}

func suiteNames() []string {
	var names []string
	for _, s := range bench.Suites() {
		names = append(names, s.Name)
	}
	return names
}

func (p *program) benchCommand() *cobra.Command {
	var b benchmark
	var about strings.Builder
	for _, s := range bench.Suites() {
		fmt.Fprintf(&about, "  %-10s %s; sizes %s\n", s.Name, s.Summary, s.Size)
	}
	cmd := &cobra.Command{
		Use:   "bench [" + strings.Join(suiteNames(), "|") + "]…",
		Short: "Measure throughput beside the machine's limits and other programs",
		Long: `Measure throughput. Every row gives the time of each repetition, the floor (the
time that the counted operations would take at the machine's measured peak rates)
and how much of it is reached, and the time of other programs that compute the
same: they are compiled or started on first use, checked to agree, and timed in
turn with our own code. One that is not installed is reported as missing.

Suites:
` + about.String() + `
A baseline is a former output of -o json. Its verdicts, faster, slower or
inconclusive, follow from 95 % confidence intervals of the ratio of times.`,
		Example: `  revgen bench
  revgen bench gemm --isa avx512,avx2 --threads 1,2 --sizes 2048x64x64,2048x256x256
  revgen bench -o json > before.json; revgen bench --baseline before.json
  revgen bench rng math -o go | benchstat -col /program -`,
		Args:      usageArgs(cobra.OnlyValidArgs),
		ValidArgs: suiteNames(),
		RunE:      func(_ *cobra.Command, args []string) error { return p.bench(&b, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&b.format, "output", "o", "md", "format: "+strings.Join(bench.Formats, ", "))
	flags.StringSliceVar(&b.paths, "isa", nil, "kernel paths, separated by commas (default the best one)")
	flags.IntSliceVarP(&b.threads, "threads", "t", nil, "numbers of threads (default 1 and all)")
	flags.StringSliceVar(&b.sizes, "sizes", nil, "sizes of one suite")
	flags.IntVar(&b.repetitions, "repetitions", 10, "repetitions of every measurement")
	flags.DurationVar(&b.time, "time", 200*time.Millisecond, "time of a repetition")
	flags.BoolVar(&b.peers, "peers", true, "compare with other programs")
	flags.StringVar(&b.baseline, "baseline", "", "compare with a former output of -o json")
	complete(cmd, "output", func([]string) []string { return bench.Formats })
	return cmd
}

func (p *program) bench(b *benchmark, suites []string) error {
	if p.json {
		b.format = "json"
	}
	if err := bench.CheckFormat(b.format); err != nil {
		return usageError{err}
	}
	o := bench.Options{
		Suites: suites, Sizes: b.sizes, Threads: b.threads, Repetitions: b.repetitions, Time: b.time,
		Peers: b.peers, Systems: systems, Log: p.say,
	}
	if len(b.threads) == 0 {
		o.Threads = []int{1}
		if n := defaultThreads(); n > 1 {
			o.Threads = append(o.Threads, n)
		}
	}
	for _, name := range b.paths {
		path, err := asm.ParsePath(name)
		if err != nil {
			return usagef("--isa: %s", strings.TrimPrefix(err.Error(), "asm: "))
		}
		o.Paths = append(o.Paths, path)
	}
	var former *bench.Report
	if b.baseline != "" {
		file, err := os.Open(b.baseline)
		if err != nil {
			return usagef("--baseline: %w", err)
		}
		former, err = bench.ReadJSON(file)
		file.Close()
		if err != nil {
			return usagef("--baseline: %s: %w", b.baseline, err)
		}
	}
	ctx, release := p.stoppable()
	defer release()
	report, err := bench.Run(ctx, o)
	var option *bench.OptionError
	switch {
	case errors.As(err, &option):
		return usageError{err}
	case report == nil || len(report.Rows) == 0 && err != nil:
		return interrupted(ctx, err)
	}
	// What was measured before an error or an interruption is still written.
	if former != nil {
		report.Compare(former)
	}
	if werr := report.Write(p.stdout, b.format); werr != nil {
		return werr
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	return nil
}
