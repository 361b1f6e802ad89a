package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// denseShape is one batch through one layer.
type denseShape struct{ rows, in, out int }

// denseShapes covers small shapes at random and the neighbourhood of every
// tile and unroll.
func denseShapes(rng *rand.Rand) []denseShape {
	shapes := []denseShape{
		{0, 1, 1}, {1, 1, 1}, {0, 40, 40}, {2048, 1, 1}, {300, 2, 64}, {300, 64, 2}, {600, 17, 9},
		{5, 1024, 3}, {5, 3, 1024}, {37, 256, 9}, {31, 256, 256}, {3, 1023, 33}, {1, 64, 1}, {33, 64, 1}, {70, 1, 64},
	}
	for _, rows := range []int{1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 20, 24, 28, 29} {
		for _, out := range []int{1, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 64, 65} {
			shapes = append(shapes, denseShape{rows, 1 + rng.IntN(20), out}, denseShape{rows, out, 1 + rng.IntN(20)})
		}
	}
	for n := 1; n <= 10; n++ {
		for _, rows := range []int{1, 2, 3, 5, 17, 33} {
			k := 120 + rng.IntN(40)
			shapes = append(shapes, denseShape{rows, k, n}, denseShape{rows, n, k})
		}
	}
	for range 300 {
		shapes = append(shapes, denseShape{rng.IntN(21), 1 + rng.IntN(40), 1 + rng.IntN(40)})
	}
	return shapes
}

// fillWild fills x with values of very different sizes whose products neither
// overflow nor underflow, zeros of both signs among them.
func fillWild(rng *rand.Rand, x []float32) {
	for i := range x {
		switch rng.IntN(12) {
		case 0:
			x[i] = 0
		case 1:
			x[i] = float32(math.Copysign(0, -1))
		case 2:
			x[i] = float32(math.Ldexp(rng.NormFloat64(), 20-rng.IntN(40)))
		default:
			x[i] = float32(rng.NormFloat64())
		}
	}
}

// requireClose checks |have - want| ≤ bound, and that NaN and infinity agree.
func requireClose(t testing.TB, have float32, want, bound float64, where string, args ...any) {
	h := float64(have)
	switch {
	case math.IsNaN(want) && math.IsNaN(h), h == want:
	case math.Abs(h-want) <= bound:
	default:
		t.Helper()
		require.FailNow(t, "wrong value", "%s: have %g, want %g, |difference| %.3g, bound %.3g",
			fmt.Sprintf(where, args...), h, want, math.Abs(h-want), bound)
	}
}

// The oracles give the value and the sum of the terms' sizes in float64.

func oracleForward(x, w, bias []float32, in, out, r, o int) (value, size float64) {
	value = float64(bias[o])
	size = math.Abs(value)
	for i := range in {
		term := float64(x[r*in+i]) * float64(w[i*out+o])
		value += term
		size += math.Abs(term)
	}
	return value, size
}

func oracleBackwardInput(dy, w []float32, out, r, i int) (value, size float64) {
	for o := range out {
		term := float64(dy[r*out+o]) * float64(w[i*out+o])
		value += term
		size += math.Abs(term)
	}
	return value, size
}

func oracleBackwardWeights(dw, x, dy []float32, rows, in, out, i, o int) (value, size float64) {
	value = float64(dw[i*out+o])
	size = math.Abs(value)
	for r := range rows {
		term := float64(x[r*in+i]) * float64(dy[r*out+o])
		value += term
		size += math.Abs(term)
	}
	return value, size
}

// eps bounds the relative error of two roundings of float32.
const eps = 0x1p-23

func leakyOracle(v float64, slope float32) float64 {
	if v > 0 {
		return v
	}
	return v * float64(slope)
}

// denseBuffers hands out the slices of a test: guarded, or ending at an
// unmapped page.
type denseBuffers struct {
	take  func(kind, n int) []float32
	check func()
}

