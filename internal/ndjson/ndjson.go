// Package ndjson reads JSON values, objects or lists, of which each stands on a
// line of its own, strictly: duplicate keys, invalid UTF-8, numbers that 64 bits
// do not hold, lines that are too long or nested too deep are errors that name
// the line.
//
// encoding/json is the specification. Lines of numbers alone, of which there may be
// many, are scanned by a parser of their own, which leaves to it all that is not plain.
package ndjson

import (
	"bufio"
	"bytes"
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

// A Reader reads the values of a stream in order.
type Reader struct {
	in     *bufio.Reader
	limits Limits
	line   int // of the last that was read
	text   []byte
}

// NewReader returns a reader of r.
func NewReader(r io.Reader, limits Limits) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 1<<16), limits: limits}
}

// Next returns the value of the next line that is not blank, and the line's
// number. After an *Error, which is about this line alone, the line that follows
// can be read; io.EOF is the end.
func (r *Reader) Next() (line int, v Value, err error) {
	for err == nil {
		long := false
		long, err = r.read()
		reason := ""
		switch {
		case long:
			reason = fmt.Sprintf("longer than %d bytes", r.limits.Bytes)
		case len(bytes.Trim(r.text, blanks)) == 0:
			continue
		case err == nil || err == io.EOF: // of reading the line's end
			v, reason = parseLine(r.text, r.limits.Depth)
		}
		if reason != "" {
			return r.line, Value{}, &Error{r.line, reason}
		}
		if err == nil || err == io.EOF {
			return r.line, v, nil
		}
	}
	return 0, Value{}, err
}

// read sets the text to the next line, of which a long one is read to its end, and not
// kept.
func (r *Reader) read() (long bool, err error) {
	r.text = r.text[:0]
	r.line++
	for err = bufio.ErrBufferFull; err == bufio.ErrBufferFull; {
		var part []byte
		if part, err = r.in.ReadSlice('\n'); !long {
			r.text = append(r.text, part...)
			long = len(bytes.TrimRight(r.text, "\r\n")) > r.limits.Bytes
		}
	}
	return long, err
}
