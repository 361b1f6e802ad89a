//go:build !amd64 || purego

package asm

import "runtime"

// As these are constants, the compiler drops calls of the kernels in assembly, which are declared
// but do not exist here.
const useAVX2, useAVX512, hasVPOPCNTDQ = false, false, false

func setBranches(Path)    {}
func detect() Path        { return Generic }
func features() []Feature { return nil }

// CPUName returns the architecture where the processor does not say its name.
func CPUName() string { return runtime.GOARCH }
