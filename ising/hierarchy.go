package ising

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// largestIrregular is the largest side that is no multiple of four. Such a
// lattice is a graph to the generator, with weights for every site.
const largestIrregular = 16

// network returns the generator that the configuration describes.
func (c *Config) network() (*hierarchy.Model, error) {
	t, g := &c.Target, &c.Generator
	lattice := hierarchy.Square{Side: t.L, J: t.J, Field: t.H, Beta: t.Beta, Neighbours: g.Neighbours, Hidden: g.Units}
	if t.L%4 == 0 {
		return hierarchy.NewSquare(lattice)
	}
	return hierarchy.NewGraph(hierarchy.Graph{Target: lattice.Target(), Neighbours: g.Neighbours, Hidden: 8 * g.Units})
}

// hierarchical is engine.System for a generator with a density. Its loss is
// KL(q‖π), whose gradient E_q[(R − E R) ∇ln q] needs of a sample
//
//	R = ln q(s) + βE(s)
//
// alone: it is exact where R is a constant, and then that is −ln Z.
type hierarchical struct {
	*measured
	net    *hierarchy.Model
	batch  *hierarchy.Batch
	r      []float64 // R of each sample
	weight []float64 // of each sample's ∇ln q
	rate   float64
}

func newHierarchical(c *Config, workers *pool.Pool) (*hierarchical, error) {
	c = conf.Chosen(c)
	m, err := newMeasured(c, workers)
	if err != nil {
		return nil, err
	}
	s := &hierarchical{measured: m, r: make([]float64, c.Training.Batch), weight: make([]float64, c.Training.Batch)}
	if s.net, err = c.network(); err != nil {
		return nil, fmt.Errorf("generator.%w", err)
	}
	if s.batch, err = s.net.NewBatch(c.Training.Batch, c.Training.Seed, workers); err != nil {
		return nil, fmt.Errorf("training.%w", err)
	}
	m.source = func(params []float32) source { return s.newDraws(params) }
	return s, nil
}

// hierarchyDemands bounds the memory of a run.
func (c *Config) hierarchyDemands() []engine.Demand {
	n, spins := float64(c.Training.Batch), float64(c.Target.L*c.Target.L)
	// A word of 64 samples for each spin, the derivatives of the learned ones,
	// and as much again for a sampler's blocks.
	rows := (n + 64*64) * (spins/8 + 4*spins)
	params := 64 * spins // of a lattice that is a graph, and more than of others
	if c.Target.L%4 != 0 {
		params = spins * float64(8*c.Generator.Units*(c.Generator.Neighbours+2))
	}
	return append(c.Training.Demands(int(params)),
		engine.Demand{Key: "training.batch", Bytes: rows},
		engine.Demand{Key: "target.l", Bytes: 4096 * spins})
}

func (s *hierarchical) NumParams() int          { return s.net.NumParams() }
func (s *hierarchical) TensorName(i int) string { return s.net.TensorName(i) }
func (s *hierarchical) Initialize(params []float32) {
	s.net.Initialize(params, s.config.Training.Seed)
}

// Inherit takes the weights of a hierarchy of the same or of half the size.
func (s *hierarchical) Inherit(params []float32, from engine.System, theirs []float32) error {
	other, ok := from.(*hierarchical)
	if !ok {
		return fmt.Errorf("generator.kind: a hierarchy cannot start from a perceptron")
	}
	if left := s.net.Transfer(params, other.net, theirs); left == len(params) {
		return fmt.Errorf("generator: nothing of a hierarchy of %d neighbours and %d units on %d×%d spins fits this one",
			other.config.Generator.Neighbours, other.config.Generator.Units, other.model.L, other.model.L)
	}
	return nil
}

// Generate draws the spins that are learned, and R.
func (s *hierarchical) Generate(params []float32, step uint32) {
	s.batch.SetBeta(s.config.annealed(s.config.annealLevel(step)))
	s.batch.Generate(params, step)
	s.batch.R(s.r)
}

// Transition has nothing to do: with a density, the gradient needs no moves.
func (s *hierarchical) Transition(uint32) {}

// Discrepancy returns KL(q‖π) as the batch estimates it, with its own ln Z.
func (s *hierarchical) Discrepancy(uint32) float64 {
	var mean float64
	for _, r := range s.r {
		mean += r
	}
	n := float64(len(s.r))
	mean /= n
	for i, r := range s.r {
		s.weight[i] = (r - mean) / (n - 1)
	}
	// Independence Metropolis from each sample to the next accepts so many.
	s.rate = 0
	for i, r := range s.r {
		s.rate += math.Exp(min(0, r-s.r[(i+1)%len(s.r)])) / n
	}
	return engine.NewImportance(s.r).KL
}

