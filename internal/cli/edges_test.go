package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/page"
	"github.com/revgen/revgen/internal/pool"
)

// TestFullDevices: what has no room is an error that names where.
func TestFullDevices(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs a device that is full")
	}
	run := trained(t)
	for _, args := range [][]string{
		{"sample", run, "-n", "5", "-o", "/dev/full"},
		{"mcmc", "ising", "--chains", "4", "--draws", "8", "-o", "/dev/full"},
		{"mcmc", "ising", "--chains", "4", "--draws", "8", "--states", "/dev/full"},
	} {
		o := revgen(t, t.TempDir(), args...)
		require.Equal(t, exitError, o.code, args)
		require.Contains(t, o.stderr, "revgen: writing /dev/full: no space left on device\n", args)
		require.Empty(t, o.stdout)
	}
	p := &program{stdout: io.Discard, stderr: io.Discard}
	r := &chains.Result{Levels: []chains.Level{{Observables: []chains.Observable{{Name: "it's"}}}}}
	path := filepath.Join(t.TempDir(), "x.npy")
	require.EqualError(t, p.writeDraws(t.Context(), path, r, chains.Options{Chains: 1, Draws: 1}), `-o: observable "it's": NumPy's header has no room for such a name`)
	require.NoFileExists(t, path)
}

// TestRanksOfOtherRequests: ranks that are asked for other samples end together, and a file that
// one of them does not find as it has to be goes.
func TestRanksOfOtherRequests(t *testing.T) {
	cfg, err := systems[0].Preset("paper")
	require.NoError(t, err)
	params := []float32{1, 2}
	whole := request{path: "x.npy", format: engine.Format{Name: "spins"}, first: 1, n: 2, refine: 3}
	const refused = "it was asked for other samples, or another file, than rank 0; --shard 0/1 lets each process stand alone"
	for i, change := range []func(r *request, params *[]float32){
		func(*request, *[]float32) {}, func(r *request, _ *[]float32) { r.path = "y.npy" }, func(r *request, _ *[]float32) { r.format.Name = "bits" }, func(r *request, _ *[]float32) { r.first++ },
		func(r *request, _ *[]float32) { r.n++ }, func(r *request, _ *[]float32) { r.refine++ }, func(r *request, _ *[]float32) { r.exact = new(engine.Exact) }, func(_ *request, params *[]float32) { *params = params2() },
	} {
		said := together(2, func(p *program) error {
			r, params := whole, params
			if p.world.Rank() > 0 {
				change(&r, &params)
			}
			return p.sameRequest(r, cfg, params)
		})
		require.Equal(t, []string{"", map[bool]string{false: refused}[i == 0]}, said, i)
	}

	dir := t.TempDir()
	said := together(2, func(p *program) error {
		_, err := p.openShared(filepath.Join(dir, "x.npy"), npy.Header{Descr: "'|i1'", Shape: []int{2 + p.world.Rank()}})
		return err
	})
	require.Equal(t, engine.ErrElsewhere.Error(), said[0])
	require.Contains(t, said[1], "does not begin with the header of this array")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
	require.Equal(t, []string{"7", "7"}, together(2, func(p *program) error {
		all := p.exchange([]byte{byte('0' + 7*(1-p.world.Rank()))})
		return errors.New(string(all[0]))
	}))
}

func params2() []float32 { return []float32{1, 3} }

// TestRanksHavePatience: a rank whose work does not end after a signal ends the job, sooner than
// a process that stands alone.
func TestRanksHavePatience(t *testing.T) {
	var said bytes.Buffer
	w := &room{Ranks: pool.Local(2)[0]}
	p := &program{world: w, stderr: &said}
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	p.signals = make(chan os.Signal, 2)
	p.ranked.Store(true)
	p.signals <- syscall.SIGTERM
	begun := time.Now()
	require.Equal(t, exitStopped, p.watch(make(chan int)))
	require.GreaterOrEqual(t, time.Since(begun), rankPatience)
	require.Equal(t, []string{"abort 75"}, w.left)
	require.Equal(t, stopRequest{syscall.SIGTERM}, context.Cause(p.ctx))
	require.Equal(t, "\nSIGTERM: stopping; once more to quit at once\nrevgen: stopped by SIGTERM; the same command begins anew\n", said.String())
}

