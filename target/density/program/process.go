package program

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/revgen/revgen/internal/lists"
)

// A process is one running program. Its methods are for one goroutine, except kill.
// Processes that the program has started may hold the other ends of its pipes after its end.
// Nothing waits for them.
type process struct {
	cmd                   *exec.Cmd
	mark                  string   // in its environment, and in that of all that it starts
	stdin, stdout, stderr *os.File // this side's ends of its pipes
	stderrTail            tail
	stderrDone            chan struct{} // closed at the end of stderr
	done                  chan struct{} // closed after stderrDone, when the process has ended

	mutex  sync.Mutex
	reaped bool // another process may have its number
}

// A failure is what went wrong with a process.
type failure struct {
	cause       error
	died        bool   // it ended by itself, and a new process may succeed
	timedOut    bool   // it took longer than it may
	contradicts bool   // it lives, and a question has two answers
	stderr      string // the end of its standard error
}

// describe returns the error about a question.
func (f *failure) describe(w *Workers, number int, x []float32, k []uint8) error {
	if f.contradicts {
		return f.cause
	}
	d := w.config.Dim
	text := fmt.Sprintf("%s %v; it was asked about %d states, the first of them %s", w.name(number), f.cause, len(x)/d, State(x[:d], lists.Part(k, 0, 1)))
	if f.stderr != "" {
		text += "; the end of its standard error:\n" + f.stderr
	}
	return errors.New(text)
}

// helloLen is the length of either side's greeting: RVGD, and as int32 the version,
// the coordinates, the modes and the bits of a number.
const helloLen = 20

func hello(dim, modes int) []byte {
	b, _ := binary.Append([]byte("RVGD"), binary.LittleEndian, []int32{Version, int32(dim), int32(modes), 64}) // of a fixed size
	return b
}

// start gives a worker a process and exchanges greetings. The worker has no process if that fails.
func (w *Workers) start(o *worker) *failure {
	c := &w.config
	p := &process{cmd: exec.Command(c.Command[0], c.Command[1:]...), mark: w.mark(o.index), stderrDone: make(chan struct{}), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), p.mark)
	setProcessGroup(p.cmd)
	if err := w.run(o, p); err != nil {
		return &failure{cause: fmt.Errorf("cannot be started: %w", err)}
	}
	want, got := hello(c.Dim, c.Modes), make([]byte, helloLen)
	f := p.talk(want, got, max(c.Timeout, w.startTimeout))
	switch {
	case f != nil:
		if f.died {
			f.cause = fmt.Errorf("%w before it had answered the greeting", f.cause)
		} else if f.timedOut {
			f.cause = fmt.Errorf("%w of its start to the greeting", f.cause)
		}
	case string(got[:4]) != "RVGD":
		f = &failure{cause: fmt.Errorf("does not speak the protocol: it greets with %q instead of RVGD; %s", got[:4], outputIsForAnswers)}
	default:
		for i, name := range []string{"protocol version", "coordinates", "modes", "bits"} {
			have, need := int32(binary.LittleEndian.Uint32(got[4+4*i:])), int32(binary.LittleEndian.Uint32(want[4+4*i:]))
			if have != need {
				f = &failure{cause: fmt.Errorf("is for %s %d, and the configuration has %d", name, have, need)}
				break
			}
		}
	}
	if f != nil {
		p.kill()
		p.wait()
		o.setProcess(nil)
	}
	return f
}

// run starts a worker's process. Interrupt can kill it from then on.
func (w *Workers) run(o *worker, p *process) error {
	childEnds, err := p.pipes()
	defer func() {
		for _, end := range childEnds {
			_ = end.Close()
		}
	}()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err == nil {
		err = w.stopped
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.close()
		return err
	}
	go func() {
		_, _ = io.Copy(&p.stderrTail, p.stderr)
		close(p.stderrDone)
	}()
	go p.reap()
	o.process = p
	return nil
}

// pipes makes pipes for the process's input, output and standard error, and returns its ends.
func (p *process) pipes() (childEnds []*os.File, err error) {
	for i, end := range []**os.File{&p.stdin, &p.stdout, &p.stderr} {
		ends := make([]*os.File, 2)
		if ends[0], ends[1], err = os.Pipe(); err != nil {
			return childEnds, err
		}
		if i == 0 {
			slices.Reverse(ends)
		}
		*end, childEnds = ends[0], append(childEnds, ends[1])
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childEnds[0], childEnds[1], childEnds[2]
	return childEnds, nil
}

// close closes this side's ends of the pipes. Whatever waits for them ends.
func (p *process) close() {
	for _, end := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = end.Close() // an error if it is nil or closed already
	}
}