func guardedBuffers(t testing.TB) denseBuffers {
	var all []guarded[float32]
	return denseBuffers{
		take: func(_, n int) []float32 {
			g := newGuarded[float32](n)
			all = append(all, g)
			return g.data
		},
		check: func() {
			t.Helper()
			for _, g := range all {
				g.check(t)
			}
			all = all[:0]
		},
	}
}

func pageBuffers(t testing.TB) denseBuffers {
	var pages [8]func(n int) []float32
	for i := range pages {
		pages[i] = endOfPage[float32](t, 1<<20)
	}
	return denseBuffers{
		take:  func(kind, n int) []float32 { return pages[kind](n) },
		check: func() {},
	}
}

func eachDenseBuffers(t *testing.T, f func(t *testing.T, b denseBuffers)) {
	forEachPath(t, func(t *testing.T, _ Path) {
		t.Run("guarded", func(t *testing.T) { f(t, guardedBuffers(t)) })
		t.Run("page", func(t *testing.T) { f(t, pageBuffers(t)) })
	})
}

func TestPackWeights(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		rng := rand.New(rand.NewPCG(1, 2))
		end := endOfPage[float32](t, 200*100)
		for range 150 {
			in, out := 1+rng.IntN(70), 1+rng.IntN(70)
			switch rng.IntN(10) {
			case 0:
				in += 100
			case 1:
				out += 100
			}
			w := end(in * out)
			fillWild(rng, w)
			plain, transposed := newGuarded[float32](PackedLen(in, out)), newGuarded[float32](PackedLen(out, in))
			fillWild(rng, plain.data)
			fillWild(rng, transposed.data)
			PackWeights(plain.data, w, in, out)
			PackWeightsTransposed(transposed.data, w, in, out)
			plain.check(t)
			transposed.check(t)

			position := func(rows, columns, r, c int) int {
				if isNarrow(rows, columns) {
					return c*rows + r
				}
				return c/Panel*rows*Panel + r*Panel + c%Panel
			}
			wantPlain, wantTransposed := make([]float32, PackedLen(in, out)), make([]float32, PackedLen(out, in))
			for i := range in {
				for o := range out {
					wantPlain[position(in, out, i, o)] = w[i*out+o]
					wantTransposed[position(out, in, o, i)] = w[i*out+o]
				}
			}
			require.Equal(t, wantPlain, plain.data)
			require.Equal(t, wantTransposed, transposed.data)
		}
	})
}

func TestDenseForward(t *testing.T) {
	eachDenseBuffers(t, func(t *testing.T, b denseBuffers) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, s := range denseShapes(rng) {
			x, w := b.take(0, s.rows*s.in), make([]float32, s.in*s.out)
			packed, bias, y := b.take(1, PackedLen(s.in, s.out)), b.take(2, s.out), b.take(3, s.rows*s.out)
			fillWild(rng, x)
			fillWild(rng, w)
			fillWild(rng, bias)
			fillWild(rng, y)
			slope := []float32{1, 0.01, 0, 2}[rng.IntN(4)]
			PackWeights(packed, w, s.in, s.out)
			DenseForward(y, x, packed, bias, s.rows, s.in, s.out, slope)
			for r := range s.rows {
				for o := range s.out {
					value, size := oracleForward(x, w, bias, s.in, s.out, r, o)
					bound := eps * float64(s.in+1) * size * float64(max(1, slope))
					requireClose(t, y[r*s.out+o], leakyOracle(value, slope), bound, "%+v slope %g row %d column %d", s, slope, r, o)
				}
			}
			b.check()
		}
	})
}

