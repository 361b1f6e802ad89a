package spins

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/bitspin"
)

// Energy returns E(s) of a packed configuration, exactly if the graph is
// of integers and to rounding otherwise.
func (g *Graph) Energy(config []uint64) float64 {
	h := &g.hamiltonian
	var sum float64
	for _, e := range h.Edges {
		// The sign of J s_I s_J.
		x := (config[e.I>>6]>>(e.I&63) ^ config[e.J>>6]>>(e.J&63)) << 63
		sum += math.Float64frombits(math.Float64bits(e.Coupling) ^ x)
	}
	for i, x := range h.Fields {
		down := ^(config[i>>6] >> (i & 63)) << 63
		sum += math.Float64frombits(math.Float64bits(x) ^ down)
	}
	return h.Offset - sum
}

// Energies stores the energies of the configurations of a batch in dst. The
// batch holds len(dst)·Words() words.
func (g *Graph) Energies(dst []float64, batch []uint64) {
	g.checkBatch(batch, len(dst))
	words := g.Words()
	for i := range dst {
		dst[i] = g.Energy(batch[i*words:][:words])
	}
}

// LocalField returns f_i = Σ_j J_ij s_j + h_i, the field that spin i feels.
func (g *Graph) LocalField(config []uint64, i int) float64 {
	near, couplings := g.Neighbours(i)
	f := g.Field(i)
	for k, j := range near {
		down := ^(config[j>>6] >> (j & 63)) << 63
		f += math.Float64frombits(math.Float64bits(couplings[k]) ^ down)
	}
	return f
}

// Difference returns the change of the energy when spin i is flipped, 2 s_i f_i.
func (g *Graph) Difference(config []uint64, i int) float64 {
	f := 2 * g.LocalField(config, i)
	if config[i>>6]>>(i&63)&1 == 0 {
		return -f
	}
	return f
}

// Spin returns s_i of a packed configuration.
func Spin(config []uint64, i int) float64 { return float64(2*int(config[i>>6]>>(i&63)&1) - 1) }

// Magnetisation returns Σ s_i.
func (g *Graph) Magnetisation(config []uint64) int { return bitspin.Magnetisation(config, g.N()) }

func (g *Graph) checkBatch(batch []uint64, rows int) {
	if len(batch) != rows*g.Words() {
		panic(fmt.Sprintf("spins: batch of %d words for %d configurations of %d words", len(batch), rows, g.Words()))
	}
}
