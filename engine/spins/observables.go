package spins

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/stat"
)

// Observables are averages ⟨·⟩ over a law of n spins at inverse temperature β,
// with m = Σ s_i/n. They mean the same for exact sums and for samples.
type Observables struct {
	Energy           float64 `json:"energy"`            // ⟨E⟩, with the offset
	SpecificHeat     float64 `json:"specific_heat"`     // C_v = β² Var E
	AbsMagnetisation float64 `json:"abs_magnetisation"` // ⟨|m|⟩
	Susceptibility   float64 `json:"susceptibility"`    // χ = β n Var |m|
	// OverlapSquare is ⟨q²⟩ with q = Σ s_i s′_i/n for two independent
	// configurations s and s′.
	OverlapSquare float64 `json:"overlap_square"`
	// Magnetisations are ⟨s_i⟩.
	Magnetisations []float64 `json:"magnetisations"`
	// EdgeCorrelations are ⟨s_i s_j⟩, in the order of Graph.Edges.
	EdgeCorrelations []float64 `json:"edge_correlations"`
}

// absMoments returns the mean and the variance of |m| for n spins of which k are
// up with weight mass[k].
func absMoments(mass []float64) (mean, variance float64) {
	n := float64(len(mass) - 1)
	var total float64
	for k, w := range mass {
		total += w
		mean += w * math.Abs(2*float64(k)-n) / n
	}
	mean /= total
	for k, w := range mass {
		d := math.Abs(2*float64(k)-n)/n - mean
		variance += w * d * d
	}
	return mean, variance / total
}

// A Tally gathers samples and gives their observables.
type Tally struct {
	graph    *Graph
	beta     float64
	energy   stat.Mean
	overlap  stat.Mean
	up       []float64 // samples by their number of spins up
	spinsUp  []uint64
	agree    []uint64 // of the spins of each edge
	samples  uint64
	columns  []uint64
	energies [64]float64
}

// NewTally returns a tally without samples.
func NewTally(g *Graph, beta float64) *Tally {
	return &Tally{
		graph: g, beta: beta,
		up:      make([]float64, g.N()+1),
		spinsUp: make([]uint64, g.N()), agree: make([]uint64, len(g.Edges())),
		columns: make([]uint64, 64*g.Words()),
	}
}

// Samples returns the number of samples.
func (t *Tally) Samples() uint64 { return t.samples }

// Add adds the configurations of a batch. Overlaps are those of its consecutive
// configurations, 0 and 1, 2 and 3, …, so these should be independent. Add does
// not allocate.
func (t *Tally) Add(batch []uint64) {
	g := t.graph
	words := g.Words()
	g.checkBatch(batch, len(batch)/words)
	t.samples += uint64(len(batch) / words)
	for len(batch) > 0 {
		rows := min(64, len(batch)/words)
		part := batch[:rows*words]
		energies := t.energies[:rows]
		g.Energies(energies, part)
		for k, e := range energies {
			config := part[k*words:][:words]
			t.energy.Add(e)
			t.up[(g.Magnetisation(config)+g.N())/2]++
			if k%2 == 1 {
				differ := 0
				for w, x := range part[(k-1)*words:][:words] {
					differ += bits.OnesCount64(x ^ config[w])
				}
				q := 1 - 2*float64(differ)/float64(g.N())
				t.overlap.Add(q * q)
			}
		}
		transpose(t.columns, part, words)
		for i := range t.spinsUp {
			t.spinsUp[i] += uint64(bits.OnesCount64(t.columns[i]))
		}
		for k, e := range g.Edges() {
			t.agree[k] += uint64(rows - bits.OnesCount64(t.columns[e.I]^t.columns[e.J]))
		}
		batch = batch[rows*words:]
	}
}

// transpose turns at most 64 configurations into columns: word i holds spin i of
// all, that of configuration k in bit k. Bits without a configuration are zero.
func transpose(columns, batch []uint64, words int) {
	for w := range words {
		square := (*[64]uint64)(columns[64*w:])
		for k := range square {
			square[k] = 0
			if at := k*words + w; at < len(batch) {
				square[k] = batch[at]
			}
		}
		asm.Transpose64(square)
	}
}

// Observables returns the averages over the samples, of which there must be at
// least two; variances are those of the samples, divided by one less than their
// number.
func (t *Tally) Observables() Observables {
	if t.samples < 2 {
		panic(fmt.Sprintf("spins: observables of %d samples", t.samples))
	}
	n, samples := float64(t.graph.N()), float64(t.samples)
	deviation := t.energy.Deviation()
	abs, variance := absMoments(t.up)
	o := Observables{
		Energy: t.energy.Value(), SpecificHeat: t.beta * t.beta * deviation * deviation,
		AbsMagnetisation: abs, Susceptibility: t.beta * n * variance * samples / (samples - 1),
		OverlapSquare:    t.overlap.Value(),
		Magnetisations:   make([]float64, len(t.spinsUp)),
		EdgeCorrelations: make([]float64, len(t.agree)),
	}
	for i, up := range t.spinsUp {
		o.Magnetisations[i] = 2*float64(up)/samples - 1
	}
	for k, agree := range t.agree {
		o.EdgeCorrelations[k] = 2*float64(agree)/samples - 1
	}
	return o
}
