//go:build !mpi

package mpi

// Present tells whether the program has MPI.
const Present = false

// Prepare has nothing to do.
func Prepare() error { return nil }

// Init returns ErrAbsent.
func Init() (World, error) { return nil, ErrAbsent }

// Host returns ErrAbsent.
func Host(int32) (Hosted, error) { return nil, ErrAbsent }
