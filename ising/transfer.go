package ising

import (
	"math"
	"math/bits"
)

// A transfer is the transfer matrix of a lattice's rows as a product of sparse
// factors. T(x, y) is the weight of row y below row x: that of y's horizontal
// bonds and field and of the bonds between the two,
//
//	T(x, y) = Π_c w(x_c, y_c) · d(y),
//
// relative to the largest, so that Tr T^l is Z up to a factor. A matrix times T
// takes one pass for each column.
type transfer struct {
	l, rows        int
	equal, unequal float64   // w
	row            []float64 // d
}

func newTransfer(t Target) *transfer {
	m := &transfer{l: t.L, rows: 1 << t.L, row: make([]float64, 1<<t.L)}
	k := t.Beta * t.J
	m.equal, m.unequal = math.Exp(k-math.Abs(k)), math.Exp(-k-math.Abs(k))
	largest := math.Inf(-1)
	for x := range m.row {
		bonds, sum := along(t.L, x, 1), 2*bits.OnesCount(uint(x))-t.L
		m.row[x] = -t.Beta * t.EnergyOf(bonds, sum)
		largest = max(largest, m.row[x])
	}
	for x, log := range m.row {
		m.row[x] = math.Exp(log - largest)
	}
	return m
}

// along returns Σ_c x_c x_{c+r} of a row of l spins.
func along(l, x, r int) int {
	turned := x>>r | x<<(l-r)&(1<<l-1)
	return l - 2*bits.OnesCount(uint(x^turned))
}

// times returns aT of a row-major matrix.
func (m *transfer) times(a []float64) []float64 {
	a = append([]float64(nil), a...)
	for at := 0; at < len(a); at += m.rows {
		x := a[at:][:m.rows]
		for half := 1; half < m.rows; half *= 2 {
			for i := 0; i < m.rows; i += 2 * half {
				down, up := x[i:][:half], x[i+half:][:half]
				for j, v := range down {
					down[j], up[j] = m.equal*v+m.unequal*up[j], m.unequal*v+m.equal*up[j]
				}
			}
		}
		for y, d := range m.row {
			x[y] *= d
		}
	}
	return a
}

// exactCorrelations returns G(r) = ⟨s_i s_{i+r}⟩ along the axes, r = 1 …
// axialDistances, and the standard deviation of a single configuration's mean
// over sites and axes. With P_n = T^n and C(x, y) = Σ_c x_c y_c,
//
//	G(r) = Σ_xy C(x, y) P_r(x, y) P_{l−r}(y, x) / lZ.
//
// It is empty if Z underflows: a frustrated lattice near zero temperature.
func exactCorrelations(t Target) []estimate {
	m := newTransfer(t)
	l, rows := m.l, m.rows
	power := make([][]float64, l+1)
	power[0] = make([]float64, rows*rows)
	for x := range rows {
		power[0][x*rows+x] = 1
	}
	for n := range l {
		power[n+1] = m.times(power[n])
	}
	var z float64
	for x := range rows {
		z += power[l][x*rows+x]
	}
	if z < 1e-270 {
		return nil
	}
	// pairs returns Σ_xy C(x, y) a(x, y) b(y, x), C(x, y) depending on x ⊕ y.
	pairs := func(a, b []float64) (sum float64) {
		for x := range rows {
			for y, v := range a[x*rows:][:rows] {
				sum += float64(l-2*bits.OnesCount(uint(x^y))) * v * b[y*rows+x]
			}
		}
		return sum
	}
	all := make([]estimate, axialDistances(l))
	sites, inRow := float64(l*l), make([]float64, rows)
	for i := range all {
		r := i + 1
		e := &all[i]
		e.Value = pairs(power[r], power[l-r]) / (float64(l) * z)
		for x := range inRow {
			inRow[x] = float64(along(l, x, r))
		}
		// The mean is (A + V)/2N, A of pairs in rows and V of pairs in columns,
		// whose laws are the same. E[A²] is a sum over pairs of rows:
		var squares float64
		for d := range l {
			for x := range rows {
				for y, v := range power[d][x*rows:][:rows] {
					squares += inRow[x] * v * inRow[y] * power[l-d][y*rows+x]
				}
			}
		}
		// E[AV] needs S_n = Σ_k<n T^k a T^{n−k}: what A has of n rows.
		inner := make([]float64, rows*rows)
		sums := [][]float64{inner}
		for n := range max(r, l-r) {
			next := append([]float64(nil), sums[n]...)
			for x := range rows {
				for y, v := range power[n][x*rows:][:rows] {
					next[x*rows+y] += v * inRow[y]
				}
			}
			sums = append(sums, m.times(next))
		}
		cross := pairs(sums[r], power[l-r]) + pairs(power[r], sums[l-r])
		second := 2 * float64(l) * (squares + cross) / z / (4 * sites * sites)
		e.deviation = math.Sqrt(max(0, second-e.Value*e.Value))
	}
	return all
}
