package hierarchy

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// wordsTogether is how many spins' random words are drawn together.
const wordsTogether = 8

// Words hands out the random words of one spin after another: those of spin i
// of a stream are its blocks 16i to 16i+15, one word a sample.
type Words struct {
	stream   *asm.Counter
	at, left int
	buffer   [wordsTogether * block]uint32
	spin     uint64
}

// Start prepares the words of n spins from the given one on.
func (w *Words) Start(stream *asm.Counter, spin uint64, n int) {
	w.stream, w.spin, w.at, w.left = stream, spin, wordsTogether, n
}

// Next returns the words of the next spin.
func (w *Words) Next() *[block]uint32 {
	if w.at == wordsTogether {
		n := min(wordsTogether, w.left)
		w.at = wordsTogether - n
		asm.PhiloxBlocks(w.buffer[w.at*block:], w.stream, w.spin*(block/4))
		w.spin, w.left = w.spin+uint64(n), w.left-n
	}
	w.at++
	return (*[block]uint32)(w.buffer[(w.at-1)*block:])
}

// threshold returns the probability σ(logit) as asm.BitDraw compares it, to a
// multiple of 2⁻³² below 1.
func threshold(logit float64) uint32 {
	return uint32(min(math.RoundToEven(0x1p32/(1+math.Exp(-logit))), math.MaxUint32))
}
