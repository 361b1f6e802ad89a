package disk

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWhatHasNoWayToADisk: directories of /proc cannot be put there, which is said.
func TestWhatHasNoWayToADisk(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip(err)
	}
	require.ErrorIs(t, SyncDir("/proc/self"), unix.EINVAL)
}
