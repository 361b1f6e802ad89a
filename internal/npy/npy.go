// Package npy streams arrays into files that NumPy reads: format versions 1.0
// and 2.0 of .npy, structured dtypes included.
//
// The shape is written first, and the data follow in writes of any size. Memory
// does not grow with the file, and the output may be a pipe.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

const (
	magic     = "\x93NUMPY"
	alignment = 64      // bytes; NumPy aligns data so for memory mapping
	maxHeader = 1 << 20 // longest header that is read
)

// A Header describes the array of a file. The data follow it in C order, the
// last index fastest.
type Header struct {
	// Descr is the dtype as NumPy's descr attribute gives it, a Python
	// literal: '|i1', or [('x', '<f4'), ('k', '<i4')].
	Descr string
	Shape []int
}

// Size returns the number of bytes of the array's data.
func (h Header) Size() (int64, error) {
	_, item, err := Fields(h.Descr)
	if err != nil {
		return 0, err
	}
	size := int64(item)
	for _, n := range h.Shape {
		if n < 0 {
			return 0, fmt.Errorf("npy: shape %v has a negative length", h.Shape)
		}
		if n > 0 && size > math.MaxInt64/int64(n) {
			return 0, fmt.Errorf("npy: shape %v of %d-byte items does not fit in 2^63 bytes", h.Shape, item)
		}
		size *= int64(n)
	}
	return size, nil
}

// Append appends the bytes with which a file begins, up to the data.
func (h Header) Append(dst []byte) ([]byte, error) {
	if _, err := h.Size(); err != nil {
		return dst, err
	}
	dict := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }", h.Descr, Tuple(h.Shape))
	fixed := len(magic) + 2 + 2
	padded := func() int { // length of dict, spaces and newline
		return (fixed+len(dict)+1+alignment-1)/alignment*alignment - fixed
	}
	version := byte(1)
	if padded() > math.MaxUint16 {
		version, fixed = 2, fixed+2
	}
	length := padded()
	dst = append(append(dst, magic...), version, 0)
	if version == 1 {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(length))
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(length))
	}
	dst = append(dst, dict...)
	dst = append(dst, strings.Repeat(" ", length-len(dict)-1)...)
	return append(dst, '\n'), nil
}

// Columns returns the dtype of a row of float64 numbers with names.
func Columns(names []string) (descr string, err error) {
	fields := make([]string, len(names))
	for i, name := range names {
		if strings.ContainsAny(name, "'\\\n") {
			return "", fmt.Errorf("%q: NumPy's header has no room for such a name", name)
		}
		fields[i] = "('" + name + "', '<f8')"
	}
	return "[" + strings.Join(fields, ", ") + "]", nil
}

// Tuple returns a shape in Python's notation.
func Tuple(shape []int) string {
	lengths := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		lengths += ","
	}
	return "(" + lengths + ")"
}

// ReadHeader reads the header of a file. r is then at the first byte of the data.
// Arrays in Fortran order are an error.
func ReadHeader(r io.Reader) (Header, error) {
	var h Header
	start := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(r, start); err != nil {
		return h, fmt.Errorf("npy: not an .npy file: it ends before its header: %w", err)
	}
	if string(start[:len(magic)]) != magic {
		return h, errors.New("npy: not an .npy file")
	}
	width := 4
	switch major := start[len(magic)]; major {
	case 1:
		width = 2
	case 2, 3:
	default:
		return h, fmt.Errorf("npy: format version %d is not known", major)
	}
	lengthBytes := make([]byte, 4)
	if _, err := io.ReadFull(r, lengthBytes[:width]); err != nil {
		return h, fmt.Errorf("npy: the header ends too early: %w", err)
	}
	length := binary.LittleEndian.Uint32(lengthBytes)
	if length > maxHeader {
		return h, fmt.Errorf("npy: a header of %d bytes is too long", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, fmt.Errorf("npy: the header ends too early: %w", err)
	}
	dict, err := parseDict(string(text))
	if err != nil {
		return h, fmt.Errorf("npy: header: %w", err)
	}
	fortran, ok := dict["fortran_order"].value.(bool)
	if !ok {
		return h, errors.New("npy: the header lacks fortran_order")
	}
	if fortran {
		return h, errors.New("npy: arrays in Fortran order are not supported")
	}
	lengths, ok := dict["shape"].value.([]literal)
	if !ok {
		return h, errors.New("npy: the header lacks a shape")
	}
	for _, l := range lengths {
		n, ok := l.value.(int)
		if !ok {
			return h, fmt.Errorf("npy: shape %s", dict["shape"].text)
		}
		h.Shape = append(h.Shape, n)
	}
	h.Descr = dict["descr"].text
	_, err = h.Size()
	return h, err
}
