package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// TestFailuresOfTargets: a failure has the step that it ended, unless it is the user's will or
// another rank's, and only what is a context's error and no more is the user's will.
func TestFailuresOfTargets(t *testing.T) {
	broken := errors.New("broken")
	trainer := &Trainer{step: 6}
	for _, err := range []error{context.Canceled, fmt.Errorf("x: %w", context.DeadlineExceeded), ErrElsewhere} {
		require.Equal(t, err, trainer.targetError(err))
	}
	err := trainer.targetError(broken)
	require.EqualError(t, err, "step 7: broken")
	require.ErrorIs(t, err, broken)
	var failure *TargetError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, 7, failure.Step)

	for _, c := range []struct {
		err       error
		cancelled bool
	}{
		{nil, false}, {broken, false}, {context.Canceled, true}, {fmt.Errorf("x: %w", context.Canceled), true},
		{errors.Join(context.Canceled, context.DeadlineExceeded), true}, {errors.Join(context.Canceled, broken), false},
	} {
		require.Equal(t, c.cancelled, Cancelled(c.err), "%v", c.err)
	}

	// Among ranks the one whose target fails says how, and the others that it did.
	said := make([]error, 3)
	ranks := pool.Local(len(said))
	done := make(chan int)
	for i, rank := range ranks {
		go func() {
			workers := pool.New(1)
			workers.Join(rank)
			said[i] = Agree(workers, fallible{map[int]error{1: broken}[i]}.Err())
			workers.Close()
			done <- i
		}()
	}
	for range ranks {
		<-done
	}
	require.Equal(t, []error{ErrElsewhere, broken, ErrElsewhere}, said)
}

type fallible struct{ err error }

func (f fallible) Err() error      { return f.err }
func (f fallible) Interrupt(error) {}
func (f fallible) Close() error    { return nil }