func TestDenseBackwardInput(t *testing.T) {
	eachDenseBuffers(t, func(t *testing.T, b denseBuffers) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, s := range denseShapes(rng) {
			dy, w := b.take(0, s.rows*s.out), make([]float32, s.in*s.out)
			packed, dx := b.take(1, PackedLen(s.out, s.in)), b.take(2, s.rows*s.in)
			var act, factor []float32
			fillWild(rng, dy)
			fillWild(rng, w)
			fillWild(rng, dx)
			slope := []float32{1, 0.01, 0, 2}[rng.IntN(4)]
			switch rng.IntN(3) {
			case 0:
				act = b.take(3, s.rows*s.in)
				fillWild(rng, act)
				factor = act
			case 1: // the gradient replaces the activation
				act = dx
				factor = append([]float32(nil), act...)
			}
			PackWeightsTransposed(packed, w, s.in, s.out)
			DenseBackwardInput(dx, dy, packed, act, s.rows, s.in, s.out, slope)
			for r := range s.rows {
				for i := range s.in {
					value, size := oracleBackwardInput(dy, w, s.out, r, i)
					bound := eps * float64(s.out+1) * size * float64(max(1, slope))
					if act != nil && !(factor[r*s.in+i] > 0) {
						value *= float64(slope)
					}
					requireClose(t, dx[r*s.in+i], value, bound, "%+v slope %g row %d column %d", s, slope, r, i)
				}
			}
			b.check()
		}
	})
}

func TestDenseBackwardWeights(t *testing.T) {
	eachDenseBuffers(t, func(t *testing.T, b denseBuffers) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, s := range denseShapes(rng) {
			x, dy := b.take(0, s.rows*s.in), b.take(1, s.rows*s.out)
			dw, db := b.take(2, s.in*s.out), b.take(3, s.out)
			for _, a := range [][]float32{x, dy, dw, db} {
				fillWild(rng, a)
			}
			dw0, db0 := append([]float32(nil), dw...), append([]float32(nil), db...)
			DenseBackwardWeights(dw, db, x, dy, s.rows, s.in, s.out)
			for o := range s.out {
				for i := range s.in {
					value, size := oracleBackwardWeights(dw0, x, dy, s.rows, s.in, s.out, i, o)
					requireClose(t, dw[i*s.out+o], value, eps*float64(s.rows+1)*size, "%+v weight %d %d", s, i, o)
				}
				value, size := float64(db0[o]), math.Abs(float64(db0[o]))
				for r := range s.rows {
					value += float64(dy[r*s.out+o])
					size += math.Abs(float64(dy[r*s.out+o]))
				}
				requireClose(t, db[o], value, eps*float64(s.rows+1)*size, "%+v bias %d", s, o)
			}
			b.check()
		}
	})
}

// One special value in an input reaches exactly the outputs that depend on it.
func TestDenseSpecialValues(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		rng := rand.New(rand.NewPCG(9, 10))
		const rows, in, out = 30, 19, 37
		fill := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = 0.5 + rng.Float32()
			}
			return x
		}
		for _, special := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32} {
			x, w, bias, dy := fill(rows*in), fill(in*out), fill(out), fill(rows*out)
			r, i, o := rng.IntN(rows), rng.IntN(in), rng.IntN(out)
			packed, packedT := make([]float32, PackedLen(in, out)), make([]float32, PackedLen(out, in))
			PackWeights(packed, w, in, out)
			PackWeightsTransposed(packedT, w, in, out)

			x[r*in+i] = special
			y := make([]float32, rows*out)
			DenseForward(y, x, packed, bias, rows, in, out, 0.25)
			for j := range y {
				value, size := oracleForward(x, w, bias, in, out, j/out, j%out)
				want := leakyOracle(value, 0.25)
				if size > math.MaxFloat32 { // overflows within the sum
					want = math.Inf(1) * float64(special)
				}
				requireClose(t, y[j], want, eps*in*size, "forward %g at %d", special, j)
			}

			dy[r*out+o] = special
			dx := make([]float32, rows*in)
			DenseBackwardInput(dx, dy, packedT, nil, rows, in, out, 1)
			for j := range dx {
				value, size := oracleBackwardInput(dy, w, out, j/in, j%in)
				if size > math.MaxFloat32 {
					value = math.Inf(1) * float64(special)
				}
				requireClose(t, dx[j], value, eps*out*size, "backward input %g at %d", special, j)
			}

			x = fill(rows * in)
			dw, db := make([]float32, in*out), make([]float32, out)
			DenseBackwardWeights(dw, db, x, dy, rows, in, out)
			for j := range dw {
				value, size := oracleBackwardWeights(make([]float32, in*out), x, dy, rows, in, out, j/out, j%out)
				if size > math.MaxFloat32 {
					value = math.Inf(1) * float64(special)
				}
				requireClose(t, dw[j], value, eps*rows*size, "backward weights %g at %d", special, j)
			}
			require.Equal(t, math.IsNaN(float64(special)), math.IsNaN(float64(db[o])))
		}
	})
}

