package score

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/ndjson"
	"github.com/revgen/revgen/internal/npy"
)

// Kinds are the kinds of input.
var Kinds = []string{"ndjson", "npy", "raw"}

// An Input reads states in one of several formats.
type Input struct {
	Kind   string // one of Kinds
	Format engine.Format
	Rows   int64 // −1 if that is not known before the end
	Bytes  int64 // read so far

	name    string
	reader  *bufio.Reader
	file    *os.File
	layout  ndjson.Layout
	threads int
}

// limits bound a line: a configuration of the largest lattice has a few hundred kilobytes.
var limits = ndjson.Limits{Bytes: 1 << 26, Depth: 16}

// Open opens a file of states, or stdin for "-". If kind is "" the content tells the kind. If
// format is "", the dtype of an array tells the format, and other kinds have the first one.
func Open(path string, stdin io.Reader, kind, format string, formats []engine.Format, threads int) (*Input, error) {
	in := &Input{Rows: -1, name: path, Kind: kind, threads: threads}
	err := in.open(path, stdin, format, formats)
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("%s: %w", in.Label(), disk.Cause(err))
	}
	return in, nil
}

// Label names the input.
func (in *Input) Label() string {
	if in.name == "-" {
		return "stdin"
	}
	return in.name
}

func (in *Input) open(path string, stdin io.Reader, format string, formats []engine.Format) (err error) {
	size := int64(-1)
	if path == "-" {
		in.reader = bufio.NewReaderSize(stdin, 1<<16)
	} else {
		if in.file, err = os.Open(path); err != nil {
			return err
		}
		info, err := in.file.Stat()
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return errors.New("is a directory, and no file of states")
		case info.Mode().IsRegular():
			size = info.Size()
		}
		in.reader = bufio.NewReaderSize(in.file, 1<<16)
	}
	if in.Kind == "" && size == 0 && filepath.Ext(path) == ".npy" {
		in.Kind = "npy" // an array without states has a header: this one is truncated
	}
	if in.Kind == "" {
		if in.Kind, err = detectKind(in.reader); err != nil {
			return err
		}
	}
	if in.Kind == "npy" {
		return in.openArray(size, format, formats)
	}
	if in.Format, err = formatNamed(format, formats); err != nil {
		return err
	}
	if in.Kind == "raw" {
		return in.openRaw(size)
	}
	in.layout, err = layoutOf(in.Format)
	return err
}

// detectKind tells the kind of an input by how it begins.
func detectKind(in *bufio.Reader) (kind string, err error) {
	for n := 6; ; n *= 2 {
		start, err := in.Peek(n)
		text := bytes.TrimLeft(start, " \t\r\n")
		switch {
		case bytes.HasPrefix(start, []byte("\x93NUMPY")):
			return "npy", nil
		case len(text) > 0 && (text[0] == '[' || text[0] == '{'), len(text) == 0 && errors.Is(err, io.EOF):
			return "ndjson", nil
		case len(text) > 0 || err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return "", errors.New("is neither a NumPy array nor lines of JSON lists or objects; use --input raw for the bytes of states alone")
		case errors.Is(err, bufio.ErrBufferFull):
			return "ndjson", nil // blank lines
		}
	}
}

// formatNamed returns the format with a name, the first for "".
func formatNamed(name string, formats []engine.Format) (engine.Format, error) {
	if name == "" {
		return formats[0], nil
	}
	k := slices.IndexFunc(formats, func(f engine.Format) bool { return f.Name == name })
	if k < 0 {
		return engine.Format{}, fmt.Errorf("format %q is not one of %s", name, describe(formats))
	}
	return formats[k], nil
}

func describe(formats []engine.Format) string {
	text := func(f engine.Format) string {
		return fmt.Sprintf("%s (dtype %s, shape %s)", f.Name, f.Descr, shapeText(f.Shape))
	}
	return strings.Join(lists.Map(formats, text), ", ")
}

