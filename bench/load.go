package bench

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// A usage is the processor time that was used up to a moment.
type usage struct {
	at   time.Time
	busy time.Duration // of all processes, on the processors that this one may use; 0 if unknown
	own  time.Duration // of this process and the peers
}

// busyLoad is the load of others, on average over a run, above which the machine counts
// as busy.
const busyLoad = 0.1

// loadOfOthers returns how many processors, on average from u to later, other processes
// took, and other virtual machines on the same hardware if the system tells. ok is false
// if the system tells nothing, or after less than half a second.
func (u usage) loadOfOthers(later usage) (processors float64, ok bool) {
	elapsed := later.at.Sub(u.at)
	if u.busy == 0 || later.busy == 0 || elapsed < time.Second/2 {
		return 0, false
	}
	return max(0, float64((later.busy-u.busy)-(later.own-u.own))/float64(elapsed)), true
}

// noteLoad sets the load of others from start to end, and warns if the machine was busy.
func (m *Machine) noteLoad(start, end usage) {
	others, ok := start.loadOfOthers(end)
	if !ok {
		return
	}
	m.Others = &others
	if others > busyLoad {
		m.Warnings = append(m.Warnings, fmt.Sprintf(
			"the machine was busy: others took %.2g of its %d processors, so times are too long and ratios uncertain", others, runtime.NumCPU()))
	}
}

// timeControl times work that is always the same: multiply-adds in registers and a read
// of a thread's memory. All threads repeat it for at least minTime. The result is the mean
// time of one repetition in nanoseconds. Where it differs between two runs, the machine does.
func timeControl(workers *pool.Pool, memory [][]uint64, minTime time.Duration) float64 {
	var mu sync.Mutex
	sum := 0.0
	workers.Run(len(memory), func(i int) {
		repetitions := 0
		start := time.Now()
		elapsed := time.Duration(0)
		for repetitions == 0 || elapsed < minTime {
			asm.ProbeFMA.Run(1 << 13)
			sink(asm.ReadWords(memory[i]))
			repetitions++
			elapsed = time.Since(start)
		}
		mu.Lock()
		sum += float64(elapsed.Nanoseconds()) / float64(repetitions)
		mu.Unlock()
	})
	return sum / float64(len(memory))
}

// threadMemory returns a slice of so many words for each thread.
func threadMemory(threads, words int) [][]uint64 {
	memory := make([][]uint64, threads)
	for i := range memory {
		memory[i] = make([]uint64, words)
		clear(memory[i]) // pages that were never written to may all be the same zero page
	}
	return memory
}
