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

// Version is that of the protocol.
const Version = 1

// A Config names a program and what it is asked.
type Config struct {
	Command    []string // and arguments
	Dim, Modes int      // of a state; 0 modes if it has none
	Timeout    time.Duration
	Processes  int
}

const (
	mostRows   = 256 // of a question
	checkEvery = 256 // questions of a process, after which one is asked twice
	beginning  = 60 * time.Second
)

// Workers are the processes of one program. They begin with the first question and
// end with Close or Interrupt.
type Workers struct {
	config   Config
	born     int64
	patience time.Duration // with a process that comes up, if its answers may not take longer
	free     chan *worker
	all      []*worker
	begin    sync.Once

	mutex   sync.Mutex
	ended   error     // why no question is answered any more
	first   *question // which every process answers before it is believed
	unguard func()
}

// A worker is one process, and what takes its place if it dies.
type worker struct {
	of       *Workers
	number   int
	process  *process
	believed *question // to which the process has given the answer of another
	late     *failure  // of the first process, which did not come up in time
	asked    int
	question []byte
	answer   []byte
	again    []byte
}

// A question is some states and what a process has answered.
type question struct {
	x             []float32
	k             []uint8
	asked, answer []byte
	empty         bool // −∞ at all of them, which tells little of a process
}

// New returns workers that have not begun.
func New(c Config) *Workers {
	w := &Workers{config: c, born: time.Now().UnixNano(), patience: beginning, free: make(chan *worker, c.Processes), unguard: func() {}}
	row := 8 * c.Dim
	if c.Modes > 0 {
		row += 4
	}
	for i := range c.Processes {
		one := &worker{
			of: w, number: i, question: make([]byte, 4+mostRows*row),
			answer: make([]byte, 4+8*mostRows), again: make([]byte, 4+8*mostRows),
		}
		w.all = append(w.all, one)
		w.free <- one
	}
	return w
}

