package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTotal(t *testing.T) {
	bytes, ok := total("MemTotal:       24689764 kB\nMemFree:         1234 kB\n")
	require.True(t, ok)
	require.Equal(t, 24689764.0*1024, bytes)
	for _, text := range []string{"", "MemTotal:", "MemTotal: many kB", "MemTotal: 5 pages"} {
		_, ok := total(text)
		require.False(t, ok, text)
	}
	require.Greater(t, Limit(), float64(1<<20))
}
