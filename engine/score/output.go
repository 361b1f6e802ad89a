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

	w       io.Writer
	rows    io.Writer // counts, or is an array that does
	row     func(b []byte, values []float64) []byte
	width   int
	workers *pool.Pool
	pieces  [][]byte
}

// NewOutput begins a table on w. Rows is their number, which an array needs.
func NewOutput(w io.Writer, layout string, columns []string, rows int64, workers *pool.Pool) (o *Output, err error) {
	o = &Output{w: w, width: len(columns), workers: workers}
	o.rows = counted{o}
	switch layout {
	case "npy":
		var descr string
		if descr, err = npy.Columns(columns); err != nil {
			return o, fmt.Errorf("column %w", err)
		}
		o.rows, err = npy.NewWriter(o.rows, npy.Header{Descr: descr, Shape: []int{int(rows)}})
		o.row = func(b []byte, values []float64) []byte {
			for _, x := range values {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
			return b
		}
	case "csv":
		err = csv.NewWriter(o.rows).WriteAll([][]string{lists.Map(columns, report.Plain)})
		o.row = func(b []byte, values []float64) []byte {
			for _, x := range values {
				b = append(appendNumber(b, x, ""), ',')
			}
			b[len(b)-1] = '\n'
			return b
		}
	default:
		keys := lists.Map(columns, func(name string) string { return "," + strconv.Quote(name) + ":" })
		keys[0] = "{" + keys[0][1:]
		o.row = func(b []byte, values []float64) []byte {
			for i, x := range values {
				b = appendNumber(append(b, keys[i]...), x, `"`)
			}
			return append(b, '}', '\n')
		}
	}
	return o, err
}

type counted struct{ o *Output }

func (c counted) Write(b []byte) (int, error) {
	n, err := c.o.w.Write(b)
	c.o.Bytes += int64(n)
	return n, err
}

// Rows writes whole rows.
func (o *Output) Rows(table []float64) error {
	parts := slices.Collect(slices.Chunk(table, 512*o.width))
	for len(o.pieces) < len(parts) {
		o.pieces = append(o.pieces, nil)
	}
	o.workers.Run(len(parts), func(i int) {
		piece := o.pieces[i][:0]
		for row := range slices.Chunk(parts[i], o.width) {
			piece = o.row(piece, row)
		}
		o.pieces[i] = piece
	})
	for _, text := range o.pieces[:len(parts)] {
		if _, err := o.rows.Write(text); err != nil {
			return err
		}
	}
	return nil
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

// Close reports rows that are missing.
func (o *Output) Close() error {
	if array, ok := o.rows.(*npy.Writer); ok {
		return array.Close()
	}
	return nil
}
