package mmd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// Mixed computes the reversibility loss of states (x, k) of a real coordinate
// and a mode, and its gradient in both. The kernel of two pairs of states is
// k(d²) of the distance between their coordinates (x, x′) if both modes agree
// and zero otherwise. With the modes as unit vectors e_i of s_i and e′_i of s′_i
// that is
//
//	L = (2/N²) Σ_ij [k(|x_i−x_j|² + |x′_i−x′_j|²) (e_i·e_j)(e′_i·e′_j)
//	               − k(|x_i−x′_j|² + |x′_i−x_j|²) (e_i·e′_j)(e′_i·e_j)],
//
// a polynomial in the e_i, whose derivative by e_{i,c} is the multilinear
// extension of the loss to modes: the witness of state i in mode c.
//
// The pairs are grouped by their two modes, so that only those pairs of pairs
// are evaluated whose kernel is not zero, and columns whose move was rejected
// are left out, as they contribute exactly nothing.
//
// A Mixed is bound to one batch size and reuses its buffers: its methods
// allocate nothing and must not be called concurrently. The results have the
// same bits for any number of threads.
type Mixed struct {
	n, modes int
	stat     Statistic
	kernel   *asm.Radial
	atZero   float64 // k(0)
	workers  *pool.Pool

	k, l         []uint8 // the arguments of the call in progress
	gradX, gradK []float32
	own          bool    // of all categories only a state's own
	order        []int32 // batch index of each packed pair, group by group, moved ones first
	planes       []float32
	start, moved []int32 // of group k·modes+l: its first pair; how many moved
	pieces       []mixedPiece
	scratch      []mixedScratch
	pieceLoss    []float64
	runPiece     func(int)
	fill, still  []int32
}

// A mixedPiece is a range of packed pairs of one group, at most mixedTile.
type mixedPiece struct{ group, lo, hi int }

const (
	mixedTile    = 64  // rows of a piece
	mixedColumns = 256 // columns between two additions to the float64 sums
)

// mixedScratch holds the sums over columns of one piece, those of k(d²_xx) and
// of k(d²_xy) apart.
type mixedScratch struct {
	value    [2][mixedTile]float32
	gradient [2][mixedTile]float32
	witness  [mixedTile]float64
	slope    [mixedTile]float64
	asm      []float32
}

// NewMixed prepares the loss of batches of n states in the given number of
// modes, 1 to 256.
func NewMixed(n, modes int, k Kernel, stat Statistic, workers *pool.Pool) (*Mixed, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	if modes < 1 || modes > 256 {
		return nil, fmt.Errorf("modes: %d is not between 1 and 256", modes)
	}
	if least := 1 + int(stat); n < least || n > math.MaxInt32 {
		return nil, fmt.Errorf("batch size %d: the %v-statistic needs at least %d", n, stat, least)
	}
	groups := modes * modes
	pieces := min(n, groups) + n/mixedTile
	m := &Mixed{
		n: n, modes: modes, stat: stat, workers: workers,
		kernel: k.radial(), atZero: k.Value(0),
		order:     make([]int32, n),
		planes:    make([]float32, 3*n),
		start:     make([]int32, groups+1),
		moved:     make([]int32, groups),
		still:     make([]int32, groups),
		fill:      make([]int32, 2*groups),
		pieces:    make([]mixedPiece, 0, pieces),
		scratch:   make([]mixedScratch, pieces),
		pieceLoss: make([]float64, pieces),
	}
	for i := range m.scratch {
		m.scratch[i].asm = make([]float32, asm.GramScratch(2))
	}
	m.runPiece = m.piece
	return m, nil
}

// LossGradient returns the loss of the moves (x_i, k_i) → (y_i, l_i) and sets
// gradX to its derivative by x, [n], and gradK to its derivative by the unit
// vectors of k, [n][modes] row-major, with y and l held fixed. A NaN or an
// infinity anywhere in x or y makes the loss NaN; modes are below the number
// given to NewMixed.
func (m *Mixed) LossGradient(x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
	m.own = false
	return m.run(x, y, k, l, gradX, gradK)
}

// LossWitness is LossGradient where of the derivatives by the modes only that
// by each state's own, witness[i] = gradK[i][k_i], is wanted: a third of the
// work for three modes.
func (m *Mixed) LossWitness(x, y []float32, k, l []uint8, gradX, witness []float32) float64 {
	m.own = true
	return m.run(x, y, k, l, gradX, witness)
}

func (m *Mixed) run(x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
	categories := m.modes
	if m.own {
		categories = 1
	}
	if n := m.n; len(x) != n || len(y) != n || len(k) != n || len(l) != n || len(gradX) != n || len(gradK) != n*categories {
		panic(fmt.Sprintf("mmd: slices of length %d, %d, %d, %d, %d and %d for %d states", len(x), len(y), len(k), len(l), len(gradX), len(gradK), n))
	}
	m.k, m.l, m.gradX, m.gradK = k, l, gradX, gradK
	loss := m.pack(x, y)
	m.workers.Run(len(m.pieces), m.runPiece)
	m.k, m.l, m.gradX, m.gradK = nil, nil, nil, nil
	for _, v := range m.pieceLoss[:len(m.pieces)] {
		loss += v
	}
	return 2 * pairNorm(m.stat, m.n) * loss
}

