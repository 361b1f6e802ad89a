package bitspin

import (
	"math/bits"

	"github.com/revgen/revgen/asm"
)

// Randomness is a function of (seed, purpose, step) of the stream and of the
// sample and the Metropolis step, never of how a batch is split. The latter
// two are fields of the 64-bit index of a Philox block.
//
// Proposals that need a fixed number of blocks keep the sample in the low
// bits, so that one call generates a block for each of a strip of samples:
//
//	index = (step·2⁶ + block)·2³⁶ + sample
//
// The words 2 and 3 of block 0 decide the acceptance; words 0 and 1, and those
// of block 1 where a rank needs 64 bits, make the mask. Blocks 2 to 63, of graphs
// 1 to 63, serve draws that were rejected for uniformity.
//
// The multi-spin proposal on more than 64 sites reads as many words as it
// needs from consecutive blocks, with b bits enough for twice the largest
// number of words:
//
//	index = sample·2²⁸ + step·2ᵇ + block
const (
	sampleBits = 36
	blockBits  = 6
	retryBlock = 2 // first block of redraws
	stripSize  = 64

	sequentialBits = 64 - sampleBits // of step and block together
)

// MaxSamples bounds the sample indices that name distinct streams.
const MaxSamples = 1 << sampleBits

// A bound draws uniform integers in [0, n) by Lemire's multiplication: the
// high word of x·n, unless the low word falls among the first 2³² mod n
// values, which would make some results more likely than others.
type bound struct {
	n      uint32
	reject uint32 // 2³² mod n
}

func newBound(n uint32) bound { return bound{n: n, reject: -n % n} }

func (b bound) draw(x uint32) (v uint32, ok bool) {
	product := uint64(x) * uint64(b.n)
	return uint32(product >> 32), uint32(product) >= b.reject
}

// A bound64 is a bound for 64-bit draws.
type bound64 struct {
	n      uint64
	reject uint64 // 2⁶⁴ mod n
}

func newBound64(n uint64) bound64 { return bound64{n: n, reject: -n % n} }

func (b bound64) draw(x uint64) (v uint64, ok bool) {
	hi, lo := bits.Mul64(x, b.n)
	return hi, lo >= b.reject
}

// blockIndex returns the index of a block of the strip layout.
func blockIndex(sample uint64, step, block int) uint64 {
	return (uint64(step)<<blockBits|uint64(block))<<sampleBits | sample
}

// redraw repeats a rejected draw with the given word of the blocks from one on of a
// sample's step. It is outlined because fewer than n in 2³² draws need it.
//
//go:noinline
func (b bound) redraw(c *asm.Counter, sample uint64, step, word, block int) uint32 {
	var words [4]uint32
	for ; ; block++ {
		asm.PhiloxBlocks(words[:], c, blockIndex(sample, step, block))
		if v, ok := b.draw(words[word]); ok {
			return v
		}
	}
}

// redraw repeats a rejected draw with words 2 and 3 of the retry blocks of a
// sample's step.
//
//go:noinline
func (b bound64) redraw(c *asm.Counter, sample uint64, step int) uint64 {
	var words [4]uint32
	for block := retryBlock; ; block++ {
		asm.PhiloxBlocks(words[:], c, blockIndex(sample, step, block))
		if v, ok := b.draw(join(words[2], words[3])); ok {
			return v
		}
	}
}

func join(hi, lo uint32) uint64 { return uint64(hi)<<32 | uint64(lo) }

// A wordReader hands out the words of consecutive blocks one by one.
type wordReader struct {
	counter *asm.Counter
	next    uint64 // index of the block after those in the buffer
	used    int
	buffer  [64]uint32
}

func (r *wordReader) reset(c *asm.Counter, first uint64) {
	r.counter, r.next, r.used = c, first, len(r.buffer)
}

func (r *wordReader) word() uint32 {
	if r.used == len(r.buffer) {
		asm.PhiloxBlocks(r.buffer[:], r.counter, r.next)
		r.next += uint64(len(r.buffer) / 4)
		r.used = 0
	}
	r.used++
	return r.buffer[r.used-1]
}

// uniform draws a uniform integer in [0, n).
func (r *wordReader) uniform(n uint32) uint32 {
	for {
		product := uint64(r.word()) * uint64(n)
		if low := uint32(product); low >= n || low >= -n%n {
			return uint32(product >> 32)
		}
	}
}
