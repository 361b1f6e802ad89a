package disk

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestCheckSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, checkSpace(path, 1))
	err := checkSpace(path, 1<<62) // more than any disk
	require.ErrorIs(t, err, unix.ENOSPC)
	require.Regexp(t, `^no space left on device for 4611686018427387904 bytes: \d+ are free$`, err.Error())
	require.NoError(t, checkSpace(filepath.Join(filepath.Dir(path), "none", "x.npy"), 1<<62), "opening the file says that there is no directory")
	require.NoError(t, checkSpace("/proc/x.npy", 1<<62), "a file system of no size")
}
