package revgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	exact   map[string]*engine.Exact // by name of the format
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

// Format returns the layout of the given name, the default for "".
func (s *Sampler) Format(name string) (engine.Format, error) { return s.stream.Format(name) }

// Sample fills dst with samples first, first+1, …, each after refine steps of the
// target's Metropolis kernel. When ctx is cancelled it returns ctx's error. If states have
// modes, X without Modes receives their coordinates alone.
func (s *Sampler) Sample(ctx context.Context, dst States, first uint64, refine int) error {
	return s.withStates(dst, mayBePartial, func(f engine.Format, n int) error {
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
// of engine.ExactDraws (engine.Exact). Draws are in order, and some repeat the one before.
// worth says how far these draws, and those of earlier calls, can be trusted. A call whose draws
// follow upon those of the call before continues its chain.
func (s *Sampler) SampleExact(ctx context.Context, dst States, first uint64) (worth engine.Exactness, err error) {
	err = s.withStates(dst, mayBePartial, func(f engine.Format, n int) error {
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
	return s.withBytes(dst, format, func(f engine.Format) error { return s.stream.Fill(ctx, dst, f, first, refine) })
}

// RefineBytes is Refine of states in a format of Formats.
func (s *Sampler) RefineBytes(ctx context.Context, states []byte, format string, first uint64, steps int) error {
	return s.withBytes(states, format, func(f engine.Format) error { return s.stream.Refine(ctx, states, f, first, steps) })
}

// EnergiesBytes is Energies of states in a format of Formats.
func (s *Sampler) EnergiesBytes(dst []float64, states []byte, format string) (beta float64, err error) {
	err = s.withBytes(states, format, func(f engine.Format) error {
		if n := len(states) / f.RowBytes; n != len(dst) {
			return fmt.Errorf("states: there are %d for %d energies", n, len(dst))
		}
		beta, err = s.stream.Energies(dst, f, states)
		return err
	})
	return beta, err
}

// withBytes calls do with the format of states, after it has checked their length.
func (s *Sampler) withBytes(states []byte, format string, do func(f engine.Format) error) error {
	f, err := s.stream.Format(format)
	if err != nil {
		return err
	}
	if len(states)%f.RowBytes != 0 {
		return fmt.Errorf("states: %d bytes are not a number of states of %d bytes", len(states), f.RowBytes)
	}
	return s.locked(func() error { return do(f) })
}

// locked calls do while no other call uses the sampler.
func (s *Sampler) locked(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers == nil {
		return errClosed
	}
	return do()
}

// withStates calls do with the format and the number of states.
func (s *Sampler) withStates(states States, whole bool, do func(f engine.Format, n int) error) error {
	f, n, err := s.formatOf(states, whole)
	if err != nil {
		return err
	}
	return s.locked(func() error { return do(f, n) })
}

// Refine takes any states the given number of steps along the target's Metropolis kernel, in
// place. State i draws the random numbers of sample first+i: unrefined samples of Sample
// become the refined ones (for sweeps of spins, in whole blocks of engine.RefineBlock samples).
// When ctx is cancelled it returns ctx's error, and some of the states have moved.
func (s *Sampler) Refine(ctx context.Context, states States, first uint64, steps int) error {
	return s.withStates(states, mustBeWhole, func(f engine.Format, n int) error {
		return eachPart(f, first, n, func(lo, hi int, buffer []byte) error {
			encode(buffer, f, states, lo)
			if err := s.stream.Refine(ctx, buffer, f, first+uint64(lo), steps); err != nil {
				return countedFrom(err, lo)
			}
			decode(states, f, lo, buffer)
			return nil
		})
	})
}

// Energies sets dst[i] to the energy E of state i, +Inf where the target vanishes, and returns
// the β of its density π ∝ e^{−βE}: for real vectors β is 1, and −E is ln π up to a
// constant.
func (s *Sampler) Energies(dst []float64, states States) (beta float64, err error) {
	err = s.withStates(states, mustBeWhole, func(f engine.Format, n int) error {
		if n != len(dst) {
			return fmt.Errorf("states: there are %d for %d energies", n, len(dst))
		}
		return eachPart(f, 0, max(n, 1), func(lo, hi int, buffer []byte) error {
			if n == 0 {
				hi, buffer = lo, nil
			}
			encode(buffer, f, states, lo)
			beta, err = s.stream.Energies(dst[lo:hi], f, buffer)
			return countedFrom(err, lo)
		})
	})
	return beta, err
}

var errClosed = errors.New("the sampler is closed")

// countedFrom adds to an error with the number of a state from which state it is counted.
func countedFrom(err error, first int) error {
	if err != nil && first > 0 {
		return fmt.Errorf("%w, counted from state %d", err, first)
	}
	return err
}
