package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"unicode/utf8"

	"github.com/minio/simdjson-go"
)

// simd says whether the processor can.
var simd = simdjson.SupportedCPU()

// A tape is what simdjson makes of a block.
type tape struct{ parsed *simdjson.ParsedJson }

// values calls each for the value of every line of a block, by simdjson, and reports
// whether all lines are plain and gave one value that can be taken.
func (t *tape) values(block []byte, lines []span, depth int, each func(line int, v *Value)) bool {
	for _, s := range lines {
		if !plain(block[s.start:s.end]) {
			return false
		}
	}
	parsed, err := simdjson.ParseND(block, t.parsed)
	if err != nil {
		t.parsed = nil // what it left is not to be used again
		return false
	}
	t.parsed = parsed
	at := 0
	err = parsed.ForEach(func(i simdjson.Iter) error {
		if at == len(lines) {
			return errUnlike
		}
		v, err := fromTape(&i, depth)
		if err == nil {
			each(lines[at].line, &v)
			at++
		}
		return err
	})
	return err == nil && at == len(lines)
}

// plain reports whether a line is one list or object, in UTF-8, without escapes of characters by
// number.
func plain(line []byte) bool {
	line = bytes.Trim(line, blanks)
	return (line[0] == '[' || line[0] == '{') && json.Valid(line) && utf8.Valid(line) && !bytes.Contains(line, []byte(`\u`))
}

// errUnlike sends a block to the parser that says what is wrong, if anything is.
var errUnlike = errors.New("ndjson: not as expected")

// fromTape returns the value at which an iterator stands, with at most depth levels of lists and
// objects.
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
		// Whole numbers beyond 64 bits become floats, and small ones may have become 0.
		if flags.Contains(simdjson.FloatOverflowedInteger) || x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			return v, errUnlike
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
	return v, errUnlike
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
		return v, errUnlike
	}
	return v, nil
}
