package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/number"
)

// AtMost is a check that passes if value ≤ bound. A value that is not finite
// fails.
func AtMost(name string, value, bound float64, detail string, args ...any) Check {
	return Check{Name: name, OK: number.Finite(value) && value <= bound, Value: value, Bound: bound, Detail: fmt.Sprintf(detail, args...)}
}

// AtLeast is a check that passes if value ≥ bound. A value that is not finite
// fails.
func AtLeast(name string, value, bound float64, detail string, args ...any) Check {
	return Check{Name: name, OK: number.Finite(value) && value >= bound, Value: value, Bound: bound, Detail: fmt.Sprintf(detail, args...)}
}

// A Checker emits the outcomes of checks.
type Checker = func(emit func(Check))

// RunChecks runs checks in order. It stops with ctx's error when that is done.
func RunChecks(ctx context.Context, emit func(Check), checks ...Checker) error {
	for _, check := range checks {
		if err := ctx.Err(); err != nil {
			return err
		}
		check(emit)
	}
	return nil
}

// A Differentiable is a system that says what its Backward differentiates, so that
// the gradient can be checked.
type Differentiable interface {
	System
	// Surrogate returns the function of the parameters whose gradient Backward
	// gives after the last Loss, computed anew in float64: the loss, or its
	// first-order change, with the noise, s′, the draws of heads and what the
	// loss holds fixed as they were. It is asked for before Backward.
	Surrogate() func(params []float64) float64
}

// GradientError takes one training step with the given parameters and returns by
// how much its gradient by backward, which is s.Backward but in tests, is off
// central differences of the surrogate along random directions of each tensor, at
// most, relative to the largest of that tensor or, if that is more, a tenth of the
// largest of all, and the number of tensors; infinity where the target fails.
func GradientError(s Differentiable, params []float32, backward func(params, grad []float32)) (worst float64, tensors int) {
	const directions, step = 3, 1e-8 // short, so that few perceptrons' kinks are crossed
	if _, err := s.Loss(params, 1); err != nil {
		return math.Inf(1), 0
	}
	surrogate, grad := s.Surrogate(), make([]float32, len(params))
	backward(params, grad)

	at := number.Widen(params)
	name := func(int) string { return "" }
	if n, ok := s.(TensorNamer); ok {
		name = n.TensorName
	}
	var offs, scales []float64
	for first := 0; first < len(params); {
		last := first + 1
		for last < len(params) && name(last) == name(first) {
			last++
		}
		signs := make([]uint32, (last-first+3)/4*4)
		var off, scale float64
		for d := range directions {
			asm.PhiloxBlocks(signs, &asm.Counter{Seed: 9, Step: uint32(d)}, uint64(first))
			along := func(by float64) float64 {
				for i := first; i < last; i++ {
					at[i] = float64(params[i]) + by*(float64(signs[i-first]>>31)*2-1)
				}
				return surrogate(at)
			}
			central := (along(step) - along(-step)) / (2 * step)
			along(0)
			var product float64
			for i := first; i < last; i++ {
				product += float64(grad[i]) * (float64(signs[i-first]>>31)*2 - 1)
			}
			off, scale = max(off, math.Abs(central-product)), max(scale, math.Abs(central))
		}
		offs, scales = append(offs, off), append(scales, scale)
		first = last
	}
	largest := slices.Max(scales)
	for i, off := range offs {
		worst = max(worst, off/max(scales[i], largest/10, math.SmallestNonzeroFloat64))
	}
	return worst, len(offs)
}
