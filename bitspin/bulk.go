package bitspin

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
)

// Draws says how the replicas of a Bulk get their random numbers.
type Draws int

// With IndependentDraws every site of every replica has a draw of its own. With
// SharedDraws one draw serves a site of all replicas, as in the multi-spin codes
// of the literature: each replica by itself is a faithful Markov chain, but
// replicas are strongly correlated and may merge, so averages over them have the
// error of few chains.
const (
	IndependentDraws Draws = iota
	SharedDraws
)

// BulkReplicas is the number of replicas in a block of a Bulk.
const BulkReplicas = asm.ReplicaBits

// A Bulk runs Metropolis sweeps on many replicas of one model, with one bit for a
// replica and one vector for a site of all replicas of a block. See asm.Sweep for
// the order of the sites without a field and for what is exact; in a field sweeps
// take the sites in their order, and several times longer.
type Bulk struct {
	Model
	Beta float64

	draws      Draws
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
func NewBulk(model Model, beta float64, replicas int, draws Draws, stream Counter) (*Bulk, error) {
	switch {
	case model.H != 0 && draws == SharedDraws:
		return nil, fmt.Errorf("bulk Metropolis with shared draws works without a field, not with h = %v", model.H)
	case !(beta >= 0) || math.IsInf(beta, 0):
		return nil, fmt.Errorf("inverse temperature %v is not a finite number of at least 0", beta)
	case replicas < 1 || replicas%BulkReplicas != 0:
		return nil, fmt.Errorf("number of replicas %d is not a positive multiple of %d", replicas, BulkReplicas)
	case draws != IndependentDraws && draws != SharedDraws:
		return nil, fmt.Errorf("unknown kind of draws %d", draws)
	}
	blocks := replicas / BulkReplicas
	cost := 4 * beta * math.Abs(model.J)
	b := &Bulk{
		Model: model, Beta: beta,
		draws:      draws,
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
		c.Step = b.sweeps[block]
		if b.field == nil && b.draws == SharedDraws {
			b.sweep.SharedSweeps(spins, &c, n)
		} else {
			for range n {
				if b.field != nil {
					b.field.run(spins, &c, block)
				} else {
					b.sweep.Independent(spins, &b.generators[block])
				}
				c.Step++
			}
		}
		b.sweeps[block] += uint32(n)
	}
}

func (b *Bulk) block(i int) []uint64 {
	n := b.N * asm.ReplicaWords
	return b.spins[i*n : (i+1)*n]
}

// BondSums stores B = Σ_<ij> s_i s_j of each replica in dst.
func (b *Bulk) BondSums(dst []int) {
	b.count(dst, func(sum *verticalSum, spins []uint64, site int) {
		row, col := site/b.L, site%b.L
		here := replicaWords(spins, site)
		right := replicaWords(spins, row*b.L+(col+1)%b.L)
		down := replicaWords(spins, (row+1)%b.L*b.L+col)
		var x, y [asm.ReplicaWords]uint64
		for i := range here {
			x[i], y[i] = here[i]^right[i], here[i]^down[i]
		}
		sum.add(x)
		sum.add(y)
	})
	for i, unsatisfied := range dst {
		dst[i] = b.Bonds() - 2*unsatisfied
	}
}

// Magnetisations stores M = Σ s_i of each replica in dst.
func (b *Bulk) Magnetisations(dst []int) {
	b.count(dst, func(sum *verticalSum, spins []uint64, site int) { sum.add(*replicaWords(spins, site)) })
	for i, up := range dst {
		dst[i] = 2*up - b.N
	}
}

// count stores for each replica how many of the bits that add contributes for
// every site are set.
func (b *Bulk) count(dst []int, add func(sum *verticalSum, spins []uint64, site int)) {
	if len(dst) != b.Replicas() {
		panic(fmt.Sprintf("bitspin: %d results for %d replicas", len(dst), b.Replicas()))
	}
	for block := range b.Blocks() {
		var sum verticalSum
		for site := range b.N {
			add(&sum, b.block(block), site)
		}
		for i := range BulkReplicas {
			dst[block*BulkReplicas+i] = sum.of(i)
		}
	}
}

func replicaWords(spins []uint64, site int) *[asm.ReplicaWords]uint64 {
	return (*[asm.ReplicaWords]uint64)(spins[site*asm.ReplicaWords:])
}

// A verticalSum holds one number for each replica of a block: bit k of all
// numbers is element k.
type verticalSum [32][asm.ReplicaWords]uint64

// add adds one bit to each number, by half adders.
func (s *verticalSum) add(x [asm.ReplicaWords]uint64) {
	for k := range s {
		var carry uint64
		for i, v := range x {
			x[i] = s[k][i] & v
			s[k][i] ^= v
			carry |= x[i]
		}
		if carry == 0 {
			return
		}
	}
}

func (s *verticalSum) of(replica int) (n int) {
	for k := range s {
		n |= int(s[k][replica/64]>>(replica%64)&1) << k
	}
	return n
}

// Configurations stores all replicas in dst as a batch of packed
// configurations.
func (b *Bulk) Configurations(dst []uint64) {
	checkBatch(dst, b.Replicas(), b.Words)
	var square [64]uint64
	for block := range b.Blocks() {
		spins := b.block(block)
		for part := range asm.ReplicaWords {
			for w := range b.Words {
				clear(square[:])
				for i := range min(64, b.N-64*w) {
					square[i] = spins[(64*w+i)*asm.ReplicaWords+part]
				}
				asm.Transpose64(&square)
				first := block*BulkReplicas + 64*part
				for i, config := range square {
					dst[(first+i)*b.Words+w] = config
				}
			}
		}
	}
}
