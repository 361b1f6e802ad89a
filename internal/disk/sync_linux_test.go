package disk

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWhatHasNoWayToADisk: files and directories of /proc cannot be put there, which is said.
func TestWhatHasNoWayToADisk(t *testing.T) {
	const file = "/proc/self/status"
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	require.EqualError(t, Settle(file), "writing "+file+": invalid argument")
	require.ErrorIs(t, SyncDir("/proc/self"), unix.EINVAL)
}
