package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/version"
	"github.com/revgen/revgen/reproduce"
)

// reproduction is what the flags of reproduce ask for.
type reproduction struct {
	reproduce.Plan
	seed    count
	maxTime duration
	threads int
	tables  bool
}

func (p *program) reproduceCommand() *cobra.Command {
	r := reproduction{seed: 1}
	cmd := &cobra.Command{
		Use:   "reproduce",
		Short: "Repeat the paper's experiments and compare with its figures",
		Long: fmt.Sprintf(`Train the settings of the paper, measure them, and print its tables with what
it gives beside the errors and beside those of as many exact samples. Settings:
%s.

The output directory holds a run directory for each preset, setting and seed,
which the same command continues if it was interrupted; results.json and
results.md (of studies: studies.md), written after each setting; and figures. Outcomes of other presets
in the same directory are kept beside the new ones. With several seeds, tables
hold medians and the range of the error; where --only names no settings, the
lattices of 32 rows are trained for three seeds at most, and that of 64 for one.

With --study, train the variants of a study instead, five seeds of each if
--seeds does not say otherwise, and print one table of their errors, of how many
runs ended with a warning, and of the time. Studies:
%s, or all, which
are those before neighbours.

The study neighbours draws a target from each seed instead (lattices, mixtures,
wells, graphs, expressions), twenty if --seeds does not say otherwise, and trains
the best preset with nothing but the target set. Its table says how far the worst
figure of each is from the errors of exact samples, measured by the samples of the
recipe and by sixteen times as many in the same units, and what was said of it.

The study field runs by itself and takes --only: it trains the best preset for
targets of the literature, takes exact draws of what it gives, runs the targets'
own chains beside them, and says from how many independent draws on a generator
pays. Critical lattices of up to 16 sites a side have two variational autoregressive
networks in PyTorch beside them, dense and convolutional, each trained for as long
and for half a minute, the dense one of 8×8 for ten minutes too. Seeds of a target
add up in results.json, in which chains and networks are measured once: where five
seeds take too long at once, --seeds 1 --seed 11, then 12 and so on give the row of
five.`, strings.Join(reproduce.Names(), ", "), strings.Join(reproduce.StudyNames(), ", ")),
		Example: `  revgen reproduce                           # the paper: its four settings and its method
  revgen reproduce --preset quick
  revgen reproduce --preset paper,best --seeds 5 -o results --max-time 01:50:00
  revgen reproduce --only ising-0.2,ising-0.5 --json
  revgen reproduce --study ablations-ising --seeds 5 -o results
  revgen reproduce --study neighbours --seed 101 -o results
  revgen reproduce --study field --only ising-l16-0.4407,ea-8x8-1 --seed 11 -o field
  revgen reproduce --study field --only ising-l64-0.4407 --seeds 1 --seed 12 -o field
  revgen reproduce --study protocol --only ising-l16-0.4407 --seed 11 -o protocol
  revgen reproduce -o results --tables       # the documents again, from results.json`,
		Args: usageArgs(cobra.NoArgs),
	}
	flags := cmd.Flags()
	cmd.RunE = func(*cobra.Command, []string) error {
		if len(r.Studies) > 0 {
			if flags.Changed("only") && !reproduce.OfTargets(r.Studies) || flags.Changed("preset") {
				return usagef("--study: a study has its own settings and preset; leave out --only and --preset")
			}
			if !flags.Changed("seeds") {
				r.Seeds = 5
				if slices.Equal(r.Studies, []string{reproduce.NeighboursStudy}) {
					r.Seeds = 20
				}
			}
		}
		return p.reproduce(&r)
	}
	presets := p.presets()
	flags.StringSliceVarP(&r.Presets, "preset", "p", []string{"paper"}, "presets, separated by commas: "+strings.Join(presets, ", "))
	flags.StringSliceVar(&r.Only, "only", nil, "settings, separated by commas (default all)")
	flags.StringSliceVar(&r.Studies, "study", nil, "studies, separated by commas, or all, instead of settings")
	flags.StringVarP(&r.Dir, "output", "o", filepath.Join("runs", "reproduce"), "output `directory`")
	flags.StringArrayVarP(&r.Assignments, "set", "s", nil, "set a value of every configuration, `key.path=value`; may be repeated")
	flags.Var(&r.seed, "seed", "the first seed")
	flags.IntVar(&r.Seeds, "seeds", 1, "how many seeds, of which the tables hold medians (studies: 5)")
	flags.Var(&r.maxTime, "max-time", "stop with a checkpoint after this long: 90m, 01:30:00 or 1-12:00:00")
	flags.BoolVar(&r.tables, "tables", false, "train nothing: print the tables of the directory's results.json and write its documents again")
	addThreads(cmd, &r.threads)
	p.complete(cmd, "only", func([]string) []string { return reproduce.Names() })
	p.complete(cmd, "study", func([]string) []string { return append(reproduce.StudyNames(), "all") })
	p.complete(cmd, "preset", func([]string) []string { return presets })
	return cmd
}

