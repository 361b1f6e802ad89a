// Package mpi makes the processes that mpirun starts ranks of a pool. With the build tag
// mpi it uses the system's MPI; without the tag every process stands alone.
package mpi

import (
	"errors"
	"time"

	"github.com/revgen/revgen/internal/pool"
)

// A World is all processes of a job. MPI expects calls from one thread alone
// (MPI_THREAD_FUNNELED), so the methods must be called from the goroutine that called
// Init, which is locked to its thread. Only Abort may be called from any.
type World interface {
	pool.Ranks
	// Meet waits until all ranks have called Meet, Finalize or Abort, for as long as
	// patience at most. It reports whether they have.
	Meet(patience time.Duration) bool
	// Finalize ends the use of MPI before the process exits with a code. All ranks call
	// it.
	Finalize(code int) error
	// Abort ends all processes of the job, this one with the exit code. Processes that
	// call Abort or Finalize at the same time end with codes of their own.
	Abort(code int)
}

// A Hosted job is the ranks of a communicator of a host program, which begins and ends
// MPI itself. Its methods are called from a thread that may call MPI.
type Hosted interface {
	pool.Ranks // whose messages panic with a *Failure if MPI fails
	// Ready returns why MPI cannot be called, now and from this thread.
	Ready() error
	// Free gives the communicator back. All ranks call it.
	Free() error
}

// A Failure is an error of MPI in the middle of a step, which one rank alone cannot mend.
type Failure struct{ Err error }

func (f *Failure) Error() string { return f.Err.Error() }

// ErrAbsent is returned by Init and Host of a program without MPI.
var ErrAbsent = errors.New("this program was built without MPI; build it with -tags mpi, with a C compiler and the system's MPI")
