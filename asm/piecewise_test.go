package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// A piecewiseCase holds the operands of the kernels of a pair of layers.
type piecewiseCase struct {
	rows, units, out int
	x, piece, knots  []float32
	table, sums, w   []float32
	dy, pairs, fours []float32
	order            []int32
	da, db, dw, dc   []float32
}

func newPiecewiseCase(r *rand.Rand, rows, units, out int) *piecewiseCase {
	c := &piecewiseCase{rows: rows, units: units, out: out}
	fill := func(n int) []float32 { return randomPoints(r, n) }
	c.x, c.knots = fill(rows), fill(units)
	slices.Sort(c.knots)
	c.piece = make([]float32, rows)
	countKnotsGeneric(c.piece, c.x, c.knots)
	c.table, c.sums, c.w = fill(2*(units+1)*out), fill(2*(units+1)*out), fill(units*out)
	c.dy, c.pairs, c.fours = fill(rows*out), fill(2*units), fill(4*units)
	for _, i := range r.Perm(units) {
		c.order = append(c.order, int32(i))
	}
	c.da, c.db, c.dw, c.dc = fill(units), fill(units), fill(units*out), fill(out)
	return c
}

func forPiecewiseCases(t *testing.T, f func(t *testing.T, c *piecewiseCase, name string)) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, units := range []int{1, 2, 7, 64, 65} {
			for _, out := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 80, 129} {
				rows := 1 + r.IntN(40)
				f(t, newPiecewiseCase(r, rows, units, out), fmt.Sprintf("%d rows, %d units, %d outputs", rows, units, out))
			}
		}
		f(t, newPiecewiseCase(r, 9000, 3, 40), "more rows than one call takes")
		f(t, newPiecewiseCase(r, 3, 2100, 130), "more columns than one call takes")
	})
}

// requireNear compares within a multiple of the rounding of a sum of terms of
// order one.
func requireNear(t *testing.T, want, have []float32, terms int, what string) {
	t.Helper()
	tolerance := 0x1p-20 * math.Sqrt(float64(terms)) * float64(terms+10)
	require.Len(t, have, len(want))
	for i := range want {
		if d := math.Abs(float64(want[i] - have[i])); !(d <= tolerance) {
			require.FailNow(t, what, "element %d: have %g, want %g", i, have[i], want[i])
		}
	}
}

func TestCountKnots(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(3, 4))
		end := endOfPage[float32](t, 200)
		for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 150} {
			for _, units := range []int{0, 1, 2, 64, 130} {
				x, dst, knots := end(n), newGuarded[float32](n), randomPoints(r, units)
				copy(x, randomPoints(r, n))
				special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0}
				for i := 0; i < n; i += 5 {
					x[i] = special[i/5%4]
				}
				if units > 2 {
					knots[0], knots[1] = x0(x), special[1]
				}
				slices.Sort(knots)
				CountKnots(dst.data, x, knots)
				dst.check(t)
				want := make([]float32, n)
				countKnotsGeneric(want, x, knots)
				require.Equal(t, want, dst.data, "%d numbers, %d knots", n, units)
			}
		}
		x, knots := randomPoints(r, 300), randomPoints(r, 5000)
		have, want := make([]float32, 300), make([]float32, 300)
		CountKnots(have, x, knots)
		countKnotsGeneric(want, x, knots)
		require.Equal(t, want, have)
	})
}

// x0 returns a number that is also a knot.
func x0(x []float32) float32 {
	if len(x) > 1 {
		return x[1]
	}
	return 0.5
}

func TestPrefixRows(t *testing.T) {
	forPiecewiseCases(t, func(t *testing.T, c *piecewiseCase, name string) {
		dst, want := newGuarded[float32](len(c.table)), make([]float32, len(c.table))
		copy(dst.data, c.table[:2*c.out])
		copy(want, c.table[:2*c.out])
		PrefixRows(dst.data, c.w, c.order, c.pairs, c.out)
		dst.check(t)
		prefixRowsGeneric(want, c.w, c.order, c.pairs, c.out, c.out)
		requireNear(t, want, dst.data, c.units, name)
	})
}

func TestPiecewiseForward(t *testing.T) {
	forPiecewiseCases(t, func(t *testing.T, c *piecewiseCase, name string) {
		c.piece[0] = float32(c.units + 5) // the last piece
		y, want := newGuarded[float32](c.rows*c.out), make([]float32, c.rows*c.out)
		PiecewiseForward(y.data, c.x, c.piece, c.table, c.out, 0.25)
		y.check(t)
		piecewiseForwardGeneric(want, c.x, c.piece, c.table, c.units, c.out, 0.25)
		requireNear(t, want, y.data, 2, name)
	})
}

