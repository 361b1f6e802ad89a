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
		floats := make([]float32, rows*lat.N)
		Unpack(floats, batch, lat.N)
		for r := range rows {
			for i, x := range unpackNaive(lat.L, batch[r*lat.Words:]).spins {
				require.Equal(t, float32(x), floats[r*lat.N+i])
			}
		}
		back := make([]uint64, len(batch))
		for w := range back {
			back[w] = math.MaxUint64
		}
		Pack(back, floats, lat.N)
		require.Equal(t, batch, back)
	})
}

func TestPackLengthsPanic(t *testing.T) {
	for _, c := range []struct {
		words, values, n int
		want             string
	}{
		{1, 9, 9, ""}, {2, 18, 9, ""}, {2, 65, 65, ""}, {0, 0, 9, ""}, {1, 1, 1, ""},
		{1, 10, 9, "bitspin: 10 values are no whole number of configurations of 9 spins"}, {0, 0, 0, "bitspin: 0 values are no whole number of configurations of 0 spins"},
		{1, 9, -9, "bitspin: 9 values are no whole number of configurations of -9 spins"},
		{1, 65, 65, "bitspin: batch of 1 words for 1 configurations of 2 words"}, {3, 65, 65, "bitspin: batch of 3 words for 1 configurations of 2 words"},
		{1, 18, 9, "bitspin: batch of 1 words for 2 configurations of 1 words"}, {1, 0, 9, "bitspin: batch of 1 words for 0 configurations of 1 words"},
	} {
		batch, floats := make([]uint64, c.words), make([]float32, c.values)
		for _, call := range []func(){
			func() { Pack(batch, floats, c.n) }, func() { Unpack(floats, batch, c.n) },
		} {
			if c.want == "" {
				require.NotPanics(t, call)
			} else {
				require.PanicsWithValue(t, c.want, call)
			}
		}
	}
}
