package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseLine parses one line by encoding/json. The reason says what is wrong with the
// line, and is empty if nothing is.
func parseLine(line []byte, depth int) (v Value, reason string) {
	if i := invalidByte(line); i >= 0 {
		return v, fmt.Sprintf("byte %d, %#02x, is not valid UTF-8", i+1, line[i])
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	v, err := decodeValue(d, depth)
	if err == nil {
		if v.Kind != List && v.Kind != Object {
			return v, v.Kind.String() + " where an object or a list is needed"
		}
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, ""
		}
		return v, "more than one value; each stands on a line of its own"
	}
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return v, "ends too early: a closing bracket or quote is missing"
	case errors.As(err, &syntax):
		return v, fmt.Sprintf("byte %d: %s", d.InputOffset()+1, syntax)
	}
	return v, err.Error()
}

// invalidByte returns the first byte at which a line is not UTF-8, -1 if there is none.
func invalidByte(line []byte) int {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// decodeValue reads a value with at most depth levels of lists and objects.
func decodeValue(d *json.Decoder, depth int) (v Value, err error) {
	token, err := d.Token()
	if err != nil {
		return v, err
	}
	switch t := token.(type) {
	case nil:
		return v, nil
	case bool:
		v.Kind = Bool
		if t {
			v.bits = 1
		}
		return v, nil
	case json.Number:
		return Number(string(t))
	case string:
		return Value{Kind: String, Text: t}, nil
	}
	if depth == 0 {
		return v, errors.New("nested too deep")
	}
	if token == json.Delim('[') {
		v.Kind = List
		for d.More() {
			item, err := decodeValue(d, depth-1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
	} else {
		v.Kind = Object
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return v, err
			}
			m := Member{Key: key.(string)} // the decoder accepts only strings there
			if m.Value, err = decodeValue(d, depth-1); err != nil {
				return v, err
			}
			v.Members = append(v.Members, m)
		}
		if key, ok := duplicate(v.Members); ok {
			return v, fmt.Errorf("the key %q stands twice in one object", key)
		}
	}
	_, err = d.Token() // the closing bracket
	return v, err
}

// Number returns the value of a JSON number.
func Number(literal string) (v Value, err error) {
	if !strings.ContainsAny(literal, ".eE") {
		if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
			return Value{Kind: Int, bits: uint64(i)}, nil
		}
		u, err := strconv.ParseUint(literal, 10, 64)
		if err != nil {
			return v, fmt.Errorf("%s is beyond the whole numbers of 64 bits", literal)
		}
		return Value{Kind: Uint, bits: u}, nil
	}
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return v, fmt.Errorf("%s is too large for a float64", literal)
	}
	if mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e"); x == 0 && strings.ContainsAny(mantissa, "123456789") {
		return v, fmt.Errorf("%s is too small for a float64; write 0", literal)
	}
	return Value{Kind: Float, bits: math.Float64bits(x)}, nil
}

// duplicate returns a key that two members have.
func duplicate(members []Member) (key string, ok bool) {
	keys := make(map[string]bool, len(members))
	for i := range members {
		if key := members[i].Key; keys[key] {
			return key, true
		}
		keys[members[i].Key] = true
	}
	return "", false
}
