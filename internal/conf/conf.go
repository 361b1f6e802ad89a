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
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
)

// An Error says what is wrong with a configuration and where.
type Error struct {
	File   string // as given to Decode; empty for an assignment
	Line   int    // counted from 1; 0 where there is no file
	Column int    // in characters, counted from 1
	Path   string // the key's path, training.batch for example; empty for the whole
	Reason string
	Err    error // the cause, where another error reported it
}

// Error returns "file:line:column: path: reason", less what is not known.
func (e *Error) Error() string {
	text := e.Reason
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	switch {
	case e.Line > 0 && e.File != "":
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, text)
	case e.Line > 0:
		return fmt.Sprintf("line %d:%d: %s", e.Line, e.Column, text)
	case e.File != "":
		return e.File + ": " + text
	}
	return text
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Decode stores the JSON object in data in the struct that dst points to. The
// keys are the struct's json names, matched exactly; file names the source in
// errors. All errors are *Error. On error dst may be partly filled.
//
// Beyond encoding/json's rules, whole numbers may be written as 1e5, and lists
// and maps replace what dst had, with nothing shared.
func Decode(data []byte, file string, dst any) error { return decode(data, file, dst, false) }

func decode(data []byte, file string, dst any, draft bool) error {
	v := destination(dst)
	root, fault := parse(data)
	if fault == nil {
		forget(root, dst)
		fault = assign(v, root, "")
	}
	if fault == nil && !draft {
		fault = inapplicable(v, root)
	}
	if fault == nil {
		return nil
	}
	line, column := lineColumn(data, fault.offset)
	return fault.error(v.Type(), file, line, column)
}

// Image returns all values of v as JSON, those of kinds that are not chosen too, which
// Encode leaves out.
func Image(v any) ([]byte, error) { return json.Marshal(v) }

// Draft is Decode that takes keys of kinds that are not chosen as well: those of an Image,
// or of a text whose kinds something else is still to choose.
func Draft(data []byte, file string, dst any) error { return decode(data, file, dst, true) }

// Set applies assignments such as
//
//	training.steps=5000
//	kernel.bandwidths=[1,2,4]
//
// in turn to the struct that dst points to. The value is JSON; where it is not,
// it is taken as a string, and for a list as the list's items without their
// brackets. After the last one, every key that was assigned must be one that
// there is. All errors are *AssignmentError.
func Set(dst any, assignments ...string) error { return assignAll(dst, assignments, false) }

// DraftSet is Set that takes keys of kinds that are not chosen as well.
func DraftSet(dst any, assignments ...string) error { return assignAll(dst, assignments, true) }

func assignAll(dst any, assignments []string, draft bool) error {
	v := destination(dst)
	roots := make([]*node, len(assignments))
	for i, a := range assignments {
		root, err := set(v, a)
		if err != nil {
			return &AssignmentError{a, err}
		}
		roots[i] = root
	}
	if draft {
		return nil
	}
	for i, root := range roots {
		if f := inapplicable(v, root); f != nil {
			return &AssignmentError{assignments[i], f.error(v.Type(), "", 0, 0)}
		}
	}
	return nil
}

// An AssignmentError says what is wrong with an assignment.
type AssignmentError struct {
	Assignment string
	Err        *Error // without a position
}

func (e *AssignmentError) Error() string { return e.Err.Error() }

// Unwrap returns the *Error.
func (e *AssignmentError) Unwrap() error { return e.Err }

func set(v reflect.Value, assignment string) (*node, *Error) {
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

func (f *fault) error(root reflect.Type, file string, line, column int) *Error {
	reason := f.reason
	if f.parent != nil {
		if now, ok := moved(f.path, root); ok {
			reason = "no longer a key; write " + now
			if why, gone := strings.CutPrefix(now, "none: "); gone {
				reason = "no longer a key; remove it: " + why
			}
		} else {
			reason += advise(f.path, f.parent, root)
		}
	}
	return &Error{File: file, Line: line, Column: column, Path: f.path, Reason: reason, Err: f.err}
}

// assignmentTree builds the object {"a":{"b":value}} for the path a.b.
func assignmentTree(path, value string) (*node, *fault) {
	if fault := encoded([]byte(path + "=" + value)); fault != nil {
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
	n.loosen()
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		n = &node{kind: object, raw: fmt.Appendf(nil, "{%s:%s}", quote(key), n.raw), members: []member{{key: key, value: n}}}
	}
	return n, nil
}

// loosen takes the value, and those of an object below it, as they are written by hand.
func (n *node) loosen() {
	n.bare = true
	for _, m := range n.members {
		m.value.loosen()
	}
}

func quote(s string) string { return string(crash.Must(json.Marshal(s))) }

// Encode returns v as JSON that people read and Decode reads back: two spaces
// of indentation, lists of plain values on one line, keys in the order of the
// struct and of chosen kinds alone, a newline at the end.
func Encode(v any) ([]byte, error) {
	root, err := encode(v)
	if err != nil {
		return nil, err
	}
	return append(root.appendTo(nil, ""), '\n'), nil
}

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

// Position returns the line and column of the value at a path such as
// training.batch or kernel.imq[0].c, for errors found after decoding. Where
// data lacks the last keys of the path, as when the value comes from a preset,
// ok is false.
func Position(data []byte, path string) (line, column int, ok bool) {
	n, fault := parse(data)
	if fault != nil {
		return 0, 0, false
	}
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if n = n.child(key); n == nil {
			return 0, 0, false
		}
	}
	line, column = lineColumn(data, n.offset)
	return line, column, true
}

// child returns the member or item of the given name or index, or nil.
func (n *node) child(key string) *node {
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i]
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
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

func (n *node) assignments(all []string, path string) []string {
	if n.kind != object {
		return append(all, path+"="+string(n.raw))
	}
	for _, m := range n.members {
		all = m.value.assignments(all, join(path, m.key))
	}
	return all
}

// Leaves returns the values of a JSON text by their paths, without blanks and with numbers as
// they are written; those of objects by the paths below theirs.
func Leaves(text []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, err
	}
	all := make(map[string]string)
	var add func(path string, v any)
	add = func(path string, v any) {
		object, ok := v.(map[string]any)
		if !ok {
			all[path] = string(crash.Must(json.Marshal(v)))
		}
		for key, value := range object {
			add(join(path, key), value)
		}
	}
	add("", root)
	return all, nil
}

// At places an error at a key of a file.
func At(data []byte, file, key string, err error) error {
	line, column, _ := Position(data, key)
	return &Error{File: file, Line: line, Column: column, Path: key, Reason: strings.TrimPrefix(err.Error(), key+": "), Err: err}
}
