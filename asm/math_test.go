package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// envExhaustive names the variable that makes the tests of the elementwise
// functions walk all 2³² arguments.
const envExhaustive = "REVGEN_TEST_EXHAUSTIVE"

// mathFunctions are the elementwise functions, their exact values, and the
// bounds on their errors that math.go states, in ulp.
var mathFunctions = []struct {
	name  string
	f     func(dst, x []float32)
	exact func(x float64) float64
	bound float64
}{
	{"Exp", Exp, math.Exp, 1.1},
	{"Tanh", Tanh, math.Tanh, 3},
	{"Sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2.5},
	{"log", log, math.Log, 1.5},
}

// ulps returns the error of got in units in the last place of the exact value.
func ulps(got float32, exact float64) float64 {
	switch {
	case math.IsNaN(exact) || math.IsInf(exact, 0) || exact == 0 || math.Abs(exact) > math.MaxFloat32:
		if want := float32(exact); got == want || got != got && want != want {
			return 0
		}
		if math.Abs(exact) > math.MaxFloat32 && math.Abs(float64(got)) > 0x1.fffffcp127 {
			return 0.5 // the largest number for a little more than it
		}
		return math.Inf(1)
	case got != got:
		return math.Inf(1)
	}
	_, e := math.Frexp(exact)
	return math.Abs(float64(got)-exact) / math.Ldexp(1, max(e-24, -149))
}

func TestMathFunctionsAgainstExact(t *testing.T) {
	stride := uint64(4099) // odd, so that all low bits occur
	if os.Getenv(envExhaustive) != "" {
		stride = 1
	}
	forEachPath(t, func(t *testing.T, path Path) {
		for _, m := range mathFunctions {
			t.Run(m.name, func(t *testing.T) {
				var x, y [1024]float32
				worst, at := -1., float32(0)
				for bits := uint64(0); bits < 1<<32; {
					n := 0
					for ; n < len(x) && bits < 1<<32; n++ {
						x[n] = math.Float32frombits(uint32(bits))
						bits += stride
					}
					m.f(y[:n], x[:n])
					for i, v := range x[:n] {
						if e := ulps(y[i], m.exact(float64(v))); e > worst {
							worst, at = e, v
						}
					}
				}
				t.Logf("largest error %.3f ulp at %v", worst, at)
				require.LessOrEqual(t, worst, m.bound, "at %v (%#x)", at, math.Float32bits(at))
			})
		}
	})
}

// specials are arguments at which an implementation may go wrong.
var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 1e-45, -1e-45, 1e-39, 0x1p-126, -0x1p-126,
	math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	88.72283, 88.72284, -87.33654, -87.33655, -103.97208, -103.97209, -104, 1e5, -1e5, 9.01, -9.01, 1e-8,
}

func randomArguments(r *rand.Rand, x []float32) {
	for i := range x {
		switch r.IntN(8) {
		case 0:
			x[i] = specials[r.IntN(len(specials))]
		case 1:
			x[i] = math.Float32frombits(r.Uint32())
		default:
			x[i] = float32(r.NormFloat64() * 10)
		}
	}
}

func TestMathFunctionsAtEveryLength(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(3, 4))
		inputAtEnd, outputAtEnd := endOfPage[float32](t, 200), endOfPage[float32](t, 200)
		for _, m := range mathFunctions {
			for n := range 131 {
				x := guardedCopy(make([]float32, n))
				randomArguments(r, x.data)
				// Each element alone gives the same bits as within the slice.
				want := make([]float32, n)
				for i := range want {
					m.f(want[i:i+1], x.data[i:i+1])
				}
				same := func(got []float32, how string) {
					t.Helper()
					for i := range want {
						require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got[i]), "%s of %v at %d of %d, %s", m.name, x.data[i], i, n, how)
					}
				}
				y := newGuarded[float32](n)
				m.f(y.data, x.data)
				y.check(t)
				same(y.data, "separate")
				in, out := inputAtEnd(n), outputAtEnd(n)
				copy(in, x.data)
				m.f(out, in)
				same(out, "at the end of a page")
				m.f(x.data, x.data)
				x.check(t)
				copy(y.data, x.data)
				copy(x.data, in)
				same(y.data, "in place")
			}
		}
	})
}

