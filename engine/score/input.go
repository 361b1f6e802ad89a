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

// An Input is states in one of several formats.
type Input struct {
	Kind   string // one of Kinds
	Format engine.Format
	Rows   int64 // −1 if that is not known before the end
	Bytes  int64 // read so far

	name    string
	in      *bufio.Reader
	file    *os.File
	layout  ndjson.Layout
	threads int
}

// limits of lines: a configuration of the largest lattice has a few hundred kilobytes.
var limits = ndjson.Limits{Bytes: 1 << 26, Depth: 16}

// Open opens a file, or stdin for "-", of the given kind, "" to tell by its content, in
// one of the formats: by its type for arrays, and otherwise the one with the given
// name, "" for the first.
func Open(path string, stdin io.Reader, kind, format string, formats []engine.Format, threads int) (*Input, error) {
	i := &Input{Rows: -1, name: path, Kind: kind, threads: threads}
	err := i.open(path, stdin, format, formats)
	if err != nil {
		_ = i.Close()
		return nil, fmt.Errorf("%s: %w", i.Label(), disk.Cause(err))
	}
	return i, nil
}

// Label names the input.
func (i *Input) Label() string {
	if i.name == "-" {
		return "stdin"
	}
	return i.name
}

func (i *Input) open(path string, stdin io.Reader, format string, formats []engine.Format) (err error) {
	size := int64(-1)
	if path == "-" {
		i.in = bufio.NewReaderSize(stdin, 1<<16)
	} else {
		if i.file, err = os.Open(path); err != nil {
			return err
		}
		info, err := i.file.Stat()
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return errors.New("is a directory, and no file of states")
		case info.Mode().IsRegular():
			size = info.Size()
		}
		i.in = bufio.NewReaderSize(i.file, 1<<16)
	}
	if i.Kind == "" && size == 0 && filepath.Ext(path) == ".npy" {
		i.Kind = "npy" // of which even one without states has a header
	}
	if i.Kind == "" {
		if i.Kind, err = tell(i.in); err != nil {
			return err
		}
	}
	if i.Kind == "npy" {
		return i.array(size, format, formats)
	}
	if i.Format, err = find(format, formats); err != nil {
		return err
	}
	if i.Kind == "raw" {
		return i.raw(size)
	}
	i.layout, err = layoutOf(i.Format)
	return err
}

