package categories

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/lists"
)

// A law is a target at one β as blocks of samples are drawn and weighed by it.
type law struct {
	target *Target
	factors
	sites  []star // all sites, given all their neighbours
	stars  []star // of the sites that are not learned
	last   []int  // of these, those that are no centres with leaves
	memos  []memo
	pairs  []term // between learned sites
	single []term // fields of learned sites
}

// A term is an energy of one or two sites.
type term struct {
	i, j   int // j is −1 of one site
	q      int // states of j
	energy []float64
}

// newLaw compiles a target. Sites that are not learned, if any, fall into stars.
func newLaw(t *Target, learned []bool) (*law, error) {
	l := &law{target: t, factors: factors{beta: math.NaN()}}
	near := t.neighbours()
	field := func(i int) []float64 {
		if t.Fields == nil {
			return nil
		}
		return t.Fields[i]
	}
	among := func(i int, wanted func(j int) bool) conditional {
		c := conditional{site: i, q: t.States[i], field: -1}
		if f := field(i); f != nil {
			c.field = l.add(f, f[0])
		}
		for _, n := range near[i] {
			if wanted(n.site) {
				c.around, c.pairs = append(c.around, int32(n.site)), append(c.pairs, l.of(n.energy))
			}
		}
		return c
	}
	for i := range near {
		c := among(i, func(int) bool { return true })
		l.sites = append(l.sites, star{centre: c, around: c.around})
	}
	if learned == nil {
		l.memorize()
		return l, nil
	}
	for i, list := range near {
		if !learned[i] {
			continue
		}
		for _, n := range list {
			if n.site > i && learned[n.site] {
				// [states of n][states of i]
				l.pairs = append(l.pairs, term{n.site, i, t.States[i], n.energy})
			}
		}
		if f := field(i); f != nil {
			l.single = append(l.single, term{i, -1, 0, f})
		}
	}
	stars, err := hierarchy.Stars(lists.Map(near, func(list []neighbour) []int32 {
		return lists.Map(list, func(n neighbour) int32 { return int32(n.site) })
	}), learned)
	if err != nil {
		return nil, err
	}
	isLearned := func(j int) bool { return learned[j] }
	for _, of := range stars {
		s := star{centre: among(of.Centre, isLearned), around: of.Around, weighs: true}
		for _, j := range of.Leaves {
			s.leaves = append(s.leaves, leaf{among(j, isLearned), l.of(energyTo(near[j], of.Centre))})
			l.last = append(l.last, j)
		}
		if of.Leaves == nil {
			l.last = append(l.last, of.Centre)
		}
		l.stars = append(l.stars, s)
	}
	l.memorize()
	return l, nil
}

// energyTo returns the energies of a pair, nil if the site is no neighbour.
func energyTo(list []neighbour, site int) []float64 {
	for _, n := range list {
		if n.site == site {
			return n.energy
		}
	}
	return nil
}

// memorize makes tables where these are worth it.
func (l *law) memorize() {
	key := func(c *conditional, around []int32) string {
		text := fmt.Sprint(c.q, c.pairs)
		if c.field >= 0 {
			text += fmt.Sprint(l.factors.all[c.field].energy)
		}
		for _, j := range c.around {
			text += fmt.Sprint(",", slices.Index(around, j), ":", l.target.States[j])
		}
		return text
	}
	var all []*star
	for _, list := range [][]star{l.sites, l.stars} {
		for k := range list {
			all = append(all, &list[k])
		}
	}
	keys, sharers, tables := make([]string, len(all)), map[string]int{}, map[string]int{}
	for k, s := range all {
		keys[k] = fmt.Sprint(s.weighs, key(&s.centre, s.around))
		for i := range s.leaves {
			keys[k] += fmt.Sprint(";", key(&s.leaves[i].conditional, s.around), s.leaves[i].centre)
		}
		sharers[keys[k]]++
	}
	for k, s := range all {
		table, known := tables[keys[k]]
		if !known {
			table = -1
			if m, ok := l.newMemo(s, min(mostEntries, ownEntries*sharers[keys[k]])); ok {
				table, l.memos = len(l.memos), append(l.memos, m)
			}
			tables[keys[k]] = table
		}
		s.table = table
	}
}

