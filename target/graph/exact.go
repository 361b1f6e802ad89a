package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// A reference is what samples are compared with: exact values, or those of
// parallel tempering with their standard errors.
type reference struct {
	spins.Observables
	logZ, logZError float64
	// Standard errors of the observables, 0 if they are exact; that of
	// magnetisations and edgeCorrelations is the mean over spins and edges.
	uncertainty struct {
		energy, specificHeat, absMagnetisation, susceptibility, overlapSquare float64
		magnetisations, edgeCorrelations                                      float64
	}
	states     []float64 // π of all configurations, nil beyond countable spins
	energies   measure.Bins
	energyLaw  []measure.Estimate // probabilities of the measure.Bins
	overlapLaw []measure.Estimate // of overlapBins, nil if they are not known
	label      string             // what it is
	warnings   []string           // that chains do not agree
}

// countable is the largest number of spins whose configurations are listed.
const countable = 20

// overlapBins returns bins of the overlap q = Σ s_i s′_i/n, at most 40 of values
// that lie 2/n apart.
func overlapBins(n int) measure.Bins {
	each := (n + 40) / 40 // values in a bin
	return measure.Bins{Origin: -1 - 1/float64(n), Width: 2 * float64(each) / float64(n), N: n/each + 1}
}

// newReference sums over all configurations where these are few, by a transfer matrix
// where the graph has one of moderate size, and runs parallel tempering otherwise.
func (s *evaluator) newReference(ctx context.Context) (*reference, error) {
	if s.graph.N() > spins.MaxEnumerated {
		m, err := spins.NewTransfer(s.graph)
		if err != nil {
			return s.temper(ctx)
		}
		r, err := s.transfer(ctx, m)
		if errors.Is(err, spins.ErrSpread) {
			return s.temper(ctx)
		}
		return r, err
	}
	beta := s.config.Target.Beta
	e, err := spins.Enumerate(ctx, s.graph, beta, s.workers.Threads())
	if err != nil {
		return nil, err
	}
	r := &reference{Observables: e.Observables, logZ: e.LogZ, label: "exact"}
	levels := [][]float64{e.Law.Energies}
	_, variance := measure.Moments(levels, e.Law.Mass)
	deviation := math.Sqrt(variance.Value)
	r.energies = measure.BinsOf(e.Law.Energies, e.Energy, deviation)
	if e.Law.Width > 0 { // whole bins of the law
		width := e.Law.Width * max(1, math.Round(deviation/4/e.Law.Width))
		r.energies = measure.Bins{Origin: e.GroundEnergy, Width: width, N: int(math.Ceil((e.Energy+5*deviation-e.GroundEnergy)/width)) + 1}
	}
	r.energyLaw = r.energies.Law(levels, e.Law.Mass)
	if s.graph.N() <= countable {
		r.states = probabilities(s.graph, beta, e.LogZ)
		r.overlapLaw = overlaps(r.states, s.graph.N())
	}
	return r, nil
}

// probabilities returns π of all configurations, by their words.
func probabilities(g *spins.Graph, beta, logZ float64) []float64 {
	p := make([]float64, 1<<g.N())
	for i := range p {
		p[i] = math.Exp(-beta*g.Energy([]uint64{uint64(i)}) - logZ)
	}
	return p
}

// overlaps returns the law of the overlap of two independent configurations: the
// product of two has the law of their difference, whose Walsh transform is the
// square of π's.
func overlaps(p []float64, n int) []measure.Estimate {
	x := append([]float64(nil), p...)
	number.WalshHadamard(x)
	for i := range x {
		x[i] *= x[i]
	}
	number.WalshHadamard(x)
	b := overlapBins(n)
	law := make([]measure.Estimate, b.N)
	for i, v := range x {
		q := 1 - 2*float64(bits.OnesCount(uint(i)))/float64(n)
		law[b.Of(q)].Value += max(0, v) / float64(len(p))
	}
	return law
}

// road says in words what the reference of a graph is.
func road(g *spins.Graph) string {
	if g.N() <= spins.MaxEnumerated {
		return fmt.Sprintf("the sum over all 2^%d configurations", g.N())
	}
	m, err := spins.NewTransfer(g)
	if err != nil {
		return fmt.Sprintf("parallel tempering, because %v", err)
	}
	return m.String()
}

