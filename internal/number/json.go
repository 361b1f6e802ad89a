package number

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync"
)

// JSON has no numbers that are not finite. A figure may be infinite with good reason, as a divergence is
// where the target has no weight, and that must not lose the record in which it stands. So
// infinities and NaN are written as the strings "Infinity", "-Infinity" and "NaN", which Python's
// float() and JavaScript's Number() understand, and which are read back.

// A Float is a float64 that is written to JSON in this way.
type Float float64

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
// null.
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

// Marshal is json.Marshal of a struct in which every float64 is written as a Float: fields of type float64,
// arrays, slices and pointers of it, and those of embedded structs. A type whose figures need not
// be finite calls Marshal in its MarshalJSON, and Unmarshal in its UnmarshalJSON.
//
// Both convert the struct to a type that reflect builds, with Float for float64 and the same tags. It has no
// methods, so encoding/json does not call Marshal again.
func Marshal(v any) ([]byte, error) {
	from := reflect.ValueOf(v)
	to := reflect.New(floatStruct(from.Type())).Elem()
	convert(to, from)
	return json.Marshal(to.Interface())
}

// Unmarshal reads what Marshal writes into the struct that v points to.
func Unmarshal(text []byte, v any) error {
	to := reflect.ValueOf(v).Elem()
	from := reflect.New(floatStruct(to.Type())).Elem()
	convert(from, to) // fields that are not in the text keep their values
	if err := json.Unmarshal(text, from.Addr().Interface()); err != nil {
		return err
	}
	convert(to, from)
	return nil
}

// convert sets to, a struct or a part of one, to from, whose type is the same but for float64 and Float.
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

var floatStructs sync.Map // of floatStruct, from reflect.Type to reflect.Type

// floatStruct returns a struct type with Float for float64.
func floatStruct(t reflect.Type) reflect.Type {
	if built, ok := floatStructs.Load(t); ok {
		return built.(reflect.Type)
	}
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			f.Type = floatStruct(f.Type)
		} else {
			f.Type = floatType(f.Type)
		}
		fields = append(fields, reflect.StructField{Name: f.Name, Tag: f.Tag, Type: f.Type, Anonymous: f.Anonymous})
	}
	built, _ := floatStructs.LoadOrStore(t, reflect.StructOf(fields))
	return built.(reflect.Type)
}

// floatType returns the type of a field with Float for float64.
func floatType(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[float64]():
		return reflect.TypeFor[Float]()
	case reflect.TypeFor[*float64]():
		return reflect.TypeFor[*Float]()
	}
	switch {
	case t.Kind() == reflect.Array:
		return reflect.ArrayOf(t.Len(), floatType(t.Elem()))
	case t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[float64]():
		return reflect.TypeFor[[]Float]()
	}
	return t
}
