package asm

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
)

// hammingCase is a random problem for HammingSums.
type hammingCase struct {
	n, words      int
	columns       *HammingColumns
	first, second [][]uint64
	weights       []float64
	tables        *HammingTables
	rows          []uint64
}

func newHammingCase(r *rand.Rand, n, columns int, withBase bool) *hammingCase {
	c := &hammingCase{n: n, words: (n + 63) / 64, columns: NewHammingColumns(n, columns)}
	configuration := func() []uint64 {
		x := make([]uint64, c.words)
		for i := range x {
			x[i] = r.Uint64()
			switch r.IntN(8) {
			case 0:
				x[i] = 0
			case 1:
				x[i] = math.MaxUint64
			}
		}
		if n%64 != 0 {
			x[c.words-1] &= 1<<(n%64) - 1
		}
		return x
	}
	few := make([][]uint64, 5) // repeated first configurations make runs
	for i := range few {
		few[i] = configuration()
	}
	for range columns {
		x := configuration()
		if r.IntN(2) == 0 {
			x = few[r.IntN(len(few))]
		}
		c.add(x, configuration(), float64(r.IntN(9)-4))
	}
	c.pack()

	table := func() []float32 {
		t := make([]float32, 2*n+1)
		for i := range t {
			t[i] = float32(r.NormFloat64())
		}
		return t
	}
	loss, spin := table(), table()
	var base []float32
	if withBase {
		base = table()
	}
	c.tables = NewHammingTables(loss, base, spin)
	c.rows = make([]uint64, 2*c.words*HammingRows)
	for lane := range HammingRows {
		a, b := configuration(), configuration()
		if columns > 0 && r.IntN(3) == 0 { // distances 0 and 2n
			i := r.IntN(columns)
			for k := range a {
				a[k], b[k] = c.first[i][k], c.second[i][k]
				if lane%2 == 0 {
					a[k], b[k] = ^a[k], ^b[k]
				}
			}
			if n%64 != 0 {
				a[c.words-1] &= 1<<(n%64) - 1
				b[c.words-1] &= 1<<(n%64) - 1
			}
		}
		for k := range c.words {
			c.rows[k*HammingRows+lane] = a[k]
			c.rows[(c.words+k)*HammingRows+lane] = b[k]
		}
	}
	return c
}

// pack prepares the columns for HammingSums.
func (c *hammingCase) pack() {
	for i := range c.columns.Parts() {
		c.columns.PackPart(i)
	}
}

func (c *hammingCase) add(x, y []uint64, w float64) {
	c.first, c.second, c.weights = append(c.first, x), append(c.second, y), append(c.weights, w)
	c.columns.Append(x, y, float32(w))
}

// check compares sums with their definition in float64.
func (c *hammingCase) check(t *testing.T, loss []float64, base, spin []float32, name string) {
	t.Helper()
	baseTable := c.tables.base
	if baseTable == nil {
		baseTable = c.tables.spin
	}
	var weight float64
	for _, w := range c.weights {
		weight += math.Abs(w)
	}
	tolerance := 5 * 1e-6 * weight // table entries are below 5
	near := func(want, have float64, what string, lane int) {
		if !(math.Abs(want-have) <= tolerance) {
			require.InDelta(t, want, have, tolerance, "%s, %s, lane %d", name, what, lane)
		}
	}
	for lane := range HammingRows {
		var wantLoss, wantBase float64
		wantSpin := make([]float64, c.n)
		for i, w := range c.weights {
			h := 0
			for k := range c.words {
				h += bits.OnesCount64(c.rows[k*HammingRows+lane]^c.first[i][k]) +
					bits.OnesCount64(c.rows[(c.words+k)*HammingRows+lane]^c.second[i][k])
			}
			wantLoss += w * float64(c.tables.loss[h])
			wantBase += w * float64(baseTable[h])
			for d := range wantSpin {
				wantSpin[d] += w * float64(c.tables.spin[h]) * float64(2*int(c.first[i][d/64]>>(d%64)&1)-1)
			}
		}
		near(wantLoss, loss[lane], "loss", lane)
		near(wantBase, float64(base[lane]), "base", lane)
		for d, want := range wantSpin {
			near(want, float64(spin[d*HammingRows+lane]), "spins", lane)
		}
	}
}

// eachHamming also takes the AVX-512 path without VPOPCNTDQ.
func eachHamming(t *testing.T, f func(t *testing.T)) {
	forEachPath(t, func(t *testing.T, path Path) {
		f(t)
		if path == AVX512 {
			withoutVPOPCNTDQ(func() { f(t) })
		}
	})
}

