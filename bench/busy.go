package bench

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// A usage is what processors have done up to a moment.
type usage struct {
	at        time.Time
	all, ours time.Duration // of the processors that this process may use
}

// busyFrom is how many processors others may take, on average over a run, before
// it counts as measured on a busy machine.
const busyFrom = 0.1

// others returns how many processors other processes, and other machines on the
// same hardware if the system knows, took since then. ok is false where it cannot
// be said: on some systems, and of less than half a second.
func (u usage) others(now usage) (processors float64, ok bool) {
	elapsed := now.at.Sub(u.at)
	if u.all == 0 || now.all == 0 || elapsed < time.Second/2 {
		return 0, false
	}
	return max(0, float64((now.all-u.all)-(now.ours-u.ours))/float64(elapsed)), true
}

// watch notes how busy others were since then.
func (m *Machine) watch(then, now usage) {
	others, ok := then.others(now)
	if !ok {
		return
	}
	m.Others = &others
	if others > busyFrom {
		m.Warnings = append(m.Warnings, fmt.Sprintf(
			"the machine was busy: others took %.2g of its %d processors, so times are too long and ratios uncertain", others, runtime.NumCPU()))
	}
}

// control times work that is always the same, on all threads at once, for at
// least the given time: multiply-adds in registers and reading a megabyte, in
// nanoseconds for a unit of each. Where two runs differ in it, the machine does.
func control(workers *pool.Pool, memory [][]uint64, least time.Duration) float64 {
	var all sync.Mutex
	sum := 0.0
	workers.Run(len(memory), func(i int) {
		units := 0
		start := time.Now()
		elapsed := time.Duration(0)
		for units == 0 || elapsed < least {
			asm.ProbeFMA.Run(1 << 13)
			sink(asm.ReadWords(memory[i]))
			units++
			elapsed = time.Since(start)
		}
		all.Lock()
		sum += float64(elapsed.Nanoseconds()) / float64(units)
		all.Unlock()
	})
	return sum / float64(len(memory))
}

// memoryOf returns so many words for each thread.
func memoryOf(threads, words int) [][]uint64 {
	memory := make([][]uint64, threads)
	for i := range memory {
		memory[i] = make([]uint64, words)
		clear(memory[i]) // pages that were never written to may all be one
	}
	return memory
}
