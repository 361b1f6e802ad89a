//go:build !mpi

package mpi

// Present tells whether the program has MPI.
const Present = false

// Init returns ErrAbsent.
func Init() (World, error) { return nil, ErrAbsent }

// Host returns ErrAbsent.
func Host(int32) (Hosted, error) { return nil, ErrAbsent }
