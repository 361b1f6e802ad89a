package score

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

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
	layout  string
	columns []string
	keys    []string // of lines: {"a": and then ,"b":
	array   *npy.Writer
	workers *pool.Pool
	pieces  [][]byte
}

// NewOutput begins a table on w. Rows is their number, which an array needs.
func NewOutput(w io.Writer, layout string, columns []string, rows int64, workers *pool.Pool) (*Output, error) {
	o := &Output{w: w, layout: layout, columns: columns, workers: workers}
	switch layout {
	case "npy":
		h, err := header(columns, rows)
		if err != nil {
			return nil, err
		}
		o.array, err = npy.NewWriter(counted{o}, h)
		return o, err
	case "csv":
		return o, csv.NewWriter(counted{o}).WriteAll([][]string{lists.Map(columns, report.Plain)})
	}
	for i, name := range columns {
		o.keys = append(o.keys, map[bool]string{true: "{", false: ","}[i == 0]+strconv.Quote(name)+":")
	}
	return o, nil
}

// Size returns the bytes of an array's data, 0 for tables of text, of which nobody knows.
func Size(layout string, columns []string, rows int64) (int64, error) {
	if layout != "npy" {
		return 0, nil
	}
	h, err := header(columns, rows)
	if err != nil {
		return 0, err
	}
	return h.Size()
}

// header describes the array of a table: a field for each column.
func header(columns []string, rows int64) (npy.Header, error) {
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
			return err
		}
	}
	return nil
}

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

// Close reports rows that are missing.
func (o *Output) Close() error {
	if o.array == nil {
		return nil
	}
	return o.array.Close()
}
