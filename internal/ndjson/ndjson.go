// Package ndjson reads JSON values, objects or lists, of which each stands on a
// line of its own, strictly: duplicate keys, invalid UTF-8, numbers that 64 bits
// do not hold, lines that are too long or nested too deep are errors that name
// the line.
//
// Blocks of lines are parsed by simdjson where the processor can. It takes some
// of what is no JSON for JSON, and says of an error neither the line nor the
// reason; so it is given only blocks of lines that are valid to encoding/json. All
// others, and lines of which it cannot give the value, go to the parser over
// encoding/json, which is the specification.
package ndjson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits bound what a line may be.
type Limits struct {
	Bytes int // of a line, without its end
	Depth int // of lists and objects in each other
}

// An Error says what is wrong with a line.
type Error struct {
	Line   int // counted from 1
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// blanks are what JSON has between values; Unicode has more.
const blanks = " \t\r\n"

// blockBytes is how many bytes are read before they are parsed.
const blockBytes = 1 << 18

// Each calls do for the lines of in that are not blank, in order: with a line's number and its value,
// or the reason why it has none. It returns an error of reading, once do has had the lines before.
func Each(in io.Reader, limits Limits, do func(line int, v *Value, reason string)) error {
	return each(in, limits, simd, do)
}

func each(in io.Reader, limits Limits, fast bool, do func(line int, v *Value, reason string)) error {
	s, t := newSource(in, limits), newTape(fast)
	for b := (lines{}); s.ended == nil; {
		s.fill(&b, blockBytes)
		b.values(t, limits.Depth, func(line int, v *Value, reason string) bool {
			do(line, v, reason)
			return true
		})
		if b.long != nil {
			do(b.long.Line, nil, b.long.Reason)
		}
	}
	if errors.Is(s.ended, io.EOF) {
		return nil
	}
	return s.ended
}

// Parse returns the value of a line that stands alone.
func Parse(line []byte, depth int) (v Value, err error) {
	v, reason := parseLine(line, depth)
	if reason != "" {
		err = &Error{1, reason}
	}
	return v, err
}

// A source is read in blocks of whole lines.
type source struct {
	in     *bufio.Reader
	limits Limits
	line   int   // the last that was read
	within bool  // this line, which is too long and not kept
	ended  error // of reading
}

// lines are a block of them.
type lines struct {
	text  []byte
	spans []span
	long  *Error // of the line after them, if that is too long
}

// A span is a line of a block that is not blank.
type span struct{ line, start, end int }

func newSource(r io.Reader, limits Limits) source {
	return source{in: bufio.NewReaderSize(r, 1<<16), limits: limits}
}

// fill sets a block to lines of at least so many bytes, or all up to one that is too long, or to
// the end.
func (s *source) fill(b *lines, least int) {
	b.text, b.spans, b.long = b.text[:0], b.spans[:0], nil
	for s.within {
		_, err := s.in.ReadSlice('\n')
		s.left(err)
	}
	for len(b.text) < least && b.long == nil && s.ended == nil {
		s.add(b)
	}
}

// add adds the next line to a block, unless it is too long or cannot be read to its end.
func (s *source) add(b *lines) {
	start := len(b.text)
	s.line++
	for s.within = true; s.within; {
		part, err := s.in.ReadSlice('\n')
		b.text = append(b.text, part...)
		s.left(err)
		if len(bytes.TrimRight(b.text[start:], "\r\n")) > s.limits.Bytes {
			b.text, b.long = b.text[:start], &Error{s.line, fmt.Sprintf("longer than %d bytes", s.limits.Bytes)}
			return
		}
	}
	if s.ended != nil && !errors.Is(s.ended, io.EOF) {
		b.text = b.text[:start]
	}
	if len(bytes.Trim(b.text[start:], blanks)) > 0 {
		b.spans = append(b.spans, span{s.line, start, len(b.text)})
	}
}

// left notes how reading a part of a line ended: within it, with it, or for good.
func (s *source) left(err error) {
	if s.within = errors.Is(err, bufio.ErrBufferFull); !s.within {
		s.ended = err
	}
}
