package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mountTmpfs mounts an empty file system on dir/mount, or skips the test.
func mountTmpfs(t *testing.T, dir, options string) {
	t.Helper()
	path := filepath.Join(dir, "mount")
	require.NoError(t, os.Mkdir(path, 0o700))
	flags := uintptr(0)
	if options == "ro" {
		flags, options = syscall.MS_RDONLY, ""
	}
	if err := syscall.Mount("tmpfs", path, "tmpfs", flags, options); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(path, 0)) })
}
