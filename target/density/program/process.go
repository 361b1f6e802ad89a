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

// A process is one running program. Its methods are for one goroutine, but for kill.
// Nothing waits for the other ends of its pipes, which others may hold after it.
type process struct {
	cmd    *exec.Cmd
	mark   string // of its environment, and of all that it starts
	in     *os.File
	out    *os.File
	errors *os.File // its standard error
	words  tail
	heard  chan struct{} // closed when words has all of errors
	ended  chan struct{} // and when the process has ended besides

	mutex  sync.Mutex
	reaped bool // its number may be another's
}

// A failure is what went wrong with a process.
type failure struct {
	what error
	died bool   // it ended by itself, so that another may do better
	late bool   // it took longer than it may
	tail string // of its standard error

	unequal bool // there are two answers, each by a process that lives
}

// describe makes the error of a question about some states.
func (f *failure) describe(w *Workers, number int, x []float32, k []uint8) error {
	if f.unequal {
		return f.what
	}
	d := w.config.Dim
	text := fmt.Sprintf("%s %v; it was asked about %d states, the first of them %s", w.name(number), f.what, len(x)/d, State(x[:d], lists.Part(k, 0, 1)))
	if f.tail != "" {
		text += "; the end of its standard error:\n" + f.tail
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

// start gives a worker a process and greets it. If that fails the worker has none.
func (w *Workers) start(o *worker) *failure {
	c := &w.config
	p := &process{cmd: exec.Command(c.Command[0], c.Command[1:]...), mark: w.mark(o.number), heard: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), p.mark)
	inherit(p.cmd)
	if err := w.run(o, p); err != nil {
		return &failure{what: fmt.Errorf("cannot be started: %w", err)}
	}
	want, got := hello(c.Dim, c.Modes), make([]byte, helloLen)
	f := p.talk(want, got, max(c.Timeout, w.patience))
	switch {
	case f != nil:
		if f.died {
			f.what = fmt.Errorf("%w before it had answered the greeting", f.what)
		} else if f.late {
			f.what = fmt.Errorf("%w of its start to the greeting", f.what)
		}
	case string(got[:4]) != "RVGD":
		f = &failure{what: fmt.Errorf("does not speak the protocol: it greets with %q instead of RVGD; %s", got[:4], outputIsForAnswers)}
	default:
		for i, what := range []string{"protocol version", "coordinates", "modes", "bits"} {
			have, need := int32(binary.LittleEndian.Uint32(got[4+4*i:])), int32(binary.LittleEndian.Uint32(want[4+4*i:]))
			if have != need {
				f = &failure{what: fmt.Errorf("is for %s %d, and the configuration has %d", what, have, need)}
				break
			}
		}
	}
	if f != nil {
		p.kill()
		p.end()
		o.set(nil)
	}
	return f
}

// run starts a process where Interrupt finds it.
func (w *Workers) run(o *worker, p *process) error {
	theirs, err := p.pipes()
	defer func() {
		for _, end := range theirs {
			_ = end.Close()
		}
	}()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err == nil {
		err = w.ended
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.close()
		return err
	}
	go func() {
		_, _ = io.Copy(&p.words, p.errors)
		close(p.heard)
	}()
	go p.reap()
	o.process = p
	return nil
}

// pipes makes the process's input, output and standard error, and returns its ends.
func (p *process) pipes() (theirs []*os.File, err error) {
	for i, ours := range []**os.File{&p.in, &p.out, &p.errors} {
		ends := make([]*os.File, 2)
		if ends[0], ends[1], err = os.Pipe(); err != nil {
			return theirs, err
		}
		if i == 0 {
			slices.Reverse(ends)
		}
		*ours, theirs = ends[0], append(theirs, ends[1])
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	return theirs, nil
}

// close closes this side's ends of the pipes, which ends what waits for them.
func (p *process) close() {
	for _, end := range []*os.File{p.in, p.out, p.errors} {
		_ = end.Close() // an error of one that there is not, or twice
	}
}

// exchange sends a question and reads the answer about so many rows.
func (p *process) exchange(question, answer []byte, rows int, limit time.Duration) *failure {
	if f := p.talk(question, answer, limit); f != nil {
		return f
	}
	if n := int32(binary.LittleEndian.Uint32(answer)); int(n) != rows {
		what := fmt.Errorf("answered about %d states instead of %d; %s", n, rows, outputIsForAnswers)
		if text := p.stray(answer[:4]); text != "" {
			what = fmt.Errorf("wrote %q where its answer about %d states should begin; %s", text, rows, outputIsForAnswers)
		}
		p.kill()
		p.end()
		return &failure{what: what, tail: p.words.String()}
	}
	return nil
}

// outputIsForAnswers is what programs forget that print.
const outputIsForAnswers = "nothing but answers may go to its standard output, and what it prints belongs on standard error"

// stray returns the line of text that stands where an answer should begin, "" if that
// is none: the number of states has a zero byte, which no text has.
func (p *process) stray(begin []byte) string {
	const patience, most = 50 * time.Millisecond, 60
	if bytes.IndexByte(begin, 0) >= 0 {
		return ""
	}
	text := append(make([]byte, 0, most), begin...)
	_ = p.out.SetReadDeadline(time.Now().Add(patience))
	n, _ := io.ReadFull(p.out, text[len(begin):most])
	text = text[:len(begin)+n]
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	return strings.ToValidUTF8(string(line), "�")
}

// talk writes and reads within a limit of time. After a failure the process has
// ended.
func (p *process) talk(question, answer []byte, limit time.Duration) *failure {
	end := time.Now().Add(limit)
	_, _ = p.in.SetWriteDeadline(end), p.out.SetReadDeadline(end) // errors of closed pipes, as what follows has
	_, err := p.in.Write(question)
	read := 0
	if err == nil {
		read, err = io.ReadFull(p.out, answer[:4])
	}
	if err == nil && len(answer) > 4 {
		// The rest of a greeting, or of an answer about as many states as it should be.
		if string(question[:4]) == "RVGD" || len(answer) == 4+8*int(binary.LittleEndian.Uint32(answer)) {
			var more int
			more, err = io.ReadFull(p.out, answer[4:])
			read += more
		}
	}
	if err == nil {
		return nil
	}
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if late || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		p.kill() // it may have closed its input, and live on
	}
	status := p.end()
	f := &failure{tail: p.words.String(), died: true}
	switch {
	case late:
		f.what, f.died, f.late = fmt.Errorf("did not answer within %v", limit), false, true
	case read > 0:
		f.what = fmt.Errorf("ended in the middle of an answer, after %d of %d bytes (%v)", read, len(answer), status)
	default:
		f.what = fmt.Errorf("ended (%v)", status)
	}
	return f
}

// kill ends the process with its group, and the talk with it.
func (p *process) kill() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		_ = p.cmd.Process.Kill()
	}
	_, _ = p.in.Close(), p.out.Close()
}

// reap waits for the process alone, and ends what it has left behind. Who holds its pipes
// for all that keeps nobody waiting for long.
func (p *process) reap() {
	_ = p.cmd.Wait()
	p.mutex.Lock()
	p.reaped = true
	p.mutex.Unlock()
	endMarked(p.mark)
	time.AfterFunc(patience, p.close)
	<-p.heard
	close(p.ended)
}

// end waits for the end of a process, and returns how it ended.
func (p *process) end() string {
	p.in.Close()
	stubborn := time.AfterFunc(patience/5, p.kill)
	<-p.ended
	stubborn.Stop()
	p.close()
	return p.cmd.ProcessState.String()
}

// patience is how long the pipes of a process stay open after its end.
const patience = time.Second

// tail keeps the last words that are written to it.
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
