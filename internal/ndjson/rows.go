package ndjson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
)

// A Field describes numbers that every line has.
type Field struct {
	Name  string
	Count int // of numbers
	Type  NumberType
}

// A NumberType is how a number is stored, little-endian.
type NumberType uint8

// The types of numbers. Float32 rounds. A number that another type cannot hold is an error.
const (
	Int8 NumberType = iota
	Int32
	Uint64
	Float32
	Float64
)

var (
	typeNames = [...]string{"a whole number of 8 bits", "a whole number of 32 bits", "a whole number of 64 bits without a sign", "a number within float32", "a number"}
	typeSizes = [...]int{1, 4, 8, 4, 8}
)

// A Layout describes lines of numbers, which are stored field after field. A line is an
// object with all fields. In a layout of one field it may be the field's list alone.
// Lists may be nested; their numbers count in order.
type Layout []Field

// RowBytes returns the number of bytes of a line's numbers.
func (l Layout) RowBytes() (n int) {
	for _, f := range l {
		n += f.Count * typeSizes[f.Type]
	}
	return n
}

// Each reads lines and calls do for blocks of them, in order. rows has their numbers as
// the layout stores them, and lines the line numbers. Several goroutines parse blocks ahead.
// The first bad line ends it with an *Error, after do for the lines before it. Memory does
// not grow with the input.
func (l Layout) Each(in io.Reader, limits Limits, goroutines int, do func(rows []byte, lines []int) error) error {
	return l.each(in, limits, goroutines, simd, do)
}

