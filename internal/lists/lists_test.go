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
