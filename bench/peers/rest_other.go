//go:build !linux

package peers

import (
	"os/exec"
	"time"
)

func prepare(*exec.Cmd) {}

// rest waits for longer than the threads of OpenMP and OpenBLAS spin.
func (r *Process) rest() error {
	time.Sleep(40 * time.Millisecond)
	return nil
}

func (r *Process) wake() error { return nil }
