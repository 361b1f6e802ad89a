package asm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// precise is the precision in bits of what the functions of float64 are held against.
const precise = 140

// bigExp is e^x by halving x to less than 2⁻⁸ and Taylor's series.
func bigExp(x *big.Float) *big.Float {
	const halvings = 20
	small := new(big.Float).SetPrec(precise).SetMantExp(x, -halvings)
	sum, term := big.NewFloat(1).SetPrec(precise), big.NewFloat(1).SetPrec(precise)
	for k := 1; k < 16; k++ {
		term.Mul(term, small)
		term.Quo(term, big.NewFloat(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog is ln x by two steps of Newton's method from float64, each of which squares the error.
func bigLog(x *big.Float) *big.Float {
	near, _ := x.Float64()
	y := new(big.Float).SetPrec(precise).SetFloat64(math.Log(near))
	for range 2 {
		off := new(big.Float).SetPrec(precise).Quo(x, bigExp(y))
		off.Sub(off, big.NewFloat(1))
		half := new(big.Float).SetPrec(precise).Mul(off, off)
		half.Quo(half, big.NewFloat(2))
		y.Add(y, off.Sub(off, half))
	}
	return y
}

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(precise).SetFloat64(x) }

// doubleFunctions are the functions of float64, their exact values, the bounds on their errors in
// ulp, and arguments of theirs.
var doubleFunctions = []struct {
	name  string
	f     func(dst, x []float64)
	near  func(float64) float64
	exact func(*big.Float) *big.Float
	bound float64
	draw  func(*rand.Rand) float64
}{
	{"Exp64", Exp64, math.Exp, bigExp, 1.5, func(r *rand.Rand) float64 { return r.NormFloat64() * math.Exp(r.NormFloat64()*3) }},
	{"Log64", Log64, math.Log, bigLog, 1.5, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64() * math.Exp(r.NormFloat64()*3)) }},
	{"Log1p64", Log1p64, math.Log1p, func(x *big.Float) *big.Float { return bigLog(bigOf(1).Add(bigOf(1), x)) }, 1.5,
		func(r *rand.Rand) float64 { return math.Expm1(r.NormFloat64() * math.Exp(r.NormFloat64()*3)) }},
	{"Softplus64", Softplus64, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
		func(x *big.Float) *big.Float { return bigLog(bigOf(1).Add(bigOf(1), bigExp(x))) }, 2.5,
		func(r *rand.Rand) float64 { return min(max(r.NormFloat64()*10, -30), 60) }},
}

func TestDoubleFunctionsAgainstExact(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		for _, m := range doubleFunctions {
			r := rand.New(rand.NewPCG(7, 8))
			x, y := make([]float64, 1999), make([]float64, 1999)
			for i := range x {
				x[i] = m.draw(r)
			}
			m.f(y, x)
			worst, at := 0.0, 0.0
			for i, v := range x {
				if math.IsInf(v, 0) || math.IsInf(m.near(v), 0) || math.Abs(m.near(v)) < 0x1p-1000 || v == -1 {
					continue // those of TestDoubleSpecials
				}
				exact := m.exact(bigOf(v))
				off, _ := new(big.Float).Sub(bigOf(y[i]), exact).Float64()
				_, e := math.Frexp(m.near(v))
				if u := math.Abs(off) / math.Ldexp(1, e-53); u > worst {
					worst, at = u, v
				}
			}
			t.Logf("%s: largest error %.3f ulp at %v", m.name, worst, at)
			require.LessOrEqual(t, worst, m.bound, "%s at %v", m.name, at)
		}
	})
}

// TestDoubleSpecials: infinities, what is not a number, zero, and subnormal results. Subnormal
// arguments, and results near the largest number, are those that package math fails for on amd64.
func TestDoubleSpecials(t *testing.T) {
	inf, nan, tiny := math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64
	specials := []float64{0, 1, -1, 2, 0.5, -0.5, inf, -inf, nan, 0x1p-1022, math.MaxFloat64, -math.MaxFloat64,
		1e-20, -1e-20, 1e-8, 709, 709.79, 710, 1e300, -708.3, -708.5, -740, -745.13, -745.14, -746, -1e300, math.Nextafter(-1, 0), -2, 3e-5}
	forEachPath(t, func(t *testing.T, path Path) {
		for _, m := range doubleFunctions {
			for _, x := range specials {
				y := []float64{0}
				m.f(y, []float64{x})
				switch want := m.near(x); {
				case math.IsNaN(want):
					require.True(t, math.IsNaN(y[0]), "%s(%v) = %v", m.name, x, y[0])
				case math.IsInf(want, 0):
					require.Equal(t, want, y[0], "%s(%v)", m.name, x)
				default:
					require.InDelta(t, want, y[0], 3e-16*math.Abs(want)+tiny, "%s(%v)", m.name, x)
				}
			}
		}
		if path == Generic {
			return
		}
		y := []float64{709.75, 709.8}
		Exp64(y, y)
		largest, _ := bigExp(bigOf(709.75)).Float64()
		require.InEpsilon(t, largest, y[0], 1e-15)
		require.True(t, math.IsInf(y[1], 1))
		y = []float64{tiny, 1e-310, -tiny}
		Log64(y, y)
		require.InDeltaSlice(t, []float64{-1074 * math.Ln2, -310 * math.Ln10}, y[:2], 1e-12)
		require.True(t, math.IsNaN(y[2]))
	})
}

