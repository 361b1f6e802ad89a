package vectors

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A series is a stationary autoregression of 66 coordinates, of variance 1, about one of
// two levels, ±level, of which the upper has that weight. One coordinate may be wider.
type series struct {
	memory, level, upper float64
	wide                 int     // the coordinate
	width                float64 // times as wide
}

const seriesLength = 66

func (series) Dim() int { return seriesLength }

func (s series) Place() (center []float64, scale float64) {
	return make([]float64, seriesLength), 1 + s.level
}

// innovation returns the standard deviation of a coordinate given those before.
func (s series) innovation(i int) float64 {
	if i == 0 {
		return 1
	}
	return math.Sqrt(1 - s.memory*s.memory)
}

func (s series) LogDensity(dst, x []float32, _ []uint8) {
	later := s.innovation(1)
	for r := range dst {
		log := func(level float64) (sum float64) {
			last, innovation := 0.0, 1.0
			for i, v := range x[r*seriesLength : (r+1)*seriesLength] {
				u := float64(v)
				if i == s.wide {
					u /= s.width
				}
				u -= level
				e := (u - s.memory*last) / innovation
				sum -= e * e / 2
				last, innovation = u, later
			}
			return sum
		}
		high := log(s.level)
		if s.upper < 1 {
			low := log(-s.level) + math.Log(1-s.upper)
			high += math.Log(s.upper)
			most := max(high, low)
			high = most + math.Log(math.Exp(high-most)+math.Exp(low-most))
		}
		dst[r] = float32(high)
	}
}

// generator returns a system of a target, and the parameters of the Gaussians of the series,
// one or two.
func (s series) generator(t *testing.T, target series, workers *pool.Pool) (*System, []float32) {
	var parts []mixture.Component
	for _, c := range []mixture.Component{{Weight: s.upper}, {Weight: 1 - s.upper}} {
		if c.Weight == 0 {
			continue
		}
		level := s.level
		if len(parts) > 0 {
			level = -level
		}
		for i := range seriesLength {
			c.Mean = append(c.Mean, level)
			for j := range i + 1 {
				c.Factor = append(c.Factor, math.Pow(s.memory, float64(i-j))*s.innovation(j))
			}
		}
		parts = append(parts, c)
	}
	c := &testConfig{paperConfig(), target}
	placed(c, len(parts))
	c.Generator.Depth, c.Transition.Sigma = 0, []float64{0.02, 0.05, 0.1}
	require.NoError(t, c.Validate())
	system, err := c.New(workers)
	require.NoError(t, err)
	k := system.(*System)
	params := make([]float32, k.NumParams())
	nets := k.generator.nets
	_, scale, base := nets.placeAndBase(params)
	for i := range scale {
		scale[i] = 1
	}
	nets.base.Place(base, [][]mixture.Component{parts})
	return k, params
}

// TestTrustInManyCoordinates: the brief diagnosis trusts Gaussians that are the target, and
// not those that lack a mode of it, or are half as wide in one coordinate.
func TestTrustInManyCoordinates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many moves")
	}
	trusts(t, false)
}

// TestMoreTrustInManyCoordinates: those of them that are trusted for chains alone, and for
// two modes, and others with and without a density.
func TestMoreTrustInManyCoordinates(t *testing.T) {
	long.Only(t)
	trusts(t, true)
}

func trusts(t *testing.T, more bool) {
	workers := pool.New(0)
	defer workers.Close()
	one, two, upper := series{0.9, 0, 1, 0, 1}, series{0.9, 4, 0.5, 0, 1}, series{0.9, 4, 1, 0, 1}
	narrow, wide := series{0.5, 0, 1, 0, 1}, series{0.5, 0, 1, 60, 2}
	for name, c := range map[string]struct {
		generator, target series
		density           bool
		more              bool
		moves             int
		want              diagnose.Verdict
		says              string
	}{
		"right":                        {one, one, true, false, 1 << 20, diagnose.Trustworthy, "256 independent Markov chains find the same"},
		"right, no density":            {one, one, false, true, 1 << 20, diagnose.Trustworthy, "256 independent Markov chains find the same"},
		"two modes":                    {two, two, true, true, 1 << 19, diagnose.Trustworthy, "importance weights give the same"},
		"a mode lost":                  {upper, two, true, false, 1 << 19, diagnose.Unknown, "of 256 independent Markov chains ended where the generator's density is too small"},
		"a mode lost, no density":      {upper, two, false, true, 1 << 19, diagnose.Unknown, "of 256 independent Markov chains ended where no sample is near"},
		"one half as wide":             {narrow, wide, true, true, 1 << 19, diagnose.Unknown, "ended where the generator's density is too small"},
		"one half as wide, no density": {narrow, wide, false, false, 1 << 21, diagnose.Wrong, "the spread of coordinate 60"},
	} {
		if c.more != more {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, params := c.generator.generator(t, c.target, workers)
			s.Dense = c.density
			r, err := diagnose.Run(t.Context(), s, params, diagnose.Brief(c.moves))
			require.NoError(t, err)
			t.Logf("%s: %+v", r.Sentence, *r.Chains)
			require.Equal(t, c.want, r.Verdict, r.Sentence)
			require.Contains(t, r.Sentence, c.says)
		})
	}
}

