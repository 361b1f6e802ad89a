package potts

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/ising"
)

// A reference holds the values that samples are compared with: exact ones, or those of independent
// draws or of chains with their standard errors.
type reference struct {
	logZ, logZError            float64                   // NaN if ln Z is not known
	means, variances           [moments]measure.Estimate // of energy and order
	pairs, marginals           []float64                 // means of equal and of occupied
	pairsError, marginalsError float64                   // means of their standard errors
	states                     []float64                 // π of all configurations, nil if these are too many
	energies, orders           measure.Bins
	energyLaw, orderLaw        []measure.Estimate // probabilities of the bins
	label                      string             // where the values come from
	warnings                   []string           // that chains do not agree
}

// describeReference says where the values of a target's reference come from.
func describeReference(law *categories.Target) string {
	if law.Configurations() <= categories.MaxConfigurations {
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

// groupCount is the number of independent chains, or of groups of independent draws.
const groupCount = 64

func (s *evaluator) newReference(ctx context.Context) (*reference, error) {
	if s.law.Configurations() <= categories.MaxConfigurations {
		logZ, p := s.law.Enumerate()
		sums := s.observables.newSums()
		s.law.Each(func(k int, c []byte) { sums.add(s.observables, c, p[k]) })
		r := s.observables.reference([]*groupSums{sums}, p)
		r.logZ, r.states, r.label = logZ, p, "exact"
		return r, nil
	}
	if categories.Summable(s.law) {
		return s.drawReference(ctx)
	}
	r, err := s.chainReference(ctx)
	if err == nil {
		s.setLogZ(r)
	}
	return r, err
}

// drawReference is newReference by exact draws.
func (s *evaluator) drawReference(ctx context.Context) (*reference, error) {
	const draws = 1 << 11 // of a group
	sum, err := categories.NewSum(ctx, s.law)
	if err != nil {
		return nil, err
	}
	groups := make([]*groupSums, groupCount)
	stream := rng.Stream(s.config.Training.Seed, rng.Reference, 0)
	n := s.law.N()
	s.workers.Run(groupCount, func(g int) {
		groups[g] = s.observables.newSums()
		batch := make([]byte, n)
		for k := range draws {
			if ctx.Err() != nil {
				return
			}
			sum.Draw(batch, &stream, uint64(g*draws+k))
			groups[g].add(s.observables, batch, 1)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := s.observables.reference(groups, nil)
	r.logZ, r.label = sum.LogZ, "exact draws"
	return r, s.setEnergyMoments(ctx, r)
}

// setEnergyMoments replaces mean and variance of the energy by derivatives of ln Z, finite differences
// of fourth order.
func (s *evaluator) setEnergyMoments(ctx context.Context, r *reference) error {
	const h = 1e-3   // step of β
	var f [5]float64 // ln Z
	for k := range f {
		law := *s.law
		law.Beta += h * float64(k-2)
		sum, err := categories.NewSum(ctx, &law)
		if err != nil {
			return err
		}
		f[k] = sum.LogZ
	}
	r.means[energy] = measure.Estimate{Value: -(f[0] - 8*f[1] + 8*f[3] - f[4]) / (12 * h)}
	r.variances[energy] = measure.Estimate{Value: (-f[0] + 16*f[1] - 30*f[2] + 16*f[3] - f[4]) / (12 * h * h)}
	return ctx.Err()
}

// setLogZ sets ln Z of a lattice without fields where it is known exactly: for two states by Kaufman's
// formula, for others by a transfer matrix if a row has few configurations.
func (s *evaluator) setLogZ(r *reference) {
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

// reference summarises groups of configurations. If there is one group, it holds all configurations,
// which have the probabilities p.
func (o *observables) reference(groups []*groupSums, p []float64) *reference {
	r := &reference{logZ: math.NaN()}
	r.pairs, r.pairsError = measure.Scatters(len(groups), len(o.pairs), func(g, k int) float64 { return groups[g].pairs[k] / groups[g].weight })
	r.marginals, r.marginalsError = measure.Scatters(len(groups), len(o.sites), func(g, k int) float64 { return groups[g].marginals[k] / groups[g].weight })
	if _, symmetric := o.law.Code(); symmetric {
		for k := range r.marginals {
			r.marginals[k] = 1 / float64(o.q)
		}
		r.marginalsError = 0
	}
	bin := func(k int) (measure.Bins, []measure.Estimate) {
		values := valuesOf(groups, k)
		r.means[k], r.variances[k] = measure.Moments(values, p)
		b := measure.BinsOf(values[0], r.means[k].Value, math.Sqrt(r.variances[k].Value))
		return b, b.Law(values, p)
	}
	r.energies, r.energyLaw = bin(energy)
	r.orders, r.orderLaw = bin(order)
	return r
}
