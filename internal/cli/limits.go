package cli

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/internal/memory"
)

// The files and the memory that every process needs. If it lacks them, Go's runtime ends it in
// the middle of its work, with a dump and the exit code of wrong usage.
const (
	minFiles        = 4         // besides stdin, stdout and stderr: two of the Go runtime's, and two of this program's at a time
	minAddressSpace = 256 << 20 // bytes
)

// checkLimits returns an error if the limits of open files or of the address space leave too
// little to begin. If the address space is limited, the garbage collector works harder as its
// memory comes near three quarters of what is left.
func checkLimits() error {
	if err := checkFiles(minFiles); err != nil {
		return fmt.Errorf("%w: the limit (ulimit -n) leaves fewer than %d", err, minFiles)
	}
	space, limited := memory.Space()
	if !limited {
		return nil
	}
	if space < minAddressSpace {
		return fmt.Errorf("the limit of the address space (ulimit -v) leaves %.0f MiB, and %d are needed", space/(1<<20), minAddressSpace>>20)
	}
	debug.SetMemoryLimit(int64(space * 0.75))
	return nil
}

// checkFiles returns an error if n more files cannot be opened. It duplicates stderr, for which
// the Go runtime opens no file of its own.
func checkFiles(n int) error {
	if n == 0 {
		return nil
	}
	f, err := unix.Dup(2)
	if err != nil {
		if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
			return err
		}
		return nil // stderr is closed, which says nothing of the limit
	}
	defer unix.Close(f)
	return checkFiles(n - 1)
}