// pack sorts the pairs into groups and cuts these into pieces. It returns
// zero, or NaN when a value is not finite.
func (m *Mixed) pack(x, y []float32) (poison float64) {
	clear(m.moved)
	clear(m.still)
	for i, k := range m.k {
		group := int(k)*m.modes + int(m.l[i])
		if m.k[i] == m.l[i] && x[i] == y[i] {
			m.still[group]++
		} else {
			m.moved[group]++
		}
		poison += 0 * (float64(x[i]) + float64(y[i]))
	}
	m.pieces = m.pieces[:0]
	var next int32
	for g := range m.moved {
		m.start[g] = next
		m.fill[2*g], m.fill[2*g+1] = next, next+m.moved[g]
		end := int(next + m.moved[g] + m.still[g])
		for lo := int(next); lo < end; lo += mixedTile {
			m.pieces = append(m.pieces, mixedPiece{g, lo, min(lo+mixedTile, end)})
		}
		next = int32(end)
	}
	m.start[len(m.moved)] = next
	n := m.n
	for i, k := range m.k {
		slot := 2 * (int(k)*m.modes + int(m.l[i]))
		if m.k[i] == m.l[i] && x[i] == y[i] {
			slot++
		}
		at := int(m.fill[slot])
		m.fill[slot]++
		m.order[at] = int32(i)
		m.planes[at], m.planes[n+at], m.planes[2*n+at] = x[i], y[i], x[i]
	}
	return poison
}

// piece computes the rows of one piece: in every category c the sums over the
// columns of group (c, l), as forward pairs, less those of group (l, c), as
// backward pairs.
func (m *Mixed) piece(p int) {
	piece, s := m.pieces[p], &m.scratch[p]
	k, l := piece.group/m.modes, piece.group%m.modes
	rows := piece.hi - piece.lo
	scale := 4 * pairNorm(m.stat, m.n)
	var loss float64
	for c := range m.modes {
		if m.own && c != k {
			continue
		}
		witness, slope := s.witness[:rows], s.slope[:rows]
		clear(witness)
		clear(slope)
		gradDim := 0 // only in its own mode does a state move
		if c == k {
			gradDim = 1
		}
		m.sum(s, 0, piece, c*m.modes+l, gradDim)
		m.sum(s, 1, piece, l*m.modes+c, gradDim)
		if c == k {
			if m.stat == U {
				m.dropOwn(s, piece, k == l)
			}
			for i, at := range m.order[piece.lo:piece.hi] {
				loss += witness[i]
				m.gradX[at] = float32(2 * scale * slope[i])
			}
		}
		for i, at := range m.order[piece.lo:piece.hi] {
			if m.own {
				m.gradK[at] = float32(scale * witness[i])
			} else {
				m.gradK[int(at)*m.modes+c] = float32(scale * witness[i])
			}
		}
	}
	m.pieceLoss[p] = loss
}

// sum adds k(d²) and, if gradDim is 1, k′(d²)·(x_i − x_j) over the moved columns of a group to the
// rows of a piece, or, of backward columns, subtracts k(d²) and
// k′(d²)·(x_i − x′_j).
func (m *Mixed) sum(s *mixedScratch, backward int, piece mixedPiece, group, gradDim int) {
	rows, n := piece.hi-piece.lo, m.n
	value, gradient := s.value[backward][:rows], s.gradient[backward][:]
	sign := float64(1 - 2*backward)
	first, end := int(m.start[group]), int(m.start[group]+m.moved[group])
	for ; first < end; first += mixedColumns {
		clear(value)
		clear(gradient)
		// The planes are x, x′, x: from the second on, those of (x′, x).
		columns := m.planes[backward*n+first:]
		asm.KernelSums(m.kernel, value, gradient, mixedTile, m.planes[piece.lo:], n, rows,
			columns, n, min(mixedColumns, end-first), 2, gradDim, s.asm)
		for i, v := range value {
			s.witness[i] += sign * float64(v)
			s.slope[i] += sign * float64(gradient[i])
		}
	}
}

// dropOwn takes the terms i = j out of the sums of a piece's moved rows.
func (m *Mixed) dropOwn(s *mixedScratch, piece mixedPiece, sameMode bool) {
	moved := min(piece.hi, int(m.start[piece.group]+m.moved[piece.group])) - piece.lo
	if moved <= 0 {
		return // rejected moves were no columns
	}
	for i := range moved {
		s.witness[i] -= m.atZero
	}
	if !sameMode {
		return // x_i, k_i and its own backward pair are in different modes
	}
	d2, value, slope := s.value[0][:moved], s.value[1][:moved], s.gradient[0][:moved]
	for i := range d2 {
		d := m.planes[piece.lo+i] - m.planes[m.n+piece.lo+i]
		d2[i] = 2 * d * d
	}
	asm.RadialValues(m.kernel, value, slope, d2)
	for i := range d2 {
		d := m.planes[piece.lo+i] - m.planes[m.n+piece.lo+i]
		s.witness[i] += float64(value[i])
		s.slope[i] += float64(slope[i] * d)
	}
}
