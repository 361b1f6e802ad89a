package revgen

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/revgen/revgen/engine"
)

// A Sampler is the stream of independent samples that belongs to a model and a seed.
// Sample i depends on both and on i alone: any part can be drawn, in any order, by any
// number of threads or machines. Calls may be concurrent, and then wait for each
// other.
type Sampler struct {
	mu      sync.Mutex
	workers *engine.Workers // nil once closed
	stream  *engine.Stream
	formats []engine.Format
	exact   map[string]*engine.Exact // by format
}

// Close ends the sampler's threads. It waits for calls under way; later ones return an
// error.
func (s *Sampler) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers != nil {
		s.stream.Close()
		s.workers.Close()
		s.workers = nil
	}
}

// States are a number n of states in slices of the caller: spins as Spins or as Bits,
// real vectors as X, and vectors with a mode as X and Modes.
type States struct {
	Spins []int8    // ±1, [n][Dim]
	Bits  []uint64  // packed spins, [n][⌈Dim/64⌉]: bit i mod 64 of word i div 64 is spin i, 1 for +1
	X     []float32 // coordinates, [n][Dim]
	Modes []int32   // k = 0 … M−1, [n]
}

// dtypes of the formats that hold what each field does.
const (
	dtypeSpins = "'|i1'"
	dtypeBits  = "'<u8'"
	dtypeX     = "'<f4'"
	dtypeMixed = "[('x', '<f4'"
)

// Dim returns the number of spins or of coordinates of a state.
func (s *Sampler) Dim() int {
	for _, f := range s.formats {
		switch {
		case f.Descr == dtypeSpins:
			return f.RowBytes
		case f.Descr == dtypeX:
			return f.RowBytes / 4
		}
	}
	return 0
}

// Formats returns the layouts of states in bytes, the default first.
func (s *Sampler) Formats() []engine.Format { return slices.Clone(s.formats) }

// Format returns the layout of a name, the default for "".
func (s *Sampler) Format(name string) (engine.Format, error) { return s.stream.Format(name) }

// Sample fills dst with samples first, first+1, …, each after refine steps of the
// target's Metropolis kernel. When ctx is cancelled it returns ctx's error. X alone
// takes the coordinates of states that have modes.
func (s *Sampler) Sample(ctx context.Context, dst States, first uint64, refine int) error {
	return s.with(dst, false, func(f engine.Format, n int) error {
		if err := s.stream.Reach(first, uint64(n), refine); err != nil {
			return err
		}
		return eachPart(f, first, n, func(lo, hi int, buffer []byte) error {
			if err := s.stream.Fill(ctx, buffer, f, first+uint64(lo), refine); err != nil {
				return err
			}
			decode(dst, f, lo, buffer)
			return nil
		})
	})
}

// SampleExact fills dst with asymptotically exact draws first, first+1, … of a
// generator whose density is known: independence Metropolis of its samples, in chains
// of engine.ExactDraws (engine.Exact). Draws are in order, and some repeat the one
// before; what is returned says how much they, and those of calls before, are worth.
// Calls whose draws follow upon each other do not begin a chain anew.
func (s *Sampler) SampleExact(ctx context.Context, dst States, first uint64) (worth engine.Exactness, err error) {
	err = s.with(dst, false, func(f engine.Format, n int) error {
		e := s.exact[f.Name]
		if e == nil {
			if e, err = s.stream.Exact(f); err != nil {
				return err
			}
			if s.exact == nil {
				s.exact = map[string]*engine.Exact{}
			}
			s.exact[f.Name] = e
		}
		if err := e.Reach(first, uint64(n)); err != nil {
			return err
		}
		err := eachPart(f, first, n, func(lo, hi int, buffer []byte) error {
			if err := e.Fill(ctx, buffer, first+uint64(lo)); err != nil {
				return err
			}
			decode(dst, f, lo, buffer)
			return nil
		})
		worth = e.Exactness()
		return err
	})
	return worth, err
}

// SampleBytes is Sample in a format of Formats, "" for the default: the bytes that
// "revgen sample" writes after a file's header. len(dst) is a multiple of the format's
// RowBytes.
func (s *Sampler) SampleBytes(ctx context.Context, dst []byte, format string, first uint64, refine int) error {
	return s.bytes(dst, format, func(f engine.Format) error { return s.stream.Fill(ctx, dst, f, first, refine) })
}

// RefineBytes is Refine of states in a format of Formats.
func (s *Sampler) RefineBytes(ctx context.Context, states []byte, format string, first uint64, steps int) error {
	return s.bytes(states, format, func(f engine.Format) error { return s.stream.Refine(ctx, states, f, first, steps) })
}

// EnergiesBytes is Energies of states in a format of Formats.
func (s *Sampler) EnergiesBytes(dst []float64, states []byte, format string) (beta float64, err error) {
	err = s.bytes(states, format, func(f engine.Format) error {
		if n := len(states) / f.RowBytes; n != len(dst) {
			return fmt.Errorf("states: there are %d for %d energies", n, len(dst))
		}
		beta, err = s.stream.Energies(dst, f, states)
		return err
	})
	return beta, err
}

// bytes does something with whole states in a format.
func (s *Sampler) bytes(states []byte, format string, do func(f engine.Format) error) error {
	f, err := s.stream.Format(format)
	if err != nil {
		return err
	}
	if len(states)%f.RowBytes != 0 {
		return fmt.Errorf("states: %d bytes are not a number of states of %d bytes", len(states), f.RowBytes)
	}
	return s.alone(func() error { return do(f) })
}

