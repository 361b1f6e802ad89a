package vectors

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

func TestSampleErrors(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s, params := newTestSystem(plane(0.6), workers)
	dst := make([]byte, 8)
	require.ErrorContains(t, s.Sample(dst, "bits", params, 0, 1, 0), `format: "bits" is not`)
	require.ErrorContains(t, s.Sample(dst, "states", params, 0, 1, -1), "refine: -1")
	require.ErrorContains(t, s.Sample(dst, "states", params, 1<<stepShift, 1, 0), "not all among")
	require.ErrorContains(t, s.Sample(dst, "states", params, math.MaxUint64, 1, 0), "not all among")
	require.ErrorContains(t, s.Sample(dst, "states", params, math.MaxUint64, 1, 0), "not all among")
	require.NoError(t, s.Sample(dst, "states", params, 1<<stepShift-1, 1, maxSteps))
	require.ErrorContains(t, s.Sample(dst, "states", params, 1<<stepShift-1, 1, maxSteps+1), "refine: 65537")
	_, err := s.Walk(params, 1<<stepShift, 1)
	require.ErrorContains(t, err, "not all among")
	_, err = s.Walk(params, 1<<stepShift-1, 1)
	require.NoError(t, err)

	trainer := newTrainer(t, small(modalBest(), threeTwins(1)), 1)
	s, params = trainer.System().(*System), trainer.Params()
	require.ErrorContains(t, s.Sample(dst, "states", params, 0, 1, -1), "refine: -1")
	require.ErrorContains(t, s.Sample(dst, "bits", params, 0, 1, 0), `format: "bits"`)
	require.ErrorContains(t, s.Sample(dst, "states", params, 1<<moveShift, 1, 0), "not all among")
	require.ErrorContains(t, s.Sample(dst, "states", params, math.MaxUint64, 1, 0), "not all among")
}

// TestRefinementApproachesTheTarget: Metropolis steps alone turn N(0, I) into
// the mixture.
func TestRefinementApproachesTheTarget(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	s, params := newTestSystem(plane(0.6), workers)
	s.Ensemble.kernel.sigma = []float32{1}
	const n = 1 << 14
	energy := func(refine int) (mean float64) {
		dst := make([]byte, 8*n)
		require.NoError(t, s.Sample(dst, "states", params, 0, n, refine))
		for i := range n {
			x := []float64{0, 0}
			for j := range x {
				x[j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(dst[8*i+4*j:])))
			}
			mean -= plane(0.6).log(x, 0) / n
		}
		return mean
	}
	var want float64
	x := exact(plane(0.6), n, 1)
	for i := range n {
		want -= plane(0.6).log(number.Widen(x[2*i:2*i+2]), 0) / n
	}
	require.Greater(t, math.Abs(energy(0)-want), 0.1)
	require.InDelta(t, want, energy(100), 0.05)
}

func TestLogDensityOfAGenerator(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s, params := newTestSystem(plane(0.6), workers)
	x := exact(plane(0.6), 300, 1)
	got := make([]float64, 300)
	s.NewSampler(params).Density(got, states(x, s.Dim))
	for i, v := range got {
		want := -math.Log(2*math.Pi) - (math.Pow(float64(x[2*i]), 2)+math.Pow(float64(x[2*i+1]), 2))/2
		require.InDelta(t, want, v, 1e-6)
	}
}

// TestSamplesAreNotTheTrainingBatch draws both with the same parameters: their
// noise comes from streams apart.
func TestSamplesAreNotTheTrainingBatch(t *testing.T) {
	for name, c := range map[string]engine.Config{"vectors": testConfigs()["mmd"], "modes": small(modalPaper(), threeTwins(1))} {
		trainer := newTrainer(t, c, 1)
		s := trainer.System().(*System)
		batch := s.form.(*pairs).S
		samples := s.NewStates(batch.Len())
		s.NewSampler(trainer.Params()).Draw(samples, nil, 0)
		for step := range uint32(4) {
			s.generator.Draw(batch, trainer.Params(), step)
			for i, v := range batch.X {
				require.NotEqual(t, v, samples.X[i], name)
			}
		}
	}
}