// A row's values do not depend on which rows are computed with it, so that
// splitting a batch changes no bit.
func TestDenseRowsIndependent(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		rng := rand.New(rand.NewPCG(11, 12))
		const rows = 61
		for _, s := range []denseShape{{rows, 64, 64}, {rows, 9, 33}, {rows, 40, 1}, {rows, 1, 9}, {rows, 256, 9}, {rows, 9, 140}, {rows, 130, 6}} {
			x, w, bias := make([]float32, rows*s.in), make([]float32, s.in*s.out), make([]float32, s.out)
			fillWild(rng, x)
			fillWild(rng, w)
			fillWild(rng, bias)
			packed, packedT := make([]float32, PackedLen(s.in, s.out)), make([]float32, PackedLen(s.out, s.in))
			PackWeights(packed, w, s.in, s.out)
			PackWeightsTransposed(packedT, w, s.in, s.out)
			y, yParts := make([]float32, rows*s.out), make([]float32, rows*s.out)
			dx, dxParts := make([]float32, rows*s.in), make([]float32, rows*s.in)
			DenseForward(y, x, packed, bias, rows, s.in, s.out, 0.01)
			DenseBackwardInput(dx, y, packedT, x, rows, s.in, s.out, 0.01)
			for first := 0; first < rows; {
				n := min(rows-first, rng.IntN(20))
				DenseForward(yParts[first*s.out:], x[first*s.in:], packed, bias, n, s.in, s.out, 0.01)
				DenseBackwardInput(dxParts[first*s.in:], y[first*s.out:], packedT, x[first*s.in:], n, s.in, s.out, 0.01)
				first += n
			}
			require.Equal(t, y, yParts, "%+v", s)
			require.Equal(t, dx, dxParts, "%+v", s)
		}
	})
}

func TestDenseAllocatesNothing(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		const rows, in, out = 300, 33, 65
		x, dy, dw, db := make([]float32, rows*in), make([]float32, rows*out), make([]float32, in*out), make([]float32, out)
		packed, packedT := make([]float32, PackedLen(in, out)), make([]float32, PackedLen(out, in))
		require.Zero(t, alloctest.PerRun(10, func() {
			PackWeights(packed, dw, in, out)
			PackWeightsTransposed(packedT, dw, in, out)
			DenseForward(dy, x, packed, db, rows, in, out, 0.01)
			DenseBackwardInput(x, dy, packedT, nil, rows, in, out, 0.01)
			DenseBackwardWeights(dw, db, x, dy, rows, in, out)
		}))
	})
}

func TestDensePanics(t *testing.T) {
	b := make([]float32, 128)
	requireRefusal(t, func() { DenseForward(b[:1], b, b, b, 1, 2, 2, 1) })
	requireRefusal(t, func() { DenseForward(b, b[:1], b, b, 1, 2, 2, 1) })
	requireRefusal(t, func() { DenseForward(b, b, b[:79], b, 1, 5, 5, 1) })
	requireRefusal(t, func() { DenseForward(b, b, b, b[:1], 1, 2, 2, 1) })
	requireRefusal(t, func() { DenseForward(b, b, b, b, 1, 0, 2, 1) })
	requireRefusal(t, func() { DenseForward(b, b, b, b, -1, 2, 2, 1) })
	requireRefusal(t, func() { DenseBackwardInput(b, b, b, b[:1], 1, 2, 2, 1) })
	requireRefusal(t, func() { DenseBackwardWeights(b, b, b, b[:1], 1, 2, 2) })
	requireRefusal(t, func() { PackWeights(b[:79], b, 5, 5) })
	requireRefusal(t, func() { PackWeightsTransposed(b, b[:3], 2, 2) })
}

