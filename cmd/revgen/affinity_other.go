//go:build !linux

package main

import "runtime"

// affinity counts the processors that the process may use.
func affinity() int { return runtime.NumCPU() }
