package spins

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/number"
)

// A Graph is a Hamiltonian ready for computing with, immutable, and may be used
// by any number of goroutines.
//
// Edges are kept in canonical form: I < J, in lexicographic order. The
// neighbours of spin i are elements start[i] … start[i+1]−1 of two flat lists, of
// spins in ascending order and of couplings (compressed sparse rows).
type Graph struct {
	hamiltonian Hamiltonian
	start       []int32
	neighbour   []int32
	coupling    []float64

	isInteger bool // all couplings and fields are, so that differences of energies are exact
	hash      [sha256.Size]byte
	sides     []int8 // ±1 by the side of a bipartite graph, nil for others
}

// NewGraph returns the graph of a Hamiltonian, which it copies.
func NewGraph(h Hamiltonian) (*Graph, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	return newGraph(&h), nil
}

// newGraph builds the graph of a Hamiltonian that has been checked.
func newGraph(from *Hamiltonian) *Graph {
	g := &Graph{hamiltonian: Hamiltonian{
		Spins:  from.Spins,
		Edges:  make([]Edge, len(from.Edges)),
		Offset: from.Offset + 0, // −0 becomes 0
		Labels: slices.Clone(from.Labels),
	}}
	h := &g.hamiltonian
	if slices.ContainsFunc(from.Fields, func(x float64) bool { return x != 0 }) {
		h.Fields = make([]float64, h.Spins)
		for i, x := range from.Fields {
			h.Fields[i] = x + 0
		}
	}
	g.start = make([]int32, h.Spins+1)
	for k, at := range from.sorted() {
		e := from.Edges[at]
		h.Edges[k] = Edge{min(e.I, e.J), max(e.I, e.J), e.Coupling + 0}
		g.start[e.I+1]++
		g.start[e.J+1]++
	}
	for i := range h.Spins {
		g.start[i+1] += g.start[i]
	}
	g.neighbour, g.coupling = make([]int32, 2*len(h.Edges)), make([]float64, 2*len(h.Edges))
	// In this order the smaller neighbours of every spin come first, ascending.
	next := slices.Clone(g.start[:h.Spins])
	addNeighbour := func(i, j int, c float64) {
		g.neighbour[next[i]], g.coupling[next[i]] = int32(j), c
		next[i]++
	}
	for _, e := range h.Edges {
		addNeighbour(e.J, e.I, e.Coupling)
	}
	for _, e := range h.Edges {
		addNeighbour(e.I, e.J, e.Coupling)
	}
	g.isInteger = g.integers()
	g.hash = g.digest()
	g.sides = g.bipartition()
	return g
}

// integers reports whether all couplings and fields are integers whose sums
// float64 holds exactly.
func (g *Graph) integers() bool {
	var total float64
	for _, e := range g.hamiltonian.Edges {
		if e.Coupling != math.Trunc(e.Coupling) {
			return false
		}
		total += math.Abs(e.Coupling)
	}
	for _, x := range g.hamiltonian.Fields {
		if x != math.Trunc(x) {
			return false
		}
		total += math.Abs(x)
	}
	return total < 1<<52
}

// digest is the SHA-256 of the canonical form: a title, then as little-endian
// words of 64 bits n, the offset, the number of fields, the fields, the number
// of edges, and I, J and the coupling of each.
func (g *Graph) digest() (sum [sha256.Size]byte) {
	h := &g.hamiltonian
	d := sha256.New()
	w := bufio.NewWriterSize(d, 1<<13)
	_, _ = w.WriteString("revgen spins 1\n") // writing to a hash never fails
	word := func(x uint64) { _, _ = w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), x)) }
	word(uint64(h.Spins))
	word(math.Float64bits(h.Offset))
	word(uint64(len(h.Fields)))
	for _, x := range h.Fields {
		word(math.Float64bits(x))
	}
	word(uint64(len(h.Edges)))
	for _, e := range h.Edges {
		word(uint64(e.I))
		word(uint64(e.J))
		word(math.Float64bits(e.Coupling))
	}
	_ = w.Flush()
	d.Sum(sum[:0])
	return sum
}

// N returns the number of spins.
func (g *Graph) N() int { return g.hamiltonian.Spins }

