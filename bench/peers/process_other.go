//go:build !linux

package peers

import (
	"io/fs"
	"os/exec"
	"time"
)

func prepare(c *exec.Cmd) { c.WaitDelay = patience }

// pause waits for longer than the threads of OpenMP and OpenBLAS spin.
func (r *Process) pause() error {
	time.Sleep(40 * time.Millisecond)
	return nil
}

func (r *Process) resume() error { return nil }

func trusted(fs.FileInfo) bool { return true }

var programStart = time.Now()

// ProcessorTime returns the time on the wall, as there is no processor time here.
func ProcessorTime(int) time.Duration { return time.Since(programStart) }
