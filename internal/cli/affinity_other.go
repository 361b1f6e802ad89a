//go:build !linux

package cli

import "runtime"

// affinity counts the processors that the process may use.
func affinity() int { return runtime.NumCPU() }
