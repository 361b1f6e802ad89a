package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/version"
)

// reproduceOptions are the flags of reproduce.
type reproduceOptions struct {
	reproduce.Plan
	seed    count
	maxTime duration
	threads int
}

func (p *program) reproduceCommand() *cobra.Command {
	r := reproduceOptions{seed: 1}
	cmd := &cobra.Command{
		Use:   "reproduce",
		Short: "Repeat the paper's experiments and compare with its figures",
		Long: fmt.Sprintf(`Train the settings of the paper, measure them, and print tables of the errors, of the
paper's errors and of those of as many exact samples. Settings:
%s.

The output directory holds a run directory for each preset, setting and seed, the
figures, and results.json and results.md, which are written after each setting. The
same command continues an interrupted run. Results of other presets in the same
directory are kept. With several seeds, tables give medians and the range of the
error. Without --only, lattices of 32 rows are trained for at most three seeds, and
that of 64 rows for one.`, strings.Join(reproduce.Names(), ", ")),
		Example: `  revgen reproduce                           # the paper: its four settings and its method
  revgen reproduce --preset quick
  revgen reproduce --preset paper,best --seeds 5 -o results --max-time 01:50:00
  revgen reproduce --only ising-0.2,ising-0.5 --json`,
		Args: usageArgs(cobra.NoArgs),
	}
	flags := cmd.Flags()
	cmd.RunE = func(*cobra.Command, []string) error { return p.reproduce(&r) }
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedName() == "study" {
			err = errors.New("studies are a program of their own: in a clone of the repository, make bin/studies and bin/studies NAME")
		}
		return flagError(cmd, err)
	})
	presets := p.presets()
	flags.StringSliceVarP(&r.Presets, "preset", "p", []string{"paper"}, "presets, separated by commas: "+strings.Join(presets, ", "))
	flags.StringSliceVar(&r.Only, "only", nil, "settings, separated by commas (default all)")
	flags.StringVarP(&r.Dir, "output", "o", filepath.Join("runs", "reproduce"), "output `directory`")
	flags.StringArrayVarP(&r.Assignments, "set", "s", nil, "set a value of every configuration, `key.path=value`; may be repeated")
	flags.Var(&r.seed, "seed", "the first seed")
	flags.IntVar(&r.Seeds, "seeds", 1, "number of seeds; the tables give medians over them")
	flags.Var(&r.maxTime, "max-time", "stop with a checkpoint after this long: 90m, 01:30:00 or 1-12:00:00")
	addThreads(cmd, &r.threads)
	p.complete(cmd, "only", func([]string) []string { return reproduce.Names() })
	p.complete(cmd, "preset", func([]string) []string { return presets })
	return cmd
}

// presets lists the presets that any system has, the default first.
func (p *program) presets() (names []string) {
	for _, d := range p.systems {
		for _, name := range d.Presets {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (p *program) reproduce(r *reproduceOptions) error {
	if err := disk.CheckLinks(r.Dir, "results.json", "results.md"); err != nil {
		return usagef("-o: %w", err)
	}
	r.Seed, r.Program = uint64(r.seed), version.Read().String()
	if err := r.Check(p.systems); err != nil {
		return usageError{err}
	}
	return p.runResumable(r.maxTime, 0, func(ctx context.Context) error { return p.reproduceAll(ctx, r) })
}

func (p *program) reproduceAll(ctx context.Context, r *reproduceOptions) error {
	workers, err := p.newPool(r.threads)
	if err != nil {
		return err
	}
	defer workers.Close()
	var m *meter
	results, err := r.Execute(ctx, p.systems, workers, reproduce.Observer{
		Begin: func(run reproduce.Run) {
			p.say("run %d of %d: %s, %s preset, seed %d: %s", run.Index+1, run.Count, run.Setting.Title, run.Preset, run.Seed, run.Dir)
			m = p.newMeter(int64(run.Steps), "steps")
		},
		Progress: func(now run.Progress) { m.updateTraining(now) },
		End:      func(reproduce.Run) { m.end() },
		Warning:  p.warn,
		Outcome: func(o *reproduce.Outcome) error {
			if p.json {
				return nil
			}
			return p.writeOutcome(o)
		},
	})
	if err != nil {
		return err
	}
	return p.printReproduction(results, r.Dir)
}

func (p *program) writeOutcome(o *reproduce.Outcome) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n\n", o.Title, o.Summary())
	_ = o.Table().WriteText(&b) // a buffer returns no error
	for _, line := range o.Others() {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintln(&b)
	_, err := b.WriteTo(p.stdout)
	for _, warning := range o.Warnings {
		p.warn(warning)
	}
	return err
}

func (p *program) printReproduction(results *reproduce.Results, dir string) error {
	if p.json {
		return json.NewEncoder(p.stdout).Encode(results)
	}
	if slices.ContainsFunc(results.Outcomes, func(o reproduce.Outcome) bool { return o.AtFloor() }) {
		p.say("%s", reproduce.Legend)
	}
	p.say("results: %s", reproduce.Document(dir))
	return nil
}
