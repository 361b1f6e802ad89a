package engine

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// noting is a Scorer that notes which samples it is asked for.
type noting struct {
	Scorer
	width int
	calls *[][2]uint64
}

func (s noting) Formats() []Format { return []Format{{Name: "bytes", RowBytes: s.width}} }

func (s noting) Reach(first, n uint64, refine int) error {
	return SampleRange(first, 1<<40, n, refine, 5)
}

func (s noting) Sample(dst []byte, format string, _ []float32, first uint64, n, refine int) error {
	*s.calls = append(*s.calls, [2]uint64{first, uint64(n)})
	for i := range n { // the first byte of each
		dst[i*s.width] = byte(first) + byte(i)
	}
	return nil
}

func (s noting) Refine(states []byte, format string, first uint64, steps int) error {
	*s.calls = append(*s.calls, [2]uint64{first, uint64(len(states) / s.width)})
	for i := 0; i < len(states); i += s.width {
		states[i] += byte(steps)
	}
	return nil
}

func (s noting) Energies(dst []float64, format string, states []byte) (float64, error) {
	for i := range dst {
		dst[i] = float64(states[i*s.width])
	}
	return 0.5, nil
}

// TestParts: samples are drawn some megabytes at a time, in memory in whole blocks of those that
// draw together.
func TestParts(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		width, threads int
		first, n       uint64
		written, parts [][2]uint64
	}{
		// 4 MiB are 1000 rows, in memory 1024.
		{4194, 1, 100, 1500, [][2]uint64{{100, 1000}, {1100, 500}}, [][2]uint64{{100, 924}, {1024, 576}}},
		{4194, 1, 512, 1024, [][2]uint64{{512, 1000}, {1512, 24}}, [][2]uint64{{512, 1024}}},
		{8192, 1, 700, 900, [][2]uint64{{700, 512}, {1212, 388}}, [][2]uint64{{700, 324}, {1024, 512}, {1536, 64}}},
		// Each thread has 64.
		{1 << 17, 1, 0, 70, [][2]uint64{{0, 64}, {64, 6}}, [][2]uint64{{0, 70}}},
		{1 << 17, 3, 511, 200, [][2]uint64{{511, 192}, {703, 8}}, [][2]uint64{{511, 1}, {512, 199}}},
	} {
		workers := pool.New(c.threads)
		var calls [][2]uint64
		s := &Stream{sampler: noting{width: c.width, calls: &calls}, workers: workers}
		f, err := s.Format("")
		require.NoError(t, err)
		var b bytes.Buffer
		var done []uint64
		require.NoError(t, s.Write(ctx, &b, f, c.first, c.n, 0, func(n uint64) { done = append(done, n) }))
		require.Equal(t, c.written, calls)
		require.Equal(t, c.n, done[len(done)-1])
		require.Len(t, done, len(calls))
		calls = nil
		dst := make([]byte, int(c.n)*c.width)
		require.NoError(t, s.Fill(ctx, dst, f, c.first, 0))
		require.Equal(t, c.parts, calls)
		calls = nil
		last := len(dst) - c.width
		before := dst[last]
		require.Equal(t, byte(c.first+c.n-1), before)
		require.Equal(t, before, b.Bytes()[last])
		require.NoError(t, s.Refine(ctx, dst, f, c.first, 2))
		require.Equal(t, c.parts, calls)
		require.Equal(t, before+2, dst[last])
		energies := make([]float64, 3)
		beta, err := s.Energies(energies, f, dst)
		require.NoError(t, err)
		require.Equal(t, 0.5, beta)
		require.Equal(t, float64(dst[2*c.width]), energies[2])

		ended, cancel := context.WithCancel(ctx)
		cancel()
		calls = nil
		require.Equal(t, context.Canceled, s.Fill(ended, dst, f, c.first, 0))
		require.Equal(t, context.Canceled, s.Refine(ended, dst, f, c.first, 2))
		require.Equal(t, context.Canceled, s.Write(ended, &b, f, c.first, c.n, 0, nil))
		require.Empty(t, calls)
		for _, err := range []error{s.Fill(ctx, dst, f, 1<<40, 0), s.Refine(ctx, dst, f, 1<<40, 0), s.Write(ctx, &b, f, 1<<40, c.n, 0, nil)} {
			require.ErrorContains(t, err, "are not all among")
		}
		workers.Close()
	}
	s := &Stream{sampler: counting{3}, workers: pool.New(1)}
	f, err := s.Format("")
	require.NoError(t, err)
	require.EqualError(t, s.Refine(ctx, nil, f, 0, 1), "the system refines no states but its own samples")
	_, err = s.Energies(nil, f, nil)
	require.EqualError(t, err, "the system does not give the energies of states")

	c := &systemConfig{Common: Common{System: "toy"}}
	_, err = StreamOf(linear{}, c, nil, nil)
	require.EqualError(t, err, "toy: the system has no samples to write")
	c.system = drawnLent{lent{linear: linear{slope: make([]float64, 3)}, closed: new(int)}}
	_, err = NewStream(c, make([]float32, 2), nil)
	require.EqualError(t, err, "toy: the configuration needs 3 parameters and the model has 2")
	c.Training.Seed = 9
	s, err = NewStream(c, make([]float32, 3), nil)
	require.NoError(t, err)
	require.EqualValues(t, 9, s.seed)
	require.Len(t, s.Formats(), 2)
}

