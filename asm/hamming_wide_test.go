package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// TestHammingDistances compares the distances of a tile, by several parts of the words,
// with those counted at once.
func TestHammingDistances(t *testing.T) {
	eachHamming(t, func(t *testing.T) {
		for _, n := range []int{65, 128, 1100, 2048} {
			for _, columns := range []int{1, 2, 3, 4, 5, 7, 8, tileColumns} {
				c := newHammingCase(rand.New(rand.NewPCG(uint64(n), uint64(columns))), n, columns, false)
				want := new(hammingCounts)
				least := hammingDistancesGeneric(want, c.rows, c.columns.states, columns, 2*c.words, 2*c.words, false)
				for _, reach := range []int{int(least), 2 * n} {
					have := new(hammingCounts)
					require.True(t, c.columns.tileDistances(have, c.rows, 0, columns, reach))
					require.Equal(t, want, have, "%d spins, %d columns, reach %d", n, columns, reach)
				}
				if least > 0 {
					require.False(t, c.columns.tileDistances(new(hammingCounts), c.rows, 0, columns, int(least)-1))
				}
			}
		}
	})
}

// TestHammingSumsWithinReach leaves out columns so far from all rows that nothing is
// to be added, and no others.
func TestHammingSumsWithinReach(t *testing.T) {
	long.SkipShort(t)
	eachHamming(t, func(t *testing.T) {
		const n, columns = 1100, 3 * tileColumns
		for reach := 0; reach < 2*n; reach += 150 {
			c := newHammingCase(rand.New(rand.NewPCG(1, uint64(reach))), n, columns, true)
			cut := func(table []float32) []float32 {
				clear(table[reach+1:])
				return table
			}
			c.tables = NewHammingTables(cut(c.tables.loss), cut(c.tables.base), cut(c.tables.spin))
			require.Equal(t, reach, c.tables.reach)
			loss, base, spin := make([]float64, HammingRows), make([]float32, HammingRows), make([]float32, n*HammingRows)
			HammingSums(loss, base, spin, c.rows, c.columns, c.tables)
			c.check(t, loss, base, spin, fmt.Sprintf("reach %d", reach))
		}
	})
}

func TestHammingTablesDropSubnormals(t *testing.T) {
	tables := NewHammingTables([]float32{1, 0x1p-126, -0x1p-127}, nil, []float32{0, 0x1p-149, -0x1p-126})
	require.Equal(t, []float32{1, 0, 0x1p-126, 0, 0, -0x1p-126}, tables.pairs)
	require.Equal(t, 2, tables.reach)
	require.Equal(t, 1, NewHammingTables([]float32{1, 0, 0}, []float32{0, 1, 0}, []float32{1, 0, 0}).reach)
}

// TestHammingGradient compares gradients with their definition, which has no sum of
// products and so the same bits on all paths.
func TestHammingGradient(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		for _, n := range []int{1, 9, 15, 16, 17, 32, 63, 64, 65, 81, 130, 256} {
			for _, lanes := range []int{1, 2, 15, 16, 17, 31, 32} {
				r := rand.New(rand.NewPCG(uint64(n), uint64(lanes)))
				c := newHammingCase(r, n, 1, false)
				numbers := func(k int) []float32 {
					x := make([]float32, k)
					for i := range x {
						x[i] = float32(r.NormFloat64())
					}
					return x
				}
				base, spin := numbers(HammingRows), numbers(n*HammingRows)
				own := make([][2]float32, lanes)
				for i := range own {
					own[i] = [2]float32(numbers(2))
				}
				const scale = 0.7
				for _, signed := range []bool{false, true} {
					have := newGuarded[float32](lanes * n)
					HammingGradient(have.data, base, spin, c.rows, own, scale, signed)
					have.check(t)
					want := make([]float32, lanes*n)
					for i := range want {
						lane, d := i/n, i%n
						bit := func(first int) uint64 { return c.rows[(first+d/64)*HammingRows+lane] >> (d % 64) & 1 }
						v, f := spin[d*HammingRows+lane], bit(0)^bit(c.words)
						if bit(0) == 1 {
							v = -v
						}
						v = base[lane] + v
						v += own[lane][f]
						if signed && bit(0) == 0 {
							v = -v
						}
						want[i] = scale * v
					}
					require.Equal(t, want, have.data, "%d spins, %d rows, signed %v", n, lanes, signed)
				}
			}
		}
	})
	requireRefusal(t, func() {
		HammingGradient(make([]float32, 9), make([]float32, HammingRows), make([]float32, 9*HammingRows), make([]uint64, HammingRows), make([][2]float32, 1), 1, false)
	})
}

// BenchmarkHammingWide times the kernels of hammingWide alone, on a tile.
func BenchmarkHammingWide(b *testing.B) {
	for _, n := range []int{256, 1024, 4096} {
		c := newHammingCase(rand.New(rand.NewPCG(1, uint64(n))), n, tileColumns, false)
		loss, base, sums := make([]float64, HammingRows), make([]float32, HammingRows), make([]float32, n*HammingRows)
		grad, own := make([]float32, n*HammingRows), make([][2]float32, HammingRows)
		counts, values, table := new(hammingCounts), new(hammingValues), new(hammingTable)
		c.columns.tileDistances(counts, c.rows, 0, tileColumns, 2*n)
		for _, kernel := range []struct {
			name string
			call func()
		}{
			{"distances", func() { c.columns.tileDistances(counts, c.rows, 0, tileColumns, 2*n) }},
			{"weigh", func() { hammingWeigh(values, loss, base, counts, c.columns.weights, c.tables) }},
			{"tabulate", func() { hammingTabulate(table, values) }},
			{"gather", func() { hammingGather(sums, table, c.columns.patterns) }},
			{"gradient", func() { HammingGradient(grad, base, sums, c.rows, own, 1, true) }},
		} {
			b.Run(fmt.Sprintf("%s/spins=%d", kernel.name, n), func(b *testing.B) {
				benchEachPath(b, func(b *testing.B, _ Path) {
					for b.Loop() {
						kernel.call()
					}
				})
			})
		}
	}
}
