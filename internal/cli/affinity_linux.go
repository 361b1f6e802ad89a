package cli

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// affinity counts the processors of the process's affinity mask.
func affinity() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() == 0 {
		return runtime.NumCPU() // more processors than the set has room for
	}
	return set.Count()
}
