package spins

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/internal/pool"
)

// MaxEnumerated is the largest number of spins whose configurations are
// enumerated.
const MaxEnumerated = 25

// Exact is what a sum over all configurations gives.
type Exact struct {
	LogZ         float64 // ln Σ_s e^(−βE(s))
	GroundEnergy float64 // the least E, with the offset
	Observables
	Law Law
}

// A Law is the distribution of the energy. Where all couplings and fields are
// integers and there are not too many levels, it is that; otherwise energies
// fall into bins of equal width.
type Law struct {
	Energies []float64 // levels, or the mean energies of bins, ascending
	Mass     []float64 // probabilities
	Width    float64   // of the bins; 0 for levels
}

const (
	mostLevels = 1 << 14
	lawBins    = 1 << 12
	pieceSpins = 17 // of a piece of the enumeration, at most
)

// Enumerate sums over all configurations of at most MaxEnumerated spins at
// inverse temperature beta ≥ 0. The result is the same bits for any number of
// threads, of which 0 means all. The error is ctx's or says what is wrong.
//
// Configurations follow each other in the order of a Gray code, by one flip at a
// time, which changes the fields of the others. With W_t the sum of the weights
// before step t, which flips spin i, summation by parts gives correlations
//
//	Σ_t w_t s_i s_j = W s_i s_j (last) − Σ_flips 2 W_t s_i s_j (flipped)
//
// at one operation for each other spin. Weights are relative to that of the
// ground state, which a first pass finds.
func Enumerate(ctx context.Context, g *Graph, beta float64, threads int) (*Exact, error) {
	n := g.N()
	if n > MaxEnumerated {
		return nil, fmt.Errorf("%d spins are too many to enumerate; at most %d can be", n, MaxEnumerated)
	}
	if err := g.CheckTemperature(beta); err != nil {
		return nil, err
	}
	low := min(n, max(10, n-8), pieceSpins)
	e := &enumeration{graph: g, beta: beta, low: low, pieces: make([]enumerationPiece, 1<<(n-low))}
	for _, edge := range g.Edges() {
		e.twice[edge.I][edge.J], e.twice[edge.J][edge.I] = 2*edge.Coupling, 2*edge.Coupling
	}
	workers := pool.New(threads)
	defer workers.Close()
	run := func(body func(p *enumerationPiece, w *walk)) error {
		workers.Run(len(e.pieces), func(piece int) {
			if ctx.Err() == nil {
				body(&e.pieces[piece], e.start(piece))
			}
		})
		return ctx.Err()
	}
	if err := run(e.bound); err != nil {
		return nil, err
	}
	least, largest := math.Inf(1), math.Inf(-1)
	for i := range e.pieces {
		least, largest = min(least, e.pieces[i].least), max(largest, e.pieces[i].largest)
	}
	e.least = least
	e.width, e.bins = 2, int((largest-least)/2)+1
	// An integer graph's energies differ by multiples of 2.
	if e.levels = g.integer && largest-least < 2*mostLevels; !e.levels {
		e.bins, e.width = lawBins, max(largest-least, math.SmallestNonzeroFloat64*lawBins)/lawBins
	}
	if err := run(e.sum); err != nil {
		return nil, err
	}
	return e.result(), nil
}

// An enumeration is one under way. Energies are without offset.
type enumeration struct {
	graph  *Graph
	beta   float64
	low    int                                   // spins that flip within a piece, the first
	twice  [MaxEnumerated][MaxEnumerated]float64 // 2 J
	pieces []enumerationPiece

	least, width float64
	bins         int
	levels       bool
}

type enumerationPiece struct {
	least, largest float64

	weight, energy, square float64 // Σ w, Σ w (E − least), Σ w (E − least)²
	up                     [MaxEnumerated + 1]float64
	spins                  [MaxEnumerated]float64
	pairs                  [MaxEnumerated][MaxEnumerated]float64 // both [i][j] and [j][i] have parts
	states                 []float64                             // configurations in each bin
	mass, binEnergy        []float64                             // of these, nil of levels
}

// A walk is at one configuration.
type walk struct {
	*enumeration
	energy float64
	up     int
	spin   [MaxEnumerated]float64
	field  [MaxEnumerated]float64
}

// start returns the first configuration of a piece: the last spins are up as
// the bits of its number are, the others down.
func (e *enumeration) start(piece int) *walk {
	w := &walk{enumeration: e}
	n := e.graph.N()
	config := make([]uint64, 1)
	for k := range n {
		w.spin[k] = -1
		if k >= e.low && piece>>(k-e.low)&1 != 0 {
			w.spin[k] = 1
			w.up++
			config[0] |= 1 << k
		}
	}
	var sum float64
	for i := range n {
		w.field[i] = e.graph.LocalField(config, i)
		sum += w.spin[i] * (w.field[i] + e.graph.Field(i))
	}
	w.energy = -sum / 2
	return w
}

