package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// A lookout is a toy whose recipe looks at its target, and whose generator is placed there:
// each takes as long as it is told, and says in a file that it was begun.
type lookoutConfig struct {
	toyConfig
	Target struct {
		Height int `json:"height"`
	} `json:"target"`
	Kind string `json:"kind" enum:"none,seen"`
	Seen int    `json:"seen" when:"kind=seen"`
}

var lookoutDefinition = engine.Definition{
	Name: "lookout", Presets: []string{"only"},
	Preset: func(name string) (engine.Config, error) {
		base, err := toyDefinition.Preset(name)
		if err != nil {
			return nil, err
		}
		c := &lookoutConfig{toyConfig: *base.(*toyConfig), Kind: "none", Seen: -1}
		c.System, c.Target.Height = "lookout", 3
		return c, nil
	},
}

// takes is what takes as long as a variable says.
func takes(ctx context.Context, what, variable string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := os.OpenFile("begun", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintln(file, what)
	if err := file.Close(); err != nil {
		return err
	}
	d, _ := time.ParseDuration(os.Getenv(variable))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (c *lookoutConfig) Adapt(ctx context.Context) (string, error) {
	if err := takes(ctx, "look", envLook); err != nil {
		return "", err
	}
	c.Kind, c.Seen = "seen", 2*c.Target.Height
	return "it is high", nil
}

func (c *lookoutConfig) Validate() error {
	if c.Seen == 13 {
		return fmt.Errorf("seen: 13 is not lucky")
	}
	return nil
}

func (c *lookoutConfig) New(*pool.Pool) (engine.System, error) {
	return &lookout{toy{&c.toyConfig}, c.Seen}, nil
}

type lookout struct {
	toy
	seen int
}

func (s *lookout) Initialize(params []float32) { _ = s.InitializeContext(context.Background(), params) }

func (s *lookout) InitializeContext(ctx context.Context, params []float32) error {
	if err := takes(ctx, "place", envPlace); err != nil {
		return err
	}
	for i := range params {
		params[i] = float32(s.seen + i)
	}
	return nil
}

// looking is a training of a lookout, which looks and places for so long.
func looking(t *testing.T, dir, look, place string, more ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, dir, append([]string{"train", "lookout", "-q", "--figures", "none"}, more...)...)
	cmd.Env = append(cmd.Env, envLook+"="+look, envPlace+"="+place)
	return cmd
}

// has is ready when a file holds a text.
func has(text string, path ...string) func() bool {
	return func() bool {
		data, err := os.ReadFile(filepath.Join(path...))
		return err == nil && strings.Contains(string(data), text)
	}
}

// A run is there before its target has been looked at, stops then too, and goes on with what
// it had found.
func TestSetUpIsPartOfARun(t *testing.T) {
	whole := t.TempDir()
	o := finish(t, looking(t, whole, "0", "0", "-o", "run"))
	require.Zero(t, o.code, o.stderr)

	dir := t.TempDir()
	o, took := interrupt(t, looking(t, dir, "1m", "0", "-o", "run"), has("look", dir, "begun"))
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Equal(t, "revgen: SIGTERM: stopped before the first step; the same command continues from run\n", o.stderr)
	require.Less(t, took, 30*time.Second)
	require.Contains(t, content(t, dir, "run", "status.json"), `"state": "stopped"`)
	require.Contains(t, content(t, dir, "run", "config.json"), `"height": 3`)
	require.NoFileExists(t, filepath.Join(dir, "run", "lock"))
	require.Equal(t, exitError, finish(t, looking(t, dir, "0", "0", "-o", "run", "--resume", "never")).code)

	killed := looking(t, dir, "1m", "0", "-o", "run")
	require.NoError(t, killed.Start())
	waitFor(t, has("look\nlook\n", dir, "begun"))
	require.Contains(t, content(t, dir, "run", "status.json"), `"state": "setting up"`)
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()

	o, _ = interrupt(t, looking(t, dir, "0", "1m", "-o", "run", "--resume", "must"), has("place", dir, "begun"))
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Contains(t, content(t, dir, "run", "config.json"), `"seen": 6`)
	require.Contains(t, content(t, dir, "run", "status.json"), `"state": "stopped"`)

	o = finish(t, looking(t, dir, "1m", "1m", "-o", "run", "--max-time", "5s"))
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Contains(t, o.stderr, "--max-time 5s: stopped before the first step")
	require.Equal(t, "look\nlook\nlook\nplace\nplace\n", content(t, dir, "begun"), "the target is looked at no more")

	o = finish(t, looking(t, dir, "1m", "0", "-o", "run"))
	require.Zero(t, o.code, o.stderr)
	require.Equal(t, "look\nlook\nlook\nplace\nplace\nplace\n", content(t, dir, "begun"))
	for _, name := range []string{"model.rvg", "config.json", "recipe.json"} {
		require.Equal(t, content(t, whole, "run", name), content(t, dir, "run", name), name)
	}
	// Another target, or none that can be used.
	o, _ = interrupt(t, looking(t, dir, "1m", "0", "-o", "other"), has("look", dir, "other", "config.json"))
	require.Equal(t, exitStopped, o.code, o.stderr)
	o = finish(t, looking(t, dir, "0", "0", "-o", "other", "-s", "target.height=4"))
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, content(t, dir, "other", "config.json"), `"seen": 8`)
	o = finish(t, looking(t, dir, "0", "0", "-o", "bad", "-s", "seen=13"))
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, `--set "seen=13": seen: 13 is not lucky`)
	require.NoDirExists(t, filepath.Join(dir, "bad"))
}

