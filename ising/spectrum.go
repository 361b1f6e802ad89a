package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/pool"
)

// spectrum is the least-squares witness in Walsh functions χ_A, averaged
// exactly over the moves of one Metropolis step, for lattices whose
// configurations can be listed but whose transition matrix is too large.
//
// A move flips a set F of sites, one or all, with probability q α(s), and
// changes χ_A by 2χ_A if |A ∩ F| is odd. So the moments need nothing but the
// Walsh–Hadamard transforms of functions of configurations, whatever the size
// of the batch: with W_F that of p(s) q α(s),
//
//	E[δ_A δ_B] = 4 Σ W_F(A △ B) over the F with |A ∩ F| and |B ∩ F| odd,
//
// and E[δ] is that of p − pP.
type spectrum struct {
	masks  []uint64
	odd    []uint32    // bit k: |A ∩ F_k| is odd
	moves  []uint64    // F, single sites and perhaps all
	chance [][]float32 // q α(s)
	left   []float32   // 1 − P(s, s)

	target   Target
	proposal bitspin.Proposal
	level    int // of annealing, of chance
	tabulate func(move int)

	witness   *kfd.Witness
	p         [2][]float32 // the law by each half, of the discrepancy under way
	g         [2][]float32
	change    [2][]float32 // p − pP and its transform
	transform [][]float32  // W_F
	mean      [2][]float64
	c         [2][]float32
	workers   *pool.Pool

	meanChange, transformMove, fill, expand func(int)
}

func newSpectrum(t Target, proposal bitspin.Proposal, even bool, c *Config, workers *pool.Pool) *spectrum {
	n, w := 1<<t.N, c.Loss.Witness
	o := &spectrum{workers: workers, target: t, proposal: proposal, left: make([]float32, n)}
	o.masks = walshMasks(t.N, w.Rank, w.Bandwidth, even, c.Training.Seed)
	for i := range t.N {
		o.moves = append(o.moves, 1<<i)
	}
	if proposal.Global() > 0 {
		o.moves = append(o.moves, 1<<t.N-1)
	}
	for range o.moves {
		o.chance = append(o.chance, make([]float32, n))
		o.transform = append(o.transform, make([]float32, n))
	}
	o.tabulate = o.tabulateMove
	o.anneal(annealLevels)
	for _, a := range o.masks {
		var odd uint32
		for k, flip := range o.moves {
			odd |= uint32(bits.OnesCount64(a&flip)&1) << k
		}
		o.odd = append(o.odd, odd)
	}
	r := len(o.masks)
	o.witness = kfd.New(r, walshPenalty(o.masks, w.Bandwidth), w.Config, workers)
	for half := range 2 {
		o.change[half] = make([]float32, n)
		o.mean[half], o.c[half] = make([]float64, r), make([]float32, r)
	}
	o.meanChange, o.transformMove, o.fill, o.expand = o.meanOfHalf, o.moveTransform, o.fillRow, o.expandHalf
	return o
}

func (o *spectrum) state() []engine.Section { return witnessState(o.witness) }
func (o *spectrum) leaving() []float32      { return o.left }

// anneal takes the chances of moves to a level of annealing.
func (o *spectrum) anneal(level int) {
	if o.level == level {
		return
	}
	o.level = level
	o.workers.Run(len(o.moves), o.tabulate)
	clear(o.left)
	for _, chance := range o.chance {
		asm.Accumulate(o.left, chance)
	}
}

func (o *spectrum) tabulateMove(k int) {
	flip, beta := o.moves[k], annealed(o.target.Beta, o.level)
	q := o.proposal.Probability(o.target.N, o.moves[k:k+1])
	var word [1]uint64
	energy := func(s uint64) float64 {
		word[0] = s
		return o.target.Energy(word[:])
	}
	for s := range o.chance[k] {
		change := energy(uint64(s)^flip) - energy(uint64(s))
		o.chance[k][s] = float32(q * min(1, math.Exp(-beta*change)))
	}
}

// meanOfHalf sets mean to E[δ] of a half.
func (o *spectrum) meanOfHalf(half int) {
	p, change := o.p[half], o.change[half]
	clear(change)
	for k, flip := range o.moves {
		leave(change, p, o.chance[k], int(flip))
	}
	walshHadamard(change)
	for i, a := range o.masks {
		o.mean[half][i] = float64(change[a])
	}
}

// leave adds p − pP of the move that flips the sites of flip, one or all, to
// change.
func leave(change, p, chance []float32, flip int) {
	if flip&(flip-1) != 0 {
		for s := range len(p) / 2 {
			t := len(p) - 1 - s
			net := p[s]*chance[s] - p[t]*chance[t]
			change[s] += net
			change[t] -= net
		}
		return
	}
	for lo := 0; lo < len(p); lo += 2 * flip {
		p0, p1 := p[lo:lo+flip], p[lo+flip:lo+2*flip]
		q0, q1 := chance[lo:lo+flip], chance[lo+flip:lo+2*flip]
		c0, c1 := change[lo:lo+flip], change[lo+flip:lo+2*flip]
		for i, x := range p0 {
			net := x*q0[i] - p1[i]*q1[i]
			c0[i] += net
			c1[i] -= net
		}
	}
}

func (o *spectrum) moveTransform(k int) {
	w, chance := o.transform[k], o.chance[k]
	for s := range w {
		w[s] = (o.p[0][s] + o.p[1][s]) / 2 * chance[s]
	}
	walshHadamard(w)
}

// fillRow sets the part of row i of E[δδᵀ] from the diagonal on; the
// factorisation reads no more.
func (o *spectrum) fillRow(i int) {
	r := len(o.masks)
	row, a, odd := o.witness.Batch()[i*r:][:r], o.masks[i], o.odd[i]
	for j := i; j < r; j++ {
		both := odd & o.odd[j]
		var sum float32
		for ; both != 0; both &= both - 1 {
			sum += o.transform[bits.TrailingZeros32(both)][a^o.masks[j]]
		}
		row[j] = 4 * sum
	}
}

// expandHalf sets g to Σ_A c_A χ_A(s), up to the sign of χ that all functions
// of the transform share.
func (o *spectrum) expandHalf(half int) {
	g := o.g[half]
	clear(g)
	for i, a := range o.masks {
		g[a] = o.c[half][i]
	}
	walshHadamard(g)
}

func (o *spectrum) discrepancy(p, g [2][]float32) (float64, bool) {
	o.p, o.g = p, g
	o.workers.Run(2, o.meanChange)
	if o.witness.Stale() {
		o.workers.Run(len(o.moves), o.transformMove)
		o.workers.Run(len(o.masks), o.fill)
	}
	if !o.witness.Update() {
		return 0, false
	}
	var loss float64
	for half := range 2 {
		// The witness of one half drives the other.
		o.witness.Solve(o.c[o.witness.Driven(half)], o.mean[half])
	}
	for half := range 2 {
		for i, f := range o.mean[half] {
			loss += f * float64(o.c[half][i]) / 2
		}
	}
	o.workers.Run(2, o.expand)
	return loss, true
}
