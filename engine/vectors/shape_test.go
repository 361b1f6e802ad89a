package vectors

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A stretched target has two modes of weights 0.7 and 0.3 in 70 coordinates: of mode k they are
// independent, about k, and in units of 1 + k of deviation 1 and 3 in turns, but for the
// last.
type stretched struct{ last float64 }

const longDim = 70

func (stretched) Dim() int   { return longDim }
func (stretched) Modes() int { return 2 }

func (stretched) Place(k int) (center []float64, scale float64) {
	for range longDim {
		center = append(center, float64(k))
	}
	return center, 2 * float64(1+k)
}

func (l stretched) deviation(i, k int) float64 {
	unit := float64(1 + k)
	switch {
	case i == longDim-1:
		return unit * l.last
	case i%2 == 1:
		return 3 * unit
	}
	return unit
}

func (l stretched) LogDensity(dst, x []float32, k []uint8) {
	for r, mode := range k {
		sum := math.Log(0.7)
		if mode == 1 {
			sum = math.Log(0.3) - longDim*math.Log(2)
		}
		for i, v := range x[r*longDim : (r+1)*longDim] {
			u := (float64(v) - float64(mode)) / l.deviation(i, int(mode))
			sum -= u * u / 2
		}
		dst[r] = float32(sum)
	}
}

// TestShapedChainsOfModes: the steps in the shape of a generator's modes, whose law is
// another, lead to the target's averages in each. One of them may have too few samples
// to tell its shape, or none.
func TestShapedChainsOfModes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many moves")
	}
	for name, second := range map[string]float64{"both": 0.5, "few": 0.01, "none": 1e-9} {
		t.Run(name, func(t *testing.T) { shapedChainsOfModes(t, second) })
	}
}

func shapedChainsOfModes(t *testing.T, second float64) {
	workers := pool.New(0)
	defer workers.Close()
	c := small(modalBest(), stretched{2})
	c.Generator.Components = 1
	c.Transition.Sigma = []float64{0.1, 0.3}
	system, err := c.New(workers)
	require.NoError(t, err)
	s := system.(*System)
	params := make([]float32, s.NumParams())
	parts := make([][]mixture.Component, 2)
	for k, weight := range []float64{1 - second, second} {
		center, _ := stretched{}.Place(k)
		part := mixture.Component{Weight: weight, Mean: center}
		for i := range longDim {
			for range i {
				part.Factor = append(part.Factor, 0)
			}
			part.Factor = append(part.Factor, stretched{2.4}.deviation(i, k))
		}
		parts[k] = []mixture.Component{part}
	}
	s.generator.nets.base.Place(params, parts)
	const walkers, draws = 256, 32
	w, err := s.Chains(params, walkers)
	require.NoError(t, err)
	w.(chains.VectorWalk).Shape(0)
	require.NoError(t, w.Advance(t.Context(), 1500))
	names := s.Observables()
	values := make([]float64, walkers*len(names))
	var upper, first, last [walkers]float64
	for range draws {
		require.NoError(t, w.Advance(t.Context(), 20))
		w.Observe(values)
		x := w.(chains.VectorWalk).Coordinates()
		for i := range walkers {
			k := values[i*len(names)+1] // mode_weight_1
			v, u := float64(x[i*longDim]), (float64(x[(i+1)*longDim-1])-k)/(1+k)
			upper[i], first[i], last[i] = upper[i]+k/draws, first[i]+v/draws, last[i]+u*u/draws
		}
	}
	for name, of := range map[string]struct {
		values [walkers]float64
		want   float64
	}{"weight": {upper, 0.3}, "mean": {first, 0.3}, "spread": {last, 4}} {
		var m stat.Mean
		for _, v := range of.values {
			m.Add(v)
		}
		require.InDelta(t, of.want, m.Value(), 5*m.StandardError(), name)
		require.Less(t, m.StandardError(), 0.05*max(1, of.want), name)
	}
}
