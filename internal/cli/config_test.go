package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is wrong with a configuration or a command line is one line on
// stderr that names the place, and exit code 2.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("unknown.json", "{\n  \"system\": \"ising\",\n  \"training\": {\n    \"seed\": 3, \"stpes\": 10\n  }\n}")
	write("duplicate.json", "{\"system\": \"ising\",\n \"target\": {\"l\": 3, \"beta\": 0.2, \"l\": 4}}")
	write("type.json", "{\"system\": \"ising\", \"target\": {\"l\": \"3\"}}")
	write("nan.json", "{\"system\": \"ising\",\n \"target\": {\"beta\": NaN}}")
	write("small.json", "{\"system\": \"ising\",\n \"target\":\n  {\"l\": 1}}")
	write("negative.json", "{\"system\": \"ising\", \"preset\": \"paper\", \"loss\": {\"kernel\": {\"bandwidths\": [1, -2]}}}")
	write("nosystem.json", "{}")
	write("othersystem.json", "{\"system\":\n\"heisenberg\"}")
	write("preset.json", "{\"system\": \"ising\", \"preset\": \"fast\"}")
	write("schema.json", "{\"schema\": 99, \"system\": \"ising\"}")
	write("broken.json", "{\"system\": \"ising\",\n}")
	write("empty.json", "")
	write("list.json", "[]")
	write("data.csv", "i,j,weight\r\n0,1,0.5\n")
	write("model.rvg", "RevGen\x00\x01\xff\xfe")

	known := strings.Join(append(systems.Names(), "toy"), ", ")
	for _, c := range []struct {
		args string
		want string
	}{
		{"train unknown.json", "unknown.json:4:16: training.stpes: unknown key; did you mean training.steps?"},
		{"train duplicate.json", "duplicate.json:2:34: target.l: this key stands here for the second time; remove one"},
		{"train type.json", `type.json:1:37: target.l: a string ("3") where a whole number is needed; remove the quotes`},
		{"train nan.json", "nan.json:2:21: not a number; numbers must be finite"},
		{"train small.json", "small.json:3:9: target.l: 1 is not between 2 and"},
		{"train negative.json", "negative.json:1:78: loss.kernel.bandwidths[1]: -2 is not a positive finite number"},
		{"train nosystem.json", "nosystem.json: system: missing; it is one of " + known},
		{"train othersystem.json", `othersystem.json:2:1: system: unknown system "heisenberg"; the systems are ` + known},
		{"train preset.json", `preset.json:1:31: preset: "fast" is not one of quick, paper, best`},
		{"train schema.json", "schema.json:1:12: schema: 99 is not supported; this program reads version 2"},
		{"train broken.json", "broken.json:2:1: the comma before this } is one too many"},
		{"train empty.json", "empty.json:1:1: is empty; it must hold a JSON object"},
		{"train list.json", "list.json:1:1: a list where an object is needed"},
		{"train data.csv", `data.csv: unknown kind of file (it begins with "i,j,weight"); known are a configuration, which is a JSON object in braces, or the edges of a graph (formats revgen, rudy, coo, qubo, bqpjson), or the couplings of sites of a few states (JSON with "q", or lines after "# q=3"); to use a program that computes a density, name it in a configuration as target.command`},
		{"train data.csv --preset best", `data.csv: unknown kind of file (it begins with "i,j,weight")`},
		{"train model.rvg", `model.rvg: unknown kind of file (it begins with "RevGen\x00\x01…")`},
		{"train none.json", "open none.json: no such file or directory"},
		{"train isnig", `"isnig" is neither a system (` + known + `) nor a file`},
		{"train broken.json --preset quick", "broken.json:2:1: the comma before this } is one too many"},
		{"train small.json --preset paper", "--preset needs a system; small.json names its own preset"},
		{"train ising --preset fast", `preset: "fast" is not one of quick, paper, best`},
		{"train ising toy", "accepts at most 1 arg(s), received 2; see revgen train --help"},
		{"train --set target.beta=NaN", `--set "target.beta=NaN": target.beta: NaN is not a finite number`},
		{"train --set target.beta=-1", `--set "target.beta=-1": target.beta: -1 is not a finite number ≥ 0`},
		{"train --set target.l=1", `--set "target.l=1": target.l: 1 is not between 2 and`},
		{"train --set training.step=1", `--set "training.step=1": training.step: unknown key; did you mean training.steps?`},
		{"train --set beta=1", `--set "beta=1": beta: unknown key; did you mean target.beta?`},
		{"train --set training.batch=1.5", `--set "training.batch=1.5": training.batch: 1.5 is not a whole number`},
		{"train --set training.batch=many", `training.batch: a string ("many") where a whole number is needed`},
		{"train ising --preset paper --set loss.kernel.bandwidths=-2", `--set "loss.kernel.bandwidths=-2": loss.kernel.bandwidths[0]: -2 is not a positive finite number`},
		{"train ising --preset paper --set loss.kernel={\"bandwidths\":[0]}", "loss.kernel.bandwidths[0]: 0 is not a positive finite number"},
		{"train ising --preset paper --set loss.statistic=W", `loss.statistic: "W" is not one of V, U`},
		{"train --set training", "training: no value; write key.path=value"},
		{"train --set training.optimizer.learning_rate=0", "training.optimizer.learning_rate: 0 is not a positive finite number"},
		{"train --seed -1", `invalid argument "-1" for "--seed"`},
		{"train --threads -1", "--threads: -1 is not between 1 and"},
		{"train --max-time soon", `"soon" is not a positive time such as 90m`},
		{"train --isa sse", `--isa: unknown kernel path "sse"; the paths are generic, avx2, avx512`},
		{"train --stps 3", "unknown flag: --stps; see revgen train --help"},
		{"tran", `unknown command "tran"; did you mean train?`},
		{"zzzzzz", `unknown command "zzzzzz"; see revgen help`},
		{"sample", "accepts 1 arg(s), received 0"},
		{"sample x -n many", `"many" is not a whole number such as 200000 or 2e5`},
		{"sample x -n 1.5", `"1.5" is not a whole number`},
		{"train --seed x", `"x" is not a whole number such as 200000`},
		{"sample x -n 10 --shard 3/3", `"3/3" is not i/n with 0 ≤ i < n`},
		{"sample x -n 10 --refine -1", `"-1" is neither a number of steps such as 10 nor auto`},
		{"verify isnig", `"isnig" is neither a system (` + known + `), all, nor a run directory or model`},
		{"verify toy none", "none: no such run directory or model"},
		{"verify isnig none", `unknown system "isnig"`},
		{"info none", "stat none: no such file or directory"},
	} {
		o := revgen(t, dir, strings.Fields(c.args)...)
		require.Equal(t, exitUsage, o.code, "%s: %s", c.args, o.stderr)
		require.Contains(t, o.stderr, "revgen: ", c.args)
		require.Contains(t, o.stderr, c.want, c.args)
		require.Equal(t, 1, strings.Count(o.stderr, "\n"), "%s: one line: %s", c.args, o.stderr)
		require.Empty(t, o.stdout, c.args)
	}
	_, err := os.Stat(filepath.Join(dir, "runs"))
	require.ErrorIs(t, err, os.ErrNotExist, "nothing was begun")

	o := revgen(t, dir, "train", "unknown.json", "--json")
	require.Equal(t, exitUsage, o.code)
	var e struct {
		Error string
		Exit  int
	}
	require.NoError(t, json.Unmarshal([]byte(o.stderr), &e))
	require.Equal(t, exitUsage, e.Exit)
	require.Equal(t, "unknown.json:4:16: training.stpes: unknown key; did you mean training.steps?", e.Error)
}