// Evaluate sets dst[r] = ln π of the states x, [len(dst)][dim], in the modes k, nil
// if there are none. It may be called concurrently. Once all processes run it
// allocates nothing.
func (w *Workers) Evaluate(dst []float64, x []float32, k []uint8) error {
	w.begin.Do(w.startAll)
	one := <-w.free
	defer func() { w.free <- one }()
	d := w.config.Dim
	for lo := 0; lo < len(dst); lo += mostRows {
		hi := min(lo+mostRows, len(dst))
		if err := one.evaluate(dst[lo:hi], x[lo*d:hi*d], lists.Part(k, lo, hi)); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts every process at once, for interpreters take their time. What goes
// wrong is reported by the first question, which tries again, but not what has already
// cost the whole time that a process has to come up.
func (w *Workers) startAll() {
	w.mutex.Lock()
	if w.ended == nil {
		w.unguard = guard(w.mark(-1))
	}
	w.mutex.Unlock()
	w.each(func(one *worker) {
		if f := w.start(one); f != nil && f.late {
			one.late = f
		}
	})
}

// each calls body for all workers at once, as soon as they are free.
func (w *Workers) each(body func(one *worker)) {
	var all sync.WaitGroup
	for range w.all {
		one := <-w.free
		all.Go(func() {
			body(one)
			w.free <- one
		})
	}
	all.Wait()
}

// Interrupt ends the processes, at once and for good: questions, that under way
// included, fail with the given error.
func (w *Workers) Interrupt(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended == nil {
		w.ended = err
	}
	for _, one := range w.all {
		if one.process != nil {
			one.process.kill()
		}
	}
}

// Close ends the processes, and what they have started. Later questions fail.
func (w *Workers) Close() error {
	w.Interrupt(context.Canceled)
	w.each(func(one *worker) {
		if one.process != nil {
			one.process.end()
		}
		one.set(nil)
	})
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.unguard()
	w.unguard = func() {}
	return nil
}

// mark is what the environment of a worker's process has. It begins with that of the
// number −1, which is what all of them have.
func (w *Workers) mark(number int) string {
	mark := fmt.Sprintf("REVGEN_PROGRAM=%d-%d-", os.Getpid(), w.born)
	if number >= 0 {
		mark += fmt.Sprintf("%d.", number)
	}
	return mark
}

func (w *Workers) interrupted() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.ended
}

// name says which process something is about.
func (w *Workers) name(number int) string {
	return fmt.Sprintf("target.command: worker %d (%s)", number, strings.Join(w.config.Command, " "))
}

// evaluate asks up to mostRows states. A process that dies is replaced once.
func (o *worker) evaluate(dst []float64, x []float32, k []uint8) error {
	question, answer := o.encode(x, k), o.answer[:4+8*len(dst)]
	for attempt := 0; ; attempt++ {
		err := o.ask(question, answer, len(dst))
		if err == nil {
			err = o.agree(question, answer, x, k)
		}
		if ended := o.of.interrupted(); ended != nil {
			return ended
		}
		if err == nil {
			break
		}
		if !err.unequal {
			o.set(nil)
		}
		if attempt > 0 || !err.died {
			return err.describe(o.of, o.number, x, k)
		}
	}
	o.asked++
	for r := range dst {
		dst[r] = number(answer, r)
	}
	return nil
}

// agree asks the process again now and then, and before it is believed what the first that
// was has answered; from two answers follows an error.
func (o *worker) agree(question, answer []byte, x []float32, k []uint8) *failure {
	first := o.of.remember(question, answer, x, k)
	if o.asked%checkEvery == 0 {
		if f := o.repeat(question, answer, x, k); f != nil {
			return f
		}
	}
	if o.believed != first {
		if f := o.repeat(first.asked, first.answer, first.x, first.k); f != nil {
			return f
		}
		o.believed = first
	}
	return nil
}

// repeat asks what has been answered already.
func (o *worker) repeat(question, answer []byte, x []float32, k []uint8) *failure {
	again := o.again[:len(answer)]
	if f := o.ask(question, again, (len(answer)-4)/8); f != nil {
		return f
	}
	d := o.of.config.Dim
	for r := range (len(answer) - 4) / 8 {
		if p, q := number(answer, r), number(again, r); math.Float64bits(p) != math.Float64bits(q) && (p == p || q == q) {
			return &failure{unequal: true, what: fmt.Errorf("%s: two answers to one question, %v and %v, at %s; ln π must be a function of the state alone, whichever process is asked and whenever",
				o.of.name(o.number), p, q, State(x[r*d:(r+1)*d], lists.Part(k, r, r+1)))}
		}
	}
	return nil
}

// encode writes the question about some states.
func (o *worker) encode(x []float32, k []uint8) []byte {
	rows := len(x) / o.of.config.Dim
	b := o.question
	binary.LittleEndian.PutUint32(b, uint32(rows))
	at := 4
	for _, v := range x {
		binary.LittleEndian.PutUint64(b[at:], math.Float64bits(float64(v)))
		at += 8
	}
	for _, mode := range k {
		binary.LittleEndian.PutUint32(b[at:], uint32(mode))
		at += 4
	}
	return b[:at]
}

func number(answer []byte, r int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(answer[4+8*r:]))
}

// remember returns the question that every process is asked: the first, or the first to
// which an answer was not −∞.
func (w *Workers) remember(asked, answer []byte, x []float32, k []uint8) *question {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.first == nil || w.first.empty {
		empty := true
		for r := range (len(answer) - 4) / 8 {
			empty = empty && math.IsInf(number(answer, r), -1)
		}
		if w.first == nil || !empty {
			w.first = &question{slices.Clone(x), slices.Clone(k), slices.Clone(asked), slices.Clone(answer), empty}
		}
	}
	return w.first
}

// ask sends a question to the process, a new one if there is none, and waits for the
// answer about so many rows.
func (o *worker) ask(question, answer []byte, rows int) *failure {
	if o.late != nil {
		return o.late
	}
	if o.process == nil {
		o.believed = nil
		if err := o.of.start(o); err != nil {
			return err
		}
	}
	return o.process.exchange(question, answer, rows, o.of.config.Timeout)
}

// set changes the process, which Interrupt may be about to kill.
func (o *worker) set(p *process) {
	o.of.mutex.Lock()
	defer o.of.mutex.Unlock()
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
