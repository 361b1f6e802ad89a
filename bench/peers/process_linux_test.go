package peers

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
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

// What a peer has started ends with it, and all of them with us.
func TestProcessesOfAPeerEndWithIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", "sleep 600 & echo $!; wait")
	prepare(c)
	require.Equal(t, syscall.SIGKILL, c.SysProcAttr.Pdeathsig)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	cancel()
	require.Error(t, c.Wait())
	require.Eventually(t, func() bool { return gone(child) }, time.Minute, 10*time.Millisecond)
}

// gone reports whether a process has ended, and whoever has it has yet to look.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

// The processor time of a process is what /proc has of it, of which a tick is 10 ms.
func TestProcessorTime(t *testing.T) {
	long.SkipShort(t)
	c := exec.CommandContext(context.Background(), "sh", "-c", "while :; do :; done")
	prepare(c)
	require.NoError(t, c.Start())
	defer func() { _, _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL), c.Wait() }()
	before := ProcessorTime(c.Process.Pid)
	require.Eventually(t, func() bool { return ProcessorTime(c.Process.Pid)-before > 300*time.Millisecond }, time.Minute, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(-c.Process.Pid, syscall.SIGSTOP))
	time.Sleep(20 * time.Millisecond)
	at := ProcessorTime(c.Process.Pid)
	own := ProcessorTime(0)
	require.NoError(t, syscall.Kill(-c.Process.Pid, syscall.SIGKILL))
	_ = c.Wait()
	waited := c.ProcessState.UserTime() + c.ProcessState.SystemTime() // by the kernel's account of what has ended
	require.InDelta(t, waited.Seconds(), at.Seconds(), 0.05)
	require.GreaterOrEqual(t, ProcessorTime(0)-own, waited-50*time.Millisecond, "children that were waited for are ours")
}