// newMemo returns a star's table, unless it takes more entries than most.
func (l *law) newMemo(s *star, most int) (m memo, ok bool) {
	m.of = s
	entries := 1
	for _, j := range s.around {
		m.sizes, m.strides = append(m.sizes, l.target.States[j]), append(m.strides, int32(entries))
		if entries *= l.target.States[j]; entries > most {
			return m, false
		}
	}
	m.draw = make([]uint32, entries*thresholdsOf(s.centre.q))
	if s.weighs {
		m.logW = make([]float64, entries)
	}
	return m, true
}

// copy returns the same law with numbers of its own, of no β yet.
func (l *law) copy() *law {
	c := *l
	c.factors.all = slices.Clone(l.factors.all)
	for k := range c.factors.all {
		c.factors.all[k].weight = make([]float64, len(c.factors.all[k].weight))
	}
	c.beta = math.NaN()
	c.memos = slices.Clone(l.memos)
	for k := range c.memos {
		c.memos[k].draw = make([]uint32, len(c.memos[k].draw))
		if c.memos[k].logW != nil {
			c.memos[k].logW = make([]float64, len(c.memos[k].logW))
		}
	}
	return &c
}

// setBeta computes the law at another inverse temperature.
func (l *law) setBeta(beta float64) {
	if beta == l.beta {
		return
	}
	l.factors.set(beta)
	for k := range l.memos {
		l.fill(&l.memos[k])
	}
}

// fill computes a table.
func (l *law) fill(m *memo) {
	var w [MostStates]float64
	s, q := m.of, m.of.centre.q
	each := thresholdsOf(q)
	x := make([]byte, len(s.around))
	at := func(site int32) byte { return x[slices.Index(s.around, site)] }
	for n := range m.entries() {
		rest := n
		for j, size := range m.sizes {
			x[j], rest = byte(rest%size), rest/size
		}
		if logW := s.weigh(&w, &l.factors, at); m.logW != nil {
			m.logW[n] = logW
		}
		thresholds(m.draw[n*each:][:each], w[:q])
	}
}

// addLogWeights adds scale times ln W of the learned sites of a block, all others summed
// out.
func (l *law) addLogWeights(dst *[block]float64, scale float64, state []byte) {
	var index [block]int32
	var w [MostStates]float64
	for k := range l.stars {
		s := &l.stars[k]
		if s.table >= 0 {
			m := &l.memos[s.table]
			m.numbers(&index, state, s.around)
			for b := range dst {
				dst[b] += scale * m.logW[index[b]]
			}
			continue
		}
		for b := range dst {
			dst[b] += scale * s.weigh(&w, &l.factors, sample(state, b))
		}
	}
	c := -scale * l.beta
	for _, p := range l.pairs {
		x, y := (*[block]byte)(state[p.i*block:]), (*[block]byte)(state[p.j*block:])
		for b := range dst {
			dst[b] += c * p.energy[int(x[b])*p.q+int(y[b])]
		}
	}
	for _, f := range l.single {
		x := (*[block]byte)(state[f.i*block:])
		for b := range dst {
			dst[b] += c * f.energy[x[b]]
		}
	}
	for b := range dst {
		dst[b] += c * l.target.Offset
	}
}

// complete draws the sites that are not learned: centres with their leaves summed out, and then
// the others given all their neighbours.
func (l *law) complete(state []byte, random *hierarchy.Words) {
	for k := range l.stars {
		if s := &l.stars[k]; s.leaves != nil {
			l.draw(s, state, random.Next())
		}
	}
	for _, i := range l.last {
		l.draw(&l.sites[i], state, random.Next())
	}
}
