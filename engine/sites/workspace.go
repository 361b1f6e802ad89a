package sites

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// block is the number of samples that are drawn together.
const block = asm.BitSamples

// A Workspace holds blocks of samples. It draws them, weighs them, and converts them to and from
// configurations.
type Workspace[W uint64 | byte] interface {
	// SetParams sets the parameters of the generator.
	SetParams(params []float32)
	// SetBeta sets the inverse temperature of the target.
	SetBeta(beta float64)
	// Draw draws the learned sites of blocks lo … hi−1, which have the numbers first, first+1, …
	// in the stream, and computes R and LogQ.
	Draw(lo, hi int, stream *rng.Counter, first uint64)
	// Score computes R and LogQ of the samples in blocks lo … hi−1.
	Score(lo, hi int)
	// R returns R = ln q(s) + βE(s) of the samples in block k.
	R(k int) *[block]float64
	// LogQ returns ln q of the learned sites of the samples in block k.
	LogQ(k int) *[block]float64
	// Complete draws the exact sites of block k, whose number in the stream is given.
	Complete(k int, stream *rng.Counter, number uint64)
	// Read stores configurations in block k.
	Read(k int, configs []W)
	// Write stores samples from, from+1, … of block k in configs.
	Write(configs []W, k, from int)
}
