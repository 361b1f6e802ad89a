package potts

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/shared"
)

// measured is what any generator of configurations is sampled and measured by.
type measured struct {
	*categories.Ensemble
	config  *Config
	law     *categories.Target
	workers *pool.Pool
	exact   shared.Once[reference]
}

func newMeasured(c *Config, workers *pool.Pool) (*measured, error) {
	law, err := c.Target.law()
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	moves, err := categories.NewMoves(law, &c.Transition, 1)
	if err != nil {
		return nil, err
	}
	shape, order := []int{law.N()}, "; site i has the number i from 0"
	switch {
	case c.Target.L > 0:
		shape, order = []int{c.Target.L, c.Target.L}, "; rows and columns of the lattice"
	case c.Target.Labels != nil:
		order = "; site i has the label target.labels[i], the first " + c.Target.Labels[0]
	}
	of := &observables{law: law, q: law.Most(), model: c.Target.Model}
	return &measured{config: c, law: law, workers: workers, Ensemble: &categories.Ensemble{
		States: categories.Bytes{Target: law, Shape: shape, Order: order},
		Beta:   law.Beta, Energy: law.Energies, Kernel: moves, Mixing: categories.MixingOf(law),
		Names:   []string{"energy", "energy_squared", "order", "order_squared", "agreement"},
		Observe: of.observe,
		Seed:    c.Training.Seed, Workers: workers,
	}}, nil
}

// observables are functions of a configuration.
type observables struct {
	law   *categories.Target
	q     int
	model string
}

// order returns the order parameter: of a Potts model how far the share of the most frequent
// state is from that of chance, (q·max − 1)/(q − 1), and of a clock |Σ e^(2πis/q)|/n.
func (o *observables) order(s []byte) float64 {
	var counts [categories.MostStates]float64
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
	var most float64
	for _, k := range counts {
		most = max(most, k)
	}
	return (q*most/n - 1) / (q - 1)
}

// agreement returns the share of the pairs whose states are equal.
func (o *observables) agreement(s []byte) float64 {
	var equal float64
	for i := range o.law.Pairs {
		if p := &o.law.Pairs[i]; s[p.I] == s[p.J] {
			equal++
		}
	}
	return equal / max(1, float64(len(o.law.Pairs)))
}

func (o *observables) observe(values []float64, stride int, batch []byte) {
	for n := o.law.N(); len(batch) > 0; batch = batch[n:] {
		e, m := o.law.Energy(batch[:n]), o.order(batch[:n])
		copy(values, []float64{e, e * e, m, m * m, o.agreement(batch[:n])})
		values = values[min(stride, len(values)):]
	}
}

// system is engine.System for a generator with a density.
type system struct {
	*measured
	*categories.System
}

// paper is engine.System for the paper's generator, of sites as one-hot spins.
type paper struct {
	*measured
	*perceptron.System
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) {
	c = conf.Chosen(c)
	m, err := newMeasured(c, workers)
	if err != nil {
		return nil, err
	}
	if c.Generator.Kind == "perceptron" {
		t := categories.OneHot{Target: m.law}
		s, err := perceptron.New(c.perceptron(), t, workers)
		if err != nil {
			return nil, err
		}
		m.Draws = func(params []float32) sites.Draws[byte] { return t.Draws(s.NewDraws(params)) }
		return &paper{m, s}, nil
	}
	net, err := categories.NewModel(*m.law, categories.Network{Side: c.Target.side(), Neighbours: c.Generator.Neighbours, Hidden: c.Generator.Units}, workers)
	if err != nil {
		return nil, fmt.Errorf("generator.%w", err)
	}
	s, err := categories.NewSystem(net, &c.Training, c.Loss.Balancing, &c.Transition, workers)
	if err != nil {
		return nil, err
	}
	m.Draws, m.Weigher = s.NewDraws, s.Weigher
	return &system{m, s}, nil
}

// LogZ returns the ln Z of the reference and its standard error, NaN where it is not known.
func (s *measured) LogZ(ctx context.Context) (value, standardError float64, err error) {
	r, err := s.reference(ctx)
	if err != nil {
		return 0, 0, err
	}
	return r.logZ, r.logZError, nil
}

var (
	_ engine.Sampler   = (*system)(nil)
	_ engine.Evaluator = (*system)(nil)
	_ engine.Scorer    = (*system)(nil)
)
