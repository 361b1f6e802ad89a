package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutputsSpareInputs: no verb writes over what it reads, whatever name or link leads
// there, nor through links in a directory of its own.
func TestOutputsSpareInputs(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "run"), os.DirFS(trained(t))))
	ok(t, dir, "sample", "run", "-n", "3", "-o", "a.npy", "-q")
	at := func(path string) string { return filepath.Join(dir, path) }
	require.NoError(t, os.CopyFS(at("exp"), os.DirFS(at("run"))))
	for _, name := range []string{"status.json", "checkpoint.rvg", "checkpoint.prev.rvg"} {
		require.NoError(t, os.RemoveAll(at("exp/"+name)))
	}
	require.NoError(t, os.Link(at("a.npy"), at("hard.npy")))
	for name, to := range map[string]string{"model.npy": "run/model.rvg", "config.npy": "run/config.json", "kept.npy": "run/checkpoint.rvg", "summary.html": "run/summary.json", "summary.csv": "run/summary.json"} {
		require.NoError(t, os.Symlink(to, at(name)))
	}
	for _, name := range []string{"model.rvg", "metrics.jsonl", "diagnosis.json", "samples.npy", "results.md"} {
		require.NoError(t, os.MkdirAll(at("linked-"+name), 0o700))
		require.NoError(t, os.Symlink(at("run/model.rvg"), at("linked-"+name+"/"+name)))
	}
	require.NoError(t, os.MkdirAll(at("jobs"), 0o700))
	require.NoError(t, os.WriteFile(at("jobs/journal.ndjson"), []byte(`{"verify":"toy"}`), 0o600))
	state := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"a.npy", "run/model.rvg", "run/config.json", "run/checkpoint.rvg", "run/summary.json", "exp/config.json", "jobs/journal.ndjson"} {
			all[name] = content(t, dir, name)
		}
		return all
	}
	before := state()
	steps := []string{"--set", "training.steps=2", "--figures", "none"}
	for want, args := range map[string][]string{
		"a.npy: is read, and would be written over":                    {"score", "run", "a.npy", "-o", "a.npy"},
		"hard.npy: is a.npy, which is read":                            {"score", "run", "a.npy", "-o", "hard.npy"},
		"model.npy: is run/model.rvg, which is read":                   {"sample", "run/model.rvg", "-n", "3", "-o", "model.npy"},
		"kept.npy: is run/checkpoint.rvg, which is read":               {"sample", "run", "-n", "3", "-o", "kept.npy"},
		"config.npy: is run/config.json, which is read":                {"mcmc", "run", "--chains", "4", "--draws", "100", "-o", "config.npy"},
		"summary.html: is run/summary.json, which is read":             {"report", "run", "-o", "summary.html"},
		"summary.csv: is run/summary.json, which is read":              {"report", "run", "--csv", "-o", "summary.csv"},
		"linked-model.rvg/model.rvg: is a link to":                     append([]string{"train", "ising", "-o", "linked-model.rvg"}, steps...),
		"linked-metrics.jsonl/metrics.jsonl: is a link to":             append([]string{"train", "ising", "-o", "linked-metrics.jsonl"}, steps...),
		"linked-samples.npy/samples.npy: is a link to":                 append([]string{"train", "ising", "-o", "linked-samples.npy"}, steps...),
		"linked-diagnosis.json/diagnosis.json: is a link to":           {"diagnose", "linked-diagnosis.json"},
		"linked-results.md/results.md: is a link to":                   {"reproduce", "--only", "ising-0.2", "-o", "linked-results.md"},
		"exp/config.json: is read, and would be written over":          append([]string{"train", "exp/config.json", "-o", "exp"}, steps...),
		"exp/model.rvg: is read, and would be written over":            append([]string{"train", "ising", "--init", "exp", "-o", "exp"}, steps...),
		"jobs/journal.ndjson: is read, and would be written over":      {"run", "jobs/journal.ndjson", "-o", "jobs"},
		"s.npy and ./s.npy are one file; give them names of their own": {"mcmc", "run", "-o", "s.npy", "--states", "./s.npy"},
	} {
		o := revgen(t, dir, args...)
		require.Equal(t, exitUsage, o.code, "%s: %s", args, o.stderr)
		require.Contains(t, o.stderr, want)
		require.Equal(t, before, state(), args)
	}
	in, err := os.Open(at("a.npy"))
	require.NoError(t, err)
	defer in.Close()
	cmd := command(t, dir, "score", "run", "-o", "a.npy")
	cmd.Stdin = in
	require.Contains(t, finish(t, cmd).stderr, "a.npy: is /dev/stdin, which is read")
	require.Equal(t, before, state())
	ok(t, dir, append([]string{"train", "ising", "-o", "ising", "-q"}, steps...)...) // a directory with a system's name
	ok(t, dir, append([]string{"train", "ising", "-o", "ising", "-q"}, steps...)...)
}
