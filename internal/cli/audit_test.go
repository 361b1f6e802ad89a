package cli

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
)

// here carries a command out in this process, which takes less time than one of its own. Paths
// are absolute.
func here(args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := Run(args, &stdout, &stderr, systems...)
	return outcome{code, stdout.String(), stderr.String()}
}

// sound is an end that says what is wrong, if anything.
func sound(t *testing.T, o outcome, what string, codes ...int) {
	t.Helper()
	require.Contains(t, codes, o.code, "%s: %s", what, o.stderr)
	require.NotContains(t, o.stderr, "defect", what)
	require.NotContains(t, o.stderr, "goroutine ", what)
	require.Less(t, len(o.stderr), 4000, what)
	if o.code != exitOK {
		require.NotEmpty(t, o.stderr, what)
	}
}

// damaged returns a file as a disk, an editor or a copy that was cut may leave it.
func damaged(data []byte, r *rand.Rand) []byte {
	data = bytes.Clone(data)
	lo := r.IntN(len(data))
	hi := lo + 1 + r.IntN(len(data)-lo)
	switch r.IntN(6) {
	case 0:
		data[lo] ^= 1 << r.IntN(8)
	case 1:
		data = data[:lo]
	case 2:
		clear(data[lo:hi])
	case 3:
		for i := range data[lo:hi] {
			data[lo+i] = byte(r.Uint32())
		}
	case 4:
		data = slices.Concat(data[:hi], data[lo:])
	case 5:
		data = slices.Delete(data, lo, hi)
	}
	return data
}

// TestRandomDamage: whatever happens to a file of a run, a command says which it is, or does
// not need it and has the bits that it would have had.
func TestRandomDamage(t *testing.T) {
	r, run, dir := long.Rand(), trained(t), t.TempDir()
	good := map[string][]byte{}
	for _, name := range []string{"model.rvg", "checkpoint.rvg", "config.json", "status.json", "summary.json", "metrics.jsonl", "samples.npy", "samples.npy.json"} {
		good[name] = []byte(content(t, run, name))
	}
	out := filepath.Join(dir, "out.npy")
	sample := []string{"sample", run, "-n", "100", "-o", out, "-q"}
	require.Zero(t, here(sample...).code)
	want := content(t, out)
	names := slices.Sorted(maps.Keys(good))
	noticed := 0
	for range long.Or(40, 3000) {
		name := names[r.IntN(len(names))]
		path := filepath.Join(run, name)
		require.NoError(t, os.WriteFile(path, damaged(good[name], r), 0o600))
		require.NoError(t, os.RemoveAll(out))
		args := [][]string{sample, tiny(run, "-q"), {"report", run, "-o", filepath.Join(dir, "report.html")}, {"score", run, filepath.Join(run, "samples.npy"), "-o", out}}[r.IntN(4)]
		o := here(args...)
		what := fmt.Sprintf("%s with a damaged %s", args[0], name)
		sound(t, o, what, exitOK, exitError, exitUsage)
		if o.code != exitOK {
			noticed++
			require.Contains(t, o.stderr, name, what)
		} else if args[0] == "sample" {
			require.Equal(t, want, content(t, out), what)
		} else if args[0] == "train" {
			require.Equal(t, string(good["model.rvg"]), content(t, run, "model.rvg"), what)
		}
		for name, data := range good {
			require.NoError(t, os.WriteFile(filepath.Join(run, name), data, 0o600))
		}
	}
	require.Positive(t, noticed)
	t.Logf("%d noticed", noticed)
}

