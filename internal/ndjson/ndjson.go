// Package ndjson reads JSON values, objects or lists, of which each stands on a
// line of its own, strictly: duplicate keys, invalid UTF-8, numbers that 64 bits
// do not hold, lines that are too long or nested too deep are errors that name
// the line.
//
// Blocks of lines are parsed by simdjson where the processor can. It takes some
// of what is no JSON for JSON, and says of an error neither the line nor the
// reason; so it is given only lines that a first look found to be plain, and
// every block with a line that is not, or that it refuses, goes to the parser
// over encoding/json, which is the specification.
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

// A Reader reads the values of a stream in order.
type Reader struct {
	in     *bufio.Reader
	limits Limits
	fast   bool // simdjson parses plain blocks

	line  int // of the last that was read
	block []byte
	lines []span
	long  bool   // the last line of the block is too long, and is not in it
	ended error  // of reading
	ready []item // of the present block
	next  int
	tape  tape
}

// A span is a line of a block that is not blank.
type span struct{ line, start, end int }

// An item is what a line holds.
type item struct {
	line  int
	value Value
	err   *Error
}

// NewReader returns a reader of r.
func NewReader(r io.Reader, limits Limits) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 1<<16), limits: limits, fast: simd}
}

// Next returns the value of the next line that is not blank, and the line's
// number. After an *Error, which is about this line alone, the line that follows
// can be read; io.EOF is the end.
func (r *Reader) Next() (line int, v Value, err error) {
	for r.next == len(r.ready) {
		if r.ended != nil {
			return 0, Value{}, r.ended
		}
		r.fill()
		r.parse()
	}
	i := &r.ready[r.next]
	r.next++
	if i.err != nil {
		return i.line, Value{}, i.err
	}
	return i.line, i.value, nil
}

// fill reads a block of whole lines.
func (r *Reader) fill() {
	r.block, r.lines, r.long = r.block[:0], r.lines[:0], false
	for len(r.block) < blockBytes && !r.long && r.ended == nil {
		r.readLine()
	}
}

func (r *Reader) readLine() {
	start := len(r.block)
	r.line++
	for {
		part, err := r.in.ReadSlice('\n')
		if !r.long {
			r.block = append(r.block, part...)
		}
		// A line that is too long is read to its end, and not kept.
		if size := len(bytes.TrimRight(r.block[start:], "\r\n")); size > r.limits.Bytes {
			r.long, r.block = true, r.block[:start]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.ended = err
		break
	}
	if !r.long && len(bytes.Trim(r.block[start:], blanks)) > 0 {
		r.lines = append(r.lines, span{r.line, start, len(r.block)})
	}
}

// parse makes items of the block's lines.
func (r *Reader) parse() {
	r.ready, r.next = r.ready[:0], 0
	keep := func(line int, v *Value) { r.ready = append(r.ready, item{line: line, value: *v}) }
	if len(r.lines) > 0 && !(r.fast && r.tape.values(r.block, r.lines, r.limits.Depth, keep)) {
		r.ready = r.ready[:0]
		for _, s := range r.lines {
			value, reason := parseLine(r.block[s.start:s.end], r.limits.Depth)
			i := item{line: s.line, value: value}
			if reason != "" {
				i.err = &Error{s.line, reason}
			}
			r.ready = append(r.ready, i)
		}
	}
	if r.long {
		r.ready = append(r.ready, item{line: r.line, err: &Error{r.line, fmt.Sprintf("longer than %d bytes", r.limits.Bytes)}})
	}
}
