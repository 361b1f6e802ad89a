package program

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/revgen/revgen/internal/lists"
)

// Version is the version of the protocol.
const Version = 1

// A Config is a program's command, and the dimensions of the states it is asked about.
type Config struct {
	Command    []string // the program and its arguments
	Dim, Modes int      // of a state; 0 modes if it has none
	Timeout    time.Duration
	Processes  int
}

const (
	maxRows             = 256 // of a question
	checkEvery          = 256 // one of so many questions of a process is asked twice
	defaultStartTimeout = 60 * time.Second
)

// Workers are the processes of one program. They begin with the first question and
// end with Close or Interrupt.
type Workers struct {
	config       Config
	created      int64         // time, part of marks
	startTimeout time.Duration // of a greeting, unless Config.Timeout is longer
	idle         chan *worker
	workers      []*worker
	startOnce    sync.Once

	mutex         sync.Mutex
	stopped       error     // why no question is answered any more
	checkQuestion *question // every process must give the same answer to it
	stopGuard     func()
}

// A worker has one process at a time. It replaces a process that dies.
type worker struct {
	owner        *Workers
	index        int
	process      *process
	checked      *question // the checkQuestion that the process has answered correctly
	startFailure *failure  // of a first process that did not come up in time
	answers      int       // number of questions that have been answered

	// Buffers.
	question, answer, repeated []byte
}

// A question is some states and the answer of a process.
type question struct {
	x               []float32
	k               []uint8
	request, answer []byte
	allZero         bool // the density is 0 at all states, which says little about a process
}

// New returns workers whose processes have not begun.
func New(c Config) *Workers {
	w := &Workers{config: c, created: time.Now().UnixNano(), startTimeout: defaultStartTimeout, idle: make(chan *worker, c.Processes), stopGuard: func() {}}
	row := 8 * c.Dim
	if c.Modes > 0 {
		row += 4
	}
	for i := range c.Processes {
		o := &worker{
			owner: w, index: i, question: make([]byte, 4+maxRows*row),
			answer: make([]byte, 4+8*maxRows), repeated: make([]byte, 4+8*maxRows),
		}
		w.workers = append(w.workers, o)
		w.idle <- o
	}
	return w
}

