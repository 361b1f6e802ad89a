// Package conf reads configurations from JSON, strictly.
//
// A configuration file is written by hand and decides what a long computation
// computes, so nothing in it is ignored or guessed: unknown and duplicate
// keys, values of the wrong type, numbers that the destination cannot hold
// and anything after the object are errors. Each names the file, line and
// column, the key's full path, what was wrong and what would be right. Keys
// that are missing keep the value that the destination already had, so a
// preset is the base of what a file or an assignment changes.
package conf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
)

// Decode stores the JSON object in data in the struct that dst points to. The
// keys are the struct's json names, matched exactly; file names the source in
// errors. All errors are *Error. On error dst may be partly filled.
//
// Beyond encoding/json's rules, whole numbers may be written as 1e5, and lists
// and maps replace what dst had, with nothing shared.
func Decode(data []byte, file string, dst any) error { return decode(data, file, dst, false) }

// decode is Decode, or DecodeAll if all is true.
func decode(data []byte, file string, dst any, all bool) error {
	v := destination(dst)
	root, fault := parse(data)
	if fault == nil {
		removeSettled(root, dst)
		fault = assign(v, root, "")
	}
	if fault == nil && !all {
		fault = inapplicable(v, root)
	}
	if fault == nil {
		return nil
	}
	line, column := lineColumn(data, fault.offset)
	return fault.error(v.Type(), file, line, column)
}

// EncodeAll returns all values of v as JSON, including those of choices that v does not make,
// which Encode leaves out.
func EncodeAll(v any) ([]byte, error) { return json.Marshal(v) }

// DecodeAll is Decode that accepts keys of choices that dst does not make: those of EncodeAll, or
// of a text before a recipe has made its choices.
func DecodeAll(data []byte, file string, dst any) error { return decode(data, file, dst, true) }

// Set applies assignments such as
//
//	training.steps=5000
//	kernel.bandwidths=[1,2,4]
//
// in turn to the struct that dst points to. The value is JSON. A value that is not JSON
// is taken as a string, or for a list as the list's items without their
// brackets. After the last assignment no assigned key may be absent. All errors are
// *AssignmentError.
func Set(dst any, assignments ...string) error { return set(dst, assignments, false) }

// SetAll is Set that accepts keys of choices that dst does not make.
func SetAll(dst any, assignments ...string) error { return set(dst, assignments, true) }

func set(dst any, assignments []string, all bool) error {
	v := destination(dst)
	roots := make([]*node, len(assignments))
	for i, a := range assignments {
		root, err := setAssignment(v, a)
		if err != nil {
			return &AssignmentError{a, err}
		}
		roots[i] = root
	}
	if all {
		return nil
	}
	for i, root := range roots {
		if f := inapplicable(v, root); f != nil {
			return &AssignmentError{assignments[i], f.error(v.Type(), "", 0, 0)}
		}
	}
	return nil
}

// setAssignment applies an assignment and returns the tree of the object that it assigned.
func setAssignment(v reflect.Value, assignment string) (*node, *Error) {
	path, value, found := strings.Cut(assignment, "=")
	path = strings.TrimSpace(path)
	switch {
	case !found:
		return nil, &Error{Path: path, Reason: "no value; write key.path=value"}
	case path == "":
		return nil, &Error{Reason: fmt.Sprintf("%q names no key; write key.path=value", assignment)}
	case strings.ContainsAny(path, "[]"):
		return nil, &Error{Path: path, Reason: "items of a list cannot be set one by one; assign the whole list, key=[a,b]"}
	}
	root, fault := assignmentTree(path, strings.TrimSpace(value))
	if fault == nil {
		fault = assign(v, root, "")
	}
	if fault == nil {
		return root, nil
	}
	return nil, fault.error(v.Type(), "", 0, 0)
}

// assignmentTree builds the object {"a":{"b":value}} for the path a.b.
func assignmentTree(path, value string) (*node, *fault) {
	if fault := invalidUTF8([]byte(path + "=" + value)); fault != nil {
		return nil, fault
	}
	if !json.Valid([]byte(value)) && (value == "" || strings.IndexByte(`[{"`, value[0]) < 0) {
		value = quote(value)
	}
	n, fault := parse([]byte(value))
	if fault != nil {
		fault.path = path
		return nil, fault
	}
	n.setBare()
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		n = &node{kind: object, raw: fmt.Appendf(nil, "{%s:%s}", quote(key), n.raw), members: []member{{key: key, value: n}}}
	}
	return n, nil
}

func quote(s string) string { return string(crash.Must(json.Marshal(s))) }

// Encode returns v as JSON for people and for Decode: two spaces of indentation, lists of
// plain values on one line, keys in the order of the struct without absent ones, and a
// newline at the end.
func Encode(v any) ([]byte, error) {
	root, err := encode(v)
	if err != nil {
		return nil, err
	}
	return append(root.appendTo(nil, ""), '\n'), nil
}

// encode returns v as a tree without absent keys.
func encode(v any) (*node, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("conf: %w", err)
	}
	root, _ := parse(b.Bytes()) // what encoding/json writes is valid
	prune(reflect.ValueOf(v), root)
	return root, nil
}

func destination(dst any) reflect.Value {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("conf: the destination is a %T; it must be a pointer to a struct", dst))
	}
	return v.Elem()
}

// Text returns the string that a JSON object has under one of its own keys;
// ok is false if the key is missing. It is for the keys that decide which
// struct the object belongs to. All errors are *Error.
func Text(data []byte, file, key string) (value string, ok bool, err error) {
	root, f := parse(data)
	if f == nil {
		f = duplicate(root, "")
	}
	if f == nil && root.kind != object {
		f = mismatch(root, "", "an object")
	}
	if f == nil {
		n := root.child(key)
		switch {
		case n == nil:
			return "", false, nil
		case n.kind == text:
			return n.text, true, nil
		}
		f = mismatch(n, key, "a string")
	}
	line, column := lineColumn(data, f.offset)
	return "", false, f.error(nil, file, line, column)
}

// Keys returns the paths of all values in the struct that v points to, in
// order, as Set takes them.
func Keys(v any) []string {
	return lists.Map(Describe(v), func(k Key) string { return k.Path })
}

// Assignments returns the values in the struct that v points to as Set takes
// them, key.path=value, in order.
func Assignments(v any) ([]string, error) {
	root, err := encode(v)
	if err != nil {
		return nil, err
	}
	return root.assignments(nil, ""), nil
}

// Leaves returns the values of a JSON text that are no objects by their paths, without blanks
// and with numbers as they are written.
func Leaves(text []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, err
	}
	leaves := make(map[string]string)
	var add func(path string, v any)
	add = func(path string, v any) {
		object, ok := v.(map[string]any)
		if !ok {
			leaves[path] = string(crash.Must(json.Marshal(v)))
		}
		for key, value := range object {
			add(join(path, key), value)
		}
	}
	add("", root)
	return leaves, nil
}
