package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// counting is a Sampler whose sample i is the number i mod 251 plus refine,
// repeated.
type counting struct{ width int }

func (c counting) Formats() []Format {
	return []Format{{Name: "bytes", Descr: "'|u1'", Shape: []int{c.width}, RowBytes: c.width}, {Name: "other", RowBytes: 1}}
}

func (c counting) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if format != "bytes" || len(dst) != n*c.width {
		return fmt.Errorf("format %s, %d bytes", format, len(dst))
	}
	for i := range n {
		for j := range c.width {
			dst[i*c.width+j] = byte((first+uint64(i))%251) + byte(refine)
		}
	}
	return nil
}

func (c counting) Reach(first, n uint64, refine int) error {
	return SampleRange(first, 1000, n, refine, 5)
}

func TestStreamWritesAnyPart(t *testing.T) {
	for _, width := range []int{1, 1 << 17} {
		s := &Stream{sampler: counting{width}, workers: pool.New(1)}
		f, err := s.Format("")
		require.NoError(t, err)
		for _, r := range [][2]uint64{{0, 0}, {0, 1}, {7, 3}, {60, 130}} {
			var b bytes.Buffer
			var last uint64
			require.NoError(t, s.Write(context.Background(), &b, f, r[0], r[1], 2, func(done uint64) {
				require.Greater(t, done, last)
				last = done
			}))
			require.Equal(t, r[1], last)
			require.Equal(t, int(r[1])*width, b.Len())
			for i := range r[1] {
				require.Equal(t, byte((r[0]+i)%251)+2, b.Bytes()[int(i)*width], "sample %d", r[0]+i)
			}
		}
	}
}

func TestStreamFormats(t *testing.T) {
	s := &Stream{sampler: counting{3}, workers: pool.New(1)}
	f, err := s.Format("other")
	require.NoError(t, err)
	require.Equal(t, "other", f.Name)
	_, err = s.Format("csv")
	require.EqualError(t, err, `format: "csv" is not one of [bytes other]`)
	_, err = s.Format(Weighted)
	require.ErrorContains(t, err, "format: weighted: the density of this generator is not known")
}

type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestStreamStops(t *testing.T) {
	s := &Stream{sampler: counting{1 << 16}, workers: pool.New(1)}
	f, err := s.Format("")
	require.NoError(t, err)
	for writes := range 4 {
		require.ErrorIs(t, s.Write(context.Background(), &brokenWriter{writes}, f, 0, 250, 0, nil), io.ErrClosedPipe)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = s.Write(ctx, io.Discard, f, 0, 1000, 0, func(done uint64) {
		if done > 100 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Error(t, s.Write(context.Background(), io.Discard, Format{Name: "x", RowBytes: 1}, 0, 3, 0, nil))
	require.False(t, errors.Is(err, io.ErrClosedPipe))
	require.EqualError(t, s.Fill(context.Background(), make([]byte, 3), Format{Name: "x", RowBytes: 1}, 0, 0), "format x, 3 bytes")

	// What panics while it is written ends no process.
	err = s.Write(context.Background(), io.Discard, f, 0, 250, 0, func(done uint64) { panic("wrong") })
	require.Regexp(t, `^wrong \(engine/stream_test\.go:\d+\)$`, err.Error())
}

// halting is a Sampler that is told to stop while it draws.
type halting struct {
	counting
	stop func()
}

func (h halting) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	h.stop()
	return h.counting.Sample(dst, format, params, first, n, refine)
}

// A pipe whose reader has stopped to read cancels what waits for it.
type unread struct {
	cancel  func()
	release chan struct{}
}

func (w unread) Write(p []byte) (int, error) {
	w.cancel()
	<-w.release
	return len(p), nil
}

// TestStreamLeavesAPipeThatNobodyReads: the last part is not taken for written.
func TestStreamLeavesAPipeThatNobodyReads(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Stream{sampler: counting{1 << 16}, workers: pool.New(1)}
	f, err := s.Format("")
	require.NoError(t, err)
	release := make(chan struct{})
	defer close(release)
	require.ErrorIs(t, s.Write(ctx, unread{cancel, release}, f, 0, 3, 0, nil), context.Canceled)
}

// TestStreamDiscardsAPartThatWasStopped, which may not be whole.
func TestStreamDiscardsAPartThatWasStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Stream{sampler: halting{counting{1 << 16}, cancel}, workers: pool.New(1)}
	f, err := s.Format("")
	require.NoError(t, err)
	var written bytes.Buffer
	require.ErrorIs(t, s.Write(ctx, &written, f, 0, 3, 0, nil), context.Canceled)
	require.Zero(t, written.Len())
	require.ErrorIs(t, s.Fill(ctx, make([]byte, 3<<16), f, 0, 0), context.Canceled)
	require.False(t, s.workers.Halted())
}
