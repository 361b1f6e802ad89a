package ising

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/pool"
)

// graphWitness is the least-squares witness with one feature per configuration,
// averaged exactly over the moves of one Metropolis step, for lattices whose
// configurations can be listed but whose transition matrix is too large.
//
// A move flips a set F of sites, one or all, with probability q α_F(s). So
// E[δδᵀ] is the Laplacian of the graph whose edges are the moves, of weights
//
//	w_F(s) = p(s) q α_F(s) + p(s ⊕ F) q α_F(s ⊕ F),
//
// and the witness solves
//
//	(λ + Σ_F w_F(s)) g(s) − Σ_F w_F(s) g(s ⊕ F) = 2(p − pP)(s),
//
// which conjugate gradients, preconditioned by the diagonal, do in few products.
type graphWitness struct {
	n, pieces int
	moves     []uint32 // the flip of no site, then the sets F
	target    Target
	proposal  bitspin.Proposal
	beta      float64 // of step
	config    perceptron.WitnessConfig
	workers   *pool.Pool

	// As weights of asm.FlipSums, by move: I − Pᵀ, and the system's matrix.
	step, matrix []float32
	left         []float32 // 1 − P(s, s)
	inverse      []float32 // of the matrix's diagonal
	taken        []float64 // steps behind matrix
	average      float32   // weight of this batch in it
	p            [2][]float32
	solution     [2]conjugateGradients

	tabulate, fill, begin, multiply, descend, turn func(piece int)
}

// conjugateGradients solve matrix·x = b: r = b − matrix·x is the residual, d the
// direction and q = matrix·d. With M the diagonal, square is rᵀM⁻¹r, at first and
// now.
type conjugateGradients struct {
	b, x, r, d, q       []float32
	curvatures, squares []float64 // dᵀq and rᵀM⁻¹r, by piece
	first, square       float64
	alpha, beta         float32
	done                bool
}

const (
	graphPiece = 64 * asm.FlipBlock // configurations of a piece of the work
	// A solution ends when the square of the residual, divided by the matrix's
	// diagonal, has fallen by this factor, or after so many products.
	graphReduction  = 1e-8
	graphIterations = 100
)

func newGraphWitness(t Target, proposal bitspin.Proposal, c perceptron.WitnessConfig, workers *pool.Pool) *graphWitness {
	n := 1 << t.N
	o := &graphWitness{
		n: n, pieces: (n + graphPiece - 1) / graphPiece, moves: []uint32{0},
		target: t, proposal: proposal, workers: workers,
		config: c, taken: make([]float64, 1),
		left: make([]float32, n), inverse: make([]float32, n),
	}
	for i := range t.N {
		o.moves = append(o.moves, 1<<i)
	}
	if proposal.Global() > 0 {
		o.moves = append(o.moves, uint32(n-1))
	}
	o.step, o.matrix = make([]float32, n*len(o.moves)), make([]float32, n*len(o.moves))
	for half := range o.solution {
		s := &o.solution[half]
		for _, v := range []*[]float32{&s.b, &s.x, &s.r, &s.d, &s.q} {
			*v = make([]float32, n)
		}
		s.curvatures, s.squares = make([]float64, o.pieces), make([]float64, o.pieces)
	}
	o.tabulate, o.fill = o.tabulatePiece, o.fillPiece
	o.begin, o.multiply, o.descend, o.turn = o.beginPiece, o.multiplyPiece, o.descendPiece, o.turnPiece
	o.beta = math.NaN()
	o.anneal(o.target.Beta)
	return o
}

// state is the matrix, which holds averages over steps, and their number.
func (o *graphWitness) state() []engine.Section {
	return []engine.Section{{Name: "kfd.matrix", Float32: o.matrix}, {Name: "kfd.taken", Float64: o.taken}}
}

func (o *graphWitness) leaving() []float32 { return o.left }

// at returns where the weight of a move from s is in step and matrix.
func (o *graphWitness) at(move, s int) int {
	return (s/asm.FlipBlock*len(o.moves)+move)*asm.FlipBlock + s%asm.FlipBlock
}

func (o *graphWitness) bounds(piece int) (lo, hi int) {
	return piece * graphPiece, min((piece+1)*graphPiece, o.n)
}

// rows returns the weights of configurations lo … hi−1.
func (o *graphWitness) rows(weights []float32, lo, hi int) []float32 {
	return weights[lo*len(o.moves) : hi*len(o.moves)]
}

// anneal takes the chances of moves to an inverse temperature.
func (o *graphWitness) anneal(beta float64) {
	if o.beta == beta {
		return
	}
	o.beta = beta
	o.workers.Run(o.pieces, o.tabulate)
}

func (o *graphWitness) tabulatePiece(piece int) {
	var word [1]uint64
	energy := func(s int) float64 {
		word[0] = uint64(s)
		return o.target.Energy(word[:])
	}
	lo, hi := o.bounds(piece)
	beta := o.beta
	var flip [1]uint64
	for move, f := range o.moves[1:] {
		flip[0] = uint64(f)
		q := o.proposal.Probability(o.target.N, flip[:])
		for s := lo; s < hi; s++ {
			if move == 0 {
				o.left[s] = 0
			}
			change := energy(s^int(f)) - energy(s)
			o.left[s] += float32(q * min(1, math.Exp(-beta*change)))
			// What arrives in s comes by the same flip.
			o.step[o.at(move+1, s)] = -float32(q * min(1, math.Exp(beta*change)))
		}
	}
	for s := lo; s < hi; s++ {
		o.step[o.at(0, s)] = o.left[s]
	}
}

