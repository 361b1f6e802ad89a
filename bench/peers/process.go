package peers

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Setting is the numbers of threads of a peer.
type Setting struct {
	Threads int // of OpenMP, or of the whole peer
	BLAS    int // of OpenBLAS; 0 means Threads
}

// A Process is a running peer, which is stopped while it has no command to answer. It is used
// from one goroutine at a time.
type Process struct {
	Peer *Peer

	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	dir     string // of its files: arrays in transit, and its standard error
	closed  bool
}

// Start starts a peer, after compiling it if this workshop has not done so. The
// error is a *MissingError if something needs to be installed.
func (w *Workshop) Start(p *Peer, s Setting) (*Process, error) {
	words, err := w.command(p)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(w.dir, "process-*")
	if err != nil {
		return nil, err
	}
	r := &Process{Peer: p, dir: dir}
	r.command = exec.CommandContext(w.ctx, words[0], words[1:]...)
	r.command.Dir = dir
	r.command.Env = p.environment(os.Environ(), s)
	prepare(r.command)
	stderr, err := os.Create(r.stderrPath())
	if err == nil {
		defer stderr.Close() // the process has inherited it by then
		r.command.Stderr = stderr
		r.stdin, err = r.command.StdinPipe()
	}
	if err == nil {
		var out io.ReadCloser
		if out, err = r.command.StdoutPipe(); err == nil {
			r.stdout = bufio.NewReader(out)
			err = r.command.Start()
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	w.started = append(w.started, r)
	return r, nil
}

// Close ends the process.
func (r *Process) Close() error {
	r.closed = true
	r.stdin.Close()
	err := errors.Join(r.resume(), r.command.Wait())
	return errors.Join(err, os.RemoveAll(r.dir))
}

// ask sends one line and returns the text of the answer.
func (r *Process) ask(words ...any) (string, error) {
	if err := r.resume(); err != nil {
		return "", r.failure(err)
	}
	line := fmt.Sprintln(words...)
	if _, err := io.WriteString(r.stdin, line); err != nil {
		return "", r.failure(err)
	}
	answer, err := r.stdout.ReadString('\n')
	if err != nil {
		return "", r.failure(err)
	}
	if err := r.pause(); err != nil {
		return "", r.failure(err)
	}
	status, text, _ := strings.Cut(strings.TrimSpace(answer), " ")
	if status != "ok" {
		return "", fmt.Errorf("%s: %s: %s", r.Peer.Name, strings.TrimSpace(line), text)
	}
	return strings.TrimSpace(text), nil
}

func (r *Process) failure(err error) error {
	stderr, _ := os.ReadFile(r.stderrPath())
	return fmt.Errorf("%s ended unexpectedly: %s", r.Peer.Name, lastLine(stderr, err))
}
func (r *Process) stderrPath() string { return filepath.Join(r.dir, "stderr") }

// About describes the peer: versions, settings, threads.
func (r *Process) About() (string, error) { return r.ask("about") }

// Load gives the peer an array of float32, int32 or uint64 numbers.
func (r *Process) Load(name string, numbers any) error {
	data, err := binary.Append(nil, binary.NativeEndian, numbers)
	if err != nil {
		return err
	}
	path, err := r.File(name, data)
	if err != nil {
		return err
	}
	_, err = r.ask("load", name, path)
	return err
}

// Forget has the peer drop its arrays.
func (r *Process) Forget() error {
	_, err := r.ask("forget")
	return err
}

// Store reads one of the peer's arrays into a slice of the right length.
func (r *Process) Store(name string, numbers any) error {
	path := filepath.Join(r.dir, name)
	if _, err := r.ask("store", name, path); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if size := binary.Size(numbers); len(data) != size {
		return fmt.Errorf("%s: array %s has %d bytes, not %d", r.Peer.Name, name, len(data), size)
	}
	_, err = binary.Decode(data, binary.NativeEndian, numbers)
	return err
}

// File writes a file that the peer can read and returns its path.
func (r *Process) File(name string, data []byte) (string, error) {
	path := filepath.Join(r.dir, name)
	return path, os.WriteFile(path, data, 0o600)
}

// Select chooses the operation that Run repeats.
func (r *Process) Select(words ...any) error {
	_, err := r.ask(append([]any{"select"}, words...)...)
	return err
}

// Run repeats the operation and returns the time that the peer measured.
func (r *Process) Run(calls int) (time.Duration, error) {
	text, err := r.ask("run", calls)
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ns < 0 {
		return 0, fmt.Errorf("%s: %q is not a time in nanoseconds", r.Peer.Name, text)
	}
	return time.Duration(ns), nil
}

// ProcessorTime returns the processor time of the process, including its children that it has
// waited for.
func (r *Process) ProcessorTime() time.Duration { return ProcessorTime(r.command.Process.Pid) }
