package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

// A stopRequest is the cause of a context that a signal has cancelled.
type stopRequest struct{ signal os.Signal }

func (s stopRequest) Error() string { return signalName(s.signal) }

func signalName(s os.Signal) string { return unix.SignalName(s.(syscall.Signal)) }

// Times after the first signal.
const (
	// repeatWindow is how long a further signal counts as the same request: batch systems
	// and the shell's process group deliver one request more than once.
	repeatWindow = time.Second
	// patience is how long work without a checkpoint may take to end by itself.
	patience = 1500 * time.Millisecond
	// rankPatience is the patience with an MPI rank, which mpirun kills a second after SIGTERM.
	rankPatience = 700 * time.Millisecond
)

// A resumableStop is the error of a stopped command that the same command continues. Only
// commandError makes one, of a *run.StopError or a *batchStop, which say that the disk has
// all that is needed.
type resumableStop struct{ text string }

func (s resumableStop) Error() string { return s.text }

// A timeLimit is the cause of a context that --max-time has ended.
type timeLimit duration

func (s timeLimit) Error() string { return "--max-time " + (*duration)(&s).String() }

// stopSignals receives SIGINT, SIGTERM, SIGHUP and SIGUSR1, with which people and batch systems
// ask a process to stop. The first one cancels the program's context.
type stopSignals struct {
	signals    chan os.Signal
	cancel     context.CancelCauseFunc // of the program's context
	noDeadline atomic.Bool             // the first signal sets no deadline, since the work leaves a checkpoint or has ended
	isRank     atomic.Bool             // the process is one of several MPI ranks
}

// Signals receives the process's signals. None is lost if it is set, before Run, to a channel that
// receives them already.
var Signals = make(chan os.Signal, 8)

// catchSignals catches signals until the function that it returns is called.
func (p *program) catchSignals() (restore func()) {
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.signals = Signals
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if !signal.Ignored(s) { // as nohup has it
			signal.Notify(p.signals, s)
		}
	}
	onSignalsCaught()
	return func() { signal.Stop(p.signals); p.cancel(nil) }
}

// awaitCommand waits for a command to end, and returns its exit code. The first signal cancels
// the program's context. A signal more than repeatWindow later ends the process at once. Work
// without a checkpoint is abandoned if it has not ended when patience is over.
func (p *program) awaitCommand(done <-chan int) int {
	var firstSignal time.Time
	var deadline <-chan time.Time
	for {
		select {
		case code := <-done:
			return code
		case s := <-p.signals:
			switch {
			case firstSignal.IsZero():
				firstSignal = time.Now()
				wait := patience
				if p.isRank.Load() {
					wait = rankPatience
				}
				deadline = time.After(wait)
				p.cancel(stopRequest{s})
				onStop()
				p.say("\n%s: stopping; once more to quit at once", signalName(s))
			case time.Since(firstSignal) >= repeatWindow:
				fmt.Fprintf(p.stderr, "revgen: %s again: quitting\n", signalName(s))
				code := exitError
				if number, ok := s.(syscall.Signal); ok {
					code = 128 + int(number)
				}
				os.Exit(code)
			}
		case <-deadline:
			if p.noDeadline.Load() {
				continue
			}
			err := p.commandError(p.ctx, p.ctx.Err())
			code := p.exitCode(err)
			p.report(err, code)
			if p.isRank.Load() { // MPI cannot be finalized, since its thread is still at work
				p.world.Abort(code)
			}
			return code
		}
	}
}

// Hooks for tests: catchSignals calls onSignalsCaught, and awaitCommand calls onStop when a signal
// has cancelled the context.
var onSignalsCaught, onStop = func() {}, func() {}