// TestShapedChainsKeepTheTarget: the steps in the shape of a generator whose law is another
// lead to the target's averages, the same for any number of threads.
func TestShapedChainsKeepTheTarget(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many moves")
	}
	workers := pool.New(0)
	defer workers.Close()
	const wide, walkers, draws = 60, 256, 32
	s, params := series{0.5, 0, 1, 0, 1}.generator(t, series{0.5, 0.5, 1, wide, 1.3}, workers)
	w, err := s.Chains(params, walkers)
	require.NoError(t, err)
	w.(chains.VectorWalk).Shape(0)
	require.NoError(t, w.Advance(t.Context(), 2000))
	var means, squares [3][]float64
	coordinates := [3]int{0, wide, seriesLength - 1}
	for i := range coordinates {
		means[i], squares[i] = make([]float64, walkers), make([]float64, walkers)
	}
	for range draws {
		require.NoError(t, w.Advance(t.Context(), 30))
		x := w.(chains.VectorWalk).Coordinates()
		for c := range walkers {
			for i, j := range coordinates {
				v := float64(x[c*seriesLength+j])
				means[i][c] += v / draws
				squares[i][c] += v * v / draws
			}
		}
	}
	some := [2][]float32{}
	for i := range some {
		own := pool.New(1 + 2*i)
		s, params := series{0.5, 0, 1, 0, 1}.generator(t, series{0.5, 0.5, 1, wide, 1.3}, own)
		w, err := s.Chains(params, walkers)
		require.NoError(t, err)
		w.(chains.VectorWalk).Shape(0)
		for range 3 {
			require.NoError(t, w.Advance(t.Context(), 50))
		}
		some[i] = w.(chains.VectorWalk).Coordinates()
		own.Close()
	}
	require.Equal(t, some[0], some[1])
	for i, j := range coordinates {
		width := 1.0
		if j == wide {
			width = 1.3
		}
		for of, want := range map[*[]float64]float64{&means[i]: 0.5 * width, &squares[i]: 1.25 * width * width} {
			var m stat.Mean
			for _, v := range *of {
				m.Add(v)
			}
			require.InDelta(t, want, m.Value(), 5*m.StandardError(), "coordinate %d", j)
			require.Less(t, m.StandardError(), 0.05*width*width)
		}
	}
}

// A ridge is a stationary autoregression of 20 coordinates whose steps are a twentieth as wide
// as their values.
type ridge struct{}

const ridgeLength, ridgeMemory = 20, 0.999

func (ridge) Dim() int { return ridgeLength }

func (ridge) Place() (center []float64, scale float64) { return make([]float64, ridgeLength), 1 }

func (ridge) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		row := x[r*ridgeLength : (r+1)*ridgeLength]
		sum := -float64(row[0]) * float64(row[0]) / 2
		for i, v := range row[1:] {
			e := float64(v) - ridgeMemory*float64(row[i])
			sum -= e * e / 2 / (1 - ridgeMemory*ridgeMemory)
		}
		dst[r] = float32(sum)
	}
}

// TestTrustOnRidge: chains that take the shape of the generator's samples mix on a ridge, along
// which isotropic steps do not, within the work of a brief diagnosis; and they see that a
// generator is wrong there.
func TestTrustOnRidge(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(0)
	defer workers.Close()
	for memory, want := range map[float64]diagnose.Verdict{ridgeMemory: diagnose.Trustworthy, 0.9985: diagnose.Wrong} {
		part := mixture.Component{Weight: 1, Mean: make([]float64, ridgeLength)}
		for i := range ridgeLength {
			for j := range i + 1 {
				fresh := 1.0
				if j > 0 {
					fresh = math.Sqrt(1 - memory*memory)
				}
				part.Factor = append(part.Factor, math.Pow(memory, float64(i-j))*fresh)
			}
		}
		c := &testConfig{paperConfig(), ridge{}}
		placed(c, 1)
		c.Generator.Depth, c.Transition.Sigma = 0, []float64{0.01, 0.03}
		require.NoError(t, c.Validate())
		system, err := c.New(workers)
		require.NoError(t, err)
		s := system.(*System)
		params := make([]float32, s.NumParams())
		_, scale, base := s.generator.nets.placeAndBase(params)
		for i := range scale {
			scale[i] = 1
		}
		s.generator.nets.base.Place(base, [][]mixture.Component{{part}})
		s.Dense = false // chains alone tell
		r, err := diagnose.Run(t.Context(), s, params, diagnose.Brief(1<<21))
		require.NoError(t, err)
		require.Equal(t, want, r.Verdict, "%s: %+v", r.Sentence, *r.Chains)
	}
}

// TestLeapsKeepTheTarget: chains that leap to samples of a generator whose law is another come to
// the target's averages, the same for any number of threads.
func TestLeapsKeepTheTarget(t *testing.T) {
	target := plane(0.6)
	var some [2][]float32
	for i := range some {
		workers := pool.New(1 + 2*i)
		s, params := newTestSystem(target, workers)
		w, err := s.Leaps(params, 4096, 1<<34, 1, 3)
		require.NoError(t, err)
		require.NoError(t, w.Advance(t.Context(), 64))
		for range 100 {
			require.NoError(t, w.Advance(t.Context(), 1))
		}
		some[i] = w.(chains.VectorWalk).Coordinates()
		workers.Close()
	}
	require.Equal(t, some[0], some[1])
	require.Less(t, target.deviation(some[0], nil), 5.0)
}
