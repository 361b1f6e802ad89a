package reals

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/vectors"
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
	require.ErrorContains(t, s.Sample(dst, "states", params, maxSamples, 1, 0), "not all among")
	require.ErrorContains(t, s.Sample(dst, "states", params, math.MaxUint64, 1, 0), "not all among")
	require.ErrorContains(t, s.Sample(dst, "states", params, math.MaxUint64, 1, 0), "not all among")
	require.NoError(t, s.Sample(dst, "states", params, maxSamples-1, 1, maxSteps))
}

// TestRefinementApproachesTheTarget: Metropolis steps alone turn N(0, I) into
// the mixture.
func TestRefinementApproachesTheTarget(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	s, params := newTestSystem(plane(0.6), workers)
	s.transition.sigma = []float32{1}
	const n = 1 << 14
	energy := func(refine int) (mean float64) {
		dst := make([]byte, 8*n)
		require.NoError(t, s.Sample(dst, "states", params, 0, n, refine))
		for i := range n {
			x := []float64{0, 0}
			for j := range x {
				x[j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(dst[8*i+4*j:])))
			}
			mean -= plane(0.6).log(x) / n
		}
		return mean
	}
	var want float64
	x := exact(plane(0.6), n, 1)
	for i := range n {
		want -= plane(0.6).log(number.Widen(x[2*i:2*i+2])) / n
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
	s.NewSampler(params).Density(got, vectors.States{Dim: s.Dim, X: x})
	for i, v := range got {
		want := -math.Log(2*math.Pi) - (math.Pow(float64(x[2*i]), 2)+math.Pow(float64(x[2*i+1]), 2))/2
		require.InDelta(t, want, v, 1e-6)
	}
}

// TestSamplesAreNotTheTrainingBatch draws both with the same parameters: their
// noise comes from streams apart.
func TestSamplesAreNotTheTrainingBatch(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s, params := newTestSystem(plane(0.6), workers)
	x := make([]float32, len(s.states))
	s.NewSampler(params).Draw(vectors.States{Dim: s.Dim, X: x}, nil, 0, 0)
	for step := range uint32(4) {
		s.Generate(params, step)
		for i, v := range s.states {
			require.NotEqual(t, v, x[i])
		}
	}
}