// runInterruptible runs work that cannot be resumed: when the program stops, its unfinished output
// is discarded. The outcome is what work returned, whether or not a signal came.
//
// A job of a batch is stopped with the batch, and abandoned when patience is over.
func (p *program) runInterruptible(work func(ctx context.Context) error) error {
	if !p.inBatch {
		return p.commandError(p.ctx, crash.Catch(func() error { return work(p.ctx) }))
	}
	done := make(chan error, 1)
	go func() { done <- crash.Catch(func() error { return work(p.ctx) }) }()
	select {
	case err := <-done:
		return p.commandError(p.ctx, err)
	case <-p.ctx.Done():
	}
	select {
	case err := <-done:
		return p.commandError(p.ctx, err)
	case <-time.After(patience):
		return p.commandError(p.ctx, p.ctx.Err())
	}
}

// runOnThreads is runInterruptible with a pool of as many threads as --threads asks for.
func (p *program) runOnThreads(threads int, work func(ctx context.Context, workers *pool.Pool) error) error {
	return p.runInterruptible(func(ctx context.Context) error {
		workers, err := p.newPool(threads)
		if err != nil {
			return err
		}
		defer workers.Close()
		return work(ctx, workers)
	})
}

// runResumable runs work that leaves a checkpoint when its context is cancelled, however long that
// takes. The context ends after limit, counted from the start of the process or of the job, and
// after a number of evaluations of the target; 0 is no limit.
func (p *program) runResumable(limit duration, maxEvaluations count, work func(ctx context.Context) error) error {
	p.noDeadline.Store(true)
	tally := new(engine.Tally)
	ctx := engine.WithTally(p.ctx, tally)
	if maxEvaluations > 0 {
		ctx = tally.Limit(ctx, int64(maxEvaluations))
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, p.startTime.Add(time.Duration(limit)), timeLimit(limit))
		defer cancel()
	}
	return p.commandError(ctx, crash.Catch(func() error { return work(ctx) }))
}

// A discardedWork is the error of a stopped command that left nothing to resume, so that the same
// command begins anew.
type discardedWork struct {
	error
	truncated bool // a part of the output has been read already, such as half of an array on stdout
}

// commandError discards a command's unfinished output, and returns the command's error, given that
// of its work. ctx is what may have stopped the work.
func (p *program) commandError(ctx context.Context, err error) error {
	remark, truncated := p.output.discard()
	reason, cause := "a signal to another rank", context.Cause(ctx)
	if cause != nil {
		reason = cause.Error()
	}
	switch err.(type) {
	case *batchStop:
		if cause == nil { // only jobs were stopped, by a max-time of their own
			return resumableStop{err.Error()}
		}
		return resumableStop{reason + ": " + err.Error()}
	case *run.StopError:
		return resumableStop{reason + ": " + err.Error()}
	}
	if !engine.Cancelled(err) {
		return err
	}
	text := "stopped by " + reason
	if remark != "" {
		text += "; " + remark
	}
	if !truncated {
		text += "; the same command begins anew"
	}
	stop := discardedWork{errors.New(text), truncated}
	if errors.As(err, new(agreedError)) {
		return agreedError{stop}
	}
	return stop
}

// A pendingOutput is the output that a command is writing. If the command ends early, it must not
// look finished.
type pendingOutput struct {
	mutex sync.Mutex
	undo  func() (remark string, truncated bool)
}

// begin sets what discards the output. undo returns a remark about what is left of the output, and
// whether readers have got only a part of it.
func (u *pendingOutput) begin(undo func() (remark string, truncated bool)) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.undo = undo
}

// discard calls undo, unless the output is finished or discarded already.
func (u *pendingOutput) discard() (remark string, truncated bool) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.undo != nil {
		remark, truncated = u.undo()
		u.undo = nil
	}
	return remark, truncated
}

// finish calls complete, after which there is nothing to discard. If the output has been
// discarded, it returns context.Canceled.
func (u *pendingOutput) finish(complete func() error) error {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.undo == nil {
		return context.Canceled
	}
	u.undo = nil
	return complete()
}
