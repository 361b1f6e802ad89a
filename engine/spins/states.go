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
	for i, v := range states {
		if v != 1 && v != 0xff {
			return nil, fmt.Errorf("states: spin %d of configuration %d is %d and neither −1 nor 1", i%n, i/n, int8(v))
		}
		packed[i/n*words+i%n>>6] |= uint64(^v>>7) << (i % n & 63)
	}
	return packed, nil
}
