package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/chains"
)

// The observables, in their order.
const (
	seenEnergy = iota
	seenMagnetisation
	seenAbsMagnetisation
	seenStaggered // of sides that are even
	seenFar       // correlation over half the side, of sides up to largestChain
	seen          // number of observables
)

var seenNames = [seen]string{
	"energy", "magnetisation", "abs_magnetisation", "abs_staggered_magnetisation", "correlation_half_side",
}

// sees returns the observables that a lattice has.
func sees(l int) (all []int) {
	for i := range seen {
		if i == seenStaggered && (l%2 == 1 || l == 2) || i == seenFar && (l > largestChain || l < 4) {
			continue
		}
		all = append(all, i)
	}
	return all
}

// observables returns the names of energy E, m, |m|, the magnetisation of a
// chessboard and the correlation over half the side, of lattices that have them.
func observables(l int) (names []string) {
	for _, i := range sees(l) {
		names = append(names, seenNames[i])
	}
	return names
}

// An observer computes observables.
type observer struct {
	model bitspin.Model
	sees  []int
	board []uint64 // the configuration whose neighbours all differ
}

// see sets values, [configurations][stride], of packed configurations.
func (o *observer) see(values []float64, stride int, states []uint64) {
	model, n := o.model, float64(o.model.N)
	rows, g := make([]uint32, model.L), make([]float64, axialDistances(model.L))
	for len(states) > 0 {
		config := states[:model.Words]
		e, m := model.Energy(config), float64(model.Magnetisation(config))/n
		of := [seen]float64{seenEnergy: e, seenMagnetisation: m, seenAbsMagnetisation: math.Abs(m)}
		for i, k := range o.sees {
			switch k {
			case seenStaggered:
				differ := 0
				for w, x := range config {
					differ += bits.OnesCount64(x ^ o.board[w])
				}
				of[k] = math.Abs(1 - 2*float64(differ)/n)
			case seenFar:
				axial(g, config, rows)
				of[k] = g[len(g)-1]
			}
			values[i] = of[k]
		}
		states, values = states[model.Words:], values[stride:]
	}
}

// chessboard returns the configuration whose neighbours all differ.
func chessboard(model bitspin.Model) []uint64 {
	board := make([]uint64, model.Words)
	for site := range model.N {
		if (site/model.L+site%model.L)%2 == 1 {
			board[site>>6] |= 1 << (site & 63)
		}
	}
	return board
}

var _ chains.Tempered = (*measured)(nil)
