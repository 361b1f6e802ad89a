// Package early hears signals from the first instant on: it imports so little that Go
// initialises it before most of the program, which takes tens of milliseconds. Until a process
// hears them, SIGTERM ends it and SIGUSR1 is lost.
package early

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals receives those with which people and batch systems announce the end.
var Signals = make(chan os.Signal, 8)

func init() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if !signal.Ignored(s) { // as nohup arranges it
			signal.Notify(Signals, s)
		}
	}
}
