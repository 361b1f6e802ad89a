package graph

import (
	"context"
	"errors"
	"fmt"
	"github.com/revgen/revgen/engine/measure"
	"math"
	"math/bits"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
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
	states          []float64 // π of all configurations, nil beyond countable spins
	energies        measure.Bins
	energyLaw       []measure.Estimate // probabilities of the measure.Bins
	overlapLaw      []measure.Estimate // of overlapBins, nil if they are not known
	sampled         bool
	warnings        []string
	energyDeviation float64 // of a single configuration
}

// countable is the largest number of spins whose configurations are listed.
const countable = 20

// energyBins returns bins of about a quarter of a standard deviation that no
// energy of a graph of integers lies at the edge of; one is a possible energy,
// and least the smallest there may be.
func energyBins(g *spins.Graph, one, mean, deviation, least float64) measure.Bins {
	const perDeviation, reach = 4, 5
	width := deviation / perDeviation
	low := max(mean-reach*deviation, least)
	if g.Integer() {
		// Energies differ by multiples of 2.
		width = 2 * max(1, math.Round(width/2))
		low = one - 2*math.Round((one-low)/2) - 1
	}
	if width == 0 {
		width = 1
	}
	return measure.Bins{Origin: low, Width: width, N: int(math.Ceil((mean+reach*deviation-low)/width)) + 1}
}

// overlapBins returns bins of the overlap q = Σ s_i s′_i/n, at most 40 of values
// that lie 2/n apart.
func overlapBins(n int) measure.Bins {
	each := (n + 40) / 40 // values in a bin
	return measure.Bins{Origin: -1 - 1/float64(n), Width: 2 * float64(each) / float64(n), N: n/each + 1}
}

