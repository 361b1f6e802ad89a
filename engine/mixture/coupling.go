package mixture

import (
	"math"
	"math/bits"
	"slices"
)

// Part divides the coordinates into two parts, so that couplings between the parts are
// stronger than those inside, and returns the part without coordinate 0. It returns nil
// if a division into even and odd indices is about as good, or the members are too few.
func (found *Found) Part(d int, density Density) []int {
	if d < 3 || len(found.X) < 24*d {
		return nil
	}
	w := found.couplings(d, density)
	// After coordinate 0, the next one is always that with the strongest ties to coordinates
	// that have a side. It takes the side to which its ties are weaker.
	side, hasSide := make([]int, d), make([]bool, d)
	ties := make([][2]float64, d) // sums of couplings to either side
	for next := 0; next >= 0; {
		i := next
		hasSide[i] = true
		if ties[i][0] > ties[i][1] || ties[i][0] == ties[i][1] && i%2 == 1 {
			side[i] = 1
		}
		next = -1
		for j := range d {
			if hasSide[j] {
				continue
			}
			ties[j][side[i]] += w[i*d+j]
			if next < 0 || ties[j][0]+ties[j][1] > ties[next][0]+ties[next][1] {
				next = j
			}
		}
	}
	// Coordinates change sides, one at a time, while that makes the cut heavier.
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
	const minRatio = 1.05
	var part []int
	var cut, parityCut float64
	for i := range d {
		if side[i] == 1 {
			part = append(part, i)
		}
		for j := range i {
			if side[i] != side[j] {
				cut += w[i*d+j]
			}
			if (i-j)%2 == 1 {
				parityCut += w[i*d+j]
			}
		}
	}
	if cut <= minRatio*parityCut {
		return nil
	}
	return part
}

// Separable reports whether ln π is a sum of functions of one coordinate each, as far as
// pairs of members show. It is false if the members are too few to tell.
func (found *Found) Separable(d int, density Density) bool {
	if len(found.X) < 24*d || !found.exchangeable(d, density) {
		return false
	}
	return !slices.ContainsFunc(found.couplings(d, density), func(w float64) bool { return w > 0 })
}

// exchangeable reports whether ln π(x) + ln π(y) stays the same when members x and y
// exchange many coordinates at once. It changes if modes differ in many coordinates.
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
		magnitude := 0.0
		for _, v := range log {
			magnitude += math.Abs(v)
		}
		// A change of NaN fails, and so do values so large that rounding hides a change.
		limit := rounding + coarse*magnitude
		if change := math.Abs(log[0] + log[1] - log[2] - log[3]); !(change <= limit && limit < 1) {
			return false
		}
	}
	return true
}

// couplings returns how strongly each pair of coordinates is coupled, [d][d]: the mean
// absolute value, 0 up to rounding and at most maxCoupling, of
//
//	ln π(x) − ln π(x, x_i → y_i) − ln π(x, x_j → y_j) + ln π(x, both)
//
// over pairs x, y of members. It is 0 where ln π is a sum of a function without
// x_i and one without x_j.
func (found *Found) couplings(d int, density Density) []float64 {
	const pairs, rounding, maxCoupling = 12, 1e-3, 10
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
				coupling := math.Abs(log[0] - log[1+i] - log[1+j] + log[1+d+row(i-1)+j])
				if coupling > rounding { // false if it is NaN
					w[i*d+j] += min(coupling, maxCoupling) / pairs
					w[j*d+i] = w[i*d+j]
				}
			}
		}
	}
	return w
}
