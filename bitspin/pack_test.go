package bitspin

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPackSigns(t *testing.T) {
	logits := []float32{1, -1, 0, float32(math.NaN()), 1e-45, float32(math.Inf(1)), float32(math.Inf(-1)), -1e-45, float32(math.Copysign(0, -1))}
	batch := []uint64{math.MaxUint64}
	Pack(batch, logits, 9)
	require.Equal(t, []uint64{0b000110001}, batch)
}

func TestPackUnpackRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lat, err := NewLattice(rapid.IntRange(2, 12).Draw(t, "L"))
		require.NoError(t, err)
		rows := rapid.IntRange(0, 5).Draw(t, "rows")
		batch := make([]uint64, 0, rows*lat.Words)
		for range rows {
			batch = append(batch, anyConfig(lat).Draw(t, "config")...)
		}
		floats, bytes := make([]float32, rows*lat.N), make([]int8, rows*lat.N)
		Unpack(floats, batch, lat.N)
		UnpackInt8(bytes, batch, lat.N)
		for r := range rows {
			for i, x := range unpackNaive(lat.L, batch[r*lat.Words:]).spins {
				require.Equal(t, float32(x), floats[r*lat.N+i])
				require.Equal(t, int8(x), bytes[r*lat.N+i])
			}
		}
		back, again := make([]uint64, len(batch)), make([]uint64, len(batch))
		for w := range back {
			back[w], again[w] = math.MaxUint64, math.MaxUint64
		}
		Pack(back, floats, lat.N)
		PackInt8(again, bytes, lat.N)
		require.Equal(t, batch, back)
		require.Equal(t, batch, again)
	})
}

func TestPackLengthsPanic(t *testing.T) {
	require.Panics(t, func() { Pack(make([]uint64, 1), make([]float32, 10), 9) })
	require.Panics(t, func() { PackInt8(make([]uint64, 1), make([]int8, 65), 65) })
	require.Panics(t, func() { Unpack(make([]float32, 18), make([]uint64, 1), 9) })
	require.Panics(t, func() { UnpackInt8(make([]int8, 9), make([]uint64, 2), 9) })
	require.Panics(t, func() { UnpackInt8(nil, nil, 0) })
}
