package categories

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins/hierarchy"
)

// together is the largest number of blocks that a pass takes at once: a unit's tables are
// read from memory once for all of them.
const together = 4

// A room is where blocks of samples are.
type room struct {
	state    []byte           // [blocks][sites][64]
	bits     []uint64         // [blocks][planes][sites + 1]
	logq     [][block]float64 // [blocks] ln q of the learned sites
	residual [][block]float32 // [blocks][learned][q] ∂ ln q/∂ logit, nil if they are not wanted
}

func (m *Model) newRoom(blocks int, residual bool) room {
	n := m.Sites()
	r := room{
		state: make([]byte, blocks*n*block), bits: make([]uint64, blocks*m.coding.planes()*(n+1)),
		logq: make([][block]float64, blocks),
	}
	if residual {
		r.residual = make([][block]float32, blocks*m.learned*m.coding.q)
	}
	return r
}

// part returns blocks lo … hi−1.
func (r *room) part(m *Model, lo, hi int) room {
	n, planes, each := m.Sites(), m.coding.planes()*(m.Sites()+1), m.learned*m.coding.q
	p := room{state: r.state[lo*n*block : hi*n*block], bits: r.bits[lo*planes : hi*planes], logq: r.logq[lo:hi]}
	if r.residual != nil {
		p.residual = r.residual[lo*each : hi*each]
	}
	return p
}

// block returns the states of a block.
func (r *room) block(m *Model, k int) []byte {
	n := m.Sites() * block
	return r.state[k*n:][:n]
}

// pass draws the learned sites of at most together blocks, with the random words of each, or
// where these are nil takes the states that are there, and sets bits, ln q and residual.
func (m *Model) pass(w *hierarchy.Kernels, r room, random []hierarchy.Words) {
	n, q := m.Sites(), m.coding.q
	clear(r.logq)
	var logits [MostStates][together][block]float32
	var norms [together][block]float64
	for k := range norms {
		for b := range norms[k] {
			norms[k][b] = 1
		}
	}
	blocks, at := len(r.logq), 0
	size := len(r.bits) / blocks
	for i := range m.units {
		u := &m.units[i]
		for s, site := range u.sites {
			for c := range u.q {
				w.Of(u.net(c)).Logits(logits[c][:blocks], r.bits, u.of(c, s))
			}
			for k := range blocks {
				x := (*[block]byte)(r.state[(k*n+int(site))*block:])
				var word *[block]uint32
				if random != nil {
					word = random[k].Next()
				}
				var residual [][block]float32
				if r.residual != nil {
					residual = r.residual[(k*m.learned+at)*q:][:u.q]
				}
				choose(x, &r.logq[k], &norms[k], residual, &logits, u.q, k, word)
				m.coding.write(r.bits[k*size:][:size], n+1, int(site), x)
			}
			if at++; at%100 == 0 || at == m.learned { // before q to the power of it overflows
				for k := range blocks {
					for b, norm := range norms[k] {
						r.logq[k][b] -= math.Log(norm)
						norms[k][b] = 1
					}
				}
			}
		}
	}
}

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
