package conf

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/crash"
)

// A rule is what a tag may require of a number, and of each number of a list.
type rule struct {
	violation       string // what an error says if holds is false
	holds           func(x float64) bool
	singleViolation string               // what an error says if holdsSingle is false
	holdsSingle     func(x float64) bool // of x in single precision, in which training computes
}

const beyondSingle = "is beyond single precision, in which it is used and which holds 1.2e-38 to 3.4e38"

// allDigits reports whether single precision holds x with all its digits.
func allDigits(x float64) bool { return x == 0 || x >= 0x1p-126 && x <= math.MaxFloat32 }

// always holds of numbers that are used in double precision.
func always(float64) bool { return true }

var rules = map[string]rule{
	"positive":     {"is not a positive finite number", func(x float64) bool { return x > 0 && x <= math.MaxFloat64 }, beyondSingle, allDigits},
	"not negative": {"is not a finite number ≥ 0", func(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }, beyondSingle, allDigits},
	// A finite number may be so small that single precision holds 0.
	"finite":      {"is not finite", func(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }, beyondSingle, func(x float64) bool { return math.Abs(x) <= math.MaxFloat32 }},
	"decay":       {"is not in [0, 1)", func(x float64) bool { return x >= 0 && x < 1 }, "is 1 in single precision, in which it is used", func(x float64) bool { return float32(x) < 1 }},
	"slope":       {"is not in (0, 1]", func(x float64) bool { return x > 0 && x <= 1 }, beyondSingle, allDigits},
	"fraction":    {"is not between 0 and 1", func(x float64) bool { return x >= 0 && x <= 1 }, "", always},
	"probability": {"is not a probability", func(x float64) bool { return x >= 0 && x <= 1 }, "", always},
}

func (r rule) check(key string, x float64) error {
	switch {
	case !r.holds(x):
		return fmt.Errorf("%s: %v %s", key, x, r.violation)
	case !r.holdsSingle(x):
		return fmt.Errorf("%s: %v %s", key, x, r.singleViolation)
	}
	return nil
}

// checkNumber returns an error if a number breaks the rule of its field's tag. The rule of an
// integer is low..high, in which high may be left out and is then the largest of 32 bits. That of
// the widths of a perceptron's layers is "widths", and any other one is in rules.
func (f *field) checkNumber(key string, v reflect.Value) error {
	switch x := v.Interface().(type) {
	case int:
		low, high, _ := strings.Cut(f.is, "..")
		return Between(key, x, crash.Must(strconv.Atoi(low)), crash.Must(strconv.Atoi(cmp.Or(high, "2147483647"))))
	case []int:
		return Widths(key, x)
	case []float64:
		return checkEach(key, x, rules[f.is].check)
	}
	return rules[f.is].check(key, v.Float())
}

// Positive returns an error if x is not a positive number of single precision.
func Positive(key string, x float64) error { return rules["positive"].check(key, x) }

// Fraction returns an error if x is not between 0 and 1.
func Fraction(key string, x float64) error { return rules["fraction"].check(key, x) }

// Between returns an error if x is not between low and high.
func Between(key string, x, low, high int) error {
	if x < low || x > high {
		return fmt.Errorf("%s: %d is not between %d and %d", key, x, low, high)
	}
	return nil
}

// Widths returns an error if a perceptron has more than 64 layers, or about the first width
// of a layer that is not between 1 and 1024.
func Widths(key string, widths []int) error {
	const maxWidth, maxLayers = 1024, 64
	if len(widths) > maxLayers {
		return fmt.Errorf("%s: %d layers are more than %d", key, len(widths), maxLayers)
	}
	return checkEach(key, widths, func(key string, w int) error { return Between(key, w, 1, maxWidth) })
}

// Deviations returns an error if a list of standard deviations is empty, or about the first one
// that is not positive.
func Deviations(key string, sigma []float64) error {
	if len(sigma) == 0 {
		return fmt.Errorf("%s: the list is empty; give at least one standard deviation", key)
	}
	return AllPositive(key, sigma)
}

// AllPositive is Positive of each number of a list.
func AllPositive(key string, list []float64) error { return checkEach(key, list, Positive) }

func checkEach[T any](key string, list []T, rule func(key string, x T) error) error {
	for i, x := range list {
		if err := rule(fmt.Sprintf("%s[%d]", key, i), x); err != nil {
			return err
		}
	}
	return nil
}

// OneOf returns an error that lists the allowed values if value is none of them.
func OneOf(key, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is not one of %s", key, value, strings.Join(allowed, ", "))
}

// Under puts the key of an object before the key in an error, if there is one.
func Under(object string, err error) error {
	if err != nil {
		return fmt.Errorf("%s.%w", object, err)
	}
	return nil
}

// First returns the first error that is not nil.
func First(errs ...error) error { return cmp.Or(errs...) }
