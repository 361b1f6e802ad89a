package potts

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
)

// As long as the chains do not agree, the number of rounds doubles, up to maxWork redrawn sites.
const (
	minRounds = 256     // of the first run
	maxRounds = 1 << 12 // of the first run
	maxWork   = 1 << 31
)

// chainReference is newReference by chains: of cluster moves if the target has them, else of replica
// exchange, which also estimates ln Z.
func (s *evaluator) chainReference(ctx context.Context) (*reference, error) {
	clusters, err := categories.NewClusters(s.law)
	hasClusters := err == nil
	var groups []*groupSums
	var logZ measure.Estimate
	warnings, err := sites.Settle(min(max((1<<18)/s.law.N(), minRounds), maxRounds), maxWork, func(rounds int) (work float64, values [][][]float64, err error) {
		levels := 1
		if hasClusters {
			groups, err = s.runClusters(ctx, clusters, rounds)
			logZ.Value = math.NaN()
		} else {
			groups, logZ, levels, err = s.runTempering(ctx, rounds)
		}
		if err != nil {
			return 0, nil, err
		}
		return float64(rounds) * float64(levels*s.law.N()*groupCount), [][][]float64{valuesOf(groups, energy), valuesOf(groups, order)}, nil
	})
	if err != nil {
		return nil, err
	}
	r := s.observables.reference(groups, nil)
	r.logZ, r.logZError, r.label = logZ.Value, logZ.Uncertainty, "chains"
	r.warnings = warnings
	return r, nil
}

// runClusters runs chains of cluster moves. Every other chain begins with all sites in one state, the
// others in scrambled states.
func (s *evaluator) runClusters(ctx context.Context, c *categories.Clusters, rounds int) ([]*groupSums, error) {
	const moves = 2 // of a round
	groups := make([]*groupSums, groupCount)
	s.workers.Run(groupCount, func(g int) {
		groups[g] = s.observables.newSums()
		stream := rng.Stream(s.config.Training.Seed, rng.Reference, uint32(g))
		x := make([]byte, s.law.N())
		for i := range x {
			x[i] = byte(g / 2 % s.observables.q)
			if g%2 == 1 {
				x[i] = byte((i*7919 + i/13 + g) % s.observables.q)
			}
		}
		burn := rounds / 2
		c.Move(x, &stream, 0, burn)
		for k := range rounds {
			if ctx.Err() != nil {
				return
			}
			c.Move(x, &stream, uint64(burn+k*moves), moves)
			groups[g].add(s.observables, x, 1)
		}
	})
	return groups, ctx.Err()
}

// runTempering runs replica exchange from β = 0 on. It also returns ln Z and the number of levels.
func (s *evaluator) runTempering(ctx context.Context, rounds int) (groups []*groupSums, logZ measure.Estimate, levels int, err error) {
	run, err := s.Temper(ctx, rng.OfReference, groupCount, rounds/2)
	if err != nil {
		return nil, logZ, 0, err
	}
	for range groupCount {
		groups = append(groups, s.observables.newSums())
	}
	var logStates float64 // ln Z at β = 0
	for _, q := range s.law.States {
		logStates += math.Log(float64(q))
	}
	n := s.law.N()
	logZ, err = run.Measure(ctx, rounds, logStates, func(int) {
		states, _ := run.Coldest()
		s.workers.Run(groupCount, func(g int) { groups[g].add(s.observables, states[g*n:][:n], 1) })
	})
	return groups, logZ, len(run.Betas()), err
}