func TestPiecewiseForwardNaN(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		c := newPiecewiseCase(rand.New(rand.NewPCG(5, 6)), 4, 3, 20)
		c.x[2] = float32(math.NaN())
		y := make([]float32, 4*20)
		PiecewiseForward(y, c.x, c.piece, c.table, 20, 0.25)
		for i, v := range y {
			require.Equal(t, i/20 == 2, v != v, "element %d", i)
		}
	})
}

func TestPiecewiseBackward(t *testing.T) {
	forPiecewiseCases(t, func(t *testing.T, c *piecewiseCase, name string) {
		c.piece[0] = float32(c.units + 5)
		sums, dx := guardedCopy(c.sums), newGuarded[float32](c.rows)
		wantSums, wantDx := slices.Clone(c.sums), make([]float32, c.rows)
		PiecewiseBackward(sums.data, dx.data, c.x, c.piece, c.dy, c.table, c.out)
		sums.check(t)
		dx.check(t)
		piecewiseBackwardGeneric(wantSums, wantDx, c.x, c.piece, c.dy, c.table, c.units, c.out)
		requireNear(t, wantSums, sums.data, c.rows, name)
		requireNear(t, wantDx, dx.data, c.out, name)
	})
}

func TestPiecewiseGradient(t *testing.T) {
	long.SkipShort(t)
	forPiecewiseCases(t, func(t *testing.T, c *piecewiseCase, name string) {
		var have [4]guarded[float32]
		var want [4][]float32
		for i, v := range [4][]float32{c.da, c.db, c.dw, c.dc} {
			have[i], want[i] = guardedCopy(v), slices.Clone(v)
		}
		sums := guardedCopy(c.sums)
		PiecewiseGradient(have[0].data, have[1].data, have[2].data, have[3].data, sums.data, c.w, c.order, c.fours, c.out)
		sums.check(t)
		for i, v := range sums.data {
			require.Zero(t, v, "sum %d", i)
		}
		piecewiseGradientGeneric(want[0], want[1], want[2], want[3], c.sums, c.w, c.order, c.fours, c.out, c.out)
		for i, terms := range [4]int{c.units + c.out, c.units + c.out, c.units, c.units} {
			have[i].check(t)
			requireNear(t, want[i], have[i].data, terms, name)
		}
	})
}

func TestPiecewiseSum(t *testing.T) {
	forPiecewiseCases(t, func(t *testing.T, c *piecewiseCase, name string) {
		c.piece[0] = float32(c.units + 5)
		y, want := newGuarded[float32](c.rows), make([]float32, c.rows)
		PiecewiseSum(y.data, c.x, c.piece, c.table, c.dc, 0.5, 0.25)
		y.check(t)
		piecewiseSumGeneric(want, c.x, c.piece, c.table, c.dc, c.units, 0.25)
		for i := range want {
			want[i] += 0.5
		}
		requireNear(t, want, y.data, c.out, name)
	})
}

func TestPiecewiseSumBackward(t *testing.T) {
	forPiecewiseCases(t, func(t *testing.T, c *piecewiseCase, name string) {
		c.piece[0] = float32(c.units + 5)
		c.x[0], c.table[(2*c.units+1)*c.out] = 0, 0 // a unit at 0 has the slope of negative ones
		dy := c.dy[:c.rows]
		have := [3]guarded[float32]{guardedCopy(c.sums), newGuarded[float32](c.rows), guardedCopy(c.dc)}
		want := [3][]float32{slices.Clone(c.sums), make([]float32, c.rows), slices.Clone(c.dc)}
		PiecewiseSumBackward(have[0].data, have[1].data, have[2].data, c.x, c.piece, dy, c.table, c.w[:c.out], 0.25)
		piecewiseSumBackwardGeneric(want[0], want[1], want[2], c.x, c.piece, dy, c.table, c.w[:c.out], c.units, 0.25)
		for i, terms := range [3]int{c.rows, c.out, c.rows} {
			have[i].check(t)
			requireNear(t, want[i], have[i].data, terms, name)
		}
	})
}