func TestHammingSums(t *testing.T) {
	long.SkipShort(t)
	eachHamming(t, func(t *testing.T) {
		limit := 2 * 4 * HammingRows
		rows, loss := endOfPage[uint64](t, limit), endOfPage[float64](t, HammingRows)
		lossTable, baseTable, spinTable := endOfPage[float32](t, 600), endOfPage[float32](t, 600), endOfPage[float32](t, 600)
		pairTable := endOfPage[float32](t, 1200)
		for _, n := range []int{1, 2, 3, 4, 5, 6, 9, 10, 11, 14, 15, 16, 17, 20, 25, 30, 31, 32, 33, 36, 40, 41, 49, 63, 64, 65, 100, 128, 130, 256} {
			for _, columns := range []int{0, 1, 2, 3, 5, 16, 33, 130} {
				if columns > 33 && n > 64 {
					continue
				}
				for _, withBase := range []bool{false, true} {
					r := rand.New(rand.NewPCG(uint64(n), uint64(columns)))
					c := newHammingCase(r, n, columns, withBase)
					name := fmt.Sprintf("%d spins, %d columns, base %v", n, columns, withBase)
					onPage := func(page func(int) []float32, x []float32) []float32 {
						if x == nil {
							return nil
						}
						y := page(len(x))
						copy(y, x)
						return y
					}
					in := rows(len(c.rows))
					copy(in, c.rows)
					tables := NewHammingTables(onPage(lossTable, c.tables.loss), onPage(baseTable, c.tables.base), onPage(spinTable, c.tables.spin))
					tables.pairs = onPage(pairTable, tables.pairs)
					out := loss(HammingRows)
					base, spin := newGuarded[float32](HammingRows), newGuarded[float32](n*HammingRows)
					HammingSums(out, base.data, spin.data, in, c.columns, tables)
					base.check(t)
					spin.check(t)
					c.check(t, out, base.data, spin.data, name)
				}
			}
		}
	})
}

// Many columns, so that the assembly is called several times, and runs longer
// than a segment.
func TestHammingSumsOfManyColumns(t *testing.T) {
	long.SkipShort(t)
	eachHamming(t, func(t *testing.T) {
		for _, n := range []int{3, 16, 40} {
			c := newHammingCase(rand.New(rand.NewPCG(uint64(n), 1)), n, 5000, true)
			loss, base, spin := make([]float64, HammingRows), make([]float32, HammingRows), make([]float32, n*HammingRows)
			HammingSums(loss, base, spin, c.rows, c.columns, c.tables)
			c.check(t, loss, base, spin, fmt.Sprintf("%d spins", n))
			// The same columns again.
			c.columns.Reset()
			for i, w := range c.weights {
				c.columns.Append(c.first[i], c.second[i], float32(w))
			}
			require.Zero(t, alloctest.PerRun(3, func() {
				c.pack()
				HammingSums(loss, base, spin, c.rows, c.columns, c.tables)
			}))
			c.check(t, loss, base, spin, fmt.Sprintf("%d spins, packed again", n))
		}
	})
}

// TestHammingStream: columns with the same first configuration make runs of up to 64, which
// lie longest first, those of a length in segments of up to 64 columns, and segments in
// chunks of up to 2048, as full as they can be.
func TestHammingStream(t *testing.T) {
	if bestPath == Generic {
		return // nothing reads a stream
	}
	for _, n := range []int{3, 16, 17, 40} {
		c := newHammingCase(rand.New(rand.NewPCG(uint64(n), 1)), n, 5000, false)
		equal, want := map[uint64]int{}, map[int]int{} // runs by length
		for _, x := range c.first {
			equal[x[0]]++
		}
		for _, count := range equal {
			want[maxRun] += count / maxRun
			want[count%maxRun]++
		}
		delete(want, 0)
		p := &c.columns.packed
		got, at, inChunk, before := map[int]int{}, 0, 0, 0
		var chunks []int
		for at < len(p.stream) {
			if inChunk == 0 {
				chunks = append(chunks, at)
			}
			runs := int(p.stream[at])
			if runs == 0 {
				at++
				inChunk = 0
				continue
			}
			length := int(p.stream[at+1]) + 1
			got[length] += runs
			rest := want[length] - got[length]
			require.GreaterOrEqual(t, rest, 0)
			if rest > 0 {
				require.Equal(t, maxRun/length, runs, "%d spins, runs of %d", n, length)
			}
			if before > 0 {
				require.LessOrEqual(t, length, before)
			}
			before = length
			inChunk += runs * length
			require.LessOrEqual(t, inChunk, maxChunk)
			at += 2 + runs*(p.groups+length*(p.words+1))
			if next := int(p.stream[at]); next == 0 && at+1 < len(p.stream) {
				require.Greater(t, inChunk+int(p.stream[at+1])*int(p.stream[at+2]+1), maxChunk)
			}
		}
		require.Equal(t, len(p.stream), at)
		require.Equal(t, want, got, "%d spins", n)
		require.Equal(t, chunks, p.chunks, "%d spins", n)
	}
}

