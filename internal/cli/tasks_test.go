package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// task runs the program as one of n that srun starts.
func task(t *testing.T, dir string, i, n int, args ...string) outcome {
	t.Helper()
	cmd := command(t, dir, args...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("SLURM_PROCID=%d", i), fmt.Sprintf("SLURM_STEP_NUM_TASKS=%d", n))
	return finish(t, cmd)
}

func TestTasksSampleTheirParts(t *testing.T) {
	run, dir := trained(t), t.TempDir()
	whole := ok(t, dir, "sample", run, "-n", "100", "-q", "-o", "-").stdout
	var parts []byte
	for i := range 3 {
		o := task(t, dir, i, 3, "sample", run, "-n", "100", "-q", "--shard", "auto", "-o", "part-%t.npy")
		require.Zero(t, o.code, o.stderr)
		part, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("part-%d.npy", i)))
		require.NoError(t, err)
		parts = append(parts, part[128:]...) // after the header
	}
	require.True(t, bytes.Equal([]byte(whole[128:]), parts))

	o := task(t, dir, 1, 3, "sample", run, "-n", "100", "--shard", "auto", "-o", "part.npy")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "all 3 tasks would write part.npy; put %t")
	o = task(t, dir, 3, 3, "sample", run, "-n", "100", "--shard", "auto", "-o", "part-%t.npy")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "part 3 does not exist among 3")
}

// TestTasksDoNotShareARun: several processes with one run directory would each
// train the whole.
func TestTasksDoNotShareARun(t *testing.T) {
	dir := t.TempDir()
	args := []string{"train", "--set", "training.steps=2", "--set", "evaluation.samples=100", "-q"}
	o := task(t, dir, 1, 2, append(args, "-o", "run")...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "one of 2 processes that srun started")
	require.NoFileExists(t, filepath.Join(dir, "run"))
	o = task(t, dir, 1, 2, append(args, "-o", "run-%t")...)
	require.Zero(t, o.code, o.stderr)
	require.FileExists(t, filepath.Join(dir, "run-1", "model.rvg"))
	o = task(t, dir, 0, 1, append(args, "-o", "alone")...)
	require.Zero(t, o.code, o.stderr)
}
