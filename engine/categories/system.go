package categories

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A System is engine.System for a generator with a density, for systems to embed.
type System struct {
	hierarchy.Steps[byte]
	net *Model
}

// NewSystem returns the system that trains a model, with the transition that the configuration names.
func NewSystem(m *Model, t *engine.Training, b engine.Balancing, c *spins.TransitionConfig, workers *pool.Pool) (*System, error) {
	if _, err := m.law.moves(c); err != nil {
		return nil, err // even if no sample moves
	}
	steps, err := hierarchy.NewSteps(m, m.target.Beta, t, b, c, func(in sites.Workspace[byte]) spins.Kernels[byte] { return in.(*workspace) }, workers)
	return &System{steps, m}, err
}

// Demands bounds the memory of a system and its evaluation, for a model of at most params
// parameters.
func Demands(t *engine.Training, b engine.Balancing, target *Target, params float64) []engine.Demand {
	code, _ := target.Code()
	c := newCoding(code, target.MaxQ())
	moved := math.Ceil((1-b.Partners)*float64(t.Batch)/block+0.5) * block
	// The state of each site, the bits that networks read, and the derivatives of the logits.
	bytes := (float64(t.Batch) + moved + samplerBlocks*block) * float64(target.N()) * (1 + float64(c.planes())/8 + 4*float64(c.q))
	return append(t.Demands(int(params)), engine.Demand{Key: "training.batch", Bytes: bytes})
}

// Model returns the model.
func (s *System) Model() *Model { return s.net }

// Surrogate implements engine.Differentiable. It returns the loss of the batch, whose s′ are held fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	return s.FixedLoss(s.net.learned64)
}

// learned64 returns ln q of the learned sites of a configuration by the definition of a unit, in
// float64.
func (m *Model) learned64(params []float64, x []byte) (logq float64) {
	size, q := m.Sites()+1, m.coding.q
	for i := range m.Units {
		u := &m.Units[i]
		for s, site := range u.Sites {
			var logits [MaxStates]float64
			var sum float64
			for c := range m.states(u) {
				inputs := u.InputsOf(c, s)
				logits[c] = m.Nets[u.NetOf(c)].Value64(params, func(j int) float64 {
					plane, site := int(inputs[j])/size, int(inputs[j])%size
					if m.coding.bit(plane, int(x[site]), q) {
						return 1
					}
					return -1
				})
				sum += math.Exp(logits[c])
			}
			logq += logits[x[site]] - math.Log(sum)
		}
	}
	return logq
}

// bit returns the bit of a plane for state x, by its definition.
func (c *coding) bit(plane, x, q int) bool {
	view, k := plane/c.features, plane%c.features
	if c.Code == Distance {
		return min((x-view+q)%q, (view-x+q)%q) <= k
	}
	return x == plane // Same has one plane a view; States has one view
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
