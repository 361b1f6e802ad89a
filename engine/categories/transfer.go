package categories

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Rows is the transfer matrix T of the periodic square lattice from row to row, as a product of
// sparse factors. T(x, y) is the weight of row y below row x: d(y) of the horizontal bonds and
// fields of y, times the weights w of the bonds between the rows,
//
//	T(x, y) = Π_c w(x_c, y_c) · d(y),
//
// so that Z = Tr T^l. A row is numbered as a configuration is.
type Rows struct {
	ring     Target // one row
	q        int
	pair     []float64 // w, relative to the largest
	row      []float64 // d, relative to the largest
	logScale float64   // ln of the factor by which pair and row make T too small
}

// NewRows returns the transfer matrix of rows of l sites, of which there are q^l, at most 8192. The
// energy of pairs is the same to the right and downwards. The field, nil for none, is the same on
// every site.
func NewRows(l, q int, energy, field []float64, beta float64) (*Rows, error) {
	r := &Rows{ring: Target{States: Uniform(l, q)}, q: q}
	for i := range l {
		r.ring.Pairs = append(r.ring.Pairs, Pair{i, (i + 1) % l, energy})
		if field != nil {
			r.ring.Fields = append(r.ring.Fields, field)
		}
	}
	states := r.ring.Configurations()
	if states > 1<<13 {
		return nil, fmt.Errorf("a row of %d sites of %d states has more than %d states", l, q, 1<<13)
	}
	r.row = make([]float64, states)
	r.ring.Each(func(k int, s []byte) { r.row[k] = -beta * r.ring.Energy(s) })
	low, largest := slices.Min(energy), slices.Max(r.row)
	for _, e := range energy {
		r.pair = append(r.pair, math.Exp(-beta*(e-low)))
	}
	for k, log := range r.row {
		r.row[k] = math.Exp(log - largest)
	}
	r.logScale = largest - beta*float64(l)*low
	return r, nil
}

// Times returns the product of a row-major matrix with T, up to a constant factor. It takes one pass
// for each site of a row, in which the site of the next row replaces it.
func (r *Rows) Times(matrix []float64) []float64 {
	matrix = slices.Clone(matrix)
	var old [MaxStates]float64 // entries of the states of one site
	for v := range slices.Chunk(matrix, len(r.row)) {
		for stride := 1; stride < len(v); stride *= r.q {
			for base := 0; base < len(v); base += stride * r.q {
				for k := base; k < base+stride; k++ {
					for from := range r.q {
						old[from] = v[k+from*stride]
					}
					for to := range r.q {
						var sum float64
						for from, x := range old[:r.q] {
							sum += x * r.pair[from*r.q+to]
						}
						v[k+to*stride] = sum
					}
				}
			}
		}
		floats.Mul(v, r.row)
	}
	return matrix
}

// Torus returns ln Z of the periodic l×l lattice of NewRows.
func Torus(l, q int, energy, field []float64, beta float64) (logZ float64, err error) {
	r, err := NewRows(l, q, energy, field, beta)
	if err != nil {
		return 0, err
	}
	code, symmetric := r.ring.Code()
	v := make([]float64, len(r.row))
	var logs []float64 // of the summands of the trace, one for each orbit
	for start, size := range Orbits(l, q, code != States, code == Same && symmetric) {
		if size == 0 {
			continue
		}
		clear(v)
		v[start] = 1
		var log float64
		for range l {
			v = r.Times(v)
			largest := slices.Max(v)
			floats.Scale(1/largest, v)
			log += math.Log(largest)
		}
		logs = append(logs, log+math.Log(float64(size)*v[start]))
	}
	return floats.LogSumExp(logs) + float64(l)*r.logScale, nil
}

// Orbits sorts the periodic rows of l sites of q states into orbits of rotations and, if told, of
// reflections and of permutations of the states. It returns the size of an orbit at its first row,
// and 0 at its other rows.
func Orbits(l, q int, mirror, relabel bool) (sizes []int) {
	ring := Target{States: Uniform(l, q)}
	sizes = make([]int, ring.Configurations())
	seen := make([]bool, len(sizes))
	s, image := make([]byte, l), make([]byte, l)
	for start := range sizes {
		var queue []int
		reach := func(k int) {
			if !seen[k] {
				seen[k] = true
				queue = append(queue, k)
			}
		}
		reach(start)
		for at := 0; at < len(queue); at++ {
			for i, rest := 0, queue[at]; i < l; i, rest = i+1, rest/q {
				s[i], image[(i+1)%l] = byte(rest%q), byte(rest%q)
			}
			reach(ring.Number(image))
			if mirror {
				slices.Reverse(image)
				reach(ring.Number(image))
			}
			for a := range byte(q - 1) { // transpositions of neighbouring states
				if !relabel {
					break
				}
				for i, x := range s {
					switch x {
					case a:
						x = a + 1
					case a + 1:
						x = a
					}
					image[i] = x
				}
				reach(ring.Number(image))
			}
		}
		sizes[start] = len(queue)
	}
	return sizes
}
