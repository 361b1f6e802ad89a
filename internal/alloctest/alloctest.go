// Package alloctest counts allocations on a busy machine.
package alloctest

import "testing"

// PerRun is testing.AllocsPerRun, measured again if it is not 0: what the
// runtime or another goroutine allocates meanwhile is not the function's.
func PerRun(runs int, f func()) (least float64) {
	least = testing.AllocsPerRun(runs, f)
	for try := 0; least > 0 && try < 4; try++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
