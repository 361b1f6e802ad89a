package lists

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMap(t *testing.T) {
	require.Equal(t, []string{"3", "1", "2"}, Map([]int{3, 1, 2}, strconv.Itoa))
	require.Nil(t, Map([]int{}, strconv.Itoa))
}

func TestRange(t *testing.T) {
	require.Equal(t, []int{0, 1, 2}, Range(0, 3))
	require.Equal(t, []uint64{2, 3}, Range[uint64](2, 4))
	require.Equal(t, []int{}, Range(5, 5))
}
