package spins

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// MaxEnumerated is the largest number of spins whose configurations are
// enumerated.
const MaxEnumerated = 25

// Exact is the result of Enumerate.
type Exact struct {
	LogZ         float64 // ln Σ_s e^(−βE(s))
	GroundEnergy float64 // the least E, with the offset
	Observables
	Law Law
}

// A Law is the distribution of the energy. It has every level if all couplings and fields are
// integers and the levels are not too many. Otherwise energies fall into bins of equal width.
type Law struct {
	Energies []float64 // levels, or the mean energies of bins, ascending
	Mass     []float64 // probabilities
	Width    float64   // of the bins; 0 for levels
}

const (
	maxLevels  = 1 << 14
	lawBins    = 1 << 12
	pieceSpins = 17 // a piece is all configurations of so many spins, the others fixed
)

// Enumerate sums over all configurations of at most MaxEnumerated spins at
// inverse temperature beta ≥ 0. The result is the same bits for any number of
// threads, of which 0 means all. The error is ctx's or says what is wrong.
//
// A function of the spins is a polynomial Σ_A c_A Π_{i∈A} s_i over sets A of spins,
// and its values are the Walsh–Hadamard transform of its coefficients. The transform of
// couplings and fields gives all energies, and that of the weights w all sums
// Σ_s w(s) Π_{i∈A} s_i. Weights are relative to the weight of the ground state.
func Enumerate(ctx context.Context, g *Graph, beta float64, threads int) (*Exact, error) {
	n := g.N()
	if n > MaxEnumerated {
		return nil, fmt.Errorf("%d spins are too many to enumerate; at most %d can be", n, MaxEnumerated)
	}
	if err := g.CheckTemperature(beta); err != nil {
		return nil, err
	}
	x := make([]float64, 1<<n) // by a set of spins: those that are down, or those of a product
	for i := range n {
		x[1<<i] = -g.Field(i)
	}
	for _, e := range g.Edges() {
		x[1<<e.I|1<<e.J] = -e.Coupling
	}
	e := &enumeration{beta: beta, size: 1 << min(n, pieceSpins), x: x, workers: pool.New(threads)}
	defer e.workers.Close()
	if err := e.transform(ctx); err != nil {
		return nil, err
	}
	e.least = slices.Min(x)
	reach := slices.Max(x) - e.least
	e.width, e.bins = 2, int(reach/2)+1
	// An integer graph's energies differ by multiples of 2.
	if e.isLevels = g.isInteger && reach < 2*maxLevels; !e.isLevels {
		e.bins, e.width = lawBins, max(reach, math.SmallestNonzeroFloat64*lawBins)/lawBins
	}
	pieces := make([]weightSums, len(x)/e.size)
	e.workers.Run(len(pieces), func(k int) {
		if ctx.Err() == nil {
			pieces[k] = e.weigh(k, n)
		}
	})
	if err := e.transform(ctx); err != nil {
		return nil, err
	}
	total := &pieces[0]
	for k := range pieces[1:] {
		total.add(&pieces[k+1])
	}
	return e.result(g, total), nil
}

// EnumerationBytes bounds the memory that Enumerate takes for n spins. It counts the table twice,
// for garbage that is not collected yet. It is 0 if the spins are too many.
func EnumerationBytes(n int) float64 {
	if n > MaxEnumerated {
		return 0
	}
	return 2 * 8 * math.Exp2(float64(n))
}

// An enumeration is the state of Enumerate. Energies are without offset.
type enumeration struct {
	beta    float64
	size    int       // configurations of a piece
	x       []float64 // energies, then weights, then their sums with products of spins
	workers *pool.Pool

	least, width float64
	bins         int
	isLevels     bool
}

// weightSums are sums over the configurations of a piece, with weights w.
type weightSums struct {
	energy, square float64   // Σ w (E − least), Σ w (E − least)²
	up             []float64 // Σ w, by the number of spins up
	states         []float64 // configurations, by bin
	mass, energies []float64 // Σ w and Σ w (E − least), by bin; nil if bins are levels
}

