package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/chains"
)

// observables returns the names of energy E, m, |m|, the magnetisation of a chessboard and the
// correlation over half the side, of lattices that have them, and what sets values,
// [configurations][stride], to these of packed configurations.
func observables(model bitspin.Model) (names []string, observe func(values []float64, stride int, states []uint64)) {
	names = []string{"energy", "magnetisation", "abs_magnetisation"}
	l, n, board := model.L, float64(model.N), chessboard(model)
	staggered, far := l%2 == 0 && l > 2, l >= 4 && l <= largestChain
	if staggered {
		names = append(names, "abs_staggered_magnetisation")
	}
	if far {
		names = append(names, "correlation_half_side")
	}
	return names, func(values []float64, stride int, states []uint64) {
		rows, g := make([]uint32, l), make([]float64, axialDistances(l))
		for ; len(states) > 0; states, values = states[model.Words:], values[stride:] {
			config := states[:model.Words]
			m := float64(model.Magnetisation(config)) / n
			i := copy(values, []float64{model.Energy(config), m, math.Abs(m)})
			if staggered {
				differ := 0
				for w, x := range config {
					differ += bits.OnesCount64(x ^ board[w])
				}
				values[i] = math.Abs(1 - 2*float64(differ)/n)
				i++
			}
			if far {
				axial(g, config, rows)
				values[i] = g[len(g)-1]
			}
		}
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
