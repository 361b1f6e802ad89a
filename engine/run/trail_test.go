package run_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
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

// swarm is a run of particles whose checkpoints hold a trail, with a keyframe every
// third step.
func swarm(t *testing.T) *systemtest.Bowl {
	t.Cleanup(run.SetTrailFrom(0))
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

// isSmall checks that the checkpoints of a directory hold no particles, and that no
// keyframe lies there that neither needs. It returns how many there are.
func isSmall(t *testing.T, dir string) (keyframes int) {
	t.Helper()
	all := files(t, dir)
	for name, data := range all {
		if ok, _ := filepath.Match("keyframe.?.rvg", name); ok {
			keyframes++
			require.Greater(t, len(data), 4*swarmParticles*swarmSize)
			require.True(t, bytes.Contains(all["checkpoint.rvg"], []byte(name)) || bytes.Contains(all["checkpoint.prev.rvg"], []byte(name)), name)
		}
	}
	require.LessOrEqual(t, keyframes, 2)
	const points = 3 + 2 // since the keyframe, that of the keyframe and of the step that waited for it
	require.Less(t, len(all["checkpoint.rvg"]), 4*swarmSize*(points+2)+4096)
	return keyframes
}

// A run whose checkpoints hold what cannot be replayed ends with the same bits, however
// often it is stopped.
func TestTrailedRunResumes(t *testing.T) {
	long.SkipShort(t)
	b, dir := swarm(t), t.TempDir()
	want := ends(t, b, "", run.Options{})
	for step := 1; step < swarmSteps; step++ {
		stoppedAt(t, b, dir, step)
		isSmall(t, dir)
	}
	for _, threads := range []int{1, 3} { // and once it has ended
		r, err := train(t, context.Background(), b, threads, run.Options{Dir: dir, Resume: "must"})
		require.NoError(t, err)
		require.Equal(t, want, r.Params)
	}
	straight := t.TempDir()
	require.Equal(t, want, ends(t, b, straight, run.Options{}))
	require.Positive(t, isSmall(t, straight))
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

// Wherever it is that a run notices that it is to stop: between losses, while it writes
// a keyframe, or while it resumes.
func TestTrailedRunStopsAnywhere(t *testing.T) {
	long.SkipShort(t)
	b := swarm(t)
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
		isSmall(t, fresh)
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
func TestTrailedRunSurvivesKills(t *testing.T) {
	long.SkipShort(t)
	b, dir := swarm(t), t.TempDir()
	want := ends(t, b, "", run.Options{})
	var copies []string
	losses := 0
	b.Look = func() {
		if losses++; losses%13 == 0 {
			copied := t.TempDir()
			// The checkpoints first: no other file than a keyframe changes meanwhile, which
			// may get its name after its temporary one was listed. A moment later is as good.
			err := os.CopyFS(copied, os.DirFS(dir))
			for errors.Is(err, fs.ErrNotExist) {
				copied = t.TempDir()
				err = os.CopyFS(copied, os.DirFS(dir))
			}
			require.NoError(t, err)
			copies = append(copies, copied)
		}
	}
	ends(t, b, dir, run.Options{})
	b.Look = nil
	require.Greater(t, len(copies), 2*swarmSteps-4)
	for i, copied := range copies {
		require.Equal(t, want, ends(t, b, copied, run.Options{}), "copy %d", i)
		isSmall(t, copied)
	}
}

// A keyframe that cannot be written ends the run, with a checkpoint that does without.
func TestKeyframeThatCannotBeWritten(t *testing.T) {
	long.SkipShort(t)
	b, dir := swarm(t), t.TempDir()
	want := ends(t, b, "", run.Options{})
	obstacle := filepath.Join(dir, "keyframe.0.rvg")
	for range 2 { // the second time it is due at once
		require.NoError(t, os.MkdirAll(filepath.Join(obstacle, "in the way"), 0o700))
		_, err := train(t, context.Background(), b, 1, run.Options{Dir: dir})
		require.ErrorContains(t, err, "writing "+obstacle+": ")
		require.NotErrorIs(t, err, run.ErrStopped)
	}
	require.NoError(t, os.RemoveAll(obstacle))
	require.Equal(t, want, ends(t, b, dir, run.Options{Resume: "must"}))
}

// A checkpoint goes on from its own keyframes and no others.
func TestKeyframesAreChecked(t *testing.T) {
	long.SkipShort(t)
	b, dir := swarm(t), t.TempDir()
	stoppedAt(t, b, dir, 5)
	const name, last = "keyframe.0.rvg", "keyframe.1.rvg"
	first := files(t, dir)
	require.True(t, bytes.Contains(first["checkpoint.rvg"], []byte(name)))
	stoppedAt(t, b, dir, 9)
	all := files(t, dir)
	require.True(t, bytes.Contains(all["checkpoint.rvg"], []byte(last)))
	// The two have different keyframes, so that the previous checkpoint can help.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "checkpoint.prev.rvg"), first["checkpoint.rvg"], 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), first[name], 0o600))
	const hint = "checkpoint.prev.rvg, of step 5, is intact: rename it to checkpoint.rvg to continue from there"
	refused := func(reason string) {
		t.Helper()
		_, err := train(t, context.Background(), b, 1, run.Options{Dir: dir})
		var file *run.FileError
		require.ErrorAs(t, err, &file)
		require.ErrorContains(t, err, reason)
		require.ErrorContains(t, err, hint)
	}
	path := filepath.Join(dir, last)
	require.NoError(t, os.Remove(path))
	refused("checkpoint.rvg: goes on from " + path + ", of step 6, which is missing")
	require.NoError(t, os.WriteFile(path, first[name], 0o600))
	refused("checkpoint.rvg: goes on from another " + path + " than that there: ")
	require.NoError(t, os.WriteFile(path, all["checkpoint.rvg"], 0o600))
	refused(path + ": holds a checkpoint, not a keyframe")
	for i := 0; i < len(all[last]); i += 1 + len(all[last])/31 {
		bad := bytes.Clone(all[last])
		bad[i] ^= 1 << (i % 8)
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		refused(path + ": ")
		require.NoError(t, os.WriteFile(path, all[last][:i], 0o600))
		refused(path + ": ")
	}
	// A previous checkpoint without its keyframe is no help.
	require.NoError(t, os.Remove(filepath.Join(dir, name)))
	_, err := train(t, context.Background(), b, 1, run.Options{Dir: dir})
	require.ErrorContains(t, err, path)
	require.NotContains(t, err.Error(), "intact")
	require.NoError(t, os.WriteFile(path, all[last], 0o600))
	require.Equal(t, ends(t, b, "", run.Options{}), ends(t, b, dir, run.Options{}))
}

// How much a checkpoint may hold is decided when a run begins.
func TestTrailsStayWhatTheyAre(t *testing.T) {
	long.SkipShort(t)
	b := swarm(t)
	want := ends(t, b, "", run.Options{})
	for _, from := range []int{0, 1 << 40} {
		dir := t.TempDir()
		run.SetTrailFrom(from)
		for _, step := range []int{2, 7} {
			stoppedAt(t, b, dir, step)
			run.SetTrailFrom(1<<40 - from)
		}
		require.Equal(t, from > 0, len(files(t, dir)["checkpoint.rvg"]) > 4*swarmParticles*swarmSize)
		require.Equal(t, want, ends(t, b, dir, run.Options{}))
	}
}

// Particles are scattered about the model that a run starts from.
func TestSwarmStartsFromAModel(t *testing.T) {
	b := swarm(t)
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
