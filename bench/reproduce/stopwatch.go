package reproduce

import "time"

// A Stopwatch tells the processors' time, which other work on the machine does not
// stretch, or the time on the wall where that is all there is.
type Stopwatch struct {
	begun time.Time
	cpu   float64
	known bool
}

// NewStopwatch returns one that has begun.
func NewStopwatch() Stopwatch {
	cpu, known := cpuSeconds()
	return Stopwatch{time.Now(), cpu, known}
}

// Wall returns the seconds on the wall.
func (w Stopwatch) Wall() float64 { return time.Since(w.begun).Seconds() }

// Seconds returns those of processors.
func (w Stopwatch) Seconds() float64 {
	if cpu, known := cpuSeconds(); known && w.known {
		return cpu - w.cpu
	}
	return w.Wall()
}
