//go:build unix && !linux

package program

import (
	"os/exec"
	"syscall"
)

// setProcessGroup keeps a terminal's signals from the program, so that the run can end in
// order. When this process ends, the program reads the end of its input.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killMarked and guard do nothing: they need a list of processes with their environments.
func killMarked(string)   {}
func guard(string) func() { return func() {} }
