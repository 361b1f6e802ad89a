package engine

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// A Trainer carries a run from one step to the next.
type Trainer struct {
	system    System
	training  Training
	optimizer *optim.Optimizer
	search    search.Search // nil for the paper's method, the gradient
	workers   *pool.Pool

	step       int
	eased      float64   // fraction of the learning rate that Ease has left
	params     []float32 // θ
	grad       []float32 // ∂L/∂θ or its estimate
	loss, norm float64   // of the last step, and of its gradient
}

// NewTrainer builds the system that cfg describes and initialises its
// generator from the seed.
func NewTrainer(cfg Config, workers *pool.Pool) (*Trainer, error) {
	t, err := Prepare(cfg, workers)
	if err != nil {
		return nil, err
	}
	return t, t.Initialize(context.Background())
}

// Prepare is NewTrainer without Initialize.
func Prepare(cfg Config, workers *pool.Pool) (*Trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	system, err := cfg.New(workers)
	if err != nil {
		return nil, err
	}
	c, n := cfg.Shared().Training, system.NumParams()
	t := &Trainer{system: system, training: c, workers: workers, params: make([]float32, n), eased: 1}
	if c.Method != "consensus" {
		t.grad = make([]float32, n)
		t.optimizer = optim.NewOptimizer(c.Optimizer, c.ClipNorm, c.EMA, n, workers)
	}
	if c.Method != "gradient" {
		if carried := state.Of(system); len(carried) > 0 {
			return nil, &MethodError{c.Method, carried[0].Name}
		}
	}
	t.search = search.New(c.Methods, search.Problem{
		Params: t.params, Grad: t.grad, Loss: system.Loss,
		Optimizer: t.optimizer, EMA: c.EMA, Seed: c.Seed, Workers: workers,
	})
	return t, nil
}

// Initialize sets θ to what training begins with.
func (t *Trainer) Initialize(ctx context.Context) error {
	i, ok := t.system.(Initializer)
	if !ok {
		t.system.Initialize(t.params)
		return nil
	}
	defer Interruptible(ctx, t.system)()
	return i.InitializeContext(ctx, t.params)
}

// A MethodError reports a system that cannot be trained by the chosen method.
type MethodError struct{ Method, State string }

func (e *MethodError) Error() string {
	return fmt.Sprintf("training.method: %s compares the losses of several generators at one step, but this loss changes with each that it sees (by its %s); choose a loss.kind without memory, or the gradient", e.Method, e.State)
}

// Step is one iteration of Algorithm 1. It allocates nothing. After an error
// the trainer must not be used further.
func (t *Trainer) Step() error { return t.StepContext(context.Background()) }

// StepContext is Step that returns ctx's error if ctx has ended before it, or, in a search that
// tries many generators, between two of them. What a checkpoint holds is then as it was.
func (t *Trainer) StepContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.search != nil {
		return t.searchStep(ctx)
	}
	loss, err := t.system.Loss(t.params, uint32(t.step+1)) // s = G_θ(z), s′ ~ p^m(s, ·), L((s, s′), (s′, s))
	if err != nil {
		return t.targetError(err)
	}
	t.step, t.loss = t.step+1, loss
	t.system.Backward(t.params, t.grad) // ∂L/∂θ
	t.norm = t.optimizer.Norm(t.grad)
	if err := t.checkFinite(); err != nil {
		return err
	}
	if !t.optimizer.Step(t.params, t.grad, t.norm, t.step, t.Rate()) { // θ along −∂L/∂θ by AdamW
		return t.nonFinite("parameter", t.params)
	}
	return nil
}

// searchStep is a step of a search, which compares losses of several generators.
func (t *Trainer) searchStep(ctx context.Context) error {
	loss, norm, err := t.search.Look(ctx, t.step+1)
	if err != nil {
		return t.targetError(err)
	}
	t.step, t.loss, t.norm = t.step+1, loss, norm
	if err := t.checkFinite(); err != nil {
		return err
	}
	if !t.search.Move(t.step, t.Rate()) {
		if err := t.nonFinite("parameter", t.params); err != nil {
			return err
		}
		return &NonFiniteError{Step: t.step, Tensor: "candidate"}
	}
	return nil
}

