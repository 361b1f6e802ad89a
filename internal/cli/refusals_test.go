package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefusals: what each command says of what it cannot be asked for, and that it is all it does.
func TestRefusals(t *testing.T) {
	dir := filepath.Dir(trained(t)) // which has run
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.ndjson"), []byte(`{"train":"ising","set":{"training.steps":-1}}`+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "report.json"), []byte(`{"rows":[]}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "good.ndjson"), []byte(`{"verify":"run"}`+"\n"), 0o600))
	before := filesBelow(t, dir)
	for _, c := range []struct{ args, want string }{
		{"bench --from report.json --peers=false", "--from measures nothing: it goes without --peers"},
		{"bench --from report.json --time 1s", "--from measures nothing: it goes without --time"},
		{"bench --from report.json rng", "--from measures nothing: name no suite"},
		{"bench --fail-on faster --baseline report.json", `invalid argument "faster" for "--fail-on" flag: not one of slower`},
		{"bench --fail-on slower", "--fail-on needs a --baseline to be slower than"},
		{"bench --isa abacus", "--isa: "},
		{"bench -o pdf", `invalid argument "pdf" for "-o, --output" flag: not one of md, csv, json, go`},
		{"bench --baseline bad.json", "bad.json: not a report of revgen bench -o json: "},
		{"report empty", "empty: holds neither a finished run (summary.json) nor a batch (results.ndjson)"},
		{"report run -o x.txt", "-o: x.txt: a page is HTML; write NAME.html, or add --csv"},
		{"report run --csv -o x.html", "-o: x.html: --csv writes NAME.csv"},
		{"sample run -n 5", "-o: say where to write the samples; -o - is stdout"},
		{"sample run -o x.npy", "-n: say how many samples"},
		{"sample run -n 5 -o x.npy --refine auto --shard 0/2", "--refine auto: all shards need the same diagnosis; run revgen diagnose run first"},
		{"sample run -n 5 -o x.npy --refine few", `"few" is neither a number of steps such as 10 nor auto`},
		{"sample run -n 5 -o x.csv", "-o: x.csv: what is written is a NumPy array, and no .csv file; let the name end in .npy"},
		{"score gmm jobs.ndjson -o x.pdf", "-o: x.pdf: a name that ends in .ndjson, .csv or .npy says what to write; another needs --to"},
		{"score gmm jobs.ndjson -o x.csv --to npy", "-o: x.csv: --to npy writes another kind of file; let its name end otherwise"},
		{"score gmm jobs.ndjson --to pdf", `invalid argument "pdf" for "--to" flag: not one of ndjson, csv, npy`},
		{"score gmm jobs.ndjson --input pdf", `invalid argument "pdf" for "--input" flag: not one of auto, ndjson, npy, raw`},
		{"score toy jobs.ndjson", "toy: the system has no layouts of states"},
		{"train ising --figures few", `invalid argument "few" for "--figures" flag: not one of svg, all, none`},
		{"train ising --diagnose full", `invalid argument "full" for "--diagnose" flag: not one of brief, none`},
		{"train ising --diagnose none --strict", "--strict judges by the diagnosis that --diagnose none leaves out; omit one of them"},
		{"train ising --resume maybe", `invalid argument "maybe" for "--resume" flag: not one of auto, never, must`},
		{"train ising --threads 4097", "--threads: 4097 is not between 1 and 4096"},
		{"run missing.ndjson -o batch", "missing.ndjson: "},
		{"run jobs.ndjson --resume=maybe", `invalid argument "maybe" for "--resume" flag: not one of auto, never, must`},
		{"run jobs.ndjson -o batch --shard 0/2", "-o: all 2 shards would use batch; put %t, the number of the shard, into the name"},
		{"mcmc ising --format bits", "--format is of states; name their file by --states"},
		{"mcmc ising -o - --states -", "-o and --states are both stdout; name a file for one of them"},
		{"mcmc ising -o x.csv", "-o: x.csv: what is written is a NumPy array"},
		{"mcmc ising --states x.csv", "--states: x.csv: what is written is a NumPy array"},
		{"reproduce --study all", "studies are a program of their own: in a clone of the repository, make bin/studies and bin/studies NAME"},
	} {
		o := revgen(t, dir, strings.Fields(c.args)...)
		require.Contains(t, o.stderr, c.want, c.args)
		require.Equal(t, exitUsage, o.code, c.args)
		require.Empty(t, o.stdout, c.args)
		require.Equal(t, before, filesBelow(t, dir), c.args)
	}
	for args, want := range map[string]string{"info empty": "empty: not a run directory: it has no status.json", "run good.ndjson -o batch --resume=must": "batch: holds no batch to resume"} {
		o := revgen(t, dir, strings.Fields(args)...)
		require.Equal(t, outcome{exitError, "", "revgen: " + want + "\n"}, o)
	}
	for job, want := range map[string]string{
		`{"train":"ising","seed":1,"seed":2}`:      "seed",
		`{"verify":"run","max":["a=1",2]}`:         "max: a number in the list, where strings are needed",
		`{"train":"ising","preset":["quick"]}`:     "preset: a list where a plain value is needed",
		`{"sample":"run","number":1,"output":"x"}`: "output: unknown key; sample has ",
	} {
		o := feed(t, dir, job+"\n", "run", "-", "-o", "batch")
		require.Contains(t, o.stderr, want, job)
	}
}

// filesBelow are the files of a folder, with their sizes.
func filesBelow(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	all := make(map[string]int64)
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			all[path] = info.Size()
		}
		return err
	}))
	return all
}
