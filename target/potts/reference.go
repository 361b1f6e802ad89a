package potts

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/ising"
)

// A reference is what samples are compared with: exact values, or those of independent
// draws or of chains with their standard errors.
type reference struct {
	logZ, logZError            float64
	moments                    [moments]measure.Estimate // means
	variances                  [moments]measure.Estimate
	pairs, marginals           []float64
	pairsError, marginalsError float64   // means of standard errors
	states                     []float64 // π of all configurations, nil where they are too many
	energies, orders           measure.Bins
	energyLaw, orderLaw        []measure.Estimate
	label                      string
	warnings                   []string // that chains do not agree
}

// The mean and the variance of these are compared.
const (
	energy = iota
	order
	moments
)

// most bounds how many pairs and how many sites' states are looked at.
const most = 1 << 12

// A look has the functions of a configuration that are observed, and that a reference and
// samples are compared by.
type look struct {
	law   *categories.Target
	q     int
	model string
	pairs []int    // of the target's
	sites [][2]int // site and state
}

func newLook(law *categories.Target, model string) *look {
	l := &look{law: law, q: law.Most(), model: model}
	for k := 0; k < len(law.Pairs); k += (len(law.Pairs)-1)/most + 1 {
		l.pairs = append(l.pairs, k)
	}
	var all [][2]int
	for i, q := range law.States {
		for s := range q {
			all = append(all, [2]int{i, s})
		}
	}
	for k := 0; k < len(all); k += (len(all)-1)/most + 1 {
		l.sites = append(l.sites, all[k])
	}
	return l
}

// equal is 1 where the states of a pair are equal.
func (l *look) equal(s []byte, k int) float64 {
	p := &l.law.Pairs[l.pairs[k]]
	if s[p.I] == s[p.J] {
		return 1
	}
	return 0
}

func (l *look) in(s []byte, k int) float64 {
	if int(s[l.sites[k][0]]) == l.sites[k][1] {
		return 1
	}
	return 0
}

// order returns the order parameter: of a Potts model how far the share of the most frequent
// state is from that of chance, (q·max − 1)/(q − 1), and of a clock |Σ e^(2πis/q)|/n.
func (l *look) order(s []byte) float64 {
	var counts [categories.MostStates]float64
	for _, x := range s {
		counts[x]++
	}
	n, q := float64(len(s)), float64(l.q)
	if l.model == "clock" {
		var x, y float64
		for c, k := range counts[:l.q] {
			sin, cos := math.Sincos(2 * math.Pi * float64(c) / q)
			x, y = x+k*cos, y+k*sin
		}
		return math.Hypot(x, y) / n
	}
	var most float64
	for _, k := range counts {
		most = max(most, k)
	}
	return (q*most/n - 1) / (q - 1)
}

// agreement returns the share of the pairs whose states are equal.
func (l *look) agreement(s []byte) float64 {
	var equal float64
	for i := range l.law.Pairs {
		if p := &l.law.Pairs[i]; s[p.I] == s[p.J] {
			equal++
		}
	}
	return equal / max(1, float64(len(l.law.Pairs)))
}

func (l *look) observe(values []float64, stride int, batch []byte) {
	for n := l.law.N(); len(batch) > 0; batch = batch[n:] {
		e, m := l.law.Energy(batch[:n]), l.order(batch[:n])
		copy(values, []float64{e, e * e, m, m * m, l.agreement(batch[:n])})
		values = values[min(stride, len(values)):]
	}
}

// sums are those of weighted configurations of one group, whose averages have standard errors
// by the groups' scatter.
type sums struct {
	weight           float64
	values           [moments][]float64
	pairs, marginals []float64
}

func (l *look) newSums() *sums {
	return &sums{pairs: make([]float64, len(l.pairs)), marginals: make([]float64, len(l.sites))}
}

func (t *sums) add(l *look, s []byte, weight float64) {
	t.weight += weight
	t.values[energy], t.values[order] = append(t.values[energy], l.law.Energy(s)), append(t.values[order], l.order(s))
	for k := range t.pairs {
		t.pairs[k] += weight * l.equal(s, k)
	}
	for k := range t.marginals {
		t.marginals[k] += weight * l.in(s, k)
	}
}

// drawn returns the values of a number that groups drew.
func drawn(all []*sums, k int) [][]float64 {
	return lists.Map(all, func(t *sums) []float64 { return t.values[k] })
}

// road says in words what the reference is.
func road(law *categories.Target) string {
	if law.Configurations() <= categories.MostConfigurations {
		return fmt.Sprintf("the sum over all %d configurations", law.Configurations())
	}
	if categories.Summable(law) {
		return "exact draws by sums site by site"
	}
	if _, err := categories.NewClusters(law); err == nil {
		return "chains of Swendsen and Wang"
	}
	return "replica exchange of heat-bath chains"
}

