package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A stopRequest is the cause of a context that a signal cancelled.
type stopRequest struct{ signal os.Signal }

func (s stopRequest) Error() string { return "stopped by " + signalName(s.signal) }

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

// stoppable returns a context that the first SIGINT, SIGTERM, SIGHUP or
// SIGUSR1 cancels, the signals by which people and batch systems announce the
// end. The second ends the process at once.
func (p *program) stoppable() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if !signal.Ignored(s) { // as nohup arranges it
			signal.Notify(received, s)
		}
	}
	done := make(chan struct{})
	go func() {
		select {
		case s := <-received:
			p.say("\n%s: stopping; once more to quit at once", signalName(s))
			cancel(stopRequest{s})
		case <-done:
			return
		}
		select {
		case s := <-received:
			fmt.Fprintf(p.stderr, "revgen: %s again: quitting\n", signalName(s))
			code := exitError
			if number, ok := s.(syscall.Signal); ok {
				code = 128 + int(number)
			}
			os.Exit(code)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel(nil)
	}
}
