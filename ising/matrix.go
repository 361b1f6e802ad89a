package ising

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/bitspin"
)

// MaxMatrixSites is the largest number of sites for which transition matrices are built.
const MaxMatrixSites = 12

// A TransitionMatrix holds P(s, s′), the probability that a transition leads from s to s′, for
// all configurations of a lattice. Their words are the indices.
type TransitionMatrix struct {
	States int       // 2^N
	P      []float64 // row-major [States][States]
}

// NewTransitionMatrix returns the matrix of one Metropolis step,
//
//	P(s, s′) = q(s ⊕ s′) min{1, exp(−β(E(s′) − E(s)))} for s′ ≠ s,
//
// whose diagonal is the probability that the proposal is rejected. It is
// computed from energies, not from the tables of package bitspin's Metropolis
// kernel. The lattice must have at most MaxMatrixSites sites.
func NewTransitionMatrix(t Target, proposal bitspin.Proposal) (*TransitionMatrix, error) {
	m, energy, err := t.newMatrix()
	if err != nil {
		return nil, err
	}
	q, rejected := make([]float64, m.States), make([]float64, m.States)
	for mask := range q {
		q[mask] = proposal.Probability(t.N, []uint64{uint64(mask)})
	}
	for s := range m.States {
		row := m.Row(s)
		clear(rejected)
		for mask := 1; mask < m.States; mask++ {
			x := -t.Beta * (energy[s^mask] - energy[s])
			if x >= 0 {
				row[s^mask] = q[mask]
				continue
			}
			row[s^mask] = q[mask] * math.Exp(x)
			rejected[mask] = -q[mask] * math.Expm1(x)
		}
		row[s] = floats.SumCompensated(rejected)
	}
	return m, nil
}

// NewSweepMatrix returns the matrix of one sweep of a bitspin.Sweeper: in the order
// of the colours, each spin is redrawn from its conditional distribution,
//
//	P_i(s, s′) = 1/(1 + exp(β(E(s′) − E(s″))))
//
// for the two configurations s′ and s″ that differ from s in spin i at most. It is
// computed from energies. The lattice must have at most MaxMatrixSites sites.
func NewSweepMatrix(t Target) (*TransitionMatrix, error) {
	m, energy, err := t.newMatrix()
	if err != nil {
		return nil, err
	}
	m = m.Power(0)
	colours := bitspin.Colours(t.L)
	bitspin.SweepOrder(len(colours), 1, func(colour int) {
		for _, site := range colours[colour] {
			for s := range m.States {
				row := m.Row(s)
				for up := range row {
					if down := up &^ (1 << site); down < up {
						sum, odds := row[up]+row[down], math.Exp(t.Beta*(energy[up]-energy[down]))
						row[up], row[down] = sum/(1+odds), sum/(1+1/odds)
					}
				}
			}
		}
	})
	return m, nil
}

// newMatrix returns a matrix of zeros, and the energies of all configurations.
func (t Target) newMatrix() (m *TransitionMatrix, energy []float64, err error) {
	if t.N > MaxMatrixSites {
		return nil, nil, fmt.Errorf("the transition matrix of the %d×%d lattice is too large; the largest lattice is 3×3", t.L, t.L)
	}
	states := 1 << t.N
	return &TransitionMatrix{states, make([]float64, states*states)}, t.energies(), nil
}

// Row returns the distribution of s′ given s.
func (m *TransitionMatrix) Row(s int) []float64 {
	return m.P[s*m.States:][:m.States]
}

// dense returns the matrix in gonum's form.
func (m *TransitionMatrix) dense() *mat.Dense { return mat.NewDense(m.States, m.States, m.P) }

// Power returns the matrix of n ≥ 0 steps.
func (m *TransitionMatrix) Power(n int) *TransitionMatrix {
	var power mat.Dense
	power.Pow(m.dense(), n)
	return &TransitionMatrix{m.States, power.RawMatrix().Data}
}

// Apply returns the distribution pP to which the transition takes a distribution p,
// (pP)(s′) = Σ_s p(s) P(s, s′).
func (m *TransitionMatrix) Apply(p []float64) []float64 {
	var pP mat.VecDense
	pP.MulVec(m.dense().T(), mat.NewVecDense(m.States, p))
	return pP.RawVector().Data
}

// rowSumError returns the largest |Σ_s′ P(s, s′) − 1|.
func (m *TransitionMatrix) rowSumError() (worst float64) {
	for s := range m.States {
		worst = max(worst, math.Abs(floats.SumCompensated(m.Row(s))-1))
	}
	return worst
}

// detailedBalanceError returns the largest |π(s)P(s, s′) − π(s′)P(s′, s)|.
func (m *TransitionMatrix) detailedBalanceError(pi []float64) (worst float64) {
	for s := range m.States {
		for j := range s {
			worst = max(worst, math.Abs(pi[s]*m.P[s*m.States+j]-pi[j]*m.P[j*m.States+s]))
		}
	}
	return worst
}

// unreachable returns the number of configurations that configuration 0 does not reach with
// positive probability, plus the number of those that do not reach it.
func (m *TransitionMatrix) unreachable() int {
	reached := func(positive func(from, to int) bool) int {
		seen := make([]bool, m.States)
		seen[0] = true
		queue := []int{0}
		for i := 0; i < len(queue); i++ {
			for to := range m.States {
				if !seen[to] && positive(queue[i], to) {
					seen[to] = true
					queue = append(queue, to)
				}
			}
		}
		return len(queue)
	}
	forward := reached(func(from, to int) bool { return m.P[from*m.States+to] > 0 })
	backward := reached(func(from, to int) bool { return m.P[to*m.States+from] > 0 })
	return 2*m.States - forward - backward
}
