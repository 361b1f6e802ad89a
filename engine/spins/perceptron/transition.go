package perceptron

import (
	"fmt"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
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
	Steps      int     `json:"steps"` // m
	// Anneal is the fraction of the training over which the kernel's inverse
	// temperature rises from AnnealFrom·target.beta to target.beta. A generator
	// that meets a cold target at once rushes to its states of lowest energy.
	Anneal     float64 `json:"anneal"`
	AnnealFrom float64 `json:"anneal_from"` // fraction of target.beta that annealing begins with
}

// Sweeping is the proposal of transitions that are no Metropolis steps.
const Sweeping = "sweep"

const maxSteps = 1 << 16 // of a transition

// Validate reports the first value that cannot be used, by its key in the
// configuration, where a stream has random numbers for most steps.
func (c *TransitionConfig) Validate(most int) error {
	if err := conf.Between("transition.steps", c.Steps, 1, min(maxSteps, most)); err != nil {
		return err
	}
	if !(c.Anneal >= 0 && c.Anneal <= 1) {
		return fmt.Errorf("transition.anneal: %v is not between 0 and 1", c.Anneal)
	}
	if !(c.AnnealFrom >= 0 && c.AnnealFrom <= 1) {
		return fmt.Errorf("transition.anneal_from: %v is not between 0 and 1", c.AnnealFrom)
	}
	return nil
}

// AnnealLevels is the number of inverse temperatures on the way to the target's.
const AnnealLevels = 32

// Level returns the level of annealing, from 1 to AnnealLevels, of one of a
// training's steps.
func (c *TransitionConfig) Level(step uint32, steps int) int {
	end := c.Anneal * float64(steps)
	if float64(step) >= end {
		return AnnealLevels
	}
	return 1 + int(float64(step)/end*(AnnealLevels-1))
}

// Fraction returns which fraction of the target's inverse temperature a level has.
func (c *TransitionConfig) Fraction(level int) float64 {
	return c.AnnealFrom + (1-c.AnnealFrom)*float64(level)/AnnealLevels
}

// transition draws one s′ ~ p^m(s, ·) for each s of a batch.
type transition struct {
	config   *Config
	levels   []spins.Kernel // by level of annealing, the target's last
	rows     int            // of a piece
	workers  *pool.Pool
	stats    []bitspin.Stats // by piece
	accepted bitspin.Stats

	b      *Batch // of the call under way
	kernel spins.Kernel
	stream rng.Counter
	move   func(piece int)
}

func newTransition(c *Config, t Target, workers *pool.Pool) (*transition, error) {
	tr := &transition{config: c, levels: make([]spins.Kernel, AnnealLevels), workers: workers}
	for level := AnnealLevels; level >= 1; level-- {
		if level < AnnealLevels && c.Transition.Anneal == 0 {
			break
		}
		var err error
		if tr.levels[level-1], err = t.Kernel(&c.Transition, c.Transition.Fraction(level)); err != nil {
			return nil, err
		}
	}
	n := c.Training.Batch
	tr.rows = spins.PieceOf(tr.levels[AnnealLevels-1])
	tr.stats = make([]bitspin.Stats, (n+tr.rows-1)/tr.rows)
	tr.move = func(piece int) {
		tr.stats[piece] = bitspin.Stats{}
		lo, hi := piece*tr.rows, min(n, (piece+1)*tr.rows)
		tr.kernel.Run(tr.b.Next, tr.b.States, lo, hi, c.Transition.Steps, &tr.stream, 0, &tr.stats[piece])
	}
	return tr, nil
}

// run sets the batch's Next.
func (t *transition) run(b *Batch, step uint32) {
	t.b, t.kernel = b, t.levels[t.config.Transition.Level(step, t.config.Training.Steps)-1]
	t.stream = rng.Stream(t.config.Training.Seed, rng.TrainTransition, step)
	t.workers.Share(len(t.stats), t.move, pool.SpanOf(b.Next, t.rows*b.Words), pool.SpanOf(t.stats, 1))
	t.accepted = bitspin.Stats{}
	for i := range t.stats {
		t.accepted.Add(t.stats[i])
	}
}
