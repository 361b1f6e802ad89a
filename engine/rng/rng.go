// Package rng names the streams of random numbers that a run draws from.
//
// A stream is a Philox 4x32-10 counter sequence: its draws are a function of
// (seed, purpose, step, position) alone. Positions are counted in blocks of
// four words, and each sample owns a fixed range of blocks, so any number of
// threads or machines produces the same numbers, a resumed run continues where
// it stopped, and a shard of a sample is a slice of the whole.
package rng

import "github.com/revgen/revgen/asm"

// A Purpose keeps the streams of one seed apart.
type Purpose uint32

// The purposes. Their values are part of what makes a run repeatable: new ones
// are added at the end.
const (
	Initialization    Purpose = iota + 1 // starting values of the parameters
	TrainLatent                          // noise of a training step's batch
	TrainHead                            // sampling layer of a training step's batch
	TrainTransition                      // Metropolis–Hastings steps of a training step
	_                                    // not used any more
	SampleLatent                         // noise of drawn samples
	SampleHead                           // sampling layer of drawn samples
	SampleTransition                     // refinement of drawn samples
	Reference                            // exact samples and bootstrap of evaluations
	Features                             // random features of witnesses
	_                                    // not used any more
	_                                    // not used any more
	Perturbation                         // candidate parameters of training without gradients
	WalkTransition                       // steps of samples that are diagnosed
	ChainStart                           // start of chains that do not depend on a generator
	ChainTransition                      // steps of those chains
	Scouting                             // the population that looks for where a target has its weight
	SampleAcceptance                     // decisions of chains whose proposals are drawn samples
	LadderSwap                           // swaps of chains at neighbouring temperatures
	ClusterTransition                    // steps of chains by moves of clusters
	ShapeTransition                      // steps of chains in the shape of a generator's samples
)

// OfReference is added to the purpose of chains whose draws are a reference. They share no draws
// with the chains of a diagnosis.
const OfReference Purpose = 1 << 8

// A Counter names a stream: its seed, purpose and step.
type Counter = asm.Counter

// Stream returns the counter of the given purpose and step.
func Stream(seed uint64, p Purpose, step uint32) Counter {
	return Counter{Seed: seed, Purpose: uint32(p), Step: step}
}

// Blocks returns how many blocks of four words hold n words.
func Blocks(n int) int { return (n + 3) / 4 }

// Normals fills dst, row-major with dim numbers a row, with the standard
// normals of the samples first, first+1, … of the stream c. Each sample owns
// Blocks(dim) blocks.
func Normals(dst []float32, dim int, c *Counter, first uint64) {
	perSample := uint64(Blocks(dim))
	if dim%4 == 0 {
		asm.Normals(dst, c, first*perSample)
		return
	}
	// A sample uses only a part of its last block; many samples are drawn at once.
	var draw [drawLen]float32
	stride := int(4 * perSample)
	whole := dim &^ 3
	for rows := len(dst) / dim; rows > 0; {
		n := min(rows, drawLen/stride)
		if n == 0 {
			asm.Normals(dst[:whole], c, first*perSample)
			asm.Normals(draw[:4], c, (first+1)*perSample-1)
			copy(dst[whole:dim], draw[:])
			n = 1
		} else {
			asm.Normals(draw[:n*stride], c, first*perSample)
			for r := range n {
				copy(dst[r*dim:(r+1)*dim], draw[r*stride:])
			}
		}
		dst, rows, first = dst[n*dim:], rows-n, first+uint64(n)
	}
}

const drawLen = 512 // normals of one draw of short samples
