package bitspin

import "github.com/revgen/revgen/asm"

// Randomness is a function of (seed, purpose, step) of the stream and of the
// sample and the Metropolis step, never of how a batch is split. Sample and
// Metropolis step are fields of the 64-bit index of a Philox block.
//
// Proposals that need a fixed number of blocks keep the sample in the low
// bits, so that one call generates a block for each of a strip of samples:
//
//	index = (step·2⁶ + block)·2³⁶ + sample
//
// The words 2 and 3 of block 0 decide the acceptance; words 0 and 1 make the mask.
// Blocks 1 to 63 serve draws that were rejected for uniformity.
//
// The multi-spin proposal on more than 16 sites reads as many words as it needs, for
// one step after the other, from consecutive blocks of the sample:
//
//	index = sample·2²⁸ + block
const (
	sampleBits = 36
	blockBits  = 6
	stripSize  = 64

	perSampleBits = 64 - sampleBits // of a block's number within its sample
)

// MaxSamples bounds the sample indices that name distinct streams.
const MaxSamples = 1 << sampleBits

// A bound draws uniform integers in [0, n) by Lemire's multiplication: the
// high word of x·n. It rejects x if the low word is less than 2³² mod n; otherwise
// some results would be more likely than others.
type bound struct {
	n      uint32
	reject uint32 // 2³² mod n
}

func newBound(n uint32) bound { return bound{n: n, reject: -n % n} }

func (b bound) draw(x uint32) (v uint32, ok bool) {
	product := uint64(x) * uint64(b.n)
	return uint32(product >> 32), uint32(product) >= b.reject
}

// blockIndex returns the index of a block of the strip layout.
func blockIndex(sample uint64, step, block int) uint64 {
	return (uint64(step)<<blockBits|uint64(block))<<sampleBits | sample
}

// redraw repeats a rejected draw with the given word of blocks 1, 2, … of a
// sample's step. It is outlined because fewer than n in 2³² draws need it.
//
//go:noinline
func (b bound) redraw(c *asm.Counter, sample uint64, step, word int) uint32 {
	var words [4]uint32
	for block := 1; ; block++ {
		asm.PhiloxBlocks(words[:], c, blockIndex(sample, step, block))
		if v, ok := b.draw(words[word]); ok {
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

// reset goes to the first word of a sample.
func (r *wordReader) reset(c *asm.Counter, sample uint64) {
	r.counter, r.next, r.used = c, sample<<perSampleBits, len(r.buffer)
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
