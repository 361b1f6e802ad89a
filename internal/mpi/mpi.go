// Package mpi makes the processes that mpirun starts ranks of a pool. It is there
// with the build tag mpi, over the system's MPI; without it every process stands
// alone.
package mpi

import (
	"errors"

	"github.com/revgen/revgen/internal/pool"
)

// A World is all processes of a job. Its methods may be called from any goroutine,
// one at a time.
type World interface {
	pool.Ranks
	// Finalize ends the use of MPI; all ranks call it.
	Finalize() error
	// Abort ends all processes of the job with the exit code.
	Abort(code int)
}

// ErrAbsent is returned by Init of a program without MPI.
var ErrAbsent = errors.New("this program was built without MPI; build it with -tags mpi, with a C compiler and the system's MPI")
