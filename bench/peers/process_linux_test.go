package peers

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPeersRestBetweenTurns(t *testing.T) {
	r := start(t, "c-gram", Setting{Threads: 2})
	_, err := r.About()
	require.NoError(t, err)
	state := func() string {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.command.Process.Pid))
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(stat), ") ")
		return rest[:1]
	}
	require.Eventually(t, func() bool { return state() == "T" }, 10*time.Second, time.Millisecond)
	_, err = r.About()
	require.NoError(t, err, "a peer at rest is woken")
}
