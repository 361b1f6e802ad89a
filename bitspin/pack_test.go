package bitspin

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestUnpack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lat, err := NewLattice(rapid.IntRange(2, 12).Draw(t, "L"))
		require.NoError(t, err)
		rows := rapid.IntRange(0, 5).Draw(t, "rows")
		batch := make([]uint64, 0, rows*lat.Words)
		for range rows {
			batch = append(batch, anyConfig(lat).Draw(t, "config")...)
		}
		floats := make([]float32, rows*lat.N)
		Unpack(floats, batch, lat.N)
		for r := range rows {
			for i, x := range unpackNaive(lat.L, batch[r*lat.Words:]).spins {
				require.Equal(t, float32(x), floats[r*lat.N+i])
			}
		}
	})
}

func TestUnpackLengthsPanic(t *testing.T) {
	require.Panics(t, func() { Unpack(make([]float32, 10), make([]uint64, 1), 9) })
	require.Panics(t, func() { Unpack(make([]float32, 65), make([]uint64, 1), 65) })
	require.Panics(t, func() { Unpack(make([]float32, 18), make([]uint64, 1), 9) })
	require.Panics(t, func() { Unpack(make([]float32, 9), make([]uint64, 2), 9) })
	require.Panics(t, func() { Unpack(nil, nil, 0) })
}