func FuzzDense(f *testing.F) {
	f.Add(uint64(1), uint(3), uint(5), uint(7))
	f.Add(uint64(2), uint(15), uint(64), uint(33))
	f.Fuzz(func(t *testing.T, seed uint64, rows, in, out uint) {
		s := denseShape{int(rows % 40), 1 + int(in%80), 1 + int(out%80)}
		rng := rand.New(rand.NewPCG(seed, 0))
		x, w, bias := newGuarded[float32](s.rows*s.in), make([]float32, s.in*s.out), newGuarded[float32](s.out)
		for _, a := range [][]float32{x.data, w, bias.data} {
			fillWild(rng, a)
		}
		packed := make([]float32, PackedLen(s.in, s.out))
		PackWeights(packed, w, s.in, s.out)
		before, why, _ := Active()
		defer activate(before, why)
		for _, path := range Supported() {
			require.NoError(t, Use(path))
			y, dw := newGuarded[float32](s.rows*s.out), newGuarded[float32](s.in*s.out)
			DenseForward(y.data, x.data, packed, bias.data, s.rows, s.in, s.out, 0.01)
			y.check(t)
			for j, have := range y.data {
				value, size := oracleForward(x.data, w, bias.data, s.in, s.out, j/s.out, j%s.out)
				requireClose(t, have, leakyOracle(value, 0.01), eps*float64(s.in+1)*size, "%v %+v at %d", path, s, j)
			}
			db := newGuarded[float32](s.out)
			DenseBackwardWeights(dw.data, db.data, x.data, y.data, s.rows, s.in, s.out)
			dw.check(t)
			db.check(t)
			for j, have := range dw.data {
				value, size := oracleBackwardWeights(make([]float32, s.in*s.out), x.data, y.data, s.rows, s.in, s.out, j/s.out, j%s.out)
				requireClose(t, have, value, eps*float64(s.rows+1)*size, "%v %+v weight %d", path, s, j)
			}
		}
	})
}

// A call of a product does what it can within its budget: whole tiles, and columns of equal
// parts of all.
func TestBlocksOfProducts(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		budget := map[Path]int{AVX2: 1 << 20, AVX512: 1 << 21}[path]
		if budget == 0 {
			t.Skip("it has no calls")
		}
		for _, k := range []int{1, 9, 64, 300, 5000} {
			for _, columns := range []int{1, 32, 33, 256, 1000} {
				rows, block := denseBlock(k, columns)
				require.Zero(t, rows%tileRows)
				require.Zero(t, block%(2*Panel))
				each := (k + Panel) * block // of a row
				require.True(t, rows*each <= budget || rows == tileRows, "%d %d", k, columns)
				require.Greater(t, (rows+tileRows)*each, budget, "another tile would fit")
				calls := (columns + block - 1) / block
				require.Less(t, (block-2*Panel)*calls, columns, "narrower ones would do")
				if calls > 1 {
					require.Greater(t, tileRows*(k+Panel)*columns, budget*(calls-1), "fewer would do")
				}
			}
		}
	})
}

// TestLimitsOfCalls: how much one call of the assembly does at most, so that what cannot be
// preempted is short, and from where on another way is taken.
func TestLimitsOfCalls(t *testing.T) {
	require.Equal(t, []int{1 << 14, 2048, 512}, []int{philoxLimit, gramWork, kernelColumns})
	require.Equal(t, []int{9, 192}, []int{maxTransposedColumns, prefetchSide})
}