// newReference sums over all configurations where these are few, by a transfer matrix
// where the graph has one of moderate size, and runs parallel tempering otherwise.
func (s *measured) newReference(ctx context.Context) (*reference, error) {
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
	r := &reference{Observables: e.Observables, logZ: e.LogZ}
	for k, x := range e.Law.Energies {
		d := x - e.Energy
		r.energyDeviation += e.Law.Mass[k] * d * d
	}
	r.energyDeviation = math.Sqrt(r.energyDeviation)
	r.energies = energyBins(s.graph, e.GroundEnergy, e.Energy, r.energyDeviation, e.GroundEnergy)
	if !s.graph.Integer() && e.Law.Width > 0 {
		// Whole bins of the law.
		r.energies.Width = e.Law.Width * max(1, math.Round(r.energies.Width/e.Law.Width))
		r.energies.Origin = e.GroundEnergy
		r.energies.N = int(math.Ceil((e.Energy+5*r.energyDeviation-e.GroundEnergy)/r.energies.Width)) + 1
	}
	r.energyLaw = make([]measure.Estimate, r.energies.N)
	for k, x := range e.Law.Energies {
		r.energyLaw[r.energies.Of(x)].Value += e.Law.Mass[k]
	}
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
func (s *measured) transfer(ctx context.Context, m *spins.Transfer) (*reference, error) {
	const columns, atOnce = spins.Lanes, 64
	e, err := m.Sum(ctx, s.config.Target.Beta, s.workers.Threads())
	if err != nil {
		return nil, err
	}
	n, words := s.graph.N(), s.graph.Words()
	rows := min(max(1<<25/n, 1<<14), 1<<18) / columns
	energies, overlaps := make([]float64, rows*columns), make([]float64, rows*columns/2)
	stream := rng.Stream(s.config.Training.Seed, rng.Reference, 0)
	s.workers.Run(rows*columns/atOnce, func(piece int) {
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
	r := &reference{Observables: e.Observables, logZ: e.LogZ}
	var moments stat.Mean
	for _, x := range energies {
		moments.Add(x)
	}
	r.energyDeviation = moments.Deviation()
	r.energies = energyBins(s.graph, energies[0], r.Energy, r.energyDeviation, math.Inf(-1))
	r.energyLaw = histogram(r.energies, rows, columns, func(t, k int) float64 { return energies[t*columns+k] })
	r.overlapLaw = histogram(overlapBins(n), rows/2, columns, func(t, k int) float64 { return overlaps[t*columns+k] })
	return r, nil
}

// The extent of parallel tempering. A unit of work is a spin or an edge of one
// chain in one round, some 1.5 ns. As long as the chains do not agree there are
// twice as many rounds, up to mostWork.
const (
	leastRounds = 256
	mostRounds  = 1 << 14
	mostWork    = 1 << 34
	agreement   = 1.01 // R̂ of chains that agree
)

var firstWork = float64(1 << 30) // less in tests

// temper is newReference by parallel tempering.
func (s *measured) temper(ctx context.Context) (*reference, error) {
	beta := s.config.Target.Beta
	round := spins.Lanes * float64(s.graph.N()+len(s.graph.Edges())) // a level's
	first := firstWork / (round * math.Sqrt(float64(s.graph.N())))
	for rounds := int(min(max(first, leastRounds), mostRounds)); ; rounds *= 2 {
		t := spins.Tempering{
			Beta: beta, Sets: 1, BurnIn: rounds / 2, Rounds: rounds, Every: 4,
			Threads: s.workers.Threads(), Stream: rng.Stream(s.config.Training.Seed, rng.Reference, 0),
		}
		c := &chainSums{graph: s.graph, spins: make([][spins.Lanes]float64, s.graph.N()), edges: make([][spins.Lanes]float64, len(s.graph.Edges()))}
		out, err := t.Run(ctx, s.graph, c.add)
		if err != nil {
			return nil, fmt.Errorf("parallel tempering: %w", err)
		}
		worst := max(out.Energy.RHat, out.AbsMagnetisation.RHat, out.OverlapSquare.RHat)
		work := 1.5 * float64(rounds) * float64(out.Levels) * round
		if worst > agreement && 2*work <= mostWork {
			continue
		}
		r := c.reference(s.graph, beta, out)
		if worst > agreement {
			r.warnings = append(r.warnings, fmt.Sprintf("the reference has not converged: after %d rounds of parallel tempering R̂ is %.3f, so its standard errors are too small", rounds, worst))
		}
		return r, nil
	}
}

// chainSums gather the configurations of the ladders' coldest levels. Ladders are
// independent, so that the scatter of their averages gives standard errors.
type chainSums struct {
	graph    *spins.Graph
	rounds   int
	energies [][spins.Lanes]float64
	abs      [][spins.Lanes]float64
	overlaps [][spins.Lanes / 2]float64
	spins    [][spins.Lanes]float64 // Σ s_i of each ladder
	edges    [][spins.Lanes]float64
}

func (c *chainSums) add(batch []uint64) {
	g := c.graph
	words, n := g.Words(), float64(g.N())
	var energies, abs [spins.Lanes]float64
	var overlaps [spins.Lanes / 2]float64
	g.Energies(energies[:], batch)
	for k := range abs {
		config := batch[k*words:][:words]
		abs[k] = math.Abs(float64(g.Magnetisation(config))) / n
		if k%2 == 1 {
			overlaps[k/2] = overlap(config, batch[(k-1)*words:][:words], g.N())
		}
		for i := range c.spins {
			c.spins[i][k] += spins.Spin(config, i)
		}
		for e, edge := range g.Edges() {
			c.edges[e][k] += spins.Spin(config, edge.I) * spins.Spin(config, edge.J)
		}
	}
	c.energies, c.abs, c.overlaps = append(c.energies, energies), append(c.abs, abs), append(c.overlaps, overlaps)
	c.rounds++
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
func (c *chainSums) reference(g *spins.Graph, beta float64, out *spins.Tempered) *reference {
	r := &reference{logZ: out.LogZ, logZError: out.LogZError, sampled: true}
	r.Magnetisations, r.EdgeCorrelations = make([]float64, g.N()), make([]float64, len(g.Edges()))
	r.Energy, r.AbsMagnetisation, r.OverlapSquare = out.Energy.Mean, out.AbsMagnetisation.Mean, out.OverlapSquare.Mean
	u := &r.uncertainty
	u.energy, u.absMagnetisation, u.overlapSquare = out.Energy.StandardError, out.AbsMagnetisation.StandardError, out.OverlapSquare.StandardError
	variance := func(x [][spins.Lanes]float64) (value, standardError float64) {
		var all stat.Mean
		for i := range x {
			for _, v := range x[i] {
				all.Add(v)
			}
		}
		mean := all.Value()
		return scatter(len(x), func(t, k int) float64 { return (x[t][k] - mean) * (x[t][k] - mean) })
	}
	n := float64(g.N())
	energyVariance, e := variance(c.energies)
	r.SpecificHeat, u.specificHeat = beta*beta*energyVariance, beta*beta*e
	absVariance, e := variance(c.abs)
	r.Susceptibility, u.susceptibility = beta*n*absVariance, beta*n*e
	r.energyDeviation = math.Sqrt(energyVariance)
	each := func(dst []float64, sums [][spins.Lanes]float64) (mean float64) {
		for i := range sums {
			var of float64
			dst[i], of = scatter(1, func(_, k int) float64 { return sums[i][k] / float64(c.rounds) })
			mean += of / float64(len(sums))
		}
		return mean
	}
	u.magnetisations = each(r.Magnetisations, c.spins)
	u.edgeCorrelations = each(r.EdgeCorrelations, c.edges)
	if !g.HasFields() {
		clear(r.Magnetisations) // by symmetry
		u.magnetisations = 0
	}
	r.energies = energyBins(g, c.energies[0][0], r.Energy, r.energyDeviation, math.Inf(-1))
	r.energyLaw = histogram(r.energies, len(c.energies), spins.Lanes, func(t, k int) float64 { return c.energies[t][k] })
	r.overlapLaw = histogram(overlapBins(g.N()), len(c.overlaps), spins.Lanes/2, func(t, k int) float64 { return c.overlaps[t][k] })
	return r
}

// scatter returns the mean of a number over rounds and ladders, and its standard
// error by the ladders' scatter.
func scatter(rounds int, of func(t, k int) float64) (value, standardError float64) {
	var all stat.Mean
	for k := range spins.Lanes {
		var sum float64
		for t := range rounds {
			sum += of(t, k)
		}
		all.Add(sum / float64(rounds))
	}
	return all.Value(), all.StandardError()
}

// histogram returns the probabilities of measure.Bins, with standard errors by the
// scatter of the columns.
func histogram(b measure.Bins, rows, columns int, of func(t, k int) float64) []measure.Estimate {
	moments := make([]stat.Mean, b.N)
	counts := make([]float64, b.N)
	for k := range columns {
		clear(counts)
		for t := range rows {
			counts[b.Of(of(t, k))]++
		}
		for i, x := range counts {
			moments[i].Add(x / float64(rows))
		}
	}
	law := make([]measure.Estimate, b.N)
	for i := range law {
		law[i] = measure.Estimate{Value: moments[i].Value(), Uncertainty: moments[i].StandardError()}
	}
	return law
}

// reference returns what samples are compared with, computed once.
func (s *measured) reference(ctx context.Context) (*reference, error) {
	return s.exact.Get(func() (*reference, error) { return s.newReference(ctx) })
}
