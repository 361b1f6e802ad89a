// Package number gives JSON the floating-point numbers that it lacks. A figure
// may be infinite with good reason, as a divergence is where the target has no
// weight, and that must not lose the record that it stands in.
//
// A finite number is written as JSON writes it. The others are the strings
// "Infinity", "-Infinity" and "NaN", which Python's float() and JavaScript's
// Number() understand, and which are read back.
package number

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"sync"
)

// A Float is a float64 that JSON can hold whatever its value is.
type Float float64

// Finite reports whether x is neither infinite nor NaN.
func Finite(x float64) bool { return x-x == 0 }

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	switch x := float64(f); {
	case math.IsNaN(x):
		return []byte(`"NaN"`), nil
	case math.IsInf(x, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(x)
	}
}

// UnmarshalJSON implements json.Unmarshaler. Unlike encoding/json it refuses
// null, which is not a number.
func (f *Float) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*f = Float(math.NaN())
	case `"Infinity"`:
		*f = Float(math.Inf(1))
	case `"-Infinity"`:
		*f = Float(math.Inf(-1))
	case "null":
		return fmt.Errorf("null where a number is needed")
	default:
		return json.Unmarshal(text, (*float64)(f))
	}
	return nil
}

// Marshal is json.Marshal of a struct whose fields of type float64, arrays and
// slices of such and pointers to such are written as Float, those of embedded structs
// too. A type whose figures need not
// be finite makes it its MarshalJSON, and Unmarshal its UnmarshalJSON.
func Marshal(v any) ([]byte, error) {
	from := reflect.ValueOf(v)
	to := reflect.New(mirror(from.Type())).Elem()
	convert(to, from)
	return json.Marshal(to.Interface())
}

// Unmarshal reads what Marshal writes into the struct that v points to.
func Unmarshal(text []byte, v any) error {
	to := reflect.ValueOf(v).Elem()
	from := reflect.New(mirror(to.Type())).Elem()
	convert(from, to) // what the text leaves out stays
	if err := json.Unmarshal(text, from.Addr().Interface()); err != nil {
		return err
	}
	convert(to, from)
	return nil
}

func convert(to, from reflect.Value) {
	if from.CanConvert(to.Type()) {
		to.Set(from.Convert(to.Type()))
		return
	}
	if from.Kind() == reflect.Struct {
		for i := range from.NumField() {
			convert(to.Field(i), from.Field(i))
		}
		return
	}
	if from.Kind() == reflect.Slice {
		to.SetZero()
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
	}
	for i := range from.Len() {
		convert(to.Index(i), from.Index(i))
	}
}

var mirrors sync.Map // of reflect.Type, to reflect.Type

// mirror returns the struct type with Float for float64.
func mirror(t reflect.Type) reflect.Type {
	if m, ok := mirrors.Load(t); ok {
		return m.(reflect.Type)
	}
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		own := reflect.StructField{Name: f.Name, Tag: f.Tag, Type: image(f.Type), Anonymous: f.Anonymous}
		if f.Anonymous {
			own.Type = mirror(f.Type)
		}
		fields = append(fields, own)
	}
	m, _ := mirrors.LoadOrStore(t, reflect.StructOf(fields))
	return m.(reflect.Type)
}

func image(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[float64]():
		return reflect.TypeFor[Float]()
	case reflect.TypeFor[*float64]():
		return reflect.TypeFor[*Float]()
	}
	switch {
	case t.Kind() == reflect.Array:
		return reflect.ArrayOf(t.Len(), image(t.Elem()))
	case t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[float64]():
		return reflect.TypeFor[[]Float]()
	}
	return t
}

// Rounded returns x to a number of digits, as a person would write it.
func Rounded(x float64, digits int) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))+1-float64(digits))
	n := math.Round(x / unit)
	if unit < 1 {
		return n / math.Round(1/unit) // the nearest number to the decimal one
	}
	return n * unit
}

// Count writes a number of things: 1 step, 2 steps.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Percent writes a fraction as a percentage of two digits.
func Percent(x float64) string {
	if math.Abs(x) < 1e-4 {
		return fmt.Sprintf("%.2g %%", 100*x)
	}
	return strconv.FormatFloat(Rounded(100*x, 2), 'f', -1, 64) + " %"
}

// Widen returns x in float64.
func Widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Narrow returns x in float32.
func Narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// Largest returns the largest magnitude.
func Largest(x []float64) (m float64) {
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// CentralDifference differentiates f by *v.
func CentralDifference(v *float64, h float64, f func() float64) float64 {
	keep := *v
	*v = keep + h
	up := f()
	*v = keep - h
	down := f()
	*v = keep
	return (up - down) / (2 * h)
}

// WalshHadamard transforms x, whose length is a power of two, in place:
// Σ_y x(y) (−1)^{|x ∧ y|}.
func WalshHadamard(x []float64) {
	for half := 1; half < len(x); half *= 2 {
		for i := 0; i < len(x); i += 2 * half {
			lo, hi := x[i:i+half], x[i+half:i+2*half]
			for j, a := range lo {
				b := hi[j]
				lo[j], hi[j] = a+b, a-b
			}
		}
	}
}
