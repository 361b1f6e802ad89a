package conf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

var kindNames = [...]string{null: "null", boolean: "a boolean", number: "a number", text: "a string", list: "a list", object: "an object"}

func (k kind) String() string { return kindNames[k] }

// A node is one JSON value with its place in the input. Unlike a map, it
// keeps order and duplicates.
type node struct {
	offset  int
	kind    kind
	raw     []byte // the value as written
	text    string // a string's value, a number's or boolean's literal
	items   []*node
	members []member
	bare    bool // the value of an assignment, written without JSON's quotes and brackets
}

type member struct {
	key    string
	offset int
	value  *node
}

// A fault is an error before its offset becomes a line and a column.
type fault struct {
	offset int
	path   string
	reason string
	err    error
	parent reflect.Type // of an unknown key: the struct that lacks it
}

// parse reads data as exactly one JSON value.
func parse(data []byte) (*node, *fault) {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, &fault{reason: "starts with a byte order mark; save it as UTF-8 without one"}
	}
	if f := encoded(data); f != nil {
		return nil, f
	}
	// One pass for syntax, whose errors carry offsets, then one for the tree.
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, syntaxFault(data, err)
	}
	p := parser{data: data}
	return p.value(), nil
}

// encoded reports the first byte that is not UTF-8.
func encoded(data []byte) *fault {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return &fault{offset: i, reason: fmt.Sprintf("byte %#02x is not valid UTF-8", data[i])}
		}
		i += size
	}
	return nil
}

// syntaxFault places an error of encoding/json and adds a hint to the
// mistakes that are common in files written by hand.
func syntaxFault(data []byte, err error) *fault {
	f := &fault{offset: len(data), reason: err.Error(), err: err}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return f
	}
	if len(bytes.TrimSpace(data)) == 0 {
		f.offset, f.reason = 0, "is empty; it must hold a JSON object"
		return f
	}
	if f.offset = int(syntax.Offset) - 1; f.offset < 0 || strings.Contains(f.reason, "unexpected end") {
		f.offset = len(data)
		f.reason = "ends too early: a closing bracket or quote is missing"
		return f
	}
	rest := data[f.offset:]
	before := bytes.TrimRight(data[:f.offset], " \t\r\n")
	switch {
	case bytes.HasPrefix(rest, []byte("NaN")), bytes.HasPrefix(rest, []byte("nan")),
		bytes.HasPrefix(rest, []byte("Inf")), bytes.HasPrefix(rest, []byte("inf")):
		f.reason = "not a number; numbers must be finite"
	case rest[0] == '/' || rest[0] == '#':
		f.reason += "; JSON has no comments"
	case rest[0] == '\'':
		f.reason += "; strings stand in double quotes"
	case (rest[0] == '}' || rest[0] == ']') && bytes.HasSuffix(before, []byte(",")):
		f.reason = fmt.Sprintf("the comma before this %c is one too many", rest[0])
	case strings.Contains(f.reason, "after top-level value"):
		f.reason += "; there must be one JSON object and nothing after it"
	case strings.Contains(f.reason, "looking for beginning of object key"):
		f.reason += "; keys stand in double quotes"
	}
	return f
}

// parser builds the tree of data that is known to be valid.
type parser struct {
	data []byte
	at   int
}

// next skips what stands between values and returns the byte that follows.
func (p *parser) next() byte {
	for strings.IndexByte(" \t\r\n,:", p.data[p.at]) >= 0 {
		p.at++
	}
	return p.data[p.at]
}

func (p *parser) value() *node {
	first := p.next()
	n := &node{offset: p.at}
	switch first {
	case '[':
		n.kind = list
		for p.at++; p.next() != ']'; {
			n.items = append(n.items, p.value())
		}
		p.at++
	case '{':
		n.kind = object
		for p.at++; p.next() != '}'; {
			m := member{offset: p.at}
			m.key = p.text()
			m.value = p.value()
			n.members = append(n.members, m)
		}
		p.at++
	case '"':
		n.kind, n.text = text, p.text()
	default:
		for p.at < len(p.data) && strings.IndexByte(" \t\r\n,]}", p.data[p.at]) < 0 {
			p.at++
		}
		n.text = string(p.data[n.offset:p.at])
		switch first {
		case 'n':
			n.kind = null
		case 't', 'f':
			n.kind = boolean
		default:
			n.kind = number
		}
	}
	n.raw = p.data[n.offset:p.at]
	return n
}

// text reads a string.
func (p *parser) text() string {
	start, escaped := p.at, false
	for p.at++; p.data[p.at] != '"'; p.at++ {
		if p.data[p.at] == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	if !escaped {
		return string(p.data[start+1 : p.at-1])
	}
	var s string
	if err := json.Unmarshal(p.data[start:p.at], &s); err != nil {
		panic("conf: encoding/json refuses what it called valid: " + err.Error())
	}
	return s
}

// lineColumn counts lines and, in characters, columns from 1.
func lineColumn(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
	return line, column
}

// appendTo appends the value with its members each on a line, at the given
// indentation.
func (n *node) appendTo(b []byte, indent string) []byte {
	inner := indent + "  "
	switch {
	case n.kind == object && len(n.members) > 0:
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '\n')
			b = append(b, inner...)
			b = append(b, quote(m.key)...)
			b = append(b, ": "...)
			b = m.value.appendTo(b, inner)
		}
		return append(append(append(b, '\n'), indent...), '}')
	case n.kind == list && n.nested():
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '\n')
			b = append(b, inner...)
			b = item.appendTo(b, inner)
		}
		return append(append(append(b, '\n'), indent...), ']')
	case n.kind == list:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, item.raw...)
		}
		return append(b, ']')
	}
	return append(b, n.raw...)
}

// nested reports whether a list holds anything but plain values.
func (n *node) nested() bool {
	for _, item := range n.items {
		if item.kind >= list {
			return true
		}
	}
	return false
}
