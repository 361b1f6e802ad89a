package potts

import (
	"math"
	"slices"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/internal/lists"
)

// Indices of the observables whose mean and variance are compared.
const (
	energy = iota
	order
	moments // their number
)

// maxObserved bounds the numbers of observed pairs, and of observed states of sites.
const maxObserved = 1 << 12

// observables are the functions of a configuration by which samples and a reference are compared.
type observables struct {
	law   *categories.Target
	q     int
	model string
	pairs []int    // indices of the observed pairs
	sites [][2]int // observed site and state
}

func newObservables(law *categories.Target, model string) *observables {
	o := &observables{law: law, q: law.MaxQ(), model: model}
	for k := 0; k < len(law.Pairs); k += (len(law.Pairs)-1)/maxObserved + 1 {
		o.pairs = append(o.pairs, k)
	}
	var states [][2]int
	for i, q := range law.States {
		for s := range q {
			states = append(states, [2]int{i, s})
		}
	}
	for k := 0; k < len(states); k += (len(states)-1)/maxObserved + 1 {
		o.sites = append(o.sites, states[k])
	}
	return o
}

// equal returns 1 if the states of observed pair k are equal, else 0.
func (o *observables) equal(s []byte, k int) float64 {
	p := &o.law.Pairs[o.pairs[k]]
	if s[p.I] == s[p.J] {
		return 1
	}
	return 0
}

// occupied returns 1 if observed site k is in its observed state, else 0.
func (o *observables) occupied(s []byte, k int) float64 {
	if int(s[o.sites[k][0]]) == o.sites[k][1] {
		return 1
	}
	return 0
}

// order returns the order parameter. For a Potts model it is (q·max − 1)/(q − 1), where max is the
// share of the most frequent state; for a clock model |Σ e^(2πis/q)|/n.
func (o *observables) order(s []byte) float64 {
	var counts [categories.MaxStates]float64
	for _, x := range s {
		counts[x]++
	}
	n, q := float64(len(s)), float64(o.q)
	if o.model == "clock" {
		var x, y float64
		for c, k := range counts[:o.q] {
			sin, cos := math.Sincos(2 * math.Pi * float64(c) / q)
			x, y = x+k*cos, y+k*sin
		}
		return math.Hypot(x, y) / n
	}
	return (q*slices.Max(counts[:])/n - 1) / (q - 1)
}

// agreement returns the share of all pairs whose states are equal.
func (o *observables) agreement(s []byte) float64 {
	var equal float64
	for i := range o.law.Pairs {
		if p := &o.law.Pairs[i]; s[p.I] == s[p.J] {
			equal++
		}
	}
	return equal / max(1, float64(len(o.law.Pairs)))
}

// observe sets values, [configurations][stride], to the observables of chains.
func (o *observables) observe(values []float64, stride int, batch []byte) {
	for n := o.law.N(); len(batch) > 0; batch = batch[n:] {
		e, m := o.law.Energy(batch[:n]), o.order(batch[:n])
		copy(values, []float64{e, e * e, m, m * m, o.agreement(batch[:n])})
		values = values[min(stride, len(values)):]
	}
}

// groupSums gather the weighted configurations of one group. The scatter of the groups' averages
// gives standard errors.
type groupSums struct {
	weight    float64
	values    [moments][]float64 // of each configuration
	pairs     []float64          // Σ weight·equal
	marginals []float64          // Σ weight·occupied
}

func (o *observables) newSums() *groupSums {
	return &groupSums{pairs: make([]float64, len(o.pairs)), marginals: make([]float64, len(o.sites))}
}

func (g *groupSums) add(o *observables, s []byte, weight float64) {
	g.weight += weight
	g.values[energy], g.values[order] = append(g.values[energy], o.law.Energy(s)), append(g.values[order], o.order(s))
	for k := range g.pairs {
		g.pairs[k] += weight * o.equal(s, k)
	}
	for k := range g.marginals {
		g.marginals[k] += weight * o.occupied(s, k)
	}
}

// valuesOf returns the values of observable k in each group.
func valuesOf(groups []*groupSums, k int) [][]float64 {
	return lists.Map(groups, func(g *groupSums) []float64 { return g.values[k] })
}
