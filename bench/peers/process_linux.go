package peers

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// prepare puts a process into a group of its own, which is killed as a whole
// when its context is done, and has the kernel end it with this process, which
// one at rest would not notice.
func prepare(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = patience
}

// rest stops the process, so that threads which wait for work by spinning take
// no time from others.
func (r *Process) rest() error { return r.command.Process.Signal(syscall.SIGSTOP) }

// wake continues it.
func (r *Process) wake() error { return r.command.Process.Signal(syscall.SIGCONT) }

// trusted reports whether a file is owned by this user or by root.
func trusted(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && (owner.Uid == 0 || int(owner.Uid) == os.Getuid())
}
