package categories

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// MostConfigurations is the largest number of configurations that are listed.
const MostConfigurations = 1 << 20

// Configurations returns their number, MostConfigurations + 1 if there are more.
func (t *Target) Configurations() (count int) {
	count = 1
	for _, q := range t.States {
		if count *= q; count > MostConfigurations {
			return MostConfigurations + 1
		}
	}
	return count
}

// Number returns the number of a configuration, Σ_i s_i Π_{j<i} q_j.
func (t *Target) Number(s []byte) (k int) {
	for i := len(s) - 1; i >= 0; i-- {
		k = k*t.States[i] + int(s[i])
	}
	return k
}

// Each calls visit with all configurations, in the order of their numbers.
func (t *Target) Each(visit func(k int, s []byte)) {
	s := make([]byte, t.N())
	for k := 0; ; k++ {
		visit(k, s)
		i := 0
		for ; i < len(s); i++ {
			if s[i]++; int(s[i]) < t.States[i] {
				break
			}
			s[i] = 0
		}
		if i == len(s) {
			return
		}
	}
}

// Enumerate returns ln Z and π of all configurations, by their numbers.
func (t *Target) Enumerate() (logZ float64, p []float64) {
	p = make([]float64, t.Configurations())
	low := math.Inf(1)
	t.Each(func(k int, s []byte) {
		p[k] = t.Beta * t.Energy(s)
		low = min(low, p[k])
	})
	var sum float64
	for k, x := range p {
		p[k] = math.Exp(low - x)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return math.Log(sum) - low, p
}

// Limits of sums site by site: numbers of a table and of all.
const (
	mostTable  = 1 << 21
	mostTables = 1 << 24
)

// A Sum is Z, added up site by site, each as a function of the sites around it that are
// left: a transfer matrix for any graph. What the tables hold draws from π itself.
type Sum struct {
	target *Target
	order  []elimination
	LogZ   float64
}

// An elimination sums a site out.
type elimination struct {
	site   int
	around []int       // sites left
	pairs  [][]float64 // to these, nil where there is none
	field  []float64
	above  []int // of the eliminations before whose tables hold the site
	table  []float64
	used   bool // by an elimination after
}

// Summable reports whether NewSum can add a target up.
func Summable(t *Target) bool {
	_, err := t.order()
	return err == nil
}

// order returns the order in which sites are summed out, each followed by the sites around it
// that are left, fewest of whose configurations first. An error says that tables are too large.
func (t *Target) order() (order [][]int, err error) {
	n := t.N()
	if n > 1<<10 {
		return nil, fmt.Errorf("%d sites are too many to sum one by one", n)
	}
	near := make([]map[int]bool, n)
	for i, list := range t.neighbours() {
		near[i] = map[int]bool{}
		for _, k := range list {
			near[i][k.site] = true
		}
	}
	size := func(i int) (s float64) {
		s = 1
		for _, j := range slices.Sorted(maps.Keys(near[i])) {
			s *= float64(t.States[j])
		}
		return s
	}
	left := make([]bool, n)
	var all float64 // numbers of tables
	for range n {
		best, least := -1, 0.0
		for i := range n {
			if left[i] {
				continue
			}
			if s := size(i); best < 0 || s < least { // +Inf where all have too many
				best, least = i, s
			}
		}
		left[best] = true
		row := append([]int{best}, slices.Sorted(maps.Keys(near[best]))...)
		order = append(order, row)
		if all += least; least*float64(t.States[best]) > mostTable || all > mostTables {
			return nil, fmt.Errorf("summing site by site takes tables of more than %d numbers", mostTable)
		}
		for _, j := range row[1:] {
			delete(near[j], best)
			for _, k := range row[1:] {
				if k != j {
					near[j][k] = true
				}
			}
		}
	}
	return order, nil
}

// NewSum adds Z up, or says why it cannot: tables would be too large.
func NewSum(ctx context.Context, t *Target) (*Sum, error) {
	order, err := t.order()
	if err != nil {
		return nil, err
	}
	near := t.neighbours()
	s := &Sum{target: t}
	for _, row := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := elimination{site: row[0], around: row[1:]}
		if t.Fields != nil {
			e.field = t.Fields[e.site]
		}
		var around Target
		for _, j := range e.around {
			e.pairs = append(e.pairs, energyTo(near[e.site], j))
			around.States = append(around.States, t.States[j])
		}
		for k := range s.order {
			if a := &s.order[k]; !a.used && slices.Contains(a.around, e.site) {
				a.used, e.above = true, append(e.above, k)
			}
		}
		e.table = make([]float64, around.Configurations())
		x := make([]byte, t.N())
		var w [MostStates]float64
		around.Each(func(k int, states []byte) {
			for i, j := range e.around {
				x[j] = states[i]
			}
			e.table[k] = s.weigh(&w, &e, x)
		})
		if len(e.around) == 0 {
			s.LogZ += e.table[0]
		}
		s.order = append(s.order, e)
	}
	s.LogZ -= t.Beta * t.Offset
	return s, nil
}

