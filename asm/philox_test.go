package asm

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// The known answers of philox4x32-10 in Random123's kat_vectors: counter, key, result.
var philoxAnswers = [][10]uint32{
	{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
	{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
		0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
	{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
		0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
}

func TestPhiloxKnownAnswers(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		for _, a := range philoxAnswers {
			c := Counter{Seed: uint64(a[5])<<32 | uint64(a[4]), Step: a[2], Purpose: a[3]}
			at := uint64(a[1])<<32 | uint64(a[0])
			got := make([]uint32, 4)
			PhiloxBlocks(got, &c, at)
			require.Equal(t, a[6:], got, "counter and key %x", a[:6])
			// The same block in every place of a group.
			for place := range uint64(20) {
				many := make([]uint32, 80)
				PhiloxBlocks(many, &c, at-place)
				require.Equal(t, a[6:], many[4*place:4*place+4])
			}
		}
	})
}

// drawLengths straddle groups and the limit of one assembly call.
func drawLengths() []int {
	var all []int
	for n := 0; n <= 300; n += 4 {
		all = append(all, n)
	}
	return append(all, 1<<14-4, 1<<14, 1<<14+4, 1<<14+32, 1<<15+36)
}

func TestPhiloxDrawsEqualGeneric(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		words, numbers := endOfPage[uint32](t, 1<<15+36), endOfPage[float32](t, 1<<15+36)
		for i, n := range drawLengths() {
			c := Counter{Seed: 0x9E3779B97F4A7C15 * uint64(i+1), Step: uint32(i), Purpose: ^uint32(i)}
			for _, first := range []uint64{0, 1<<32 - 5, math.MaxUint64 - 2} {
				x := make([]uint32, n)
				philoxBlocksGeneric(x, &c, first)
				got := words(n)
				PhiloxBlocks(got, &c, first)
				require.True(t, slices.Equal(x, got), "blocks, length %d", n)

				u := make([]float32, n)
				uniformsGeneric(u, &c, first)
				gotU := numbers(n)
				Uniforms(gotU, &c, first)
				require.True(t, slices.Equal(u, gotU), "uniforms, length %d", n)
			}
		}
	})
}

// TestNormalsAcrossTheCarry draws normals of blocks whose numbers change in their
// upper half, at once and one block at a time.
func TestNormalsAcrossTheCarry(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		c := Counter{Seed: 5, Step: 6, Purpose: 7}
		for _, first := range []uint64{1<<32 - 70, math.MaxUint64 - 69} {
			x, want := make([]float32, 4*140), make([]float32, 4*140)
			Normals(x, &c, first)
			for i := range 140 {
				Normals(want[4*i:4*i+4], &c, first+uint64(i))
			}
			require.True(t, slices.Equal(want, x))
			normalsGeneric(want, &c, first)
			require.InDeltaSlice(t, want, x, NormalsError)
		}
	})
}

func TestPhiloxDrawsStayInsideTheirBuffers(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		for _, n := range drawLengths() {
			words, numbers := newGuarded[uint32](n), newGuarded[float32](n)
			PhiloxBlocks(words.data, &Counter{}, 0)
			words.check(t)
			Uniforms(numbers.data, &Counter{}, 0)
			numbers.check(t)
			Normals(numbers.data, &Counter{}, 0)
			numbers.check(t)
		}
	})
}

// An element of a draw does not depend on where the draw begins or ends.
func TestPhiloxDrawsAreSlicesOfTheStream(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		c := Counter{Seed: 5, Purpose: 6, Step: 7}
		all := make([]float32, 400)
		Normals(all, &c, 1000)
		for from := 0; from < 100; from += 4 {
			for n := 0; n <= 120; n += 4 {
				part := make([]float32, n)
				Normals(part, &c, 1000+uint64(from/4))
				require.Equal(t, all[from:from+n], part, "from %d, length %d", from, n)
			}
		}
	})
}

func TestUniformsAreCentredInTheirCells(t *testing.T) {
	c := Counter{Seed: 1}
	x := make([]uint32, 4096)
	u := make([]float32, len(x))
	PhiloxBlocks(x, &c, 7)
	Uniforms(u, &c, 7)
	for i := range x {
		require.Equal(t, (float64(x[i]>>9)+0.5)/(1<<23), float64(u[i]))
	}
}

