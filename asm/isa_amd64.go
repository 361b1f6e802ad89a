//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The features that each path executes. AVX2 does not imply FMA, and no part of AVX-512 implies
// another, so every feature is named. The cpuid package also checks that the operating system
// saves the wide registers.
var (
	avx2Needs   = []cpuid.FeatureID{cpuid.AVX, cpuid.AVX2, cpuid.FMA3, cpuid.BMI1, cpuid.BMI2, cpuid.POPCNT}
	avx512Needs = []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL}
)

// hasVPOPCNTDQ selects the population count of vector lanes inside the
// AVX-512 path; machines without it count by byte shuffles.
var hasVPOPCNTDQ = cpuid.CPU.Supports(cpuid.AVX512VPOPCNTDQ)

// useAVX2 and useAVX512 are what the dispatching functions branch on, AVX-512 first.
var useAVX2, useAVX512 bool

func setBranches(p Path) { useAVX2, useAVX512 = p >= AVX2, p >= AVX512 }

func detect() Path {
	switch {
	case !cpuid.CPU.Supports(avx2Needs...):
		return Generic
	case !cpuid.CPU.Supports(avx512Needs...):
		return AVX2
	}
	return AVX512
}

func features() []Feature {
	var list []Feature
	for _, f := range avx2Needs {
		list = append(list, Feature{f.String(), cpuid.CPU.Supports(f), AVX2})
	}
	for _, f := range avx512Needs {
		list = append(list, Feature{f.String(), cpuid.CPU.Supports(f), AVX512})
	}
	return append(list, Feature{cpuid.AVX512VPOPCNTDQ.String(), hasVPOPCNTDQ, AVX512})
}

// CPUName returns the processor's name as it reports it.
func CPUName() string { return cpuid.CPU.BrandName }
