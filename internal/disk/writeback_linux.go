package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback begins to write n bytes of a file to the disk, so that Sync takes less
// time. It does not wait, and promises nothing.
func startWriteback(file *os.File, offset, n int64) {
	_ = unix.SyncFileRange(int(file.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