// A run that was placed, and killed before its first step was kept, goes on from there.
func TestPlacedGeneratorsAreKept(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-o", "run", "-s", "training.steps=2000"}
	cmd := looking(t, dir, "0", "1s", args...)
	require.NoError(t, cmd.Start())
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "run", "checkpoint.rvg"))
		return err == nil
	})
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	o := finish(t, looking(t, dir, "1m", "1m", args...))
	require.Zero(t, o.code, o.stderr)
	require.Equal(t, "look\nplace\n", content(t, dir, "begun"))
}

// In a batch likewise.
func TestSetUpInABatch(t *testing.T) {
	dir := t.TempDir()
	list(t, dir, `{"train":"lookout","id":"a"}`)
	run := func(look string) *exec.Cmd {
		cmd := command(t, dir, "run", "jobs.ndjson", "-q")
		cmd.Env = append(cmd.Env, envLook+"="+look)
		return cmd
	}
	o, _ := interrupt(t, run("1m"), has("look", dir, "begun"))
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Empty(t, content(t, dir, "runs", "jobs", "journal.ndjson"), "the job has not failed")
	require.Contains(t, content(t, dir, "runs", "jobs", "a", "status.json"), `"state": "stopped"`)
	o = finish(t, run("0"))
	require.Zero(t, o.code, o.stderr)
	require.FileExists(t, filepath.Join(dir, "runs", "jobs", "a", "model.rvg"))
}

// A configuration is shown without a look at the target, unless one is asked for.
func TestConfigShowDoesNotLook(t *testing.T) {
	dir := t.TempDir()
	show := func(more ...string) outcome {
		cmd := command(t, dir, append([]string{"config", "show", "lookout"}, more...)...)
		cmd.Env = append(cmd.Env, envLook+"=10ms")
		return finish(t, cmd)
	}
	o := show()
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, o.stdout, `"kind": "none"`)
	require.Contains(t, o.stderr, "has not looked at this target")
	require.NoFileExists(t, filepath.Join(dir, "begun"))
	o = show("--look")
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, o.stdout, `"seen": 6`)
	require.Equal(t, "look\n", content(t, dir, "begun"))

	start := time.Now()
	o = ok(t, dir, "config", "show", "reals", "-s", "target.dim=512", "-s", "target.expression=-sum(x*shift(x,[512],[1]))-sum(x^2+0.1*x^4)")
	require.Contains(t, o.stderr, "has not looked at this target")
	require.Less(t, time.Since(start), 20*time.Second, "not minutes")
}

// Whenever a signal comes, a command leaves its result, or something that it goes on from to
// the same. Commands that have tests of their own of moments that matter are long.
func TestSignalsAtAnyMoment(t *testing.T) {
	times := long.Times(1, 10) // of each command
	run := trained(t)
	random := long.Rand()
	states := filepath.Join(t.TempDir(), "states.npy")
	ok(t, "", "sample", run, "-n", "30000", "-o", states, "-q")
	for _, c := range []struct {
		name, result string
		long         bool
		args         []string
	}{
		{"train", "out/model.rvg", true, tiny("out")},
		{"look", "out/model.rvg", true, []string{"train", "reals", "-o", "out", "-s", "training.steps=20", "-s", "evaluation.samples=2000", "--figures", "none"}},
		{"sample", "out.npy", true, []string{"sample", run, "-n", "3e5", "-o", "out.npy"}},
		{"run", "out/a/model.rvg", true, []string{"run", "jobs.ndjson", "-o", "out"}},
		{"diagnose", "", false, []string{"diagnose", run, "-n", "256"}},
		{"verify", "", true, []string{"verify", run}},
		{"mcmc", "out.npy", false, []string{"mcmc", run, "--chains", "64", "--draws", "500", "-o", "out.npy"}},
		{"score", "out.npy", false, []string{"score", run, states, "-o", "out.npy"}},
		{"reproduce", "out/paper/ising-0.2/seed1/model.rvg", true, smallReproduction("out")},
		{"bench", "", true, []string{"bench", "gemm", "--sizes", "16x16x16", "-t", "1", "--time", "5ms"}},
		{"report", "out.html", false, []string{"report", run, "-o", "out.html"}},
		{"config", "", false, []string{"config", "show", "reals", "--look", "-s", "target.dim=8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long {
				long.Only(t)
			}
			prepare := func() string {
				dir := t.TempDir()
				list(t, dir, `{"train":"ising","id":"a",`+quickJob+`}`, `{"sample":"out/a","number":1000}`)
				return dir
			}
			whole := prepare()
			begun := time.Now()
			require.Equal(t, exitOK, finish(t, command(t, whole, c.args...)).code)
			length := min(2*time.Second, time.Since(begun))
			for range times {
				dir := prepare()
				moment := time.Duration(random.Int64N(int64(length)))
				o, _ := send(t, command(t, dir, c.args...), []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1}[random.IntN(2)], after(moment))
				require.Contains(t, []int{exitOK, exitStopped}, o.code, "after %v: %s", moment, o.stderr)
				if o.code == exitStopped {
					ok(t, dir, c.args...)
				}
				if c.result != "" {
					require.Equal(t, content(t, whole, c.result), content(t, dir, c.result))
				}
			}
		})
	}
}
