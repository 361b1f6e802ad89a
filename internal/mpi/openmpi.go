//go:build mpi && !mpich

package mpi

// #cgo pkg-config: ompi
import "C"

// finalizeOnAbort is false because Open MPI's mpirun passes on what ranks write more reliably if MPI_Abort
// ends it than if a signal does after ranks have exited.
const finalizeOnAbort = false

func linger() {}
