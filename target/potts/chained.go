package potts

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
)

// The extent of chains. As long as they do not agree there are twice as many rounds, up to
// mostWork redrawn sites.
const (
	leastRounds = 256
	mostRounds  = 1 << 12
	mostWork    = 1 << 31
)

// chained is newReference by chains: of clusters where the target has them, else of replica
// exchange, which knows ln Z.
func (s *evaluator) chained(ctx context.Context, l *look) (*reference, error) {
	clusters, none := categories.NewClusters(s.law)
	var all []*sums
	var logZ measure.Estimate
	warnings, err := sites.Settle(min(max((1<<18)/s.law.N(), leastRounds), mostRounds), mostWork, func(rounds int) (work float64, numbers [][][]float64, err error) {
		levels := 1
		if none == nil {
			all, err = s.clustered(ctx, l, clusters, rounds)
			logZ.Value = math.NaN()
		} else {
			all, logZ, levels, err = s.tempered(ctx, l, rounds)
		}
		if err != nil {
			return 0, nil, err
		}
		return float64(rounds) * float64(levels*s.law.N()*groups), [][][]float64{drawn(all, energy), drawn(all, order)}, nil
	})
	if err != nil {
		return nil, err
	}
	r := l.reference(all, nil)
	r.logZ, r.logZError, r.label = logZ.Value, logZ.Uncertainty, "chains"
	r.warnings = warnings
	return r, nil
}

// clustered runs chains of clusters, that begin in one state each or by chance.
func (s *evaluator) clustered(ctx context.Context, l *look, c *categories.Clusters, rounds int) ([]*sums, error) {
	const every = 2
	all := make([]*sums, groups)
	s.workers.Run(groups, func(g int) {
		all[g] = l.newSums()
		stream := rng.Stream(s.config.Training.Seed, rng.Reference, uint32(g))
		x := make([]byte, s.law.N())
		for i := range x {
			x[i] = byte(g / 2 % l.q)
			if g%2 == 1 {
				x[i] = byte((i*7919 + i/13 + g) % l.q)
			}
		}
		burn := rounds / 2
		c.Move(x, &stream, 0, burn)
		for k := range rounds {
			if ctx.Err() != nil {
				return
			}
			c.Move(x, &stream, uint64(burn+k*every), every)
			all[g].add(l, x, 1)
		}
	})
	return all, ctx.Err()
}

// tempered runs replica exchange from β = 0 on, and returns the number of its levels too.
func (s *evaluator) tempered(ctx context.Context, l *look, rounds int) ([]*sums, measure.Estimate, int, error) {
	run, err := s.Temper(ctx, rng.OfReference, groups, rounds/2)
	if err != nil {
		return nil, measure.Estimate{}, 0, err
	}
	all := make([]*sums, groups)
	for g := range all {
		all[g] = l.newSums()
	}
	var free float64
	for _, q := range s.law.States {
		free += math.Log(float64(q))
	}
	n := s.law.N()
	logZ, err := run.Measure(ctx, rounds, free, func(int) {
		states, _ := run.Coldest()
		s.workers.Run(groups, func(g int) { all[g].add(l, states[g*n:][:n], 1) })
	})
	return all, logZ, len(run.Betas()), err
}
