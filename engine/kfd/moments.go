package kfd

import (
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// moments average E[δδᵀ] over steps and solve for coefficients.
type moments struct {
	second []float32 // the average, [r][r] row-major; it holds anything where taken is 0
	taken  []float64 // the number of steps behind it
	solver *factorisation

	config  *Config
	r       int
	workers *pool.Pool

	batch []float32 // E[δδᵀ] of the present batch, [r][r] row-major, where update takes it
	merge func(row int)
}

func newMoments(r int, c *Config, workers *pool.Pool) *moments {
	m := &moments{
		second: workers.Float32s(r * r), taken: make([]float64, 1), solver: newFactorisation(r, workers),
		config: c, r: r, workers: workers, batch: workers.Float32s(r * r),
	}
	m.merge = func(row int) {
		second, batch, weight := m.second[row*r:][:r], m.batch[row*r:][:r], m.weight()
		if m.fresh() {
			clear(second)
		}
		for i, b := range batch {
			second[i] += weight * (b - second[i])
		}
	}
	return m
}

// fresh reports whether no batch is behind the matrices yet, which stand for 0.
func (m *moments) fresh() bool { return m.taken[0] == 0 }

// stale reports whether the next batch goes into the average, which is then factored
// anew; if not, update does not look at it.
func (m *moments) stale() bool { return int(m.taken[0])%m.config.Every == 0 }

// weight returns the part of that batch in the average: 1 at first, falling to
// 1 − Memory.
func (m *moments) weight() float32 {
	t := m.taken[0] / float64(m.config.Every)
	return float32(1 - min(m.config.Memory, t/(t+5)))
}

// State lists what a checkpoint must hold of the witness.
func (m *moments) State() []state.Section {
	if m.fresh() {
		clear(m.second)
		clear(m.solver.u)
	}
	return []state.Section{
		{Name: "kfd.second", Float32: m.second},
		{Name: "kfd.factor", Float32: m.solver.u},
		{Name: "kfd.taken", Float64: m.taken},
	}
}

// update averages the batch into the second moments and factors them with the
// ridge, every few steps. It reports whether the matrix was positive definite,
// which only rounding can prevent: take a larger ridge.
func (m *moments) update() bool {
	if !m.stale() {
		m.taken[0]++
		return true
	}
	m.workers.Run(m.r, m.merge)
	m.taken[0]++
	copy(m.solver.u, m.second)
	for i := range m.r {
		m.solver.u[i*m.r+i] += float32(m.config.Ridge)
	}
	return m.solver.factor()
}

// solve sets the coefficients of the witness that drives each half of a batch,
// given the halves' mean changes E[δ]: those that belong to the other half's.
func (m *moments) solve(c *[2][]float32, means *[2][]float64) {
	m.solver.solve(c[1], c[0], means[0], means[1])
	for _, c := range c {
		for i := range c {
			c[i] *= 2
		}
	}
}
