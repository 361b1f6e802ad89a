package mixture

import (
	"math"
	"math/bits"
	"slices"
)

// Part divides the coordinates in two, so that those of each part have to do with the
// other part's more than with each other, and returns the part that coordinate 0 is not
// in. It returns nil where the coordinates of even index and those of odd index are as
// good.
func (found *Found) Part(d int, density Density) []int {
	if d < 3 || len(found.X) < 24*d {
		return nil
	}
	w := found.couplings(d, density)
	// Beginning with coordinate 0, the one that is tied most to those that have a side
	// takes the side with which it has less to do.
	side, seen := make([]int, d), make([]bool, d)
	ties := make([][2]float64, d)
	for next := 0; next >= 0; {
		i := next
		seen[i] = true
		if ties[i][0] > ties[i][1] || ties[i][0] == ties[i][1] && i%2 == 1 {
			side[i] = 1
		}
		next = -1
		for j := range d {
			if seen[j] {
				continue
			}
			ties[j][side[i]] += w[i*d+j]
			if next < 0 || ties[j][0]+ties[j][1] > ties[next][0]+ties[next][1] {
				next = j
			}
		}
	}
	// Single coordinates change sides while that gains.
	for moved := true; moved; {
		moved = false
		for i := 1; i < d; i++ {
			var own, other float64
			for j := range d {
				if side[j] == side[i] {
					own += w[i*d+j]
				} else {
					other += w[i*d+j]
				}
			}
			if own > other {
				side[i], moved = 1-side[i], true
			}
		}
	}
	const gain = 1.05
	var part []int
	var cut, parity float64
	for i := range d {
		if side[i] == 1 {
			part = append(part, i)
		}
		for j := range i {
			if side[i] != side[j] {
				cut += w[i*d+j]
			}
			if (i-j)%2 == 1 {
				parity += w[i*d+j]
			}
		}
	}
	if cut <= gain*parity {
		return nil
	}
	return part
}

// Separable reports whether ln π is a sum of functions of one coordinate each, as far as
// pairs of the population show. It says so of none with too few members.
func (found *Found) Separable(d int, density Density) bool {
	if len(found.X) < 24*d || !found.exchangeable(d, density) {
		return false
	}
	return !slices.ContainsFunc(found.couplings(d, density), func(w float64) bool { return w > 0 })
}

// exchangeable reports whether ln π(x) + ln π(y) stays what it is where x and y exchange
// many coordinates at once, as modes that lie apart in many do not.
func (found *Found) exchangeable(d int, density Density) bool {
	const pairs, rounding, coarse = 24, 1e-3, 1e-6
	n := len(found.X) / d
	states, log := make([]float32, 4*d), make([]float64, 4)
	for p := range pairs {
		x, y := found.X[p*(n/pairs)*d:][:d], found.X[(n-1-p*(n/pairs))*d:][:d]
		for i := range d {
			a, b := x[i], y[i]
			states[i], states[d+i] = a, b
			if (i>>(p%bits.Len(uint(d-1))))&1 == 1 {
				a, b = b, a
			}
			states[2*d+i], states[3*d+i] = a, b
		}
		density(log, states)
		size := 0.0
		for _, v := range log {
			size += math.Abs(v)
		}
		// The negation is true of NaN too, and too large a size does not tell.
		limit := rounding + coarse*size
		if off := math.Abs(log[0] + log[1] - log[2] - log[3]); !(off <= limit && limit < 1) {
			return false
		}
	}
	return true
}

// couplings returns how much pairs of coordinates have to do with each other, [d][d]: the mean
// size of
//
//	ln π(x) − ln π(x, x_i → y_i) − ln π(x, x_j → y_j) + ln π(x, both)
//
// over pairs x, y of the population, which is 0 where ln π is a sum of a function without
// x_i and one without x_j.
func (found *Found) couplings(d int, density Density) []float64 {
	const pairs, rounding, most = 12, 1e-3, 10
	n := len(found.X) / d
	rows := 1 + d + d*(d-1)/2
	states, log := make([]float32, rows*d), make([]float64, rows)
	w := make([]float64, d*d)
	for p := range pairs {
		x := found.X[p*(n/pairs)*d:][:d]
		y := found.X[(p*(n/pairs)+n/(2*pairs))*d:][:d]
		for r := range rows {
			copy(states[r*d:], x)
		}
		for i := range d {
			states[(1+i)*d+i] = y[i]
			for j := range i {
				row := states[(1+d+row(i-1)+j)*d:][:d]
				row[i], row[j] = y[i], y[j]
			}
		}
		density(log, states)
		for i := range d {
			for j := range i {
				bond := math.Abs(log[0] - log[1+i] - log[1+j] + log[1+d+row(i-1)+j])
				if bond > rounding { // not where it is no number
					w[i*d+j] += min(bond, most) / pairs
					w[j*d+i] = w[i*d+j]
				}
			}
		}
	}
	return w
}
