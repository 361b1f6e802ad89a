//go:build overhead

package main

/*
#include "revgen.h"
*/
import "C"

import (
	"context"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time of the process in nanoseconds.
func processorTime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}

// revgen_overhead makes the calls in Go with which testdata/overhead.c compares revgen_sample, in
// the same process. It returns their processor time in nanoseconds.
//
//export revgen_overhead
func revgen_overhead(id C.revgen, first C.uint64_t, buffer unsafe.Pointer, size C.size_t, calls C.int) C.int64_t {
	h := findHandle(id)
	data := unsafe.Slice((*byte)(buffer), int(size))
	start := processorTime()
	for range calls {
		if err := h.sampler.SampleBytes(context.Background(), data, "spins", uint64(first), 0); err != nil {
			return -1
		}
	}
	return C.int64_t(processorTime() - start)
}