// shapeText writes the shape of an array of states, whose leading lengths are free.
func shapeText(shape []int) string {
	text := "(…"
	for _, n := range shape {
		text += fmt.Sprintf(", %d", n)
	}
	return text + ")"
}

// openArray reads the header of an array.
func (in *Input) openArray(size int64, format string, formats []engine.Format) error {
	counted := &countingReader{r: in.reader}
	h, err := npy.ReadHeader(counted)
	if err != nil {
		return err
	}
	var fits []engine.Format
	for _, f := range formats {
		if sameType(f.Descr, h.Descr) && (format == "" || format == f.Name) {
			fits = append(fits, f)
		}
	}
	if len(fits) == 0 {
		convert := "numpy's astype converts"
		if strings.HasPrefix(h.Descr, "[") {
			convert = "a field of a NumPy array d is an array by itself, d[\"NAME\"]"
		}
		if f, err := formatNamed(format, formats); format != "" && err == nil {
			formats = []engine.Format{f}
		}
		return fmt.Errorf("an array of dtype %s, but states are %s; %s", h.Descr, describe(formats), convert)
	}
	// Leading lengths count states, for example chains and draws. A state may also be flat, as in
	// NDJSON.
	in.Rows = -1
	for _, flat := range [...]bool{false, true} {
		for _, f := range fits {
			state := f.Shape
			if flat {
				state = []int{volume(f.Shape)}
			}
			if cut := len(h.Shape) - len(state); in.Rows < 0 && cut >= 0 && slices.Equal(h.Shape[cut:], state) {
				in.Format, in.Rows = f, int64(volume(h.Shape[:cut]))
			}
		}
	}
	if in.Rows < 0 {
		return fmt.Errorf("an array of shape %v, but states are %s", h.Shape, describe(fits))
	}
	if size < 0 {
		return nil
	}
	data := in.Rows * int64(in.Format.RowBytes)
	if have := size - counted.n; have != data {
		return fmt.Errorf("%s: its shape needs %d bytes of data and it has %d", map[bool]string{true: "truncated", false: "longer than it says"}[have < data], data, have)
	}
	return nil
}

// volume is the number of elements of an array.
func volume(shape []int) int {
	n := 1
	for _, length := range shape {
		n *= length
	}
	return n
}

// sameType compares dtypes up to spaces, quotes and the byte order of single bytes.
func sameType(a, b string) bool {
	plain := strings.NewReplacer(" ", "", `"`, "'", "<i1", "|i1", "=i1", "|i1")
	return plain.Replace(a) == plain.Replace(b)
}