// narrow is a Sampler with weights in too narrow rows, or of states that it does not convert.
type narrow struct {
	counting
	row int
}

func (n narrow) Formats() []Format {
	return []Format{{Name: "bytes", RowBytes: 1}, {Name: "other", RowBytes: 1}, {Name: Weighted, RowBytes: n.row, Unrefined: true}}
}

// TestExactLimits: what exact draws there are none of, and of which none are beyond.
func TestExactLimits(t *testing.T) {
	ctx := context.Background()
	e := exactOf(t, die, "side")
	const chains = 1 << 24 // that 2⁴⁰ samples have
	require.NoError(t, e.Reach(0, chains*ExactDraws))
	require.NoError(t, e.Reach(chains*ExactDraws-1, 1))
	require.NoError(t, e.Reach(chains*ExactDraws-1, 0))
	for _, r := range [][2]uint64{{0, chains*ExactDraws + 1}, {chains * ExactDraws, 1}, {chains * ExactDraws, 0}} {
		require.ErrorContains(t, e.Reach(r[0], r[1]), "are not all among the 1099511627776 of a seed")
	}
	const most = math.MaxUint64 / 65536 * ExactDraws
	for _, r := range [][2]uint64{{most + 1, 0}, {most, 1}, {5, math.MaxUint64}} {
		require.ErrorContains(t, e.Reach(r[0], r[1]), "are beyond any stream")
		require.ErrorContains(t, e.Write(ctx, nil, r[0], max(1, r[1]), nil), "are beyond any stream")
	}
	require.ErrorContains(t, e.Reach(most, 0), "are not all among", "which the sampler says")
	require.ErrorContains(t, e.Fill(ctx, make([]byte, 1), most+1), "are beyond any stream")
	require.NoError(t, e.Fill(ctx, nil, 7))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, context.Canceled, e.Fill(ended, make([]byte, 1), 0))

	s := &Stream{sampler: die, workers: pool.New(1)}
	_, err := s.Exact(Format{Name: "x", Unrefined: true})
	require.EqualError(t, err, "format: exact draws have no weights; take another format than x")
	s.sampler = narrow{row: 9}
	_, err = s.Exact(s.sampler.Formats()[0])
	require.NoError(t, err)
	_, err = s.Exact(s.sampler.Formats()[1])
	require.EqualError(t, err, "format: exact draws of this system are in the format bytes")
	s.sampler = narrow{row: 8}
	require.PanicsWithValue(t, "a row of 8 bytes has not the weight of one of 1", func() { _, _ = s.Exact(s.sampler.Formats()[0]) })

	e = exactOf(t, loaded{q: []float64{0, 1}, pi: []float64{1, 0}}, "side")
	require.EqualError(t, e.Fill(ctx, make([]byte, 1), 3), "none of the first 4100 samples of a chain of the generator is where π does not vanish")
	e = exactOf(t, loaded{q: []float64{0, 1}, pi: []float64{1, math.Inf(1)}}, "side")
	require.EqualError(t, e.Fill(ctx, make([]byte, 1), 0), "ln w of sample 0 of the generator is +Inf: its density cannot be computed there")
}
