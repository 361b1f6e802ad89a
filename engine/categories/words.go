package categories

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// wordsTogether is how many sites' random words are drawn together.
const wordsTogether = 8

// words hands out the random words of a stream, one for each sample of a block: draw i has
// the blocks of numbers 16i to 16i+15.
type words struct {
	stream *rng.Counter
	draw   uint64
	at     int
	buffer [wordsTogether * block]uint32
}

// start begins with a draw.
func (w *words) start(stream *rng.Counter, draw uint64) {
	w.stream, w.draw, w.at = stream, draw, wordsTogether
}

// next returns the words of the next draw.
func (w *words) next() *[block]uint32 {
	if w.at == wordsTogether {
		asm.PhiloxBlocks(w.buffer[:], w.stream, w.draw*(block/4))
		w.draw, w.at = w.draw+wordsTogether, 0
	}
	w.at++
	return (*[block]uint32)(w.buffer[(w.at-1)*block:])
}
