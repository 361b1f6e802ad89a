package categories

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A System is engine.System for a generator with a density, for systems to embed. Its loss
// is engine.Balance of
//
//	R = ln q(s) + βE(s),
//
// a constant where q = π. The samples that move have s′ by the target's transition.
type System struct {
	engine.Densities[*Batch]
	sites.Density[byte]
	net     *Model
	learner *learner
}

// NewSystem returns the system of a model whose batch is that of the training, with the
// transition that the configuration names.
func NewSystem(m *Model, t *engine.Training, b engine.Balancing, c *spins.TransitionConfig, workers *pool.Pool) (*System, error) {
	balance := engine.NewBalance(b, t.Batch, t.Batch, block)
	batch, err := m.NewBatch(t.Batch, balance.Moved(), t.Seed, workers)
	if err != nil {
		return nil, fmt.Errorf("training.%w", err)
	}
	if batch.moves, err = batch.room.law.moves(c); err != nil {
		return nil, err
	}
	batch.steps = c.Steps
	l := &learner{batch, t, c}
	return &System{
		engine.Densities[*Batch]{Balance: balance, Generator: l, Transition: l, S: batch, Next: batch},
		sites.Density[byte]{Net: m, Seed: t.Seed, Workers: workers}, m, l,
	}, nil
}

// A learner is a batch of a training, which holds both s and s′.
type learner struct {
	*Batch
	training *engine.Training
	config   *spins.TransitionConfig
}

// Draw draws the sites that are learned, at the step's temperature.
func (l *learner) Draw(_ *Batch, params []float32, step uint32) {
	l.room.law.setBeta(l.room.model.target.Beta * l.config.Fraction(l.config.Level(step, l.training.Steps)))
	l.Generate(params, step)
}

// Move draws s′ of the samples that move, and finds its R with the parameters as they are.
func (l *learner) Move(_, _ *Batch, step uint32) error {
	l.moving = rng.Stream(l.training.Seed, rng.TrainTransition, step)
	clear(l.counts)
	l.ScoreAll()
	return nil
}

// Acceptance returns the fraction of the last moves that were accepted.
func (l *learner) Acceptance() float64 {
	var all engine.Count
	for _, n := range l.counts {
		all.Add(n)
	}
	return all.Rate()
}

// Weigh sets R of the samples, and of what some became.
func (l *learner) Weigh(r, next []float64, _, _ *Batch) {
	l.R(r, next[:l.Scored*block])
}

// Score sets grad to the sum of the coefficients times ∇ln q.
func (l *learner) Score(grad, _ []float32, c, next []float64) {
	l.Backward(grad, c, next[:l.Scored*block])
}

// Demands bounds the memory of a system and its evaluation, for a model of at most params
// parameters.
func Demands(t *engine.Training, b engine.Balancing, target *Target, params float64) []engine.Demand {
	code, _ := target.Code()
	c := newCoding(code, target.Most())
	moved := math.Ceil((1-b.Partners)*float64(t.Batch)/block+0.5) * block
	// A byte of each site, the bits that networks read and the derivatives of the learned.
	rows := (float64(t.Batch) + moved + samplerBlocks*block) * float64(target.N()) * (1 + float64(c.planes())/8 + 4*float64(c.q))
	return append(t.Demands(int(params)), engine.Demand{Key: "training.batch", Bytes: rows})
}

// Model returns the architecture.
func (s *System) Model() *Model { return s.net }

// Surrogate implements engine.Differentiable: the loss of the batch and its s′, held fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	b, n := s.learner.Batch, s.net.Sites()*block
	states := slices.Clone(b.room.state)
	return hierarchy.FixedLoss(s.Balance, b.room.r, b.room.logq, b.Samples*block, func(params []float64, i int) float64 {
		state := states[i/block*n:][:n]
		return s.net.learned64(params, func(site int) byte { return state[site*block+i%block] })
	})
}

// learned64 is ln q of the learned sites of a configuration by the definition of a unit, in
// float64.
func (m *Model) learned64(params []float64, x func(site int) byte) (logq float64) {
	size, q := m.Sites()+1, m.coding.q
	for i := range m.units {
		u := &m.units[i]
		for s, site := range u.sites {
			var logits [MostStates]float64
			var sum float64
			for c := range u.q {
				inputs := u.of(c, s)
				logits[c] = m.nets[u.net(c)].Value64(params, func(j int) float64 {
					plane, at := int(inputs[j])/size, int(inputs[j])%size
					if m.coding.sees(plane, int(x(at)), q) {
						return 1
					}
					return -1
				})
				sum += math.Exp(logits[c])
			}
			logq += logits[x(int(site))] - math.Log(sum)
		}
	}
	return logq
}

// sees is the bit of a plane for a state, by its definition.
func (c *coding) sees(plane, x, q int) bool {
	view, k := plane/c.features, plane%c.features
	if c.Code == Distance {
		return min((x-view+q)%q, (view-x+q)%q) <= k
	}
	return x == plane // the view of one plane, or the state itself
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
