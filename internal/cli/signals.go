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

// A stopRequest is the cause of a context that a signal cancelled.
type stopRequest struct{ signal os.Signal }

func (s stopRequest) Error() string { return signalName(s.signal) }

func signalName(s os.Signal) string { return unix.SignalName(s.(syscall.Signal)) }

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
// ended makes one, and only of an *run.StopError or a *batchStop, which say that
// all that is needed is on the disk.
type stopped struct{ text string }

func (s stopped) Error() string { return s.text }

// spent is the cause of a context that --max-time has ended.
type spent duration

func (s spent) Error() string { return "--max-time " + (*duration)(&s).String() }

// hearing is how a process hears that it is to stop: by the first SIGINT, SIGTERM, SIGHUP
// or SIGUSR1, with which people and batch systems announce the end. They are heard from
// the first instant on, whatever the process does by then.
type hearing struct {
	signals chan os.Signal
	stop    context.CancelCauseFunc // of the program's context
	lasting atomic.Bool             // the work leaves a checkpoint, for which it has the time that it takes
	ranked  atomic.Bool             // the process is one of several ranks
}

// Signals is where a process hears them. Who fills it before Run loses none.
var Signals = make(chan os.Signal, 8)

// hear begins to hear signals, until the function that it returns is called.
func (p *program) hear() (deaf func()) {
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	p.signals = Signals
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if !signal.Ignored(s) { // as nohup arranges it
			signal.Notify(p.signals, s)
		}
	}
	signalsHeeded()
	return func() { signal.Stop(p.signals); p.stop(nil) }
}

// watch waits for a command to end, and returns its exit code. The first signal cancels
// the program's context; one that comes more than a second later ends the process at once.
// Work that leaves no checkpoint, and has not ended by itself when patience is over, is left
// to itself.
func (p *program) watch(done <-chan int) int {
	var first time.Time
	var late <-chan time.Time
	for {
		select {
		case code := <-done:
			return code
		case s := <-p.signals:
			switch {
			case first.IsZero():
				first = time.Now()
				wait := patience
				if p.ranked.Load() {
					wait = rankPatience
				}
				late = time.After(wait)
				p.stop(stopRequest{s})
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
		case <-late:
			if p.lasting.Load() {
				continue
			}
			err := p.ended(p.ctx, p.ctx.Err())
			code := p.exitCode(err)
			p.report(err, code)
			if p.ranked.Load() { // its thread is in work
				p.world.Abort(code)
			}
			return code
		}
	}
}

// For tests: signalsHeeded is called when a signal no longer ends the process, and
// stopSeen once one has cancelled the context.
var signalsHeeded, stopSeen = func() {}, func() {}

// interruptible runs work that nothing continues: when the program is to stop, what it has
// not finished is discarded. Everything that a command does happens in work, and how it
// ended is what work returned: that a signal came makes no error another one.
//
// A job of a batch is stopped with the batch, and left to itself when patience is over.
func (p *program) interruptible(work func(ctx context.Context) error) error {
	if !p.batched {
		return p.ended(p.ctx, crash.Catch(func() error { return work(p.ctx) }))
	}
	done := make(chan error, 1)
	go func() { done <- crash.Catch(func() error { return work(p.ctx) }) }()
	select {
	case err := <-done:
		return p.ended(p.ctx, err)
	case <-p.ctx.Done():
	}
	select {
	case err := <-done:
		return p.ended(p.ctx, err)
	case <-time.After(patience):
		return p.ended(p.ctx, p.ctx.Err())
	}
}

// onThreads is interruptible work on as many threads as --threads asks for.
func (p *program) onThreads(threads int, work func(ctx context.Context, workers *pool.Pool) error) error {
	return p.interruptible(func(ctx context.Context) error {
		workers, err := p.newPool(threads)
		if err != nil {
			return err
		}
		defer workers.Close()
		return work(ctx, workers)
	})
}

// resumable runs work that leaves a checkpoint when its context is cancelled, for which it
// has the time that it takes. Limit is the --max-time that may stop it as well, counted
// from the start of the process, or of the job of a batch, and a number of evaluations of the
// target may stop a run; 0 of either is no limit.
func (p *program) resumable(limit duration, evaluations count, work func(ctx context.Context) error) error {
	p.lasting.Store(true)
	tally := new(engine.Tally)
	ctx := engine.WithTally(p.ctx, tally)
	if evaluations > 0 {
		ctx = tally.Within(ctx, int64(evaluations))
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, p.asked.Add(time.Duration(limit)), spent(limit))
		defer cancel()
	}
	return p.ended(ctx, crash.Catch(func() error { return work(ctx) }))
}

// A cut reports work that was stopped and leaves nothing to go on from: the same command
// begins anew. What it has lost cannot be had again, such as half of an array on stdout.
type cut struct {
	error
	lost bool
}

// ended returns the error of a command from that of its work, which ctx has stopped.
func (p *program) ended(ctx context.Context, err error) error {
	remark, lost := p.output.discard()
	why, cause := "a signal to another rank", context.Cause(ctx)
	if cause != nil {
		why = cause.Error()
	}
	switch err.(type) {
	case *batchStop:
		if cause == nil { // but jobs were, by their own max-time
			return stopped{err.Error()}
		}
		return stopped{why + ": " + err.Error()}
	case *run.StopError:
		return stopped{why + ": " + err.Error()}
	}
	if !engine.Cancelled(err) {
		return err
	}
	text := "stopped by " + why
	if remark != "" {
		text += "; " + remark
	}
	if !lost {
		text += "; the same command begins anew"
	}
	stop := cut{errors.New(text), lost}
	if errors.As(err, new(settled)) {
		return settled{stop}
	}
	return stop
}

// unfinished is the output that a command is about to write, which must not
// look like a finished one if the command ends before.
type unfinished struct {
	mutex sync.Mutex
	undo  func() (remark string, lost bool)
}

// begin notes how to discard the output and what to say of it then.
func (u *unfinished) begin(undo func() (remark string, lost bool)) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.undo = undo
}

// discard undoes what has begun, if that has not been done, and tells what there is to say of
// it and whether it can be had again.
func (u *unfinished) discard() (remark string, lost bool) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.undo != nil {
		remark, lost = u.undo()
		u.undo = nil
	}
	return remark, lost
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
