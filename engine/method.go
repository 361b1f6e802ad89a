package engine

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/optim"
)

// Methods says how θ is trained: by the gradient of the loss, or from losses
// alone, without a derivative of anything (the paper's remark on
// extensibility). It is a part of Training, whose keys stand beside its own.
type Methods struct {
	// Method is "gradient", "evolution" or "consensus".
	Method    string    `json:"method"`
	Evolution Evolution `json:"evolution"`
	Consensus Consensus `json:"consensus"`
}

// ByGradient returns the methods with the gradient chosen, and usable values
// for the others.
func ByGradient() Methods {
	return Methods{
		Method:    "gradient",
		Evolution: Evolution{Pairs: 32, Sigma: 0.03, Fitness: "rank"},
		Consensus: Consensus{Particles: 64, Spread: 0.3, Sharpness: 20, Noise: 1, TimeStep: 0.02},
	}
}

// validate reports the first value of the chosen method that cannot be used, by
// its key.
func (m *Methods) validate(clip float64) error {
	switch m.Method {
	case "gradient":
		return nil
	case "evolution":
		if err := m.Evolution.validate(); err != nil {
			return fmt.Errorf("evolution.%w", err)
		}
		return nil
	case "consensus":
		if clip > 0 {
			return fmt.Errorf("clip_norm: consensus-based optimisation has no gradient to clip; set it to 0")
		}
		if err := m.Consensus.validate(); err != nil {
			return fmt.Errorf("consensus.%w", err)
		}
		return nil
	}
	return fmt.Errorf("method: %q is not one of gradient, evolution, consensus", m.Method)
}

// A method takes θ from one step to the next. What it allocates, it allocates
// when it is made.
type method interface {
	// look evaluates the loss of the given step, at one θ or at several, and
	// finds where to go. It returns the loss and the norm of that direction.
	look(step int) (loss, norm float64)
	// move goes there, with the step length multiplied by rate, and reports
	// whether all parameters are finite.
	move(step int, rate float64) bool
	// stepLength is the learning rate before the schedule.
	stepLength() float64
	// average is the exponential average of θ, nil if there is none.
	average() []float32
	// state lists what is carried from step to step besides θ.
	state() []Section
}

func newMethod(t *Trainer) (method, error) {
	if t.training.Method == "gradient" {
		return newGradient(t), nil
	}
	if s, ok := t.system.(Stateful); ok && len(s.State()) > 0 {
		return nil, &MethodError{t.training.Method, s.State()[0].Name}
	}
	if t.training.Method == "evolution" {
		return newEvolution(t), nil
	}
	return newConsensus(t), nil
}

// A MethodError reports a system that cannot be trained by the chosen method.
type MethodError struct{ Method, State string }

func (e *MethodError) Error() string {
	return fmt.Sprintf("training.method: %s compares the losses of several generators at one step, but this loss changes with each that it sees (by its %s); choose a loss.objective without memory, or the gradient", e.Method, e.State)
}

// gradient is Algorithm 1's own method: ∂L/∂θ and AdamW.
type gradient struct {
	t         *Trainer
	optimizer *optim.Optimizer
}

func newGradient(t *Trainer) *gradient {
	c, n := &t.training, len(t.params)
	t.grad = make([]float32, n)
	return &gradient{t, optim.NewOptimizer(c.Optimizer, c.ClipNorm, c.EMA, n, t.workers)}
}

func (g *gradient) look(step int) (loss, norm float64) {
	loss = g.t.discrepancy(g.t.params, step)
	g.t.system.Backward(g.t.params, g.t.grad)
	return loss, g.optimizer.Norm(g.t.grad)
}

func (g *gradient) move(step int, rate float64) bool {
	return g.optimizer.Step(g.t.params, g.t.grad, g.t.norm, step, rate)
}

func (g *gradient) stepLength() float64 { return g.t.training.Optimizer.LearningRate }
func (g *gradient) average() []float32  { return g.optimizer.EMA }

func (g *gradient) state() []Section {
	all := []Section{{Name: "adam.m", Float32: g.optimizer.M}, {Name: "adam.v", Float32: g.optimizer.V}}
	if g.optimizer.EMA != nil {
		all = append(all, Section{Name: "ema", Float32: g.optimizer.EMA})
	}
	return all
}

// positive reports whether x is a positive finite number.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
