package optim

import (
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

const pieceLen = 8192 // parameters that one piece of an update handles

// An Optimizer holds the state that AdamW carries from step to step. Its
// slices are what State lists; EMA is nil without weight averaging.
type Optimizer struct {
	M, V, EMA []float32

	config    AdamW
	clip, ema float64
	workers   *pool.Pool

	params, grad   []float32 // of the update under way
	update         asm.AdamW
	sums           []float64
	finite         []bool
	runSum, runAll func(int)
}

// NewOptimizer returns the state before the first step for a vector of n
// parameters. Gradients are scaled down to the norm clip if that is positive
// and exceeded. With ema > 0 the weights are averaged with that decay, reached
// gradually so that the first steps are forgotten.
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
	o.runSum = func(c int) {
		lo, hi := o.bounds(c)
		o.sums[c] = asm.SumSquares(o.grad[lo:hi])
	}
	o.runAll = func(c int) {
		lo, hi := o.bounds(c)
		var average []float32
		if o.EMA != nil {
			average = o.EMA[lo:hi]
		}
		asm.AdamWStep(o.params[lo:hi], o.grad[lo:hi], o.M[lo:hi], o.V[lo:hi], average, &o.update)
		o.finite[c] = asm.AllFinite(o.params[lo:hi])
	}
	return o
}

// State lists what a checkpoint must hold of the optimiser.
func (o *Optimizer) State() []state.Section {
	all := []state.Section{{Name: "adam.m", Float32: o.M}, {Name: "adam.v", Float32: o.V}}
	if o.EMA != nil {
		all = append(all, state.Section{Name: "ema", Float32: o.EMA})
	}
	return all
}

func (o *Optimizer) bounds(c int) (lo, hi int) {
	return c * pieceLen, min((c+1)*pieceLen, len(o.M))
}

// Norm returns the Euclidean norm of grad, infinite or NaN if an element is.
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
	o.workers.Run(len(o.finite), o.runAll)
	return !slices.Contains(o.finite, false)
}
