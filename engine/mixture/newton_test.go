package mixture

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

const many = 66 // coordinates, beyond InShape

// chain is ln π of x_0 ~ N(m, 1), x_i = m + ρ (x_{i−1} − m) + √(1−ρ²) N(0, 1), without
// its normalisation, and scale² the factor of all variances.
func chain(x []float32, m, rho, scale float64) float64 {
	first := (float64(x[0]) - m) / scale
	sum := first * first
	for i := range x[1:] {
		off := (float64(x[i+1]) - m - rho*(float64(x[i])-m)) / scale
		sum += off * off / (1 - rho*rho)
	}
	return -sum / 2
}

func chainLogZ(d int, rho, scale float64) float64 {
	return float64(d)*(math.Log(2*math.Pi)/2+math.Log(scale)) + float64(d-1)*math.Log(1-rho*rho)/2
}

func each(d int, logPi func(x []float32) float64) func() Density {
	return func() Density {
		return func(dst []float64, x []float32) {
			for r := range dst {
				dst[r] = float64(float32(logPi(x[r*d : (r+1)*d])))
			}
		}
	}
}

func scouted(t *testing.T, threads int, s Scout, own func() Density) *Found {
	workers := pool.New(threads)
	defer workers.Close()
	s.Settle, s.Sums = true, true
	found, err := s.Run(t.Context(), many, own, workers)
	require.NoError(t, err)
	return found
}

// TestSettlesOnGaussian: in many dimensions the mean, the covariance and ln Z of a Gaussian
// with correlations are found from walks that know nothing of it, the same by any number of
// threads, and no couplings are asked for.
func TestSettlesOnGaussian(t *testing.T) {
	long.SkipShort(t)
	const m, rho, scale = 30, 0.9, 0.01
	own := each(many, func(x []float32) float64 { return chain(x, m, rho, scale) })
	s := Scout{Population: 64, Moves: 1, Seed: 3}
	found := scouted(t, 1, s, own)
	require.Equal(t, found, scouted(t, 3, s, own))
	require.Len(t, found.Gaussians, 1)
	require.InDelta(t, chainLogZ(many, rho, scale), found.LogZ, 0.1)
	c := found.Gaussians[0]
	for i := range many {
		require.InDelta(t, m, c.Mean[i], 0.1*scale)
		for j := range i + 1 {
			var v float64
			for k := range j + 1 {
				v += c.Factor[row(i)+k] * c.Factor[row(j)+k]
			}
			require.InDelta(t, math.Pow(rho, float64(i-j)), v/(scale*scale), 0.05, "%d, %d", i, j)
		}
	}
	// All but the first and the last have two neighbours.
	left := (1-2/float64(many))*math.Log((1-rho*rho)/(1+rho*rho)) + 2/float64(many)*math.Log(1-rho*rho)
	require.InDelta(t, math.Exp(left/2), c.Freedom(), 0.01)
}

// TestSettlesOnModes: Gaussians settle on both of two modes, with their weights, and
// there are as many components as asked for.
func TestSettlesOnModes(t *testing.T) {
	long.SkipShort(t)
	own := each(many, func(x []float32) float64 {
		a, b := math.Log(0.2)+chain(x, 1.5, 0.5, 1), math.Log(0.8)+chain(x, -1.5, 0.5, 1)
		return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
	})
	found := scouted(t, 2, Scout{Population: 128, Moves: 1, Seed: 4}, own)
	require.Len(t, found.Gaussians, 2)
	require.InDelta(t, chainLogZ(many, 0.5, 1), found.LogZ, 0.1)
	for _, c := range found.Gaussians {
		want := 0.2
		if c.Mean[0] < 0 {
			want = 0.8
		}
		require.InDelta(t, want, c.Weight, 0.02)
	}
	// The population is drawn of them.
	below := 0.0
	for r := range found.LogPi {
		if found.X[r*many] < 0 {
			below += 1 / float64(len(found.LogPi))
		}
	}
	require.InDelta(t, 0.8, below, 0.1)

	all := found.Place(t.Context(), many, 3, nil)
	require.Len(t, all, 3)
	var weight float64
	for _, c := range all {
		weight += c.Weight
	}
	require.InDelta(t, 1, weight, 1e-12)
	require.Len(t, found.Place(t.Context(), many, 1, nil), 1)
}

