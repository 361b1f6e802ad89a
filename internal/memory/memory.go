// Package memory says how much memory a process may use.
package memory

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Unknown is the limit of a machine whose memory is unknown.
const Unknown = 64 << 30

// Limit returns the bytes that the process may use: the least of the machine's memory, its control
// group's limit, and what is left of its address space. Tests replace it.
var Limit = sync.OnceValue(func() float64 {
	limit := float64(Unknown)
	if total, ok := total(read("/proc/meminfo")); ok {
		limit = total
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if bytes, err := strconv.ParseFloat(strings.TrimSpace(read(file)), 64); err == nil && bytes > 0 { // not "max"
			limit = min(limit, bytes)
		}
	}
	if space, ok := Space(); ok {
		limit = min(limit, space)
	}
	return limit
})

// Space returns the bytes that a limit of the address space (ulimit -v) leaves the process. ok is
// false if there is no limit.
func Space() (bytes float64, ok bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	var pages float64
	if fields := strings.Fields(read("/proc/self/statm")); len(fields) > 0 {
		pages, _ = strconv.ParseFloat(fields[0], 64)
	}
	return max(0, float64(limit.Cur)-pages*float64(os.Getpagesize())), true
}

// read returns the text of a file, or nothing if it cannot be read.
func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// total returns the machine's memory from the text of /proc/meminfo.
func total(meminfo string) (bytes float64, ok bool) {
	_, rest, _ := strings.Cut(meminfo, "MemTotal:")
	fields := strings.Fields(rest)
	if len(fields) < 2 || fields[1] != "kB" {
		return 0, false
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	return 1024 * kib, err == nil && kib > 0
}
