package mmd

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// Mixed computes a loss of moves s → s′ of states (x, k) of a real vector and a
// mode, and its gradient in both. Its kernel is k(d²) of the distance between
// coordinates if modes agree and zero otherwise. With the modes as unit vectors
// e_i of s_i and e′_i of s′_i, the loss is
//
//	L = (2/N²) Σ_ij [k(|x_i−x_j|² + |x′_i−x′_j|²) (e_i·e_j)(e′_i·e′_j)
//	               − k(|x_i−x′_j|² + |x′_i−x_j|²) (e_i·e′_j)(e′_i·e_j)].
//
// It is a polynomial in the e_i, whose derivative by e_{i,c} is the multilinear
// extension of the loss to modes: the witness of state i in mode c.
//
// It is a sum over points, the pairs (s_i, s′_i). A point has planes of x, of x′ and again of
// x: the first two are (s_i, s′_i), and the last two are (s′_i, s_i). Points are grouped by
// their two modes, and only pairs of points whose kernel is not zero are evaluated. Points
// whose move was rejected are no columns, as they contribute exactly nothing.
//
// A Mixed is bound to one batch size and reuses its buffers: its methods
// allocate nothing and must not be called concurrently. The results have the
// same bits for any number of threads.
type Mixed struct {
	n, dim, modes int
	stat          Statistic
	kernel        *asm.Radial
	atZero        float64 // k(0)
	workers       *pool.Pool

	x, y, gradX, gradK []float32 // arguments of the call in progress
	k, l               []uint8   // likewise
	order              []int32   // batch index of each packed point, group by group, columns first
	planes             []float32 // of the packed points, [3·dim][n]
	start, columns     []int32   // first point and number of columns of each group
	next               []int32   // [groups][2]: where the next column and the next other point go
	pieces             []mixedPiece
	scratch            []mixedScratch
	pieceLoss          []float64
	outX, outK         []float32 // gradX and gradK in the order of the packed points
	pieceEnds          []int     // end of each piece's points
	runPiece, unpack   func(int)
}

// A mixedPiece is a range of packed points of one group, at most mixedTile.
type mixedPiece struct{ group, lo, hi int }

const (
	mixedTile    = 64  // rows of a piece
	mixedColumns = 256 // columns between two additions to the float64 sums
)

// mixedScratch holds the sums over columns of one piece; gradient and slope are [dim][mixedTile].
type mixedScratch struct {
	value    [mixedTile]float32
	gradient []float32
	witness  [mixedTile]float64
	slope    []float64
	asm      []float32
}

// NewMixed prepares the reversibility loss of batches of n states of dim coordinates
// in the given number of modes, 1 to 256, for a valid kernel. The U-statistic needs n ≥ 2.
func NewMixed(n, dim, modes int, k Kernel, stat Statistic, workers *pool.Pool) *Mixed {
	k.mustBeValid()
	groups := modes * modes
	pieces := min(n, groups) + n/mixedTile
	m := &Mixed{
		n: n, dim: dim, modes: modes, stat: stat, workers: workers,
		kernel: k.radial(), atZero: k.Value(0),
		order:     make([]int32, n),
		planes:    make([]float32, 3*dim*n),
		start:     make([]int32, groups),
		columns:   make([]int32, groups),
		next:      make([]int32, 2*groups),
		pieces:    make([]mixedPiece, 0, pieces),
		scratch:   make([]mixedScratch, pieces),
		pieceLoss: make([]float64, pieces),
	}
	for i := range m.scratch {
		s := &m.scratch[i]
		s.asm = make([]float32, asm.GramScratch(2*dim))
		s.gradient, s.slope = make([]float32, dim*mixedTile), make([]float64, dim*mixedTile)
	}
	m.outX, m.outK = make([]float32, n*dim), make([]float32, n*modes)
	m.pieceEnds = make([]int, pieces)
	m.runPiece, m.unpack = m.computePiece, m.unpackPiece
	return m
}