// TestSettlesOnEach: as many Gaussians settle as there are modes that walkers meet, and one
// that hardly has weight is no component to a recipe.
func TestSettlesOnEach(t *testing.T) {
	long.SkipShort(t)
	weights := []float64{0.1, 0.1, 0.2, 0.2, 0.2, 0.2, 1e-6}
	own := each(many, func(x []float32) float64 {
		var sum, highest float64
		terms, off := make([]float64, len(weights)), make([]float32, many)
		for k, w := range weights {
			for i, v := range x {
				off[i] = v - 2*float32(1-2*((i+1)>>(k%3)&1))*float32(1-2*(k/3))
			}
			terms[k] = math.Log(w) + chain(off, 0, 0.3, 1)
			if k == 0 || terms[k] > highest {
				highest = terms[k]
			}
		}
		for _, v := range terms {
			sum += math.Exp(v - highest)
		}
		return highest + math.Log(sum)
	})
	found := scouted(t, 2, Scout{Population: 256, Moves: 1, Seed: 8}, own)
	require.InDelta(t, chainLogZ(many, 0.3, 1), found.LogZ, 0.1)
	c := rng.Stream(1, rng.Scouting, 1)
	require.Equal(t, 6, found.Look(t.Context(), many, &c).Components)
}

// TestSettlesOnSkewed: of a target that is no Gaussian, the Gaussian that settles is
// the one on which ∇ ln π vanishes on the mean.
func TestSettlesOnSkewed(t *testing.T) {
	long.SkipShort(t)
	logPi := func(x []float32) (sum float64) {
		for i, v := range x {
			sum += 2*float64(v) - math.Exp(float64(v))
			if i > 0 {
				off := float64(v - x[i-1])
				sum -= off * off / 2
			}
		}
		return sum
	}
	found := scouted(t, 2, Scout{Population: 64, Moves: 1, Seed: 5}, each(many, logPi))
	require.Len(t, found.Gaussians, 1)
	c := found.Gaussians[0]
	var sum, squares float64
	for i := range many {
		var variance float64
		for _, f := range c.Factor[row(i):][:i+1] {
			variance += f * f
		}
		var pull float64
		if i > 0 {
			pull -= c.Mean[i] - c.Mean[i-1]
		}
		if i < many-1 {
			pull -= c.Mean[i] - c.Mean[i+1]
		}
		off := 2 - math.Exp(c.Mean[i]+variance/2) + pull
		sum += off / many
		squares += off * off / many
	}
	// E[∇ ln π] has been estimated of 128 draws in pairs, where it scatters by 1.5 or so.
	require.InDelta(t, 0, sum, 0.08)
	require.Less(t, math.Sqrt(squares), 0.2)
}

// TestSumsDoNotSettle: where ln π is a sum over the coordinates, each of them has its own
// modes, and the population shows them all.
func TestSumsDoNotSettle(t *testing.T) {
	long.SkipShort(t)
	own := each(many, func(x []float32) (sum float64) {
		for _, v := range x {
			u := float64(v)
			sum += -u*u*u*u + 6*u*u + 0.5*u
		}
		return sum
	})
	found := scouted(t, 2, Scout{Population: 256, Moves: 1, Seed: 6}, own)
	require.Empty(t, found.Gaussians)
	require.True(t, found.Separable(many, own()))
	var right, beyond, all float64
	for u := -4.0; u < 4; u += 1e-3 {
		w := math.Exp(-u*u*u*u + 6*u*u + 0.5*u)
		all += w
		if u > 0 {
			beyond += w
		}
	}
	for _, v := range found.X {
		if v > 0 {
			right += 1 / float64(len(found.X))
		}
	}
	require.InDelta(t, beyond/all, right, 5*math.Sqrt(0.25/float64(len(found.X))))
}

// TestSettlingEnds: with its context.
func TestSettlingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	workers := pool.New(1)
	defer workers.Close()
	calls := 0
	own := each(many, func(x []float32) float64 {
		if calls++; calls == 1000 {
			cancel()
		}
		return chain(x, 0, 0.5, 1)
	})
	_, err := Scout{Population: 64, Moves: 1, Seed: 7, Settle: true}.Run(ctx, many, own, workers)
	require.ErrorIs(t, err, context.Canceled)
}

// TestSettlesOnASum: where no sums are asked for, on one as on anything else.
func TestSettlesOnASum(t *testing.T) {
	own := each(many, func(x []float32) (sum float64) {
		for i, v := range x {
			u := float64(v) / float64(1+i%3)
			sum -= u * u / 2
		}
		return sum
	})
	workers := pool.New(1)
	defer workers.Close()
	s := Scout{Population: 64, Moves: 1, Seed: 9, Settle: true}
	found, err := s.Run(t.Context(), many, own, workers)
	require.NoError(t, err)
	require.Len(t, found.Gaussians, 1)
	var want float64
	for i := range many {
		want += math.Log(2*math.Pi)/2 + math.Log(float64(1+i%3))
	}
	require.InDelta(t, want, found.LogZ, 0.01)
	c := rng.Stream(1, rng.Scouting, 1)
	require.True(t, found.Look(t.Context(), many, &c).Gaussian)
}

