package engine

import (
	"context"
	"fmt"

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

// One is the outcome of a check of a single number.
func One(c Check) ([]Check, error) { return []Check{c}, nil }

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