// fillPiece averages the batch's weights of edges into some rows of the matrix.
func (o *graphWitness) fillPiece(piece int) {
	lo, hi := o.bounds(piece)
	p0, p1 := o.p[0], o.p[1]
	for block := lo; block < hi; block += asm.FlipBlock {
		diagonal := o.matrix[o.at(0, block):][:asm.FlipBlock]
		for i := range diagonal {
			diagonal[i] = float32(o.config.Ridge)
		}
		for move, f := range o.moves[1:] {
			row := o.matrix[o.at(move+1, block):][:asm.FlipBlock]
			arrive := o.step[o.at(move+1, block):][:asm.FlipBlock]
			leave := o.step[o.at(move+1, block^int(f)&^(asm.FlipBlock-1)):][:asm.FlipBlock]
			for i, w := range row {
				s := block + i
				t := s ^ int(f)
				edge := (p0[t]+p1[t])/2*arrive[i] + (p0[s]+p1[s])/2*leave[t%asm.FlipBlock]
				w += o.average * (edge - w)
				row[i] = w
				diagonal[i] -= w
			}
		}
	}
}

// beginPiece sets b to p − pP and starts from g = 0.
func (o *graphWitness) beginPiece(piece int) {
	lo, hi := o.bounds(piece)
	for i := lo; i < hi; i++ {
		o.inverse[i] = 1 / o.matrix[o.at(0, i)]
	}
	for half := range o.solution {
		s := &o.solution[half]
		asm.FlipSums(s.b[lo:hi], o.rows(o.step, lo, hi), o.p[half], o.moves, lo)
		clear(s.x[lo:hi])
		copy(s.r[lo:hi], s.b[lo:hi])
		var square float64
		for i := lo; i < hi; i++ {
			s.d[i] = s.r[i] * o.inverse[i]
			square += float64(s.r[i]) * float64(s.d[i])
		}
		s.squares[piece] = square
	}
}

// multiplyPiece sets q to the product of the matrix with the direction.
func (o *graphWitness) multiplyPiece(piece int) {
	lo, hi := o.bounds(piece)
	for half := range o.solution {
		s := &o.solution[half]
		if s.done {
			continue
		}
		q := s.q[lo:hi]
		asm.FlipSums(q, o.rows(o.matrix, lo, hi), s.d, o.moves, lo)
		var even, odd float64
		d := s.d[lo:hi]
		for i := 0; i < len(q); i += 2 {
			even += float64(q[i]) * float64(d[i])
			odd += float64(q[i+1]) * float64(d[i+1])
		}
		s.curvatures[piece] = even + odd
	}
}

// descendPiece goes along the direction to the minimum.
func (o *graphWitness) descendPiece(piece int) {
	lo, hi := o.bounds(piece)
	for half := range o.solution {
		s := &o.solution[half]
		if s.done {
			continue
		}
		x, d, r, q, inverse := s.x[lo:hi], s.d[lo:hi], s.r[lo:hi], s.q[lo:hi], o.inverse[lo:hi]
		var square float64
		for i := range x {
			x[i] += s.alpha * d[i]
			v := r[i] - s.alpha*q[i]
			r[i] = v
			square += float64(v) * float64(v) * float64(inverse[i])
		}
		s.squares[piece] = square
	}
}

// turnPiece turns to the next direction.
func (o *graphWitness) turnPiece(piece int) {
	lo, hi := o.bounds(piece)
	for half := range o.solution {
		s := &o.solution[half]
		if s.done {
			continue
		}
		d, r, inverse := s.d[lo:hi], s.r[lo:hi], o.inverse[lo:hi]
		for i, v := range d {
			d[i] = r[i]*inverse[i] + s.beta*v
		}
	}
}

// solve finds both halves' solutions of matrix·x = b. It reports whether all
// numbers were finite.
func (o *graphWitness) solve() bool {
	o.workers.Run(o.pieces, o.begin)
	for half := range o.solution {
		s := &o.solution[half]
		s.square = sum(s.squares)
		s.first = s.square
	}
	for range graphIterations {
		busy := false
		for half := range o.solution {
			s := &o.solution[half]
			s.done = s.square <= graphReduction*s.first
			busy = busy || !s.done
		}
		if !busy {
			break
		}
		o.workers.Run(o.pieces, o.multiply)
		for half := range o.solution {
			s := &o.solution[half]
			s.alpha = float32(s.square / sum(s.curvatures))
		}
		o.workers.Run(o.pieces, o.descend)
		for half := range o.solution {
			s := &o.solution[half]
			if s.done {
				continue
			}
			next := sum(s.squares)
			s.beta, s.square = float32(next/s.square), next
		}
		o.workers.Run(o.pieces, o.turn)
	}
	for half := range o.solution {
		if s := o.solution[half].square; math.IsNaN(s) || math.IsInf(s, 0) {
			return false
		}
	}
	return true
}

func sum(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}

func (o *graphWitness) discrepancy(p, g [2][]float32) (float64, bool) {
	o.p = p
	if o.config.Stale(o.taken[0]) {
		o.average = o.config.Weight(o.taken[0])
		o.workers.Run(o.pieces, o.fill)
	}
	o.taken[0]++
	if !o.solve() {
		return 0, false
	}
	var loss float64
	for half := range o.solution {
		driven := o.config.Driven(half)
		to := o.solution[driven].b
		for s, v := range o.solution[half].x {
			g[driven][s] = 2 * v
			loss += float64(to[s]) * float64(v)
		}
	}
	return loss, true
}