// tell says what an input is by how it begins.
func tell(in *bufio.Reader) (kind string, err error) {
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

// find returns the format of a name, the first for "".
func find(name string, formats []engine.Format) (engine.Format, error) {
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
	one := func(f engine.Format) string {
		return fmt.Sprintf("%s (dtype %s, shape %v)", f.Name, f.Descr, shape(f.Shape))
	}
	return strings.Join(lists.Map(formats, one), ", ")
}

// shape shows the shape of rows.
func shape(of []int) string {
	text := "(…"
	for _, n := range of {
		text += fmt.Sprintf(", %d", n)
	}
	return text + ")"
}

// array reads the header of an array.
func (i *Input) array(size int64, format string, formats []engine.Format) error {
	counted := &counting{r: i.in}
	h, err := npy.ReadHeader(counted)
	if err != nil {
		return err
	}
	var fits []engine.Format
	for _, f := range formats {
		if same(f.Descr, h.Descr) && (format == "" || format == f.Name) {
			fits = append(fits, f)
		}
	}
	if len(fits) == 0 {
		convert := "numpy's astype converts"
		if strings.HasPrefix(h.Descr, "[") {
			convert = "a field of a NumPy array d is an array by itself, d[\"NAME\"]"
		}
		if f, err := find(format, formats); format != "" && err == nil {
			formats = []engine.Format{f}
		}
		return fmt.Errorf("an array of dtype %s, but states are %s; %s", h.Descr, describe(formats), convert)
	}
	// Leading lengths count states: of chains, say, and draws. A state's numbers may be in a row,
	// too, as NDJSON may have them.
	i.Rows = -1
	for _, flat := range [...]bool{false, true} {
		for _, f := range fits {
			one := f.Shape
			if flat {
				one = []int{volume(f.Shape)}
			}
			if cut := len(h.Shape) - len(one); i.Rows < 0 && cut >= 0 && slices.Equal(h.Shape[cut:], one) {
				i.Format, i.Rows = f, int64(volume(h.Shape[:cut]))
			}
		}
	}
	if i.Rows < 0 {
		return fmt.Errorf("an array of shape %v, but states are %s", h.Shape, describe(fits))
	}
	if size < 0 {
		return nil
	}
	data := i.Rows * int64(i.Format.RowBytes)
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

// same compares dtypes without spaces and kinds of quotes, and the ways to write a
// byte's order.
func same(a, b string) bool {
	plain := strings.NewReplacer(" ", "", `"`, "'", "<i1", "|i1", "=i1", "|i1")
	return plain.Replace(a) == plain.Replace(b)
}

func (i *Input) raw(size int64) error {
	if size < 0 {
		return nil
	}
	if row := int64(i.Format.RowBytes); size%row != 0 {
		return fmt.Errorf("%d bytes are not a number of states of %d bytes, which those of format %s have", size, row, i.Format.Name)
	}
	i.Rows = size / int64(i.Format.RowBytes)
	return nil
}

type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// layoutOf returns how lines give a format's states.
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

// Count finds out how many states there are, if that can be had beforehand.
func (i *Input) Count() error {
	if i.Rows >= 0 {
		return nil
	}
	if i.file != nil && i.Kind == "ndjson" {
		if info, err := i.file.Stat(); err == nil && info.Mode().IsRegular() {
			return i.countLines()
		}
	}
	return fmt.Errorf("%s: a NumPy array begins with the number of states, which a stream shows only at its end; write .ndjson or .csv, or read the states from a file", i.Label())
}

// countLines counts lines that are not blank, and returns to the beginning.
func (i *Input) countLines() error {
	in, n, blank := bufio.NewReaderSize(i.file, 1<<20), int64(0), true
	if _, err := i.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		part, err := in.ReadSlice('\n')
		blank = blank && len(bytes.Trim(part, " \t\r\n")) == 0
		if errors.Is(err, bufio.ErrBufferFull) {
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
	i.Rows = n
	_, err := i.file.Seek(0, io.SeekStart)
	i.in.Reset(i.file)
	return err
}

// partBytes is how many bytes of states are given at once.
const partBytes = 1 << 20

// Each calls do for parts of the states, in order, with what says where each is.
func (i *Input) Each(do func(states []byte, where func(row int) string) error) error {
	if i.Kind == "ndjson" {
		in := &counting{r: i.in}
		err := i.layout.Each(in, limits, i.threads, func(rows []byte, lines []int) error {
			for from, step := 0, max(1, partBytes/i.Format.RowBytes); from < len(lines); from += step {
				to := min(from+step, len(lines))
				err := do(rows[from*i.Format.RowBytes:to*i.Format.RowBytes], func(row int) string { return "line " + strconv.Itoa(lines[from+row]) })
				if err != nil {
					return err
				}
			}
			return nil
		})
		i.Bytes = in.n
		if bad, ok := errors.AsType[*ndjson.Error](err); ok {
			err = &BadError{i.Label(), fmt.Sprintf("line %d", bad.Line), bad.Reason}
		}
		return err
	}
	row := int64(i.Format.RowBytes)
	step := max(1, partBytes/row)
	buffer := make([]byte, step*row)
	for done := int64(0); i.Rows < 0 || done < i.Rows; {
		n := step
		if i.Rows >= 0 {
			n = min(n, i.Rows-done)
		}
		got, err := io.ReadFull(i.in, buffer[:n*row])
		i.Bytes += int64(got)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		n = int64(got) / row
		switch {
		case ended && i.Rows >= 0:
			return &BadError{i.Label(), fmt.Sprintf("state %d", done+n), fmt.Sprintf("truncated: there are to be %d states", i.Rows)}
		case ended && int64(got)%row != 0:
			return &BadError{i.Label(), fmt.Sprintf("state %d", done+n), fmt.Sprintf("ends after %d of its %d bytes", int64(got)%row, row)}
		case ended:
			i.Rows = done + n
		case err != nil:
			return fmt.Errorf("%s: %w", i.Label(), err)
		}
		if n > 0 {
			if err := do(buffer[:got], func(r int) string { return "state " + strconv.FormatInt(done+int64(r), 10) }); err != nil {
				return err
			}
		}
		done += n
	}
	if _, err := i.in.ReadByte(); err == nil {
		return &BadError{i.Label(), fmt.Sprintf("state %d", i.Rows), fmt.Sprintf("there are to be %d states, and more follows", i.Rows)}
	}
	return nil
}

// Close closes what Open opened.
func (i *Input) Close() error {
	if i.file == nil {
		return nil
	}
	return i.file.Close()
}

// A BadError is about one state.
type BadError struct{ Name, Where, Reason string }

func (e *BadError) Error() string { return e.Name + ": " + e.Where + ": " + e.Reason }
