package spins

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
)

// An Ensemble is a sites.Ensemble of packed configurations.
type Ensemble = sites.Ensemble[uint64]

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

const onePerByte = 0x0101010101010101

// packSigns packs a configuration of ±1 as int8, eight at a time. It returns the index of the
// first value that is neither +1 nor −1, or −1.
func packSigns(packed []uint64, signs []byte) int {
	for w := range packed {
		part := signs[64*w : min(64*w+64, len(signs))]
		var word uint64
		i := 0
		for ; i+8 <= len(part); i += 8 {
			x := binary.LittleEndian.Uint64(part[i:])
			down := x >> 7 & onePerByte // in each byte, 1 if it is negative
			if x != onePerByte|down*0xfe {
				break
			}
			// The product has bit k of byte 7 from byte k.
			word |= (down ^ onePerByte) * 0x0102040810204080 >> 56 << i
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

// byteSigns has for each byte of packed spins its eight spins as ±1, a byte each.
var byteSigns = func() (signs [256]uint64) {
	for bits := range signs {
		for i := range 8 {
			signs[bits] |= uint64(byte(2*(bits>>i&1)-1)) << (8 * i)
		}
	}
	return signs
}()

// WriteSigns writes packed configurations of n spins to dst as int8, ±1 for each, eight at a time.
func WriteSigns(dst []byte, spins []uint64, n int) {
	for words := (n + 63) / 64; len(dst) > 0; dst, spins = dst[n:], spins[words:] {
		for w, word := range spins[:words] {
			part := dst[64*w : min(64*w+64, n)]
			for ; len(part) >= 8; part, word = part[8:], word>>8 {
				binary.LittleEndian.PutUint64(part, byteSigns[byte(word)])
			}
			for i := range part {
				part[i] = byte(2*(word>>i&1)) - 1
			}
		}
	}
}

// Packed are the sites.States of packed spins.
type Packed struct {
	Spins int
	Shape []int  // of the array of a configuration's spins
	Order string // says which spin is which, as the end of a sentence
	Even  bool   // flipping all spins leaves the energy as it is
}

// Words implements sites.States.
func (p Packed) Words() int { return (p.Spins + 63) / 64 }

// Sites implements sites.States.
func (p Packed) Sites() int { return p.Spins }

// MaxSamples implements sites.States.
func (p Packed) MaxSamples() uint64 { return MaxSamples }

// Formats implements sites.States.
func (p Packed) Formats() []engine.Format {
	return []engine.Format{
		{Name: "spins", Descr: "'|i1'", Shape: p.Shape, RowBytes: p.Spins, Doc: "spins ±1 as int8" + p.Order},
		{Name: "bits", Descr: "'<u8'", Shape: []int{p.Words()}, RowBytes: 8 * p.Words(),
			Doc: "packed spins as little-endian uint64: bit i mod 64 of word i div 64 is spin i, 1 for +1; unused high bits are 0" + p.Order},
	}
}

// Read implements sites.States.
func (p Packed) Read(format string, states []byte) ([]uint64, error) {
	return ReadStates(format, states, p.Spins)
}

// Write implements sites.States.
func (p Packed) Write(dst []byte, format string, batch []uint64) {
	if format == "spins" {
		WriteSigns(dst, batch, p.Spins)
		return
	}
	for i, w := range batch {
		binary.LittleEndian.PutUint64(dst[8*i:], w)
	}
}

// Disperse implements sites.States: in turns configurations have all spins up, all spins down,
// and random spins.
func (p Packed) Disperse(batch []uint64, from *rng.Counter, first uint64) {
	words := p.Words()
	for i := range len(batch) / words {
		switch config := batch[i*words:][:words]; i % 3 {
		case 0:
			clear(config)
			bitspin.Invert(config, p.Spins)
		case 1:
			clear(config)
		case 2:
			Randomize(config, p.Spins, from, (first+uint64(i))*uint64(words))
		}
	}
}

// Stir implements sites.States: if the energy is even it flips all spins of a configuration with
// probability ½.
func (p Packed) Stir(batch []uint64, c rng.Counter, first uint64) {
	if !p.Even {
		return
	}
	words := p.Words()
	var draw [4]uint32
	for i := range len(batch) / words {
		if i%128 == 0 {
			asm.PhiloxBlocks(draw[:], &c, first+uint64(i/128))
		}
		if draw[i/32%4]>>(i%32)&1 != 0 {
			bitspin.Invert(batch[i*words:][:words], p.Spins)
		}
	}
}

// Randomize draws every spin, up or down with probability ½, from block number block on.
func Randomize(config []uint64, spins int, c *rng.Counter, block uint64) {
	var draw [4]uint32
	for k := range config {
		asm.PhiloxBlocks(draw[:], c, block+uint64(k))
		config[k] = uint64(draw[1])<<32 | uint64(draw[0])
	}
	config[len(config)-1] &= bitspin.LastWordMask(spins)
}

var _ sites.States[uint64] = Packed{}
