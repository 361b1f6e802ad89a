package mixture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/rng"
)

// TestPart: a field's sites are divided like a checkerboard, and where coordinates have
// nothing to do with each other, or as much with any, nothing is gained.
func TestPart(t *testing.T) {
	for _, side := range []int{4, 6} {
		d := side * side
		found := &Found{X: make([]float32, 24*d)}
		c := rng.Stream(5, rng.Scouting, 0)
		rng.Normals(found.X, d, &c, 0)
		density := func(value func(x []float32) float64) Density {
			return func(dst []float64, x []float32) {
				for r := range dst {
					dst[r] = float64(float32(value(x[r*d : (r+1)*d])))
				}
			}
		}
		field := density(func(x []float32) (v float64) {
			for i, s := range x {
				a, b := i/side, i%side
				v += float64(s)*float64(x[(a+1)%side*side+b]+x[a*side+(b+1)%side])/8 - math.Pow(float64(s), 4)
			}
			return v
		})
		var want []int
		for i := range d {
			if (i/side+i%side)%2 == 1 {
				want = append(want, i)
			}
		}
		require.Equal(t, want, found.Part(d, field))
		require.Nil(t, found.Part(d, density(func(x []float32) (v float64) {
			for _, s := range x {
				v -= math.Pow(float64(s), 4)
			}
			return v
		})))
		// The first coordinate sets the width of all others.
		star := found.Part(d, density(func(x []float32) (v float64) {
			for _, s := range x[1:] {
				v -= float64(s*s) * math.Exp(float64(x[0]))
			}
			return v
		}))
		require.Len(t, star, d-1)
		require.Nil(t, found.Part(d, density(func([]float32) float64 { return math.Inf(-1) })))
	}
}

// TestPartIsALocalOptimum: of random couplings no coordinate but the first would gain by
// changing sides, in the first's part nobody is named, and a part is there where it has more
// to do with the rest than parities have with each other, by a twentieth.
func TestPartIsALocalOptimum(t *testing.T) {
	const d = 8
	random := rand.New(rand.NewPCG(1, 3))
	parts := 0
	for range 60 {
		found := &Found{X: make([]float32, 24*d)}
		for i := range found.X {
			found.X[i] = float32(random.NormFloat64())
		}
		couplings := make([]float64, d*d)
		for i := range couplings {
			couplings[i] = max(0, random.NormFloat64()-0.5)
		}
		density := func(dst []float64, x []float32) {
			for r := range dst {
				dst[r] = 0
				for i := range d {
					for j := range i {
						dst[r] += couplings[i*d+j] * float64(x[r*d+i]) * float64(x[r*d+j])
					}
				}
			}
		}
		w, side := found.couplings(d, density), make([]int, d)
		part := found.Part(d, density)
		for _, i := range part {
			side[i] = 1
		}
		cut := func(side []int) (sum float64) {
			for i := range d {
				for j := range i {
					if side[i] != side[j] {
						sum += w[i*d+j]
					}
				}
			}
			return sum
		}
		parity := cut([]int{0, 1, 0, 1, 0, 1, 0, 1})
		if part == nil {
			continue
		}
		parts++
		require.NotContains(t, part, 0)
		require.Greater(t, cut(side), 1.05*parity)
		for i := 1; i < d; i++ {
			other := slices.Clone(side)
			other[i] = 1 - other[i]
			require.LessOrEqual(t, cut(other), cut(side)+1e-12)
		}
		for i := range d { // bonds are of two coordinates, the same both ways
			require.Zero(t, w[i*d+i])
			for j := range i {
				require.Equal(t, w[i*d+j], w[j*d+i])
				require.Equal(t, couplings[i*d+j] > 0, w[i*d+j] > 0)
			}
		}
	}
	require.Greater(t, parts, 40)
	require.Less(t, parts, 60)
}

