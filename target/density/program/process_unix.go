//go:build unix && !linux

package program

import (
	"os/exec"
	"syscall"
)

// inherit keeps a terminal's signals from the program, so that the run can end in
// order. When this process ends, the program reads the end of its input.
func inherit(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endMarked and guard need a list of processes with their environments.
func endMarked(string)    {}
func guard(string) func() { return func() {} }
