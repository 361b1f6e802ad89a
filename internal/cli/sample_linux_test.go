package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Samples that the disk cannot hold are refused before one is drawn.
func TestSamplesThatTheDiskCannotHold(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=1m")
	run := trained(t)
	o := revgen(t, dir, "sample", run, "-n", "1e6", "-o", "mount/x.npy")
	require.Equal(t, exitError, o.code)
	require.Regexp(t, `writing mount/x\.npy: no space left on device for 9000000 bytes: \d+ are free`, o.stderr)
	entries, err := os.ReadDir(filepath.Join(dir, "mount"))
	require.NoError(t, err)
	require.Empty(t, entries)
}
