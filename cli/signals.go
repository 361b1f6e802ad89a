package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/crash"
)

// A stopRequest is the cause of a context that a signal cancelled.
type stopRequest struct{ signal os.Signal }

func (s stopRequest) Error() string { return signalName(s.signal) }

func signalName(s os.Signal) string {
	for name, known := range map[string]os.Signal{
		"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGUSR1": syscall.SIGUSR1, "SIGHUP": syscall.SIGHUP,
	} {
		if s == known {
			return name
		}
	}
	return s.String()
}

// Times after the first signal.
const (
	// oneSignal is how long further signals count as the same: a batch system
	// and the shell's process group deliver one request more than once.
	oneSignal = time.Second
	// patience is how long work that cannot be continued anyway may take to end
	// by itself.
	patience = 1500 * time.Millisecond
	// rankPatience is that of a rank, which mpirun kills a second after SIGTERM.
	rankPatience = 700 * time.Millisecond
)

// stopped is the error of a command that the same command continues. Only
// ended makes one, and only of an *engine.StopError or a *batchStop, which say that
// all that is needed is on the disk; it alone makes the exit code 75.
type stopped struct{ text string }

func (s stopped) Error() string { return s.text }

// interruptible runs work that nothing continues: when a signal comes it has
// until patience ends, and what it has not finished is discarded.
func (p *program) interruptible(work func(ctx context.Context) error) error {
	return p.stoppable(patience, 0, work)
}

// resumable runs work that leaves a checkpoint when its context is cancelled,
// for which it has the time that it takes. Limit is the --max-time that may
// stop it as well.
func (p *program) resumable(limit duration, work func(ctx context.Context) error) error {
	return p.stoppable(0, limit, work)
}

// stoppable runs work with a context that the first SIGINT, SIGTERM, SIGHUP or
// SIGUSR1 cancels, the signals by which people and batch systems announce the
// end. One that comes more than a second later ends the process at once.
// Everything that a command does happens in work, and how it ended is what work
// returned: that a signal came makes no error another one.
//
// A job of a batch is stopped with the batch, which hears the signals.
func (p *program) stoppable(patience time.Duration, limit duration, work func(ctx context.Context) error) error {
	parent, stop := context.Background(), (<-chan struct{})(nil)
	if p.job != nil {
		parent, stop = p.job, p.job.Done()
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	received := make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if p.job == nil && !signal.Ignored(s) { // as nohup arranges it
			signal.Notify(received, s)
		}
	}
	defer signal.Stop(received)
	signalsHeeded()

	done := make(chan error, 1)
	run := func() { done <- crash.Catch(func() error { return work(ctx) }) }
	watch := func() error { return p.watch(ctx, cancel, patience, limit, received, stop, done) }
	if p.world == nil {
		go run()
		return watch()
	}
	// MPI hears from this thread alone.
	ended := make(chan error, 1)
	go func() { ended <- watch() }()
	run()
	return <-ended
}

// beginning is the context of what a command does before its signals are heard, when
// the first ends the process; a job of a batch ends with the batch.
func (p *program) beginning() context.Context {
	if p.job != nil {
		return p.job
	}
	return context.Background()
}

// watch waits for the end of work and for signals, and returns the error of the command.
func (p *program) watch(ctx context.Context, cancel context.CancelCauseFunc, patience time.Duration, limit duration,
	received <-chan os.Signal, stop <-chan struct{}, done <-chan error) error {
	var first time.Time
	var late <-chan time.Time
	for {
		select {
		case err := <-done:
			return p.ended(ctx, limit, err)
		case s := <-received:
			switch {
			case first.IsZero():
				first = time.Now()
				if patience > 0 {
					if p.world != nil {
						patience = rankPatience
					}
					late = time.After(patience)
				}
				cancel(stopRequest{s})
				stopSeen()
				p.say("\n%s: stopping; once more to quit at once", signalName(s))
			case time.Since(first) >= oneSignal:
				fmt.Fprintf(p.stderr, "revgen: %s again: quitting\n", signalName(s))
				code := exitError
				if number, ok := s.(syscall.Signal); ok {
					code = 128 + int(number)
				}
				os.Exit(code)
			}
		case <-stop:
			stop = nil
			if patience > 0 {
				late = time.After(patience)
			}
		case <-late:
			if p.world != nil { // its thread is in work
				err := p.ended(ctx, limit, ctx.Err())
				p.report(err, exitError)
				p.world.Abort(exitError)
			}
			return p.ended(ctx, limit, ctx.Err())
		}
	}
}

// For tests: signalsHeeded is called when a signal no longer ends the process, and
// stopSeen once one has cancelled the context.
var signalsHeeded, stopSeen = func() {}, func() {}

// A cut reports work that was stopped and leaves nothing to go on from.
type cut struct{ error }

// ended returns the error of a command from that of its work.
func (p *program) ended(ctx context.Context, limit duration, err error) error {
	remark := p.output.discard()
	why := "--max-time " + limit.String()
	var request stopRequest
	if errors.As(context.Cause(ctx), &request) {
		why = request.Error()
	}
	switch stop := err.(type) {
	case *engine.StopError, *batchStop:
		return stopped{why + ": " + stop.Error()}
	}
	if !engine.Cancelled(err) {
		return err
	}
	text := error(cut{fmt.Errorf("stopped by %s", why)})
	if remark != "" {
		text = fmt.Errorf("%w; %s", text, remark)
	}
	if errors.As(err, new(settled)) {
		return settled{text}
	}
	return text
}

// unfinished is the output that a command is about to write, which must not
// look like a finished one if the command ends before.
type unfinished struct {
	mutex sync.Mutex
	undo  func() (remark string)
}

// begin notes how to discard the output and what to say of it then.
func (u *unfinished) begin(undo func() (remark string)) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.undo = undo
}

// discard undoes what has begun, if that has not been done.
func (u *unfinished) discard() (remark string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.undo != nil {
		remark = u.undo()
		u.undo = nil
	}
	return remark
}

// finish calls complete, after which there is nothing to discard, unless the
// output has been discarded.
func (u *unfinished) finish(complete func() error) error {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.undo == nil {
		return context.Canceled
	}
	u.undo = nil
	return complete()
}
