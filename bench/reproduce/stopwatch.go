package reproduce

import (
	"time"

	"github.com/revgen/revgen/bench/peers"
)

// A Stopwatch measures the time on the wall and the processors' time, which other work on the
// machine does not stretch. Where the system has no processors' time, both are the wall's.
type Stopwatch struct {
	begun time.Time
	cpu   time.Duration
}

// NewStopwatch returns a stopwatch that has started.
func NewStopwatch() Stopwatch { return Stopwatch{time.Now(), peers.ProcessorTime(0)} }

// Wall returns the seconds on the wall.
func (w Stopwatch) Wall() float64 { return time.Since(w.begun).Seconds() }

// Seconds returns the seconds of processor.
func (w Stopwatch) Seconds() float64 { return (peers.ProcessorTime(0) - w.cpu).Seconds() }
