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

// maxPassBlocks is the largest number of blocks of a pass, which reads the weights of a unit from memory
// once for all of them.
const maxPassBlocks = 4

// A workspace holds blocks of samples. It implements sites.Workspace.
type workspace struct {
	hierarchy.Record // its Bits are [blocks][planes][sites + 1]
	model            *Model
	law              *law
	state            []byte // [blocks][sites][64]
}

func (m *Model) newWorkspace(blocks int, residual bool, workers *pool.Pool) *workspace {
	n := m.Sites()
	r := &workspace{
		Record: m.NewRecord(blocks, m.coding.planes()*(n+1), m.coding.q, residual, workers),
		model:  m, law: m.law.copy(), state: make([]byte, blocks*n*block),
	}
	r.law.setBeta(m.target.Beta)
	return r
}

// block returns the states of a block.
func (r *workspace) block(k int) []byte {
	n := r.model.Sites() * block
	return r.state[k*n:][:n]
}

func (r *workspace) SetBeta(beta float64)       { r.law.setBeta(beta) }
func (r *workspace) Score(lo, hi int)           { r.pass(lo, hi, nil) }
func (r *workspace) Read(k int, configs []byte) { columns(r.block(k), configs, r.model.Sites()) }
func (r *workspace) Write(configs []byte, k, from int) {
	rows(configs, r.block(k), r.model.Sites(), from)
}

// Kernel implements spins.Kernels. The kernel has the inverse temperature that the workspace
// has while it runs.
func (r *workspace) Kernel(c *spins.TransitionConfig, _ float64) (sites.Kernel[byte], error) {
	return r.law.moves(c)
}

// spareWords is how many more random words a block has than sites, so that the words of the exact
// sites can begin at a multiple of it.
const spareWords = 8

// startWords prepares the random words of block number k of a stream, from word first on.
func (m *Model) startWords(w *hierarchy.RandomWords, stream *rng.Counter, k uint64, first int) {
	w.Start(stream, k*uint64(m.Sites()+spareWords)+uint64(first), math.MaxInt)
}

func (r *workspace) Draw(lo, hi int, stream *rng.Counter, first uint64) {
	var random [maxPassBlocks]hierarchy.RandomWords
	for k := range hi - lo {
		r.model.startWords(&random[k], stream, first+uint64(k), 0)
	}
	r.pass(lo, hi, random[:hi-lo])
}

// Complete draws the exact sites after the learned ones.
func (r *workspace) Complete(k int, stream *rng.Counter, number uint64) {
	var random hierarchy.RandomWords
	r.model.startWords(&random, stream, number, (r.model.Learned()+spareWords-1)/spareWords*spareWords)
	r.law.complete(r.block(k), &random)
}

// pass draws the learned sites of at most maxPassBlocks blocks, each with its random words. If random is
// nil, it keeps the states that are there. It sets bits, ln q, R and residual.
func (r *workspace) pass(lo, hi int, random []hierarchy.RandomWords) {
	m := r.model
	n, q, size := m.Sites(), r.States, r.Size
	clear(r.LogQs[lo:hi])
	var logits [MaxStates][maxPassBlocks][block]float32
	var norms [maxPassBlocks][block]float64 // products of softmax sums whose logarithms LogQs still lacks
	for k := range norms {
		for b := range norms[k] {
			norms[k][b] = 1
		}
	}
	blocks, done := hi-lo, 0 // learned sites so far
	for i := range m.Units {
		u := &m.Units[i]
		states := m.states(u)
		for s, site := range u.Sites {
			for c := range states {
				r.Weights.At(u.NetOf(c)).Logits(logits[c][:blocks], r.Bits[lo*size:hi*size], u.InputsOf(c, s))
			}
			for k := range blocks {
				x := (*[block]byte)(r.state[((lo+k)*n+int(site))*block:])
				var word *[block]uint32
				if random != nil {
					word = random[k].Next()
				}
				var residual [][block]float32
				if r.Residual != nil {
					residual = r.Residual[((lo+k)*m.Learned()+done)*q:][:states]
				}
				choose(x, &r.LogQs[lo+k], &norms[k], residual, &logits, states, k, word)
				m.coding.write(r.Bits[(lo+k)*size:][:size], n+1, int(site), x)
			}
			if done++; done%100 == 0 || done == m.Learned() { // a product of 100 norms, each at most 16, does not overflow
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

var _ sites.Workspace[byte] = (*workspace)(nil)

// choose draws the states of a site of block k from the softmax of its logits, unless words is
// nil: then it keeps the states that are there. ln p of a state is what it adds to logq, less the
// logarithm of the factor by which it multiplies norm. It sets residual, unless that is nil, to the
// derivatives of ln p with respect to the logits.
func choose(x *[block]byte, logq, norm *[block]float64, residual [][block]float32, logits *[MaxStates][maxPassBlocks][block]float32, q, k int, words *[block]uint32) {
	var largest, sum [block]float32
	var e [MaxStates][block]float32
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
		var rest [block]float64 // a uniform share of the sum, less the weights of states 0 … c: negative from the drawn state on
		for b, w := range words {
			rest[b] = float64(sum[b]) * (float64(w) * 0x1p-32)
			x[b] = 0
		}
		for c := range q - 1 {
			for b, v := range &e[c] {
				rest[b] -= float64(v)
				x[b] += byte(1 - math.Float64bits(rest[b])>>63)
			}
		}
	}
	for b, s := range x {
		logq[b] += float64(logits[s&(MaxStates-1)][k][b] - largest[b])
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
