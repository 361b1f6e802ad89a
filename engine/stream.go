package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// A Stream is the sequence of independent samples that belongs to a trained
// generator and a seed. Any part of it can be had without the part before.
type Stream struct {
	sampler Sampler
	params  []float32
	seed    uint64
	workers *pool.Pool
}

// NewStream builds the system of cfg for sampling with the given parameters.
func NewStream(cfg Config, params []float32, workers *pool.Pool) (*Stream, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	system, err := cfg.New(workers)
	if err != nil {
		return nil, err
	}
	s, err := StreamOf(system, cfg, params, workers)
	if err != nil {
		Release(system)
	}
	return s, err
}

// StreamOf is NewStream for a system that cfg.New has returned.
func StreamOf(system System, cfg Config, params []float32, workers *pool.Pool) (*Stream, error) {
	name := cfg.Shared().System
	sampler, ok := system.(Sampler)
	if !ok {
		return nil, fmt.Errorf("%s: the system has no samples to write", name)
	}
	if n := system.NumParams(); n != len(params) {
		return nil, fmt.Errorf("%s: the configuration needs %d parameters and the model has %d", name, n, len(params))
	}
	return &Stream{sampler, params, cfg.Shared().Training.Seed, workers}, nil
}

// Close ends what the stream's system has started. The stream must not be used
// afterwards.
func (s *Stream) Close() {
	if system, ok := s.sampler.(System); ok {
		Release(system)
	}
}

// Format returns the layout of the given name, the system's default for "".
func (s *Stream) Format(name string) (Format, error) {
	formats := s.sampler.Formats()
	if name == "" {
		return formats[0], nil
	}
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	switch {
	case i < 0 && name == Weighted:
		return Format{}, errors.New("format: " + Weighted + ": " + noDensity)
	case i < 0:
		return Format{}, fmt.Errorf("format: %q is not one of %v", name, lists.Map(formats, func(f Format) string { return f.Name }))
	}
	return formats[i], nil
}

// Formats returns the layouts of samples, the default first.
func (s *Stream) Formats() []Format { return s.sampler.Formats() }

// Reach reports why Write cannot write samples first … first+n−1 after refine
// Metropolis steps each.
func (s *Stream) Reach(first, n uint64, refine int) error { return s.sampler.Reach(first, n, refine) }

// Write writes samples first … first+n−1 to w, one after another in the given
// format, each after refine Metropolis steps. One part is generated while the
// one before is written, so memory does not grow with n. Progress, if not nil,
// is called with the number of samples written so far. When ctx is cancelled it
// returns ctx's error, even if w does not return.
func (s *Stream) Write(ctx context.Context, w io.Writer, f Format, first, n uint64, refine int, progress func(done uint64)) error {
	if err := s.Reach(first, n, refine); err != nil {
		return err
	}
	return s.write(ctx, w, f, n, progress, func(part []byte, done uint64) error {
		return s.sampler.Sample(part, f.Name, s.params, first+done, len(part)/f.RowBytes, refine)
	})
}

// write writes n samples in parts. draw sets a part, given the number of samples before it.
func (s *Stream) write(ctx context.Context, w io.Writer, f Format, n uint64, progress func(done uint64), draw func(part []byte, done uint64) error) error {
	defer s.workers.Heed(ctx)()
	rows := uint64(s.partRows(f))
	var buffers [2][]byte
	for i := range buffers {
		buffers[i] = make([]byte, min(rows, n)*uint64(f.RowBytes))
	}
	written := make(chan error, 1)
	written <- nil
	wait := func() error {
		select {
		case err := <-written:
			return err
		case <-ctx.Done():
		}
		// The reader of a pipe may have stopped reading.
		select {
		case err := <-written:
			return err
		case <-time.After(stallLimit):
			return ctx.Err()
		}
	}
	for done := uint64(0); done < n; {
		count := min(rows, n-done)
		part := buffers[done/rows%2][:count*uint64(f.RowBytes)]
		err := ctx.Err()
		if err == nil {
			err = contextErrOr(ctx, draw(part, done))
		}
		if err = cmp.Or(wait(), err); err != nil {
			return err
		}
		done += count
		go func() {
			written <- crash.Catch(func() error {
				_, err := w.Write(part)
				if err == nil && progress != nil {
					progress(done)
				}
				return err
			})
		}()
	}
	return wait()
}

// Fill sets dst to samples first, first+1, … in the given format, each after refine
// Metropolis steps. len(dst) is a multiple of the format's RowBytes. When ctx is
// cancelled it returns ctx's error, and dst holds some of the samples.
func (s *Stream) Fill(ctx context.Context, dst []byte, f Format, first uint64, refine int) error {
	n := len(dst) / f.RowBytes
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	return s.eachPart(ctx, dst, f, first, func(part []byte, done int) error {
		return s.sampler.Sample(part, f.Name, s.params, first+uint64(done), len(part)/f.RowBytes, refine)
	})
}

// Refine takes the given number of Metropolis steps from states in a format, in
// place; state i draws the random numbers of sample first+i.
func (s *Stream) Refine(ctx context.Context, states []byte, f Format, first uint64, steps int) error {
	r, ok := s.sampler.(Scorer)
	if !ok {
		return errors.New("the system refines no states but its own samples")
	}
	if err := s.Reach(first, uint64(len(states)/f.RowBytes), steps); err != nil {
		return err
	}
	return s.eachPart(ctx, states, f, first, func(part []byte, done int) error {
		return r.Refine(part, f.Name, first+uint64(done), steps)
	})
}

// Energies sets dst to the energies E of len(dst) states in a format, and returns
// the β of their weights e^{−βE}.
func (s *Stream) Energies(dst []float64, f Format, states []byte) (beta float64, err error) {
	w, ok := s.sampler.(Scorer)
	if !ok {
		return 0, errors.New("the system does not give the energies of states")
	}
	return w.Energies(dst, f.Name, states)
}

// eachPart calls do for consecutive parts of states first, first+1, …, with the number of
// states before the part, until an error or ctx ends it. Samples that share random numbers
// are in one part.
func (s *Stream) eachPart(ctx context.Context, states []byte, f Format, first uint64, do func(part []byte, done int) error) error {
	defer s.workers.Heed(ctx)()
	rows := (s.partRows(f) + RefineBlock - 1) / RefineBlock * RefineBlock
	for done, n := 0, rows-int(first%RefineBlock); len(states) > 0; done, n = done+n, rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := states[:min(len(states), n*f.RowBytes)]
		if err := contextErrOr(ctx, do(part, done)); err != nil {
			return err
		}
		states = states[len(part):]
	}
	return nil
}

// contextErrOr returns ctx's error if it has ended, since loops that heed ctx may then have
// stopped halfway, and otherwise err.
func contextErrOr(ctx context.Context, err error) error { return cmp.Or(ctx.Err(), err) }

// stallLimit is how long the writing of a part may take after a cancellation.
const stallLimit = 500 * time.Millisecond

// partRows is how many samples are generated at once: a few megabytes, and
// enough rows for every thread.
func (s *Stream) partRows(f Format) int {
	const bytes, rowsPerThread = 4 << 20, 64
	return max(bytes/max(f.RowBytes, 1), rowsPerThread*s.workers.Threads())
}
