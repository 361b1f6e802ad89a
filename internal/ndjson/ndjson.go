// Package ndjson reads lines of JSON, an object or a list each. It is strict:
// duplicate keys, invalid UTF-8, numbers that 64 bits do not hold, and lines that
// are too long or nested too deep are errors that name the line.
//
// Blocks of lines are parsed by simdjson where the processor can. It accepts some
// text that is no JSON, and its errors name neither the line nor the reason. It is
// therefore given only blocks of lines that are valid to encoding/json. Other
// blocks, and lines whose value simdjson cannot give, go to a parser that uses
// encoding/json, which is the specification.
package ndjson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits are the limits of a line.
type Limits struct {
	Bytes int // without the end of the line
	Depth int // levels of lists and objects
}

// An Error says what is wrong with a line.
type Error struct {
	Line   int // counted from 1
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// blanks are the white space of JSON, without Unicode's other white space.
const blanks = " \t\r\n"

// blockBytes is how many bytes are read before they are parsed.
const blockBytes = 1 << 18

// Each calls do for the lines of in that are not blank, in order, with a line's number and its
// value, or the reason why it has none. It returns an error of in after do for the lines before it.
func Each(in io.Reader, limits Limits, do func(line int, v *Value, reason string)) error {
	return each(in, limits, simd, do)
}

func each(in io.Reader, limits Limits, fast bool, do func(line int, v *Value, reason string)) error {
	s, t := newSource(in, limits), newTape(fast)
	for b := (lines{}); s.err == nil; {
		s.fill(&b, blockBytes)
		b.values(t, limits.Depth, func(line int, v *Value, reason string) bool {
			do(line, v, reason)
			return true
		})
		if b.overlong != nil {
			do(b.overlong.Line, nil, b.overlong.Reason)
		}
	}
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Parse returns the value of one line.
func Parse(line []byte, depth int) (v Value, err error) {
	v, reason := parseLine(line, depth)
	if reason != "" {
		err = &Error{1, reason}
	}
	return v, err
}

// A source reads blocks of whole lines.
type source struct {
	in     *bufio.Reader
	limits Limits
	line   int   // number of the last line of which something was read
	inLine bool  // that line has not been read to its end; after a block, it is too long
	err    error // of reading
}

// lines are a block of lines.
type lines struct {
	text     []byte
	spans    []span
	overlong *Error // about the line after the block, nil unless that is too long
}

// A span is a line of a block that is not blank.
type span struct{ line, start, end int }

func newSource(r io.Reader, limits Limits) source {
	return source{in: bufio.NewReaderSize(r, 1<<16), limits: limits}
}

// fill sets a block to lines of at least minBytes. The block is shorter before a line that is too
// long, and at the end.
func (s *source) fill(b *lines, minBytes int) {
	b.text, b.spans, b.overlong = b.text[:0], b.spans[:0], nil
	for s.inLine {
		_, err := s.in.ReadSlice('\n')
		s.noteEnd(err)
	}
	for len(b.text) < minBytes && b.overlong == nil && s.err == nil {
		s.addLine(b)
	}
}

// addLine adds the next line to a block, unless it is too long or cannot be read to its end.
func (s *source) addLine(b *lines) {
	start := len(b.text)
	s.line++
	for s.inLine = true; s.inLine; {
		part, err := s.in.ReadSlice('\n')
		b.text = append(b.text, part...)
		s.noteEnd(err)
		if len(bytes.TrimRight(b.text[start:], "\r\n")) > s.limits.Bytes {
			b.text, b.overlong = b.text[:start], &Error{s.line, fmt.Sprintf("longer than %d bytes", s.limits.Bytes)}
			return
		}
	}
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		b.text = b.text[:start]
	}
	if len(bytes.Trim(b.text[start:], blanks)) > 0 {
		b.spans = append(b.spans, span{s.line, start, len(b.text)})
	}
}

// noteEnd records how a read ended: inside a line, at its end, or with an error.
func (s *source) noteEnd(err error) {
	if s.inLine = errors.Is(err, bufio.ErrBufferFull); !s.inLine {
		s.err = err
	}
}
