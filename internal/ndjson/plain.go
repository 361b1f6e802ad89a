package ndjson

import (
	"bytes"
	"unicode/utf8"
)

// plain reports whether a line is one list or object, as brackets and quotes go,
// without control characters and escapes of characters by number, in UTF-8, and
// not deeper than depth.
func plain(line []byte, depth int) bool {
	line = bytes.Trim(line, blanks)
	if line[0] != '[' && line[0] != '{' || !utf8.Valid(line) {
		return false
	}
	deep := 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '[', '{':
			if deep++; deep > depth {
				return false
			}
		case ']', '}':
			if deep--; deep == 0 {
				return i == len(line)-1
			}
		case '"':
			if i = closeString(line, i+1); i < 0 {
				return false
			}
		default:
			if c < ' ' && c != '\t' {
				return false
			}
		}
	}
	return false
}

// closeString returns where the string ends whose characters begin at i, -1 if
// it does not or is not plain.
func closeString(line []byte, i int) int {
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			return i
		case c == '\\':
			if i++; i == len(line) || line[i] == 'u' {
				return -1
			}
		case c < ' ':
			return -1
		}
	}
	return -1
}
