package hierarchy

import (
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// together is the largest number of blocks that are drawn and scored at once: a unit's
// tables are read from memory once for all of them.
const together = 4

// A room is where blocks of samples are, whose bits are a word of each spin and a zero. It
// implements sites.Room.
type room struct {
	Record
	model *Model
	exact exact // with its own tables, which depend on β
	beta  float64
	cut   []uint64 // all configurations of the first block, of which fewer are wanted
}

func (m *Model) newRoom(blocks int, residual bool, workers *pool.Pool) *room {
	r := &room{Record: m.NewRecord(blocks, m.Spins()+1, 1, residual, workers), model: m, exact: m.exact.copy(), beta: m.target.Beta}
	r.exact.tabulate(r.beta)
	return r
}

func (r *room) SetBeta(beta float64) {
	if beta != r.beta {
		r.beta = beta
		r.exact.tabulate(beta)
	}
}

func (r *room) block(k int) []uint64      { return r.Bits[k*r.Size:][:r.Size] }
func (r *room) Score(lo, hi int)          { r.pass(lo, hi, nil) }
func (r *room) Read(k int, from []uint64) { bitspin.Columns(r.block(k), from, r.model.Spins(), 1) }

// Draw: block k owns n of the stream's spins, from k·n on: the learned ones, then the exact ones.
func (r *room) Draw(lo, hi int, stream *asm.Counter, first uint64) {
	clear(r.Bits[lo*r.Size : hi*r.Size])
	var random [together]Words
	for k := range hi - lo {
		random[k].Start(stream, (first+uint64(k))*uint64(r.model.Spins()), r.model.learned)
	}
	r.pass(lo, hi, random[:hi-lo])
}

// pass draws the learned spins of at most together blocks with the random words of each or,
// where these are nil, takes those that are there, and sets ln q, R and derivatives.
func (r *room) pass(lo, hi int, random []Words) {
	m := r.model
	clear(r.LogQs[lo:hi])
	var all [together][block]float32
	logits, n := all[:hi-lo], 0
	for i := range m.Units {
		u, net := &m.Units[i], r.Weights.Of(i)
		for s, site := range u.Sites {
			net.Logits(logits, r.Bits[lo*r.Size:hi*r.Size], u.InputsOf(0, s))
			for k := range logits {
				spin, logq := &r.Bits[(lo+k)*r.Size+int(site)], &r.LogQs[lo+k]
				var derivative *[block]float32
				if r.Residual != nil {
					derivative = &r.Residual[(lo+k)*m.learned+n]
				}
				if random != nil {
					*spin = asm.HeatBath(logq, derivative, &logits[k], random[k].Next())
				} else {
					asm.BitScore(logq, derivative, &logits[k], *spin)
				}
			}
			n++
		}
	}
	for k := lo; k < hi; k++ {
		r.Rs[k] = r.LogQs[k]
		r.exact.logWeights(&r.Rs[k], -1, r.beta, r.block(k))
	}
}

func (r *room) Complete(k int, stream *asm.Counter, number uint64) {
	m := r.model
	var random Words
	random.Start(stream, number*uint64(m.Spins())+uint64(m.learned), m.Spins()-m.learned)
	r.exact.complete(r.block(k), &random)
}

func (r *room) Write(dst []uint64, k, from int) {
	columns := r.block(k)[:r.model.Spins()]
	if from == 0 {
		bitspin.Rows(dst, dst, columns, len(columns), 1)
		return
	}
	words := r.model.Words()
	r.cut = slices.Grow(r.cut[:0], block*words)[:block*words]
	bitspin.Rows(r.cut, r.cut, columns, len(columns), 1)
	copy(dst, r.cut[from*words:])
}

var _ sites.Room[uint64] = (*room)(nil)
