//go:build !linux

package peers

import (
	"io/fs"
	"os/exec"
	"time"
)

func prepare(c *exec.Cmd) { c.WaitDelay = patience }

// rest waits for longer than the threads of OpenMP and OpenBLAS spin.
func (r *Process) rest() error {
	time.Sleep(40 * time.Millisecond)
	return nil
}

func (r *Process) wake() error { return nil }

func trusted(fs.FileInfo) bool { return true }

var began = time.Now()

// Processor returns the time on the wall, the best that is known here.
func Processor(int) time.Duration { return time.Since(began) }
