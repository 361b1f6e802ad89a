//go:build !mpi

package mpi

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAbsent: without MPI nothing has to be prepared, and there are no ranks to be had.
func TestAbsent(t *testing.T) {
	require.False(t, Present)
	require.NoError(t, Prepare())
	world, err := Init()
	require.Nil(t, world)
	require.Equal(t, ErrAbsent, err)
	hosted, err := Host(3)
	require.Nil(t, hosted)
	require.Equal(t, ErrAbsent, err)
	require.EqualError(t, &Failure{errors.New("lost")}, "lost")
}
