package conf

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// assign stores n in v. The path names v in faults.
func assign(v reflect.Value, n *node, path string) *fault {
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		if err := u.UnmarshalJSON(n.raw); err != nil {
			return &fault{offset: n.offset, path: path, reason: err.Error(), err: err}
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return assignStruct(v, n, path)
	case reflect.Pointer:
		if n.kind == null {
			v.SetZero()
			return nil
		}
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		v.Set(fresh)
		return assign(fresh.Elem(), n, path)
	case reflect.Slice, reflect.Array:
		return assignList(v, n, path)
	case reflect.Map:
		return assignMap(v, n, path)
	case reflect.Bool:
		if n.kind != boolean {
			return mismatch(n, path, "true or false")
		}
		v.SetBool(n.text == "true")
	case reflect.String:
		if n.kind != text && !(n.bare && n.kind <= number) {
			return mismatch(n, path, "a string")
		}
		v.SetString(n.text)
	case reflect.Float32, reflect.Float64:
		return assignFloat(v, n, path)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return assignInteger(v, n, path)
	default:
		panic(fmt.Sprintf("conf: %s: a configuration cannot hold a %v", path, v.Type()))
	}
	return nil
}

func assignStruct(v reflect.Value, n *node, path string) *fault {
	if n.kind != object {
		want := "an object"
		if keys := keysOf(v.Type()); len(keys) > 0 {
			want += " with keys such as " + keys[0]
		}
		return mismatch(n, path, want)
	}
	all := listFields(v.Type())
	if f := duplicate(n, path); f != nil {
		return f
	}
	for _, m := range n.members {
		i := indexOf(all, m.key)
		if i < 0 {
			return &fault{offset: m.offset, path: join(path, m.key), reason: "unknown key", parent: v.Type()}
		}
		if f := assign(v.FieldByIndex(all[i].index), m.value, join(path, m.key)); f != nil {
			return f
		}
	}
	return nil
}

// duplicate reports the second of two equal keys of an object.
func duplicate(n *node, path string) *fault {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		if seen[m.key] {
			return &fault{offset: m.offset, path: join(path, m.key), reason: "this key stands here for the second time; remove one"}
		}
		seen[m.key] = true
	}
	return nil
}

// assignList fills a slice or array with fresh items, so that two
// configurations that began as one preset never share them.
func assignList(v reflect.Value, n *node, path string) *fault {
	array := v.Kind() == reflect.Array
	if n.kind == null && !array {
		v.SetZero()
		return nil
	}
	if n.bare && n.kind <= text {
		inner := string(n.raw)
		if n.kind == text {
			inner = n.text
		}
		bracketed, f := parse([]byte("[" + inner + "]"))
		if f != nil {
			return mismatch(n, path, "a list, [a,b],")
		}
		n = bracketed
	}
	if n.kind != list {
		return mismatch(n, path, "a list")
	}
	if array && len(n.items) != v.Len() {
		return &fault{offset: n.offset, path: path, reason: fmt.Sprintf("%d values, where %d are needed", len(n.items), v.Len())}
	}
	items := reflect.New(v.Type()).Elem()
	if !array {
		items.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	}
	for i, item := range n.items {
		if f := assign(items.Index(i), item, fmt.Sprintf("%s[%d]", path, i)); f != nil {
			return f
		}
	}
	v.Set(items)
	return nil
}

// assignMap replaces a map with string keys.
func assignMap(v reflect.Value, n *node, path string) *fault {
	if v.Type().Key().Kind() != reflect.String {
		panic(fmt.Sprintf("conf: %s: a configuration cannot hold a %v", path, v.Type()))
	}
	if n.kind == null {
		v.SetZero()
		return nil
	}
	if n.kind != object {
		return mismatch(n, path, "an object")
	}
	if f := duplicate(n, path); f != nil {
		return f
	}
	fresh := reflect.MakeMapWithSize(v.Type(), len(n.members))
	for _, m := range n.members {
		value := reflect.New(v.Type().Elem()).Elem()
		if f := assign(value, m.value, join(path, m.key)); f != nil {
			return f
		}
		fresh.SetMapIndex(reflect.ValueOf(m.key).Convert(v.Type().Key()), value)
	}
	v.Set(fresh)
	return nil
}