func (s *weightSums) add(p *weightSums) {
	s.energy += p.energy
	s.square += p.square
	floats.Add(s.up, p.up)
	floats.Add(s.states, p.states)
	floats.Add(s.mass, p.mass)
	floats.Add(s.energies, p.energies)
}

// transform replaces x by its Walsh–Hadamard transform.
func (e *enumeration) transform(ctx context.Context) error {
	run := func(pieces int, body func(k int)) {
		e.workers.Run(pieces, func(k int) {
			if ctx.Err() == nil {
				body(k)
			}
		})
	}
	run(len(e.x)/e.size, func(k int) { number.WalshHadamard(e.x[k*e.size:][:e.size]) })
	for half := e.size; half < len(e.x); half *= 2 {
		run(len(e.x)/e.size/2, func(k int) {
			at := k * e.size
			at = at&^(half-1)<<1 | at&(half-1)
			lo, hi := e.x[at:][:e.size], e.x[at+half:][:e.size]
			for i, a := range lo {
				lo[i], hi[i] = a+hi[i], a-hi[i]
			}
		})
	}
	return ctx.Err()
}

// weigh makes weights of the energies of a piece, and sums them.
func (e *enumeration) weigh(piece, n int) weightSums {
	p := weightSums{up: make([]float64, n+1), states: make([]float64, e.bins)}
	if !e.isLevels {
		p.mass, p.energies = make([]float64, e.bins), make([]float64, e.bins)
	}
	first := piece * e.size
	part := e.x[first:][:e.size]
	for i, energy := range part {
		above := energy - e.least
		w := math.Exp(-e.beta * above)
		p.energy += w * above
		p.square += w * above * above
		p.up[n-bits.OnesCount(uint(first+i))] += w
		bin := min(int(above/e.width), e.bins-1)
		p.states[bin]++
		if !e.isLevels {
			p.mass[bin] += w
			p.energies[bin] += w * above
		}
		part[i] = w
	}
	return p
}

func (e *enumeration) result(g *Graph, total *weightSums) *Exact {
	n, z := g.N(), e.x[0]
	average := func(set int) float64 { return e.x[set] / z }
	mean := total.energy / z
	abs, absVariance := absMoments(total.up)
	result := &Exact{
		LogZ:         math.Log(z) - e.beta*(e.least+g.Offset()),
		GroundEnergy: e.least + g.Offset(),
		Observables: Observables{
			Energy: e.least + mean + g.Offset(),
			// The ground state is subtracted, so nothing cancels at low temperatures.
			SpecificHeat:     e.beta * e.beta * max(0, total.square/z-mean*mean),
			AbsMagnetisation: abs, Susceptibility: e.beta * float64(n) * absVariance,
			Magnetisations: make([]float64, n),
		},
	}
	overlap := float64(n)
	for i := range n {
		if g.HasFields() { // without, the sums are 0 but for rounding
			result.Magnetisations[i] = average(1 << i)
		}
		for j := range i {
			c := average(1<<i | 1<<j)
			overlap += 2 * c * c
		}
	}
	result.OverlapSquare = overlap / float64(n*n)
	for _, edge := range g.Edges() {
		result.EdgeCorrelations = append(result.EdgeCorrelations, average(1<<edge.I|1<<edge.J))
	}
	result.Law = e.law(total, g.Offset())
	return result
}

func (e *enumeration) law(total *weightSums, offset float64) (l Law) {
	if !e.isLevels {
		l.Width = e.width
	}
	for k, states := range total.states {
		if states == 0 {
			continue
		}
		above := 2 * float64(k)
		mass := states * math.Exp(-e.beta*above)
		if !e.isLevels {
			mass, above = total.mass[k], (float64(k)+0.5)*e.width
			if mass > 0 {
				above = total.energies[k] / mass
			}
		}
		l.Energies = append(l.Energies, e.least+above+offset)
		l.Mass = append(l.Mass, mass/e.x[0])
	}
	return l
}
