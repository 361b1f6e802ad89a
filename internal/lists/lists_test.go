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

func TestPart(t *testing.T) {
	require.Nil(t, Part([]uint8(nil), 1, 2))
	require.Equal(t, []uint8{2}, Part([]uint8{1, 2, 3}, 1, 2))
}

func TestColumn(t *testing.T) {
	require.Equal(t, []int{2, 5}, Column([]int{1, 2, 3, 4, 5, 6}, 1, 3))
	require.Empty(t, Column([]int{}, 1, 3))
}

func TestRange(t *testing.T) {
	require.Equal(t, []int{0, 1, 2}, Range(0, 3))
	require.Equal(t, []uint64{2, 3}, Range[uint64](2, 4))
	require.Equal(t, []int{}, Range(5, 5))
}

// TestChoose: in the order of all, and an unknown name is an error.
func TestChoose(t *testing.T) {
	chosen, err := Choose([]int{1, 2, 3}, []string{"3", "1"}, strconv.Itoa, "no %s among %s")
	require.NoError(t, err)
	require.Equal(t, []int{1, 3}, chosen)
	chosen, err = Choose([]int{1, 2}, nil, strconv.Itoa, "")
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, chosen)
	_, err = Choose([]int{1, 2}, []string{"1", "5"}, strconv.Itoa, "no %s among %s")
	require.EqualError(t, err, "no 5 among 1, 2")
}
