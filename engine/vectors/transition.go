package vectors

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A transition moves a batch by a kernel, in parallel.
type transition struct {
	config    *Config
	ensemble  *Ensemble
	lanes     *nn.Lanes
	movers    []*mover             // of blocks
	counts    []engine.Count       // of each block's proposals
	movingEnd func(lo, hi int) int // end of the states that move, the first ones of a block lo … hi−1
	shared    []pool.Span          // results that ranks exchange

	modes          []float32 // modes of s and s′ of a batch that serves several steps; nil without modes
	logPi, logNext []float64 // β ln π of each s, and of each s′ that has moved

	// Arguments of the call under way.
	s, next   States
	stream    rng.Counter
	moveBlock func(block, lo, hi int, _ []float32)
}

func newTransition(c *Config, e *Ensemble, lanes *nn.Lanes) *transition {
	n := c.Training.Batch
	t := &transition{
		config: c, ensemble: e, lanes: lanes, counts: make([]engine.Count, lanes.Blocks()),
		logPi: make([]float64, n), logNext: make([]float64, n),
	}
	for range lanes.Blocks() {
		t.movers = append(t.movers, e.kernel.newMover(lanes.BlockRows()))
	}
	t.moveBlock = func(b, lo, hi int, _ []float32) {
		m, end := t.movers[b], t.movingEnd(lo, hi)
		copy(t.logPi[lo:hi], m.setLogPi(t.s.Part(lo, hi)))
		next := t.next.Part(lo, end)
		next.set(t.s.Part(lo, end))
		t.counts[b] = engine.Count{}
		if end > lo {
			m.advance(next, t.config.Transition.Steps, &t.stream, uint64(lo), &t.counts[b])
		}
		copy(t.logNext[lo:end], m.logPi)
	}
	return t
}

// Move draws s′_i ~ p^m(s_i, ·), at the step's temperature. The error is the target's.
func (t *transition) Move(next, s States, step uint32) error {
	t.s, t.next = s, next
	t.stream = rng.Stream(t.config.Training.Seed, rng.TrainTransition, step)
	beta := t.config.Transition.At(int(step), t.config.Training.Steps)
	for _, m := range t.movers {
		m.beta = beta
	}
	t.lanes.Share(t.moveBlock, t.shared...)
	t.saveModes()
	if e := t.ensemble; e.Chart != nil {
		return e.Chart.Judge(step, e.Workers)
	}
	return nil
}

// saveModes writes the modes of s and s′ to t.modes, which a checkpoint holds as float32.
func (t *transition) saveModes() {
	for i := range t.modes {
		t.modes[i] = float32(int(t.s.K[i])<<8 | int(t.next.K[i]))
	}
}

// restoreModes sets the modes of s and s′ from t.modes.
func (t *transition) restoreModes(s, next States) {
	for i, v := range t.modes {
		s.K[i], next.K[i] = uint8(int(v)>>8), uint8(int(v)&math.MaxUint8)
	}
}

// Acceptance implements engine.Transition.
func (t *transition) Acceptance() float64 { return t.total().Rate() }

// total counts the proposals of the last move.
func (t *transition) total() (all engine.Count) {
	for _, c := range t.counts {
		all.Add(c)
	}
	return all
}
