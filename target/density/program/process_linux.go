package program

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// setProcessGroup keeps a terminal's signals from the program, so that the run can end in
// order, and ends the program when this process does.
func setProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killMarked ends all processes whose environment has a mark. It finds what a program has started,
// whatever group, session or parent that has by now.
func killMarked(mark string) {
	const rounds = 10 // processes may start others meanwhile
	for range rounds {
		found := false
		environments, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environments {
			text, err := os.ReadFile(path) // empty if the process has ended, an error if it is another user's
			if err != nil || !bytes.Contains(text, []byte(mark)) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				found = true
			}
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// guard starts a shell that kills processes with a mark when this process ends, also by SIGKILL:
// the shell waits for the end of a pipe. The function that is returned ends the shell.
func guard(mark string) func() {
	const script = `read -r end
for round in 1 2 3; do for file in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do file=${file%/environ}; kill -9 "${file#/proc/}"; done; done`
	shell := exec.Command("/bin/sh", "-c", script, "revgen-guard", mark)
	shell.Dir = "/"
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := shell.StdinPipe()
	if err != nil || shell.Start() != nil {
		return func() {} // the kernel still ends the programs themselves
	}
	return func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
		_ = pipe.Close()
	}
}
