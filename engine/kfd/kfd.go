package kfd

import (
	"math"

	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// Config holds the parameters of the witness.
type Config struct {
	// Ridge is λ.
	Ridge float64 `json:"ridge"`
	// Memory is the decay of the average of E[δδᵀ], reached gradually over
	// the first steps.
	Memory float64 `json:"memory"`
	// Every is the number of steps for which a factorisation of the averaged
	// matrix is used.
	Every int `json:"every"`
}

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	return conf.First(
		conf.Positive("ridge", c.Ridge),
		conf.Decay("memory", c.Memory),
		conf.Between("every", c.Every, 1, math.MaxInt32))
}

// Stale reports whether the batch after so many steps goes into the average of
// E[δδᵀ].
func (c *Config) Stale(taken float64) bool { return int(taken)%c.Every == 0 }

// Weight returns the part of that batch in the average: 1 at first, falling to
// 1 − Memory.
func (c *Config) Weight(taken float64) float32 {
	t := taken / float64(c.Every)
	return float32(1 - min(c.Memory, t/(t+5)))
}

// A Witness carries the averaged second moments of the features' changes from
// step to step and solves for the coefficients.
type Witness struct {
	// Second is the average of E[δδᵀ], [r][r] row-major, and with Taken, the
	// number of steps behind it as a float64, what a checkpoint must save. It holds
	// anything where that is 0.
	Second []float32
	Factor []float32 // of the last factorisation
	Taken  []float64

	Config
	r       int
	penalty []float32 // R, [r][r] or its diagonal [r]
	solver  *factorisation
	workers *pool.Pool

	batch   []float32 // E[δδᵀ] of the present batch
	average float32
	merge   func(int)
}

// State lists what a checkpoint must hold of the witness.
func (w *Witness) State() []state.Section {
	if w.fresh() {
		clear(w.Second)
		clear(w.Factor)
	}
	return []state.Section{
		{Name: "kfd.second", Float32: w.Second},
		{Name: "kfd.factor", Float32: w.Factor},
		{Name: "kfd.taken", Float64: w.Taken},
	}
}

// New returns a witness in r features. penalty is the matrix R of the ridge,
// [r][r] row-major, or its diagonal.
func New(r int, penalty []float32, c Config, workers *pool.Pool) *Witness {
	if len(penalty) != r && len(penalty) != r*r {
		panic("kfd: the penalty is neither a diagonal nor a matrix")
	}
	w := &Witness{
		Second: workers.Float32s(r * r), Taken: make([]float64, 1),
		Config: c, r: r, penalty: penalty, solver: newFactorisation(r, workers), workers: workers,
		batch: workers.Float32s(r * r),
	}
	w.Factor = w.solver.u
	w.merge = func(row int) {
		second, batch := w.Second[row*r:][:r], w.batch[row*r:][:r]
		if w.fresh() {
			clear(second)
		}
		for i, b := range batch {
			second[i] += w.average * (b - second[i])
		}
	}
	return w
}

// fresh reports whether no batch is behind the matrices yet, which stand for 0.
func (w *Witness) fresh() bool { return w.Taken[0] == 0 }

// Batch is where the caller puts E[δδᵀ] of a batch before it calls Update,
// [r][r] row-major.
func (w *Witness) Batch() []float32 { return w.batch }

// Stale reports whether the next Update factors anew; if not, it does not look
// at Batch.
func (w *Witness) Stale() bool { return w.Config.Stale(w.Taken[0]) }

// Update averages Batch into the second moments and factors them with the
// ridge, every few steps. It reports whether the matrix was positive definite,
// which only rounding can prevent: take a larger ridge.
func (w *Witness) Update() bool {
	stale := w.Stale()
	w.average = w.Weight(w.Taken[0])
	if !stale {
		w.Taken[0]++
		return true
	}
	w.workers.Run(w.r, w.merge)
	w.Taken[0]++
	copy(w.solver.u, w.Second)
	ridge := float32(w.Ridge)
	if len(w.penalty) == w.r {
		for i, p := range w.penalty {
			w.solver.u[i*w.r+i] += ridge * p
		}
	} else {
		for i, p := range w.penalty {
			w.solver.u[i] += ridge * p
		}
	}
	return w.solver.factor()
}

// Solutions are the coefficients of the witnesses that drive the two halves of a batch.
type Solutions [2][]float32

// Coefficients adds those of the mean of the two to c, nil for zeros, and returns it.
func (s *Solutions) Coefficients(c []float64) []float64 {
	if c == nil {
		c = make([]float64, len(s[0]))
	}
	for k := range c {
		c[k] += float64(s[0][k]+s[1][k]) / 2
	}
	return c
}

// Halves returns copies of the two.
func (s *Solutions) Halves() [2][]float64 {
	return [2][]float64{number.Widen(s[0]), number.Widen(s[1])}
}

// SolveHalves sets the coefficients of the witness that drives each half of a batch,
// given the halves' mean changes E[δ]: those that belong to the other half's.
func (w *Witness) SolveHalves(c *Solutions, means *[2][]float64) {
	a, b := c[1], c[0]
	w.solver.solve(a, b, means[0], means[1])
	for i := range a {
		a[i] *= 2
		b[i] *= 2
	}
}
