// Package asm holds RevGen's kernels: the only assembly, the only CPU
// detection and the only unsafe code of the module.
//
// Each exported function is one kernel over caller-owned slices. It
// dispatches with a plain branch, in a generated function, to an AVX-512, an
// AVX2+FMA or a generic Go implementation. The generic function, named with the
// suffix Generic, is the kernel's specification and the oracle of its tests.
//
// Kernels are single-threaded, allocate nothing and keep no state. Splitting
// work among threads is the caller's business, in pieces that do not depend
// on the number of threads, so that the same bits come out of any number of
// them. Mismatched slice lengths are programmers' mistakes and panic.
//
// The path is chosen once, at program start, from what the CPU and the
// operating system support; the environment variable REVGEN_ISA (generic,
// avx2 or avx512) or a call of Use forces another. With the build tag purego,
// and on architectures other than amd64, only the generic path exists.
package asm
