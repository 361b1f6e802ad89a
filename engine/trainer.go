package engine

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/internal/pool"
)

// A Trainer carries a run from one step to the next.
type Trainer struct {
	system   System
	training Training
	method   method
	workers  *pool.Pool

	step       int
	params     []float32 // θ
	grad       []float32 // ∂L/∂θ or its estimate, nil if the method has none
	loss, norm float64
}

// NewTrainer builds the system that cfg describes and initialises its
// generator from the seed.
func NewTrainer(cfg Config, workers *pool.Pool) (*Trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	system, err := cfg.New(workers)
	if err != nil {
		return nil, err
	}
	t := &Trainer{system: system, training: cfg.Shared().Training, workers: workers}
	t.params = make([]float32, system.NumParams())
	system.Initialize(t.params)
	t.method, err = newMethod(t)
	return t, err
}

// Step is one iteration of Algorithm 1. It allocates nothing. After an error
// the trainer must not be used further.
func (t *Trainer) Step() error {
	t.step++

	// Where to go: L of generation and transition, and by the paper's method
	// its gradient.
	t.loss, t.norm = t.method.look(t.step)
	if err := t.checkFinite(); err != nil {
		return err
	}

	// By the paper's method, AdamW.
	if !t.method.move(t.step, t.rate()) {
		return t.nonFinite("parameter", t.params)
	}
	return nil
}

// discrepancy returns L of the generator with the given parameters. At one step
// all generators get the same random numbers.
func (t *Trainer) discrepancy(params []float32, step int) float64 {
	n := uint32(step)

	// 1. Generation: s = G_θ(z).
	t.system.Generate(params, n)

	// 2. Transition: s′ ~ p^m(s, ·), from here on a constant.
	t.system.Transition(n)

	// 3. Optimisation: L = MMD²((s, s′), (s′, s)).
	return t.system.Discrepancy(n)
}

func (t *Trainer) rate() float64 { return t.training.Schedule.At(t.step, t.training.Steps) }

// Params returns the parameters to sample with: the weight average if there is
// one, and otherwise the current parameters. The slice is the trainer's own.
func (t *Trainer) Params() []float32 {
	if average := t.method.average(); average != nil && t.step > 0 {
		return average
	}
	return t.params
}

// System returns the system that the trainer trains.
func (t *Trainer) System() System { return t.system }

func (t *Trainer) threads() int { return t.workers.Threads() }

// Steps returns the number of steps taken.
func (t *Trainer) Steps() int { return t.step }

// Record returns the last step's figures.
func (t *Trainer) Record() Record {
	return Record{
		Step:         t.step,
		Loss:         t.loss,
		Acceptance:   t.system.Acceptance(),
		GradientNorm: t.norm,
		LearningRate: t.method.stepLength() * t.rate(),
	}
}

// A Record is one line of metrics.jsonl.
type Record struct {
	Step         int     `json:"step"`
	Loss         float64 `json:"loss"`
	Acceptance   float64 `json:"acceptance"`
	GradientNorm float64 `json:"gradient_norm"`
	LearningRate float64 `json:"learning_rate"`
	Seconds      float64 `json:"seconds"`          // of training so far, earlier parts of a resumed run included
	Errors       []Error `json:"errors,omitempty"` // of the generator at this step, where evaluation.every asks for them
}

// An Error is a Metric's error and the expected error of as many exact samples.
type Error struct {
	Name  string  `json:"name"`
	Error float64 `json:"error"`
	Floor float64 `json:"floor"`
}

// A NonFiniteError reports the first infinite or undefined number of a run.
type NonFiniteError struct {
	Step   int
	Tensor string
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("step %d: the %s is not finite; try a smaller learning rate, gradient clipping or a wider kernel", e.Step, e.Tensor)
}

func (t *Trainer) checkFinite() error {
	if math.IsNaN(t.norm) || math.IsInf(t.norm, 0) {
		if err := t.nonFinite("gradient", t.grad); err != nil {
			return err
		}
		return &NonFiniteError{t.step, "norm of the gradient"}
	}
	if math.IsNaN(t.loss) || math.IsInf(t.loss, 0) {
		return &NonFiniteError{t.step, "loss"}
	}
	return nil
}

// A TensorNamer knows which tensor an element of the parameter vector is in.
type TensorNamer interface{ TensorName(i int) string }

func (t *Trainer) nonFinite(what string, v []float32) error {
	for i, x := range v {
		if x-x == 0 {
			continue
		}
		if s, ok := t.system.(TensorNamer); ok {
			what += " of the generator's " + s.TensorName(i)
		}
		return &NonFiniteError{t.step, what}
	}
	return nil
}

// sections lists everything that a checkpoint must hold for the next step to
// come out the same.
func (t *Trainer) sections() []Section {
	all := append([]Section{{Name: "params", Float32: t.params}}, t.method.state()...)
	if s, ok := t.system.(Stateful); ok {
		all = append(all, s.State()...)
	}
	return all
}
