package engine

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Stage is a part of a run, by which evaluations of its target are counted.
type Stage int32

// The stages in the order of a run.
const (
	Looking Stage = iota // pilots, scouts, fits and the placing of the generator
	Learning
	Measuring
	Diagnosing
	Illustrating // samples for files and pictures
	numStages
)

// Evaluations says how often a target was evaluated, by stages.
type Evaluations struct {
	Look      int64 `json:"look"`
	Training  int64 `json:"training"`
	Table     int64 `json:"table"`
	Diagnosis int64 `json:"diagnosis"`
	Output    int64 `json:"output,omitempty"` // samples and pictures
}

func (e *Evaluations) byStage() [numStages]*int64 {
	return [numStages]*int64{&e.Look, &e.Training, &e.Table, &e.Diagnosis, &e.Output}
}

// Total returns their sum.
func (e Evaluations) Total() (sum int64) {
	for _, n := range e.byStage() {
		sum += *n
	}
	return sum
}

// Add adds d to e.
func (e *Evaluations) Add(d Evaluations) {
	for i, n := range d.byStage() {
		*e.byStage()[i] += *n
	}
}

// A Tally counts the evaluations of a target. A nil one counts nothing. It may be used
// concurrently.
type Tally struct {
	stage      atomic.Int32
	counts     [numStages]atomic.Int64
	limit      atomic.Int64 // 0 is none
	otherRanks atomic.Int64 // their evaluations
	stop       func()       // is called at the limit
}

// A Counted system counts the evaluations of its target.
type Counted interface {
	// Count sets the tally in which evaluations are counted from now on.
	Count(*Tally)
	// Operations returns how many operations of about a nanosecond an evaluation takes, 0 where that is not
	// known.
	Operations() int
}

// Limit returns a context that ends, with the cause Spent, as soon as n evaluations have been
// counted. It is called before any is.
func (t *Tally) Limit(ctx context.Context, n int64) context.Context {
	limited, stop := context.WithCancelCause(ctx)
	t.stop = func() { stop(Spent(n)) }
	t.limit.Store(n)
	return limited
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
	t.checkLimit()
}

func (t *Tally) checkLimit() {
	if limit := t.limit.Load(); limit > 0 && t.Evaluations().Total()+t.otherRanks.Load() >= limit {
		t.stop()
	}
}

// SetOtherRanks sets how many evaluations other ranks have made, which count towards the limit.
func (t *Tally) SetOtherRanks(n int64) {
	t.otherRanks.Store(n)
	t.checkLimit()
}

// Restore raises each count to that of e, if it is less: an earlier process has counted e.
func (t *Tally) Restore(e Evaluations) {
	if t == nil {
		return
	}
	for i, n := range e.byStage() {
		t.counts[i].Store(max(t.counts[i].Load(), *n))
	}
	t.checkLimit()
}

// Evaluations returns what has been counted.
func (t *Tally) Evaluations() (e Evaluations) {
	if t != nil {
		for i, n := range e.byStage() {
			*n = t.counts[i].Load()
		}
	}
	return e
}

type tallyKey struct{}

// WithTally returns a context in which evaluations of a target are counted in t.
func WithTally(ctx context.Context, t *Tally) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

// TallyOf returns a context's tally, nil if it has none.
func TallyOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

// Spent is the cause of a context that ended at a limit of so many evaluations.
type Spent int64

func (n Spent) Error() string {
	return fmt.Sprintf("--max-evaluations %d (raise it to go on)", int64(n))
}
