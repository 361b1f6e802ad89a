package main

/*
#include "revgen.h"
int revgen_call_log_density(const revgen_target *t, size_t n, const double *x, const int32_t *mode, double *out);
*/
import "C"

import (
	"fmt"
	"math"
	"sync"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/target/density"
)

// A callback is the host's target.
type callback struct {
	c    *C.revgen_target // a copy; what it points to is the host's, and lives as long as the model
	stop func()           // ends the training; nil if there is none

	mu   sync.Mutex // held during a call; guards the fields below
	x    []float64
	mode []int32
	out  []float64
	err  error
}

// newCallback returns the host's target and its system, or nil if t is null.
func newCallback(t *C.revgen_target) (*callback, []engine.Definition, error) {
	if t == nil {
		return nil, nil, nil
	}
	switch {
	case t.size != C.sizeof_revgen_target:
		return nil, nil, &failure{C.REVGEN_VERSION, "target: its size is not that of this version's"}
	case t.log_density == nil:
		return nil, nil, argument("target: log_density is a null pointer")
	case t.dim < 1 || t.dim > 1<<14:
		return nil, nil, argument(fmt.Sprintf("target: %d coordinates are not between 1 and %d", uint64(t.dim), 1<<14))
	case t.modes > vectors.MaxModes:
		return nil, nil, argument(fmt.Sprintf("target: %d modes are more than %d", uint64(t.modes), vectors.MaxModes))
	}
	target := *t
	b := &callback{c: &target}
	const summary = "the host's own target"
	if t.modes == 0 {
		return b, []engine.Definition{density.Reals(callbackName, summary, b)}, nil
	}
	return b, []engine.Definition{density.Mixed(callbackName, summary, modal{b})}, nil
}

// callbackName is the name of the system of the host's target.
const callbackName = "callback"

// cause returns the callback's failure and forgets it; if it has not failed, err.
func (b *callback) cause(err error) error {
	if b == nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		err, b.err = b.err, nil
	}
	return err
}

// evaluate sets b.out to ln π of n states. After a failure, which cause has not yet returned, it
// sets NaN and does not call the host.
func (b *callback) evaluate(n int, x []float32, k []uint8) {
	b.x, b.mode, b.out = b.x[:0], b.mode[:0], append(b.out[:0], make([]float64, n)...)
	for _, v := range x {
		b.x = append(b.x, float64(v))
	}
	for _, v := range k {
		b.mode = append(b.mode, int32(v))
	}
	if b.err == nil && n > 0 {
		var mode *C.int32_t
		if k != nil {
			mode = (*C.int32_t)(&b.mode[0])
		}
		if code := C.revgen_call_log_density(b.c, C.size_t(n), (*C.double)(&b.x[0]), mode, (*C.double)(&b.out[0])); code != 0 {
			b.err = &failure{C.REVGEN_CALLBACK, fmt.Sprintf("log_density returned %d", int(code))}
			if b.stop != nil {
				b.stop()
			}
		}
	}
	if b.err != nil {
		for i := range b.out {
			b.out[i] = math.NaN()
		}
	}
}

// Dim returns d.
func (b *callback) Dim() int { return int(b.c.dim) }

// LogDensity implements vectors.Target.
func (b *callback) LogDensity(dst, x []float32, k []uint8) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.evaluate(len(dst), x, k)
	for i, v := range b.out {
		dst[i] = float32(v)
	}
}

// modal is a callback that has modes.
type modal struct{ *callback }

// Modes returns M.
func (m modal) Modes() int { return int(m.c.modes) }

// LogDensity64 implements vectors.Precise.
func (m modal) LogDensity64(dst []float64, x []float32, k []uint8) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evaluate(len(dst), x, k)
	copy(dst, m.out)
}