func TestNormalsFollowTheirDefinition(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		c := Counter{Seed: 99, Purpose: 3, Step: 4}
		x := make([]uint32, 1<<18)
		n := make([]float32, len(x))
		PhiloxBlocks(x, &c, 1<<40)
		Normals(n, &c, 1<<40)
		var worst float64
		for i := 0; i < len(x); i += 2 {
			r := math.Sqrt(-2 * math.Log((float64(x[i])+0.5)/(1<<32)))
			sin, cos := math.Sincos(2 * math.Pi * float64(x[i+1]) / (1 << 32))
			e := max(math.Abs(r*cos-float64(n[i])), math.Abs(r*sin-float64(n[i+1])))
			require.LessOrEqual(t, e, NormalsError, "radius %x angle %x", x[i], x[i+1])
			worst = max(worst, e)
		}
		t.Logf("largest error %.2g", worst)
	})
}

func TestPhiloxDrawsRefusePartialBlocks(t *testing.T) {
	requireRefusal(t, func() { PhiloxBlocks(make([]uint32, 3), &Counter{}, 0) })
	requireRefusal(t, func() { Uniforms(make([]float32, 5), &Counter{}, 0) })
	requireRefusal(t, func() { Normals(make([]float32, 6), &Counter{}, 0) })
}

func TestPhiloxDrawsDoNotAllocate(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		words, numbers := make([]uint32, 100), make([]float32, 100)
		c := Counter{Seed: 1}
		require.Zero(t, alloctest.PerRun(10, func() {
			PhiloxBlocks(words, &c, 0)
			Uniforms(numbers, &c, 0)
			Normals(numbers, &c, 0)
		}))
	})
}

func BenchmarkPhilox(b *testing.B) {
	const n = 1 << 14
	words, numbers := make([]uint32, n), make([]float32, n)
	c := Counter{Seed: 1}
	for _, f := range []struct {
		name string
		draw func()
	}{
		{"blocks", func() { PhiloxBlocks(words, &c, 0) }},
		{"uniforms", func() { Uniforms(numbers, &c, 0) }},
		{"normals", func() { Normals(numbers, &c, 0) }},
	} {
		b.Run(f.name, func(b *testing.B) {
			benchEachPath(b, func(b *testing.B, _ Path) {
				b.SetBytes(4 * n)
				for b.Loop() {
					f.draw()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		})
	}
}

// Moments and tail of 2²² normals on each path, at six standard errors: a false
// alarm in 10⁸ for each.
func TestNormalsAreNormal(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		n := 1 << 22
		if path == Generic {
			n = 1 << 18
		}
		x := make([]float32, n)
		Normals(x, &Counter{Seed: 2024}, 0)
		var power [9]float64
		var beyond3, largest float64
		var product float64 // of the two results of one transform
		for i, v := range x {
			p := 1.0
			for k := range power {
				power[k] += p
				p *= float64(v)
			}
			if math.Abs(float64(v)) > 3 {
				beyond3++
			}
			largest = max(largest, math.Abs(float64(v)))
			if i%2 == 0 {
				product += float64(v) * float64(x[i+1])
			}
		}
		N := float64(n)
		moment := [9]float64{0: 1, 2: 1, 4: 3, 6: 15, 8: 105}
		double := [9]float64{1, 1, 3, 15, 105, 945, 10395, 135135, 2027025} // E x^(2k)
		for k := 1; k <= 8; k++ {
			deviation := math.Sqrt((double[k] - moment[k]*moment[k]) / N)
			require.InDelta(t, moment[k], power[k]/N, 6*deviation, "moment %d", k)
		}
		const tail = 0.002699796063
		require.InDelta(t, tail*N, beyond3, 6*math.Sqrt(tail*N))
		require.InDelta(t, 0, product/(N/2), 6/math.Sqrt(N/2))
		require.Less(t, largest, 6.7638)
	})
}

func FuzzPhilox(f *testing.F) {
	f.Add(uint64(1), uint32(2), uint32(3), uint64(4), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, purpose, step uint32, first uint64, blocks uint8) {
		c := Counter{Seed: seed, Purpose: purpose, Step: step}
		want, got := make([]uint32, 4*int(blocks)), make([]uint32, 4*int(blocks))
		philoxBlocksGeneric(want, &c, first)
		before, why, _ := Active()
		defer activate(before, why)
		for _, path := range Supported() {
			require.NoError(t, Use(path))
			PhiloxBlocks(got, &c, first)
			require.Equal(t, want, got, "%v", path)
		}
	})
}
