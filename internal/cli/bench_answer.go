package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/answer"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/figure/draw"
	"github.com/revgen/revgen/internal/version"
)

func (p *program) benchAnswerCommand() *cobra.Command {
	o, format, from, figures := answer.Options{Seconds: 5, Seed: 11, Peers: true}, "md", "", ""
	cmd := &cobra.Command{
		Use:   "answer",
		Short: "Measure the time from a target to averages, training included, against other samplers",
		Long: fmt.Sprintf(`Measure the time from a target to averages over it, training included. RevGen trains
with the presets best and quick and draws weighted samples. The other samplers run with expert
settings: the cluster algorithms of Wolff and of Swendsen and Wang, and replica exchange,
in C; Stan's NUTS; emcee. Each uses one thread, one after another; times are processor
times.

The table gives the time until the slowest average has an error of 1 %% (of its value
or, for vectors, of its standard deviation), the independent samples/s from then on, and
the number of samples after which training has paid off. Averages are compared with
exact ones or, if there are none, with those of the other samplers. A sampler that is
not installed is reported as missing, with the command that installs it.

Targets: %s.`, strings.Join(answer.Names(), ", ")),
		Example: `  revgen bench answer
  revgen bench answer --only ising-16,glass-8 -o json > answer.json
  revgen bench answer --from answer.json --figure figures`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.json {
				format = "json"
			}
			if !(o.Seconds > 0) {
				return usagef("--seconds: %g is not a positive time", o.Seconds)
			}
			for _, name := range o.Only {
				if !slices.Contains(answer.Names(), name) {
					return usagef("--only: unknown target %q; the targets are %s", name, strings.Join(answer.Names(), ", "))
				}
			}
			o.Log = p.say
			return p.runInterruptible(func(ctx context.Context) (err error) {
				r := &answer.Report{Schema: 1, CPU: asm.CPUName(), Version: version.Read().String(), Seed: o.Seed}
				if from != "" {
					data, err := os.ReadFile(from)
					if err == nil {
						err = r.Read(data)
					}
					if err != nil {
						return fmt.Errorf("--from: %s: not a report of bench answer -o json: %w", from, err)
					}
					r.Answers = slices.DeleteFunc(r.Answers, func(a answer.Answer) bool {
						return len(o.Only) > 0 && !slices.Contains(o.Only, a.Problem)
					})
				} else if r.Answers, err = answer.Run(ctx, o); len(r.Answers) == 0 {
					return err
				}
				if figures != "" {
					if err := draw.Write(figures, []figure.Figure{r.Figure()}, draw.Vector, draw.Raster); err != nil {
						return err
					}
				}
				if werr := r.Write(p.stdout, format); err == nil {
					err = werr
				}
				return err
			})
		},
	}
	flags := cmd.Flags()
	p.addChoice(cmd, &format, "output", "o", "format: "+strings.Join(answer.Formats, ", "), answer.Formats...)
	flags.StringSliceVar(&o.Only, "only", nil, "targets, separated by commas (default all)")
	flags.Float64Var(&o.Seconds, "seconds", o.Seconds, "processor time, in seconds, that each sampler may use for drawing")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "seed of all samplers")
	flags.BoolVar(&o.Peers, "peers", true, "compare with other samplers")
	flags.StringVar(&figures, "figure", "", "directory for a figure of error against time, answer.svg and answer.png")
	flags.StringVar(&from, "from", "", "measure nothing: convert an earlier output of -o json to another format")
	p.complete(cmd, "only", func([]string) []string { return answer.Names() })
	return cmd
}
