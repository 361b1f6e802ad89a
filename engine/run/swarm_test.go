package run_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
)

const (
	swarmSize      = 2100 // two chunks, the last cut
	swarmParticles = 24
	swarmSteps     = 14
)

// swarm is a run of particles.
func swarm() *systemtest.Bowl {
	b := systemtest.NewBowl(swarmSize, "consensus")
	b.Training.Consensus = search.Consensus{Particles: swarmParticles, Spread: 1, Sharpness: 20, Noise: 0.5, TimeStep: 0.02}
	b.Training.Steps, b.Training.EMA, b.Training.CheckpointEvery, b.Training.Schedule.Kind = swarmSteps, 0.9, 0, "cosine"
	return b
}

// ends returns what the run in a directory ends with, of none that of one that is
// never stopped.
func ends(t *testing.T, b engine.Config, dir string, opt run.Options) []float32 {
	t.Helper()
	opt.Dir = dir
	r, err := train(t, context.Background(), b, 2, opt)
	require.NoError(t, err)
	return r.Params
}

// files returns the files of a directory, none of them temporary.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string][]byte{}
	for _, e := range entries {
		require.NotEqual(t, byte('.'), e.Name()[0], "%s: a temporary file", e.Name())
		all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
	}
	return all
}

// A run ends with the same bits, however often it is stopped.
func TestSwarmResumes(t *testing.T) {
	long.SkipShort(t)
	b, dir := swarm(), t.TempDir()
	want := ends(t, b, "", run.Options{})
	for step := 1; step < swarmSteps; step++ {
		stoppedAt(t, b, dir, step)
	}
	for _, threads := range []int{1, 3} { // and once it has ended
		r, err := train(t, context.Background(), b, threads, run.Options{Dir: dir, Resume: "must"})
		require.NoError(t, err)
		require.Equal(t, want, r.Params)
	}
	require.Equal(t, want, ends(t, b, t.TempDir(), run.Options{}))
}

// countdown is a context that is done once it has been asked a number of times.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   chan struct{}
}

func newCountdown(n int) *countdown {
	ctx, cancel := context.WithCancel(context.Background())
	c := &countdown{ctx, cancel, make(chan struct{}, n)}
	for range n {
		c.left <- struct{}{}
	}
	return c
}

func (c *countdown) Err() error {
	select {
	case <-c.left:
	default:
		c.cancel()
	}
	return c.Context.Err()
}

// Wherever it is that a run notices that it is to stop: between losses, or while it resumes.
func TestSwarmStopsAnywhere(t *testing.T) {
	long.SkipShort(t)
	b := swarm()
	b.Training.Steps = 5
	want := ends(t, b, "", run.Options{})
	dir := t.TempDir()
	const stride = 7 // coprime to the number of particles and to what else a step asks
	for n, stops := 0, 0; ; n += stride {
		fresh := t.TempDir()
		ctx := newCountdown(n)
		r, err := train(t, ctx, b, 1, run.Options{Dir: fresh})
		ctx.cancel()
		if err == nil {
			require.Equal(t, want, r.Params)
			require.Greater(t, stops, 5*swarmParticles/stride)
			break
		}
		stops++
		require.ErrorIs(t, err, run.ErrStopped)
		require.Equal(t, want, ends(t, b, fresh, run.Options{}), "after %d", n)
	}
	b.Training.Steps = swarmSteps
	stoppedAt(t, b, dir, 9)
	before := files(t, dir)
	for n := range 9 { // too soon for a step
		ctx := newCountdown(n)
		_, err := train(t, ctx, b, 1, run.Options{Dir: dir})
		ctx.cancel()
		require.Equal(t, &run.StopError{Dir: dir, Step: 9, Steps: swarmSteps}, err, "after %d", n)
		require.True(t, bytes.Equal(before["checkpoint.rvg"], files(t, dir)["checkpoint.rvg"]), "after %d", n)
	}
	require.Equal(t, ends(t, b, "", run.Options{}), ends(t, b, dir, run.Options{}))
}

// A run goes on from what lies on the disk at any moment, as after a kill.
func TestSwarmSurvivesKills(t *testing.T) {
	long.SkipShort(t)
	b, dir := swarm(), t.TempDir()
	want := ends(t, b, "", run.Options{})
	var copies []string
	losses := 0
	b.OnLoss = func() {
		if losses++; losses%13 == 0 {
			copied := t.TempDir()
			require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
			copies = append(copies, copied)
		}
	}
	ends(t, b, dir, run.Options{})
	b.OnLoss = nil
	require.Greater(t, len(copies), 2*swarmSteps-4)
	for i, copied := range copies {
		require.Equal(t, want, ends(t, b, copied, run.Options{}), "copy %d", i)
	}
}

// Particles are scattered about the model that a run starts from.
func TestSwarmStartsFromAModel(t *testing.T) {
	b := swarm()
	b.Training.Consensus.Spread = 1e-3
	start := &run.Start{Config: b, Params: make([]float32, swarmSize)}
	for i := range start.Params {
		start.Params[i] = 3
	}
	b.Training.Start = start.Hash()
	opt := run.Options{Start: start}
	want := ends(t, b, "", opt)
	for _, p := range want {
		require.InDelta(t, 3, p, 0.1)
	}
	dir := t.TempDir()
	for n := range 3 {
		ctx := newCountdown(n)
		_, err := train(t, ctx, b, 1, run.Options{Dir: dir, Start: start})
		ctx.cancel()
		require.ErrorIs(t, err, run.ErrStopped)
	}
	require.Equal(t, want, ends(t, b, dir, opt))
}
