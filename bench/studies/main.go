// Command studies compares what trained generators give beyond the paper's experiments:
// variants of recipes, targets drawn from seeds, and targets of the literature beside chains
// and other people's generators. make studies runs all of it, which takes hours, and writes
// runs/studies/studies.md, from which docs/studies.md is drawn; make bin/studies builds the program.
//
//	bin/studies -seed 11 -seeds 3 all
//	bin/studies -seed 401 neighbours
//	bin/studies -seed 1 verdicts
//	bin/studies -seed 11 -only ising-l16-0.4407,ea-8x8-1 field
//	bin/studies -o DIR tables                 the document and the tables again
//
// The output directory holds a run directory for each variant or target and seed, which the
// same command continues if it was interrupted, studies.json and studies.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/version"
)

// Exit codes are those of revgen.
const (
	exitError   = 1
	exitUsage   = 2
	exitStopped = 75
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := command(ctx, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "studies:", err)
	switch {
	case errors.Is(err, run.ErrStopped):
		os.Exit(exitStopped)
	case errors.As(err, new(*usageError)):
		os.Exit(exitUsage)
	}
	os.Exit(exitError)
}

// A usageError says what of the command line is wrong.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func command(ctx context.Context, args []string) error {
	p := Plan{Program: version.Read().String()}
	flags := flag.NewFlagSet("studies", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: studies [flags] STUDY... | all | tables\n\nStudies: %s.\nAll are those before neighbours; field and protocol run by themselves.\n\n", strings.Join(StudyNames(), ", "))
		flags.PrintDefaults()
	}
	flags.StringVar(&p.Dir, "o", "runs/studies", "output `directory`")
	only := flags.String("only", "", "`targets` of field, protocol or verdicts, or kinds of neighbours, separated by commas (default all); of verdicts such as box-2 or '*-[23]'")
	flags.DurationVar(&p.Limit, "limit", 0, "of verdicts, go on to the next target after so `long` (default never)")
	flags.Uint64Var(&p.Seed, "seed", 1, "the first seed")
	flags.IntVar(&p.Seeds, "seeds", 0, "how many seeds, of which tables hold medians (default 5; neighbours: 20)")
	flags.Func("s", "set a value of every configuration, `key.path=value`; may be repeated", func(text string) error {
		p.Assignments = append(p.Assignments, text)
		return nil
	})
	threads := flags.Int("threads", 0, "threads (default as many as processors)")
	asJSON := flags.Bool("json", false, "print the results as JSON, not tables")
	if err := flags.Parse(args); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			err = &usageError{err}
		}
		return err
	}
	watch := observer()
	p.Studies = flags.Args()
	if slices.Equal(p.Studies, []string{"tables"}) {
		return Tabulate(p.Dir, watch, *asJSON)
	}
	if len(p.Studies) == 0 {
		return &usageError{errors.New("no study; -h lists them")}
	}
	if *only != "" {
		p.Only = strings.Split(*only, ",")
	}
	if p.Seeds == 0 {
		p.Seeds = 5
		if slices.Equal(p.Studies, []string{NeighboursStudy}) {
			p.Seeds = 20
		}
	}
	if err := p.Check(revgen.Systems()); err != nil {
		return &usageError{err}
	}
	workers := pool.New(*threads)
	defer workers.Close()
	if *asJSON {
		watch.Done = nil
	}
	results, err := p.Execute(ctx, revgen.Systems(), workers, watch)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "results:", Document(p.Dir))
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(results)
	}
	return nil
}

// observer prints tables, and on stderr what runs.
func observer() Observer {
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	return Observer{
		Observer: reproduce.Observer{
			Begin: func(run reproduce.Run) {
				say("run %d of %d: %s, %s, seed %d: %s", run.Index+1, run.Count, run.Study, run.Setting.Title, run.Seed, run.Dir)
			},
			Warning: func(text string) { say("warning: %s", text) },
		},
		Done: func(part *Results) error { return part.WriteText(os.Stdout) },
	}
}
