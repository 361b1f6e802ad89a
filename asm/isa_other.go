//go:build !amd64 || purego

package asm

import "runtime"

func detect() Path        { return Generic }
func features() []Feature { return nil }

// CPUName returns the architecture where the processor does not say its name.
func CPUName() string { return runtime.GOARCH }
