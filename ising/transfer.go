package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/internal/crash"
)

// rowMatrix returns the transfer matrix of a lattice's rows.
func rowMatrix(t Target) *categories.Rows {
	return crash.Must(categories.NewRows(t.L, 2, []float64{-t.J, t.J, t.J, -t.J}, []float64{t.H, -t.H}, t.Beta))
}

// along returns Σ_c x_c x_{c+r} of a row of l spins.
func along(l, x, r int) int {
	turned := x>>r | x<<(l-r)&(1<<l-1)
	return l - 2*bits.OnesCount(uint(x^turned))
}

// exactCorrelations returns G(r) = ⟨s_i s_{i+r}⟩ along the axes, r = 1 …
// axialDistances, and the standard deviation of a single configuration's mean
// over sites and axes. With P_n = T^n of rowMatrix and C(x, y) = Σ_c x_c y_c,
//
//	G(r) = Σ_xy C(x, y) P_r(x, y) P_{l−r}(y, x) / lZ.
//
// It is empty if Z underflows: a frustrated lattice near zero temperature.
func exactCorrelations(t Target) []estimate {
	m := rowMatrix(t)
	l, rows := t.L, 1<<t.L
	power := make([][]float64, l+1)
	power[0] = make([]float64, rows*rows)
	for x := range rows {
		power[0][x*rows+x] = 1
	}
	for n := range l {
		power[n+1] = m.Times(power[n])
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
			sums = append(sums, m.Times(next))
		}
		cross := pairs(sums[r], power[l-r]) + pairs(power[r], sums[l-r])
		second := 2 * float64(l) * (squares + cross) / z / (4 * sites * sites)
		e.deviation = math.Sqrt(max(0, second-e.Value*e.Value))
	}
	return all
}
