package categories

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/number"
)

// MaxStates is the largest number of states of a site.
const MaxStates = 16

// MaxSites is the largest number of sites.
const MaxSites = 1 << 15

// A Target is the law e^(−βE)/Z of sites of a few states, numbered from 0:
//
//	E(s) = Σ_pairs e(s_i, s_j) + Σ_i f_i(s_i) + offset.
type Target struct {
	States []int // number of states of each site, 2 to MaxStates
	Pairs  []Pair
	Fields [][]float64 // f_i of each site, [sites][states]; nil for no field, for all sites or one
	Offset float64
	Beta   float64
}

// A Pair of different sites has the energy Energy[s_I·q_J + s_J]. Pairs with equal energies should
// share the slice, so that they share tables. Energies of several pairs of two sites add up.
type Pair struct {
	I, J   int
	Energy []float64
}

// Uniform returns the States of n sites of q states each.
func Uniform(n, q int) []int {
	return slices.Repeat([]int{q}, n)
}

// Potts returns the table of −J δ(s, t) of q states.
func Potts(q int, j float64) []float64 {
	table := make([]float64, q*q)
	for s := range q {
		table[s*q+s] = -j
	}
	return table
}

// Clock returns the table of −J cos(2π(s − t)/q).
func Clock(q int, j float64) []float64 {
	table := make([]float64, q*q)
	for s := range q {
		for t := range q {
			d := min((s-t+q)%q, (t-s+q)%q) // equal distances have equal energies, bit for bit
			table[s*q+t] = -j * math.Cos(2*math.Pi*float64(d)/float64(q))
		}
	}
	return table
}

// Lattice returns the pairs of the periodic square lattice, from each site row·l + column to the
// right and downwards. At l = 2 each pair of neighbours is bonded twice. Horizontal pairs from even
// columns come first, then those from odd columns; vertical pairs follow, ordered by rows likewise.
// So the order of a site's neighbours depends on parities alone, and sites share tables.
func Lattice(l int, energy []float64) (pairs []Pair) {
	for parity := range 2 {
		for r := range l {
			for c := parity; c < l; c += 2 {
				pairs = append(pairs, Pair{r*l + c, r*l + (c+1)%l, energy})
			}
		}
	}
	for parity := range 2 {
		for r := parity; r < l; r += 2 {
			for c := range l {
				pairs = append(pairs, Pair{r*l + c, (r+1)%l*l + c, energy})
			}
		}
	}
	return pairs
}

// Validate reports the first value that cannot be used.
func (t *Target) Validate() error {
	n := len(t.States)
	if n == 0 || n > MaxSites {
		return fmt.Errorf("states: there are %d sites, not 1 to %d", n, MaxSites)
	}
	for i, q := range t.States {
		if q < 2 || q > MaxStates {
			return fmt.Errorf("states: site %d has %d, not 2 to %d", i, q, MaxStates)
		}
	}
	reach := make([]float64, n) // bounds the energy differences of a site's states
	for k, p := range t.Pairs {
		switch {
		case p.I < 0 || p.I >= n || p.J < 0 || p.J >= n:
			return fmt.Errorf("pairs[%d]: there are no two sites %d and %d; they are 0 to %d", k, p.I, p.J, n-1)
		case p.I == p.J:
			return fmt.Errorf("pairs[%d]: joins site %d with itself", k, p.I)
		case len(p.Energy) != t.States[p.I]*t.States[p.J]:
			return fmt.Errorf("pairs[%d]: has %d energies for %d by %d states", k, len(p.Energy), t.States[p.I], t.States[p.J])
		}
		low, high, err := extremes(p.Energy)
		if err != nil {
			return fmt.Errorf("pairs[%d]: %w", k, err)
		}
		reach[p.I], reach[p.J] = reach[p.I]+high-low, reach[p.J]+high-low
	}
	if t.Fields != nil && len(t.Fields) != n {
		return fmt.Errorf("fields: there are %d for %d sites", len(t.Fields), n)
	}
	for i, f := range t.Fields {
		if f != nil && len(f) != t.States[i] {
			return fmt.Errorf("fields[%d]: has %d energies for %d states", i, len(f), t.States[i])
		}
		low, high, err := extremes(f)
		if err != nil {
			return fmt.Errorf("fields[%d]: %w", i, err)
		}
		reach[i] += high - low
	}
	switch {
	case !number.Finite(t.Offset):
		return errors.New("offset: is not finite")
	case !(t.Beta >= 0) || math.IsInf(t.Beta, 1):
		return fmt.Errorf("beta: %v is not a number from 0", t.Beta)
	}
	for i, r := range reach {
		// The products of Boltzmann factors of all but one state must not underflow.
		if t.Beta*r > 600 {
			return fmt.Errorf("beta: β times the energies that site %d can lose is %.3g, more than 600, and only one of its states has weight; take a lower β", i, t.Beta*r)
		}
	}
	return nil
}

// extremes returns the smallest and the largest energy, 0 and 0 of none.
func extremes(x []float64) (low, high float64, err error) {
	if len(x) == 0 {
		return 0, 0, nil
	}
	low, high = x[0], x[0]
	for _, v := range x {
		if !number.Finite(v) {
			return 0, 0, fmt.Errorf("the energy %v is not finite", v)
		}
		low, high = min(low, v), max(high, v)
	}
	return low, high, nil
}

