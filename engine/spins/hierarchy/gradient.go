package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/internal/pool"
)

// A Gradient adds up Σ_b c_b ∂ ln q_b/∂θ of nets over blocks of samples. Its pieces, the part
// that some blocks have in one net, do not depend on the number of threads.
type Gradient struct {
	record  *Record
	workers *pool.Pool
	scale   [][block]float32 // [blocks] coefficients
	pieces  []piece
	costs   []int     // of the pieces so far
	partial []float32 // [pieces] gradients of their nets
	hist    []float32 // [pieces] derivatives with respect to tables and output weights
	sums    pool.Span // of partial
	run     func(int)
}

type piece struct {
	net           int
	lo, hi        int // blocks
	partial, hist int // where its gradient and its derivatives are
}

// pieceSize is about how many sites a piece of a gradient has: enough to make light of
// folding tables.
const pieceSize = 1 << 15

// NewGradient makes room for the gradients of a record's blocks. cost is that of some blocks in a net
// of a unit.
func (r *Record) NewGradient(cost func(u *Unit, net *Net, blocks int) int, workers *pool.Pool) *Gradient {
	plan, blocks := r.plan, len(r.Rs)
	g := &Gradient{record: r, workers: workers, scale: make([][block]float32, blocks)}
	partial, hist, all := 0, 0, 0
	var ends []int
	for i, net := range plan.Nets {
		if net.Params() == 0 {
			continue
		}
		u := plan.Owner(i)
		per := max(1, pieceSize/(block*len(u.Sites)))
		for lo := 0; lo < blocks; lo += per {
			hi := min(lo+per, blocks)
			g.pieces = append(g.pieces, piece{i, lo, hi, partial, hist})
			all += cost(u, net, hi-lo)
			partial += net.Params()
			hist += net.Derivatives()
			g.costs, ends = append(g.costs, all), append(ends, partial)
		}
	}
	g.partial, g.hist = make([]float32, partial), make([]float32, hist)
	g.sums, g.run = pool.SpanOf(g.partial, 1).Uneven(ends), g.piece
	return g
}

// Backward sets grad, with the coefficients of all samples in order.
func (g *Gradient) Backward(grad []float32, coefficients ...[]float64) {
	checkLength("gradient", len(grad), g.record.plan.params)
	at := 0
	for _, all := range coefficients {
		for _, c := range all {
			g.scale[at/block][at%block] = float32(c)
			at++
		}
	}
	checkLength("coefficients", at, len(g.scale)*block)
	g.workers.ShareBy(g.costs, g.run, g.sums)
	clear(grad)
	for _, p := range g.pieces {
		net := g.record.plan.Nets[p.net]
		dst := grad[net.weights:][:net.Params()]
		for i, x := range g.partial[p.partial:][:len(dst)] {
			dst[i] += x
		}
	}
}

func (g *Gradient) piece(i int) {
	p, r := &g.pieces[i], g.record
	u, kernel := r.plan.Owner(p.net), r.Weights.Of(p.net)
	net := kernel.net
	first, end := p.net-u.Kernel, p.net-u.Kernel+1 // states whose logits are the net's
	if len(u.Nets) == 1 {
		first, end = 0, r.States
	}
	hist := g.hist[p.hist:][:net.Derivatives()]
	clear(hist)
	tables, output := net.Parts(hist)
	var shift float64
	for k := p.lo; k < p.hi; k++ {
		bits, scale := r.Bits[k*r.Size:][:r.Size], &g.scale[k]
		for s := range u.Sites {
			residual := r.Residual[(k*r.plan.learned+u.Begin+s)*r.States:][:r.States]
			for c := first; c < end; c++ {
				kernel.Gradient(tables, output, scale, &residual[c], bits, u.InputsOf(c, s))
				if !net.shifted {
					continue
				}
				for j, e := range &residual[c] {
					shift += float64(e * scale[j])
				}
			}
		}
	}
	net.Fold(g.partial[p.partial:][:net.Params()], hist, shift)
}

func checkLength(what string, have, want int) {
	if have != want {
		panic(fmt.Sprintf("hierarchy: %s of length %d, not %d", what, have, want))
	}
}