// alone calls do while nobody else uses the sampler.
func (s *Sampler) alone(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers == nil {
		return errClosed
	}
	return do()
}

// with does something with the caller's states, whose format it is told and their number.
func (s *Sampler) with(states States, whole bool, do func(f engine.Format, n int) error) error {
	f, n, err := s.format(states, whole)
	if err != nil {
		return err
	}
	return s.alone(func() error { return do(f, n) })
}

// Refine takes states, of wherever they are, the given number of steps along the
// target's Metropolis kernel, in place. State i draws the random numbers of sample
// first+i: samples that Sample did not refine become those that it refined (of sweeps
// of spins, whole blocks of engine.RefineBlock samples do). When ctx is cancelled it
// returns ctx's error, and some of the states have moved.
func (s *Sampler) Refine(ctx context.Context, states States, first uint64, steps int) error {
	return s.with(states, true, func(f engine.Format, n int) error {
		return eachPart(f, first, n, func(lo, hi int, buffer []byte) error {
			encode(buffer, f, states, lo)
			if err := s.stream.Refine(ctx, buffer, f, first+uint64(lo), steps); err != nil {
				return atState(err, lo)
			}
			decode(states, f, lo, buffer)
			return nil
		})
	})
}

// Energies sets dst[i] to the energy E of state i of len(dst), +Inf where the target
// vanishes, and returns the β of its density π ∝ e^{−βE}: for real vectors β is 1, and
// −E is ln π up to a constant.
func (s *Sampler) Energies(dst []float64, states States) (beta float64, err error) {
	err = s.with(states, true, func(f engine.Format, n int) error {
		if n != len(dst) {
			return fmt.Errorf("states: there are %d for %d energies", n, len(dst))
		}
		return eachPart(f, 0, max(n, 1), func(lo, hi int, buffer []byte) error {
			if n == 0 {
				hi, buffer = lo, nil
			}
			encode(buffer, f, states, lo)
			beta, err = s.stream.Energies(dst[lo:hi], f, buffer)
			return atState(err, lo)
		})
	})
	return beta, err
}

var errClosed = errors.New("the sampler is closed")

// atState says where the numbers of states in an error begin.
func atState(err error, first int) error {
	if err != nil && first > 0 {
		return fmt.Errorf("%w, counted from state %d", err, first)
	}
	return err
}

// eachPart calls do for parts of n states from number first on, with a buffer for
// them. States that draw together stay together.
func eachPart(f engine.Format, first uint64, n int, do func(lo, hi int, buffer []byte) error) error {
	const bytes, block = 4 << 20, engine.RefineBlock
	rows := (bytes/f.RowBytes + block - 1) / block * block
	buffer := make([]byte, min(n, rows)*f.RowBytes)
	for lo, hi := 0, rows-int(first%block); lo < n; lo, hi = hi, hi+rows {
		hi = min(hi, n)
		if err := do(lo, hi, buffer[:(hi-lo)*f.RowBytes]); err != nil {
			return err
		}
	}
	return nil
}

// format returns the layout that holds what the slices are for, all of a state if it
// must be whole, and the number of states that they have room for.
func (s *Sampler) format(states States, whole bool) (f engine.Format, n int, err error) {
	var want, given []string
	for _, field := range []struct {
		name, dtype string
		there       bool
	}{
		{"Spins", dtypeSpins, states.Spins != nil},
		{"Bits", dtypeBits, states.Bits != nil},
		{"X", dtypeX, states.X != nil && states.Modes == nil},
		{"X and Modes", dtypeMixed, states.Modes != nil},
	} {
		i := slices.IndexFunc(s.formats, func(f engine.Format) bool {
			return !f.Unrefined && strings.HasPrefix(f.Descr, field.dtype)
		})
		// X is a part of states with modes.
		part := field.dtype == dtypeX && i > 0
		if i >= 0 && !(whole && part) {
			want = append(want, field.name)
		}
		if field.there {
			given = append(given, field.name)
			if i >= 0 && !(whole && part) {
				f = s.formats[i]
			}
		}
	}
	if len(given) != 1 || f.RowBytes == 0 {
		return f, 0, fmt.Errorf("states: given as %s; this model's are %s", strings.Join(append(given, "nothing")[:max(1, len(given))], " and "), strings.Join(want, " or "))
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

// part returns the numbers of n states of a format from the given one on, nil of states
// that have modes, whose numbers are in two slices.
func (s *States) part(f engine.Format, from, n int) any {
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

// decode stores states of a format from the given one on.
func decode(dst States, f engine.Format, from int, data []byte) {
	if part := dst.part(f, from, len(data)/f.RowBytes); part != nil {
		_, _ = binary.Decode(data, binary.LittleEndian, part) // which has their length
		return
	}
	d := f.RowBytes/4 - 1
	for n := from; len(data) > 0; n, data = n+1, data[f.RowBytes:] {
		_, _ = binary.Decode(data, binary.LittleEndian, dst.X[n*d:][:d])
		dst.Modes[n] = int32(binary.LittleEndian.Uint32(data[4*d:]))
	}
}

// encode is the inverse of decode.
func encode(data []byte, f engine.Format, src States, from int) {
	if part := src.part(f, from, len(data)/f.RowBytes); part != nil {
		_, _ = binary.Encode(data, binary.LittleEndian, part)
		return
	}
	d := f.RowBytes/4 - 1
	for n := from; len(data) > 0; n, data = n+1, data[f.RowBytes:] {
		_, _ = binary.Encode(data, binary.LittleEndian, src.X[n*d:][:d])
		binary.LittleEndian.PutUint32(data[4*d:], uint32(src.Modes[n]))
	}
}
