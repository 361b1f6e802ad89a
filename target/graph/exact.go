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

// A reference holds the values that samples are compared with: exact ones, or those of parallel
// tempering with their standard errors.
type reference struct {
	spins.Observables
	logZ, logZError float64
	// Standard errors of the observables, 0 if they are exact. Those of magnetisations and
	// edgeCorrelations are means over spins and edges.
	uncertainty struct {
		energy, specificHeat, absMagnetisation, susceptibility, overlapSquare float64
		magnetisations, edgeCorrelations                                      float64
	}
	states     []float64          // π of all configurations, nil beyond maxListedSpins
	energies   measure.Bins       // of the energy
	energyLaw  []measure.Estimate // probabilities of energies
	overlapLaw []measure.Estimate // probabilities of overlapBins, nil if they are not known
	label      string             // where the values come from
	warnings   []string           // that chains do not agree
}

// maxListedSpins is the largest number of spins whose configurations are listed.
const maxListedSpins = 20

// overlapBins returns at most 40 bins of the overlap q = Σ s_i s′_i/n, whose values are 2/n apart.
func overlapBins(n int) measure.Bins {
	values := (n + 40) / 40 // in a bin
	return measure.Bins{Origin: -1 - 1/float64(n), Width: 2 * float64(values) / float64(n), N: n/values + 1}
}

// newReference sums over all configurations if these are few, or by a transfer matrix if the graph has
// one of moderate size. Otherwise it runs parallel tempering.
func (s *evaluator) newReference(ctx context.Context) (*reference, error) {
	if s.graph.N() > spins.MaxEnumerated {
		m, err := spins.NewTransfer(s.graph)
		if err != nil {
			return s.temperingReference(ctx)
		}
		r, err := s.transferReference(ctx, m)
		if errors.Is(err, spins.ErrSpread) {
			return s.temperingReference(ctx)
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
	if e.Law.Width > 0 { // bins of the figure are made of whole bins of the law
		width := e.Law.Width * max(1, math.Round(deviation/4/e.Law.Width))
		r.energies = measure.Bins{Origin: e.GroundEnergy, Width: width, N: int(math.Ceil((e.Energy+5*deviation-e.GroundEnergy)/width)) + 1}
	}
	r.energyLaw = r.energies.Law(levels, e.Law.Mass)
	if s.graph.N() <= maxListedSpins {
		r.states = probabilities(s.graph, beta, e.LogZ)
		r.overlapLaw = exactOverlapLaw(r.states, s.graph.N())
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

// exactOverlapLaw returns the law of the overlap of two independent configurations. The law of their
// XOR is the convolution of π with itself, whose Walsh–Hadamard transform is the square of that of π.
func exactOverlapLaw(p []float64, n int) []measure.Estimate {
	xor := slices.Clone(p)
	number.WalshHadamard(xor)
	for i := range xor {
		xor[i] *= xor[i]
	}
	number.WalshHadamard(xor)
	b := overlapBins(n)
	law := make([]measure.Estimate, b.N)
	for i, v := range xor {
		q := 1 - 2*float64(bits.OnesCount(uint(i)))/float64(n)
		law[b.Of(q)].Value += max(0, v) / float64(len(p))
	}
	return law
}

// describeReference says where the values of a graph's reference come from.
func describeReference(g *spins.Graph) string {
	if g.N() <= spins.MaxEnumerated {
		return fmt.Sprintf("the sum over all 2^%d configurations", g.N())
	}
	m, err := spins.NewTransfer(g)
	if err != nil {
		return fmt.Sprintf("parallel tempering, because %v", err)
	}
	return m.String()
}

// transferReference is newReference by a transfer matrix, which gives the observables and independent
// draws. The laws of the energy and of the overlap are those of the draws.
func (s *evaluator) transferReference(ctx context.Context, m *spins.Transfer) (*reference, error) {
	const groups, pieceDraws = 64, 64
	e, err := m.Sum(ctx, s.config.Target.Beta, s.workers.Threads())
	if err != nil {
		return nil, err
	}
	n, words := s.graph.N(), s.graph.Words()
	draws := min(max(1<<25/n, 1<<14), 1<<18) / (2 * groups) * 2 * groups // an overlap takes two
	energies, overlaps := make([]float64, draws), make([]float64, draws/2)
	stream := rng.Stream(s.config.Training.Seed, rng.Reference, 0)
	s.workers.Run(draws/pieceDraws, func(piece int) {
		if ctx.Err() != nil {
			return
		}
		batch, first := make([]uint64, pieceDraws*words), piece*pieceDraws
		e.Draw(batch, stream, uint64(first))
		s.graph.Energies(energies[first:][:pieceDraws], batch)
		for k := range pieceDraws / 2 {
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

// A unit of work of parallel tempering is a spin or an edge of one chain in one round, some 1.5 ns. As
// long as the chains do not agree, the number of rounds doubles, up to maxWork.
const (
	minRounds = 256     // of the first run
	maxRounds = 1 << 14 // of the first run
	maxWork   = 1 << 34
)

var firstWork = float64(1 << 30) // of the first run; less in tests

// temperingReference is newReference by parallel tempering.
func (s *evaluator) temperingReference(ctx context.Context) (r *reference, err error) {
	const correlatedEvery = 4                                                // rounds
	levelWork := spins.Lanes * float64(s.graph.N()+len(s.graph.Edges()))     // of a level in a round
	firstRounds := firstWork / (levelWork * math.Sqrt(float64(s.graph.N()))) // for some √N levels
	warnings, err := sites.Settle(int(min(max(firstRounds, minRounds), maxRounds)), maxWork, func(rounds int) (work float64, values [][][]float64, err error) {
		const roundBytes = 8 + 8 + 4 + 4 // of a chain: energy, |m|, and half of q and q²
		if bytes, limit := roundBytes*spins.Lanes*float64(rounds), memory.Limit(); bytes > 0.5*limit {
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
			if round%correlatedEvery == correlatedEvery-1 {
				c.correlate(batch)
			}
		})
		if err != nil {
			return 0, nil, err
		}
		r = c.reference(s.config.Target.Beta)
		r.logZ, r.logZError = logZ.Value, logZ.Uncertainty
		return 1.5 * float64(rounds) * float64(len(l.Betas())) * levelWork, [][][]float64{c.energies, c.abs, c.squares}, nil
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
	energies, abs     [][]float64 // E and |m| of each ladder, by round
	overlaps, squares [][]float64 // q and q² of each pair of ladders, by round
	spins, edges      [][]float64 // Σ s_i and Σ s_i s_j of each ladder
	correlated        float64     // number of configurations in spins and edges
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

// add adds a round, but for the sums of spins and edges.
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

// correlate adds a round to the sums of spins and edges.
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
	unequal := 0
	for w, x := range a {
		unequal += bits.OnesCount64(x ^ b[w])
	}
	return 1 - 2*float64(unequal)/float64(n)
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
