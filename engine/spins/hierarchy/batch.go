package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, computes the
// density of as many given configurations as it has room for, and differentiates
// the logarithm of both.
type Batch struct {
	sites.Batch[uint64]
	*Gradient
	room        *room
	given       []uint64 // configurations to score
	completed   []uint64 // those that Complete draws
	runComplete func(int)
}

// The measured costs of a piece apart from its spins' inputs: folding its tables, in spins of
// a block, and each of these spins, in products of an input with a hidden unit.
const (
	foldCost  = 3
	otherCost = 256
)

// NewBatch returns buffers for numbers of samples and of configurations to score,
// multiples of 64.
func (m *Model) NewBatch(samples, scored int, seed uint64, workers *pool.Pool) (*Batch, error) {
	whole, err := sites.NewBatch[uint64](samples, scored, seed, workers)
	if err != nil {
		return nil, err
	}
	blocks, words := whole.Blocks(), block*m.words()
	b := &Batch{Batch: whole, room: m.newRoom(blocks, true, workers)}
	r, n := b.room, min(max(1, blocks/8), together)
	b.In(r, n, func(k, i int) { r.Read(k, b.given[i*words:][:words]) }, func(lo, hi int) []pool.Span {
		return []pool.Span{pool.SpanOf(r.state[lo*r.size:hi*r.size], n*r.size), pool.SpanOf(r.residual[lo*m.learned:hi*m.learned], n*m.learned),
			pool.SpanOf(r.logq[lo:hi], n), pool.SpanOf(r.r[lo:hi], n)}
	})
	b.runComplete = func(k int) {
		r.Complete(k, &b.Stream, uint64(k))
		r.Write(b.completed[k*words:][:words], k, 0)
	}
	sizes := lists.Map(m.units, func(u unit) int { return len(u.sites) })
	b.Gradient = NewGradient(m.nets, sizes, blocks, func(net, blocks int) int {
		return (blocks*sizes[net] + foldCost) * (m.nets[net].padded*m.nets[net].lanes + otherCost)
	}, b.addGradient, workers)
	return b, nil
}

// SetBeta changes the inverse temperature of the weight W, for annealing.
func (b *Batch) SetBeta(beta float64) {
	if beta != b.room.beta {
		b.room.beta = beta
		b.room.exact.tabulate(beta)
	}
}

// score computes ln q, its derivatives and R of the given configurations, ⌈n/64⌉
// words each, with the parameters that Generate had.
func (b *Batch) score(spins []uint64) {
	checkLength("spins", len(spins), b.Scored*block*b.room.model.words())
	b.given = spins
	b.ScoreAll()
	b.given = nil
}

// Complete draws the exact spins of the first samples as well and copies the
// configurations to dst, ⌈n/64⌉ words each, of whole blocks.
func (b *Batch) Complete(dst []uint64) {
	length := block * b.room.model.words() // of a block
	if len(dst)%length != 0 || len(dst) > b.Samples*length {
		panic(fmt.Sprintf("hierarchy: configurations of %d words, not of whole blocks of %d", len(dst), length))
	}
	b.completed = dst
	b.workers.Run(len(dst)/length, b.runComplete)
	b.completed = nil
}

// addGradient adds what blocks have in a unit to the derivatives of its net.
func (b *Batch) addGradient(unit, lo, hi int, scale [][block]float32, tables, output []float32) (shift float64) {
	m := b.room.model
	u, net := &m.units[unit], b.room.weights.Of(unit)
	for k := lo; k < hi; k++ {
		state, scale := b.room.block(k), &scale[k]
		residual := b.room.residual[k*m.learned+u.first:][:len(u.sites)]
		for s := range u.sites {
			net.Gradient(tables, output, scale, &residual[s], state, u.inputs[s*u.padded:][:u.padded])
			if m.biased {
				for j, e := range &residual[s] {
					shift += float64(e * scale[j])
				}
			}
		}
	}
	return shift
}

func checkLength(what string, have, want int) {
	if have != want {
		panic(fmt.Sprintf("hierarchy: %s of length %d, not %d", what, have, want))
	}
}
