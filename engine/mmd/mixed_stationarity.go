package mmd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// MixedStationarity is Stationarity of states (x, k) of a real coordinate and a
// mode, with the kernel k(d²) of the distance between coordinates if the modes
// agree and zero otherwise: with the modes as unit vectors e_i of s_i and e′_i
// of s′_i,
//
//	L = (1/N²) Σ_ij [k(|x_i−x_j|²) e_i·e_j − 2k(|x_i−x′_j|²) e_i·e′_j + k(|x′_i−x′_j|²) e′_i·e′_j].
//
// Its gradients are those of Mixed, and so are its guarantees.
type MixedStationarity struct {
	n, modes int
	stat     Statistic
	kernel   *asm.Radial
	atZero   float64
	workers  *pool.Pool

	x, y         []float32 // the arguments of the call in progress
	k, l         []uint8
	gradX, gradK []float32
	own          bool
	order        []int32   // batch index of each packed state: s by modes, then s′ by modes
	plane        []float32 // coordinates of the packed states
	start        []int32   // of group side·modes+k: its first state
	fill         []int32
	pieces       []mixedPiece
	scratch      []mixedStationaryScratch
	pieceLoss    []float64
	runPiece     func(int)
}

type mixedStationaryScratch struct {
	value    [mixedTile]float32
	gradient [mixedTile]float32
	witness  [mixedTile]float64
	slope    [mixedTile]float64
	asm      []float32
}

// NewMixedStationarity prepares the loss under the conditions of NewMixed.
func NewMixedStationarity(n, modes int, k Kernel, stat Statistic, workers *pool.Pool) (*MixedStationarity, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	if modes < 1 || modes > 256 {
		return nil, fmt.Errorf("modes: %d is not between 1 and 256", modes)
	}
	if least := 1 + int(stat); n < least || n > math.MaxInt32/2 {
		return nil, fmt.Errorf("batch size %d: the %v-statistic needs at least %d", n, stat, least)
	}
	groups := 2 * modes
	pieces := min(2*n, groups) + 2*n/mixedTile
	m := &MixedStationarity{
		n: n, modes: modes, stat: stat, workers: workers,
		kernel: k.radial(), atZero: k.Value(0),
		order:     make([]int32, 2*n),
		plane:     make([]float32, 2*n),
		start:     make([]int32, groups+1),
		fill:      make([]int32, groups),
		pieces:    make([]mixedPiece, 0, pieces),
		scratch:   make([]mixedStationaryScratch, pieces),
		pieceLoss: make([]float64, pieces),
	}
	for i := range m.scratch {
		m.scratch[i].asm = make([]float32, asm.GramScratch(1))
	}
	m.runPiece = m.piece
	return m, nil
}

// LossGradient is Mixed's, of this loss.
func (m *MixedStationarity) LossGradient(x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
	m.own = false
	return m.run(x, y, k, l, gradX, gradK)
}

// LossWitness is Mixed's, of this loss.
func (m *MixedStationarity) LossWitness(x, y []float32, k, l []uint8, gradX, witness []float32) float64 {
	m.own = true
	return m.run(x, y, k, l, gradX, witness)
}

func (m *MixedStationarity) run(x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
	categories := m.modes
	if m.own {
		categories = 1
	}
	if n := m.n; len(x) != n || len(y) != n || len(k) != n || len(l) != n || len(gradX) != n || len(gradK) != n*categories {
		panic(fmt.Sprintf("mmd: slices of length %d, %d, %d, %d, %d and %d for %d states", len(x), len(y), len(k), len(l), len(gradX), len(gradK), n))
	}
	m.x, m.y, m.k, m.l, m.gradX, m.gradK = x, y, k, l, gradX, gradK
	loss := m.pack()
	m.workers.Run(len(m.pieces), m.runPiece)
	m.x, m.y, m.k, m.l, m.gradX, m.gradK = nil, nil, nil, nil, nil, nil
	for _, v := range m.pieceLoss[:len(m.pieces)] {
		loss += v
	}
	return pairNorm(m.stat, m.n) * loss
}

