package bitspin

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
)

// BulkReplicas is the number of replicas in a block of a Bulk.
const BulkReplicas = asm.ReplicaBits

// A Bulk runs Metropolis sweeps on many replicas of one model, with one bit for a
// replica and one vector for a site of all replicas of a block. Every site of every
// replica has a draw of its own. See asm.Sweep for the order of the sites without a
// field and for what is exact; in a field sweeps take the sites in their order, and
// several times longer.
type Bulk struct {
	Model
	Beta float64

	sweep      *asm.Sweep
	field      *fieldSweep // instead of sweep, in a field
	stream     asm.Counter
	spins      []uint64 // by blocks of BulkReplicas replicas
	generators []asm.Xoshiro
	sweeps     []uint32 // done on each block
}

// startStep is the step of a stream that starting states are drawn from.
const startStep = math.MaxUint32

// NewBulk returns replicas of the model at inverse temperature beta in random
// configurations. Their number must be a multiple of BulkReplicas. The draws
// belong to the stream's seed and purpose; its step is the number of the sweep.
func NewBulk(model Model, beta float64, replicas int, stream Counter) (*Bulk, error) {
	switch {
	case !(beta >= 0) || math.IsInf(beta, 0):
		return nil, fmt.Errorf("inverse temperature %v is not a finite number of at least 0", beta)
	case replicas < 1 || replicas%BulkReplicas != 0:
		return nil, fmt.Errorf("number of replicas %d is not a positive multiple of %d", replicas, BulkReplicas)
	}
	blocks := replicas / BulkReplicas
	cost := 4 * beta * math.Abs(model.J)
	b := &Bulk{
		Model: model, Beta: beta,
		sweep:      asm.NewSweep(model.L, math.Exp(-cost), math.Exp(-2*cost), model.J < 0),
		stream:     stream,
		spins:      make([]uint64, blocks*model.N*asm.ReplicaWords),
		generators: make([]asm.Xoshiro, blocks),
		sweeps:     make([]uint32, blocks),
	}
	if model.H != 0 {
		b.field = newFieldSweep(model, beta)
	}
	b.stream.Step = startStep
	var words [4]uint32
	for i := range b.spins {
		asm.PhiloxBlocks(words[:], &b.stream, uint64(i/2))
		b.spins[i] = join(words[i%2*2+1], words[i%2*2])
	}
	for i := range b.generators {
		b.generators[i].Seed(&b.stream, uint64(len(b.spins)+16*i))
	}
	return b, nil
}

// Align sets all spins along the field, up if there is none. A ferromagnet that
// starts so soon equilibrates below its critical temperature, up to the sign of
// its magnetisation without a field, where random configurations freeze into
// stripes.
func (b *Bulk) Align() {
	spins := ^uint64(0)
	if b.H < 0 {
		spins = 0
	}
	for i := range b.spins {
		b.spins[i] = spins
	}
}

// Blocks returns the number of blocks of replicas.
func (b *Bulk) Blocks() int { return len(b.generators) }

// Replicas returns the number of replicas.
func (b *Bulk) Replicas() int { return b.Blocks() * BulkReplicas }

// Sweep performs n sweeps on blocks lo … hi−1. Goroutines may sweep different
// blocks at the same time; the result does not depend on how blocks are shared
// out.
func (b *Bulk) Sweep(lo, hi, n int) {
	for block := lo; block < hi; block++ {
		spins := b.block(block)
		c := b.stream
		for range n {
			if b.field != nil {
				c.Step = b.sweeps[block]
				b.field.run(spins, &c, block)
			} else {
				b.sweep.Independent(spins, &b.generators[block])
			}
			b.sweeps[block]++
		}
	}
}

func (b *Bulk) block(i int) []uint64 {
	n := b.N * asm.ReplicaWords
	return b.spins[i*n : (i+1)*n]
}

func replicaWords(spins []uint64, site int) *[asm.ReplicaWords]uint64 {
	return (*[asm.ReplicaWords]uint64)(spins[site*asm.ReplicaWords:])
}

// Configurations stores all replicas in dst as a batch of packed
// configurations.
func (b *Bulk) Configurations(dst []uint64) {
	checkBatch(dst, b.Replicas(), b.Words)
	for block := range b.Blocks() {
		part := dst[block*BulkReplicas*b.Words:][:BulkReplicas*b.Words]
		Rows(part, part, b.block(block), b.N, asm.ReplicaWords)
	}
}
