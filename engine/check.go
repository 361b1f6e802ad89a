package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/number"
)

// A Check is the outcome of one verification. Value and Bound need not be
// finite: package number says how JSON holds infinities and NaN.
type Check struct {
	System string  `json:"system,omitempty"` // where checks of several are reported
	Name   string  `json:"check"`
	OK     bool    `json:"ok"`
	Value  float64 `json:"value"`
	Bound  float64 `json:"bound"`
	Detail string  `json:"detail,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c Check) MarshalJSON() ([]byte, error) { return number.Marshal(c) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Check) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, c) }

// A SelfChecker checks a trained generator against what is known exactly of it.
type SelfChecker interface {
	// VerifyModel draws the given number of samples from the generator with
	// parameters params, in several ways, and reports each check through emit.
	VerifyModel(ctx context.Context, params []float32, samples int, emit func(Check)) error
}

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
	// loss holds fixed as they were. It is called before Backward.
	Surrogate() func(params []float64) float64
}

// GradientError takes one training step with the given parameters and compares the gradient
// that backward gives, s.Backward outside of tests, with central differences of the surrogate
// along random directions of each tensor. It returns the number of tensors, and the largest
// deviation in units of the tensor's largest difference, or of a tenth of the largest of any
// tensor if that is more. If the target fails, the deviation is infinite.
func GradientError(s Differentiable, params []float32, backward func(params, grad []float32)) (worst float64, tensors int) {
	const directions, step = 3, 1e-8 // short, so that few perceptrons' kinks are crossed
	if _, err := s.Loss(params, 1); err != nil {
		return math.Inf(1), 0
	}
	surrogate, grad := s.Surrogate(), make([]float32, len(params))
	backward(params, grad)

	point := number.Widen(params)
	name := func(int) string { return "" }
	if n, ok := s.(TensorNamer); ok {
		name = n.TensorName
	}
	var deviations, scales []float64 // of each tensor
	for first := 0; first < len(params); {
		last := first + 1
		for last < len(params) && name(last) == name(first) {
			last++
		}
		signs := make([]uint32, (last-first+3)/4*4)
		var deviation, scale float64
		for d := range directions {
			asm.PhiloxBlocks(signs, &asm.Counter{Seed: 9, Step: uint32(d)}, uint64(first))
			along := func(t float64) float64 {
				for i := first; i < last; i++ {
					point[i] = float64(params[i]) + t*(float64(signs[i-first]>>31)*2-1)
				}
				return surrogate(point)
			}
			central := (along(step) - along(-step)) / (2 * step)
			var product float64
			for i := first; i < last; i++ {
				point[i] = float64(params[i])
				product += float64(grad[i]) * (float64(signs[i-first]>>31)*2 - 1)
			}
			deviation, scale = max(deviation, math.Abs(central-product)), max(scale, math.Abs(central))
		}
		deviations, scales = append(deviations, deviation), append(scales, scale)
		first = last
	}
	largest := slices.Max(scales)
	for i, deviation := range deviations {
		worst = max(worst, deviation/max(scales[i], largest/10, math.SmallestNonzeroFloat64))
	}
	return worst, len(deviations)
}
