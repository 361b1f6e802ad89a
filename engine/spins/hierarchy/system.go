package hierarchy

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// A System is engine.System for a generator with a density, for systems to
// embed. With
//
//	R = ln q(s) + βE(s),
//
// a constant where q = π, the loss Divergence is KL(q‖π), whose gradient is
// E_q[(R − E R) ∇ln q], or in the last steps, of which Loss says how many, KL(π‖q),
// and the loss Balance E ½(R(s) − R(s′))² over the moves of the transition, how far it
// violates detailed balance (Pairs).
type System struct {
	net        *Model
	training   *engine.Training
	config     *spins.TransitionConfig
	workers    *pool.Pool
	batch      *Batch
	divergence *engine.Divergence

	pairs        *Pairs    // nil for the divergence
	coefficients []float64 // of the pairs
}

// The losses of a generator with a density.
const (
	Divergence = "divergence"
	Balance    = "balance"
)

// A Loss is one of the losses.
type Loss struct {
	Kind    string
	Forward float64 // fraction of the steps, the last ones, in which Divergence is KL(π‖q)
}

// NewSystem returns the system of a model whose batch is that of the training, with
// a loss and the transition of the target.
func NewSystem(m *Model, t *engine.Training, loss Loss, c *spins.TransitionConfig, target spins.Moving, workers *pool.Pool) (*System, error) {
	s := &System{net: m, training: t, config: c, workers: workers, divergence: engine.NewDivergence(t, loss.Forward)}
	var err error
	if s.batch, err = m.NewBatch(t.Batch, t.Seed, workers); err != nil {
		return nil, fmt.Errorf("training.%w", err)
	}
	if loss.Kind != Balance {
		return s, nil
	}
	transition, err := spins.NewTransition(c, t, target, (m.Spins()+63)/64, workers)
	if err != nil {
		return nil, err
	}
	s.coefficients = make([]float64, t.Batch)
	s.pairs, err = m.NewPairs(s.batch, transition)
	return s, err
}

// Demands bounds the memory of a system and its evaluation, for a model of at
// most params parameters.
func Demands(t *engine.Training, loss string, spins, params float64) []engine.Demand {
	// A word of 64 samples for each spin, the derivatives of the learned ones,
	// and as much again for a sampler's blocks.
	rows := (float64(t.Batch) + 64*64) * (spins/8 + 4*spins)
	if loss == Balance { // s′ too, and both packed
		rows = 2*rows + float64(t.Batch)*(spins/4+64)
	}
	return append(t.Demands(int(params)), engine.Demand{Key: "training.batch", Bytes: rows})
}

// Validate reports the first value of a run's training and loss that a system cannot
// use, by its key.
func Validate(t *engine.Training, loss Loss) error {
	switch {
	case t.Method != "gradient":
		return fmt.Errorf("training.method: a hierarchy is trained by the gradient; set it to gradient")
	case t.Batch%block != 0 || t.Batch > MaxBatch:
		return fmt.Errorf("training.batch: a hierarchy draws %d samples at once; %d is not a multiple of %d up to %d", block, t.Batch, block, MaxBatch)
	}
	return conf.Fraction("loss.forward", loss.Forward)
}

// Model returns the architecture.
func (s *System) Model() *Model { return s.net }

// NumParams implements engine.System.
func (s *System) NumParams() int { return s.net.NumParams() }

// TensorName implements engine.TensorNamer.
func (s *System) TensorName(i int) string { return s.net.TensorName(i) }

// Initialize implements engine.System.
func (s *System) Initialize(params []float32) { s.net.Initialize(params, s.training.Seed) }

func (s *System) hierarchy() *System { return s }

// Inherit implements engine.Heir: it takes the weights of a hierarchy of the same
// or of half the size.
func (s *System) Inherit(params []float32, from engine.System, theirs []float32) error {
	h, ok := from.(interface{ hierarchy() *System })
	if !ok {
		return fmt.Errorf("generator.kind: a hierarchy cannot start from a perceptron")
	}
	other := h.hierarchy()
	if left := s.net.Transfer(params, other.net, theirs); left == len(s.net.units) {
		return fmt.Errorf("generator: nothing of a hierarchy of %d parameters on %d spins fits this one", other.NumParams(), other.net.Spins())
	}
	return nil
}

// Generate draws the spins that are learned, and R.
func (s *System) Generate(params []float32, step uint32) {
	s.batch.SetBeta(s.net.target.Beta * s.config.Fraction(s.config.Level(step, s.training.Steps)))
	s.batch.Generate(params, step)
	s.batch.R(s.divergence.R)
}