func (l Layout) each(in io.Reader, limits Limits, goroutines int, fast bool, do func(rows []byte, lines []int) error) error {
	blocks := 2 * goroutines
	idle, work, order := make(chan *block, blocks), make(chan *block, blocks), make(chan *block, blocks)
	stop := make(chan struct{})
	var parsing sync.WaitGroup
	defer parsing.Wait()
	defer close(stop)
	for range blocks {
		idle <- &block{layout: l, depth: limits.Depth, tape: newTape(fast), done: make(chan struct{}, 1)}
	}
	for range goroutines {
		parsing.Go(func() {
			for b := range work {
				b.parse()
				b.done <- struct{}{}
			}
		})
	}
	go func() { // nobody waits for it: it may wait for input after Each has returned
		defer close(order)
		defer close(work)
		for s := newSource(in, limits); s.err == nil && !s.inLine; {
			select {
			case b := <-idle:
				s.fill(&b.lines, rowBlockBytes)
				if b.inputErr = nil; b.overlong != nil {
					b.inputErr = b.overlong
				} else if !errors.Is(s.err, io.EOF) {
					b.inputErr = s.err
				}
				order <- b // never waits, as it has room for all blocks
				work <- b
			case <-stop:
				return
			}
		}
	}()
	for b := range order {
		<-b.done
		if len(b.numbers) > 0 {
			if err := do(b.rows, b.numbers); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
		idle <- b
	}
	return nil
}

// rowBlockBytes is the least length of a block of rows.
const rowBlockBytes = 1 << 19

// A block is some lines and their rows.
type block struct {
	lines
	inputErr error // what ends the input after the lines
	layout   Layout
	depth    int
	tape     *tape

	rows    []byte
	numbers []int // line number of each row
	err     error // about the line or input after the rows
	done    chan struct{}
}

// parse sets rows, numbers and err.
func (b *block) parse() {
	b.rows, b.numbers, b.err = b.rows[:0], b.numbers[:0], nil
	if !b.parseLists() {
		b.values(b.tape, b.depth, b.addRow)
	}
	if b.err == nil {
		b.err = b.inputErr
	}
}

// parseLists parses the lines, and reports whether all are bare lists.
func (b *block) parseLists() bool {
	if b.tape == nil || len(b.layout) > 1 {
		return false
	}
	for _, s := range b.spans {
		start := b.addRoom()
		if !b.layout[0].scan(b.rows[start:], b.text[s.start:s.end], b.depth) {
			b.rows, b.numbers = b.rows[:0], b.numbers[:0]
			return false
		}
		b.numbers = append(b.numbers, s.line)
	}
	return true
}

// addRoom makes room for a row and returns where it begins.
func (b *block) addRoom() int {
	start, row := len(b.rows), b.layout.RowBytes()
	if cap(b.rows) < start+row {
		b.rows = append(make([]byte, 0, 2*cap(b.rows)+row), b.rows...)
	}
	b.rows = b.rows[:start+row]
	return start
}

// addRow stores a line's row, and reports whether the line fits the layout.
func (b *block) addRow(line int, v *Value, reason string) bool {
	start := b.addRoom()
	if reason == "" {
		reason = b.layout.fromValue(b.rows[start:], v)
	}
	if reason != "" {
		b.rows, b.err = b.rows[:start], &Error{line, reason}
		return false
	}
	b.numbers = append(b.numbers, line)
	return true
}

// fromValue stores the numbers of a line, or says why the line does not fit the layout.
func (l Layout) fromValue(dst []byte, v *Value) (reason string) {
	if v.Kind == List {
		if len(l) > 1 {
			return "a list where an object is needed: " + l.String()
		}
		return l[0].fromValue(dst, v)
	}
	for i := range v.Members {
		m := &v.Members[i]
		offset, field := 0, -1
		for k := range l {
			if l[k].Name == m.Key {
				field = k
				break
			}
			offset += l[k].Count * typeSizes[l[k].Type]
		}
		if field < 0 {
			return fmt.Sprintf("%q: unknown key; a line is %s", m.Key, l)
		}
		if reason := l[field].fromValue(dst[offset:], &m.Value); reason != "" {
			return fmt.Sprintf("%s: %s", m.Key, reason)
		}
	}
	if len(v.Members) < len(l) {
		return "lacks a key; a line is " + l.String()
	}
	return ""
}

// String describes a line of the layout for messages.
func (l Layout) String() string {
	var parts []string
	for _, f := range l {
		count := fmt.Sprintf("[… %d numbers]", f.Count)
		if f.Count == 1 {
			count = "…"
		}
		parts = append(parts, fmt.Sprintf("%q: %s", f.Name, count))
	}
	object := "{" + strings.Join(parts, ", ") + "}"
	if len(l) == 1 {
		return fmt.Sprintf("a list of %d numbers, or %s", l[0].Count, object)
	}
	return object
}

func (f *Field) fromValue(dst []byte, v *Value) (reason string) {
	n, reason := f.flatten(dst, v, 0)
	if reason == "" && n != f.Count {
		reason = fmt.Sprintf("%d numbers where %d are needed", n, f.Count)
	}
	return reason
}

// flatten stores the numbers of v, the first of which is number n of the field. It returns the
// number after the last.
func (f *Field) flatten(dst []byte, v *Value, n int) (int, string) {
	switch v.Kind {
	case List:
		for i := range v.Items {
			var reason string
			if n, reason = f.flatten(dst, &v.Items[i], n); reason != "" {
				return n, reason
			}
		}
		return n, ""
	case Int, Uint, Float:
		if n < f.Count && !f.store(dst[n*typeSizes[f.Type]:], v.Kind, v.bits) {
			return n, fmt.Sprintf("number %d is %s and not %s", n, v.String(), typeNames[f.Type])
		}
		return n + 1, ""
	}
	return n, fmt.Sprintf("number %d is %s", n, v.Kind)
}

// store stores a number, and reports whether the field can hold it.
func (f *Field) store(dst []byte, kind Kind, bits uint64) bool {
	switch f.Type {
	case Int8, Int32:
		integer := int64(bits)
		if kind == Float {
			x := math.Float64frombits(bits)
			if integer = int64(x); float64(integer) != x || math.Abs(x) > 1<<40 {
				return false
			}
		} else if kind == Uint {
			return false
		}
		if f.Type == Int8 {
			dst[0] = byte(integer)
			return integer == int64(int8(integer))
		}
		binary.LittleEndian.PutUint32(dst, uint32(integer))
		return integer == int64(int32(integer))
	case Uint64:
		binary.LittleEndian.PutUint64(dst, bits)
		return kind == Uint || kind == Int && int64(bits) >= 0
	}
	x := math.Float64frombits(bits)
	switch kind {
	case Int:
		x = float64(int64(bits))
	case Uint:
		x = float64(bits)
	}
	if f.Type == Float64 {
		binary.LittleEndian.PutUint64(dst, math.Float64bits(x))
		return true
	}
	narrow := float32(x)
	binary.LittleEndian.PutUint32(dst, math.Float32bits(narrow))
	return !math.IsInf(float64(narrow), 0)
}
