package revgen

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
)

// States are a number n of states in slices of the caller: spins as Spins or as Bits,
// real vectors as X, and vectors with a mode as X and Modes.
type States struct {
	Spins []int8    // ±1, [n][Dim]
	Bits  []uint64  // packed spins, [n][⌈Dim/64⌉]: bit i mod 64 of word i div 64 is spin i, 1 for +1
	X     []float32 // coordinates, [n][Dim]
	Modes []int32   // k = 0 … M−1, [n]
}

// The beginnings of the dtypes of formats that hold each field.
const (
	dtypeSpins = "'|i1'"
	dtypeBits  = "'<u8'"
	dtypeX     = "'<f4'"
	dtypeMixed = "[('x', '<f4'"
)

// Whether States must hold all of each state. X without Modes holds a part of states with modes.
const mayBePartial, mustBeWhole = false, true

// eachPart calls do for consecutive parts lo … hi−1 of n states, with a buffer for each. State 0
// has the random numbers of sample first; states that share some are in one part.
func eachPart(f engine.Format, first uint64, n int, do func(lo, hi int, buffer []byte) error) error {
	const bufferBytes, block = 4 << 20, engine.RefineBlock
	rows := (bufferBytes/f.RowBytes + block - 1) / block * block
	buffer := make([]byte, min(n, rows)*f.RowBytes)
	for lo, hi := 0, rows-int(first%block); lo < n; lo, hi = hi, hi+rows {
		hi = min(hi, n)
		if err := do(lo, hi, buffer[:(hi-lo)*f.RowBytes]); err != nil {
			return err
		}
	}
	return nil
}

// formatOf returns the layout of the slices that states has, and the number of states that they
// have room for.
func (s *Sampler) formatOf(states States, whole bool) (f engine.Format, n int, err error) {
	var possible, given []string
	for _, field := range []struct {
		name, dtype string
		isGiven     bool
	}{
		{"Spins", dtypeSpins, states.Spins != nil},
		{"Bits", dtypeBits, states.Bits != nil},
		{"X", dtypeX, states.X != nil && states.Modes == nil},
		{"X and Modes", dtypeMixed, states.Modes != nil},
	} {
		i := slices.IndexFunc(s.formats, func(f engine.Format) bool {
			return !f.Unrefined && strings.HasPrefix(f.Descr, field.dtype)
		})
		isPart := field.dtype == dtypeX && i > 0 // of states with modes, whose format is the first
		usable := i >= 0 && !(whole && isPart)
		if usable {
			possible = append(possible, field.name)
		}
		if field.isGiven {
			given = append(given, field.name)
			if usable {
				f = s.formats[i]
			}
		}
	}
	if len(given) != 1 || f.RowBytes == 0 {
		return f, 0, fmt.Errorf("states: given as %s; this model's are %s", strings.Join(append(given, "nothing")[:max(1, len(given))], " and "), strings.Join(possible, " or "))
	}
	for _, slice := range []struct {
		name     string
		len, row int
	}{
		{"Spins", len(states.Spins), f.RowBytes},
		{"Bits", len(states.Bits), f.RowBytes / 8},
		{"X", len(states.X), s.Dim()},
		{"Modes", len(states.Modes), 1},
	} {
		if slice.len == 0 {
			continue
		}
		if slice.len%slice.row != 0 {
			return f, 0, fmt.Errorf("states: %d numbers in %s are not a number of states, which have %d each", slice.len, slice.name, slice.row)
		}
		if rows := slice.len / slice.row; n != 0 && rows != n {
			return f, 0, fmt.Errorf("states: X is of %d and Modes of %d", n, rows)
		}
		n = slice.len / slice.row
	}
	if states.Modes != nil && len(states.Modes)*s.Dim() != len(states.X) {
		return f, 0, fmt.Errorf("states: X has %d numbers for %d modes and %d coordinates each", len(states.X), len(states.Modes), s.Dim())
	}
	return f, n, nil
}

// numbers returns the slice with states from, …, from+n−1 of a format; nil for states with modes,
// which are in two slices.
func (s *States) numbers(f engine.Format, from, n int) any {
	row := f.RowBytes
	switch f.Descr {
	case dtypeSpins:
		return s.Spins[from*row:][:n*row]
	case dtypeBits:
		return s.Bits[from*row/8:][:n*row/8]
	case dtypeX:
		return s.X[from*row/4:][:n*row/4]
	}
	return nil
}

// decode sets dst to the states in data, from the state with the given number on.
func decode(dst States, f engine.Format, from int, data []byte) {
	if numbers := dst.numbers(f, from, len(data)/f.RowBytes); numbers != nil {
		_, _ = binary.Decode(data, binary.LittleEndian, numbers) // data has their length
		return
	}
	d := f.RowBytes/4 - 1 // coordinates; the mode is the last number
	for n := from; len(data) > 0; n, data = n+1, data[f.RowBytes:] {
		_, _ = binary.Decode(data, binary.LittleEndian, dst.X[n*d:][:d])
		dst.Modes[n] = int32(binary.LittleEndian.Uint32(data[4*d:]))
	}
}

// encode is the inverse of decode.
func encode(data []byte, f engine.Format, src States, from int) {
	if numbers := src.numbers(f, from, len(data)/f.RowBytes); numbers != nil {
		_, _ = binary.Encode(data, binary.LittleEndian, numbers)
		return
	}
	d := f.RowBytes/4 - 1
	for n := from; len(data) > 0; n, data = n+1, data[f.RowBytes:] {
		_, _ = binary.Encode(data, binary.LittleEndian, src.X[n*d:][:d])
		binary.LittleEndian.PutUint32(data[4*d:], uint32(src.Modes[n]))
	}
}
