package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Field is a field of a dtype.
type Field struct {
	Name  string // empty for a dtype without fields
	Type  string // byte order, kind and size of a number: <f4
	Count int    // of numbers
}

// Fields returns the fields of a dtype, given as in Header.Descr, and the number of bytes of one
// item.
func Fields(descr string) (fields []Field, size int, err error) {
	p := reader{text: descr}
	l, err := p.literal(0)
	if err == nil && p.skipSpace() != 0 {
		err = fmt.Errorf("unexpected %q", p.text[p.pos:])
	}
	if err == nil {
		fields, size, err = parseFields(l)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("npy: dtype %s: %w", descr, err)
	}
	return fields, size, nil
}

func parseFields(l literal) (fields []Field, size int, err error) {
	switch v := l.value.(type) {
	case string:
		size, err = plainSize(v)
		return []Field{{Type: v, Count: 1}}, size, err
	case []literal:
		for _, item := range v {
			f, numberSize, err := parseField(item)
			if err != nil {
				return nil, 0, err
			}
			fields, size = append(fields, f), size+numberSize*f.Count
		}
		if size <= 0 || size > 1<<30 {
			return nil, 0, fmt.Errorf("items of %d bytes", size)
		}
		return fields, size, nil
	}
	return nil, 0, fmt.Errorf("%s is neither a string nor a list of fields", l.text)
}

// parseField returns the field (name, dtype) or (name, dtype, shape), and the size of a number.
func parseField(l literal) (f Field, size int, err error) {
	parts, ok := l.value.([]literal)
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return f, 0, fmt.Errorf("field %s is not (name, dtype) or (name, dtype, shape)", l.text)
	}
	if f.Name, ok = parts[0].value.(string); !ok {
		return f, 0, fmt.Errorf("field %s has no name", l.text)
	}
	if f.Type, ok = parts[1].value.(string); !ok {
		return f, 0, errors.New("a field has fields")
	}
	f.Count = 1
	if size, err = plainSize(f.Type); err != nil || len(parts) == 2 {
		return f, size, err
	}
	lengths, ok := parts[2].value.([]literal)
	if !ok {
		lengths = parts[2:]
	}
	for _, length := range lengths {
		n, ok := length.value.(int)
		if !ok || n < 1 || n > 1<<30/(size*f.Count) {
			return f, 0, fmt.Errorf("field %s has no usable shape", l.text)
		}
		f.Count *= n
	}
	return f, size, nil
}

// plainSize returns the size of a dtype such as <f4.
func plainSize(dtype string) (int, error) {
	if len(dtype) < 3 || !strings.ContainsRune("<>|", rune(dtype[0])) || !strings.ContainsRune("?biufcSUV", rune(dtype[1])) {
		return 0, fmt.Errorf("%q is not byte order, kind and size", dtype)
	}
	size, err := strconv.Atoi(dtype[2:])
	if err != nil || size < 1 || size > 1<<20 {
		return 0, fmt.Errorf("%q has no usable size", dtype)
	}
	if dtype[1] == 'U' {
		size *= 4 // UCS-4
	}
	return size, nil
}

// A literal is a Python literal and its text: a string, an int, a bool or,
// for tuples and lists, a []literal.
type literal struct {
	text  string
	value any
}

// A reader parses the small part of Python's grammar that headers use.
type reader struct {
	text string
	pos  int
}

// skipSpace passes over white space and returns the next byte, 0 at the end.
func (r *reader) skipSpace() byte {
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.pos]) >= 0 {
		r.pos++
	}
	if r.pos == len(r.text) {
		return 0
	}
	return r.text[r.pos]
}

func (r *reader) literal(depth int) (literal, error) {
	first := r.skipSpace()
	start := r.pos
	value, err := r.value(first, depth)
	return literal{r.text[start:r.pos], value}, err
}

func (r *reader) value(first byte, depth int) (any, error) {
	tail := r.text[r.pos:]
	switch {
	case depth > 16:
		return nil, errors.New("nested too deeply")
	case first == '\'' || first == '"':
		end := strings.IndexByte(tail[1:], first)
		if end < 0 || strings.ContainsRune(tail[1:1+end], '\\') {
			return nil, errors.New("a string has no end, or an escape")
		}
		r.pos += end + 2
		return tail[1 : 1+end], nil
	case first == '(':
		return r.items(')', depth)
	case first == '[':
		return r.items(']', depth)
	case strings.HasPrefix(tail, "True"):
		r.pos += 4
		return true, nil
	case strings.HasPrefix(tail, "False"):
		r.pos += 5
		return false, nil
	}
	digits := len(tail) - len(strings.TrimLeft(tail, "0123456789"))
	n, err := strconv.Atoi(tail[:digits])
	if err != nil {
		return nil, fmt.Errorf("unexpected %q", tail[:min(len(tail), 10)])
	}
	r.pos += digits
	return n, nil
}

// items reads a tuple or list up to its closing bracket.
func (r *reader) items(closing byte, depth int) ([]literal, error) {
	r.pos++
	items := []literal{}
	for r.skipSpace() != closing {
		item, err := r.literal(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		switch r.skipSpace() {
		case ',':
			r.pos++
		case closing:
		default:
			return nil, fmt.Errorf("missing %c", closing)
		}
	}
	r.pos++
	return items, nil
}

// parseDict reads a dictionary with string keys.
func parseDict(text string) (map[string]literal, error) {
	r := reader{text: text}
	if r.skipSpace() != '{' {
		return nil, errors.New("not a dictionary")
	}
	r.pos++
	dict := make(map[string]literal)
	for r.skipSpace() != '}' {
		key, err := r.literal(0)
		if err != nil {
			return nil, err
		}
		name, ok := key.value.(string)
		if !ok || r.skipSpace() != ':' {
			return nil, fmt.Errorf("key %s", key.text)
		}
		r.pos++
		if dict[name], err = r.literal(0); err != nil {
			return nil, err
		}
		if r.skipSpace() == ',' {
			r.pos++
		} else if r.skipSpace() != '}' {
			return nil, errors.New("missing }")
		}
	}
	r.pos++
	if r.skipSpace() != 0 {
		return nil, fmt.Errorf("unexpected %q after the dictionary", r.text[r.pos:])
	}
	return dict, nil
}
