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

// inherit keeps a terminal's signals from the program, so that the run can end in
// order, and ends the program when this process does.
func inherit(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// endMarked ends all processes whose environment has a mark: what a program has started,
// whatever group, session or parent that has by now.
func endMarked(mark string) {
	const rounds = 10 // for what starts others meanwhile
	for range rounds {
		found := false
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range all {
			text, err := os.ReadFile(path) // empty of a process that has ended, an error of another user's
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

// guard starts a shell that ends what has a mark when this process ends, by SIGKILL too:
// then it reads the end of a pipe. The function that is returned ends the shell.
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