func TestHammingRefusesWrongLengths(t *testing.T) {
	c := newHammingCase(rand.New(rand.NewPCG(1, 1)), 9, 3, false)
	loss, base, spin := make([]float64, HammingRows), make([]float32, HammingRows), make([]float32, 9*HammingRows)
	requireRefusal(t, func() { HammingSums(loss[1:], base, spin, c.rows, c.columns, c.tables) })
	requireRefusal(t, func() { HammingSums(loss, base, spin, c.rows[1:], c.columns, c.tables) })
	c.tables.spin = c.tables.spin[1:]
	requireRefusal(t, func() { HammingSums(loss, base, spin, c.rows, c.columns, c.tables) })
	requireRefusal(t, func() { c.columns.Append(make([]uint64, 2), make([]uint64, 2), 1) })
}

func BenchmarkHammingSums(b *testing.B) {
	for _, n := range []int{9, 16, 25, 36, 64, 256} {
		const columns = 2048
		c := newHammingCase(rand.New(rand.NewPCG(1, uint64(n))), n, columns, false)
		loss, base, spin := make([]float64, HammingRows), make([]float32, HammingRows), make([]float32, n*HammingRows)
		b.Run(fmt.Sprintf("spins=%d", n), func(b *testing.B) {
			benchEachPath(b, func(b *testing.B, _ Path) {
				c.pack()
				for b.Loop() {
					HammingSums(loss, base, spin, c.rows, c.columns, c.tables)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(columns*HammingRows), "ns/pair")
			})
		})
	}
}

func FuzzHammingSums(f *testing.F) {
	f.Add(uint64(1), uint8(9), uint8(20), true)
	f.Add(uint64(2), uint8(64), uint8(3), false)
	f.Fuzz(func(t *testing.T, seed uint64, n, columns uint8, withBase bool) {
		before, why, _ := Active()
		defer activate(before, why)
		for _, path := range Supported() {
			require.NoError(t, Use(path))
			c := newHammingCase(rand.New(rand.NewPCG(seed, 1)), 1+int(n), int(columns), withBase)
			loss, base := make([]float64, HammingRows), make([]float32, HammingRows)
			spin := make([]float32, c.n*HammingRows)
			HammingSums(loss, base, spin, c.rows, c.columns, c.tables)
			c.check(t, loss, base, spin, path.String())
		}
	})
}

// TestSizesOfStreams: how spins fall into groups, whose buckets have room for all, and that the
// columns that were announced take no more memory than was made for them.
func TestSizesOfStreams(t *testing.T) {
	if bestPath == Generic {
		return // nothing reads a stream
	}
	for n, want := range map[int][3]int{ // groups, spins of one, words of 32 bits in a column
		1: {2, 1, 1}, 10: {2, 5, 1}, 11: {3, 4, 1}, 15: {3, 5, 1}, 16: {3, 6, 1}, 17: {4, 5, 2}, 20: {4, 5, 2}, 21: {5, 5, 2},
		31: {7, 5, 2}, 32: {7, 5, 4}, 40: {8, 5, 4}, 41: {11, 4, 4}, 44: {11, 4, 4}, 45: {12, 4, 4}, 64: {16, 4, 4},
	} {
		p := NewHammingColumns(n, 1).packed
		require.Equal(t, want, [3]int{p.groups, p.groupBits, p.words}, "%d spins", n)
	}
	for n := 1; n <= hammingNarrow; n++ {
		for _, columns := range []int{0, 1, 31, 33, 2100} {
			c := NewHammingColumns(n, columns)
			p := &c.packed
			room := largeBuckets
			if n <= 15 {
				room = smallBuckets
			}
			require.LessOrEqual(t, p.groups<<p.groupBits, room)
			before := [2]int{cap(p.stream), cap(p.chunks)}
			for i := range columns {
				c.Append([]uint64{uint64(i) & (1<<n - 1)}, []uint64{0}, 1)
			}
			c.PackPart(0)
			require.Equal(t, before, [2]int{cap(p.stream), cap(p.chunks)}, "%d columns of %d spins", columns, n)
			require.Equal(t, columns, len(p.keys))
		}
	}
}

// TestReachOfTables: the last distance at which one of the functions is not 0.
func TestReachOfTables(t *testing.T) {
	for at, want := range map[[3]int]int{{0, 0, 0}: 0, {3, 1, 2}: 3, {1, 3, 2}: 3, {1, 2, 3}: 3, {0, 4, 0}: 4} {
		var tables [3][]float32
		for k := range tables {
			tables[k] = make([]float32, 5)
			tables[k][at[k]] = 1
		}
		require.Equal(t, want, NewHammingTables(tables[0], tables[1], tables[2]).reach)
		require.Equal(t, max(at[0], at[2]), NewHammingTables(tables[0], nil, tables[2]).reach)
	}
}