// TestCouplings: a coupling of a product of two coordinates is its size where both change, as a mean over pairs
// of members, of which no one counts more than ten and none that rounding may be.
func TestCouplings(t *testing.T) {
	const d, n, pairs = 4, 50, 12
	random := rand.New(rand.NewPCG(2, 3))
	found := &Found{X: make([]float32, n*d)}
	for i := range found.X {
		found.X[i] = float32(random.NormFloat64())
	}
	couplings := [d][d]float64{1: {0: 0.5}, 2: {0: 30, 1: -0.25}, 3: {0: 1e-3, 1: 1e-6}}
	w := found.couplings(d, func(dst []float64, x []float32) {
		for r := range dst {
			dst[r] = 7
			for i, row := range couplings {
				for j, c := range row {
					dst[r] += c * float64(x[r*d+i]) * float64(x[r*d+j])
				}
			}
		}
	})
	for i := range d {
		for j := range i {
			want := 0.0
			for p := range pairs {
				x, y := found.X[p*4*d:][:d], found.X[(p*4+2)*d:][:d]
				if size := math.Abs(couplings[i][j] * float64(x[i]-y[i]) * float64(x[j]-y[j])); size > 1e-3 {
					want += min(size, 10) / pairs
				}
			}
			require.InDelta(t, want, w[i*d+j], 1e-6, "%d, %d", i, j)
			require.Equal(t, w[i*d+j], w[j*d+i])
		}
	}
	require.Greater(t, w[3*d], 0.0)
	require.Zero(t, w[3*d+1])
	require.Less(t, w[2*d], 10.0)
	require.Nil(t, found.Part(2, nil))
	require.Nil(t, (&Found{X: found.X[:24*d-1]}).Part(d, nil))
	alone := func(dst []float64, x []float32) {
		for r := range dst {
			dst[r] = -float64(x[r*d]*x[r*d]) - math.Abs(float64(x[r*d+3]))
		}
	}
	require.True(t, (&Found{X: found.X[:24*d]}).Separable(d, alone))
	require.False(t, (&Found{X: found.X[:24*d-1]}).Separable(d, alone))
	require.False(t, found.Separable(d, func(dst []float64, x []float32) {
		for r := range dst {
			dst[r] = 0.01 * float64(x[r*d]*x[r*d+1])
		}
	}))
	calls := 0
	require.False(t, found.Separable(d, func(dst []float64, x []float32) {
		if calls++; len(dst) > 4 { // what exchanges do not show, single changes may
			alone(dst, x)
			dst[1+d] += 0.01
		}
	}))
	require.Equal(t, 24+12, calls)
}

// TestLimitsOfExchanges: ln π of two members that exchange coordinates may change by rounding alone, which
// is less than one.
func TestLimitsOfExchanges(t *testing.T) {
	const d, n = 5, 50
	found := &Found{X: make([]float32, n*d)}
	for _, c := range []struct {
		logs []float64
		want bool
	}{
		{[]float64{1, 2, 3.5, -0.5}, true}, {[]float64{0, 0, 0, 1e-3}, true}, {[]float64{0, 0, 0, 1.01e-3}, false}, {[]float64{0, 0, -1e-3, 0}, true}, {[]float64{1.01e-3, 0, 0, 0}, false}, {[]float64{0, -1.01e-3, 0, 0}, false},
		{[]float64{1e3, -1e3, 1e3, -1e3 + 4.9e-3}, true}, {[]float64{1e3, -1e3, 1e3, -1e3 + 5.1e-3}, false},
		{[]float64{249_700, -249_700, -249_700, 249_700}, true}, {[]float64{249_800, -249_800, -249_800, 249_800}, false}, {[]float64{math.NaN(), 0, 0, 0}, false}, {[]float64{math.Inf(-1), 0, math.Inf(-1), 0}, false},
	} {
		for last := range 2 { // in the last pair, or in all
			calls := 0
			require.Equal(t, c.want, found.exchangeable(d, func(dst []float64, _ []float32) {
				if calls++; last == 0 || calls == 24 {
					copy(dst, c.logs)
				} else {
					clear(dst)
				}
			}), c.logs)
		}
	}
}
