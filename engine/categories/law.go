package categories

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/lists"
)

// A law is a target at one β, compiled to draw and weigh blocks of samples. Sites that are not
// learned are exact: they are drawn from π given the learned ones.
type law struct {
	target *Target
	factors
	sites     []star // each site given all its neighbours
	stars     []star // groups of the exact sites
	lastExact []int  // leaves, and centres without leaves, which are drawn given all their neighbours
	tables    []table
	pairs     []pairTerm  // pairs of learned sites
	fields    []fieldTerm // fields of learned sites
}

// A pairTerm is the energy [states of i][q states of j] of two sites.
type pairTerm struct {
	i, j   int
	q      int
	energy []float64
}

// A fieldTerm is the energy of a site, [states].
type fieldTerm struct {
	site   int
	energy []float64
}

// newLaw compiles a target. If learned is nil, there are no stars.
func newLaw(t *Target, learned []bool) (*law, error) {
	l := &law{target: t, factors: factors{beta: math.NaN()}}
	neighbours := t.neighbours()
	// given returns the law of site i given those neighbours that are wanted.
	given := func(i int, wanted func(j int) bool) conditional {
		c := conditional{site: i, q: t.States[i], field: -1}
		if f := t.field(i); f != nil {
			c.field = l.addFactor(f, f[0])
		}
		for _, n := range neighbours[i] {
			if wanted(n.site) {
				c.neighbours, c.pairs = append(c.neighbours, int32(n.site)), append(c.pairs, l.pairFactor(n.energy))
			}
		}
		return c
	}
	for i := range neighbours {
		c := given(i, func(int) bool { return true })
		l.sites = append(l.sites, star{centre: c, around: c.neighbours})
	}
	if learned == nil {
		l.addTables()
		return l, nil
	}
	for i, list := range neighbours {
		if !learned[i] {
			continue
		}
		for _, n := range list {
			if n.site > i && learned[n.site] {
				l.pairs = append(l.pairs, pairTerm{i: n.site, j: i, q: t.States[i], energy: n.energy})
			}
		}
		if f := t.field(i); f != nil {
			l.fields = append(l.fields, fieldTerm{i, f})
		}
	}
	stars, err := hierarchy.Stars(lists.Map(neighbours, func(list []neighbour) []int32 {
		return lists.Map(list, func(n neighbour) int32 { return int32(n.site) })
	}), learned)
	if err != nil {
		return nil, err
	}
	isLearned := func(j int) bool { return learned[j] }
	for _, group := range stars {
		s := star{centre: given(group.Centre, isLearned), around: group.Around, needsW: true}
		for _, j := range group.Leaves {
			s.leaves = append(s.leaves, leaf{given(j, isLearned), l.pairFactor(energyTo(neighbours[j], group.Centre))})
			l.lastExact = append(l.lastExact, j)
		}
		if group.Leaves == nil {
			l.lastExact = append(l.lastExact, group.Centre)
		}
		l.stars = append(l.stars, s)
	}
	l.addTables()
	return l, nil
}

// energyTo returns the energies of the pair with a site, nil if it is not among the neighbours.
func energyTo(list []neighbour, site int) []float64 {
	for _, n := range list {
		if n.site == site {
			return n.energy
		}
	}
	return nil
}

// addTables gives stars tables of a moderate size, which stars with the same law share.
func (l *law) addTables() {
	key := func(c *conditional, around []int32) string {
		text := fmt.Sprint(c.q, c.pairs)
		if c.field >= 0 {
			text += fmt.Sprint(l.factors.all[c.field].energy)
		}
		for _, j := range c.neighbours {
			text += fmt.Sprint(",", slices.Index(around, j), ":", l.target.States[j])
		}
		return text
	}
	var stars []*star
	for _, list := range [][]star{l.sites, l.stars} {
		for k := range list {
			stars = append(stars, &list[k])
		}
	}
	keys, sharers, tables := make([]string, len(stars)), map[string]int{}, map[string]int{}
	for k, s := range stars {
		keys[k] = fmt.Sprint(s.needsW, key(&s.centre, s.around))
		for i := range s.leaves {
			keys[k] += fmt.Sprint(";", key(&s.leaves[i].conditional, s.around), s.leaves[i].centre)
		}
		sharers[keys[k]]++
	}
	for k, s := range stars {
		index, ok := tables[keys[k]]
		if !ok {
			index = -1
			if t, ok := l.newTable(s, min(maxEntries, maxEntriesPerSharer*sharers[keys[k]])); ok {
				index, l.tables = len(l.tables), append(l.tables, t)
			}
			tables[keys[k]] = index
		}
		s.table = index
	}
}

