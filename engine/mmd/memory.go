package mmd

import "github.com/revgen/revgen/asm"

// maxRounding is the largest factor by which the allocator rounds up a request.
const maxRounding = 1.125

// GramBytes bounds what Gram allocates for batches of n states of dim coordinates.
func GramBytes(n, dim int) float64 {
	c := layoutOf(n)
	d, strip, strips, tiles := float64(dim), float64(c.strip), float64(c.strips), float64(tilesOf(c.strips))
	scratch := float64(asm.GramScratch(2*dim)) + 8
	floats := float64(n) + 3*d*float64(c.stride) + tiles*((1+tileStrips)*d*strip+scratch) + strips*((4*d+1)*strip+3*strip+scratch)
	return maxRounding*4*floats + 4096
}

// HammingBytes bounds what Hamming allocates for batches of n configurations of the
// given number of spins.
func HammingBytes(n, spins int) float64 {
	words := float64((spins + 63) / 64)
	rows := float64(n + 2*asm.HammingRows)
	return rows*(8*float64(spins)+8*20*words+400) + 1<<16*words
}

// MixedBytes bounds what Mixed allocates for batches of n states of dim coordinates in
// the given number of modes.
func MixedBytes(n, dim, modes int) float64 {
	groups := float64(modes * modes)
	pieces := min(float64(n), groups) + float64(n)/mixedTile
	perPiece := (12+12*float64(dim))*mixedTile + 160 + 4*float64(asm.GramScratch(2*dim))
	return maxRounding*((4+16*float64(dim)+4*float64(modes))*float64(n)+24*groups+pieces*perPiece) + 4096
}