// Rate returns the fraction of the learning rate that schedule and Ease leave at the last step.
func (t *Trainer) Rate() float64 { return t.eased * t.training.Schedule.At(t.step, t.training.Steps) }

// Params returns the parameters to sample with: the weight average if there is
// one, and otherwise the current parameters. The slice is the trainer's own.
func (t *Trainer) Params() []float32 {
	var average []float32
	if t.search != nil {
		average = t.search.Average()
	} else {
		average = t.optimizer.EMA
	}
	if average != nil && t.step > 0 {
		return average
	}
	return t.params
}

// System returns the system that the trainer trains.
func (t *Trainer) System() System { return t.system }

// Steps returns the number of steps taken.
func (t *Trainer) Steps() int { return t.step }

// Loss returns the loss of the last step.
func (t *Trainer) Loss() float64 { return t.loss }

// Done reports whether training is over: all steps have been taken, or the system has
// converged.
func (t *Trainer) Done() bool {
	if s, ok := t.system.(Converging); ok && t.step > 0 && s.Converged() {
		return true
	}
	return t.step >= t.training.Steps
}

// Record returns the last step's figures.
func (t *Trainer) Record() Record {
	return Record{
		Step:         t.step,
		Loss:         t.loss,
		Acceptance:   t.system.Acceptance(),
		GradientNorm: t.norm,
		LearningRate: t.training.StepLength(t.training.Optimizer.LearningRate) * t.Rate(),
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

// MarshalJSON implements json.Marshaler.
func (r Record) MarshalJSON() ([]byte, error) { return number.Marshal(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Record) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, r) }

// MarshalJSON implements json.Marshaler.
func (e Error) MarshalJSON() ([]byte, error) { return number.Marshal(e) }

// UnmarshalJSON implements json.Unmarshaler.
func (e *Error) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, e) }

// A NonFiniteError reports the first infinite or undefined number of a run.
type NonFiniteError struct {
	Step   int
	Tensor string
	Rate   float64 // lowest fraction of the configured learning rate that was tried; 0 if only that rate was
}

func (e *NonFiniteError) Error() string {
	if e.Rate > 0 {
		return fmt.Sprintf("step %d: the %s is not finite, at %g of the learning rate too; try gradient clipping (training.clip_norm), a simpler generator (generator.depth 0, say) or, for pairs of samples, a wider kernel", e.Step, e.Tensor, e.Rate)
	}
	return fmt.Sprintf("step %d: the %s is not finite; try a smaller learning rate, gradient clipping or, for pairs of samples, a wider kernel", e.Step, e.Tensor)
}

func (t *Trainer) checkFinite() error {
	if math.IsNaN(t.norm) || math.IsInf(t.norm, 0) {
		if err := t.nonFinite("gradient", t.grad); err != nil {
			return err
		}
		return &NonFiniteError{Step: t.step, Tensor: "norm of the gradient"}
	}
	if math.IsNaN(t.loss) || math.IsInf(t.loss, 0) {
		return &NonFiniteError{Step: t.step, Tensor: "loss"}
	}
	return nil
}

// A TensorNamer knows which tensor an element of the parameter vector is in.
type TensorNamer interface{ TensorName(i int) string }

// nonFinite returns a NonFiniteError if v holds such a number; tensor says what v is.
func (t *Trainer) nonFinite(tensor string, v []float32) error {
	for i, x := range v {
		if x-x == 0 {
			continue
		}
		if s, ok := t.system.(TensorNamer); ok {
			tensor += " of the generator's " + s.TensorName(i)
		}
		return &NonFiniteError{Step: t.step, Tensor: tensor}
	}
	return nil
}
