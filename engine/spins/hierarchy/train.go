package hierarchy

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/internal/pool"
)

// Training says how a generator is trained: by Adam along
//
//	∇KL(q‖π) = E_q[(R − E R) ∇ln q],  R = ln q + βE,
//
// with the exact spins summed out and the mean over the other samples of the
// batch in place of E R.
type Training struct {
	Steps        int     `json:"steps"`
	Batch        int     `json:"batch"` // samples a step, a multiple of 64
	LearningRate float64 `json:"learning_rate"`
	Warmup       int     `json:"warmup"` // steps over which the rate rises
	Final        float64 `json:"final"`  // fraction of the rate that the cosine ends at
	Beta1        float64 `json:"beta1"`  // Adam's decay rates
	Beta2        float64 `json:"beta2"`
	Clip         float64 `json:"clip,omitempty"` // largest norm of a gradient; 0 for any
	// Anneal is the fraction of the steps over which β rises from AnnealFrom
	// times its value.
	Anneal     float64 `json:"anneal,omitempty"`
	AnnealFrom float64 `json:"anneal_from,omitempty"`
	// Moves is the number of sweeps between the configurations of a pair, if
	// the objective is E ½(R(s) − R(s′))², which needs no more of the target than
	// its moves. 0 is the divergence.
	Moves int `json:"moves,omitempty"`
	// Average is the decay of the average of parameters that is the result; 0
	// for the last parameters.
	Average float64 `json:"average,omitempty"`
	Seed    uint64  `json:"seed"`
}

// Validate reports the first value that cannot be used, by its key.
func (t *Training) Validate() error {
	switch {
	case t.Steps < 1:
		return fmt.Errorf("steps: %d is not positive", t.Steps)
	case t.Batch < 2 || t.Batch%block != 0 || t.Batch > MaxBatch:
		return fmt.Errorf("batch: %d is not a multiple of %d between %d and %d", t.Batch, block, block, MaxBatch)
	case t.Moves < 0:
		return fmt.Errorf("moves: %d is negative", t.Moves)
	case !(t.Clip >= 0):
		return fmt.Errorf("clip: %v is not a number ≥ 0", t.Clip)
	case !(t.Anneal >= 0 && t.Anneal <= 1):
		return fmt.Errorf("anneal: %v is not between 0 and 1", t.Anneal)
	case !(t.AnnealFrom >= 0 && t.AnnealFrom <= 1):
		return fmt.Errorf("anneal_from: %v is not between 0 and 1", t.AnnealFrom)
	case !(t.Average >= 0 && t.Average < 1):
		return fmt.Errorf("average: %v is not in [0, 1)", t.Average)
	}
	a, s := t.adam(), t.schedule()
	if err := a.Validate(); err != nil {
		return err
	}
	return s.Validate()
}

func (t *Training) adam() optim.AdamW {
	return optim.AdamW{LearningRate: t.LearningRate, Beta1: t.Beta1, Beta2: t.Beta2, Epsilon: 1e-12}
}

func (t *Training) schedule() optim.Schedule {
	return optim.Schedule{Kind: "cosine", Final: t.Final, Warmup: t.Warmup}
}

// A Trainer takes the steps of a training.
type Trainer struct {
	Params []float32 // θ, changed by every step
	Step   int       // steps taken

	training  Training
	batch     *Batch
	pairs     *Pairs // nil for the divergence
	optimizer *optim.Optimizer
	schedule  optim.Schedule
	grad      []float32
	r, c      []float64
}

// NewTrainer prepares the training of the model from parameters params, which
// it changes.
func (m *Model) NewTrainer(t Training, params []float32, workers *pool.Pool) (*Trainer, error) {
	checkLength("parameters", len(params), m.params)
	if err := t.Validate(); err != nil {
		return nil, err
	}
	b, err := m.NewBatch(t.Batch, t.Seed, workers)
	if err != nil {
		return nil, err
	}
	var pairs *Pairs
	if t.Moves > 0 {
		if pairs, err = m.NewPairs(b, t.Moves); err != nil {
			return nil, err
		}
	}
	return &Trainer{
		pairs: pairs, Params: params, training: t, batch: b, schedule: t.schedule(),
		optimizer: optim.NewOptimizer(t.adam(), t.Clip, t.Average, m.params, workers),
		grad:      make([]float32, m.params),
		r:         make([]float64, t.Batch), c: make([]float64, t.Batch),
	}, nil
}

// beta returns the inverse temperature of step s, from 0.
func (t *Training) beta(target float64, s int) float64 {
	f := float64(s) / (t.Anneal * float64(t.Steps))
	if t.Anneal == 0 || f >= 1 {
		return target
	}
	return target * (t.AnnealFrom + (1-t.AnnealFrom)*f)
}

// Next takes a step and returns the estimate that its batch gives, at the β of
// the step. The error reports the first parameter that is not finite.
func (t *Trainer) Next() (engine.Importance, error) {
	b := t.batch
	b.SetBeta(t.training.beta(b.model.target.Beta, t.Step))
	b.Generate(t.Params, uint32(t.Step))
	if t.pairs != nil {
		t.pairs.Move(t.c, uint32(t.Step))
		for i := range t.c {
			t.c[i] /= float64(len(t.c))
		}
		t.pairs.Backward(t.grad, t.c)
		b.R(t.r)
	} else {
		b.R(t.r)
		var mean float64
		for _, r := range t.r {
			mean += r
		}
		mean /= float64(len(t.r))
		for i, r := range t.r {
			t.c[i] = (r - mean) / float64(len(t.r)-1)
		}
		b.Backward(t.grad, t.c)
	}
	t.Step++
	norm := t.optimizer.Norm(t.grad)
	if !t.optimizer.Step(t.Params, t.grad, norm, t.Step, t.schedule.At(t.Step, t.training.Steps)) {
		for i, p := range t.Params {
			if math.IsNaN(float64(p)) || math.IsInf(float64(p), 0) {
				return engine.Importance{}, fmt.Errorf("training: %s is %v after step %d", b.model.TensorName(i), p, t.Step)
			}
		}
	}
	return engine.NewImportance(t.r), nil
}

// Result returns the average of the parameters, or the last ones where none
// was asked for.
func (t *Trainer) Result() []float32 {
	if t.optimizer.EMA != nil {
		return t.optimizer.EMA
	}
	return t.Params
}

// Run takes all steps that are left. progress is called after each, if it is
// not nil.
func (t *Trainer) Run(ctx context.Context, progress func(step int, e engine.Importance)) error {
	for t.Step < t.training.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := t.Next()
		if err != nil {
			return err
		}
		if progress != nil {
			progress(t.Step, e)
		}
	}
	return nil
}
