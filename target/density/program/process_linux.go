package program

import (
	"os"
	"os/exec"
	"syscall"
)

// inherit keeps a terminal's signals from the program, so that the run can end in
// order, and ends the program when this process does.
func inherit(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
