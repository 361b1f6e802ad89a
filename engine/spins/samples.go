package spins

import "encoding/binary"

// WriteSigns writes packed configurations of n spins to dst as int8, ±1 for each.
func WriteSigns(dst []byte, spins []uint64, n int) {
	for words := (n + 63) / 64; len(dst) > 0; dst, spins = dst[n:], spins[words:] {
		for i := range dst[:n] {
			dst[i] = byte(2*(spins[i>>6]>>(i&63)&1)) - 1
		}
	}
}

// WriteBits writes packed configurations to dst as little-endian uint64.
func WriteBits(dst []byte, spins []uint64) {
	for i, w := range spins {
		binary.LittleEndian.PutUint64(dst[8*i:], w)
	}
}
