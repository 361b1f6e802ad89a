package ndjson

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/revgen/revgen/internal/crash"
)

// A Kind is the kind of a value.
type Kind uint8

// The kinds. A number is an Int if it is written as a whole number that an int64
// holds, a Uint if only a uint64 does, and a Float otherwise.
const (
	Null Kind = iota
	Bool
	Int
	Uint
	Float
	String
	List
	Object
)

var kindNames = [...]string{"null", "a boolean", "a number", "a number", "a number", "a string", "a list", "an object"}

func (k Kind) String() string { return kindNames[k] }

// A Value is one JSON value. Its members are in the order of the text.
type Value struct {
	Kind    Kind
	Text    string // of a String
	bits    uint64 // of a Bool or number
	Items   []Value
	Members []Member
}

// A Member is a key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

// Append appends the value as JSON without spaces. Equal values have equal text.
func (v *Value) Append(b []byte) []byte {
	switch v.Kind {
	case Null:
		return append(b, "null"...)
	case Bool:
		return strconv.AppendBool(b, v.bits != 0)
	case Int:
		return strconv.AppendInt(b, int64(v.bits), 10)
	case Uint:
		return strconv.AppendUint(b, v.bits, 10)
	case Float:
		return strconv.AppendFloat(b, math.Float64frombits(v.bits), 'g', -1, 64)
	case String:
		return appendQuoted(b, v.Text)
	case List:
		b = append(b, '[')
		for i := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.Items[i].Append(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i := range v.Members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, v.Members[i].Key), ':')
		b = v.Members[i].Value.Append(b)
	}
	return append(b, '}')
}

func appendQuoted(b []byte, s string) []byte {
	return append(b, crash.Must(json.Marshal(s))...) // strings always have a JSON form
}

// String returns the value as JSON.
func (v *Value) String() string { return string(v.Append(nil)) }