// TestDoubleFunctionsAtEveryLength: each element alone gives the same bits as among others, in
// place as well, and nothing beside the slices is touched.
func TestDoubleFunctionsAtEveryLength(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(3, 4))
		outputAtEnd := endOfPage[float64](t, 200)
		for _, m := range doubleFunctions {
			m.f(nil, nil)
			for n := 1; n < 131; n++ {
				x, y, want := guardedCopy(make([]float64, n)), newGuarded[float64](n), make([]float64, n)
				for i := range x.data {
					x.data[i] = m.draw(r)
					m.f(want[i:i+1], x.data[i:i+1])
				}
				m.f(y.data, x.data)
				y.check(t)
				require.Equal(t, want, y.data)
				out := outputAtEnd(n)
				m.f(out, x.data)
				require.Equal(t, want, out)
				m.f(x.data, x.data)
				x.check(t)
				require.Equal(t, want, x.data)
			}
		}
		x := make([]float64, 70)
		for _, m := range doubleFunctions {
			require.Panics(t, func() { m.f(make([]float64, 3), x) })
			require.Zero(t, alloctest.PerRun(10, func() { m.f(x, x) }))
		}
	})
}

// TestLogSumExp64 compares sums of columns, and shares of them, with those by math: of terms that
// are alike, far apart, −∞ and no numbers.
func TestLogSumExp64(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, n := range []int{8, 16, 40} {
			for lines := 1; lines < 40; lines += 1 + lines/3 {
				terms, log := gaussian64(r, lines*n), gaussian64(r, n)
				for i := range terms.data {
					terms.data[i] *= []float64{1, 30, 1e3}[i%3]
					switch {
					case i%n == 1 || i%7 == 0:
						terms.data[i] = math.Inf(-1)
					case i%n == 2 && i >= n:
						terms.data[i] = terms.data[2] - 45.5 // of which nothing is left
					}
				}
				terms.data[3] = math.NaN()
				was := slices.Clone(terms.data)
				LogSumExp64(log.data, terms.data)
				for c := range n {
					highest, sum := math.Inf(-1), 0.0
					for l := range lines {
						highest = math.Max(highest, was[l*n+c])
					}
					for l := range lines {
						if was[l*n+c]-highest > -45 {
							sum += math.Exp(was[l*n+c] - highest)
						}
					}
					for l := range lines {
						at, want := l*n+c, 0.0
						if was[at]-highest > -45 {
							want = math.Exp(was[at]-highest) / sum
						}
						if c == 3 {
							want = math.NaN()
						}
						require.InDelta(t, want, terms.data[at], 1e-15+1e-14*want, "%d lines, column %d", lines, c)
					}
					if want := highest + math.Log(sum); c == 3 || math.IsInf(highest, -1) {
						sameBits(t, []float64{map[bool]float64{true: math.NaN(), false: highest}[c == 3]}, log.data[c:c+1], "column %d", c)
					} else {
						require.InDelta(t, want, log.data[c], 1e-14*(1+math.Abs(want)))
					}
				}
				terms.check(t)
				log.check(t)
			}
		}
		// What takes several calls of the assembly is what eight columns after others give.
		const lines, n = 1500, 64
		terms, log, some := gaussian64(r, lines*n).data, make([]float64, n), make([]float64, 8)
		part, shares := make([]float64, lines*8), make([]float64, lines*8)
		whole := slices.Clone(terms)
		LogSumExp64(log, whole)
		for lo := 0; lo < n; lo += 8 {
			for l := range lines {
				copy(part[l*8:], terms[l*n+lo:][:8])
				copy(shares[l*8:], whole[l*n+lo:][:8])
			}
			LogSumExp64(some, part)
			require.Equal(t, some, log[lo:lo+8])
			require.Equal(t, part, shares)
		}

		x := make([]float64, 24)
		require.Zero(t, alloctest.PerRun(10, func() { LogSumExp64(x[:8], x) }))
		requireRefusal(t, func() { LogSumExp64(x[:7], x[:21]) })
		requireRefusal(t, func() { LogSumExp64(x[:8], x[:23]) })
		requireRefusal(t, func() { LogSumExp64(x[:8], nil) })
		requireRefusal(t, func() { LogSumExp64(nil, x) })
	})
}

// TestCombine: sums of products in their order, of every length, with nothing beside them touched.
func TestCombine(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(9, 9))
		for n := range 131 {
			for _, count := range []int{1, 2, 7} {
				stride := n + r.IntN(3)
				weights, v := make([]float64, count), guardedCopy(make([]float64, (count-1)*stride+n))
				for _, list := range [][]float64{weights, v.data} {
					for i := range list {
						list[i] = r.NormFloat64()
					}
				}
				dst, want := newGuarded[float64](n), make([]float64, n)
				for i := range want {
					want[i] = weights[0] * v.data[i]
					for j := 1; j < count; j++ {
						want[i] += float64(weights[j] * v.data[j*stride+i])
					}
				}
				Combine64(dst.data, weights, v.data, stride)
				dst.check(t)
				require.Equal(t, want, append([]float64{}, dst.data...))
			}
		}
		require.Panics(t, func() { Combine64(nil, nil, nil, 0) })
		require.Panics(t, func() { Combine64(make([]float64, 3), make([]float64, 2), make([]float64, 6), 4) })
		require.NotPanics(t, func() { Combine64(make([]float64, 3), make([]float64, 2), make([]float64, 7), 4) })
	})
}
