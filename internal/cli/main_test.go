package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// The tests run the program as a process: the test binary itself, which then
// has two systems more than the program and can be told to send itself a
// signal in the middle of a step.
const (
	envProgram = "REVGEN_TEST_PROGRAM" // set: be the program
	envSignal  = "REVGEN_TEST_SIGNAL"  // number of the signal that the process sends itself …
	envAtStep  = "REVGEN_TEST_AT_STEP" // … at this step, or while evaluating if it is 0
	envAgain   = "REVGEN_TEST_AGAIN"   // once more so much later, at the same step
	envFill    = "REVGEN_TEST_FILL"    // file with which to fill the disk before
	envStuck   = "REVGEN_TEST_STUCK"   // set: then the step does not end
	envHeeds   = "REVGEN_TEST_HEEDS"   // file to make when signals are heeded
	envSample  = "REVGEN_TEST_SAMPLE"  // number of a sample that cannot be drawn, or
	envKill    = "REVGEN_TEST_KILL"    // set: that ends the process
	envLook    = "REVGEN_TEST_LOOK"    // how long a lookout's recipe looks, and
	envPlace   = "REVGEN_TEST_PLACE"   // how long placing its generator takes
	envServe   = "REVGEN_TEST_SERVE"   // set: be a target that is a program, −|x|²/2
)

// systems are the program's.
var systems = root.Systems()

func TestMain(m *testing.M) {
	if os.Getenv(envServe) != "" {
		serve()
		return
	}
	if os.Getenv(envProgram) == "" {
		code := m.Run()
		if shared.dir != "" {
			_ = os.RemoveAll(shared.dir)
		}
		os.Exit(code)
	}
	systems = append(systems, toyDefinition)
	if os.Getenv(envLook) != "" {
		systems = append(systems, lookoutDefinition)
	}
	if path := os.Getenv(envHeeds); path != "" {
		onSignalsCaught = func() {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				panic(err)
			}
		}
	}
	if os.Getenv(envSignal) != "" {
		preset := systems[0].Preset
		systems[0].Preset = func(name string) (engine.Config, error) {
			cfg, err := preset(name)
			if err != nil {
				return nil, err
			}
			return &signalledConfig{*cfg.(*ising.Config)}, nil
		}
	}
	os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr, systems...))
}

// outcome is what a finished process leaves.
type outcome struct {
	code           int
	stdout, stderr string
}

// command returns the program as a process that has not started.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), envProgram+"=1")
	return cmd
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// revgen runs a command line in dir: in this process, since to start another takes longer
// than most commands do.
func revgen(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	if dir != "" {
		here, err := os.Getwd()
		require.NoError(t, err)
		require.NoError(t, os.Chdir(dir))
		defer func() { require.NoError(t, os.Chdir(here)) }()
	}
	path, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(path)) }()
	var stdout, stderr bytes.Buffer
	code := Run(args, &stdout, &stderr, append(slices.Clone(systems), toyDefinition)...)
	return outcome{code, stdout.String(), stderr.String()}
}

// feed does with something on stdin.
func feed(t *testing.T, dir, stdin string, args ...string) outcome {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	before := os.Stdin
	os.Stdin = r
	var written sync.WaitGroup
	written.Go(func() {
		_, _ = io.WriteString(w, stdin) // as much as is read
		_ = w.Close()
	})
	defer func() { os.Stdin = before; _ = r.Close(); written.Wait() }()
	return revgen(t, dir, args...)
}

// ok runs the program in dir and requires success.
func ok(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	o := revgen(t, dir, args...)
	require.Equal(t, exitOK, o.code, "%v: %s", args, o.stderr)
	return o
}

// tiny returns the arguments of a training run that takes a fraction of a
// second: 60 steps with checkpoints after 20 and 40, and no diagnosis.
func tiny(dir string, more ...string) []string {
	return append([]string{"train", "-o", dir, "--preset", "paper", "--set", "training.steps=60", "--set", "training.batch=64",
		"--set", "generator.hidden=16", "--set", "generator.latent=4", "--set", "evaluation.samples=2000",
		"--set", "training.checkpoint_every=20", "--set", "training.log_every=5", "--figures", "none", "--diagnose", "none"}, more...)
}

var shared struct {
	sync.Once
	dir string
}

// trained returns a run directory: a copy of one that is trained once.
func trained(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	shared.Do(func() {
		var err error
		shared.dir, err = os.MkdirTemp("", "revgen-cli-test")
		require.NoError(t, err)
		ok(t, "", tiny(filepath.Join(shared.dir, "run"))...)
	})
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(shared.dir, "run"))))
	return dir
}

// signalledConfig is ising's, with a system that sends signals. Its JSON form
// is the same.
type signalledConfig struct{ ising.Config }

func (c *signalledConfig) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.Config.New(workers)
	if err != nil {
		return nil, err
	}
	number, _ := strconv.Atoi(os.Getenv(envSignal))
	step, _ := strconv.Atoi(os.Getenv(envAtStep))
	return &signalled{s, syscall.Signal(number), uint32(step)}, nil
}

