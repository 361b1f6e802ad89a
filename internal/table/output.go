package table

import (
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/report"
)

// Layouts are the ways to write a table.
var Layouts = []string{"ndjson", "csv", "npy"}

// An Output writes a table of columns, row by row.
type Output struct {
	Bytes int64 // written so far

	w       io.Writer
	layout  string
	columns []string
	keys    []string // of lines: {"a": and then ,"b":
	array   *npy.Writer
	workers *pool.Pool
	pieces  [][]byte
	out     disk.Output // what Close completes, if anything
}

// NewOutput begins a table on w. Rows is their number, which an array needs.
func NewOutput(w io.Writer, layout string, columns []string, rows int64, workers *pool.Pool) (*Output, error) {
	o := &Output{w: w, layout: layout, columns: columns, workers: workers}
	switch layout {
	case "npy":
		h, err := Header(columns, rows)
		if err != nil {
			return nil, err
		}
		o.array, err = npy.NewWriter(counted{o}, h)
		return o, err
	case "csv":
		var header []string
		for _, name := range columns {
			header = append(header, report.Plain(name))
		}
		return o, csv.NewWriter(counted{o}).WriteAll([][]string{header})
	}
	for i, name := range columns {
		o.keys = append(o.keys, map[bool]string{true: "{", false: ","}[i == 0]+strconv.Quote(name)+":")
	}
	return o, nil
}

// Create begins a table in what disk.CreateOutput does.
func Create(ctx context.Context, path, layout string, columns []string, rows int64, workers *pool.Pool) (*Output, error) {
	var size int64
	if layout == "npy" {
		h, err := Header(columns, rows)
		if err == nil {
			size, err = h.Size()
		}
		if err != nil {
			return nil, err
		}
	}
	out, err := disk.CreateOutput(ctx, path, size)
	if err != nil {
		return nil, err
	}
	o, err := NewOutput(out, layout, columns, rows, workers)
	if err != nil {
		return nil, errors.Join(err, out.Cleanup())
	}
	o.out = out
	return o, nil
}

// Header describes the array of a table: a field for each column.
func Header(columns []string, rows int64) (npy.Header, error) {
	var fields []string
	for _, name := range columns {
		if strings.ContainsAny(name, "'\\\n") {
			return npy.Header{}, fmt.Errorf("column %q: NumPy's header has no room for such a name", name)
		}
		fields = append(fields, "('"+name+"', '<f8')")
	}
	return npy.Header{Descr: "[" + strings.Join(fields, ", ") + "]", Shape: []int{int(rows)}}, nil
}

// counted writes and counts.
type counted struct{ o *Output }

func (c counted) Write(b []byte) (int, error) {
	n, err := c.o.w.Write(b)
	c.o.Bytes += int64(n)
	return n, err
}

// Rows writes whole rows.
func (o *Output) Rows(table []float64) error {
	const rows = 512
	width := len(o.columns)
	n := len(table) / width
	pieces := (n + rows - 1) / rows
	for len(o.pieces) < pieces {
		o.pieces = append(o.pieces, nil)
	}
	o.workers.Run(pieces, func(piece int) {
		o.pieces[piece] = o.format(o.pieces[piece][:0], table[piece*rows*width:min(n, (piece+1)*rows)*width])
	})
	for _, text := range o.pieces[:pieces] {
		var err error
		if o.array != nil {
			_, err = o.array.Write(text)
		} else {
			_, err = counted{o}.Write(text)
		}
		if err != nil {
			return &WriteError{err}
		}
	}
	return nil
}

// A WriteError is of the output.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// format appends rows.
func (o *Output) format(b []byte, table []float64) []byte {
	width := len(o.columns)
	for ; len(table) > 0; table = table[width:] {
		for i, x := range table[:width] {
			switch o.layout {
			case "npy":
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			case "csv":
				if i > 0 {
					b = append(b, ',')
				}
				b = appendNumber(b, x, "")
			default:
				b = append(b, o.keys[i]...)
				b = appendNumber(b, x, `"`)
			}
		}
		switch o.layout {
		case "ndjson":
			b = append(b, '}', '\n')
		case "csv":
			b = append(b, '\n')
		}
	}
	return b
}

// appendNumber writes a number as package number does.
func appendNumber(b []byte, x float64, quote string) []byte {
	switch {
	case x == math.Trunc(x) && math.Abs(x) < 1<<53:
		return strconv.AppendInt(b, int64(x), 10)
	case x-x == 0:
		return strconv.AppendFloat(b, x, 'g', -1, 64)
	case x > 0:
		return append(append(append(b, quote...), "Infinity"...), quote...)
	case x < 0:
		return append(append(append(b, quote...), "-Infinity"...), quote...)
	}
	return append(append(append(b, quote...), "NaN"...), quote...)
}

// Close completes the table.
func (o *Output) Close() error {
	var err error
	if o.array != nil {
		err = o.array.Close()
	}
	switch {
	case err != nil:
		err = errors.Join(err, o.Abort())
	case o.out != nil:
		err = o.out.Commit()
	}
	if err != nil {
		err = &WriteError{err}
	}
	return err
}

// Abort gives the table up; a file that is not complete does not appear.
func (o *Output) Abort() error {
	if o.out == nil {
		return nil
	}
	return o.out.Cleanup()
}

// Temporary reports whether nothing is left of a table that was given up.
func (o *Output) Temporary() bool { return disk.Temporary(o.out) }