// N returns the number of sites.
func (t *Target) N() int { return len(t.States) }

// field returns f_i, nil for none.
func (t *Target) field(i int) []float64 {
	if t.Fields == nil {
		return nil
	}
	return t.Fields[i]
}

// MaxQ returns the largest number of states of a site.
func (t *Target) MaxQ() int { return slices.Max(t.States) }

// Energy returns E of a configuration, one state a site.
func (t *Target) Energy(s []byte) float64 {
	e := t.Offset
	for i := range t.Pairs {
		p := &t.Pairs[i]
		e += p.Energy[int(s[p.I])*t.States[p.J]+int(s[p.J])]
	}
	for i, f := range t.Fields {
		if f != nil {
			e += f[s[i]]
		}
	}
	return e
}

// Energies sets dst to E of configurations, one after another.
func (t *Target) Energies(dst []float64, batch []byte) {
	n := t.N()
	for i := range dst {
		dst[i] = t.Energy(batch[i*n:][:n])
	}
}

// A Code says which function of two states determines the energy of a pair.
type Code int

// The codes, each of which includes those before it.
const (
	Same     Code = iota // whether the states are equal
	Distance             // the distance of the states on a circle
	States               // the two states
)

// Code returns the code of all pairs, and whether relabelling states leaves π as it is: all sites have
// the same number of states, pairs have code Same or Distance, and fields tell no states apart.
func (t *Target) Code() (code Code, symmetric bool) {
	q := t.States[0]
	symmetric = true
	for i, s := range t.States {
		low, high, _ := extremes(t.field(i))
		symmetric = symmetric && s == q && low == high
	}
	codes := map[*float64]Code{} // by the first entry of the energies
	for i := range t.Pairs {
		p := &t.Pairs[i]
		c, ok := codes[&p.Energy[0]]
		if !ok {
			c = codeOf(p.Energy, t.States[p.I], t.States[p.J])
			codes[&p.Energy[0]] = c
		}
		code = max(code, c)
	}
	return code, symmetric && code != States
}

// codeOf returns the first code that the energies of q by r states are a function of.
func codeOf(e []float64, q, r int) Code {
	energy := func(s, t int) float64 { return e[s*r+t] }
	same, distance := true, q == r
	for s := range q {
		for t := range r {
			if s == t {
				same = same && energy(s, s) == energy(0, 0)
			} else {
				same = same && energy(s, t) == energy(0, 1)
			}
			distance = distance && energy(s, t) == energy(0, min((s-t+q)%q, (t-s+q)%q))
		}
	}
	switch {
	case same:
		return Same
	case distance:
		return Distance
	}
	return States
}

// A neighbour of a site, with the energies of their pair, [states of the neighbour][states of the site].
type neighbour struct {
	site   int
	energy []float64
}

// neighbours lists every site's neighbours in the order of the pairs. Several pairs of two sites
// are added up. Energies that are equal because pairs share them are one slice.
func (t *Target) neighbours() [][]neighbour {
	transposes := map[*float64][]float64{}
	transpose := func(e []float64, q, r int) []float64 {
		key := &e[0]
		if transposes[key] == nil {
			x := make([]float64, len(e))
			symmetric := q == r
			for s := range q {
				for u := range r {
					x[u*q+s] = e[s*r+u]
					symmetric = symmetric && e[s*r+u] == e[u*q+s]
				}
			}
			if symmetric {
				x = e
			}
			transposes[key] = x
		}
		return transposes[key]
	}
	sums := map[[2]*float64][]float64{}
	lists := make([][]neighbour, t.N())
	add := func(i, j int, e []float64) {
		for k := range lists[i] {
			if lists[i][k].site == j {
				old := lists[i][k].energy
				key := [2]*float64{&old[0], &e[0]}
				if sums[key] == nil {
					x := make([]float64, len(e))
					for n := range x {
						x[n] = old[n] + e[n]
					}
					sums[key] = x
				}
				lists[i][k].energy = sums[key]
				return
			}
		}
		lists[i] = append(lists[i], neighbour{j, e})
	}
	for _, p := range t.Pairs {
		add(p.J, p.I, p.Energy)
		add(p.I, p.J, transpose(p.Energy, t.States[p.I], t.States[p.J]))
	}
	return lists
}

// strength returns how strongly a pair ties its sites at inverse temperature β, from 0 to below 1.
// It is the largest |e^(−βΔ) − 1|/(e^(−βΔ) + q − 1) over all states, where Δ is the energy of a state
// less the mean of the other states. For a Potts pair it is the correlation along the bond, for an
// Ising pair tanh β|J|.
func strength(e []float64, q, r int, beta float64) (largest float64) {
	for s := range q {
		row := e[s*r : (s+1)*r]
		var mean float64
		for _, x := range row {
			mean += x / float64(r)
		}
		for _, x := range row {
			otherMean := (mean*float64(r) - x) / float64(r-1)
			w := math.Expm1(-beta * (x - otherMean))
			largest = max(largest, math.Abs(w)/(w+float64(r)))
		}
	}
	return min(largest, 1-1e-9) // atanh of it is finite
}
