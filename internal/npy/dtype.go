package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Field is one of a dtype's.
type Field struct {
	Name  string // empty for a dtype without fields
	Type  string // byte order, kind and size: <f4
	Count int    // numbers in it
}

// Fields returns the fields of a dtype, given as in Header.Descr, and the number of bytes of one
// item.
func Fields(descr string) (all []Field, size int, err error) {
	p := reader{text: descr}
	l, err := p.literal(0)
	if err == nil && p.skip() != 0 {
		err = fmt.Errorf("unexpected %q", p.text[p.at:])
	}
	if err == nil {
		all, size, err = fieldsOf(l)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("npy: dtype %s: %w", descr, err)
	}
	return all, size, nil
}

func fieldsOf(l literal) (all []Field, size int, err error) {
	switch v := l.value.(type) {
	case string:
		size, err = plainSize(v)
		return []Field{{Type: v, Count: 1}}, size, err
	case []literal:
		for _, item := range v {
			f, one, err := fieldOf(item)
			if err != nil {
				return nil, 0, err
			}
			all, size = append(all, f), size+one*f.Count
		}
		if size <= 0 || size > 1<<30 {
			return nil, 0, fmt.Errorf("items of %d bytes", size)
		}
		return all, size, nil
	}
	return nil, 0, fmt.Errorf("%s is neither a string nor a list of fields", l.text)
}

// fieldOf returns (name, dtype) or (name, dtype, shape), and the size of one of its numbers.
func fieldOf(l literal) (f Field, size int, err error) {
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

// reader reads the small part of Python's grammar that headers use.
type reader struct {
	text string
	at   int
}

// skip passes over white space and returns the next byte, 0 at the end.
func (r *reader) skip() byte {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *reader) literal(depth int) (literal, error) {
	first := r.skip()
	start := r.at
	value, err := r.value(first, depth)
	return literal{r.text[start:r.at], value}, err
}

func (r *reader) value(first byte, depth int) (any, error) {
	rest := r.text[r.at:]
	switch {
	case depth > 16:
		return nil, errors.New("nested too deeply")
	case first == '\'' || first == '"':
		end := strings.IndexByte(rest[1:], first)
		if end < 0 || strings.ContainsRune(rest[1:1+end], '\\') {
			return nil, errors.New("a string has no end, or an escape")
		}
		r.at += end + 2
		return rest[1 : 1+end], nil
	case first == '(':
		return r.items(')', depth)
	case first == '[':
		return r.items(']', depth)
	case strings.HasPrefix(rest, "True"):
		r.at += 4
		return true, nil
	case strings.HasPrefix(rest, "False"):
		r.at += 5
		return false, nil
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, err := strconv.Atoi(rest[:digits])
	if err != nil {
		return nil, fmt.Errorf("unexpected %q", rest[:min(len(rest), 10)])
	}
	r.at += digits
	return n, nil
}

// items reads a tuple or list up to its closing bracket.
func (r *reader) items(closing byte, depth int) ([]literal, error) {
	r.at++
	items := []literal{}
	for r.skip() != closing {
		item, err := r.literal(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		switch r.skip() {
		case ',':
			r.at++
		case closing:
		default:
			return nil, fmt.Errorf("missing %c", closing)
		}
	}
	r.at++
	return items, nil
}

// parseDict reads a dictionary with string keys.
func parseDict(text string) (map[string]literal, error) {
	r := reader{text: text}
	if r.skip() != '{' {
		return nil, errors.New("not a dictionary")
	}
	r.at++
	dict := make(map[string]literal)
	for r.skip() != '}' {
		key, err := r.literal(0)
		if err != nil {
			return nil, err
		}
		name, ok := key.value.(string)
		if !ok || r.skip() != ':' {
			return nil, fmt.Errorf("key %s", key.text)
		}
		r.at++
		if dict[name], err = r.literal(0); err != nil {
			return nil, err
		}
		if r.skip() == ',' {
			r.at++
		} else if r.skip() != '}' {
			return nil, errors.New("missing }")
		}
	}
	r.at++
	if r.skip() != 0 {
		return nil, fmt.Errorf("unexpected %q after the dictionary", r.text[r.at:])
	}
	return dict, nil
}
