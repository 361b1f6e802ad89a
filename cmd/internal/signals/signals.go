// Package signals receives signals before most of the program is initialised, which takes tens of
// milliseconds: it imports so little that Go initialises it early. Until a process listens, SIGTERM
// ends it and SIGUSR1 is lost.
package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// Received has the signals with which people and batch systems announce the end.
var Received = make(chan os.Signal, 8)

func init() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if !signal.Ignored(s) { // as by nohup
			signal.Notify(Received, s)
		}
	}
}
