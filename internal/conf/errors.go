package conf

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
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

// Error returns "file:line:column: path: reason", without the parts that are not known.
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

// An AssignmentError says what is wrong with an assignment.
type AssignmentError struct {
	Assignment string
	Err        *Error // without a position
}

func (e *AssignmentError) Error() string { return e.Err.Error() }

// Unwrap returns the *Error.
func (e *AssignmentError) Unwrap() error { return e.Err }

// A fault is an error before its offset becomes a line and a column.
type fault struct {
	offset int
	path   string
	reason string
	err    error
	parent reflect.Type // of an unknown key: the struct that lacks it
}

// error returns the fault with its place, and with advice if the key is unknown.
func (f *fault) error(root reflect.Type, file string, line, column int) *Error {
	reason := f.reason
	if f.parent != nil {
		if now, ok := replacement(f.path, root); ok {
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

// lineColumn counts lines and, in characters, columns from 1.
func lineColumn(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
	return line, column
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

// At returns an error with the place of a key in a file.
func At(data []byte, file, key string, err error) error {
	line, column, _ := Position(data, key)
	return &Error{File: file, Line: line, Column: column, Path: key, Reason: strings.TrimPrefix(err.Error(), key+": "), Err: err}
}