// Transition draws s′ for pairs. The divergence needs no moves.
func (s *System) Transition(step uint32) {
	if s.pairs != nil {
		s.pairs.Move(step)
	}
}

// Discrepancy returns KL(q‖π) as the batch estimates it, with its own ln Z, whichever
// of the two divergences Backward differentiates, or the mean of ½(R(s) − R(s′))².
func (s *System) Discrepancy(step uint32) (loss float64) {
	if s.pairs == nil {
		return s.divergence.Measure(step)
	}
	n := float64(len(s.coefficients))
	for i, d := range s.pairs.Differences {
		loss += d * d / (2 * n)
		s.coefficients[i] = d / n
	}
	return loss
}

// Backward sets grad to the loss's gradient.
func (s *System) Backward(_, grad []float32) {
	if s.pairs == nil {
		s.batch.Backward(grad, s.divergence.Weight)
	} else {
		s.pairs.Backward(grad, s.coefficients)
	}
}

// Acceptance returns the fraction of the transition's proposals that were accepted;
// of the divergence, which has none, the fraction of the batch's samples that
// independence Metropolis would accept.
func (s *System) Acceptance() float64 {
	if s.pairs != nil {
		return s.pairs.transition.Acceptance()
	}
	return s.divergence.Rate
}

// Draws are the samples of a trained generator that belong to the seed of its
// training.
type Draws struct {
	sampler *Sampler
	seed    uint64
	r       []float64
}

// NewDraws returns the samples of the generator with the given parameters.
func (s *System) NewDraws(params []float32) *Draws {
	return &Draws{sampler: s.net.NewSampler(params, s.workers), seed: s.training.Seed}
}

// Generate fills dst with samples first, first+1, …, which must be among the
// MaxSamples of a seed.
func (d *Draws) Generate(dst []uint64, first uint64) { d.Weigh(dst, len(dst)/d.sampler.Words(), first) }

// Weigh implements spins.Weighed.
func (d *Draws) Weigh(dst []uint64, n int, first uint64) []float64 {
	if len(d.r) < n {
		d.r = make([]float64, n)
	}
	if err := d.sampler.Sample(dst, d.r[:n], d.seed, first); err != nil {
		panic(err.Error())
	}
	return d.r[:n]
}

// Weigher is that of a spins.Ensemble.
func (s *System) Weigher(params []float32) func(dst []float64, batch []uint64) {
	sampler := s.net.NewSampler(params, s.workers)
	return func(dst []float64, batch []uint64) {
		sampler.R(dst, batch)
		for i := range dst {
			dst[i] = -dst[i]
		}
	}
}

// Reweigh adds to a table of samples of the generator what its density says: the rows
// of engine.ImportanceMetrics, and energy, |m|, specific heat and susceptibility by
// weights in the rows of these names.
func (s *System) Reweigh(ctx context.Context, params []float32, e *engine.Evaluation, logZ float64) error {
	const atOnce = 1 << 14
	d, sites, words := s.NewDraws(params), s.net.Spins(), (s.net.Spins()+63)/64
	batch := make([]uint64, min(atOnce, e.Samples)*words)
	r, energies, abs := make([]float64, e.Samples), make([]float64, e.Samples), make([]float64, e.Samples)
	for first := 0; first < e.Samples; first += atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(atOnce, e.Samples-first)
		part := batch[:n*words]
		copy(r[first:], d.Weigh(part, n, uint64(first)))
		s.net.Energies(energies[first:first+n], part)
		for i := range n {
			up := 0
			for _, word := range part[i*words : (i+1)*words] {
				up += bits.OnesCount64(word)
			}
			abs[first+i] = math.Abs(float64(2*up-sites)) / float64(sites)
		}
	}
	weights, beta := engine.NewReweighing(r), s.net.target.Beta
	e.Weights = &weights.Weights
	for i := range e.Metrics {
		m, scale := &e.Metrics[i], 1.0
		var value, standardError float64
		switch m.Name {
		case "energy":
			value, standardError = weights.Mean(energies)
		case "abs_magnetisation":
			value, standardError = weights.Mean(abs)
		case "specific_heat":
			value, standardError = weights.Variance(energies)
			scale = beta * beta
		case "susceptibility":
			value, standardError = weights.Variance(abs)
			scale = beta * float64(sites)
		default:
			continue
		}
		m.Reweigh(scale*value, scale*standardError)
	}
	e.Metrics = append(e.Metrics, engine.ImportanceMetrics(r, logZ)...)
	return nil
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
	_ engine.Heir           = (*System)(nil)
	_ spins.Weighed         = (*Draws)(nil)
)
