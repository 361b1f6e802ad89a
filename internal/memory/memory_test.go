package memory

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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

// TestSpace: what a limit of the address space leaves is that less what the process has.
func TestSpace(t *testing.T) {
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_AS, &before))
	const most = 1 << 48 // beyond what processors have
	if before.Cur < most {
		t.Skip("the address space is limited")
	}
	_, limited := Space()
	require.Equal(t, before.Cur != unix.RLIM_INFINITY, limited)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: before.Max}))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &before)) }()
	space, limited := Space()
	require.True(t, limited)
	_, rest, found := strings.Cut(read("/proc/self/status"), "VmSize:")
	if !found {
		return
	}
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(t, err)
	require.InDelta(t, most-1024*kib, space, 256<<20)
	require.NotZero(t, kib)
}
