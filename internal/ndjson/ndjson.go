// Package ndjson reads JSON values, objects or lists, of which each stands on a
// line of its own, strictly: duplicate keys, invalid UTF-8, numbers that 64 bits
// do not hold, lines that are too long or nested too deep are errors that name
// the line.
//
// Lines of plain numbers (Layout) are scanned by scan.go; every line that it does not
// take goes to the parser over encoding/json, which is the specification.
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

// tooLong is the error of a line that is.
func (l Limits) tooLong(line int) *Error {
	return &Error{line, fmt.Sprintf("longer than %d bytes", l.Bytes)}
}

// blanks are what JSON has between values; Unicode has more.
const blanks = " \t\r\n"

// A Reader reads the values of a stream in order.
type Reader struct {
	in     *bufio.Reader
	limits Limits
	line   int // of the last that was read
	text   []byte
	ended  error // of reading
}

// NewReader returns a reader of r.
func NewReader(r io.Reader, limits Limits) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 1<<16), limits: limits}
}

// Next returns the value of the next line that is not blank, and the line's
// number. After an *Error, which is about this line alone, the line that follows
// can be read; io.EOF is the end.
func (r *Reader) Next() (line int, v Value, err error) {
	for r.ended == nil {
		if !r.readLine() {
			return r.line, Value{}, r.limits.tooLong(r.line)
		}
		if len(bytes.Trim(r.text, blanks)) == 0 {
			continue
		}
		v, reason := parseLine(r.text, r.limits.Depth)
		if reason != "" {
			return r.line, Value{}, &Error{r.line, reason}
		}
		return r.line, v, nil
	}
	return 0, Value{}, r.ended
}

// readLine reads a line to its end, and reports whether it is no longer than it may be.
func (r *Reader) readLine() (fits bool) {
	r.line++
	r.text, fits = r.text[:0], true
	for {
		part, err := r.in.ReadSlice('\n')
		if fits {
			r.text = append(r.text, part...)
			fits = len(bytes.TrimRight(r.text, "\r\n")) <= r.limits.Bytes
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			r.ended = err
			return fits
		}
	}
}