// Backward sets grad to the gradient of KL(q‖π).
func (s *hierarchical) Backward(_, grad []float32) { s.batch.Backward(grad, s.weight) }

// Acceptance returns the fraction of the batch's samples that independence
// Metropolis would accept as proposals.
func (s *hierarchical) Acceptance() float64 { return s.rate }

// draws is the source of a trained hierarchy.
type draws struct {
	sampler *hierarchy.Sampler
	seed    uint64
	r       []float64
}

func (s *hierarchical) newDraws(params []float32) *draws {
	return &draws{sampler: s.net.NewSampler(params, s.workers), seed: s.config.Training.Seed}
}

func (d *draws) generate(dst []uint64, first uint64) { d.weigh(dst, len(dst)/d.sampler.Words(), first) }

// weigh draws samples, with their spins if dst is not nil, and returns their R.
func (d *draws) weigh(dst []uint64, n int, first uint64) []float64 {
	if len(d.r) < n {
		d.r = make([]float64, n)
	}
	if err := d.sampler.Sample(dst, d.r[:n], d.seed, first); err != nil {
		panic("ising: " + err.Error()) // Reach has been asked
	}
	return d.r[:n]
}

// weighted is the format of samples with their weights.
const weighted = "weighted"

// Formats adds samples with the logarithms of their weights to those of any
// generator.
func (s *hierarchical) Formats() []engine.Format {
	l := s.model.L
	return append(s.measured.Formats(), engine.Format{
		Name: weighted, Descr: fmt.Sprintf("[('spins', '|i1', (%d, %d)), ('log_weight', '<f8')]", l, l), RowBytes: l*l + 8,
		Doc:       "spins ±1 as int8, and ln w = −βE − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
		Unrefined: true,
	})
}

// Sample implements engine.Sampler.
func (s *hierarchical) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if format != weighted {
		return s.measured.Sample(dst, format, params, first, n, refine)
	}
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	if refine > 0 {
		return fmt.Errorf("refine: the density of refined samples is not known, and so are their weights; leave it 0, or take another format")
	}
	spins, sites := make([]uint64, n*s.model.Words), s.model.N
	for i, r := range s.newDraws(params).weigh(spins, n, first) {
		row := dst[i*(sites+8):][:sites+8]
		s.writeSpins(row[:sites], spins[i*s.model.Words:])
		binary.LittleEndian.PutUint64(row[sites:], math.Float64bits(-r))
	}
	return nil
}

// LogDensity sets dst to the exact ln q of packed configurations.
func (s *hierarchical) LogDensity(dst []float64, params []float32, spins []uint64) error {
	if len(spins) != len(dst)*s.model.Words {
		return fmt.Errorf("%d words are not %d configurations of %d", len(spins), len(dst), s.model.Words)
	}
	s.net.NewSampler(params, s.workers).LogDensity(dst, spins)
	return nil
}

// Evaluate adds to the table of any generator what its density says: the
// effective sample size of importance weights, as a fraction of the samples, and
// ln Z and the free energy's −ln Z/N by them beside Kaufman's or the sum over all
// configurations; and KL(q‖π), which needs ln Z alone.
func (s *hierarchical) Evaluate(ctx context.Context, params []float32, samples int) (*engine.Evaluation, error) {
	e, err := s.measured.Evaluate(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	const chunk = 1 << 16
	d := s.newDraws(params)
	r := make([]float64, 0, samples)
	for first := 0; first < samples; first += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r = append(r, d.weigh(nil, min(chunk, samples-first), uint64(first))...)
	}
	logZ, known, err := s.logZ()
	if err != nil {
		return nil, err
	}
	if !known {
		logZ = math.NaN()
	}
	e.Metrics = append(e.Metrics, engine.ImportanceMetrics(r, logZ)...)
	return e, nil
}

// logZ returns the exact ln Z where it is known.
func (s *hierarchical) logZ() (logZ float64, known bool, err error) {
	target := Target{s.model, s.config.Target.Beta}
	if s.model.L <= MaxCounted {
		g, err := CountStates(s.model.L)
		if err != nil {
			return 0, false, err
		}
		return g.Observables(target).LogZ, true, nil
	}
	if s.model.H != 0 {
		return 0, false, nil
	}
	k, err := Kaufman(s.model.L, s.model.J, target.Beta)
	return k.LogZ, err == nil, nil
}

var (
	_ engine.System      = (*hierarchical)(nil)
	_ engine.TensorNamer = (*hierarchical)(nil)
	_ engine.Evaluator   = (*hierarchical)(nil)
	_ engine.Sampler     = (*hierarchical)(nil)
)
