package disk

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkSpace returns an error of ENOSPC if the file system of path has less than n bytes free
// for this user. It does not know of quotas. It returns nil on a file system that does not
// report its size.
func checkSpace(path string, n int64) error {
	var s unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &s) != nil || s.Blocks == 0 || s.Bsize <= 0 {
		return nil // opening the file reports an error
	}
	unit, blocks := uint64(s.Bsize), s.Bavail
	if s.Frsize > 0 {
		unit = uint64(s.Frsize) // size of a counted block
	}
	if os.Geteuid() == 0 {
		blocks = s.Bfree // including reserved blocks
	}
	if blocks > math.MaxInt64/unit || n <= int64(blocks*unit) {
		return nil
	}
	return fmt.Errorf("%w for %d bytes: %d are free", unix.ENOSPC, n, blocks*unit)
}