// TestDamagedBatches: what is said of a batch whose results cannot be read, and what pages have of
// results that are none of a training.
func TestDamagedBatches(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "results.ndjson")
	require.NoError(t, os.WriteFile(path, []byte(`{"id":"a","verb":"train","exit":0,"result":"x"}`+"\n"), 0o600))
	all, err := readBatch(dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
	var pg page.Page
	require.NoError(t, describeBatch(&pg, all))
	require.Equal(t, "1 job: 1 done, 0 failed, 0 with warnings", pg.Lead)
	require.Nil(t, pg.Failures)
	require.NoError(t, os.WriteFile(path, []byte(`{"id":"a"}{"id":`), 0o600))
	_, err = readBatch(dir)
	require.EqualError(t, err, path+": unexpected EOF")
	for _, more := range []string{"-q", "--csv"} {
		require.Equal(t, outcome{exitError, "", "revgen: " + path + ": unexpected EOF\n"}, revgen(t, "", "report", dir, more))
	}
	require.Empty(t, recordSum([]byte("{")))
}

// TestOutcomesAreWritten: with what others have published, what was warned of, and the legend of
// errors that are as small as they can be.
func TestOutcomesAreWritten(t *testing.T) {
	var out, talk bytes.Buffer
	p := &program{stdout: &out, stderr: &talk}
	o := reproduce.Outcome{Title: "A title", Preset: "paper", Seeds: []uint64{1}, Metrics: []reproduce.Metric{{Name: "energy", Error: 0.5, Floor: 0.25}},
		Published: []reproduce.Published{{Metric: "energy", Method: "X", Target: "Y", Error: 0.125}}, Warnings: []string{"one", "two"}}
	require.NoError(t, p.writeOutcome(&o))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{"A title", o.Summary(), ""}, lines[:3])
	require.Equal(t, []string{"Published energy: 0.1250 by X (Y).", "", ""}, lines[len(lines)-3:])
	require.Equal(t, "warning: one\nwarning: two\n", talk.String())
	for _, c := range []struct {
		json bool
		want string
	}{{false, "results: " + reproduce.Document("d") + "\n"}, {true, ""}} {
		talk.Reset()
		p.json = c.json
		require.NoError(t, p.concludeReproduction(&reproduce.Results{Outcomes: []reproduce.Outcome{o}}, "d"))
		require.Equal(t, c.want, talk.String())
	}
}

// TestGridsOfCommands: a grid and a flag cannot both say what a value is, and a file that is no
// report of answers is no such.
func TestGridsOfCommands(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.json"), []byte("["), 0o600))
	for args, want := range map[string]string{
		"train ising --preset quick --grid preset=quick,paper -o x": "--grid: preset: the job says it already",
		"train ising --grid seed=1 --grid seed=2 -o x":              "--grid: seed=1,seed=2: seed: stands twice in one job",
		"train ising --samples 1e12 -o x":                           "--samples: 1000000000000 are more than ",
		"train ising --grid beta -o x":                              "--grid: ",
		"bench answer --from x.json":                                "--from: x.json: not a report of bench answer -o json: unexpected end of JSON input",
		"bench answer --seconds 0":                                  "--seconds: 0 is not a positive time",
		"bench answer --only x":                                     `--only: unknown target "x"; the targets are `,
		"bench answer -o x":                                         `--output: unknown format "x"; the formats are md, csv, json`,
	} {
		o := revgen(t, dir, strings.Fields(args)...)
		require.Contains(t, o.stderr, want, args)
		require.NotZero(t, o.code, args)
	}
	require.Equal(t, ":4\n", ok(t, "", "__complete", "train", "ising", "").stdout, "one target")
}
