package categories

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// Limits of sums site by site.
const (
	maxTable  = 1 << 21 // terms that are summed for one table
	maxTables = 1 << 24 // entries of all tables
)

// A Sum is Z by variable elimination: sites are summed out one by one, a transfer matrix for any
// graph. Each leaves a table, the logarithm of the sum as a function of the neighbours that remain.
// In the reverse order, the tables draw exact samples from π.
type Sum struct {
	target *Target
	order  []elimination
	LogZ   float64
}

// An elimination sums a site out.
type elimination struct {
	site       int
	neighbours []int       // sites that remain and that the sum depends on
	pairs      [][]float64 // energies of the pairs with them, nil where there is no pair
	field      []float64
	inputs     []int     // earlier eliminations whose tables depend on the site
	table      []float64 // by the number of the neighbours' configuration
	used       bool      // the table is an input of a later elimination
}

// Summable reports whether the tables of NewSum are small enough.
func Summable(t *Target) bool {
	_, err := t.order()
	return err == nil
}

// order returns the order in which sites are summed out: next is the site whose remaining neighbours
// have the fewest configurations. Each row is a site followed by these neighbours. The error says
// that tables are too large.
func (t *Target) order() (order [][]int, err error) {
	n := t.N()
	if n > 1<<10 {
		return nil, fmt.Errorf("%d sites are too many to sum one by one", n)
	}
	remaining := make([]map[int]bool, n) // neighbours of each site
	for i, list := range t.neighbours() {
		remaining[i] = map[int]bool{}
		for _, k := range list {
			remaining[i][k.site] = true
		}
	}
	tableSize := func(i int) (s float64) {
		s = 1
		for _, j := range slices.Sorted(maps.Keys(remaining[i])) {
			s *= float64(t.States[j])
		}
		return s
	}
	eliminated := make([]bool, n)
	var entries float64 // of all tables
	for range n {
		best, least := -1, 0.0
		for i := range n {
			if eliminated[i] {
				continue
			}
			if s := tableSize(i); best < 0 || s < least { // sizes may all be +Inf
				best, least = i, s
			}
		}
		eliminated[best] = true
		row := append([]int{best}, slices.Sorted(maps.Keys(remaining[best]))...)
		order = append(order, row)
		if entries += least; least*float64(t.States[best]) > maxTable || entries > maxTables {
			return nil, fmt.Errorf("summing site by site takes tables of more than %d numbers", maxTable)
		}
		for _, j := range row[1:] {
			delete(remaining[j], best)
			for _, k := range row[1:] {
				if k != j {
					remaining[j][k] = true
				}
			}
		}
	}
	return order, nil
}

// NewSum sums a target up. The error is that of ctx, or says that tables would be too large.
func NewSum(ctx context.Context, t *Target) (*Sum, error) {
	order, err := t.order()
	if err != nil {
		return nil, err
	}
	neighbours := t.neighbours()
	s := &Sum{target: t}
	for _, row := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := elimination{site: row[0], neighbours: row[1:], field: t.field(row[0])}
		var surrounding Target // of the neighbours alone
		for _, j := range e.neighbours {
			e.pairs = append(e.pairs, energyTo(neighbours[e.site], j))
			surrounding.States = append(surrounding.States, t.States[j])
		}
		for k := range s.order {
			if a := &s.order[k]; !a.used && slices.Contains(a.neighbours, e.site) {
				a.used, e.inputs = true, append(e.inputs, k)
			}
		}
		e.table = make([]float64, surrounding.Configurations())
		x := make([]byte, t.N())
		var w [MaxStates]float64
		surrounding.Each(func(k int, states []byte) {
			for i, j := range e.neighbours {
				x[j] = states[i]
			}
			e.table[k] = s.weigh(&w, &e, x)
		})
		if len(e.neighbours) == 0 {
			s.LogZ += e.table[0]
		}
		s.order = append(s.order, e)
	}
	s.LogZ -= t.Beta * t.Offset
	return s, nil
}

// weigh sets w to the weights of a site's states given its neighbours in x, up to a common factor, and
// returns the logarithm of the sum of the weights without that factor.
func (s *Sum) weigh(w *[MaxStates]float64, e *elimination, x []byte) float64 {
	t := s.target
	q := t.States[e.site]
	highest := math.Inf(-1)
	for c := range q {
		x[e.site] = byte(c)
		var log float64
		for k, j := range e.neighbours {
			if p := e.pairs[k]; p != nil {
				log -= t.Beta * p[int(x[j])*q+c]
			}
		}
		if e.field != nil {
			log -= t.Beta * e.field[c]
		}
		for _, k := range e.inputs {
			a := &s.order[k]
			index := 0
			for i := len(a.neighbours) - 1; i >= 0; i-- {
				index = index*t.States[a.neighbours[i]] + int(x[a.neighbours[i]])
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
	words := make([]uint32, (n+3)/4*4)
	var w [MaxStates]float64
	for ; len(batch) > 0; batch, first = batch[n:], first+1 {
		asm.PhiloxBlocks(words, stream, first*uint64(len(words)/4))
		x := batch[:n]
		for k := len(s.order) - 1; k >= 0; k-- {
			e := &s.order[k]
			s.weigh(&w, e, x)
			q := s.target.States[e.site]
			var thresholds [MaxStates]uint32
			setThresholds(thresholds[:q-1], w[:q])
			x[e.site] = drawState(thresholds[:q-1], words[k])
		}
	}
}
