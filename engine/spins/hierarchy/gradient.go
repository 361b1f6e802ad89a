package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/internal/pool"
)

// A Gradient computes Σ_b c_b ∂ ln q_b/∂θ over the samples b of a record. A piece is the share of
// some blocks in the gradient of one net, whatever the number of threads.
type Gradient struct {
	record       *Record
	workers      *pool.Pool
	coefficients [][block]float32 // [blocks] c_b
	pieces       []piece
	costs        []int     // of a piece and all before it
	gradients    []float32 // of the pieces, one after another
	derivatives  []float32 // of the pieces, from which Net.Fold makes gradients
	spans        pool.Span // of gradients, by piece
	run          func(int)
}

type piece struct {
	net                   int
	lo, hi                int // blocks
	gradient, derivatives int // where they begin in those of all pieces
}

// pieceSize is about how many sites of samples a piece has, so many that folding costs little.
const pieceSize = 1 << 15

// NewGradient makes room for the gradients of a record's blocks. cost returns the cost of a piece.
func (r *Record) NewGradient(cost func(u *Unit, net *Net, blocks int) int, workers *pool.Pool) *Gradient {
	plan, blocks := r.plan, len(r.Rs)
	g := &Gradient{record: r, workers: workers, coefficients: make([][block]float32, blocks)}
	gradients, derivatives, total := 0, 0, 0
	var ends []int
	for i, net := range plan.Nets {
		if net.Params() == 0 {
			continue
		}
		u := plan.Owner(i)
		pieceBlocks := max(1, pieceSize/(block*len(u.Sites)))
		for lo := 0; lo < blocks; lo += pieceBlocks {
			hi := min(lo+pieceBlocks, blocks)
			g.pieces = append(g.pieces, piece{i, lo, hi, gradients, derivatives})
			total += cost(u, net, hi-lo)
			gradients += net.Params()
			derivatives += net.Derivatives()
			g.costs, ends = append(g.costs, total), append(ends, gradients)
		}
	}
	g.gradients, g.derivatives = make([]float32, gradients), make([]float32, derivatives)
	g.spans, g.run = pool.SpanOf(g.gradients, 1).Uneven(ends), g.piece
	return g
}

// Backward sets grad to the gradient. The lists of coefficients, one after another, are for all
// samples in order.
func (g *Gradient) Backward(grad []float32, coefficients ...[]float64) {
	checkLength("gradient", len(grad), g.record.plan.params)
	n := 0
	for _, list := range coefficients {
		for _, c := range list {
			g.coefficients[n/block][n%block] = float32(c)
			n++
		}
	}
	checkLength("coefficients", n, len(g.coefficients)*block)
	g.workers.ShareBy(g.costs, g.run, g.spans)
	clear(grad)
	for _, p := range g.pieces {
		net := g.record.plan.Nets[p.net]
		dst := grad[net.weights:][:net.Params()]
		for i, x := range g.gradients[p.gradient:][:len(dst)] {
			dst[i] += x
		}
	}
}

func (g *Gradient) piece(i int) {
	p, r := &g.pieces[i], g.record
	u, kernel := r.plan.Owner(p.net), r.Weights.At(p.net)
	net := kernel.net
	first, end := p.net-u.Kernel, p.net-u.Kernel+1 // states whose logits the net computes
	if len(u.Nets) == 1 {
		first, end = 0, r.States
	}
	derivatives := g.derivatives[p.derivatives:][:net.Derivatives()]
	clear(derivatives)
	tables, output := net.Parts(derivatives)
	var shift float64
	for k := p.lo; k < p.hi; k++ {
		bits, coefficients := r.Bits[k*r.Size:][:r.Size], &g.coefficients[k]
		for s := range u.Sites {
			residual := r.Residual[(k*r.plan.learned+u.Begin+s)*r.States:][:r.States]
			for c := first; c < end; c++ {
				kernel.Gradient(tables, output, coefficients, &residual[c], bits, u.InputsOf(c, s))
				if !net.shifted {
					continue
				}
				for j, e := range &residual[c] {
					shift += float64(e * coefficients[j])
				}
			}
		}
	}
	net.Fold(g.gradients[p.gradient:][:net.Params()], derivatives, shift)
}

func checkLength(what string, have, want int) {
	if have != want {
		panic(fmt.Sprintf("hierarchy: %s of length %d, not %d", what, have, want))
	}
}
