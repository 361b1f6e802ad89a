package hierarchy

import "github.com/revgen/revgen/asm"

const bufferedSpins = 8

// RandomWords hands out the random words of one spin after another, a word for each sample of a
// block. Spin i of a stream has its Philox blocks 16i to 16i+15.
type RandomWords struct {
	stream *asm.Counter
	at     int // the next spin in the buffer, which is full to its end
	left   int // spins that are still to be drawn
	buffer [bufferedSpins * block]uint32
	spin   uint64 // the next to be drawn
}

// Start prepares the words of n spins from the given one on.
func (w *RandomWords) Start(stream *asm.Counter, spin uint64, n int) {
	w.stream, w.spin, w.at, w.left = stream, spin, bufferedSpins, n
}

// Next returns the words of the next spin.
func (w *RandomWords) Next() *[block]uint32 {
	if w.at == bufferedSpins {
		n := min(bufferedSpins, w.left)
		w.at = bufferedSpins - n
		asm.PhiloxBlocks(w.buffer[w.at*block:], w.stream, w.spin*(block/4))
		w.spin, w.left = w.spin+uint64(n), w.left-n
	}
	w.at++
	return (*[block]uint32)(w.buffer[(w.at-1)*block:])
}