// Evaluate sets dst[r] = ln π of the states x, [len(dst)][dim], in the modes k, nil
// if there are none. It may be called concurrently. Once all processes run it
// allocates nothing.
func (w *Workers) Evaluate(dst []float64, x []float32, k []uint8) error {
	w.startOnce.Do(w.startAll)
	o := <-w.idle
	defer func() { w.idle <- o }()
	d := w.config.Dim
	for lo := 0; lo < len(dst); lo += maxRows {
		hi := min(lo+maxRows, len(dst))
		if err := o.evaluate(dst[lo:hi], x[lo*d:hi*d], lists.Part(k, lo, hi)); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts all processes at the same time, since interpreters start slowly. The first
// question starts a process again if that fails, and reports a second failure. A process that
// did not come up in time is not started again.
func (w *Workers) startAll() {
	w.mutex.Lock()
	if w.stopped == nil {
		w.stopGuard = guard(w.mark(-1))
	}
	w.mutex.Unlock()
	w.forEach(func(o *worker) {
		if f := w.start(o); f != nil && f.timedOut {
			o.startFailure = f
		}
	})
}

// forEach calls body for all workers concurrently, as soon as they are idle.
func (w *Workers) forEach(body func(o *worker)) {
	var group sync.WaitGroup
	for range w.workers {
		o := <-w.idle
		group.Go(func() {
			body(o)
			w.idle <- o
		})
	}
	group.Wait()
}

// Interrupt ends the processes at once and for good. All questions, also those under way, fail
// with the given error.
func (w *Workers) Interrupt(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.stopped == nil {
		w.stopped = err
	}
	for _, o := range w.workers {
		if o.process != nil {
			o.process.kill()
		}
	}
}

// Close ends the processes, and all that they have started. Later questions fail.
func (w *Workers) Close() error {
	w.Interrupt(context.Canceled)
	w.forEach(func(o *worker) {
		if o.process != nil {
			o.process.wait()
		}
		o.setProcess(nil)
	})
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.stopGuard()
	w.stopGuard = func() {}
	return nil
}

// mark returns the mark in the environment of a worker's process. The mark of index −1 is the
// part that all processes share.
func (w *Workers) mark(index int) string {
	mark := fmt.Sprintf("REVGEN_PROGRAM=%d-%d-", os.Getpid(), w.created)
	if index >= 0 {
		mark += fmt.Sprintf("%d.", index)
	}
	return mark
}

// stopCause returns why no question is answered any more, nil if questions are answered.
func (w *Workers) stopCause() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.stopped
}

// name returns the name of a worker in errors.
func (w *Workers) name(index int) string {
	return fmt.Sprintf("target.command: worker %d (%s)", index, strings.Join(w.config.Command, " "))
}

// evaluate asks up to maxRows states. A process that dies is replaced once.
func (o *worker) evaluate(dst []float64, x []float32, k []uint8) error {
	question, answer := o.encode(x, k), o.answer[:4+8*len(dst)]
	for attempt := 0; ; attempt++ {
		err := o.ask(question, answer, len(dst))
		if err == nil {
			err = o.checkAnswers(question, answer, x, k)
		}
		if stopped := o.owner.stopCause(); stopped != nil {
			return stopped
		}
		if err == nil {
			break
		}
		if !err.contradicts {
			o.setProcess(nil)
		}
		if attempt > 0 || !err.died {
			return err.describe(o.owner, o.index, x, k)
		}
	}
	o.answers++
	for r := range dst {
		dst[r] = answerAt(answer, r)
	}
	return nil
}

// checkAnswers repeats a question now and then, and puts the checkQuestion to a process that has
// not answered it. Two different answers are an error.
func (o *worker) checkAnswers(question, answer []byte, x []float32, k []uint8) *failure {
	first := o.owner.recordQuestion(question, answer, x, k)
	if o.answers%checkEvery == 0 {
		if f := o.askAgain(question, answer, x, k); f != nil {
			return f
		}
	}
	if o.checked != first {
		if f := o.askAgain(first.request, first.answer, first.x, first.k); f != nil {
			return f
		}
		o.checked = first
	}
	return nil
}

// askAgain repeats a question that has been answered, and compares the answers.
func (o *worker) askAgain(question, answer []byte, x []float32, k []uint8) *failure {
	repeated := o.repeated[:len(answer)]
	if f := o.ask(question, repeated, (len(answer)-4)/8); f != nil {
		return f
	}
	d := o.owner.config.Dim
	for r := range (len(answer) - 4) / 8 {
		if p, q := answerAt(answer, r), answerAt(repeated, r); math.Float64bits(p) != math.Float64bits(q) && (p == p || q == q) {
			return &failure{contradicts: true, cause: fmt.Errorf("%s: two answers to one question, %v and %v, at %s; ln π must be a function of the state alone, whichever process is asked and whenever",
				o.owner.name(o.index), p, q, State(x[r*d:(r+1)*d], lists.Part(k, r, r+1)))}
		}
	}
	return nil
}

// encode writes the question about states into the worker's buffer.
func (o *worker) encode(x []float32, k []uint8) []byte {
	rows := len(x) / o.owner.config.Dim
	b := o.question
	binary.LittleEndian.PutUint32(b, uint32(rows))
	end := 4
	for _, v := range x {
		binary.LittleEndian.PutUint64(b[end:], math.Float64bits(float64(v)))
		end += 8
	}
	for _, mode := range k {
		binary.LittleEndian.PutUint32(b[end:], uint32(mode))
		end += 4
	}
	return b[:end]
}

func answerAt(answer []byte, r int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(answer[4+8*r:]))
}

// recordQuestion returns the question that every process must answer: the first whose density is
// not 0 everywhere, or the first of all until there is one.
func (w *Workers) recordQuestion(request, answer []byte, x []float32, k []uint8) *question {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.checkQuestion == nil || w.checkQuestion.allZero {
		allZero := true
		for r := range (len(answer) - 4) / 8 {
			allZero = allZero && math.IsInf(answerAt(answer, r), -1)
		}
		if w.checkQuestion == nil || !allZero {
			w.checkQuestion = &question{slices.Clone(x), slices.Clone(k), slices.Clone(request), slices.Clone(answer), allZero}
		}
	}
	return w.checkQuestion
}

// ask sends a question to the process, and waits for the answer about a number of rows. It starts
// a process if there is none.
func (o *worker) ask(question, answer []byte, rows int) *failure {
	if o.startFailure != nil {
		return o.startFailure
	}
	if o.process == nil {
		o.checked = nil
		if err := o.owner.start(o); err != nil {
			return err
		}
	}
	return o.process.exchange(question, answer, rows, o.owner.config.Timeout)
}

// setProcess changes the process under the mutex, since Interrupt reads it.
func (o *worker) setProcess(p *process) {
	o.owner.mutex.Lock()
	defer o.owner.mutex.Unlock()
	o.process = p
}

// State writes a state for a message: some coordinates, and the mode if it has one.
func State(x []float32, k []uint8) string {
	const shown = 8
	text := fmt.Sprintf("x = %v", x[:min(len(x), shown)])
	if len(x) > shown {
		text = fmt.Sprintf("%s … %d coordinates]", strings.TrimSuffix(text, "]"), len(x))
	}
	if len(k) > 0 {
		text += fmt.Sprintf(", k = %d", k[0])
	}
	return text
}
