package program

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A process is one running program. Its methods are for one goroutine, but for kill.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	words  *tail
	late   atomic.Bool // it was killed because it took too long
	timer  *time.Timer
	over   bool
	status error

	mutex  sync.Mutex
	reaped bool // its number may be another's
}

// A failure is what went wrong with a process.
type failure struct {
	what error
	died bool   // it ended by itself, so that another may do better
	late bool   // it took longer than it may
	tail string // of its standard error
}

// describe makes the error of a question about some states.
func (f *failure) describe(w *Workers, number int, x []float32, k []uint8) error {
	text := f.what.Error()
	if strings.HasPrefix(text, "target.command: ") {
		return f.what
	}
	d := w.config.Dim
	text = fmt.Sprintf("%s %s; it was asked about %d states, the first of them %s", w.name(number), text, len(x)/d, State(x[:d], Modes(k, 0, 1)))
	if f.tail != "" {
		text += "; the end of its standard error:\n" + f.tail
	}
	return errors.New(text)
}

// helloLen is the length of either side's greeting: RVGD, and as int32 the version,
// the coordinates, the modes and the bits of a number.
const helloLen = 20

func hello(dim, modes int) []byte {
	b := []byte("RVGD")
	for _, v := range []int{Version, dim, modes, 64} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// start gives a worker a process and greets it. If that fails the worker has none.
func (w *Workers) start(o *worker) *failure {
	c := &w.config
	p := &process{cmd: exec.Command(c.Command[0], c.Command[1:]...), words: &tail{}}
	p.cmd.Stderr = p.words
	p.cmd.WaitDelay = time.Second // for what the program has started itself
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
func (w *Workers) run(o *worker, p *process) (err error) {
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended != nil {
		return w.ended
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.timer = time.AfterFunc(time.Hour, func() {
		p.late.Store(true)
		p.kill()
	})
	p.timer.Stop()
	o.process = p
	return nil
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
	if out, ok := p.out.(*os.File); ok && out.SetReadDeadline(time.Now().Add(patience)) == nil {
		n, _ := io.ReadFull(out, text[len(begin):most])
		text = text[:len(begin)+n]
	}
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	return strings.ToValidUTF8(string(line), "�")
}

// talk writes and reads within a limit of time. After a failure the process has
// ended.
func (p *process) talk(question, answer []byte, limit time.Duration) *failure {
	p.timer.Reset(limit)
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
	p.timer.Stop()
	if err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !p.late.Load() {
		p.kill() // it may have closed its input, and live on
	}
	status := p.end()
	f := &failure{tail: p.words.String(), died: true}
	switch {
	case p.late.Load():
		f.what, f.died, f.late = fmt.Errorf("did not answer within %v", limit), false, true
	case read > 0:
		f.what = fmt.Errorf("ended within an answer, after %d of %d bytes (%v)", read, len(answer), status)
	default:
		f.what = fmt.Errorf("ended (%v)", status)
	}
	return f
}

// kill ends the process and, where the system can, what it has started.
func (p *process) kill() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.reaped {
		kill(p.cmd.Process)
	}
}

// end waits for the end of a process whose pipes it closes, and returns how it ended.
func (p *process) end() string {
	if !p.over {
		p.over = true
		p.in.Close()
		stubborn := time.AfterFunc(200*time.Millisecond, p.kill)
		p.status = p.cmd.Wait()
		p.mutex.Lock()
		p.reaped = true
		p.mutex.Unlock()
		stubborn.Stop()
		p.timer.Stop()
	}
	if p.status == nil {
		return "exit status 0"
	}
	return p.status.Error()
}

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