type signalled struct {
	engine.System
	signal syscall.Signal
	step   uint32
}

// send sends the signal and waits until the program has taken notice, as
// SIGKILL never does.
func (s *signalled) send() {
	if path := os.Getenv(envFill); path != "" {
		if err := fillDisk(path); err != nil {
			panic(err)
		}
	}
	seen := make(chan struct{})
	onStop = sync.OnceFunc(func() { close(seen) })
	_ = syscall.Kill(os.Getpid(), s.signal)
	<-seen
	if again, err := time.ParseDuration(os.Getenv(envAgain)); err == nil {
		time.Sleep(again)
		_ = syscall.Kill(os.Getpid(), s.signal)
		time.Sleep(100 * time.Millisecond) // more than it takes, where it is heeded
	}
	if os.Getenv(envStuck) != "" {
		time.Sleep(time.Minute)
	}
}

func (s *signalled) Loss(params []float32, step uint32) (float64, error) {
	if step == s.step {
		s.send()
	}
	return s.System.Loss(params, step)
}

func (s *signalled) State() []engine.Section {
	if state, ok := s.System.(engine.Stateful); ok {
		return state.State()
	}
	return nil
}

func (s *signalled) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	if s.step == 0 {
		s.send()
	}
	return s.System.(engine.Evaluator).Evaluate(ctx, params, samples)
}

func (s *signalled) Formats() []engine.Format { return s.System.(engine.Sampler).Formats() }

func (s *signalled) Reach(first, n uint64, refine int) error {
	return s.System.(engine.Sampler).Reach(first, n, refine)
}

func (s *signalled) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if at, err := strconv.ParseUint(os.Getenv(envSample), 10, 64); err == nil && first <= at && at < first+uint64(n) {
		if os.Getenv(envKill) != "" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return fmt.Errorf("sample %d cannot be drawn", at)
	}
	return s.System.(engine.Sampler).Sample(dst, format, params, first, n, refine)
}

var _ engine.Sampler = (*signalled)(nil)

// toy is a system that cannot be sampled, whose loss is as its configuration
// says and whose verification fails.
type toyConfig struct {
	engine.Common
	NonFiniteAt int  `json:"non_finite_at"`
	Fails       bool `json:"fails"`
}

var toyDefinition = engine.Definition{
	Name: "toy", Presets: []string{"only"},
	Preset: func(name string) (engine.Config, error) {
		if name != "only" {
			return nil, errors.New("preset: " + strconv.Quote(name) + " is not only")
		}
		base, err := ising.Preset("paper")
		if err != nil {
			return nil, err
		}
		c := &toyConfig{Common: base.Common}
		c.System, c.Preset, c.Training.Steps = "toy", "only", 10
		return c, nil
	},
	Verify: func(_ context.Context, _ *pool.Pool, emit func(engine.Check)) error {
		if os.Getenv("REVGEN_TEST_VERIFY_ERROR") != "" {
			return errors.New("out of states")
		}
		if os.Getenv("REVGEN_TEST_VERIFY_PANIC") != "" {
			workers := pool.New(2)
			workers.Run(100, func(piece int) { make([]int, piece)[50]++ })
		}
		emit(engine.Check{Name: "sums", OK: true, Value: 1e-16, Bound: 1e-15})
		emit(engine.Check{Name: "balance", OK: false, Value: math.NaN(), Bound: 1e-15, Detail: "state 3"})
		emit(engine.Check{Name: "limit", OK: true, Value: 1, Bound: math.Inf(1)})
		return nil
	},
}

func (c *toyConfig) New(*pool.Pool) (engine.System, error) { return &toy{c}, nil }

type toy struct{ config *toyConfig }

func (*toy) NumParams() int              { return 4 }
func (*toy) Initialize(params []float32) { clear(params) }
func (s *toy) Loss(_ []float32, step uint32) (float64, error) {
	if int(step) == s.config.NonFiniteAt {
		return math.NaN(), nil
	}
	return 1, nil
}
func (*toy) Backward(_, grad []float32) { clear(grad) }
func (*toy) Acceptance() float64        { return 0.5 }

// serve is a target that is a program: it answers −|x|²/2.
func serve() {
	head := make([]byte, 20) // the greeting, which is returned
	if _, err := io.ReadFull(os.Stdin, head); err != nil {
		return
	}
	dim := int(binary.LittleEndian.Uint32(head[8:]))
	for {
		if _, err := os.Stdout.Write(head); err != nil {
			return
		}
		count := make([]byte, 4)
		if _, err := io.ReadFull(os.Stdin, count); err != nil {
			return
		}
		states := make([]float64, int(binary.LittleEndian.Uint32(count))*dim)
		if err := binary.Read(os.Stdin, binary.LittleEndian, states); err != nil {
			return
		}
		head = count
		for ; len(states) > 0; states = states[dim:] {
			sum := 0.0
			for _, x := range states[:dim] {
				sum -= x * x / 2
			}
			head = binary.LittleEndian.AppendUint64(head, math.Float64bits(sum))
		}
	}
}
