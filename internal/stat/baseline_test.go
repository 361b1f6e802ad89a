package stat

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeaveOneOut(t *testing.T) {
	values := []float32{1, 5, -2, 4, 3, 7, 9}
	LeaveOneOut(values)
	require.InDeltaSlice(t, []float32{1 - 7.0/3, 5 - 1, -2 - 10.0/3, 4 - 4.0/3, 3 - 8, 7 - 6, 9 - 5}, values, 1e-6)
	one := []float32{3}
	LeaveOneOut(one)
	require.Zero(t, one[0])
}

func TestHalves(t *testing.T) {
	require.Equal(t, 3, Middle(6))
	require.Equal(t, 4, Middle(7))
	for i, want := range []int{0, 0, 0, 0, 1, 1, 1} {
		require.Equal(t, want, Half(i, 7))
	}
	require.Equal(t, []int{4, 3, 3, 3}, []int{HalfSize(0, 7), HalfSize(1, 7), HalfSize(0, 6), HalfSize(1, 6)})
}
