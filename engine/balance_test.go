package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/number"
)

// naiveBalance is L by its definition, over all pairs of two samples and those of a
// sample and where it moved, which are of block by block the first ones.
func naiveBalance(r, next []float64, moves []bool) (loss float64) {
	n, pairs := float64(len(r)), 0.0
	for i := range r {
		if !moves[i] {
			pairs++
			continue
		}
		switch d := math.Abs(r[i] - next[i]); {
		case d <= maxDifference:
			loss += d * d / 2 / n
		default: // Huber's: a straight line where the square has the slope 10
			loss += (50 + 10*(d-10)) / n
		}
	}
	var mean, variance, double float64
	for i := range r {
		mean += r[i] / n
		for j := range r {
			double += (r[i] - r[j]) * (r[i] - r[j]) / 2 / (n * (n - 1))
		}
	}
	far := false
	for _, v := range r {
		switch d := math.Abs(v - mean); {
		case d <= 20:
			variance += d * d / (n - 1)
		default:
			variance += (400 + 40*(d-20)) / (n - 1)
			far = true
		}
	}
	if !far { // it is the mean over all pairs
		return loss + pairs/n*double
	}
	return loss + pairs/n*variance
}

// TestBalance compares the loss with the double sum, its coefficients with central
// differences, and the rest with what it is said to be.
func TestBalance(t *testing.T) {
	const n, block, unit = 30, 12, 4
	for partners, moved := range map[float64]int{0: 30, 0.2: 8 + 8 + 6, 0.5: 8 + 8 + 6, 0.7: 12, 0.95: 12, 1: 0} {
		for _, outside := range []bool{false, true} {
			t.Run(fmt.Sprint(partners, outside), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				b := Balancing{Partners: partners}
				l := NewBalance(b, n, block, unit)
				l.SlopeBound = 20
				require.Equal(t, moved, l.NumMoving())
				moves := make([]bool, n)
				for lo := 0; lo < n; lo += block {
					hi := min(lo+block, n)
					require.True(t, l.EndOfMoving(lo, hi) == hi || (l.EndOfMoving(lo, hi)-lo)%unit == 0)
					for i := lo; i < l.EndOfMoving(lo, hi); i++ {
						moves[i] = true
					}
				}
				for i := range n {
					l.R[i], l.RNext[i] = random.NormFloat64(), math.NaN() // what does not move is not read
					if moves[i] {
						l.RNext[i] = random.NormFloat64()
					}
				}
				if moves[3] {
					l.RNext[3] = l.R[3] - 500 // where the generator never is
				}
				if outside { // far off, and where π vanishes: one that finds the way in, one that does not
					l.R[7], l.R[12] = 60, -45
					l.R[0], l.R[1], l.R[n-1] = math.Inf(1), math.Inf(1), math.Inf(1)
					if moves[1] {
						l.RNext[1] = math.Inf(1)
					}
				}
				r, next := slices.Clone(l.R), slices.Clone(l.RNext)
				highest := math.Inf(-1)
				for _, x := range r {
					if !math.IsInf(x, 1) {
						highest = max(highest, x)
					}
				}
				for i := range r {
					if math.IsInf(r[i], 1) {
						r[i] = highest + 10
					}
					if math.IsInf(next[i], 1) {
						next[i] = r[i]
					}
				}
				want := naiveBalance(r, next, moves)
				require.InEpsilon(t, want, l.Measure(), 1e-12)
				loss := func() float64 { return naiveBalance(r, next, moves) }
				var total, nextTotal, accepted float64
				for i := range n {
					require.InDelta(t, number.CentralDifference(&r[i], 1e-4, loss), l.C[i], 1e-7, i)
					require.InDelta(t, number.CentralDifference(&next[i], 1e-4, loss), l.CNext[i], 1e-7, i)
					total, nextTotal = total+l.C[i], nextTotal+l.CNext[i]
					accepted += math.Exp(min(0, r[i]-r[(i+1)%n])) / n
				}
				require.InDelta(t, -nextTotal, total, 1e-12)
				part := float64(moved) / n
				require.InDelta(t, part*0.25+(1-part)*accepted, l.Acceptance(0.25), 1e-12)
			})
		}
	}
	for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
		require.ErrorContains(t, (&Balancing{bad}).Validate(), "partners: ")
	}
}

// TestBalanceOfOutliers: states whose R is far from the median on either side, and
// moves to such, or is not known, have no part in the gradient; what is left is that of the others.
// In the loss they count as if they were just so far.
func TestBalanceOfOutliers(t *testing.T) {
	for _, apart := range []float64{0, 20} {
		for _, first := range []float64{1e30, -1e30, math.NaN()} {
			testOutliers(t, apart, first)
		}
	}
}

func testOutliers(t *testing.T, apart, first float64) {
	const n, block = 16, 8
	random := rand.New(rand.NewPCG(3, 4))
	l := NewBalance(Balancing{Partners: 0.5}, n, block, 1)
	l.SlopeBound = apart
	for i := range n {
		l.R[i], l.RNext[i] = random.NormFloat64(), random.NormFloat64()
	}
	l.R[0], l.R[6], l.RNext[9] = first, -1e30, -5000 // 0 and 9 move, 6 does not
	loss := l.Measure()
	require.False(t, math.IsNaN(l.Acceptance(0.5)))
	var mean, sum float64
	for i, r := range l.R {
		if i != 0 && i != 6 {
			mean += r / (n - 2)
		}
	}
	flat := map[float64]float64{0: 1e6, 20: 20*20 + 2*20*980}[apart] // (r − mean)², or Huber's
	want := 2*0.5*flat/(n-1) + 2*(50+10*990.0)/n
	for i, r := range l.R {
		level := 2 * 0.5 * (r - mean) / (n - 1)
		switch {
		case i == 0 || i == 6:
			require.Zero(t, l.C[i])
			require.Zero(t, l.CNext[i])
			continue
		case i%block < block/2 && i != 9:
			level += (r - l.RNext[i]) / n
			want += (r - l.RNext[i]) * (r - l.RNext[i]) / (2 * n)
			require.InDelta(t, (l.RNext[i]-r)/n, l.CNext[i], 1e-15)
		default:
			require.Zero(t, l.CNext[i])
		}
		require.InDelta(t, level, l.C[i], 1e-15, "%d", i)
		sum += l.C[i] + l.CNext[i]
		want += 0.5 * (r - mean) * (r - mean) / (n - 1)
	}
	require.InDelta(t, 0, sum, 1e-14)
	require.InEpsilon(t, want, loss, 1e-12)
}
