package cli

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/internal/memory"
)

// The files and memory that a process needs before it does anything. Without them Go's runtime
// ends it in the middle of its work, with a dump and the exit code of wrong usage.
const (
	fewestFiles = 4 // besides stdin, stdout and stderr: two of Go's own, and two that are open at a time
	leastSpace  = 256 << 20
)

// enough reports that limits leave the process too little to begin, and lets the garbage
// collector work harder as its memory comes near to one.
func enough() error {
	if err := spare(fewestFiles); err != nil {
		return fmt.Errorf("%w: the limit (ulimit -n) leaves fewer than %d", err, fewestFiles)
	}
	space, limited := memory.Space()
	if !limited {
		return nil
	}
	if space < leastSpace {
		return fmt.Errorf("the limit of the address space (ulimit -v) leaves %.0f MiB, and %d are needed", space/(1<<20), leastSpace>>20)
	}
	debug.SetMemoryLimit(int64(space * 0.75))
	return nil
}

// spare reports that so many files cannot be open besides those that are, by calls for which
// Go opens none of its own.
func spare(n int) error {
	if n == 0 {
		return nil
	}
	f, err := unix.Dup(2)
	if err != nil {
		if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
			return err
		}
		return nil // stderr is closed
	}
	defer unix.Close(f)
	return spare(n - 1)
}