// newTable returns a star's table, unless it takes more than limit entries.
func (l *law) newTable(s *star, limit int) (t table, ok bool) {
	t.star = s
	entries := 1
	for _, j := range s.around {
		t.sizes, t.strides = append(t.sizes, l.target.States[j]), append(t.strides, int32(entries))
		if entries *= l.target.States[j]; entries > limit {
			return t, false
		}
	}
	t.thresholds = make([]uint32, entries*thresholdCount(s.centre.q))
	if s.needsW {
		t.logW = make([]float64, entries)
	}
	return t, true
}

// copy returns the same law with weights and tables of its own, which await setBeta.
func (l *law) copy() *law {
	c := *l
	c.factors.all = slices.Clone(l.factors.all)
	for k := range c.factors.all {
		c.factors.all[k].weight = make([]float64, len(c.factors.all[k].weight))
	}
	c.beta = math.NaN()
	c.tables = slices.Clone(l.tables)
	for k := range c.tables {
		t := &c.tables[k]
		t.thresholds = make([]uint32, len(t.thresholds))
		if t.logW != nil {
			t.logW = make([]float64, len(t.logW))
		}
	}
	return &c
}

// setBeta computes the law at another inverse temperature.
func (l *law) setBeta(beta float64) {
	if beta == l.beta {
		return
	}
	l.setWeights(beta)
	for k := range l.tables {
		l.fill(&l.tables[k])
	}
}

// fill computes a table.
func (l *law) fill(t *table) {
	var w [MaxStates]float64
	s, q := t.star, t.star.centre.q
	width := thresholdCount(q)
	x := make([]byte, len(s.around))
	stateOf := func(site int32) byte { return x[slices.Index(s.around, site)] }
	for n := range len(t.thresholds) / width {
		rest := n
		for j, size := range t.sizes {
			x[j], rest = byte(rest%size), rest/size
		}
		if logW := s.weigh(&w, &l.factors, stateOf); t.logW != nil {
			t.logW[n] = logW
		}
		setThresholds(t.thresholds[n*width:][:width], w[:q])
	}
}

// addLogWeights adds scale times ln W of the learned sites of a block, the sum of e^(−βE) over the
// exact sites.
func (l *law) addLogWeights(dst *[block]float64, scale float64, state []byte) {
	var index [block]int32
	var w [MaxStates]float64
	for k := range l.stars {
		s := &l.stars[k]
		if s.table >= 0 {
			t := &l.tables[s.table]
			t.indices(&index, state, s.around)
			for b := range dst {
				dst[b] += scale * t.logW[index[b]]
			}
			continue
		}
		for b := range dst {
			dst[b] += scale * s.weigh(&w, &l.factors, statesOf(state, b))
		}
	}
	c := -scale * l.beta
	for _, p := range l.pairs {
		x, y := (*[block]byte)(state[p.i*block:]), (*[block]byte)(state[p.j*block:])
		for b := range dst {
			dst[b] += c * p.energy[int(x[b])*p.q+int(y[b])]
		}
	}
	for _, f := range l.fields {
		x := (*[block]byte)(state[f.site*block:])
		for b := range dst {
			dst[b] += c * f.energy[x[b]]
		}
	}
	for b := range dst {
		dst[b] += c * l.target.Offset
	}
}

// complete draws the exact sites: first the centres that have leaves, the leaves summed out, and then
// the other sites given all their neighbours.
func (l *law) complete(state []byte, random *hierarchy.RandomWords) {
	for k := range l.stars {
		if s := &l.stars[k]; s.leaves != nil {
			l.draw(s, state, random.Next())
		}
	}
	for _, i := range l.lastExact {
		l.draw(&l.sites[i], state, random.Next())
	}
}