// Operands that end where an unmapped page begins.
func TestPiecewiseReadsNothingBeyond(t *testing.T) {
	var pages [8]func(int) []float32
	for i := range pages {
		pages[i] = endOfPage[float32](t, 1<<16)
	}
	atEnd := func(i int, v []float32) []float32 {
		p := pages[i](len(v))
		copy(p, v)
		return p
	}
	forPiecewiseCases(t, func(_ *testing.T, c *piecewiseCase, _ string) {
		if len(c.dy) > 1<<16 || len(c.table) > 1<<16 {
			return
		}
		table, w, pairs, fours := atEnd(0, c.table), atEnd(1, c.w), atEnd(2, c.pairs), atEnd(3, c.fours)
		PrefixRows(table, w, c.order, pairs, c.out)
		x, piece, dy := atEnd(4, c.x), atEnd(5, c.piece), atEnd(6, c.dy)
		PiecewiseForward(dy, x, piece, table, c.out, 0.5)
		sums := atEnd(7, c.sums)
		PiecewiseBackward(sums, make([]float32, c.rows), x, piece, dy, table, c.out)
		PiecewiseSum(dy[:c.rows], x, piece, table, w[len(w)-c.out:], 0, 0.5)
		PiecewiseSumBackward(sums, make([]float32, c.rows), make([]float32, c.out), x, piece, dy[len(dy)-c.rows:], table, w[len(w)-c.out:], 0.5)
		PiecewiseGradient(atEnd(4, c.da), atEnd(5, c.db), atEnd(6, c.dw), c.dc, sums, w, c.order, fours, c.out)
	})
}

func TestPiecewisePanics(t *testing.T) {
	s := func(n int) []float32 { return make([]float32, n) }
	requireRefusal(t, func() { CountKnots(s(2), s(3), s(1)) })
	requireRefusal(t, func() { PrefixRows(s(11), s(4), []int32{0, 1}, s(4), 2) })
	requireRefusal(t, func() { PrefixRows(s(12), s(4), []int32{0, 2}, s(4), 2) })
	requireRefusal(t, func() { PiecewiseForward(s(4), s(2), s(2), s(6), 2, 1) })
	requireRefusal(t, func() { PiecewiseBackward(s(8), s(2), s(2), s(1), s(4), s(8), 2) })
	requireRefusal(t, func() { PiecewiseBackward(s(4), s(2), s(2), s(2), s(4), s(8), 2) })
	requireRefusal(t, func() { PiecewiseSum(s(2), s(2), s(2), s(7), s(2), 0, 1) })
	requireRefusal(t, func() { PiecewiseSumBackward(s(8), s(2), s(3), s(2), s(2), s(2), s(8), s(2), 1) })
	requireRefusal(t, func() { PiecewiseGradient(s(2), s(2), s(4), s(2), s(12), s(4), []int32{0, -1}, s(8), 2) })
	requireRefusal(t, func() { PiecewiseGradient(s(2), s(2), s(4), s(2), s(12), s(4), []int32{0, 1}, s(7), 2) })
}

func BenchmarkPiecewise(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		c := newPiecewiseCase(rand.New(rand.NewPCG(1, 2)), 256, 64, 64)
		y, dx := make([]float32, 256*64), make([]float32, 256)
		b.Run("count", func(b *testing.B) {
			for b.Loop() {
				CountKnots(c.piece, c.x, c.knots)
			}
		})
		b.Run("table", func(b *testing.B) {
			for b.Loop() {
				PrefixRows(c.table, c.w, c.order, c.pairs, 64)
			}
		})
		b.Run("forward", func(b *testing.B) {
			for b.Loop() {
				PiecewiseForward(y, c.x, c.piece, c.table, 64, 0.01)
			}
		})
		b.Run("backward", func(b *testing.B) {
			for b.Loop() {
				PiecewiseBackward(c.sums, dx, c.x, c.piece, c.dy, c.table, 64)
			}
		})
		b.Run("sum", func(b *testing.B) {
			for b.Loop() {
				PiecewiseSum(dx, c.x, c.piece, c.table, c.dc, 0.1, 0.01)
			}
		})
		b.Run("sum-backward", func(b *testing.B) {
			for b.Loop() {
				PiecewiseSumBackward(c.sums, dx, c.dc, c.x, c.piece, c.dy[:256], c.table, c.w[:64], 0.01)
			}
		})
		b.Run("gradient", func(b *testing.B) {
			for b.Loop() {
				PiecewiseGradient(c.da, c.db, c.dw, c.dc, c.sums, c.w, c.order, c.fours, 64)
			}
		})
	})
}

// A call takes as much as fits into its bound, and never nothing.
func TestPiecesOfCalls(t *testing.T) {
	for width, want := range map[int]int{1: 1 << 18, 3: 87381, 1 << 18: 1, 1<<18 + 1: 1} {
		require.Equal(t, want, piecewiseRows(width))
	}
	for each, want := range map[int]int{1: 1 << 18, 3: 87360, 1 << 12: 64, 1<<12 + 1: 64, 1 << 20: 64, 1 << 11: 128} {
		require.Equal(t, want, piecewiseNumbers(each))
	}
}
