package hierarchy

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// wordsTogether is how many spins' random words are drawn together.
const wordsTogether = 8

// words hands out the random words of one spin after another: those of spin i
// of a stream are its blocks 16i to 16i+15, one word a sample.
type words struct {
	stream     *asm.Counter
	next, left int
	buffer     [wordsTogether * block]uint32
	spin       uint64
}

// start prepares the words of n spins from the given one on.
func (w *words) start(stream *asm.Counter, spin uint64, n int) {
	w.stream, w.spin, w.next, w.left = stream, spin, wordsTogether, n
}

// of returns the words of the next spin.
func (w *words) of() *[block]uint32 {
	if w.next == wordsTogether {
		n := min(wordsTogether, w.left)
		w.next = wordsTogether - n
		asm.PhiloxBlocks(w.buffer[w.next*block:], w.stream, w.spin*(block/4))
		w.spin, w.left = w.spin+uint64(n), w.left-n
	}
	w.next++
	return (*[block]uint32)(w.buffer[(w.next-1)*block:])
}

// threshold returns the probability σ(logit) as asm.BitDraw compares it, to a
// multiple of 2⁻³² below 1.
func threshold(logit float64) uint32 {
	return uint32(min(math.RoundToEven(0x1p32/(1+math.Exp(-logit))), math.MaxUint32))
}
