package reproduce

import (
	"time"

	"github.com/revgen/revgen/bench/peers"
)

// A Stopwatch tells the processors' time, which other work on the machine does not
// stretch, or the time on the wall where that is all there is.
type Stopwatch struct {
	begun time.Time
	cpu   time.Duration
}

// NewStopwatch returns one that has begun.
func NewStopwatch() Stopwatch { return Stopwatch{time.Now(), peers.ProcessorTime(0)} }

// Wall returns the seconds on the wall.
func (w Stopwatch) Wall() float64 { return time.Since(w.begun).Seconds() }

// Seconds returns those of processors.
func (w Stopwatch) Seconds() float64 { return (peers.ProcessorTime(0) - w.cpu).Seconds() }