// LossGradient returns the loss of the moves (x_i, k_i) → (y_i, l_i). With y and l fixed, it sets
// gradX to the gradient with respect to x, and gradK to the gradient with respect to the unit
// vectors of k, [n][modes]. x, y and gradX are [n][dim], row-major. A NaN or an infinity anywhere
// in x or y makes the loss NaN. Modes are below the number given to NewMixed.
func (m *Mixed) LossGradient(x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
	if n, d := m.n, m.dim; len(x) != n*d || len(y) != n*d || len(k) != n || len(l) != n || len(gradX) != n*d || len(gradK) != n*m.modes {
		panic(fmt.Sprintf("mmd: slices of length %d, %d, %d, %d, %d and %d for %d states of %d coordinates", len(x), len(y), len(k), len(l), len(gradX), len(gradK), n, d))
	}
	m.x, m.y, m.k, m.l, m.gradX, m.gradK = x, y, k, l, gradX, gradK
	loss := m.pack()
	count := len(m.pieces)
	for p, piece := range m.pieces {
		m.pieceEnds[p] = piece.hi
	}
	m.workers.Share(count, m.runPiece, pool.SpanOf(m.pieceLoss, 1), pool.SpanOf(m.outX, m.dim).Uneven(m.pieceEnds), pool.SpanOf(m.outK, m.modes).Uneven(m.pieceEnds))
	m.workers.Run(count, m.unpack)
	m.x, m.y, m.k, m.l, m.gradX, m.gradK = nil, nil, nil, nil, nil, nil
	for _, v := range m.pieceLoss[:len(m.pieces)] {
		loss += v
	}
	return m.norm() * loss
}

// norm returns the factor before the sum over i and j.
func (m *Mixed) norm() float64 { return 2 * pairNorm(m.stat, m.n) }

// groupOf returns the group of the point of sample i, and whether the point is a column.
func (m *Mixed) groupOf(i int) (group int, column bool) {
	group = int(m.k[i])*m.modes + int(m.l[i])
	if m.k[i] != m.l[i] {
		return group, true
	}
	for c := i * m.dim; c < (i+1)*m.dim; c++ {
		if m.x[c] != m.y[c] {
			return group, true
		}
	}
	return group, false
}

// pack sorts the points into groups and cuts the groups into pieces. It returns
// zero, or NaN if a value is not finite.
func (m *Mixed) pack() (poison float64) {
	for i, v := range m.x {
		poison += 0 * (float64(v) + float64(m.y[i]))
	}
	count := m.next // number of columns, and of other points, of each group
	clear(count)
	for i := range m.n {
		group, column := m.groupOf(i)
		if column {
			count[2*group]++
		} else {
			count[2*group+1]++
		}
	}
	m.pieces = m.pieces[:0]
	var start int32
	for g := range m.start {
		m.start[g], m.columns[g] = start, count[2*g]
		end := start + count[2*g] + count[2*g+1]
		m.next[2*g], m.next[2*g+1] = start, start+count[2*g]
		for lo := int(start); lo < int(end); lo += mixedTile {
			m.pieces = append(m.pieces, mixedPiece{g, lo, min(lo+mixedTile, int(end))})
		}
		start = end
	}
	for i := range m.n {
		group, column := m.groupOf(i)
		slot := 2 * group
		if !column {
			slot++
		}
		p := int(m.next[slot])
		m.next[slot]++
		m.order[p] = int32(i)
		for copy := range 3 {
			states := [2][]float32{m.x, m.y}[copy%2]
			for c, v := range states[i*m.dim : (i+1)*m.dim] {
				m.planes[(copy*m.dim+c)*m.n+p] = v
			}
		}
	}
	return poison
}

