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
