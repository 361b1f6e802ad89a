//go:build !unix

package program

import (
	"os"
	"os/exec"
)

// inherit does nothing: when this process ends, the program reads the end of its
// input.
func inherit(*exec.Cmd) {}

func kill(p *os.Process) { _ = p.Kill() }
