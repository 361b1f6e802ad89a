package categories

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins/hierarchy"
)

// A law is a target at one β as blocks of samples are drawn and weighed by it.
type law struct {
	target *Target
	factors
	sites  []conditional // of all sites, given all their neighbours
	stars  []star        // of the sites that are not learned
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
		c := conditional{site: i, q: t.States[i], field: -1, table: -1}
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
		l.sites = append(l.sites, among(i, func(int) bool { return true }))
	}
	if learned == nil {
		l.memorize()
		return l, nil
	}
	isExact := func(j int) bool { return !learned[j] }
	isLearned := func(j int) bool { return learned[j] }
	exact := func(i int) (count int) {
		for _, n := range near[i] {
			if !learned[n.site] {
				count++
			}
		}
		return count
	}
	for i, list := range near {
		switch count := exact(i); {
		case learned[i]:
			for _, n := range list {
				if n.site > i && learned[n.site] {
					// [states of n][states of i]
					l.pairs = append(l.pairs, term{n.site, i, t.States[i], n.energy})
				}
			}
			if f := field(i); f != nil {
				l.single = append(l.single, term{i, -1, 0, f})
			}
		case count == 0:
			s := star{q: 1, table: -1, leaves: []leaf{{among(i, isLearned), -1}}}
			l.stars = append(l.stars, s)
		case count > 1 || exact(partner(list, isExact)) == 1 && i < partner(list, isExact):
			centre := among(i, isLearned)
			s := star{centre: &centre, q: t.States[i], table: -1}
			for _, n := range list {
				if learned[n.site] {
					continue
				}
				if exact(n.site) > 1 {
					return nil, fmt.Errorf("categories: exact sites %d and %d are both centres of stars", i, n.site)
				}
				s.leaves = append(s.leaves, leaf{among(n.site, isLearned), l.of(energyTo(near[n.site], i))})
			}
			l.stars = append(l.stars, s)
		}
	}
	for k := range l.stars {
		s := &l.stars[k]
		add := func(c *conditional) {
			for _, j := range c.around {
				if !slices.Contains(s.around, j) {
					s.around = append(s.around, j)
				}
			}
		}
		if s.centre != nil {
			add(s.centre)
		}
		for k := range s.leaves {
			add(&s.leaves[k].conditional)
		}
	}
	l.memorize()
	return l, nil
}

func partner(list []neighbour, exact func(int) bool) int {
	for _, n := range list {
		if exact(n.site) {
			return n.site
		}
	}
	return -1
}

func energyTo(list []neighbour, site int) []float64 {
	return list[slices.IndexFunc(list, func(n neighbour) bool { return n.site == site })].energy
}

// memorize makes tables where these are worth it.
func (l *law) memorize() {
	type use struct {
		sharers int
		memo    int
	}
	uses := map[string]*use{}
	sizes := func(around []int32) (all []int, strides []int32, entries int) {
		entries = 1
		for _, j := range around {
			all, strides = append(all, l.target.States[j]), append(strides, int32(entries))
			entries = min(entries*l.target.States[j], 2*mostEntries)
		}
		return all, strides, entries
	}
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
	starKey := func(s *star) string {
		text := "star"
		if s.centre != nil {
			text += key(s.centre, s.around)
		}
		for k := range s.leaves {
			text += fmt.Sprint(";", key(&s.leaves[k].conditional, s.around), s.leaves[k].centre)
		}
		return text
	}
	note := func(k string) {
		if uses[k] == nil {
			uses[k] = &use{memo: -1}
		}
		uses[k].sharers++
	}
	give := func(k string, around []int32, m memo, q int, weights bool) int {
		u := uses[k]
		all, strides, entries := sizes(around)
		if u.memo < 0 && entries <= min(mostEntries, ownEntries*u.sharers) {
			u.memo = len(l.memos)
			m.sizes, m.strides, m.draw = all, strides, make([]uint32, entries*thresholdsOf(q))
			if weights {
				m.logW = make([]float64, entries)
			}
			l.memos = append(l.memos, m)
		}
		return u.memo
	}
	for i := range l.sites {
		note(key(&l.sites[i], l.sites[i].around))
	}
	for k := range l.stars {
		note(starKey(&l.stars[k]))
	}
	for i := range l.sites {
		c := &l.sites[i]
		c.table = give(key(c, c.around), c.around, memo{star: -1, site: i}, c.q, false)
	}
	for k := range l.stars {
		s := &l.stars[k]
		s.table = give(starKey(s), s.around, memo{star: k}, s.q, true)
	}
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
	var around []int32
	q := 1
	if m.star >= 0 {
		around, q = l.stars[m.star].around, l.stars[m.star].q
	} else {
		around, q = l.sites[m.site].around, l.sites[m.site].q
	}
	x := make([]byte, len(around))
	at := func(site int32) byte { return x[slices.Index(around, site)] }
	for n := range m.entries() {
		rest := n
		for j, size := range m.sizes {
			x[j], rest = byte(rest%size), rest/size
		}
		if m.star >= 0 {
			m.logW[n] = l.stars[m.star].weigh(&w, &l.factors, at)
		} else {
			l.sites[m.site].weigh(&w, &l.factors, at)
		}
		thresholds(m.draw[n*thresholdsOf(q):][:thresholdsOf(q)], w[:q])
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

// complete draws the sites that are not learned: centres, then leaves.
func (l *law) complete(state []byte, random *hierarchy.Words) {
	var w [MostStates]float64
	var t [MostStates]uint32
	for k := range l.stars {
		s := &l.stars[k]
		if s.centre == nil {
			continue
		}
		dst, word := (*[block]byte)(state[s.centre.site*block:]), random.Next()
		if s.table >= 0 {
			m := &l.memos[s.table]
			asm.CategoryDraw(dst, m.draw, s.q, state, s.around, m.strides, word)
			continue
		}
		for b := range dst {
			s.weigh(&w, &l.factors, sample(state, b))
			thresholds(t[:s.q-1], w[:s.q])
			dst[b] = chosen(t[:s.q-1], word[b])
		}
	}
	for k := range l.stars {
		for j := range l.stars[k].leaves {
			l.draw(&l.sites[l.stars[k].leaves[j].site], state, random.Next())
		}
	}
}
