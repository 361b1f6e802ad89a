package spins

import (
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// TransitionConfig names the Metropolis–Hastings kernel p^m.
type TransitionConfig struct {
	// Proposal is "single", "mixture" or "multi-spin", of a Metropolis step; or
	// "sweep", with which a step is a heat-bath sweep through the colours of the
	// lattice and back, some thousand times faster than as many single-spin steps.
	Proposal string `json:"proposal" enum:"single,mixture,multi-spin,sweep"`
	// GlobalFlip is the probability p_g of proposing to flip all spins.
	GlobalFlip float64 `json:"global_flip" when:"proposal=mixture"`
	Steps      int     `json:"steps" is:"1..65536"` // m
	// Anneal is the fraction of the training over which the kernel's inverse
	// temperature rises from AnnealFrom·target.beta to target.beta, in 32 levels of
	// which the first is one above AnnealFrom. A generator that meets a cold target at
	// once rushes to its states of lowest energy.
	Anneal     float64 `json:"anneal" is:"fraction"`
	AnnealFrom float64 `json:"anneal_from" is:"fraction"` // fraction of target.beta that annealing begins with
}

// Sweeping is the proposal of transitions that are no Metropolis steps.
const Sweeping = "sweep"

// ValidateFor reports the first value that cannot be used for the target, by its key in the
// configuration. Steps are limited by the random numbers of a stream.
func (c *TransitionConfig) ValidateFor(t Target) error {
	kernel, err := t.Kernel(c, 1)
	if err != nil {
		return err
	}
	return conf.First(conf.Under("transition", conf.Check(c)), conf.Between("transition.steps", c.Steps, 1, kernel.MaxSteps()))
}

// AnnealLevels is the number of inverse temperatures on the way to the target's.
const AnnealLevels = 32

// Level returns the level of annealing, from 1 to AnnealLevels, at a step of a training of so
// many steps.
func (c *TransitionConfig) Level(step uint32, steps int) int {
	end := c.Anneal * float64(steps)
	if float64(step) >= end {
		return AnnealLevels
	}
	return 1 + int(float64(step)/end*(AnnealLevels-1))
}

// Fraction returns the inverse temperature of a level, as a fraction of the target's.
func (c *TransitionConfig) Fraction(level int) float64 {
	return c.AnnealFrom + (1-c.AnnealFrom)*float64(level)/AnnealLevels
}

// A Transition draws one s′ ~ p^m(s, ·) for each s of a batch, step after step of a
// training.
type Transition[W uint64 | byte] struct {
	config   *TransitionConfig
	training *engine.Training
	words    int
	levels   []sites.Kernel[W] // by level of annealing; the target's is the last
	rows     int               // of a piece
	workers  *pool.Pool
	counts   []bitspin.Count // proposals of the last call, by piece
	count    bitspin.Count   // and of all pieces

	next, states []W // of the call under way
	kernel       sites.Kernel[W]
	stream       rng.Counter
	move         func(piece int)
}

// NewTransition returns the transition of n configurations of so many words.
func NewTransition[W uint64 | byte](c *TransitionConfig, training *engine.Training, n int, t Kernels[W], words int, workers *pool.Pool) (*Transition[W], error) {
	if n == 0 {
		return &Transition[W]{}, nil
	}
	tr := &Transition[W]{config: c, training: training, words: words, levels: make([]sites.Kernel[W], AnnealLevels), workers: workers}
	for level := AnnealLevels; level >= 1; level-- {
		if level < AnnealLevels && c.Anneal == 0 {
			break
		}
		var err error
		if tr.levels[level-1], err = t.Kernel(c, c.Fraction(level)); err != nil {
			return nil, err
		}
	}
	tr.rows = sites.PieceOf(tr.levels[AnnealLevels-1])
	tr.counts = make([]bitspin.Count, (n+tr.rows-1)/tr.rows)
	tr.move = func(piece int) {
		tr.counts[piece] = bitspin.Count{}
		lo, hi := piece*tr.rows, min(n, (piece+1)*tr.rows)
		tr.kernel.Run(nil, tr.next, tr.states, lo, hi, c.Steps, &tr.stream, 0, &tr.counts[piece])
	}
	return tr, nil
}

// Move draws next from s by the transition at a step. It implements engine.Transition, and
// returns no error.
func (t *Transition[W]) Move(next, s []W, step uint32) error {
	if len(t.counts) == 0 {
		return nil
	}
	t.next, t.states = next, s
	t.kernel = t.levels[t.config.Level(step, t.training.Steps)-1]
	t.stream = rng.Stream(t.training.Seed, rng.TrainTransition, step)
	t.workers.Share(len(t.counts), t.move, pool.SpanOf(next, t.rows*t.words), pool.SpanOf(t.counts, 1))
	t.count = bitspin.Count{}
	for i := range t.counts {
		t.count.Add(t.counts[i])
	}
	return nil
}

// Acceptance returns the fraction of the last call's proposals that were accepted.
func (t *Transition[W]) Acceptance() float64 { return t.count.Rate() }

var _ Target = Boltzmann{}

// Explain says in words what a transition is.
func (c *TransitionConfig) Explain() string {
	if c.Proposal == Sweeping {
		return engine.Moves(c.Steps, "heat-bath sweep")
	}
	return engine.Moves(c.Steps, c.Proposal+" Metropolis step")
}
