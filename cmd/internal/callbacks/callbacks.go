// Package callbacks gives tests the C functions and strings of a host of the C ABI.
package callbacks

/*
#include <stddef.h>
#include <stdint.h>
extern int callbacksDensity(void *context, size_t n, size_t d, double *x, int32_t *mode, double *out);
extern int callbacksProgress(void *context, int64_t step, int64_t steps, double loss, double acceptance);
*/
import "C"

import "unsafe"

// Density is called by the C function at DensityPointer; mode is nil without modes.
var Density func(d int, x []float64, mode []int32, out []float64) int

// Progress is called by the C function at ProgressPointer.
var Progress func(step, steps int64, loss, acceptance float64) int

// DensityPointer returns a revgen_log_density.
func DensityPointer() unsafe.Pointer { return unsafe.Pointer(C.callbacksDensity) }

// ProgressPointer returns a revgen_progress.
func ProgressPointer() unsafe.Pointer { return unsafe.Pointer(C.callbacksProgress) }

// String returns a C string that is never freed.
func String(s string) unsafe.Pointer { return unsafe.Pointer(C.CString(s)) }

//export callbacksDensity
func callbacksDensity(_ unsafe.Pointer, n, d C.size_t, x *C.double, mode *C.int32_t, out *C.double) C.int {
	var modes []int32
	if mode != nil {
		modes = unsafe.Slice((*int32)(mode), int(n))
	}
	return C.int(Density(int(d), unsafe.Slice((*float64)(x), int(n*d)), modes, unsafe.Slice((*float64)(out), int(n))))
}

//export callbacksProgress
func callbacksProgress(_ unsafe.Pointer, step, steps C.int64_t, loss, acceptance C.double) C.int {
	return C.int(Progress(int64(step), int64(steps), float64(loss), float64(acceptance)))
}
