package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/chains"
)

// observables returns the names of what chains observe: energy E, m, |m| and, if the lattice has
// them, the staggered magnetisation and the correlation over half the side. The function observe
// sets values, [configurations][stride], to these observables of packed configurations.
func observables(model bitspin.Model) (names []string, observe func(values []float64, stride int, states []uint64)) {
	names = []string{"energy", "magnetisation", "abs_magnetisation"}
	l, n, board := model.L, float64(model.N), chessboard(model)
	hasStaggered, hasCorrelation := l%2 == 0 && l > 2, l >= 4 && l <= maxChainSide
	if hasStaggered {
		names = append(names, "abs_staggered_magnetisation")
	}
	if hasCorrelation {
		names = append(names, "correlation_half_side")
	}
	return names, func(values []float64, stride int, states []uint64) {
		rows, g := make([]uint32, l), make([]float64, axialDistances(l))
		for ; len(states) > 0; states, values = states[model.Words:], values[stride:] {
			config := states[:model.Words]
			m := float64(model.Magnetisation(config)) / n
			i := copy(values, []float64{model.Energy(config), m, math.Abs(m)})
			if hasStaggered {
				unequal := 0
				for w, x := range config {
					unequal += bits.OnesCount64(x ^ board[w])
				}
				values[i] = math.Abs(1 - 2*float64(unequal)/n)
				i++
			}
			if hasCorrelation {
				axialCorrelations(g, config, rows)
				values[i] = g[len(g)-1]
			}
		}
	}
}

// chessboard returns the configuration of an even lattice whose neighbours all differ.
func chessboard(model bitspin.Model) []uint64 {
	board := make([]uint64, model.Words)
	for site := range model.N {
		if (site/model.L+site%model.L)%2 == 1 {
			board[site>>6] |= 1 << (site & 63)
		}
	}
	return board
}

var _ chains.Tempered = (*evaluator)(nil)
