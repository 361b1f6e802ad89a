package asm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
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
	for _, a := range philoxAnswers {
		c := Counter{Seed: uint64(a[5])<<32 | uint64(a[4]), Step: a[2], Purpose: a[3]}
		got := make([]uint32, 4)
		PhiloxBlocks(got, &c, uint64(a[1])<<32|uint64(a[0]))
		require.Equal(t, a[6:], got, "counter and key %x", a[:6])
	}
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
	c := Counter{Seed: 99, Purpose: 3, Step: 4}
	x := make([]uint32, 1<<14)
	n := make([]float32, len(x))
	PhiloxBlocks(x, &c, 1<<40)
	Normals(n, &c, 1<<40)
	for i := 0; i < len(x); i += 2 {
		r := math.Sqrt(-2 * math.Log((float64(x[i])+0.5)/(1<<32)))
		sin, cos := math.Sincos(2 * math.Pi * float64(x[i+1]) / (1 << 32))
		require.InDelta(t, r*cos, float64(n[i]), NormalsError, "radius %x angle %x", x[i], x[i+1])
		require.InDelta(t, r*sin, float64(n[i+1]), NormalsError, "radius %x angle %x", x[i], x[i+1])
	}
}

func TestPhiloxDrawsRefusePartialBlocks(t *testing.T) {
	require.Panics(t, func() { PhiloxBlocks(make([]uint32, 3), &Counter{}, 0) })
	require.Panics(t, func() { Uniforms(make([]float32, 5), &Counter{}, 0) })
	require.Panics(t, func() { Normals(make([]float32, 6), &Counter{}, 0) })
}