// reference returns what samples are compared with, computed once.
func (s *evaluator) reference(ctx context.Context) (*reference, error) {
	return s.referenceCache.Get(func() (*reference, error) { return s.newReference(ctx) })
}

// groups is the number of independent chains, or of parts of independent draws.
const groups = 64

func (s *evaluator) newReference(ctx context.Context) (*reference, error) {
	l := s.look
	if s.law.Configurations() <= categories.MostConfigurations {
		logZ, p := s.law.Enumerate()
		all := l.newSums()
		s.law.Each(func(k int, c []byte) { all.add(l, c, p[k]) })
		r := l.reference([]*sums{all}, p)
		r.logZ, r.states, r.label = logZ, p, "exact"
		return r, nil
	}
	if categories.Summable(s.law) {
		return s.summed(ctx, l)
	}
	r, err := s.chained(ctx, l)
	if err == nil {
		s.logZ(r)
	}
	return r, err
}

// summed is newReference by exact draws.
func (s *evaluator) summed(ctx context.Context, l *look) (*reference, error) {
	const each = 1 << 11
	sum, err := categories.NewSum(ctx, s.law)
	if err != nil {
		return nil, err
	}
	all := make([]*sums, groups)
	stream := rng.Stream(s.config.Training.Seed, rng.Reference, 0)
	n := s.law.N()
	s.workers.Run(groups, func(g int) {
		all[g] = l.newSums()
		batch := make([]byte, n)
		for k := range each {
			if ctx.Err() != nil {
				return
			}
			sum.Draw(batch, &stream, uint64(g*each+k))
			all[g].add(l, batch, 1)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := l.reference(all, nil)
	r.logZ, r.label = sum.LogZ, "exact draws"
	return r, s.differentiate(ctx, r)
}

// differentiate replaces mean and variance of the energy by derivatives of ln Z.
func (s *evaluator) differentiate(ctx context.Context, r *reference) error {
	const h = 1e-3
	var f [5]float64 // ln Z
	for k := range f {
		at := *s.law
		at.Beta += h * float64(k-2)
		sum, err := categories.NewSum(ctx, &at)
		if err != nil {
			return err
		}
		f[k] = sum.LogZ
	}
	r.moments[energy] = measure.Estimate{Value: -(f[0] - 8*f[1] + 8*f[3] - f[4]) / (12 * h)}
	r.variances[energy] = measure.Estimate{Value: (-f[0] + 16*f[1] - 30*f[2] + 16*f[3] - f[4]) / (12 * h * h)}
	return ctx.Err()
}

// logZ sets the reference's ln Z where a lattice's is known: of two states by Kaufman's
// formula, of few states a row by a transfer matrix.
func (s *evaluator) logZ(r *reference) {
	t := &s.config.Target
	if t.L == 0 || t.Fields != nil {
		return
	}
	if t.Q == 2 {
		// −J δ is −J/2 − (J/2) s s′, and a clock's −J cos is −J s s′.
		j, shift := t.J/2, t.J/2
		if t.Model == "clock" {
			j, shift = t.J, 0
		}
		if k, err := ising.Kaufman(t.L, j, t.Beta); err == nil {
			r.logZ, r.logZError = k.LogZ+2*float64(t.L*t.L)*t.Beta*shift-t.Beta*t.Offset, 0
		}
		return
	}
	if logZ, err := categories.Torus(t.L, t.Q, t.pair(t.Q, t.Q, t.J), nil, t.Beta); err == nil {
		r.logZ, r.logZError = logZ-t.Beta*t.Offset, 0
	}
}

// reference summarises groups of configurations. If there is one group, all is exact, and the
// values have the weights p.
func (l *look) reference(all []*sums, p []float64) *reference {
	r := &reference{logZ: math.NaN()}
	r.pairs, r.pairsError = measure.Scatters(len(all), len(l.pairs), func(g, k int) float64 { return all[g].pairs[k] / all[g].weight })
	r.marginals, r.marginalsError = measure.Scatters(len(all), len(l.sites), func(g, k int) float64 { return all[g].marginals[k] / all[g].weight })
	if _, even := l.law.Code(); even {
		for k := range r.marginals {
			r.marginals[k] = 1 / float64(l.q)
		}
		r.marginalsError = 0
	}
	law := func(k int) (measure.Bins, []measure.Estimate) {
		values := drawn(all, k)
		r.moments[k], r.variances[k] = measure.Moments(values, p)
		b := measure.BinsOf(values[0], r.moments[k].Value, math.Sqrt(r.variances[k].Value))
		return b, b.Law(values, p)
	}
	r.energies, r.energyLaw = law(energy)
	r.orders, r.orderLaw = law(order)
	return r
}
