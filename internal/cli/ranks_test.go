package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
)

// ranksRun runs a command line on ranks that are goroutines, and returns how each ended and
// what rank 0 said. Paths are absolute.
func ranksRun(t *testing.T, size int, args func(rank int) []string) (ended []string, stdout, stderr string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	var out, talk bytes.Buffer
	ended = onRanks(size, func(p *program) error {
		p.systems, p.stdout, p.stderr = systems, io.Discard, io.Discard
		if p.world.Rank() == 0 {
			p.stdout, p.stderr = &out, &talk
		} else {
			p.quiet = true
		}
		defer p.catchSignals()()
		root := p.root()
		root.SetArgs(args(p.world.Rank()))
		root.SetOut(p.stdout)
		root.SetErr(p.stderr)
		err := root.Execute()
		p.quiet = false
		return err
	})
	return ended, out.String(), talk.String()
}

// TestRanksDoWhatOneProcessDoes: files of a training, of samples and of chains have the bytes
// of one process.
func TestRanksDoWhatOneProcessDoes(t *testing.T) {
	one, dir := trained(t), t.TempDir()
	run := filepath.Join(dir, "run")
	same := func(args ...string) func(int) []string { return func(int) []string { return args } }
	said, stdout, stderr := ranksRun(t, 2, same(tiny(run)...))
	require.Equal(t, []string{"", ""}, said)
	require.Contains(t, stdout, "total variation")
	require.Contains(t, stderr, "steps 60/60")
	for _, name := range []string{"model.rvg", "samples.npy", "config.json"} {
		require.Equal(t, content(t, one, name), content(t, run, name), name)
	}
	for _, name := range []string{"lock", "checkpoint.rvg.tmp"} {
		require.NoFileExists(t, filepath.Join(run, name))
	}

	for name, more := range map[string][]string{"plain": nil, "first": {"--first", "500"}, "refined": {"--refine", "3"}, "bits": {"--format", "bits"}, "odd": {"--seed", "12"}} {
		alone, shared := filepath.Join(dir, name+"1.npy"), filepath.Join(dir, name+"3.npy")
		args := append([]string{"sample", run, "-n", "1001"}, more...)
		ok(t, "", append(args, "-o", alone)...)
		said, _, stderr = ranksRun(t, 3, same(append(args, "-o", shared)...))
		require.Equal(t, []string{"", "", ""}, said)
		require.Equal(t, content(t, alone), content(t, shared), name)
		require.Contains(t, stderr, "1001 samples")
		what := func(path string) string {
			text, _, _ := strings.Cut(content(t, recordPath(path)), `"program"`)
			return strings.ReplaceAll(text, filepath.Base(path), "")
		}
		require.Equal(t, what(alone), what(shared))
	}
	walk := func(name string) []string {
		return []string{"mcmc", "ising", "--chains", "6", "--draws", "20", "--seed", "4", "-o", filepath.Join(dir, name+"-draws.npy"), "--states", filepath.Join(dir, name+"-states.npy")}
	}
	alone := ok(t, "", walk("one")...)
	said, stdout, _ = ranksRun(t, 2, same(walk("two")...))
	require.Equal(t, []string{"", ""}, said)
	require.Equal(t, strings.Count(alone.stdout, "\n"), strings.Count(stdout, "\n"))
	for _, kind := range []string{"-draws.npy", "-states.npy"} {
		require.Equal(t, content(t, dir, "one"+kind), content(t, dir, "two"+kind))
	}

	// A recipe's look is taken once, for all.
	look := filepath.Join(dir, "look")
	args := []string{"train", "reals", "-o", look, "-s", "target.dim=2", "-s", "target.expression=-sum(x^2)", "-s", "training.steps=5", "-s", "training.batch=64", "-s", "evaluation.samples=500", "--figures", "none", "--diagnose", "none"}
	said, _, stderr = ranksRun(t, 2, same(args...))
	require.Equal(t, []string{"", ""}, said)
	require.Contains(t, stderr, "taking a first look at the target")
	require.FileExists(t, filepath.Join(look, "model.rvg"))
	args[3] = filepath.Join(dir, "look1")
	ok(t, "", args...)
	require.Equal(t, content(t, dir, "look1", "model.rvg"), content(t, look, "model.rvg"))
}

// TestRanksRefuseTogether: what one rank is asked otherwise, or cannot do, ends all.
func TestRanksRefuseTogether(t *testing.T) {
	run, dir := trained(t), t.TempDir()
	elsewhere := engine.ErrElsewhere.Error()
	out := filepath.Join(dir, "x.npy")
	differ := func(base []string, flag, first, second string) func(int) []string {
		return func(rank int) []string {
			return append(append([]string{}, base...), flag, []string{first, second}[rank])
		}
	}
	for want, args := range map[string]func(int) []string{
		"rank 1 has seed 4, rank 0 3":               differ([]string{"sample", run, "-n", "10", "-o", out}, "--seed", "3", "4"),
		"rank 1 has number 11, rank 0 10":           differ([]string{"sample", run, "-o", out}, "-n", "10", "11"),
		`rank 1 has format "bits", rank 0 ""`:       differ([]string{"sample", run, "-n", "10", "-o", out}, "-f", "", "bits"),
		`rank 1 has refine "2", rank 0 "0"`:         differ([]string{"sample", run, "-n", "10", "-o", out}, "--refine", "0", "2"),
		"rank 1 has flags.Chains 8, rank 0 4":       differ([]string{"mcmc", "ising", "--draws", "10"}, "--chains", "4", "8"),
		"rank 1 has training.steps 61, rank 0 60":   differ(tiny(filepath.Join(dir, "run")), "-s", "training.steps=60", "training.steps=61"),
		`rank 1 has states "b.npy", rank 0 "a.npy"`: differ([]string{"mcmc", "ising", "--draws", "10"}, "--states", "a.npy", "b.npy"),
		`rank 1 has command train, rank 0 sample`: func(rank int) []string {
			return [][]string{{"sample", run, "-n", "10", "-o", out}, tiny(filepath.Join(dir, "run"))}[rank]
		},
	} {
		said, _, _ := ranksRun(t, 2, args)
		require.Equal(t, []string{"ranks were started differently: " + want, "ranks were started differently: " + want}, said)
	}
	// Rank 0 cannot make the file, or the directory is another run's.
	none := filepath.Join(dir, "none", "x.npy")
	said, _, _ := ranksRun(t, 2, func(int) []string { return []string{"sample", run, "-n", "10", "-o", none} })
	require.Contains(t, said[0], "no such file or directory")
	require.Equal(t, elsewhere, said[1])
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)

	// What one rank alone does not say.
	p := &program{}
	require.False(t, p.rankZeroReported(context.Canceled))
}
