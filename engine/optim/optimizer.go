// Package optim updates flat parameter vectors: AdamW as PyTorch defines it,
// gradient clipping, weight averaging and learning-rate schedules.
package optim

import (
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

const pieceLen = 8192 // parameters that one piece of an update handles

// AdamW holds the hyperparameters of Loshchilov and Hutter's optimiser.
type AdamW struct {
	LearningRate float64 `json:"learning_rate" is:"positive"`    // α, which the schedule multiplies
	Beta1        float64 `json:"beta1" is:"decay"`               // decay of the average gradient
	Beta2        float64 `json:"beta2" is:"decay"`               // decay of the average squared gradient
	Epsilon      float64 `json:"epsilon" is:"positive"`          // added to the root of the average squared gradient
	WeightDecay  float64 `json:"weight_decay" is:"not negative"` // λ of the decoupled decay of θ
}

// An Optimizer holds the state that AdamW carries from step to step.
type Optimizer struct {
	M, V, EMA []float32 // what State lists; EMA is nil without weight averaging

	config    AdamW
	clip, ema float64
	workers   *pool.Pool

	params, grad    []float32 // of the update under way
	update          asm.AdamW
	sums            []float64
	finite          []bool
	runSum, runStep func(int)
}

// NewOptimizer returns the state before the first step for a vector of n
// parameters. With clip > 0, longer gradients are scaled down to the norm clip.
// With ema > 0 the parameters are averaged with that decay, which rises from
// small values so that the average forgets the first steps.
func NewOptimizer(config AdamW, clip, ema float64, n int, workers *pool.Pool) *Optimizer {
	pieces := (n + pieceLen - 1) / pieceLen
	o := &Optimizer{
		M: make([]float32, n), V: make([]float32, n),
		config: config, clip: clip, ema: ema, workers: workers,
		sums: make([]float64, pieces), finite: make([]bool, pieces),
	}
	if ema > 0 {
		o.EMA = make([]float32, n)
	}
	o.runSum = func(piece int) {
		lo, hi := o.bounds(piece)
		o.sums[piece] = asm.SumSquares(o.grad[lo:hi])
	}
	o.runStep = func(piece int) {
		lo, hi := o.bounds(piece)
		var average []float32
		if o.EMA != nil {
			average = o.EMA[lo:hi]
		}
		asm.AdamWStep(o.params[lo:hi], o.grad[lo:hi], o.M[lo:hi], o.V[lo:hi], average, &o.update)
		o.finite[piece] = asm.AllFinite(o.params[lo:hi])
	}
	return o
}

// State lists what a checkpoint must hold of the optimiser.
func (o *Optimizer) State() []state.Section {
	sections := []state.Section{{Name: "adam.m", Float32: o.M}, {Name: "adam.v", Float32: o.V}}
	if o.EMA != nil {
		sections = append(sections, state.Section{Name: "ema", Float32: o.EMA})
	}
	return sections
}

func (o *Optimizer) bounds(piece int) (lo, hi int) {
	return piece * pieceLen, min((piece+1)*pieceLen, len(o.M))
}

// Norm returns the Euclidean norm of grad. It is infinite or NaN if an element is.
func (o *Optimizer) Norm(grad []float32) float64 {
	o.grad = grad
	o.workers.Run(len(o.sums), o.runSum)
	var sum float64
	for _, s := range o.sums {
		sum += s
	}
	return math.Sqrt(sum)
}

// Step applies update number step, counted from 1, with the learning rate
// multiplied by rate, to params. norm is the gradient's, as Norm returned it.
// It reports whether all parameters are finite afterwards.
func (o *Optimizer) Step(params, grad []float32, norm float64, step int, rate float64) bool {
	o.params, o.grad = params, grad
	scale := 1.0
	if o.clip > 0 && norm > o.clip {
		scale = o.clip / (norm + 1e-6) // as PyTorch's clip_grad_norm_
	}
	t := float64(step)
	o.update = asm.AdamW{
		LearningRate: float32(o.config.LearningRate * rate),
		Beta1:        float32(o.config.Beta1),
		Beta2:        float32(o.config.Beta2),
		Epsilon:      float32(o.config.Epsilon),
		WeightDecay:  float32(o.config.WeightDecay),
		Correction1:  float32(1 - math.Pow(o.config.Beta1, t)),
		Correction2:  float32(1 - math.Pow(o.config.Beta2, t)),
		GradScale:    float32(scale),
		EMADecay:     float32(min(o.ema, t/(t+10))),
	}
	o.workers.Run(len(o.finite), o.runStep)
	return !slices.Contains(o.finite, false)
}