// TestEndlessDoesNotSettle: a coordinate on which ln π does not depend is an error.
func TestEndlessDoesNotSettle(t *testing.T) {
	own := each(many, func(x []float32) (sum float64) { return chain(x[:many-1], 0, 0.5, 1) })
	workers := pool.New(1)
	defer workers.Close()
	_, err := Scout{Population: 64, Moves: 1, Seed: 10, Settle: true}.Run(t.Context(), many, own, workers)
	require.EqualError(t, err, fmt.Sprintf("ln π does not fall along x[%d], as far as 1e+12: it cannot be normalised; let it fall, or bound the coordinate", many-1))
}

// TestNothingSettles: where ln π is flat between walls no Gaussian settles, and up to
// InShape coordinates a population is annealed instead.
func TestNothingSettles(t *testing.T) {
	const d = 3
	own := each(d, func(x []float32) float64 {
		for _, v := range x {
			if math.Abs(float64(v)) > 1 {
				return math.Inf(-1)
			}
		}
		return 0
	})
	workers := pool.New(1)
	defer workers.Close()
	found, err := Scout{Population: 1024, Moves: 10, Seed: 11, Settle: true}.Run(t.Context(), d, own, workers)
	require.NoError(t, err)
	require.Empty(t, found.Gaussians)
	require.InDelta(t, d*math.Ln2, found.LogZ, 0.3)
}

// newTestScout is a scout of one walker with a density.
func newTestScout(t *testing.T, d int, own func() Density) *scout {
	workers := pool.New(1)
	t.Cleanup(workers.Close)
	return &scout{Scout: Scout{Seed: 5}, ctx: t.Context(), dim: d, workers: workers, densities: pool.NewTools(workers, own)}
}