// flip turns one spin over.
func (w *walk) flip(k int) {
	s := w.spin[k]
	w.energy += 2 * s * w.field[k]
	w.up -= int(s)
	w.spin[k] = -s
	for j, c := range w.twice[k][:w.graph.N()] {
		w.field[j] -= s * c
	}
}

// steps calls visit with every configuration of a piece, and between them before
// with the spin that flips next.
func (w *walk) steps(visit func(), before func(k int)) {
	visit()
	for t := 1; t < 1<<w.low; t++ {
		k := bits.TrailingZeros(uint(t))
		before(k)
		w.flip(k)
		visit()
	}
}

// bound finds the range of the energies.
func (e *enumeration) bound(p *enumerationPiece, w *walk) {
	p.least, p.largest = math.Inf(1), math.Inf(-1)
	w.steps(func() { p.least, p.largest = min(p.least, w.energy), max(p.largest, w.energy) }, func(int) {})
}

// sum makes all sums over a piece.
func (e *enumeration) sum(p *enumerationPiece, w *walk) {
	n := e.graph.N()
	p.states = make([]float64, e.bins)
	if !e.levels {
		p.mass, p.binEnergy = make([]float64, e.bins), make([]float64, e.bins)
	}
	w.steps(func() {
		above := w.energy - e.least
		weight := math.Exp(-e.beta * above)
		p.weight += weight
		p.energy += weight * above
		p.square += weight * above * above
		p.up[w.up] += weight
		bin := min(int(above/e.width), e.bins-1)
		p.states[bin]++
		if !e.levels {
			p.mass[bin] += weight
			p.binEnergy[bin] += weight * above
		}
	}, func(k int) {
		c := 2 * p.weight * w.spin[k] // less 2 W times the flipped spin
		p.spins[k] += c
		row := p.pairs[k][:n]
		for j, s := range w.spin[:n] {
			row[j] += c * s
		}
	})
	for i, s := range w.spin[:n] {
		p.spins[i] += p.weight * s
		for j, r := range w.spin[:i] {
			p.pairs[i][j] += p.weight * s * r
		}
	}
}

// result adds the pieces up, in order.
func (e *enumeration) result() *Exact {
	n := e.graph.N()
	all := &e.pieces[0]
	for k := range e.pieces[1:] {
		p := &e.pieces[k+1]
		all.weight += p.weight
		all.energy += p.energy
		all.square += p.square
		floats.Add(all.up[:], p.up[:])
		floats.Add(all.spins[:], p.spins[:])
		for i := range all.pairs {
			floats.Add(all.pairs[i][:], p.pairs[i][:])
		}
		floats.Add(all.states, p.states)
		floats.Add(all.mass, p.mass)
		floats.Add(all.binEnergy, p.binEnergy)
	}
	offset := e.graph.Offset()
	mean := all.energy / all.weight
	abs, absVariance := absMoments(all.up[:n+1])
	result := &Exact{
		LogZ:         math.Log(all.weight) - e.beta*(e.least+offset),
		GroundEnergy: e.least + offset,
		Observables: Observables{
			Energy: e.least + mean + offset,
			// The ground state is subtracted, so nothing cancels at low temperatures.
			SpecificHeat:     e.beta * e.beta * max(0, all.square/all.weight-mean*mean),
			AbsMagnetisation: abs, Susceptibility: e.beta * float64(n) * absVariance,
			Magnetisations: make([]float64, n),
		},
	}
	correlation := func(i, j int) float64 {
		return (all.pairs[i][j] + all.pairs[j][i]) / all.weight
	}
	var overlap float64
	for i := range n {
		// Without fields the sums are rounding.
		if e.graph.HasFields() {
			result.Magnetisations[i] = all.spins[i] / all.weight
		}
		for j := range i {
			c := correlation(i, j)
			overlap += 2 * c * c
		}
	}
	result.OverlapSquare = (overlap + float64(n)) / float64(n*n)
	for _, edge := range e.graph.Edges() {
		result.EdgeCorrelations = append(result.EdgeCorrelations, correlation(edge.I, edge.J))
	}
	result.Law = e.law(all, offset)
	return result
}

func (e *enumeration) law(all *enumerationPiece, offset float64) (l Law) {
	if !e.levels {
		l.Width = e.width
	}
	for k, states := range all.states {
		if states == 0 {
			continue
		}
		above := 2 * float64(k)
		mass := states * math.Exp(-e.beta*above)
		if !e.levels {
			mass, above = all.mass[k], (float64(k)+0.5)*e.width
			if mass > 0 {
				above = all.binEnergy[k] / mass
			}
		}
		l.Energies = append(l.Energies, e.least+above+offset)
		l.Mass = append(l.Mass, mass/all.weight)
	}
	return l
}
