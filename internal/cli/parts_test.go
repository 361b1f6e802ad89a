package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/cluster"
	"github.com/revgen/revgen/internal/mpi"
	"github.com/revgen/revgen/internal/npy"
)

// TestLaunchers: what processes that were started side by side do where there is no MPI, and how
// long they would wait for each other.
func TestLaunchers(t *testing.T) {
	if mpi.Present {
		t.Skip("they are ranks then")
	}
	for _, key := range []string{"OMPI_COMM_WORLD_RANK", "SLURM_PROCID"} {
		t.Setenv(key, "")
	}
	started := func(rank, size string) {
		t.Setenv("PMI_RANK", rank)
		t.Setenv("PMI_SIZE", size)
	}
	p := &program{systems: systems}
	started("x", "2")
	const wrong = `PMI_RANK="x" is no number`
	_, err := p.joinTraining("run")
	for _, err := range []error{err, p.joinSampling(new(sampleOptions)), p.joinChains()} {
		require.EqualError(t, err, wrong)
		require.ErrorAs(t, err, new(usageError))
	}
	started("1", "2")
	require.EqualError(t, p.joinSampling(&sampleOptions{output: "a%t.npy"}), "-o: %t is the number of a part; ask for parts with --shard auto")
	for _, s := range []sampleOptions{{output: "a.npy"}, {output: "-"}, {output: "a%t.npy", shardGiven: true}, {output: "a%t.npy", format: "?"}} {
		require.NoError(t, p.joinSampling(&s))
	}
	require.NoError(t, p.joinChains())
	task, err := p.joinTraining("run-%t")
	require.NoError(t, err)
	require.Equal(t, cluster.Part{Index: 1, Count: 2}, task)
	_, err = p.joinTraining("run")
	require.EqualError(t, err, "this is one of 2 processes that mpiexec started, and a run is one process: start one, or give each a run of its own with %t, its number, in -o; "+mpi.ErrAbsent.Error())
	_, err = (&program{inBatch: true}).joinTraining("run")
	require.NoError(t, err)
	started("0", "1")
	task, err = p.joinTraining("run")
	require.NoError(t, err)
	require.Equal(t, cluster.Part{Count: 1}, task)
	require.NoError(t, p.joinSampling(&sampleOptions{output: "a%t.npy"}))

	t.Setenv("REVGEN_RANK_WAIT", "soon")
	require.EqualError(t, p.join(task, "mpiexec"), `REVGEN_RANK_WAIT: "soon" is not a positive time such as 90m, 1h30m, 01:30:00 or 1-12:00:00`)
	t.Setenv("REVGEN_RANK_WAIT", "1h")
	require.ErrorIs(t, p.join(task, "mpiexec"), mpi.ErrAbsent)
	require.False(t, p.isRank.Load() || p.isOtherRank())
}

// TestWholeRecords: a record has what its samples are of, where they were made and by what.
func TestWholeRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	cfg, _, err := systems.Resolve(t.Context(), catalogue.Source{System: "ising", Preset: "paper", Set: []string{"target.l=3", "target.beta=0.25", "training.seed=9"}})
	require.NoError(t, err)
	model := &run.Model{Config: json.RawMessage("{}"), Params: []float32{1, 2}}
	r := sampleFile{path: path, first: 3, n: 5, refine: 7, format: engine.Format{Name: "bits"}}
	require.Nil(t, r.exactness())
	require.NoError(t, writeRecord(r, cfg, model))
	data, err := os.ReadFile(path + ".json")
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, recordSum(data), got["sha256"])
	require.Len(t, got["date"], len("2006-01-02T15:04:05Z"))
	delete(got, "sha256")
	delete(got, "date")
	host, err := os.Hostname()
	require.NoError(t, err)
	kernels, _, _ := asm.Active()
	require.Equal(t, map[string]any{"schema": float64(engine.SchemaVersion), "kind": "samples", "file": "x.npy", "model": model.Hash(), "system": "ising", "target": "Ising model on the periodic 3×3 lattice, J = 1, β = 0.25",
		"seed": 9., "first": 3., "samples": 5., "refine": 7., "format": "bits", "path": kernels.String(),
		"program": programName(), "machine": host + ", " + asm.CPUName(), "platform": runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()}, got)
	r.path = os.DevNull
	require.NoError(t, writeRecord(r, cfg, model), "no record of a device")
	require.NoFileExists(t, os.DevNull+".json")
	require.Nil(t, (&sampleFile{exact: new(engine.Exact)}).exactness(), "of no draws")
}

// held counts what becomes of an output.
type held struct {
	bytes.Buffer
	commit             error
	committed, cleaned int
}

func (o *held) Commit() error  { o.committed++; return o.commit }
func (o *held) Cleanup() error { o.cleaned++; return nil }

