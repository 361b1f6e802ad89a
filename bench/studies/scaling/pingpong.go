package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/revgen/revgen/internal/mpi"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// pingpong prints what messages between two ranks take: the fastest and the median of
// round trips, halved, and of calls that give each rank the other's half.
func pingpong() error {
	world, err := mpi.Init()
	if err != nil {
		return err
	}
	if world.Size() != 2 {
		return fmt.Errorf("a ping-pong takes two ranks, not %d: mpirun -n 2", world.Size())
	}
	if world.Rank() == 0 {
		fmt.Println("| bytes | one way, µs: least, median | GB/s | gather, µs: least, median |")
		fmt.Println("|--:|--:|--:|--:|")
	}
	for size := 1; size <= 1<<22; size *= 8 {
		fast, median, gathered, usual := trip(world, size)
		if world.Rank() == 0 {
			fmt.Printf("| %s | %.2f, %.2f | %.2f | %.2f, %.2f |\n", thousands(size), fast*1e6, median*1e6, float64(size)/fast/1e9, gathered*1e6, usual*1e6)
		}
	}
	return world.Finalize(0)
}

// trip returns the least and the median seconds of a message one way, and of a gather of
// as many bytes in all.
func trip(r pool.Ranks, size int) (fast, median, gathered, usual float64) {
	data, ends := make([]byte, size), []int{size / 2, size}
	other := 1 - r.Rank()
	timed := func(call func()) (least, middle float64) {
		var all []float64
		for range 300 {
			start := time.Now()
			call()
			all = append(all, time.Since(start).Seconds())
		}
		return slices.Min(all), stat.Median(all)
	}
	fast, median = timed(func() {
		if r.Rank() == 0 {
			r.Send(other, data)
			r.Receive(other, data)
		} else {
			r.Receive(other, data)
			r.Send(other, data)
		}
	})
	gathered, usual = timed(func() { r.Gather(data, ends) })
	return fast / 2, median / 2, gathered, usual
}
