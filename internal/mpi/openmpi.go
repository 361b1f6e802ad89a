//go:build mpi && !mpich

package mpi

// #cgo pkg-config: ompi
import "C"

// orderly says no: what ranks write is passed on more reliably by an mpirun that is asked
// to abort than by one that a signal ends when ranks have exited.
const orderly = false

func linger() {}