// TestFormats of the same samples say the same.
func TestFormats(t *testing.T) {
	for _, d := range configDims {
		trainer := newTrainer(t, small(modalPaper(), threeTwins(d)), 3)
		s := trainer.System().(*System)
		const n = 700
		row := 4*d + 4
		states, x, plain := make([]byte, n*row), make([]byte, n*4*d), make([]byte, n*row)
		require.NoError(t, s.Sample(states, "states", trainer.Params(), 1000, n, 2))
		require.NoError(t, s.Sample(x, "x", trainer.Params(), 1000, n, 2))
		require.NoError(t, s.Sample(plain, "states", trainer.Params(), 1000, n, 0))
		require.NotEqual(t, states, plain, "refinement moves")
		for r := range n {
			require.Equal(t, states[r*row:][:4*d], x[r*4*d:][:4*d])
			require.Less(t, binary.LittleEndian.Uint32(states[r*row+4*d:]), uint32(3))
		}
		for _, f := range s.Formats() {
			size, err := npy.Header{Descr: f.Descr, Shape: f.Shape}.Size()
			require.NoError(t, err)
			require.EqualValues(t, f.RowBytes, size)
		}
		require.Contains(t, s.TensorName(0), "layer 1")
	}
}

// A cloned target counts its clones.
type cloned struct {
	gaussians
	clones *int
}

func (c cloned) Clone() Target { *c.clones++; return c }

// TestWhatTargetsSay: a target has the place that it says or one by default, and an evaluator of its
// own for each thread, of any number of states, in float64 where it can be had.
func TestWhatTargetsSay(t *testing.T) {
	center, scale := placeOf(unplaced{plane(0.6)}, 0)
	require.Equal(t, []any{[]float64{0, 0}, 3.0}, []any{center, scale})
	center, scale = placeOf(flat{3}, 0)
	require.Equal(t, []any{[]float64{0, 0, 0}, 1.0}, []any{center, scale})
	center, scale = placeOf(threeTwins(2), 2)
	require.Equal(t, []any{threeTwins(2)[2].center, threeTwins(2)[2].scale}, []any{center, scale})
	require.Equal(t, []int{0, 1, 3}, []int{modesOf(plane(0.6)), modesOf(flat{3}), modesOf(threeTwins(2))})

	const n = 3*strip + 1
	clones, x := 0, exact(plane(0.6), n, 1)
	evaluate := Evaluator(cloned{plane(0.6), &clones})
	require.Equal(t, 1, clones)
	for _, rows := range []int{1, n, strip} {
		narrow, wide := make([]float32, rows), make([]float64, rows)
		plane(0.6).LogDensity(narrow, x[:2*rows], nil)
		evaluate(wide, x[:2*rows], nil)
		require.Equal(t, number.Widen(narrow), wide)
	}
	require.Equal(t, 1, clones)
	mean, deviation := spread([]float32{1, -2, 3, -2}, 2)
	require.Equal(t, []float64{2, -2}, mean)
	require.InDeltaSlice(t, []float64{1, 1e-6 * (2 + 1e-6)}, deviation, 1e-12)
}

// TestManyStates: energies and scores of more states than are looked at together are those of each,
// and moves of a part of them are those of the whole.
func TestManyStates(t *testing.T) {
	const n = 700
	e := ensemble(t, threeTwins(3))
	s := exactTwins(threeTwins(3), n, 1)
	written, row := make([]byte, n*16), 16
	s.write(written, row)
	energies, width := make([]float64, n), len(e.Observables())
	beta, err := e.Energies(energies, "states", written)
	require.NoError(t, err)
	require.Equal(t, 1.0, beta)
	values := make([]float64, n*width)
	require.NoError(t, e.Score(values, nil, "states", written))
	moved, part := slices.Clone(written), slices.Clone(written[600*row:])
	require.NoError(t, e.Refine(moved, "states", 1000, 3))
	require.NoError(t, e.Refine(part, "states", 1600, 3))
	require.Equal(t, moved[600*row:], part)
	require.NotEqual(t, written, moved)
	for i := range n {
		x := number.Widen(s.X[3*i : 3*i+3])
		want := threeTwins(3).log(x, int(s.K[i]))
		require.InDelta(t, -want, energies[i], 1e-4*(1+math.Abs(want)))
		require.InDelta(t, want, values[i*width+width-2], 1e-4*(1+math.Abs(want)))
		require.Equal(t, float64(s.X[3*i]), values[i*width+3])
		require.Equal(t, 1.0, values[i*width+int(s.K[i])])
	}
}
