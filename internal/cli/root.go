// Package cli is the command line of RevGen for any systems, those of package cmd's
// callers too.
//
// The suites of bench and the settings of reproduce are those of the systems that
// come with RevGen, and these two verbs are there where those are.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/mpi"
	"github.com/revgen/revgen/internal/version"
)

// Exit codes.
const (
	exitOK      = 0
	exitError   = 1
	exitUsage   = 2             // arguments or configuration that cannot be used
	exitCheck   = 3             // a check of verify failed
	exitDefect  = 70            // a defect of the program itself; EX_SOFTWARE
	exitStopped = batch.Stopped // 75: stopped early, and resumable from what is on the disk; EX_TEMPFAIL
)

// A usageError is a mistake in the arguments or the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errCheckFailed ends a verification that was run to its end.
var errCheckFailed = errors.New("check failed")

// program is what every command has: where it writes and what the flags that
// all commands share ask for.
type program struct {
	systems        catalogue.Systems
	stdout, stderr io.Writer
	isa            string
	json           bool
	quiet          bool
	args           []string // of the command line
	started        bool     // a command's own work has begun, so errors are not of usage
	output         pendingOutput
	asked          time.Time // when it or its job was
	setup          float64   // seconds from then to the first step of a training

	ctx context.Context // ends when the program is to stop, or the batch that it is a job of
	stopSignals

	// For a job of a batch:
	batched bool         // its command is that of one
	warned  func(string) // hears its warnings

	world  mpi.World // nil for a process that stands alone
	joined func()    // ends the wait for the other ranks
}

// Run executes one command line for the given systems, the default first, and
// returns its exit code.
func Run(args []string, stdout, stderr io.Writer, systems ...engine.Definition) int {
	for _, check := range []func() error{checkLimits, mpi.Prepare} { // the second may begin the program anew
		if err := check(); err != nil {
			fmt.Fprintf(stderr, "revgen: %v\n", err)
			return exitError
		}
	}
	p := &program{systems: systems, stdout: data{stdout}, stderr: talk{stderr}, args: args, asked: time.Now()}
	defer p.catchSignals()()
	// Without this a write to a closed stdout or stderr would end the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan int, 1)
	go func() { done <- p.carryOut(args) }() // MPI hears from this goroutine alone
	return p.awaitCommand(done)
}

// carryOut carries a command out, says what is to be said of its end, and returns its exit
// code.
func (p *program) carryOut(args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := attempt(root.Execute)
	p.noDeadline.Store(true) // the work has ended, and only its message is left to write
	if p.isRank.Load() {
		signal.Stop(p.signals) // so that a signal ends a rank that waits for the others
	}
	code := p.exitCode(err)
	if err != nil && code != exitCheck && code != exitPipe && !p.saidElsewhere(err, code) && !p.saidBefore(err) {
		p.report(err, code)
	}
	p.leave(err, code)
	return code
}

// Command returns the program's command line for the given systems, for manual pages
// and completions that are made of it.
func Command(systems ...engine.Definition) *cobra.Command {
	root := (&program{systems: systems, stdout: io.Discard, stderr: io.Discard}).root()
	root.InitDefaultCompletionCmd()
	return root
}

// attempt calls f and returns its panic as an error, because the exit code that Go gives to a
// panic is that of wrong usage.
func attempt(f func() error) error {
	err := crash.Catch(f)
	if p, ok := errors.AsType[*crash.Panic](err); ok {
		return fmt.Errorf("a defect of revgen: %w; please report it with the command that led to it", p)
	}
	return err
}

func (p *program) exitCode(err error) int {
	if _, ok := err.(resumableStop); ok { // and nothing else beside it
		return exitStopped
	}
	var c discardedWork
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		return exitError // whatever file it was
	case errors.As(err, &c):
		if c.truncated {
			return exitError
		}
		return exitStopped
	case err == nil:
		return exitOK
	case errors.As(err, new(*crash.Panic)):
		return exitDefect
	case errors.Is(err, errCheckFailed):
		return exitCheck
	case errors.Is(err, errReaderGone):
		return exitPipe
	case !p.started, errors.As(err, new(usageError)), errors.As(err, new(*conf.Error)), errors.As(err, new(*run.MismatchError)), errors.As(err, new(*engine.MethodError)):
		return exitUsage
	}
	return exitError
}

