package score

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/report"
)

// Layouts are the ways to write a table.
var Layouts = []string{"ndjson", "csv", "npy"}

// An Output writes a table of columns, row by row.
type Output struct {
	Bytes int64 // written so far

	w         io.Writer
	out       io.Writer                               // counts Bytes on the way to w; an array's writer above that
	appendRow func(b []byte, values []float64) []byte // appends a row's text to b
	width     int
	workers   *pool.Pool
	pieces    [][]byte // text of consecutive rows, kept for the next call
}

// NewOutput begins a table on w. rows is the number of rows, which an array's header holds.
func NewOutput(w io.Writer, layout string, columns []string, rows int64, workers *pool.Pool) (o *Output, err error) {
	o = &Output{w: w, width: len(columns), workers: workers}
	o.out = countingWriter{o}
	switch layout {
	case "npy":
		var descr string
		if descr, err = npy.Columns(columns); err != nil {
			return o, fmt.Errorf("column %w", err)
		}
		o.out, err = npy.NewWriter(o.out, npy.Header{Descr: descr, Shape: []int{int(rows)}})
		o.appendRow = func(b []byte, values []float64) []byte {
			for _, x := range values {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
			return b
		}
	case "csv":
		err = csv.NewWriter(o.out).WriteAll([][]string{lists.Map(columns, report.Plain)})
		o.appendRow = func(b []byte, values []float64) []byte {
			for _, x := range values {
				b = append(appendNumber(b, x, ""), ',')
			}
			b[len(b)-1] = '\n'
			return b
		}
	default:
		keys := lists.Map(columns, func(name string) string { return "," + strconv.Quote(name) + ":" })
		keys[0] = "{" + keys[0][1:]
		o.appendRow = func(b []byte, values []float64) []byte {
			for i, x := range values {
				b = appendNumber(append(b, keys[i]...), x, `"`)
			}
			return append(b, '}', '\n')
		}
	}
	return o, err
}

type countingWriter struct{ o *Output }

func (c countingWriter) Write(b []byte) (int, error) {
	n, err := c.o.w.Write(b)
	c.o.Bytes += int64(n)
	return n, err
}

// WriteRows writes whole rows, whose text the workers make in pieces.
func (o *Output) WriteRows(table []float64) error {
	const pieceRows = 512
	pieces := slices.Collect(slices.Chunk(table, pieceRows*o.width))
	for len(o.pieces) < len(pieces) {
		o.pieces = append(o.pieces, nil)
	}
	o.workers.Run(len(pieces), func(i int) {
		piece := o.pieces[i][:0]
		for row := range slices.Chunk(pieces[i], o.width) {
			piece = o.appendRow(piece, row)
		}
		o.pieces[i] = piece
	})
	for _, text := range o.pieces[:len(pieces)] {
		if _, err := o.out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// appendNumber writes a number as package number does, with quotes if it is not finite.
func appendNumber(b []byte, x float64, quote string) []byte {
	switch {
	case x == math.Trunc(x) && math.Abs(x) < 1<<53:
		return strconv.AppendInt(b, int64(x), 10)
	case x-x == 0: // finite
		return strconv.AppendFloat(b, x, 'g', -1, 64)
	case x > 0:
		return append(append(append(b, quote...), "Infinity"...), quote...)
	case x < 0:
		return append(append(append(b, quote...), "-Infinity"...), quote...)
	}
	return append(append(append(b, quote...), "NaN"...), quote...)
}

// Close ends the table. It reports rows that an array's header promised and nobody wrote.
func (o *Output) Close() error {
	if array, ok := o.out.(*npy.Writer); ok {
		return array.Close()
	}
	return nil
}