// pack sorts the states of both sides by their modes and cuts the groups into
// pieces. It returns zero, or NaN when a value is not finite.
func (m *MixedStationarity) pack() (poison float64) {
	clear(m.fill)
	for i := range m.n {
		m.fill[m.k[i]]++
		m.fill[m.modes+int(m.l[i])]++
		poison += 0 * (float64(m.x[i]) + float64(m.y[i]))
	}
	m.pieces = m.pieces[:0]
	next := int32(0)
	for g, count := range m.fill {
		m.start[g], m.fill[g] = next, next
		end := next + count
		for lo := int(next); lo < int(end); lo += mixedTile {
			m.pieces = append(m.pieces, mixedPiece{g, lo, min(lo+mixedTile, int(end))})
		}
		next = end
	}
	m.start[len(m.fill)] = next
	for i := range m.n {
		for side, group := range [2]int{int(m.k[i]), m.modes + int(m.l[i])} {
			at := m.fill[group]
			m.fill[group]++
			m.order[at] = int32(i)
			m.plane[at] = [2][]float32{m.x, m.y}[side][i]
		}
	}
	return poison
}

// piece computes the rows of one piece: in every category c that counts, the
// sums over the states s of mode c less those over the s′ of mode c. The rows of
// s′ are there for the loss.
func (m *MixedStationarity) piece(p int) {
	piece, s := m.pieces[p], &m.scratch[p]
	rows := piece.hi - piece.lo
	side, k := piece.group/m.modes, piece.group%m.modes
	scale := 2 * pairNorm(m.stat, m.n)
	witness, slope := s.witness[:rows], s.slope[:rows]
	var loss float64
	for c := range m.modes {
		if c != k && (m.own || side == 1) {
			continue
		}
		clear(witness)
		clear(slope)
		gradDim := 0
		if c == k && side == 0 {
			gradDim = 1
		}
		m.sum(s, 1, piece, c, gradDim)
		m.sum(s, -1, piece, m.modes+c, gradDim)
		if m.stat == U {
			m.dropOwn(s, piece, c)
		}
		if c == k {
			for _, v := range witness {
				loss += float64(1-2*side) * v
			}
		}
		if side == 1 {
			continue
		}
		for i, at := range m.order[piece.lo:piece.hi] {
			if c == k {
				m.gradX[at] = float32(2 * scale * slope[i])
			}
			if m.own {
				m.gradK[at] = float32(scale * witness[i])
			} else {
				m.gradK[int(at)*m.modes+c] = float32(scale * witness[i])
			}
		}
	}
	m.pieceLoss[p] = loss
}

// sum adds sign times k(d²) and, if gradDim is 1, k′(d²)·(x_i − x_j) over the
// states of a group to the rows of a piece.
func (m *MixedStationarity) sum(s *mixedStationaryScratch, sign float64, piece mixedPiece, group, gradDim int) {
	rows := piece.hi - piece.lo
	first, end := int(m.start[group]), int(m.start[group+1])
	for ; first < end; first += mixedColumns {
		clear(s.value[:rows])
		clear(s.gradient[:rows])
		asm.KernelSums(m.kernel, s.value[:rows], s.gradient[:], mixedTile, m.plane[piece.lo:], 2*m.n, rows,
			m.plane[first:], 2*m.n, min(mixedColumns, end-first), 1, gradDim, s.asm)
		for i, v := range s.value[:rows] {
			s.witness[i] += sign * float64(v)
			s.slope[i] += sign * float64(s.gradient[i])
		}
	}
}

// dropOwn takes the terms i = j out of the sums of a piece's rows in category c.
func (m *MixedStationarity) dropOwn(s *mixedStationaryScratch, piece mixedPiece, c int) {
	rows := piece.hi - piece.lo
	side, k := piece.group/m.modes, piece.group%m.modes
	sign := float64(1 - 2*side) // of the sums over a row's own side
	d2, value, slope := s.value[:rows], s.gradient[:rows], s.asm[:rows]
	for i, at := range m.order[piece.lo:piece.hi] {
		d := m.x[at] - m.y[at]
		d2[i] = d * d
	}
	asm.RadialValues(m.kernel, value, slope, d2)
	for i, at := range m.order[piece.lo:piece.hi] {
		if c == k {
			s.witness[i] -= sign * m.atZero
		}
		other := m.l[at]
		if side == 1 {
			other = m.k[at]
		}
		if int(other) == c {
			s.witness[i] += sign * float64(value[i])
			s.slope[i] += float64(slope[i] * (m.x[at] - m.y[at]))
		}
	}
}
