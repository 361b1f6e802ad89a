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

// A room is where blocks of samples are. It implements sites.Room.
type room struct {
	model    *Model
	weights  *Kernels
	exact    exact // with its own tables, which depend on β
	beta     float64
	size     int              // words of a block's state: one a spin, and a zero
	state    []uint64         // [blocks][size]
	logq, r  [][block]float64 // [blocks] ln q of the learned spins, and R = ln q − ln W
	residual [][block]float32 // [blocks][learned] ∂ ln q/∂ logit, nil if they are not wanted
	cut      []uint64         // all configurations of the first block, of which fewer are wanted
}

func (m *Model) newRoom(blocks int, residual bool, workers *pool.Pool) *room {
	r := &room{
		model: m, weights: NewKernels(m.Nets, workers), exact: m.exact.copy(), beta: m.target.Beta,
		size: m.Spins() + 1, logq: make([][block]float64, blocks), r: make([][block]float64, blocks),
	}
	r.state = make([]uint64, blocks*r.size)
	if residual {
		r.residual = make([][block]float32, blocks*m.learned)
	}
	r.exact.tabulate(r.beta)
	return r
}

func (r *room) SetBeta(beta float64) {
	if beta != r.beta {
		r.beta = beta
		r.exact.tabulate(beta)
	}
}

func (r *room) block(k int) []uint64       { return r.state[k*r.size:][:r.size] }
func (r *room) Set(params []float32)       { r.weights.Set(params) }
func (r *room) R(k int) *[block]float64    { return &r.r[k] }
func (r *room) LogQ(k int) *[block]float64 { return &r.logq[k] }
func (r *room) Score(lo, hi int)           { r.pass(lo, hi, nil) }
func (r *room) Read(k int, from []uint64)  { bitspin.Columns(r.block(k), from, r.model.Spins(), 1) }

// Draw: block k owns n of the stream's spins, from k·n on: the learned ones, then the exact ones.
func (r *room) Draw(lo, hi int, stream *asm.Counter, first uint64) {
	clear(r.state[lo*r.size : hi*r.size])
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
	clear(r.logq[lo:hi])
	var all [together][block]float32
	logits, n := all[:hi-lo], 0
	for i := range m.Units {
		u, net := &m.Units[i], r.weights.Of(i)
		for s, site := range u.Sites {
			net.Logits(logits, r.state[lo*r.size:hi*r.size], u.InputsOf(0, s))
			for k := range logits {
				spin, logq := &r.state[(lo+k)*r.size+int(site)], &r.logq[lo+k]
				var derivative *[block]float32
				if r.residual != nil {
					derivative = &r.residual[(lo+k)*m.learned+n]
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
		r.r[k] = r.logq[k]
		r.exact.logWeights(&r.r[k], -1, r.beta, r.block(k))
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