// report writes an error as one line, or with --json as one object.
func (p *program) report(err error, code int) {
	message := oneLine(err)
	for _, arg := range p.args {
		_, value, _ := strings.Cut(arg, "=")
		for _, text := range []string{arg, value} {
			if short := curtail(text); short != text {
				quoted := strconv.Quote(text)
				message = strings.NewReplacer(text, short, quoted[1:len(quoted)-1], short).Replace(message)
			}
		}
	}
	if p.json {
		line, _ := json.Marshal(struct {
			Error string `json:"error"`
			Exit  int    `json:"exit"`
		}{message, code})
		fmt.Fprintf(p.stderr, "%s\n", line)
		return
	}
	fmt.Fprintf(p.stderr, "revgen: %s\n", message)
}

// oneLine is an error's text as one line, without the middle of words that nobody reads.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' })
	return endless.ReplaceAllStringFunc(strings.Join(lines, "; "), curtail)
}

var endless = regexp.MustCompile(`\S{300,}`)

// curtail leaves out the middle of a text that is too long for a message.
func curtail(text string) string {
	const most, head, tail = 200, 80, 40 // characters
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d characters) …%s", string(r[:head]), len(r), string(r[len(r)-tail:]))
}

// say writes a remark for people, unless --quiet.
func (p *program) say(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(p.stderr, format+"\n", args...)
	}
}

// warn tells of something that the user should know of.
func (p *program) warn(text string) {
	if p.warned != nil {
		p.warned(text)
	}
	p.say("warning: %s", text)
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "revgen",
		Short: "Generators of independent samples, trained by reversibility",
		Long: `RevGen trains a generator to sample a distribution π that is known up to a constant,
and draws independent samples of it. It needs no data and no gradients of π.

One principle trains it: in equilibrium the law of (s, s′), where s′ comes from s by
reversible moves, is the law of (s′, s). The principle has two forms.

  pairs of samples   for any generator: the loss is the maximum mean discrepancy between
                     the two laws (--preset paper, the paper's method)
  log densities      for a generator that knows its density q: the loss is
                     ½ E (R(s) − R(s′))² with R = ln q − ln π (--preset quick and best)

  revgen train                 train the quick Ising preset and print its table
  revgen reproduce             repeat the paper's four experiments by its method
  revgen sample DIR -n 1e6 -o samples.npy
  revgen verify ising          check the mathematics by exhaustive computation

Results go to stdout, messages to stderr.

Exit codes: 0 success, 1 error, 2 wrong usage or configuration, 3 a check failed,
70 a defect of the program, 75 stopped early (the same command continues),
141 the reader of stdout has gone.

Environment: REVGEN_ISA=generic|avx2|avx512 selects a kernel path, as --isa does;
REVGEN_RANK_WAIT=2m sets how long an MPI rank waits for the others to start.`,
		Version:       version.Read().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "; see revgen help"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "; did you mean " + near[0] + "?"
			}
			return usagef("unknown command %q%s", args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if p.isa != "" {
				path, err := asm.ParsePath(p.isa)
				if err == nil {
					err = asm.Use(path)
				}
				if err != nil {
					return usagef("--isa: %s", strings.TrimPrefix(err.Error(), "asm: "))
				}
			} else if _, _, err := asm.Active(); err != nil && cmd.Name() != "info" {
				return usageError{err}
			}
			p.started = true
			return nil
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("revgen {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVar(&p.isa, "isa", "", "kernel path: generic, avx2 or avx512 (default the best that the CPU supports)")
	flags.BoolVar(&p.json, "json", false, "write machine-readable JSON")
	flags.BoolVarP(&p.quiet, "quiet", "q", false, "print no progress and no messages")
	p.complete(root, "isa", func([]string) []string { return lists.Map(asm.Supported(), asm.Path.String) })
	root.AddCommand(p.trainCommand(), p.sampleCommand(), p.diagnoseCommand(), p.mcmcCommand(), p.scoreCommand(), p.verifyCommand(), p.infoCommand(), p.versionCommand(), p.configCommand(), p.runCommand(), p.reportCommand())
	if p.paper() {
		root.AddCommand(p.reproduceCommand(), p.benchCommand())
	}
	return root
}

// flagError says what of a command's flags or arguments is wrong, and where they are described.
func flagError(cmd *cobra.Command, err error) error {
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

// complete offers words for the value of a flag, given the arguments. The library keeps
// them until the process ends, so that commands of jobs, which no shell completes, go
// without.
func (p *program) complete(cmd *cobra.Command, flag string, words func(args []string) []string) {
	if p.batched {
		return
	}
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return words(args), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // no such flag
	}
}

// paper reports whether the paper's systems are among the program's, which bench
// and reproduce are about.
func (p *program) paper() bool {
	names := p.systems.Names()
	return slices.Contains(names, "ising") && slices.Contains(names, "gmm") && slices.Contains(names, "hybrid")
}