// A file says what differs from the preset that it names.
func TestFilesOverridePresets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"system": "ising", "preset": "paper", "target": {"beta": 0.5}}`), 0o600))
	got, err := source{name: path, assignments: []string{"training.steps=10", "training.steps=20"}}.load(t.Context(), systems)
	require.NoError(t, err)
	require.False(t, got.isPreset())
	want, err := source{name: "ising", preset: "paper", assignments: []string{"target.beta=0.5", "training.steps=20"}}.load(t.Context(), systems)
	require.NoError(t, err)
	require.Equal(t, want.Config, got.Config)
}

func TestForcedPaths(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []string{"sse", "AVX2"} {
		cmd := command(t, dir, tiny("run")...)
		cmd.Env = append(cmd.Env, "REVGEN_ISA="+bad)
		o := finish(t, cmd)
		require.Equal(t, exitUsage, o.code)
		require.Contains(t, o.stderr, "REVGEN_ISA: ")
		cmd = command(t, dir, "info", "--isa", "generic")
		cmd.Env = append(cmd.Env, "REVGEN_ISA="+bad)
		require.Equal(t, exitOK, finish(t, cmd).code, "the flag goes before the variable")
	}
	o := ok(t, dir, tiny("run", "--isa", "generic", "--json")...)
	require.Contains(t, o.stdout, `"path":"generic"`)
}

// TestConfigShow prints what train takes, which read back is the same.
func TestConfigShow(t *testing.T) {
	dir := t.TempDir()
	o := revgen(t, dir, "config", "show", "ising", "--preset", "best", "--set", "target.l=16", "--set", "generator.units=4")
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, o.stderr, "a hierarchy with a density")
	require.Contains(t, o.stdout, `"kind": "balance"`)
	require.Contains(t, o.stdout, `"units": 4`)
	require.NotContains(t, o.stdout, `"witness"`, "of another loss")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.json"), []byte(o.stdout), 0o600))
	again := revgen(t, dir, "config", "show", "run.json")
	require.Zero(t, again.code, again.stderr)
	require.Equal(t, o.stdout, again.stdout)
	require.Equal(t, exitUsage, revgen(t, dir, "config", "show", "ising", "--set", "generator.latent=3", "--set", "target.l=8").code)
}