func (in *Input) openRaw(size int64) error {
	if size < 0 {
		return nil
	}
	if row := int64(in.Format.RowBytes); size%row != 0 {
		return fmt.Errorf("%d bytes are not a number of states of %d bytes, which those of format %s have", size, row, in.Format.Name)
	}
	in.Rows = size / int64(in.Format.RowBytes)
	return nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// layoutOf returns the layout of a format's states in lines of JSON.
func layoutOf(f engine.Format) (ndjson.Layout, error) {
	types := map[string]ndjson.NumberType{"i1": ndjson.Int8, "i4": ndjson.Int32, "u8": ndjson.Uint64, "f4": ndjson.Float32, "f8": ndjson.Float64}
	fields, _, err := npy.Fields(f.Descr)
	if err != nil {
		return nil, err
	}
	var l ndjson.Layout
	for _, field := range fields {
		t, ok := types[strings.TrimLeft(field.Type, "<|")]
		if !ok {
			return nil, fmt.Errorf("format %s cannot be written as JSON", f.Name)
		}
		name := field.Name
		if name == "" {
			name, field.Count = f.Name, volume(f.Shape)
		}
		l = append(l, ndjson.Field{Name: name, Count: field.Count, Type: t})
	}
	if l.RowBytes() != f.RowBytes {
		return nil, fmt.Errorf("format %s cannot be written as JSON", f.Name)
	}
	return l, nil
}

// Count sets Rows to the number of states, if it can be known before they are read.
func (in *Input) Count() error {
	if in.Rows >= 0 {
		return nil
	}
	if in.file != nil && in.Kind == "ndjson" {
		if info, err := in.file.Stat(); err == nil && info.Mode().IsRegular() {
			return in.countLines()
		}
	}
	return fmt.Errorf("%s: a NumPy array begins with the number of states, which a stream shows only at its end; write .ndjson or .csv, or read the states from a file", in.Label())
}

// countLines counts lines that are not blank, and returns to the beginning.
func (in *Input) countLines() error {
	lines, n, blank := bufio.NewReaderSize(in.file, 1<<20), int64(0), true
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		text, err := lines.ReadSlice('\n')
		blank = blank && len(bytes.Trim(text, " \t\r\n")) == 0
		if errors.Is(err, bufio.ErrBufferFull) { // the line goes on
			continue
		}
		if !blank {
			n++
		}
		blank = true
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	in.Rows = n
	_, err := in.file.Seek(0, io.SeekStart)
	in.reader.Reset(in.file)
	return err
}

// chunkBytes bounds the states of one call of Each's function.
const chunkBytes = 1 << 20

// Each calls do for consecutive chunks of the states. where names the place of a chunk's row in the
// input, for error messages.
func (in *Input) Each(do func(states []byte, where func(row int) string) error) error {
	if in.Kind == "ndjson" {
		counted := &countingReader{r: in.reader}
		err := in.layout.Each(counted, limits, in.threads, func(rows []byte, lines []int) error {
			for from, step := 0, max(1, chunkBytes/in.Format.RowBytes); from < len(lines); from += step {
				to := min(from+step, len(lines))
				err := do(rows[from*in.Format.RowBytes:to*in.Format.RowBytes], func(row int) string { return "line " + strconv.Itoa(lines[from+row]) })
				if err != nil {
					return err
				}
			}
			return nil
		})
		in.Bytes = counted.n
		if bad, ok := errors.AsType[*ndjson.Error](err); ok {
			err = &BadError{in.Label(), fmt.Sprintf("line %d", bad.Line), bad.Reason}
		}
		return err
	}
	row := int64(in.Format.RowBytes)
	step := max(1, chunkBytes/row)
	buffer := make([]byte, step*row)
	for done := int64(0); in.Rows < 0 || done < in.Rows; {
		n := step
		if in.Rows >= 0 {
			n = min(n, in.Rows-done)
		}
		got, err := io.ReadFull(in.reader, buffer[:n*row])
		in.Bytes += int64(got)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		n = int64(got) / row
		switch {
		case ended && in.Rows >= 0:
			return &BadError{in.Label(), fmt.Sprintf("state %d", done+n), fmt.Sprintf("truncated: there are to be %d states", in.Rows)}
		case ended && int64(got)%row != 0:
			return &BadError{in.Label(), fmt.Sprintf("state %d", done+n), fmt.Sprintf("ends after %d of its %d bytes", int64(got)%row, row)}
		case ended:
			in.Rows = done + n
		case err != nil:
			return fmt.Errorf("%s: %w", in.Label(), err)
		}
		if n > 0 {
			if err := do(buffer[:got], func(r int) string { return "state " + strconv.FormatInt(done+int64(r), 10) }); err != nil {
				return err
			}
		}
		done += n
	}
	if _, err := in.reader.ReadByte(); err == nil {
		return &BadError{in.Label(), fmt.Sprintf("state %d", in.Rows), fmt.Sprintf("there are to be %d states, and more follows", in.Rows)}
	}
	return nil
}

// Close closes the file that Open opened.
func (in *Input) Close() error {
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}

// A BadError says why one state, or its text, cannot be used. Name is the input's.
type BadError struct{ Name, Where, Reason string }

func (e *BadError) Error() string { return e.Name + ": " + e.Where + ": " + e.Reason }