// weigh sets w to the weights of a site's states and returns the logarithm of their sum.
func (s *Sum) weigh(w *[MostStates]float64, e *elimination, x []byte) float64 {
	t := s.target
	q := t.States[e.site]
	highest := math.Inf(-1)
	for c := range q {
		x[e.site] = byte(c)
		var log float64
		for k, j := range e.around {
			if p := e.pairs[k]; p != nil {
				log -= t.Beta * p[int(x[j])*q+c]
			}
		}
		if e.field != nil {
			log -= t.Beta * e.field[c]
		}
		for _, k := range e.above {
			a := &s.order[k]
			index := 0
			for i := len(a.around) - 1; i >= 0; i-- {
				index = index*t.States[a.around[i]] + int(x[a.around[i]])
			}
			log += a.table[index]
		}
		w[c], highest = log, max(highest, log)
	}
	var sum float64
	for c := range q {
		w[c] = math.Exp(w[c] - highest)
		sum += w[c]
	}
	return highest + math.Log(sum)
}

// Draw sets batch to independent configurations first, first+1, … of a stream, drawn from π.
func (s *Sum) Draw(batch []byte, stream *rng.Counter, first uint64) {
	n := s.target.N()
	draw := make([]uint32, (n+3)/4*4)
	var w [MostStates]float64
	for ; len(batch) > 0; batch, first = batch[n:], first+1 {
		asm.PhiloxBlocks(draw, stream, first*uint64(len(draw)/4))
		x := batch[:n]
		for k := len(s.order) - 1; k >= 0; k-- {
			e := &s.order[k]
			s.weigh(&w, e, x)
			q := s.target.States[e.site]
			var t [MostStates]uint32
			thresholds(t[:q-1], w[:q])
			x[e.site] = chosen(t[:q-1], draw[k])
		}
	}
}

// Rows is the transfer matrix T of the periodic square lattice from row to row as a product of
// sparse factors. T(x, y) is the weight of row y below row x: that of y's horizontal bonds and
// fields and of the bonds between the two,
//
//	T(x, y) = Π_c w(x_c, y_c) · d(y),
//
// so that Tr T^l is Z up to a factor. A row is numbered as a configuration is.
type Rows struct {
	ring      Target
	q         int
	pair, row []float64 // w and d, relative to the largest
	log       float64   // ln of what T lacks by that
}

// NewRows returns the transfer matrix of rows of l sites, of which there are q^l, at most 8192. The
// energy of pairs is the same to the right and downwards, and that of fields, nil for none, on
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
	r.log = largest - beta*float64(l)*low
	return r, nil
}

// Times returns the product of a row-major matrix with T: one pass for each site of a row, which
// takes that of the next row in its place.
func (r *Rows) Times(matrix []float64) []float64 {
	matrix = slices.Clone(matrix)
	var of [MostStates]float64
	for v := range slices.Chunk(matrix, len(r.row)) {
		for stride := 1; stride < len(v); stride *= r.q {
			for base := 0; base < len(v); base += stride * r.q {
				for k := base; k < base+stride; k++ {
					for from := range r.q {
						of[from] = v[k+from*stride]
					}
					for to := range r.q {
						var sum float64
						for from, x := range of[:r.q] {
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
	code, even := r.ring.Code()
	v := make([]float64, len(r.row))
	var logs []float64 // of the parts of the trace
	for start, orbit := range Orbits(l, q, code != States, code == Same && even) {
		if orbit == 0 {
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
		logs = append(logs, log+math.Log(float64(orbit)*v[start]))
	}
	return floats.LogSumExp(logs) + float64(l)*r.log, nil
}

// Orbits sorts the rows of l sites of q states into orbits of turning and, if told, of mirroring
// and of renaming the states. It returns an orbit's size at its first row, and 0 at its others.
func Orbits(l, q int, mirror, relabel bool) (sizes []int) {
	ring := Target{States: Uniform(l, q)}
	sizes = make([]int, ring.Configurations())
	seen := make([]bool, len(sizes))
	s, other := make([]byte, l), make([]byte, l)
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
				s[i], other[(i+1)%l] = byte(rest%q), byte(rest%q)
			}
			reach(ring.Number(other))
			if mirror {
				slices.Reverse(other)
				reach(ring.Number(other))
			}
			for a := range byte(q - 1) {
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
					other[i] = x
				}
				reach(ring.Number(other))
			}
		}
		sizes[start] = len(queue)
	}
	return sizes
}