func TestMathFunctionsPanicOnMismatch(t *testing.T) {
	for _, m := range mathFunctions[:3] { // the exported ones
		requireRefusal(t, func() { m.f(make([]float32, 3), make([]float32, 4)) })
	}
	requireRefusal(t, func() { LogSumExp(make([]float32, 3), make([]float32, 4), 2) })
}

func TestLogSumExp(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(5, 6))
		atEnd := endOfPage[float32](t, 257*1000)
		for _, cols := range []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 255, 256, 257, 1000} {
			for _, rows := range []int{0, 1, 2, 85, 86, 257} {
				x, got := atEnd(rows*cols), newGuarded[float32](rows)
				for i := range x {
					x[i] = float32(r.NormFloat64() * 30)
				}
				LogSumExp(got.data, x, cols)
				got.check(t)
				for k, g := range got.data {
					highest, sum := math.Inf(-1), 0.
					for _, v := range x[k*cols:][:cols] {
						highest = max(highest, float64(v))
					}
					for _, v := range x[k*cols:][:cols] {
						sum += math.Exp(float64(v) - highest)
					}
					want := highest + math.Log(sum)
					if cols == 0 {
						require.True(t, math.IsInf(float64(g), -1))
						continue
					}
					require.InDelta(t, want, float64(g), 4e-7*(1+math.Abs(want)), "row %d of %d×%d", k, rows, cols)
				}
			}
		}
		inf := float32(math.Inf(1))
		nan := float32(math.NaN())
		for _, c := range []struct {
			row  []float32
			want float32
		}{
			{[]float32{-inf, -inf}, -inf}, {[]float32{-inf, 3}, 3}, {[]float32{1, inf}, inf}, {[]float32{-inf, inf}, inf},
			{[]float32{nan, 1}, nan}, {[]float32{1, nan}, nan}, {[]float32{1e30, -1e30}, 1e30},
		} {
			for _, padding := range []int{0, 300} {
				row := append([]float32{}, c.row...)
				for range padding {
					row = append(row, -inf)
				}
				got := make([]float32, 1)
				LogSumExp(got, row, len(row))
				require.True(t, got[0] == c.want || got[0] != got[0] && c.want != c.want, "%v: %v", c.row, got[0])
			}
		}
	})
}

func TestMathDoesNotAllocate(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		x, y := make([]float32, 1000), make([]float32, 1000)
		for _, m := range mathFunctions {
			require.Zero(t, alloctest.PerRun(5, func() { m.f(y, x) }), m.name)
		}
		require.Zero(t, alloctest.PerRun(5, func() { LogSumExp(y[:250], x, 4) }))
		require.Zero(t, alloctest.PerRun(5, func() { LogSumExp(y[:1], x, 1000) }))
	})
}

func FuzzMathFunctions(f *testing.F) {
	for _, v := range specials {
		f.Add(math.Float32bits(v))
	}
	before, why, _ := Active()
	f.Cleanup(func() { activate(before, why) })
	f.Fuzz(func(t *testing.T, bits uint32) {
		x := []float32{math.Float32frombits(bits)}
		for _, path := range Supported() {
			require.NoError(t, Use(path))
			for _, m := range mathFunctions {
				var y [1]float32
				m.f(y[:], x)
				require.LessOrEqual(t, ulps(y[0], m.exact(float64(x[0]))), m.bound, "%s(%v) on %v", m.name, x[0], path)
			}
		}
	})
}

func BenchmarkMath(b *testing.B) {
	benchEachPath(b, func(b *testing.B, path Path) {
		for _, m := range mathFunctions {
			for _, n := range []int{1 << 10, 1 << 16} {
				b.Run(fmt.Sprintf("f=%s/n=%d", m.name, n), func(b *testing.B) {
					r := rand.New(rand.NewPCG(7, 8))
					x, y := make([]float32, n), make([]float32, n)
					for i := range x {
						x[i] = float32(r.ExpFloat64())
						if m.name == "Exp" {
							x[i] *= -10
						}
					}
					b.SetBytes(int64(4 * n))
					for b.Loop() {
						m.f(y, x)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
				})
			}
		}
	})
}
