package vectors

import "github.com/revgen/revgen/engine/measure"

const (
	judgedSamples = 1 << 14 // samples whose weights are judged together
	judgedSteps   = 1 << 17 // limit of samples times steps that each serves, so that no judgement waits too long
	finiteTail    = 0.5     // Pareto's k̂ below which weights have a finite variance
)

// A convergence judges by samples' importance weights whether training may end.
type convergence struct {
	minSize float64    // effective sample size that suffices, as a fraction
	r       []float64  // R = ln q − ln π of the samples since the last judgement
	state   [2]float64 // how many samples r holds; 1 once their weights have sufficed
}

func newConvergence(e *Economy) *convergence {
	return &convergence{minSize: e.Enough, r: make([]float64, min(judgedSamples, judgedSteps/(e.Reuse+1)))}
}

// add adds R of a batch, and judges once there are enough samples. All batches are of one target.
func (s *convergence) add(r []float64) {
	n := int(s.state[0])
	n += copy(s.r[n:], r)
	if s.state[0] = float64(n); n < len(s.r) {
		return
	}
	s.state[0] = 0
	if measure.Weigh(s.r).EffectiveSize >= s.minSize {
		if w := measure.NewWeights(s.r); w.Trusted() && !w.TailAbove(finiteTail) {
			s.state[1] = 1
		}
	}
}

// reset discards all samples and judgements, because the target has changed.
func (s *convergence) reset() { s.state = [2]float64{} }