// presets lists those that a system has, the default first.
func (p *program) presets() (all []string) {
	for _, d := range p.systems {
		for _, name := range d.Presets {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

func (p *program) reproduce(r *reproduction) error {
	if err := disk.Unlinked(r.Dir, "results.json", "results.md", "studies.md"); err != nil {
		return usagef("-o: %w", err)
	}
	if r.tables {
		return p.retabulate(r.Dir)
	}
	r.Seed, r.Program = uint64(r.seed), version.Read().String()
	if err := r.Check(p.systems); err != nil {
		return usageError{err}
	}
	return p.resumable(r.maxTime, func(ctx context.Context) error { return p.execute(ctx, r) })
}

// execute carries a reproduction out.
func (p *program) execute(ctx context.Context, r *reproduction) error {
	workers, err := p.newPool(r.threads)
	if err != nil {
		return err
	}
	defer workers.Close()
	var m *meter
	results, err := r.Execute(ctx, p.systems, workers, reproduce.Observer{
		Begin: func(run reproduce.Run) {
			what := run.Setting.Title + ", " + run.Preset + " preset"
			if run.Study != "" {
				what = run.Study + ", " + run.Setting.Title
			}
			p.say("run %d of %d: %s, seed %d: %s", run.Index+1, run.Count, what, run.Seed, run.Dir)
			m = p.newMeter(int64(run.Steps), "steps")
		},
		Progress: func(now run.Progress) {
			m.training(now)
		},
		End:     func(reproduce.Run) { m.end() },
		Warning: func(text string) { p.say("warning: %s", text) },
		Outcome: func(o *reproduce.Outcome) error {
			if p.json {
				return nil
			}
			return p.writeOutcome(o)
		},
		Study: func(o *reproduce.StudyOutcome) error {
			if p.json {
				return nil
			}
			return p.writeStudy(o)
		},
		Neighbours: func(all reproduce.Neighbours) error {
			if p.json {
				return nil
			}
			return p.writeNeighbours(all)
		},
		Field: func(row *reproduce.FieldRow) error {
			if p.json {
				return nil
			}
			return p.writeField([]reproduce.FieldRow{*row})
		},
		Protocol: func(row *reproduce.ProtocolRow) error {
			if p.json {
				return nil
			}
			return p.writeProtocol([]reproduce.ProtocolRow{*row})
		},
	})
	if err != nil {
		return err
	}
	return p.concludeReproduction(results, r.Dir)
}

// retabulate writes the documents and the tables again.
func (p *program) retabulate(dir string) error {
	results, err := reproduce.Tabulate(dir, func(text string) { p.say("warning: %s", text) })
	if err != nil {
		return err
	}
	if results.Empty() {
		return usagef("--tables: %s holds no results", dir)
	}
	if !p.json {
		for i := range results.Outcomes {
			if err := p.writeOutcome(&results.Outcomes[i]); err != nil {
				return err
			}
		}
		for i := range results.Studies {
			if err := p.writeStudy(&results.Studies[i]); err != nil {
				return err
			}
		}
		if len(results.Neighbours) > 0 {
			if err := p.writeNeighbours(results.Neighbours); err != nil {
				return err
			}
		}
		if err := p.writeField(results.Field); err != nil {
			return err
		}
		if err := p.writeProtocol(results.Protocol); err != nil {
			return err
		}
	}
	return p.concludeReproduction(results, dir)
}

// writeOutcome prints one setting's table.
func (p *program) writeOutcome(o *reproduce.Outcome) error {
	if _, err := fmt.Fprintf(p.stdout, "%s\n%s\n\n", o.Title, o.Summary()); err != nil {
		return err
	}
	if err := o.Table().WriteText(p.stdout); err != nil {
		return err
	}
	for _, line := range o.Others() {
		if _, err := fmt.Fprintln(p.stdout, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(p.stdout)
	for _, warning := range o.Warnings {
		p.say("warning: %s", warning)
	}
	return err
}

// writeStudy prints one study's table.
func (p *program) writeStudy(o *reproduce.StudyOutcome) error {
	if _, err := fmt.Fprintf(p.stdout, "%s\n%s\n\n", o.Title, o.Summary()); err != nil {
		return err
	}
	if err := o.Table().WriteText(p.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.stdout)
	return err
}

// writeNeighbours prints the table of targets that were drawn.
func (p *program) writeNeighbours(all reproduce.Neighbours) error {
	if _, err := fmt.Fprintf(p.stdout, "%s\n\n", reproduce.NeighboursTitle); err != nil {
		return err
	}
	if err := all.Table().WriteText(p.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "\n%s\n", all.Summary())
	return err
}

// writeField prints rows of the study of the field's targets.
func (p *program) writeField(rows []reproduce.FieldRow) error {
	if len(rows) == 0 {
		return nil
	}
	return reproduce.FieldTable(rows).WriteText(p.stdout)
}

// writeProtocol prints rows of the study of the literature's distances.
func (p *program) writeProtocol(rows []reproduce.ProtocolRow) error {
	if len(rows) == 0 {
		return nil
	}
	return reproduce.ProtocolTable(rows).WriteText(p.stdout)
}

func (p *program) concludeReproduction(results *reproduce.Results, dir string) error {
	if p.json {
		return json.NewEncoder(p.stdout).Encode(results)
	}
	if slices.ContainsFunc(results.Outcomes, func(o reproduce.Outcome) bool { return o.AtFloor() }) {
		p.say("%s", reproduce.Legend)
	}
	for _, path := range results.Documents(dir) {
		p.say("results: %s", path)
	}
	return nil
}
