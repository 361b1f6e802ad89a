package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestAllProcessors holds the sum over processors against the system's own, of all modes but
// idle and waiting.
func TestAllProcessors(t *testing.T) {
	total := func() (sum time.Duration, processors int) {
		text, err := os.ReadFile("/proc/stat")
		if err != nil {
			t.Skip(err)
		}
		var user, nice, system, idle, waiting, interrupts, soft, stolen int64
		_, err = fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &waiting, &interrupts, &soft, &stolen)
		require.NoError(t, err)
		return time.Duration(user+nice+system+interrupts+soft+stolen) * 10 * time.Millisecond, strings.Count(string(text), "\ncpu")
	}
	before, processors := total()
	all := allProcessors()
	after, _ := total()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() != processors || before == 0 {
		t.Skip("this process may not use all of them, or the system does not say")
	}
	slack := time.Duration(6*processors+6) * 10 * time.Millisecond // of ticks that are rounded one by one
	require.GreaterOrEqual(t, all, before-slack)
	require.LessOrEqual(t, all, after+slack)
	u := processorUsage(nil)
	require.WithinDuration(t, time.Now(), u.at, time.Minute)
	require.GreaterOrEqual(t, u.busy, all-slack)
	require.Positive(t, u.own)
	require.Less(t, u.own, u.busy)
}
