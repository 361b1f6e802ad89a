package vectors

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A kernel is a transition with room for the moves of a batch.
type kernel struct {
	config   *Config
	ensemble *Ensemble
	lanes    *nn.Lanes
	movers   []*mover             // of blocks
	counts   []engine.Count       // likewise
	moving   func(lo, hi int) int // the end of the states of a block that move
	shared   []pool.Span          // what ranks give each other of a batch that has moved

	modes          []float32 // of a batch that serves several steps, if it has some
	logPi, logNext []float64 // β ln π of each s, and of each s′ that there is

	s, next   States // of the call under way
	stream    rng.Counter
	moveBlock func(block, lo, hi int, _ []float32)
}

func newKernel(c *Config, e *Ensemble, lanes *nn.Lanes) *kernel {
	n := c.Training.Batch
	k := &kernel{
		config: c, ensemble: e, lanes: lanes, counts: make([]engine.Count, lanes.Blocks()),
		logPi: make([]float64, n), logNext: make([]float64, n),
	}
	for range lanes.Blocks() {
		k.movers = append(k.movers, e.transition.newMover(lanes.BlockRows()))
	}
	k.moveBlock = func(b, lo, hi int, _ []float32) {
		m, end := k.movers[b], k.moving(lo, hi)
		copy(k.logPi[lo:hi], m.start(k.s.Part(lo, hi)))
		from, to := k.s.Part(lo, end), k.next.Part(lo, end)
		to.take(from)
		k.counts[b] = engine.Count{}
		if end > lo {
			m.advance(to, k.config.Transition.Steps, &k.stream, uint64(lo), &k.counts[b])
		}
		copy(k.logNext[lo:end], m.current)
	}
	return k
}

// Move draws s′_i ~ p^m(s_i, ·), at the step's temperature. The error is the target's.
func (k *kernel) Move(next, s States, step uint32) error {
	k.s, k.next = s, next
	k.stream = rng.Stream(k.config.Training.Seed, rng.TrainTransition, step)
	beta := k.config.Transition.At(int(step), k.config.Training.Steps)
	for _, m := range k.movers {
		m.beta = beta
	}
	k.lanes.Share(k.moveBlock, k.shared...)
	k.remember()
	if e := k.ensemble; e.Chart != nil {
		return e.Chart.Judge(step, e.Workers)
	}
	return nil
}

// Acceptance implements engine.Transition.
func (k *kernel) Acceptance() float64 { return k.total().Rate() }

// total counts the proposals of the last move.
func (k *kernel) total() (all engine.Count) {
	for _, c := range k.counts {
		all.Add(c)
	}
	return all
}
