package conf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/revgen/revgen/internal/crash"
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

// parse reads data as exactly one JSON value.
func parse(data []byte) (*node, *fault) {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, &fault{reason: "starts with a byte order mark; save it as UTF-8 without one"}
	}
	if f := invalidUTF8(data); f != nil {
		return nil, f
	}
	// One pass for syntax, whose errors have offsets, then one for the tree.
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, syntaxFault(data, err)
	}
	p := parser{data, json.NewDecoder(bytes.NewReader(data))}
	p.UseNumber()
	return p.value(), nil
}

// invalidUTF8 returns a fault at the first byte that is not UTF-8.
func invalidUTF8(data []byte) *fault {
	for i, r := range string(data) {
		if _, size := utf8.DecodeRune(data[i:]); r == utf8.RuneError && size == 1 {
			return &fault{offset: i, reason: fmt.Sprintf("byte %#02x is not valid UTF-8", data[i])}
		}
	}
	return nil
}

// syntaxFault places an error of encoding/json and adds a hint to the
// mistakes that are common in files written by hand.
func syntaxFault(data []byte, err error) *fault {
	f := &fault{offset: len(data), reason: err.Error(), err: err}
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
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
	*json.Decoder
}

// tokenOffset returns the offset of the next token.
func (p *parser) tokenOffset() int {
	offset := int(p.InputOffset())
	for strings.IndexByte(" \t\r\n,:", p.data[offset]) >= 0 {
		offset++
	}
	return offset
}

func (p *parser) token() json.Token { return crash.Must(p.Token()) }

func (p *parser) value() *node {
	n := &node{offset: p.tokenOffset()}
	switch t := p.token().(type) {
	case json.Delim:
		if n.kind = list; t == '{' {
			n.kind = object
		}
		for p.More() {
			if n.kind == list {
				n.items = append(n.items, p.value())
				continue
			}
			m := member{offset: p.tokenOffset()}
			m.key, _ = p.token().(string)
			m.value = p.value()
			n.members = append(n.members, m)
		}
		p.token()
	case string:
		n.kind, n.text = text, t
	case json.Number:
		n.kind, n.text = number, t.String()
	case bool:
		n.kind, n.text = boolean, fmt.Sprint(t)
	case nil:
		n.text = "null"
	}
	n.raw = p.data[n.offset:p.InputOffset()]
	return n
}

// appendTo appends the value, with each member on a line of its own, indented by indent.
func (n *node) appendTo(b []byte, indent string) []byte {
	inner := indent + "  "
	begin, next, end := "\n"+inner, ",\n"+inner, "\n"+indent
	switch {
	case n.kind == object && len(n.members) > 0:
		b = append(b, '{')
		for _, m := range n.members {
			b = append(b, begin+quote(m.key)+": "...)
			b = m.value.appendTo(b, inner)
			begin = next
		}
		return append(b, end+"}"...)
	case n.kind == list:
		if !n.nested() {
			begin, next, end = "", ", ", ""
		}
		b = append(b, '[')
		for _, item := range n.items {
			b = item.appendTo(append(b, begin...), inner)
			begin = next
		}
		return append(b, end+"]"...)
	}
	return append(b, n.raw...)
}

// nested reports whether a list holds anything but plain values.
func (n *node) nested() bool {
	return slices.ContainsFunc(n.items, func(item *node) bool { return item.kind >= list })
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

// setBare marks the value, and the values of an object below it, as written without JSON's quotes and
// brackets.
func (n *node) setBare() {
	n.bare = true
	for _, m := range n.members {
		m.value.setBare()
	}
}

// assignments appends the assignments key.path=value of all values below path.
func (n *node) assignments(all []string, path string) []string {
	if n.kind != object {
		return append(all, path+"="+string(n.raw))
	}
	for _, m := range n.members {
		all = m.value.assignments(all, join(path, m.key))
	}
	return all
}
