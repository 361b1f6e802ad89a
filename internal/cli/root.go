// Package cli is the command line of RevGen for any list of systems, to which callers of package
// cmd add their own.
//
// bench measures the systems that come with RevGen, and reproduce trains them. These two verbs
// exist only where those systems are in the list.
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
	exitCheck   = 3             // a check failed: of verify, --strict, --fail-on or --refine auto
	exitDefect  = 70            // a defect of the program itself; EX_SOFTWARE
	exitStopped = batch.Stopped // 75: stopped early, and the same command continues; EX_TEMPFAIL
)

// A usageError is a mistake in the arguments or the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errCheckFailed is the error of a command that worked and whose check failed.
var errCheckFailed = errors.New("check failed")

// A program is one run of the command line, or one job of a batch: where it writes, and the flags
// that all commands share.
type program struct {
	systems        catalogue.Systems
	stdout, stderr io.Writer
	isa            string // --isa
	json           bool
	quiet          bool
	args           []string // the command line
	parsed         bool     // the command line is accepted, so that later errors are not of usage
	output         pendingOutput
	startTime      time.Time // of the process, or of the job
	setupSeconds   float64   // from startTime to the first step of a training

	ctx context.Context // ends when the program stops, or the batch of the job
	stopSignals

	inBatch   bool         // the program is a job of a batch
	onWarning func(string) // takes the warnings of a job

	world         mpi.World // nil for a process that stands alone
	stopRankTimer func()    // stops the timer that ends a rank whose peers never start
}

// Run executes one command line for the given systems, the default first, and
// returns its exit code.
func Run(args []string, stdout, stderr io.Writer, systems ...engine.Definition) int {
	for _, check := range []func() error{checkLimits, mpi.Prepare} { // mpi.Prepare may start the program anew
		if err := check(); err != nil {
			fmt.Fprintf(stderr, "revgen: %v\n", err)
			return exitError
		}
	}
	p := &program{systems: systems, stdout: stdoutWriter{stdout}, stderr: stderrWriter{stderr}, args: args, startTime: time.Now()}
	defer p.catchSignals()()
	// Without this, a write to a closed stdout or stderr would end the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan int, 1)
	go func() { done <- p.execute(args) }() // the only goroutine that calls MPI
	return p.awaitCommand(done)
}

// execute runs a command, reports its error, and returns its exit code.
func (p *program) execute(args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := catchPanic(root.Execute)
	p.noDeadline.Store(true) // the work has ended, and only its message is left to write
	if p.isRank.Load() {
		signal.Stop(p.signals) // so that a signal ends a rank that waits for the others
	}
	code := p.exitCode(err)
	if err != nil && code != exitCheck && code != exitPipe && !p.otherRankReports(err, code) && !p.rankZeroReported(err) {
		p.report(err, code)
	}
	p.leaveRanks(err, code)
	return code
}

// Command returns the program's command line for the given systems, of which manual pages and
// completions are made.
func Command(systems ...engine.Definition) *cobra.Command {
	root := (&program{systems: systems, stdout: io.Discard, stderr: io.Discard}).root()
	root.InitDefaultCompletionCmd()
	return root
}

// catchPanic calls f and returns its panic as an error. Go would end the process with 2, the exit
// code of wrong usage.
func catchPanic(f func() error) error {
	err := crash.Catch(f)
	if p, ok := errors.AsType[*crash.Panic](err); ok {
		return fmt.Errorf("a defect of revgen: %w; please report it with the command that led to it", p)
	}
	return err
}

func (p *program) exitCode(err error) int {
	if _, ok := err.(resumableStop); ok { // joined with another error, it is a failure
		return exitStopped
	}
	var c discardedWork
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		return exitError // a limit of the machine, though the file may be an argument
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
	case !p.parsed, errors.As(err, new(usageError)), errors.As(err, new(*conf.Error)), errors.As(err, new(*run.MismatchError)), errors.As(err, new(*engine.MethodError)):
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
			if short := elide(text); short != text {
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

// oneLine returns an error's text as one line, in which very long words are elided.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' })
	return longWord.ReplaceAllStringFunc(strings.Join(lines, "; "), elide)
}

var longWord = regexp.MustCompile(`\S{300,}`)

// elide leaves out the middle of a text that is too long for a message.
func elide(text string) string {
	const maxLength, head, tail = 200, 80, 40 // characters
	r := []rune(text)
	if len(r) <= maxLength {
		return text
	}
	return fmt.Sprintf("%s… (%d characters) …%s", string(r[:head]), len(r), string(r[len(r)-tail:]))
}

// say writes a remark to stderr, unless --quiet.
func (p *program) say(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(p.stderr, format+"\n", args...)
	}
}

// warn reports a warning to onWarning, and says it.
func (p *program) warn(text string) {
	if p.onWarning != nil {
		p.onWarning(text)
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
			p.parsed = true
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
	if p.hasPaperSystems() {
		root.AddCommand(p.reproduceCommand(), p.benchCommand())
	}
	return root
}

// flagError is the usage error of a mistake in flags or arguments. It names the command's --help.
func flagError(cmd *cobra.Command, err error) error {
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

// complete offers words, which depend on the arguments, as values of a flag. cobra keeps such a
// function until the process ends, so the commands of jobs, which no shell completes, set none.
func (p *program) complete(cmd *cobra.Command, flag string, words func(args []string) []string) {
	if p.inBatch {
		return
	}
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return words(args), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag does not exist
	}
}

// hasPaperSystems reports whether the program has the paper's systems, which bench and reproduce
// need.
func (p *program) hasPaperSystems() bool {
	names := p.systems.Names()
	return slices.Contains(names, "ising") && slices.Contains(names, "gmm") && slices.Contains(names, "hybrid")
}
