package disk

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Room reports, as a kind of ENOSPC, that a file of n bytes cannot be written beside
// path: that its file system has less left for this user. Quotas are not seen, and a
// file system that does not tell its size has room.
func checkSpace(path string, n int64) error {
	var s unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &s) != nil || s.Blocks == 0 || s.Bsize <= 0 {
		return nil // or else opening the file says why
	}
	unit, blocks := uint64(s.Bsize), s.Bavail
	if s.Frsize > 0 {
		unit = uint64(s.Frsize) // what blocks are counted in
	}
	if os.Geteuid() == 0 {
		blocks = s.Bfree // with those that are reserved
	}
	if blocks > math.MaxInt64/unit || n <= int64(blocks*unit) {
		return nil
	}
	return fmt.Errorf("%w for %d bytes: %d are free", unix.ENOSPC, n, blocks*unit)
}
