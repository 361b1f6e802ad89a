package spins

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// ReadStates packs configurations of n spins that are written as "spins", ±1 as
// int8 for each, or as "bits", little-endian words (package bitspin).
func ReadStates(format string, states []byte, n int) ([]uint64, error) {
	words := (n + 63) / 64
	row := map[string]int{"spins": n, "bits": 8 * words}[format]
	if row == 0 {
		return nil, fmt.Errorf("format: %q is not spins or bits", format)
	}
	if len(states)%row != 0 {
		return nil, fmt.Errorf("states: %d bytes are not a number of configurations of %d spins in format %s", len(states), n, format)
	}
	packed := make([]uint64, len(states)/row*words)
	if format == "bits" {
		for i := range packed {
			packed[i] = binary.LittleEndian.Uint64(states[8*i:])
			if bits.Len64(packed[i]) > n-i%words*64 {
				return nil, fmt.Errorf("states: bits beyond the last of %d spins are set in configuration %d", n, i/words)
			}
		}
		return packed, nil
	}
	for c := range len(states) / n {
		if i := packSigns(packed[c*words:(c+1)*words], states[c*n:(c+1)*n]); i >= 0 {
			return nil, fmt.Errorf("states: spin %d of configuration %d is %d and neither −1 nor 1", i, c, int8(states[c*n+i]))
		}
	}
	return packed, nil
}

// packSigns packs a configuration of ±1 as int8, eight at a time. It returns the first
// that is neither, −1 if all are.
func packSigns(packed []uint64, signs []byte) int {
	const ones = 0x0101010101010101
	for w := range packed {
		part := signs[64*w : min(64*w+64, len(signs))]
		var word uint64
		i := 0
		for ; i+8 <= len(part); i += 8 {
			x := binary.LittleEndian.Uint64(part[i:])
			down := x >> 7 & ones // of each byte, 1 if negative
			if x != ones|down*0xfe {
				break
			}
			// The product has bit k of byte 7 from byte k.
			word |= (down ^ ones) * 0x0102040810204080 >> 56 << i
		}
		for ; i < len(part); i++ {
			if part[i] != 1 && part[i] != 0xff {
				return 64*w + i
			}
			word |= uint64(^part[i]>>7) << i
		}
		packed[w] = word
	}
	return -1
}
