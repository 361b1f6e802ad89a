package potts

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/stat"
)

// The extent of chains. As long as they do not agree there are twice as many rounds, up to
// mostWork redrawn sites.
const (
	leastRounds = 256
	mostRounds  = 1 << 12
	mostWork    = 1 << 31
	agreement   = 1.002 // R̂ of chains that agree: those that hardly ever change phase come to 1.01
)

// chained is newReference by chains: of clusters where the target has them, else of replica
// exchange, which knows ln Z.
func (s *measured) chained(ctx context.Context, l *look) (*reference, error) {
	clusters, none := categories.NewClusters(s.law)
	first := min(max((1<<18)/s.law.N(), leastRounds), mostRounds)
	for rounds := first; ; rounds *= 2 {
		var all []*sums
		var logZ measure.Estimate
		var err error
		levels := 1
		if none == nil {
			all, err = s.clustered(ctx, l, clusters, rounds)
			logZ.Value = math.NaN()
		} else {
			all, logZ, levels, err = s.tempered(ctx, l, rounds)
		}
		if err != nil {
			return nil, err
		}
		worst := 0.0
		for k := range moments {
			var x []float64
			for _, t := range all {
				x = append(x, t.values[k]...)
			}
			if hat := stat.Chains(x, len(all)).RHat; hat > worst {
				worst = hat
			}
		}
		if work := float64(rounds) * float64(levels*s.law.N()*groups); worst > agreement && 2*work <= mostWork {
			continue
		}
		r := l.reference(all, nil)
		r.logZ, r.logZError, r.label = logZ.Value, logZ.Uncertainty, "chains"
		if worst > agreement {
			r.unsettled = true
			r.warnings = append(r.warnings, fmt.Sprintf("the reference has not converged: after %d rounds of its chains R̂ is %.3f, so its standard errors are too small", rounds, worst))
		}
		return r, nil
	}
}

// clustered runs chains of clusters, that begin in one state each or by chance.
func (s *measured) clustered(ctx context.Context, l *look, c *categories.Clusters, rounds int) ([]*sums, error) {
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

// tempered runs replica exchange from β = 0 on.
func (s *measured) tempered(ctx context.Context, l *look, rounds int) ([]*sums, measure.Estimate, int, error) {
	none := measure.Estimate{}
	betas, err := s.ladder(ctx)
	if err != nil {
		return nil, none, 0, err
	}
	run, err := s.Ladder(betas, groups)
	if err != nil {
		return nil, none, 0, err
	}
	if err := run.Advance(ctx, rounds/2); err != nil {
		return nil, none, 0, err
	}
	n, last := s.law.N(), len(betas)-1
	all := make([]*sums, groups)
	for g := range all {
		all[g] = l.newSums()
	}
	names, bridge := s.Observables(), spins.NewBridge(betas, groups)
	values := make([]float64, groups*len(names))
	states := make([]byte, groups*n)
	for range rounds {
		if err := run.Advance(ctx, 1); err != nil {
			return nil, none, 0, err
		}
		for level := range betas {
			run.Observe(level, values)
			for g := range groups {
				bridge.Add(level, g, values[g*len(names)])
			}
		}
		if err := run.States(last, states, "states"); err != nil {
			return nil, none, 0, err
		}
		s.workers.Run(groups, func(g int) { all[g].add(l, states[g*n:][:n], 1) })
	}
	var free float64
	for _, q := range s.law.States {
		free += math.Log(float64(q))
	}
	const parts = 16
	value, uncertainty := bridge.Estimate(free, 0, groups, parts)
	return all, measure.Estimate{Value: value, Uncertainty: uncertainty}, len(betas), nil
}

// ladder returns inverse temperatures from 0 to β, one standard deviation of the energy
// apart, by a few rounds on a coarse one.
func (s *measured) ladder(ctx context.Context) ([]float64, error) {
	const coarse, rounds, most = 16, 64, 96
	beta := s.law.Beta
	if beta == 0 {
		return []float64{0, 1e-9}, nil
	}
	var betas []float64
	for k := range coarse + 1 {
		betas = append(betas, beta*float64(k)/coarse)
	}
	run, err := s.Ladder(betas, groups)
	if err != nil {
		return nil, err
	}
	if err := run.Advance(ctx, rounds); err != nil {
		return nil, err
	}
	names := s.Observables()
	values := make([]float64, groups*len(names))
	var deviations []float64
	for level := range betas {
		run.Observe(level, values)
		var m stat.Mean
		for g := range groups {
			m.Add(values[g*len(names)])
		}
		deviations = append(deviations, m.Deviation())
	}
	all := []float64{0}
	for last := 0.0; last < beta && len(all) < most; {
		k := min(int(last/beta*coarse), coarse-1)
		step := 1 / max(deviations[k], deviations[k+1], 1/beta)
		last = min(beta, last+step)
		all = append(all, last)
	}
	all[len(all)-1] = beta
	return all, nil
}
