package peers

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// prepare puts a process into a group of its own, which is killed as a whole when its context
// is done. The kernel kills the process when this one ends, which it would not notice while
// it is stopped.
func prepare(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = patience
}

// pause stops the process, so that its threads, which spin while they wait for work, take no
// time from others.
func (r *Process) pause() error { return r.command.Process.Signal(syscall.SIGSTOP) }

// resume continues the process.
func (r *Process) resume() error { return r.command.Process.Signal(syscall.SIGCONT) }

// trusted reports whether a file is owned by this user or by root.
func trusted(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && (owner.Uid == 0 || int(owner.Uid) == os.Getuid())
}

// tick is the unit of times in /proc.
const tick = time.Second / 100

// ProcessorTime returns the processor time of a running process, or of this one if pid is 0,
// including its children that have been waited for.
func ProcessorTime(pid int) (sum time.Duration) {
	if pid == 0 {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var r syscall.Rusage
			if syscall.Getrusage(who, &r) == nil {
				sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
			}
		}
		return sum
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, fields, ok := strings.Cut(string(text), ") "); err == nil && ok {
		for _, field := range strings.Fields(fields)[11:15] { // utime, stime, and those of their children
			n, _ := strconv.ParseInt(field, 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
