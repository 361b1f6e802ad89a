//go:build !amd64 || purego

package asm

import "runtime"

// What constants forbid is not compiled, so that nothing asks for the kernels in assembly, which are
// declared but not there.
const useAVX2, useAVX512, hasVPOPCNTDQ = false, false, false

func branch(Path)         {}
func detect() Path        { return Generic }
func features() []Feature { return nil }

// CPUName returns the architecture where the processor does not say its name.
func CPUName() string { return runtime.GOARCH }
