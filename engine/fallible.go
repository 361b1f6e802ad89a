package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/revgen/revgen/internal/pool"
)

// A Fallible system has a target whose evaluation may fail or take forever: one that
// another program computes, or that is not a number somewhere.
type Fallible interface {
	// Err returns the first failure of the target. From then on nothing that the
	// system computes can be used.
	Err() error
	// Interrupt makes evaluations of the target, those under way included, fail with
	// the cause. It may be called at any time.
	Interrupt(cause error)
	// Close ends what the system has started. It must not be used afterwards.
	io.Closer
}

// A Prober is a system whose target stands outside of the process, so that ranks may have
// different ones.
type Prober interface {
	// Probe returns the target's answers to questions that are the same on all ranks;
	// nil if the target is within the process after all.
	Probe() (answers []float64, err error)
	// Key returns the key of the target, for an error about answers that differ.
	Key() string
}

// A TargetError ends a run whose target has failed. The run leaves a checkpoint with the
// parameters before the step.
type TargetError struct {
	Step int // during which it failed
	Err  error
}

func (e *TargetError) Error() string { return fmt.Sprintf("step %d: %v", e.Step, e.Err) }

// Unwrap returns the failure.
func (e *TargetError) Unwrap() error { return e.Err }

// Agree returns err, or ErrElsewhere or context.Canceled if another rank has an error: either
// all ranks go on or none does.
func Agree(workers *pool.Pool, err error) error {
	const stopped, failed = 1, 2
	state := byte(0)
	switch {
	case err == nil:
	case Cancelled(err):
		state = stopped
	default:
		state = failed
	}
	switch worst := workers.Worst(state); {
	case worst == failed && state != failed:
		return ErrElsewhere
	case worst == stopped && state == 0:
		return context.Canceled
	}
	return err
}

// targetError returns the error of a step whose loss returned err.
func (t *Trainer) targetError(err error) error {
	if Cancelled(err) || errors.Is(err, ErrElsewhere) {
		return err
	}
	return &TargetError{t.step + 1, err}
}

// Interruptible lets the end of a context interrupt a system, until the function
// that it returns is called.
func Interruptible(ctx context.Context, s System) (done func() bool) {
	f, ok := s.(Fallible)
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() { f.Interrupt(ctx.Err()) })
}

// Release ends what a system has started. The system must not be used afterwards.
func Release(s System) {
	if f, ok := s.(Fallible); ok {
		_ = f.Close() // of processes whose work is done
	}
}

// ErrElsewhere ends a run on all ranks but the one on which something went wrong; that
// one returns the error itself.
var ErrElsewhere = errors.New("another rank failed, and says how")

// Cancelled reports whether err is the error of a context that has ended, and is not joined
// to any other error.
func Cancelled(err error) bool {
	for err != nil {
		if err == context.Canceled || err == context.DeadlineExceeded {
			return true
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !Cancelled(e) })
		}
		err = errors.Unwrap(err)
	}
	return false
}
