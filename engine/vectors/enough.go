package vectors

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
)

// Economy says when a loss of densities evaluates ln π, and when no more.
type Economy struct {
	// Reuse is how many steps more a batch of states serves. ln π of the states is evaluated
	// once: each step compares their ln q as it is by then.
	Reuse int `json:"reuse" when:"kind=balance" is:"0..1024"`
	// Enough is the effective sample size, as a fraction, from which on more steps would
	// gain nothing: training ends before its steps do when the weights of 16,384 samples as they were
	// drawn on the way have it, and no tail that would make it a matter of luck. Where batches serve
	// more than eight steps the samples are so many fewer. 0 takes all steps.
	Enough float64 `json:"enough" when:"kind=balance" is:"fraction"`
}

// Thrift sets both so that evaluations are spared: training ends at an effective sample size, and
// batches serve four steps.
func (e *Economy) Thrift(enough float64) { e.Reuse, e.Enough = 3, enough }

// fresh reports whether a step draws a batch.
func (e *Economy) fresh(step uint32) bool { return (step-1)%uint32(e.Reuse+1) == 0 }

const (
	judgedSamples = 1 << 14 // whose weights are judged together, and
	judgedSteps   = 1 << 17 // at most, of samples times the steps that each serves
	finiteTail    = 0.5     // Pareto's k̂ of weights of finite variance
)

// A convergence judges weights.
type convergence struct {
	enough float64
	r      []float64  // of samples since the last judgement, R = ln q − ln π
	state  [2]float64 // how many they are; 1 if those before were enough
}

func newConvergence(e *Economy) *convergence {
	return &convergence{enough: e.Enough, r: make([]float64, min(judgedSamples, judgedSteps/(e.Reuse+1)))}
}

// see adds R of a batch; all batches are of one target.
func (s *convergence) see(r []float64) {
	at := int(s.state[0])
	at += copy(s.r[at:], r)
	if s.state[0] = float64(at); at < len(s.r) {
		return
	}
	s.state[0] = 0
	if measure.Weigh(s.r).EffectiveSize >= s.enough {
		if w := measure.NewWeights(s.r); w.Trusted() && !w.TailAbove(finiteTail) {
			s.state[1] = 1
		}
	}
}

// forget is for weights of another target.
func (s *convergence) forget() { s.state = [2]float64{} }

// Converged implements engine.Converging.
func (b *densities) Converged() bool { return b.convergence != nil && b.convergence.state[1] > 0 }

// Loss is engine.Densities.Loss of a new batch, whose weights are then judged, or that of an earlier
// step's batch by now.
func (b *densities) Loss(θ []float32, step uint32) (float64, error) {
	w := b.weigher
	if w.stale = !b.config.Loss.fresh(step); w.stale {
		b.transition.recall(b.S, b.Next)
		w.take(θ)
		w.Weigh(b.R, b.RNext, b.S, b.Next)
		return b.Measure(), nil
	}
	loss, err := b.Densities.Loss(θ, step)
	if b.convergence != nil && err == nil {
		if b.config.Transition.At(int(step), b.config.Training.Steps) == 1 {
			b.convergence.see(b.R)
		} else {
			b.convergence.forget()
		}
	}
	return loss, err
}

// State is what a checkpoint holds of a batch that serves several steps, and of its judgement.
func (b *densities) State() (all []engine.Section) {
	if t := b.transition; b.config.Loss.Reuse > 0 {
		all = append(all, engine.Section{Name: "batch.states", Float32: b.S.X}, engine.Section{Name: "batch.next", Float32: b.Next.X},
			engine.Section{Name: "batch.log_density", Float64: t.logPi}, engine.Section{Name: "batch.next_log_density", Float64: t.logNext})
		if b.S.K != nil {
			all = append(all, engine.Section{Name: "batch.modes", Float32: t.modes})
		}
	}
	if b.convergence != nil {
		all = append(all, engine.Section{Name: "enough.log_ratios", Float64: b.convergence.r}, engine.Section{Name: "enough.state", Float64: b.convergence.state[:]})
	}
	return all
}

// recall and remember keep the modes of a batch where a checkpoint finds them.
func (t *transition) remember() {
	for i := range t.modes {
		t.modes[i] = float32(int(t.s.K[i])<<8 | int(t.next.K[i]))
	}
}

func (t *transition) recall(s, next States) {
	for i, v := range t.modes {
		s.K[i], next.K[i] = uint8(int(v)>>8), uint8(int(v)&math.MaxUint8)
	}
}