// TestWriteOutput: an output is there when all of it is written, and given up otherwise: at once,
// or, where work was stopped, when that is said.
func TestWriteOutput(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		write, commit      error
		want               string
		committed, cleaned int
		later              string // what is said of it at last
	}{
		{nil, nil, "", 1, 0, ""}, {broken, nil, "broken", 0, 1, ""}, {nil, syscall.ENOSPC, "writing a.npy: no space left on device", 1, 0, ""},
		{nil, context.Canceled, "context canceled", 1, 0, ""}, {context.Canceled, nil, "context canceled", 0, 0, "half of it"},
	} {
		p, out := new(program), &held{commit: c.commit}
		err := p.writeOutput("a.npy", out, func() error { return c.write }, func() string { return "half of it" })
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
		require.Equal(t, []int{c.committed, c.cleaned}, []int{out.committed, out.cleaned}, c.want)
		remark, lost := p.output.discard()
		require.Equal(t, c.later, remark)
		require.Equal(t, c.later != "", lost)
		require.Equal(t, c.later != "", out.cleaned > c.cleaned)
	}
	p, out := new(program), new(held)
	require.Equal(t, context.Canceled, p.writeOutput("a.npy", out, func() error {
		remark, lost := p.output.discard() // meanwhile
		require.Equal(t, "half of it", remark)
		require.True(t, lost)
		return nil
	}, func() string { return "half of it" }))
	require.Zero(t, out.committed)

	huge := npy.Header{Descr: "'<f8'", Shape: []int{math.MaxInt, 2}}
	for path, where := range map[string]string{"a.npy": "a.npy", "-": "stdout"} {
		err := p.writeArray(t.Context(), path, huge, func(io.Writer) error { t.Error("written"); return nil })
		require.ErrorContains(t, err, "writing "+where+": ")
	}
	missing := filepath.Join(t.TempDir(), "none", "a.npy")
	small := npy.Header{Descr: "'<f8'", Shape: []int{2}}
	require.EqualError(t, p.writeArray(t.Context(), missing, small, nil), "writing "+missing+": no such file or directory")
	var stdout bytes.Buffer
	p.stdout = &stdout
	err := p.writeArray(t.Context(), "-", small, func(w io.Writer) error {
		_, _ = w.Write(make([]byte, 8))
		return context.Canceled
	})
	require.ErrorIs(t, err, context.Canceled)
	remark, lost := p.output.discard()
	require.Regexp(t, `^the array on stdout is not complete: it has some \d+ of 16 bytes$`, remark)
	require.True(t, lost)
}

// TestWhatIsSaidOfBatches: how many jobs there are and were finished, and that another may not begin
// where there is one.
func TestWhatIsSaidOfBatches(t *testing.T) {
	dir := t.TempDir()
	const job = `{"mcmc":"ising","set":{"target.l":3},"chains":4,"draws":8}`
	list(t, dir, job, strings.Replace(job, "8}", "9}", 1))
	for _, before := range []int{0, 2} {
		o := ok(t, dir, "run", "jobs.ndjson", "-t", "2")
		require.Contains(t, o.stderr, fmt.Sprintf("2 jobs (%d finished earlier), 2 threads: %s\n", before, filepath.Join("runs", "jobs")))
	}
	o := revgen(t, dir, "run", "jobs.ndjson", "--resume=never")
	require.Equal(t, exitError, o.code)
	require.Equal(t, "revgen: runs/jobs: holds a batch already; choose another directory, or resume it\n", o.stderr)
	o = revgen(t, dir, "run", "jobs.ndjson", "--resume=must", "-o", "other")
	require.Equal(t, "revgen: other: holds no batch to resume\n", o.stderr)

	o = feed(t, dir, "", "score", "ising", "--input", "ndjson", "-s", "target.l=3")
	require.Contains(t, o.stderr, "warning: no states: the input is empty\n0 states in ")
	require.Empty(t, o.stdout)
	o = revgen(t, dir, "train", "reals", "-p", "quick", "--max-evaluations", "1", "-o", "looked")
	require.Equal(t, exitStopped, o.code)
	require.Contains(t, o.stderr, "quick preset, taking a first look at the target: looked\n")
}

// TestExtendedRuns: a run that has ended goes on to more steps where that is asked for, and is
// refused otherwise.
func TestExtendedRuns(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, tiny("run")...)
	more := tiny("run", "--set", "training.steps=64")
	o := revgen(t, dir, more...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "training.steps is 60 there and 64 here")
	o = ok(t, dir, append(more, "--extend")...)
	require.Contains(t, o.stderr, "continuing from step 60\n")
	require.Contains(t, o.stderr, "trained for 64 steps in ")
	require.Contains(t, ok(t, dir, append(more, "--extend")...).stderr, "this run is complete: measuring it again\n")
}
