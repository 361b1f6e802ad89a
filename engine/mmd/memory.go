package mmd

import "github.com/revgen/revgen/asm"

// GramBytes bounds what Gram allocates for batches of n states of dim coordinates.
func GramBytes(n, dim int) float64 {
	strips := float64(maxStrips)
	tiles := float64(tilesOf(maxStrips))
	rows := float64(n + 2*minStrip*maxStrips)
	perRow := 4*3*float64(dim) + tiles/strips*4*(1+wide)*float64(dim) + 16*float64(dim) + 24
	pieces := tiles + strips
	return rows*(perRow+24*float64(dim)) + pieces*4*float64(asm.GramScratch(2*dim))
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
	return (4+16*float64(dim)+4*float64(modes))*float64(n) + 24*groups + pieces*perPiece
}