// transfer is newReference by a transfer matrix. What is not a sum over
// configurations, the laws of the energy and of the overlap, is that of independent
// draws.
func (s *evaluator) transfer(ctx context.Context, m *spins.Transfer) (*reference, error) {
	const groups, atOnce = 64, 64
	e, err := m.Sum(ctx, s.config.Target.Beta, s.workers.Threads())
	if err != nil {
		return nil, err
	}
	n, words := s.graph.N(), s.graph.Words()
	draws := min(max(1<<25/n, 1<<14), 1<<18) / (2 * groups) * 2 * groups // an overlap takes two
	energies, overlaps := make([]float64, draws), make([]float64, draws/2)
	stream := rng.Stream(s.config.Training.Seed, rng.Reference, 0)
	s.workers.Run(draws/atOnce, func(piece int) {
		if ctx.Err() != nil {
			return
		}
		batch, first := make([]uint64, atOnce*words), piece*atOnce
		e.Draw(batch, stream, uint64(first))
		s.graph.Energies(energies[first:][:atOnce], batch)
		for k := range atOnce / 2 {
			overlaps[first/2+k] = overlap(batch[2*k*words:][:words], batch[(2*k+1)*words:][:words], n)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &reference{Observables: e.Observables, logZ: e.LogZ, label: "exact"}
	r.energies = measure.BinsOf(energies, r.Energy, stat.MeanOf(energies).Deviation())
	r.energyLaw = r.energies.Law(slices.Collect(slices.Chunk(energies, draws/groups)), nil)
	r.overlapLaw = overlapBins(n).Law(slices.Collect(slices.Chunk(overlaps, draws/groups/2)), nil)
	return r, nil
}

// The extent of parallel tempering. A unit of work is a spin or an edge of one
// chain in one round, some 1.5 ns. As long as the chains do not agree there are
// twice as many rounds, up to mostWork.
const (
	leastRounds = 256
	mostRounds  = 1 << 14
	mostWork    = 1 << 34
)

var firstWork = float64(1 << 30) // less in tests

// temper is newReference by parallel tempering.
func (s *evaluator) temper(ctx context.Context) (r *reference, err error) {
	const every = 4                                                  // rounds after which spins and edges are looked at
	round := spins.Lanes * float64(s.graph.N()+len(s.graph.Edges())) // a level's
	first := firstWork / (round * math.Sqrt(float64(s.graph.N())))
	warnings, err := sites.Settle(int(min(max(first, leastRounds), mostRounds)), mostWork, func(rounds int) (work float64, numbers [][][]float64, err error) {
		const kept = 8 + 8 + 4 + 4 // bytes of a chain's round
		if bytes, limit := kept*spins.Lanes*float64(rounds), memory.Limit(); bytes > 0.5*limit {
			return 0, nil, fmt.Errorf("the energies of %d rounds of %d chains take %.3g GiB, and there are %.3g",
				rounds, spins.Lanes, bytes/(1<<30), limit/(1<<30))
		}
		l, err := s.Temper(ctx, rng.OfReference, spins.Lanes, rounds/2)
		if err != nil {
			return 0, nil, err
		}
		c := newChainSums(s.graph)
		logZ, err := l.Measure(ctx, rounds, float64(s.graph.N())*math.Ln2, func(round int) {
			batch, energies := l.Coldest()
			c.add(batch, energies)
			if round%every == every-1 {
				c.correlate(batch)
			}
		})
		if err != nil {
			return 0, nil, err
		}
		r = c.reference(s.config.Target.Beta)
		r.logZ, r.logZError = logZ.Value, logZ.Uncertainty
		return 1.5 * float64(rounds) * float64(len(l.Betas())) * round, [][][]float64{c.energies, c.abs, c.squares}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("parallel tempering: %w", err)
	}
	r.warnings = warnings
	return r, nil
}

// chainSums gather the configurations of the ladders' coldest levels. Ladders are
// independent, so that the scatter of their averages gives standard errors.
type chainSums struct {
	graph             *spins.Graph
	energies, abs     [][]float64 // of each ladder, by round
	overlaps, squares [][]float64 // q and q² of every other ladder with the next
	spins, edges      [][]float64 // Σ s_i and Σ s_i s_j of each ladder
	correlated        float64     // configurations in these sums
}

func newChainSums(g *spins.Graph) *chainSums {
	c := &chainSums{graph: g}
	for _, ladders := range []*[][]float64{&c.energies, &c.abs, &c.spins, &c.edges} {
		*ladders = make([][]float64, spins.Lanes)
	}
	c.overlaps, c.squares = make([][]float64, spins.Lanes/2), make([][]float64, spins.Lanes/2)
	for k := range spins.Lanes {
		c.spins[k], c.edges[k] = make([]float64, g.N()), make([]float64, len(g.Edges()))
	}
	return c
}

func (c *chainSums) add(batch []uint64, energies []float64) {
	words, n := c.graph.Words(), c.graph.N()
	for k, e := range energies {
		config := batch[k*words:][:words]
		c.energies[k] = append(c.energies[k], e)
		c.abs[k] = append(c.abs[k], math.Abs(float64(c.graph.Magnetisation(config)))/float64(n))
		if k%2 == 1 {
			q := overlap(config, batch[(k-1)*words:][:words], n)
			c.overlaps[k/2], c.squares[k/2] = append(c.overlaps[k/2], q), append(c.squares[k/2], q*q)
		}
	}
}

// correlate adds to the sums of spins and edges.
func (c *chainSums) correlate(batch []uint64) {
	words := c.graph.Words()
	for k := range c.spins {
		config := batch[k*words:][:words]
		for i := range c.spins[k] {
			c.spins[k][i] += spins.Spin(config, i)
		}
		for e, edge := range c.graph.Edges() {
			c.edges[k][e] += spins.Spin(config, edge.I) * spins.Spin(config, edge.J)
		}
	}
	c.correlated++
}

// overlap returns Σ s_i s′_i/n.
func overlap(a, b []uint64, n int) float64 {
	differ := 0
	for w, x := range a {
		differ += bits.OnesCount64(x ^ b[w])
	}
	return 1 - 2*float64(differ)/float64(n)
}

// reference summarises the chains.
func (c *chainSums) reference(beta float64) *reference {
	g, n := c.graph, float64(c.graph.N())
	r := &reference{label: "parallel tempering"}
	u := &r.uncertainty
	energy, variance := measure.Moments(c.energies, nil)
	r.Energy, u.energy = energy.Value, energy.Uncertainty
	r.SpecificHeat, u.specificHeat = beta*beta*variance.Value, beta*beta*variance.Uncertainty
	abs, absVariance := measure.Moments(c.abs, nil)
	r.AbsMagnetisation, u.absMagnetisation = abs.Value, abs.Uncertainty
	r.Susceptibility, u.susceptibility = beta*n*absVariance.Value, beta*n*absVariance.Uncertainty
	overlap, _ := measure.Moments(c.squares, nil)
	r.OverlapSquare, u.overlapSquare = overlap.Value, overlap.Uncertainty
	r.Magnetisations, u.magnetisations = measure.Scatters(spins.Lanes, g.N(), func(k, i int) float64 { return c.spins[k][i] / c.correlated })
	r.EdgeCorrelations, u.edgeCorrelations = measure.Scatters(spins.Lanes, len(g.Edges()), func(k, e int) float64 { return c.edges[k][e] / c.correlated })
	if !g.HasFields() {
		clear(r.Magnetisations) // by symmetry
		u.magnetisations = 0
	}
	r.energies = measure.BinsOf(c.energies[0], r.Energy, math.Sqrt(variance.Value))
	r.energyLaw = r.energies.Law(c.energies, nil)
	r.overlapLaw = overlapBins(g.N()).Law(c.overlaps, nil)
	return r
}

// reference returns what samples are compared with, computed once.
func (s *evaluator) reference(ctx context.Context) (*reference, error) {
	return s.referenceCache.Get(func() (*reference, error) { return s.newReference(ctx) })
}
