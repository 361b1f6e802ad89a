package peers

import (
	"os/exec"
	"syscall"
)

// prepare has the kernel end the process with this one, which a process at rest
// would not notice.
func prepare(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// rest stops the process, so that threads which wait for work by spinning take
// no time from others.
func (r *Process) rest() error { return r.command.Process.Signal(syscall.SIGSTOP) }

// wake continues it.
func (r *Process) wake() error { return r.command.Process.Signal(syscall.SIGCONT) }