// TestRandomConfigurations: whatever values keys have, a training refuses them and names one,
// or goes on until it is stopped.
func TestRandomConfigurations(t *testing.T) {
	long.SkipShort(t)
	r, dir := long.Rand(), t.TempDir()
	values := []string{"0", "1", "2", "3", "7", "-1", "0.5", "1e-30", "1e30", "-0", "1e400", "NaN", "Infinity", "x", `""`, `"x\u0000"`, "[]", "[1]", "[1,2]", "[[1,2],[3]]", "{}", "true", "null", "1e18", "2147483648", "9223372036854775808", "0x10", "١"}
	trainings := 0
	for range long.Or(60, 3000) {
		def := systems[r.IntN(len(systems))]
		if def.Name == "toy" {
			continue
		}
		cfg, err := def.Preset(def.Presets[r.IntN(len(def.Presets))])
		require.NoError(t, err)
		keys := conf.Describe(cfg)
		args := []string{"train", def.Name, "-q", "--figures", "none", "--max-time", "150ms", "-o", filepath.Join(dir, "run"), "-s", "training.steps=3", "-s", "training.batch=32", "-s", "evaluation.samples=100"}
		var set []string
		for range 1 + r.IntN(4) {
			set = append(set, keys[r.IntN(len(keys))].Path+"="+values[r.IntN(len(values))])
			args = append(args, "-s", set[len(set)-1])
		}
		begun := time.Now()
		o := here(args...)
		what := strings.Join(args[1:], " ")
		sound(t, o, what, exitOK, exitError, exitUsage, exitStopped)
		require.Less(t, time.Since(begun), time.Minute, what)
		if o.code == exitOK || o.code == exitStopped {
			trainings++
		}
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "run")))
	}
	require.Positive(t, trainings)
	t.Logf("%d trainings", trainings)
}

// TestExpressionBombs: an expression that is long, deep or dear is refused, or is a target,
// within seconds.
func TestExpressionBombs(t *testing.T) {
	long.SkipShort(t)
	dir := t.TempDir()
	bombs := []string{
		"1..1000000000", "sum(1..1000000000)", `repeat("a", 1000000000)`, "map(1..100000000, # * #)", "reduce(1..100000000, # + #acc)",
		"filter(1..10, map(1..10, #))", "x[1e18]", "x[-1]", "x[x[0]]", "x[9223372036854775808]", "shift(x,[1000000000],[1])", "shift(x,[2],[1e18])",
		"shift(x,[-2],[1])", "sum(shift(x,[],[]))", "2^2^2^2^2^2^2^2^2^2", "10^1000^1000", "0/0", "1/0", "-1/0", "now()", "env", "$env", "toJSON(x)", "fromJSON(x)",
		"let a = a; a", "let a = 1; let a = 2; a", "sum", "sum()", "sum(x,x)", "exp(exp(exp(exp(sum(x)))))", "log(-1)", "sqrt(-sum(x^2))", "\x00", "x[0]\x00", "−x[0]", "x[0]²",
		"x[0] ?? 1", "x?.a", "x.a.b", "x[0:1]", "x[:]", "#", "#acc", "{}", "[]", "[[]]", "{a:1}", "nil", "true", `"` + "a", "'", "`", "/*", "//", "-x[0]^2 // ", "x[0] in x", "not x[0]", "not not true",
		"1e999999", "1e-999999", strings.Repeat("9", 10000), "0x" + strings.Repeat("f", 400),
	}
	for _, n := range []int{100, 10_000, 1_000_000} {
		bombs = append(bombs, strings.Repeat("(", n)+"x[0]"+strings.Repeat(")", n), strings.Repeat("(", n), strings.Repeat("-", n)+"x[0]", strings.Repeat("x[0]+", n)+"x[0]",
			strings.Repeat("sum(", n)+"x"+strings.Repeat(")", n), strings.Repeat("[", n)+"1"+strings.Repeat("]", n), "["+strings.Repeat("1,", n)+"1]",
			strings.Repeat("x[0]>0?", n)+"1"+strings.Repeat(":1", n), "2"+strings.Repeat("^2", n), strings.Repeat("!", n)+"true", strings.Repeat("let a = 1; ", n)+"a", strings.Repeat("a", n))
	}
	if !long.Tests() {
		bombs = slices.DeleteFunc(bombs, func(b string) bool { return len(b) > 100_000 })
	}
	for i, bomb := range bombs {
		file := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		text, err := conf.Encode(map[string]any{"system": "reals", "target": map[string]any{"dim": 2, "expression": bomb}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		begun := time.Now()
		o := here("train", file, "-q", "--figures", "none", "--max-time", "1s", "-o", filepath.Join(dir, fmt.Sprint(i)))
		what := bomb[:min(len(bomb), 40)]
		sound(t, o, what, exitError, exitUsage, exitOK, exitStopped)
		require.Less(t, time.Since(begun), time.Minute, what)
	}
	t.Logf("%d bombs", len(bombs))
}
