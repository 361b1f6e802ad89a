package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"unicode/utf8"

	"github.com/minio/simdjson-go"
)

// simd reports whether simdjson supports the processor.
var simd = simdjson.SupportedCPU()

// A tape has the values of a block that simdjson has parsed. A nil tape parses none.
type tape struct{ parsed *simdjson.ParsedJson }

func newTape(fast bool) *tape {
	if fast {
		return new(tape)
	}
	return nil
}

// read parses a block if all its lines are plain. It reports whether it has a value for each line.
func (t *tape) read(b *lines) bool {
	if t == nil || len(b.spans) == 0 {
		return false
	}
	for _, s := range b.spans {
		if !isPlain(b.text[s.start:s.end]) {
			return false
		}
	}
	var err error
	if t.parsed, err = simdjson.ParseND(b.text, t.parsed); err != nil {
		t.parsed = nil // its state after an error cannot be used again
		return false
	}
	n := 0
	err = t.parsed.ForEach(func(simdjson.Iter) error { n++; return nil })
	return err == nil && n == len(b.spans)
}

// values calls do for every line of a block, with its value or the reason why it has none, until
// do returns false. The value comes from the tape, if that has it.
func (b *lines) values(t *tape, depth int, do func(line int, v *Value, reason string) bool) {
	n := 0
	next := func(v Value, err error) error {
		s, reason := b.spans[n], ""
		if err != nil {
			v, reason = parseLine(b.text[s.start:s.end], depth)
		}
		if n++; do(s.line, &v, reason) {
			return nil
		}
		return io.EOF
	}
	if t.read(b) {
		_ = t.parsed.ForEach(func(i simdjson.Iter) error { return next(fromTape(&i, depth)) })
		return
	}
	for n < len(b.spans) && next(Value{}, errFallback) == nil {
	}
}

// isPlain reports whether a line is one list or object, in UTF-8, without escapes \u.
func isPlain(line []byte) bool {
	line = bytes.Trim(line, blanks)
	return (line[0] == '[' || line[0] == '{') && json.Valid(line) && utf8.Valid(line) && !bytes.Contains(line, []byte(`\u`))
}

// errFallback sends a line to parseLine, which reads it or says what is wrong.
var errFallback = errors.New("ndjson: not as expected")

// fromTape returns the value at an iterator, with at most depth levels of lists and objects.
func fromTape(i *simdjson.Iter, depth int) (v Value, err error) {
	switch i.Type() {
	case simdjson.TypeNull:
		return v, nil
	case simdjson.TypeBool:
		b, err := i.Bool()
		v.Kind = Bool
		if b {
			v.bits = 1
		}
		return v, err
	case simdjson.TypeInt:
		x, err := i.Int()
		return Value{Kind: Int, bits: uint64(x)}, err
	case simdjson.TypeUint:
		x, err := i.Uint()
		return Value{Kind: Uint, bits: x}, err
	case simdjson.TypeFloat:
		x, flags, err := i.FloatFlags()
		// Integers of more than 64 bits become floats, and small numbers may have become 0.
		if flags.Contains(simdjson.FloatOverflowedInteger) || x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			return v, errFallback
		}
		return Value{Kind: Float, bits: math.Float64bits(x)}, err
	case simdjson.TypeString:
		s, err := i.String()
		return Value{Kind: String, Text: s}, err
	case simdjson.TypeArray:
		if depth > 0 {
			return listFromTape(i, depth-1)
		}
	case simdjson.TypeObject:
		if depth > 0 {
			return objectFromTape(i, depth-1)
		}
	}
	return v, errFallback
}

func listFromTape(i *simdjson.Iter, depth int) (v Value, err error) {
	var array simdjson.Array
	if _, err := i.Array(&array); err != nil {
		return v, err
	}
	v.Kind = List
	for items := array.Iter(); items.Advance() != simdjson.TypeNone; {
		item, err := fromTape(&items, depth)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, item)
	}
	return v, nil
}

func objectFromTape(i *simdjson.Iter, depth int) (v Value, err error) {
	var object simdjson.Object
	if _, err := i.Object(&object); err != nil {
		return v, err
	}
	v.Kind = Object
	var at simdjson.Iter
	for {
		key, kind, err := object.NextElement(&at)
		if err != nil {
			return v, err
		}
		if kind == simdjson.TypeNone {
			break
		}
		value, err := fromTape(&at, depth)
		if err != nil {
			return v, err
		}
		v.Members = append(v.Members, Member{key, value})
	}
	if _, ok := duplicate(v.Members); ok {
		return v, errFallback
	}
	return v, nil
}
