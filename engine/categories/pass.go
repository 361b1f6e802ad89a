package categories

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// together is the largest number of blocks that a pass takes at once: a unit's tables are
// read from memory once for all of them.
const together = 4

// A room is where blocks of samples are. It implements sites.Room.
type room struct {
	hierarchy.Record // whose bits are [planes][sites + 1] of each block
	model            *Model
	law              *law
	state            []byte // [blocks][sites][64]
}

func (m *Model) newRoom(blocks int, residual bool, workers *pool.Pool) *room {
	n := m.Sites()
	r := &room{
		Record: m.NewRecord(blocks, m.coding.planes()*(n+1), m.coding.q, residual, workers),
		model:  m, law: m.law.copy(), state: make([]byte, blocks*n*block),
	}
	r.law.setBeta(m.target.Beta)
	return r
}

// block returns the states of a block.
func (r *room) block(k int) []byte {
	n := r.model.Sites() * block
	return r.state[k*n:][:n]
}

func (r *room) SetBeta(beta float64)       { r.law.setBeta(beta) }
func (r *room) Score(lo, hi int)           { r.pass(lo, hi, nil) }
func (r *room) Read(k int, configs []byte) { columns(r.block(k), configs, r.model.Sites()) }
func (r *room) Write(configs []byte, k, from int) {
	rows(configs, r.block(k), r.model.Sites(), from)
}

// Kernel implements spins.Kernels, at the inverse temperature that the room has when it runs.
func (r *room) Kernel(c *spins.TransitionConfig, _ float64) (sites.Kernel[byte], error) {
	return r.law.moves(c)
}

// spare is how many more random words a block has than sites: the exact ones begin at a
// multiple of it.
const spare = 8

// start prepares the words of block number k of a stream, from the given one on.
func (m *Model) start(w *hierarchy.Words, stream *rng.Counter, k uint64, from int) {
	w.Start(stream, k*uint64(m.Sites()+spare)+uint64(from), math.MaxInt)
}

func (r *room) Draw(lo, hi int, stream *rng.Counter, first uint64) {
	var random [together]hierarchy.Words
	for k := range hi - lo {
		r.model.start(&random[k], stream, first+uint64(k), 0)
	}
	r.pass(lo, hi, random[:hi-lo])
}

// Complete draws the exact sites after the learned ones.
func (r *room) Complete(k int, stream *rng.Counter, number uint64) {
	var random hierarchy.Words
	r.model.start(&random, stream, number, (r.model.Learned()+spare-1)/spare*spare)
	r.law.complete(r.block(k), &random)
}

// pass draws the learned sites of at most together blocks, with the random words of each, or
// where these are nil takes the states that are there, and sets bits, ln q, R and residual.
func (r *room) pass(lo, hi int, random []hierarchy.Words) {
	m := r.model
	n, q, size := m.Sites(), r.States, r.Size
	clear(r.LogQs[lo:hi])
	var logits [MostStates][together][block]float32
	var norms [together][block]float64
	for k := range norms {
		for b := range norms[k] {
			norms[k][b] = 1
		}
	}
	blocks, at := hi-lo, 0
	for i := range m.Units {
		u := &m.Units[i]
		states := m.states(u)
		for s, site := range u.Sites {
			for c := range states {
				r.Weights.Of(u.NetOf(c)).Logits(logits[c][:blocks], r.Bits[lo*size:hi*size], u.InputsOf(c, s))
			}
			for k := range blocks {
				x := (*[block]byte)(r.state[((lo+k)*n+int(site))*block:])
				var word *[block]uint32
				if random != nil {
					word = random[k].Next()
				}
				var residual [][block]float32
				if r.Residual != nil {
					residual = r.Residual[((lo+k)*m.Learned()+at)*q:][:states]
				}
				choose(x, &r.LogQs[lo+k], &norms[k], residual, &logits, states, k, word)
				m.coding.write(r.Bits[(lo+k)*size:][:size], n+1, int(site), x)
			}
			if at++; at%100 == 0 || at == m.Learned() { // before q to the power of it overflows
				for k := range blocks {
					for b, norm := range norms[k] {
						r.LogQs[lo+k][b] -= math.Log(norm)
						norms[k][b] = 1
					}
				}
			}
		}
	}
	for k := lo; k < hi; k++ {
		r.Rs[k] = r.LogQs[k]
		r.law.addLogWeights(&r.Rs[k], -1, r.block(k))
	}
}

var _ sites.Room[byte] = (*room)(nil)

// choose draws the states of a site of block k from the softmax of its logits, unless words is
// nil and they are there. The logarithm of a state's probability is what it adds to logq, less
// that of what it multiplies norm with. It sets residual, unless it is nil, to the
// derivatives with respect to the logits.
func choose(x *[block]byte, logq, norm *[block]float64, residual [][block]float32, logits *[MostStates][together][block]float32, q, k int, words *[block]uint32) {
	var largest, sum [block]float32
	var e [MostStates][block]float32
	largest = logits[0][k]
	for c := 1; c < q; c++ {
		for b, l := range &logits[c][k] {
			largest[b] = max(largest[b], l)
		}
	}
	for c := range q {
		for b, l := range &logits[c][k] {
			e[c][b] = l - largest[b]
		}
		asm.Exp(e[c][:], e[c][:])
		for b, v := range &e[c] {
			sum[b] += v
		}
	}
	if words != nil {
		var left [block]float64
		for b, w := range words {
			left[b] = float64(sum[b]) * (float64(w) * 0x1p-32)
			x[b] = 0
		}
		for c := range q - 1 {
			for b, v := range &e[c] {
				left[b] -= float64(v)
				x[b] += byte(1 - math.Float64bits(left[b])>>63)
			}
		}
	}
	for b, s := range x {
		logq[b] += float64(logits[s&(MostStates-1)][k][b] - largest[b])
		norm[b] *= float64(sum[b])
	}
	for c := range residual {
		r := &residual[c]
		for b, v := range &e[c] {
			r[b] = -v / sum[b]
		}
	}
	if residual != nil {
		for b, s := range x {
			residual[s][b]++
		}
	}
}
