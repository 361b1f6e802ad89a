// Package mpi makes the processes that mpirun starts ranks of a pool. It is there
// with the build tag mpi, over the system's MPI; without it every process stands
// alone.
package mpi

import (
	"errors"
	"time"

	"github.com/revgen/revgen/internal/pool"
)

// A World is all processes of a job. MPI is asked to hear from one thread alone
// (MPI_THREAD_FUNNELED): the methods must be called from the goroutine that called
// Init, which is locked to its thread; Abort alone may be called from any.
type World interface {
	pool.Ranks
	// Meet waits for all ranks to come to their end, by Meet, Finalize or Abort, and
	// reports whether they have, before patience ended.
	Meet(patience time.Duration) bool
	// Finalize ends the use of MPI before the process exits with a code; all ranks call
	// it.
	Finalize(code int) error
	// Abort ends all processes of the job, this one with the exit code; those that
	// come to their end at the same time, with codes of their own.
	Abort(code int)
}

// A Hosted job is the ranks of a communicator of a program that began MPI itself, and
// ends it. Its methods are called from a thread that may call MPI.
type Hosted interface {
	pool.Ranks // whose messages panic with a *Failure if MPI fails
	// Ready returns why MPI cannot be called, now and from this thread.
	Ready() error
	// Free gives the communicator back; all ranks call it.
	Free() error
}

// A Failure is an error of MPI in the middle of a step, which cannot be mended on one
// rank.
type Failure struct{ Err error }

func (f *Failure) Error() string { return f.Err.Error() }

// ErrAbsent is returned by Init and Host of a program without MPI.
var ErrAbsent = errors.New("this program was built without MPI; build it with -tags mpi, with a C compiler and the system's MPI")