// assignFloat stores a finite number that is not too small to be told from 0.
func assignFloat(v reflect.Value, n *node, path string) *fault {
	if n.kind == text && notFinite(n.text) {
		return &fault{offset: n.offset, path: path, reason: n.text + " is not a finite number"}
	}
	if n.kind != number {
		return mismatch(n, path, "a number")
	}
	bits := v.Type().Bits()
	x, err := strconv.ParseFloat(n.text, bits)
	if err != nil {
		return &fault{offset: n.offset, path: path, reason: fmt.Sprintf("%s is too large for a float%d", n.text, bits), err: err}
	}
	if mantissa, _, _ := strings.Cut(strings.ToLower(n.text), "e"); x == 0 && strings.ContainsAny(mantissa, "123456789") {
		return &fault{offset: n.offset, path: path, reason: fmt.Sprintf("%s is too small for a float%d; write 0", n.text, bits)}
	}
	v.SetFloat(x)
	return nil
}

func notFinite(s string) bool {
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// assignInteger stores a whole number, which may be written as 1e5 or 20.0.
func assignInteger(v reflect.Value, n *node, path string) *fault {
	if n.kind != number {
		if n.kind == text && notFinite(n.text) {
			return &fault{offset: n.offset, path: path, reason: n.text + " is not a whole number"}
		}
		return mismatch(n, path, "a whole number")
	}
	x, whole := integer(n.text)
	if !whole {
		return &fault{offset: n.offset, path: path, reason: n.text + " is not a whole number"}
	}
	unused := 64 - v.Type().Bits()
	low, high := int64(0), uint64(math.MaxUint64)>>unused
	if v.CanInt() {
		low, high = math.MinInt64>>unused, high>>1
	}
	if x == nil || x.Cmp(big.NewInt(low)) < 0 || x.Cmp(new(big.Int).SetUint64(high)) > 0 {
		return &fault{offset: n.offset, path: path, reason: fmt.Sprintf("%s is not between %v and %v", n.text, low, high)}
	}
	if v.CanInt() {
		v.SetInt(x.Int64())
	} else {
		v.SetUint(x.Uint64())
	}
	return nil
}

// integer returns the value of a JSON number and whether it is whole. The
// value is nil if it lies beyond 10^40, where no destination holds it.
func integer(literal string) (x *big.Int, whole bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if exponent != "" {
		// A literal of a few bytes may stand for a number that takes gigabytes.
		e, err := strconv.Atoi(exponent)
		if strings.Trim(mantissa, "-0.") == "" {
			return new(big.Int), true
		}
		digits := len(mantissa)
		switch {
		case err != nil || e < -digits:
			return nil, !strings.HasPrefix(exponent, "-")
		case e > digits+40:
			return nil, true
		}
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok || !r.IsInt() {
		return nil, false
	}
	return r.Num(), true
}

// mismatch reports a value of the wrong kind.
func mismatch(n *node, path, want string) *fault {
	got := n.kind.String()
	if n.kind == text || n.kind == number || n.kind == boolean {
		value := n.text
		if n.kind == text {
			value = quote(value)
		}
		if r := []rune(value); len(r) > 40 {
			value = string(r[:40]) + "…"
		}
		got += " (" + value + ")"
	}
	reason := fmt.Sprintf("%s where %s is needed", got, want)
	if n.kind == text && !n.bare && strings.HasSuffix(want, "number") && json.Valid([]byte(n.text)) {
		reason += "; remove the quotes"
	}
	return &fault{offset: n.offset, path: path, reason: reason}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