// computePiece computes the rows of one piece in every mode c.
func (m *Mixed) computePiece(p int) {
	piece, s := m.pieces[p], &m.scratch[p]
	rows := piece.hi - piece.lo
	k, l := piece.group/m.modes, piece.group%m.modes
	scale := 2 * m.norm()
	witness := s.witness[:rows]
	var loss float64
	for c := range m.modes {
		clear(witness)
		clear(s.slope)
		gradDim := 0 // coordinates have a gradient only in the state's own mode
		if c == k {
			gradDim = m.dim
		}
		m.addSums(s, 1, piece, c*m.modes+l, 0, gradDim)
		m.addSums(s, -1, piece, l*m.modes+c, m.dim, gradDim)
		if m.stat == U && c == k {
			m.dropOwnTerms(s, piece)
		}
		if c == k {
			for i, v := range witness {
				loss += v
				for j := range m.dim {
					m.outX[(piece.lo+i)*m.dim+j] = float32(2 * scale * s.slope[j*mixedTile+i])
				}
			}
		}
		for i, v := range witness {
			m.outK[(piece.lo+i)*m.modes+c] = float32(scale * v)
		}
	}
	m.pieceLoss[p] = loss
}

// unpackPiece copies the gradients of a piece's points to their samples.
func (m *Mixed) unpackPiece(p int) {
	for point := m.pieces[p].lo; point < m.pieces[p].hi; point++ {
		i := int(m.order[point])
		copy(m.gradX[i*m.dim:][:m.dim], m.outX[point*m.dim:])
		copy(m.gradK[i*m.modes:][:m.modes], m.outK[point*m.modes:])
	}
}

// addSums adds sign·k(d²) and, for gradDim coordinates, sign·k′(d²)·(x_i − x_j) to the rows of a
// piece, summed over the columns of a group. The columns' planes begin at the given plane.
func (m *Mixed) addSums(s *mixedScratch, sign float64, piece mixedPiece, group, plane, gradDim int) {
	rows := piece.hi - piece.lo
	value := s.value[:rows]
	first, end := int(m.start[group]), int(m.start[group]+m.columns[group])
	for ; first < end; first += mixedColumns {
		clear(value)
		clear(s.gradient)
		asm.KernelSums(m.kernel, value, s.gradient, mixedTile, m.planes[piece.lo:], m.n, rows,
			m.planes[plane*m.n+first:], m.n, min(mixedColumns, end-first), 2*m.dim, gradDim, s.asm)
		for i, v := range value {
			s.witness[i] += sign * float64(v)
		}
		for j := range gradDim {
			for i, v := range s.gradient[j*mixedTile:][:rows] {
				s.slope[j*mixedTile+i] += sign * float64(v)
			}
		}
	}
}

// dropOwnTerms subtracts the terms i = j from the sums of a piece's rows in their own mode.
// Rejected moves have no such terms, as they are no columns. The groups of other modes have none
// either, since their columns are of other samples.
func (m *Mixed) dropOwnTerms(s *mixedScratch, piece mixedPiece) {
	rows := min(piece.hi, int(m.start[piece.group]+m.columns[piece.group])) - piece.lo
	if rows <= 0 {
		return
	}
	for i := range rows {
		s.witness[i] -= m.atZero
	}
	if piece.group/m.modes != piece.group%m.modes {
		return // the pair (s′_i, s_i) is in another group
	}
	d2, value, slope := s.value[:rows], s.gradient[:rows], s.asm[:rows]
	order := m.order[piece.lo : piece.lo+rows]
	for i, sample := range order {
		d2[i] = 0
		for j := int(sample) * m.dim; j < (int(sample)+1)*m.dim; j++ {
			d := m.x[j] - m.y[j]
			d2[i] += d * d
		}
		d2[i] *= 2
	}
	asm.RadialValues(m.kernel, value, slope, d2)
	for i, sample := range order {
		s.witness[i] += float64(value[i])
		for j := range m.dim {
			s.slope[j*mixedTile+i] += float64(slope[i] * (m.x[int(sample)*m.dim+j] - m.y[int(sample)*m.dim+j]))
		}
	}
}