// Words returns the number of words of a packed configuration.
func (g *Graph) Words() int { return (g.N() + 63) / 64 }

// Edges returns the edges in canonical form; the list must not be changed.
func (g *Graph) Edges() []Edge { return g.hamiltonian.Edges }

// Neighbours returns the neighbours of spin i in ascending order, and their
// couplings to it; the lists must not be changed.
func (g *Graph) Neighbours(i int) (spins []int32, couplings []float64) {
	lo, hi := g.start[i], g.start[i+1]
	return g.neighbour[lo:hi], g.coupling[lo:hi]
}

// Degree returns the number of neighbours of spin i.
func (g *Graph) Degree(i int) int { return int(g.start[i+1] - g.start[i]) }

// Field returns h_i.
func (g *Graph) Field(i int) float64 {
	if g.hamiltonian.Fields == nil {
		return 0
	}
	return g.hamiltonian.Fields[i]
}

// HasFields reports whether any field is not zero. Without, E(−s) = E(s).
func (g *Graph) HasFields() bool { return g.hamiltonian.Fields != nil }

// Offset returns the constant part of the energy.
func (g *Graph) Offset() float64 { return g.hamiltonian.Offset }

// Label returns the name of spin i, its number if it has none.
func (g *Graph) Label(i int) string {
	if g.hamiltonian.Labels == nil {
		return fmt.Sprint(i)
	}
	return g.hamiltonian.Labels[i]
}

// Hamiltonian returns a copy of the energy, in canonical form.
func (g *Graph) Hamiltonian() Hamiltonian {
	h := g.hamiltonian
	h.Edges, h.Fields, h.Labels = slices.Clone(h.Edges), slices.Clone(h.Fields), slices.Clone(h.Labels)
	return h
}

// Hash returns the SHA-256 of the energy function, in hexadecimal: it does not
// depend on the order of the edges nor on labels.
func (g *Graph) Hash() string { return hex.EncodeToString(g.hash[:]) }

// EnergyBound returns Σ|J| + Σ|h|, which |E − offset| does not exceed.
func (g *Graph) EnergyBound() float64 {
	var total float64
	for _, e := range g.hamiltonian.Edges {
		total += math.Abs(e.Coupling)
	}
	for _, x := range g.hamiltonian.Fields {
		total += math.Abs(x)
	}
	return total
}

// CheckTemperature returns an error if beta is no inverse temperature that the graph can have.
func (g *Graph) CheckTemperature(beta float64) error {
	return bitspin.CheckTemperature(beta, g.EnergyBound())
}

// String describes the graph in one line.
func (g *Graph) String() string {
	h := &g.hamiltonian
	parts := []string{number.Count(h.Spins, "spin"), number.Count(len(h.Edges), "edge")}
	if len(h.Edges) > 0 {
		low, high := math.Inf(1), math.Inf(-1)
		minDegree, maxDegree := math.MaxInt, 0
		for _, e := range h.Edges {
			low, high = min(low, e.Coupling), max(high, e.Coupling)
		}
		for i := range h.Spins {
			minDegree, maxDegree = min(minDegree, g.Degree(i)), max(maxDegree, g.Degree(i))
		}
		parts = append(parts, span("degree", float64(minDegree), float64(maxDegree)), span("J", low, high))
	}
	if h.Fields == nil {
		parts = append(parts, "no field")
	} else {
		parts = append(parts, span("h", slices.Min(h.Fields), slices.Max(h.Fields)))
	}
	if h.Offset != 0 {
		parts = append(parts, fmt.Sprintf("offset %v", h.Offset))
	}
	addProperty := func(has bool, property string) {
		if !has {
			property = "not " + property
		}
		parts = append(parts, property)
	}
	addProperty(g.isInteger, "all integers")
	addProperty(g.sides != nil, "bipartite")
	return strings.Join(parts, ", ") + "; hash " + g.Hash()[:12]
}

// span names a range of numbers.
func span(name string, low, high float64) string {
	if low == high {
		return fmt.Sprintf("%s %v", name, low)
	}
	return fmt.Sprintf("%s %v to %v", name, low, high)
}