// TestStepsOfSettling: where ln π is quadratic, with precision matrix P about m, a settling
// begins with the coordinates' own deviations, KL is that of the formula, differences tell
// gradient and curvature, and one step arrives.
func TestStepsOfSettling(t *testing.T) {
	const d = 3
	m := []float64{1, -2, 0.5}
	precision := mat.NewSymDense(d, []float64{4, 1, -0.5, 1, 2, 0.3, -0.5, 0.3, 9})
	own := func() Density {
		return func(dst []float64, x []float32) {
			for r := range dst {
				off := mat.NewVecDense(d, nil)
				for i := range d {
					off.SetVec(i, float64(x[r*d+i])-m[i])
				}
				dst[r] = -mat.Inner(off, precision, off) / 2
			}
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(precision))
	logZ := d*math.Log(2*math.Pi)/2 - cholesky.LogDet()/2

	begin := []float64{1.5, -1, 0.25}
	s, err := newTestScout(t, d, own).newSettling([]float32{1.5, -1, 0.25})
	require.NoError(t, err)
	for i := range d { // ln π falls by a²P/2, which is to be .1 to 2
		fall := s.precision.At(i, i)
		require.True(t, 0.2*fall <= precision.At(i, i) && precision.At(i, i) <= 4*fall, "%v", fall)
	}
	exact := s.judge(m, precision)
	require.InDelta(t, -logZ, exact.Divergence, 1e-6)
	off := mat.NewVecDense(d, []float64{0.5, 1, -0.25})
	require.InDelta(t, mat.Inner(off, precision, off)/2-logZ, s.judge(begin, precision).Divergence, 1e-5, "noise of both signs leaves the mean alone")
	covariance := mat.NewDense(d, d, nil)
	factor := mat.NewTriDense(d, mat.Lower, nil)
	for i := range d {
		for j := range i + 1 {
			factor.SetTri(i, j, exact.Factor[i*(i+1)/2+j])
		}
	}
	covariance.Mul(factor, factor.T())
	covariance.Mul(covariance, precision)
	require.True(t, mat.EqualApprox(covariance, mat.NewDiagDense(d, []float64{1, 1, 1}), 1e-9))

	s.differentiate(4)
	var force mat.VecDense
	force.MulVec(precision, off)
	for i := range d {
		require.InDelta(t, -force.AtVec(i), s.gradient[i], 1.5, "of noise √(P/n)")
		for j := range d {
			require.InDelta(t, precision.At(i, j), s.curvature.At(i, j), 1e-2)
		}
	}
	s.gradient = []float64{-force.AtVec(0), -force.AtVec(1), -force.AtVec(2)}
	s.advance()
	require.InDeltaSlice(t, m, s.Best.Mean, 1e-2)
	require.InDelta(t, -logZ, s.Best.Divergence, 1e-3)
	before := s.Best
	s.advance()
	s.advance()
	require.LessOrEqual(t, s.Best.Divergence, before.Divergence)

	at := *s.save()
	require.Equal(t, s.Best.Mean, at.Best.Mean)
	for i := range d {
		for j := range i + 1 {
			require.Equal(t, s.precision.At(i, j), at.Precision[j*d+i])
		}
	}
}

// TestIsLevel: a straight way to a mean is level if ln π does not fall by more than 3 from what
// it had been and rise by more than 3 again, whatever the ends are.
func TestIsLevel(t *testing.T) {
	for _, c := range []struct {
		values [5]float64 // on the way, at quarters of it
		level  bool
	}{
		{[5]float64{0, 0, 0, 0, 0}, true}, {[5]float64{0, -1, -2.9, -1, 0}, true}, {[5]float64{0, -2, -4, -2, 0}, false},
		{[5]float64{-9, -6, -3, -1, 0}, true}, {[5]float64{0, -3, -5, -7, -9}, true}, {[5]float64{0, 0, -4, -4, -1.5}, true},
		{[5]float64{-2, 1, -2.5, 0, 1}, false}, {[5]float64{-8, -2, -4.5, -4, -1}, true}, {[5]float64{0, -9, 0, 0, 0}, false}, {[5]float64{0, 0, 0, -9, 0}, false}, {[5]float64{0, 0, 0, -3.2, 0}, false}, {[5]float64{0, 0, 0, -2.9, 0}, true},
	} {
		e := newTestScout(t, 2, func() Density {
			return func(dst []float64, x []float32) {
				for r := range dst {
					at := float64(x[2*r]-1) / 8 * 4 // from (1, 3) to (9, -1)
					if y := float64(x[2*r+1]); math.Abs(y-(3-at)) > 1e-5 {
						dst[r] = math.NaN()
						continue
					}
					k := min(int(at), 3)
					dst[r] = c.values[k] + (at-float64(k))*(c.values[k+1]-c.values[k])
				}
			}
		})
		require.Equal(t, c.level, e.isLevel([]float32{1, 3}, []float64{9, -1}), "%v", c.values)
	}
}

// TestWallsAboutASettling: draws beyond walls, or beside them, tell nothing, and where all are no steps are found.
func TestWallsAboutASettling(t *testing.T) {
	const d = 2
	wall := 1e9
	own := func() Density {
		return func(dst []float64, x []float32) {
			for r := range dst {
				a, b := float64(x[r*d]), float64(x[r*d+1])
				if dst[r] = -2*a*a - b*b/2 - a*b/2; math.Abs(a) > wall {
					dst[r] = math.Inf(-1)
				}
			}
		}
	}
	s, err := newTestScout(t, d, own).newSettling([]float32{0.1, -0.2})
	require.NoError(t, err)
	round := s.Round
	s.differentiate(8)
	curvature := mat.NewSymDense(d, nil)
	curvature.CopySym(s.curvature)
	wall, s.Round = 0.6, round
	s.differentiate(8)
	require.True(t, mat.EqualApprox(curvature, s.curvature, 0.02), "%v", mat.Formatted(s.curvature))
	require.InDelta(t, 4, s.curvature.At(0, 0), 0.02)
	require.InDelta(t, 0.5, s.curvature.At(1, 0), 0.02)

	wall, s.Round = 0, round
	s.differentiate(8)
	require.Equal(t, []float64{0, 0}, s.gradient)
	require.Zero(t, mat.Max(s.curvature))
	none, err := newTestScout(t, d, own).newSettling([]float32{0.1, 0})
	require.NoError(t, err)
	require.Nil(t, none)
}

// TestSettlingsThatGoNowhere: a precision that is none has no divergence, and where ln π curves the other way the
// next precision is one all the same.
func TestSettlingsThatGoNowhere(t *testing.T) {
	const d = 2
	s, err := newTestScout(t, d, each(d, func(x []float32) float64 { return chain(x, 0, 0.5, 1) })).newSettling([]float32{0.5, 0.25})
	require.NoError(t, err)
	bad := s.judge([]float64{1, 2}, mat.NewSymDense(d, []float64{1, 2, 2, 1}))
	require.Equal(t, settled{Component{Mean: []float64{1, 2}, Factor: []float64{0, 0, 0}}, math.Inf(1)}, bad)

	before := s.Best
	s.gradient, s.curvature = []float64{0, 0}, mat.NewSymDense(d, []float64{math.NaN(), 0, 0, math.NaN()})
	s.advance()
	require.Equal(t, before, s.Best, "there is nowhere to go")
	s.curvature = mat.NewSymDense(d, []float64{-1, 0, 0, -1})
	s.gradient = []float64{1e9, -1e9}
	s.advance()
	require.Equal(t, before, s.Best, "too far, however small a part of it is taken")
	s.gradient = []float64{-0.01, 0}
	s.advance()
	require.LessOrEqual(t, s.Best.Divergence, before.Divergence)
}
