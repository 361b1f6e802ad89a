package ising

import (
	"math"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/internal/crash"
)

// rowMatrix returns the transfer matrix T of a lattice's rows.
func rowMatrix(t Target) *categories.Rows {
	return crash.Must(categories.NewRows(t.L, 2, []float64{-t.J, t.J, t.J, -t.J}, []float64{t.H, -t.H}, t.Beta))
}

// rowCorrelation returns Σ_c x_c x_{c+r} of a periodic row of l spins.
func rowCorrelation(l, x, r int) int {
	rotated := x>>r | x<<(l-r)&(1<<l-1)
	return l - 2*bits.OnesCount(uint(x^rotated))
}

// exactCorrelations returns G(r) = ⟨s_i s_{i+r}⟩ along the axes, r = 1 …
// axialDistances, and the standard deviation of a single configuration's mean
// over sites and axes. With C(x, y) = Σ_c x_c y_c and the rows' transfer matrix T,
//
//	G(r) = Σ_xy C(x, y) T^r(x, y) T^{l−r}(y, x) / lZ.
//
// It is nil if Z underflows, as it does for a frustrated lattice near zero temperature.
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
	// contract returns Σ_xy C(x, y) p(x, y) q(y, x), where C depends on x ⊕ y.
	contract := func(p, q []float64) (sum float64) {
		for x := range rows {
			for y, v := range p[x*rows:][:rows] {
				sum += float64(l-2*bits.OnesCount(uint(x^y))) * v * q[y*rows+x]
			}
		}
		return sum
	}
	estimates := make([]estimate, axialDistances(l))
	sites, a := float64(l*l), make([]float64, rows) // a(x) = Σ_c x_c x_{c+r}
	for i := range estimates {
		r := i + 1
		e := &estimates[i]
		e.Value = contract(power[r], power[l-r]) / (float64(l) * z)
		for x := range a {
			a[x] = float64(rowCorrelation(l, x, r))
		}
		// The mean is (A + V)/2N, where A sums a over the rows and V is its equal for columns.
		// Both have the same law. E[A²] is a sum over pairs of rows:
		var squares float64
		for d := range l {
			for x := range rows {
				for y, v := range power[d][x*rows:][:rows] {
					squares += a[x] * v * a[y] * power[l-d][y*rows+x]
				}
			}
		}
		// E[AV] needs S_n = Σ_k<n T^k diag(a) T^{n−k}, the sum of a over n successive rows:
		sums := [][]float64{make([]float64, rows*rows)}
		for n := range max(r, l-r) {
			next := slices.Clone(sums[n])
			for x := range rows {
				for y, v := range power[n][x*rows:][:rows] {
					next[x*rows+y] += v * a[y]
				}
			}
			sums = append(sums, m.Times(next))
		}
		cross := contract(sums[r], power[l-r]) + contract(power[r], sums[l-r])
		second := 2 * float64(l) * (squares + cross) / z / (4 * sites * sites)
		e.deviation = math.Sqrt(max(0, second-e.Value*e.Value))
	}
	return estimates
}
