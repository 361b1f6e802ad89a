package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

// A Stream is the sequence of independent samples that belongs to a trained
// generator and a seed. Any part of it can be had without the part before.
type Stream struct {
	sampler Sampler
	params  []float32
	threads int
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
	name := cfg.Shared().System
	sampler, ok := system.(Sampler)
	if !ok {
		return nil, fmt.Errorf("%s: the system has no samples to write", name)
	}
	if n := system.NumParams(); n != len(params) {
		return nil, fmt.Errorf("%s: the configuration needs %d parameters and the model has %d", name, n, len(params))
	}
	return &Stream{sampler, params, workers.Threads()}, nil
}

// Format returns the layout of the given name, the system's default for "".
func (s *Stream) Format(name string) (Format, error) {
	all := s.sampler.Formats()
	if name == "" {
		return all[0], nil
	}
	i := slices.IndexFunc(all, func(f Format) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		return Format{}, fmt.Errorf("format: %q is not one of %v", name, names)
	}
	return all[i], nil
}

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
		// Who reads a pipe may have stopped to read.
		select {
		case err := <-written:
			return err
		case <-time.After(stalled):
			return ctx.Err()
		}
	}
	for done := uint64(0); done < n; {
		count := min(rows, n-done)
		part := buffers[done/rows%2][:count*uint64(f.RowBytes)]
		err := ctx.Err()
		if err == nil {
			err = s.sampler.Sample(part, f.Name, s.params, first+done, int(count), refine)
		}
		if before := wait(); before != nil || err != nil {
			if before != nil {
				return before
			}
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

// stalled is how long a part may take to be written after a cancellation.
const stalled = 500 * time.Millisecond

// partRows is how many samples are generated at once: a few megabytes, and
// enough rows for every thread.
func (s *Stream) partRows(f Format) int {
	const bytes, rowsPerThread = 4 << 20, 64
	return max(bytes/max(f.RowBytes, 1), rowsPerThread*s.threads)
}
