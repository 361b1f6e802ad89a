package hierarchy

import (
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// maxPassBlocks is the largest number of blocks of a pass, which reads a unit's tables from
// memory once for all of them.
const maxPassBlocks = 4

// A workspace holds blocks of samples. The bits of a block are a word for each spin, and a zero. It
// implements sites.Workspace.
type workspace struct {
	Record
	model      *Model
	exact      exact // with its own tables, which depend on β
	beta       float64
	wholeBlock []uint64 // buffer of Write
}

func (m *Model) newWorkspace(blocks int, residual bool, workers *pool.Pool) *workspace {
	r := &workspace{Record: m.NewRecord(blocks, m.Spins()+1, 1, residual, workers), model: m, exact: m.exact.copy(), beta: m.target.Beta}
	r.exact.tabulate(r.beta)
	return r
}

func (r *workspace) SetBeta(beta float64) {
	if beta != r.beta {
		r.beta = beta
		r.exact.tabulate(beta)
	}
}

func (r *workspace) block(k int) []uint64      { return r.Bits[k*r.Size:][:r.Size] }
func (r *workspace) Score(lo, hi int)          { r.pass(lo, hi, nil) }
func (r *workspace) Read(k int, from []uint64) { bitspin.Columns(r.block(k), from, r.model.Spins(), 1) }

// Draw implements sites.Workspace. With n spins a block, number k has the random words of spins
// k·n … k·n+n−1 of the stream, those of learned spins first.
func (r *workspace) Draw(lo, hi int, stream *asm.Counter, first uint64) {
	clear(r.Bits[lo*r.Size : hi*r.Size])
	var random [maxPassBlocks]RandomWords
	for k := range hi - lo {
		random[k].Start(stream, (first+uint64(k))*uint64(r.model.Spins()), r.model.learned)
	}
	r.pass(lo, hi, random[:hi-lo])
}

// pass sets ln q, R and the residuals of blocks lo … hi−1, at most maxPassBlocks. It draws their
// learned spins by the random words of each block or, if random is nil, scores those that are
// there.
func (r *workspace) pass(lo, hi int, random []RandomWords) {
	m := r.model
	clear(r.LogQs[lo:hi])
	var buffer [maxPassBlocks][block]float32
	logits, n := buffer[:hi-lo], 0
	for i := range m.Units {
		u, net := &m.Units[i], r.Weights.At(i)
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

func (r *workspace) Complete(k int, stream *asm.Counter, number uint64) {
	m := r.model
	var random RandomWords
	random.Start(stream, number*uint64(m.Spins())+uint64(m.learned), m.Spins()-m.learned)
	r.exact.complete(r.block(k), &random)
}

func (r *workspace) Write(dst []uint64, k, from int) {
	columns := r.block(k)[:r.model.Spins()]
	if from == 0 {
		bitspin.Rows(dst, dst, columns, len(columns), 1)
		return
	}
	words := r.model.Words()
	r.wholeBlock = slices.Grow(r.wholeBlock[:0], block*words)[:block*words]
	bitspin.Rows(r.wholeBlock, r.wholeBlock, columns, len(columns), 1)
	copy(dst, r.wholeBlock[from*words:])
}

var _ sites.Workspace[uint64] = (*workspace)(nil)
