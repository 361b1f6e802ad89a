package engine

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Stage is a part of a run, by which evaluations of its target are counted.
type Stage int32

// The stages, in their order. What else a run draws of its generator for files and pictures
// comes last.
const (
	Looking Stage = iota // pilots, scouts and fits, the placing of the generator included
	Learning
	Measuring
	Diagnosing
	Illustrating
	stages
)

// Evaluations says how often a target was evaluated, by stages.
type Evaluations struct {
	Look      int64 `json:"look"`
	Training  int64 `json:"training"`
	Table     int64 `json:"table"`
	Diagnosis int64 `json:"diagnosis"`
	Output    int64 `json:"output,omitempty"` // samples and pictures
}

func (e *Evaluations) each() [stages]*int64 {
	return [stages]*int64{&e.Look, &e.Training, &e.Table, &e.Diagnosis, &e.Output}
}

// Total returns their sum.
func (e Evaluations) Total() (sum int64) {
	for _, n := range e.each() {
		sum += *n
	}
	return sum
}

// Add adds d to e.
func (e *Evaluations) Add(d Evaluations) {
	for i, n := range d.each() {
		*e.each()[i] += *n
	}
}

// A Tally counts the evaluations of a target. A nil one counts nothing. It may be used
// concurrently.
type Tally struct {
	stage  atomic.Int32
	counts [stages]atomic.Int64
	limit  atomic.Int64 // 0 is none
	beside atomic.Int64 // those of other ranks
	stop   func()
}

// A Counted system counts the evaluations of its target, in a tally from when it is given
// one.
type Counted interface {
	Count(*Tally)
	// Operations returns how many numbers an evaluation computes, 0 where that is not known.
	Operations() int
}

// Within returns a context that ends, with the cause Spent, when there are at least n
// evaluations. It comes before any is counted.
func (t *Tally) Within(ctx context.Context, n int64) context.Context {
	within, stop := context.WithCancelCause(ctx)
	t.stop = func() { stop(Spent(n)) }
	t.limit.Store(n)
	return within
}

// Limited reports whether there is a limit.
func (t *Tally) Limited() bool { return t != nil && t.limit.Load() > 0 }

// Enter begins a stage.
func (t *Tally) Enter(s Stage) {
	if t != nil {
		t.stage.Store(int32(s))
	}
}

// Add counts n evaluations.
func (t *Tally) Add(n int) {
	if t == nil {
		return
	}
	t.counts[t.stage.Load()].Add(int64(n))
	t.check()
}

// check stops who has spent all.
func (t *Tally) check() {
	if limit := t.limit.Load(); limit > 0 && t.Evaluations().Total()+t.beside.Load() >= limit {
		t.stop()
	}
}

// Beside says how many evaluations others have made, which count for the limit.
func (t *Tally) Beside(n int64) {
	t.beside.Store(n)
	t.check()
}

// Restore makes counts as large at least as those of an earlier process.
func (t *Tally) Restore(e Evaluations) {
	if t == nil {
		return
	}
	for i, n := range e.each() {
		t.counts[i].Store(max(t.counts[i].Load(), *n))
	}
	t.check()
}

// Evaluations returns what has been counted.
func (t *Tally) Evaluations() (e Evaluations) {
	if t != nil {
		for i, n := range e.each() {
			*n = t.counts[i].Load()
		}
	}
	return e
}

type tallyKey struct{}

// WithTally returns a context in which whoever evaluates a target counts in t.
func WithTally(ctx context.Context, t *Tally) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

// TallyOf returns a context's tally, nil if it has none.
func TallyOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

// Spent is the cause of a context that a limit of so many evaluations has ended.
type Spent int64

func (n Spent) Error() string {
	return fmt.Sprintf("--max-evaluations %d (raise it to go on)", int64(n))
}
