package engine

import (
	"context"
	"fmt"
	"math"
)

// AtMost is a check that passes if value ≤ bound. A value that is not a number
// fails and is reported as the largest float, which JSON can hold.
func AtMost(name string, value, bound float64, detail string, args ...any) Check {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		value = math.MaxFloat64
	}
	return Check{Name: name, OK: value <= bound, Value: value, Bound: bound, Detail: fmt.Sprintf(detail, args...)}
}

// AtLeast is a check that passes if value ≥ bound; see AtMost.
func AtLeast(name string, value, bound float64, detail string, args ...any) Check {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		value = -math.MaxFloat64
	}
	return Check{Name: name, OK: value >= bound, Value: value, Bound: bound, Detail: fmt.Sprintf(detail, args...)}
}

// RunChecks emits the outcomes of checks in order. It stops with an error when
// one cannot be carried out or ctx is done.
func RunChecks(ctx context.Context, emit func(Check), checks ...func() ([]Check, error)) error {
	for _, check := range checks {
		if err := ctx.Err(); err != nil {
			return err
		}
		outcomes, err := check()
		if err != nil {
			return err
		}
		for _, c := range outcomes {
			emit(c)
		}
	}
	return nil
}