// exchange sends a question and reads the answer about a number of rows.
func (p *process) exchange(question, answer []byte, rows int, limit time.Duration) *failure {
	if f := p.talk(question, answer, limit); f != nil {
		return f
	}
	if n := int32(binary.LittleEndian.Uint32(answer)); int(n) != rows {
		what := fmt.Errorf("answered about %d states instead of %d; %s", n, rows, outputIsForAnswers)
		if text := p.strayText(answer[:4]); text != "" {
			what = fmt.Errorf("wrote %q where its answer about %d states should begin; %s", text, rows, outputIsForAnswers)
		}
		p.kill()
		p.wait()
		return &failure{cause: what, stderr: p.stderrTail.String()}
	}
	return nil
}

// outputIsForAnswers is advice about programs that print to their standard output.
const outputIsForAnswers = "nothing but answers may go to its standard output, and what it prints belongs on standard error"

// strayText returns the line of text that stands where an answer should begin, "" if that is no
// text: the number of states has a zero byte, and text has none.
func (p *process) strayText(start []byte) string {
	const wait, maxText = 50 * time.Millisecond, 60
	if bytes.IndexByte(start, 0) >= 0 {
		return ""
	}
	text := append(make([]byte, 0, maxText), start...)
	_ = p.stdout.SetReadDeadline(time.Now().Add(wait))
	n, _ := io.ReadFull(p.stdout, text[len(start):maxText])
	text = text[:len(start)+n]
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	return strings.ToValidUTF8(string(line), "�")
}

// talk writes a question and reads the answer within a limit of time. After a failure the
// process has ended.
func (p *process) talk(question, answer []byte, limit time.Duration) *failure {
	deadline := time.Now().Add(limit)
	_, _ = p.stdin.SetWriteDeadline(deadline), p.stdout.SetReadDeadline(deadline) // Write and Read report a closed pipe
	_, err := p.stdin.Write(question)
	read := 0
	if err == nil {
		read, err = io.ReadFull(p.stdout, answer[:4])
	}
	if err == nil && len(answer) > 4 {
		// The rest of a greeting, or of an answer about the right number of states.
		if string(question[:4]) == "RVGD" || len(answer) == 4+8*int(binary.LittleEndian.Uint32(answer)) {
			var n int
			n, err = io.ReadFull(p.stdout, answer[4:])
			read += n
		}
	}
	if err == nil {
		return nil
	}
	timedOut := errors.Is(err, os.ErrDeadlineExceeded)
	if timedOut || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		p.kill() // it may live on without its input
	}
	status := p.wait()
	f := &failure{stderr: p.stderrTail.String(), died: true}
	switch {
	case timedOut:
		f.cause, f.died, f.timedOut = fmt.Errorf("did not answer within %v", limit), false, true
	case read > 0:
		f.cause = fmt.Errorf("ended in the middle of an answer, after %d of %d bytes (%v)", read, len(answer), status)
	default:
		f.cause = fmt.Errorf("ended (%v)", status)
	}
	return f
}

// kill ends the process with its group, and closes the pipes, which ends talk.
func (p *process) kill() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		_ = p.cmd.Process.Kill()
	}
	_, _ = p.stdin.Close(), p.stdout.Close()
}

// reap waits for the process alone, and kills what it has left behind. A process that still holds
// the pipes delays it by pipeTimeout at most.
func (p *process) reap() {
	_ = p.cmd.Wait()
	p.mutex.Lock()
	p.reaped = true
	p.mutex.Unlock()
	killMarked(p.mark)
	time.AfterFunc(pipeTimeout, p.close)
	<-p.stderrDone
	close(p.done)
}

// wait closes the input of a process and waits for its end. It returns how the process ended.
func (p *process) wait() string {
	p.stdin.Close()
	killTimer := time.AfterFunc(pipeTimeout/5, p.kill)
	<-p.done
	killTimer.Stop()
	p.close()
	return p.cmd.ProcessState.String()
}

// pipeTimeout is how long the pipes of a process stay open after its end.
const pipeTimeout = time.Second

// A tail keeps the last tailLen bytes that are written to it.
type tail struct {
	mutex sync.Mutex
	text  []byte
}

const tailLen = 2048

func (t *tail) Write(b []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - tailLen; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "�"))
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
