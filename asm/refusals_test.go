package asm

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryLengthIsSaid: a slice that is too short is refused before anything is computed, by its name and with both
// lengths, and one that is just long enough is taken.
func TestEveryLengthIsSaid(t *testing.T) {
	const rows, in, out = 3, 5, 7
	packed, transposed := PackedLen(in, out), PackedLen(out, in)
	k := BitPerceptron{Tables: make([]float32, 256), Output: make([]float32, 16)}
	words := new([BitSamples]float32)
	for name, c := range map[string]struct {
		args  []string
		needs []int
		exact bool // longer ones are refused too
		call  func(s [][]float32)
	}{
		"PackWeights":           {[]string{"dst", "w"}, []int{packed, in * out}, false, func(s [][]float32) { PackWeights(s[0], s[1], in, out) }},
		"PackWeightsTransposed": {[]string{"dst", "w"}, []int{transposed, in * out}, false, func(s [][]float32) { PackWeightsTransposed(s[0], s[1], in, out) }},
		"DenseForward": {[]string{"y", "x", "packed", "bias"}, []int{rows * out, rows * in, packed, out}, false, func(s [][]float32) {
			DenseForward(s[0], s[1], s[2], s[3], rows, in, out, 1)
		}},
		"DenseBackwardInput": {[]string{"dx", "dy", "packedT", "act"}, []int{rows * in, rows * out, transposed, rows * in}, false, func(s [][]float32) {
			DenseBackwardInput(s[0], s[1], s[2], s[3], rows, in, out, 1)
		}},
		"DenseBackwardWeights": {[]string{"dw", "db", "x", "dy"}, []int{in * out, out, rows * in, rows * out}, false, func(s [][]float32) {
			DenseBackwardWeights(s[0], s[1], s[2], s[3], rows, in, out)
		}},
		"AdamWStep": {[]string{"", "g", "m", "v", "ema"}, []int{3, 3, 3, 3, 3}, true, func(s [][]float32) {
			AdamWStep(s[0], s[1], s[2], s[3], s[4], &AdamW{Correction1: 1, Correction2: 1})
		}},
		"Accumulate": {[]string{"", "src"}, []int{3, 3}, true, func(s [][]float32) { Accumulate(s[0], s[1]) }},
		"BitPerceptron.Gradient": {[]string{"tables", "output"}, []int{256, 16}, true, func(s [][]float32) {
			k.Gradient(s[0], s[1], words, words, make([]uint64, 2), []int32{0, 1, 1, 0})
		}},
	} {
		of := func(which, by int) (all [][]float32) {
			for i, n := range c.needs {
				if i == which {
					n += by
				}
				all = append(all, make([]float32, n))
			}
			return all
		}
		require.NotPanics(t, func() { c.call(of(-1, 0)) }, name)
		for i, arg := range c.args {
			if arg == "" {
				continue
			}
			for _, by := range []int{-1, 1} {
				call := func() { c.call(of(i, by)) }
				if by == 1 && !c.exact {
					require.NotPanics(t, call, name)
					continue
				}
				require.PanicsWithValue(t, fmt.Sprintf("asm: %s: %s has %d elements, needs %d", name, arg, c.needs[i]+by, c.needs[i]), call)
			}
		}
	}
	none := make([]float32, 0)
	some := make([]float32, 64)
	DenseBackwardInput(some, some, some, nil, 1, 2, 2, 1)
	for name, call := range map[string]func(rows, in, out int){
		"DenseForward":         func(rows, in, out int) { DenseForward(some, some, some, some, rows, in, out, 1) },
		"DenseBackwardInput":   func(rows, in, out int) { DenseBackwardInput(some, some, some, nil, rows, in, out, 1) },
		"DenseBackwardWeights": func(rows, in, out int) { DenseBackwardWeights(some, some, some, some, rows, in, out) },
	} {
		require.PanicsWithValue(t, "asm: "+name+": -1 rows", func() { call(-1, 1, 1) })
		require.NotPanics(t, func() { call(0, 1, 1) })
		require.PanicsWithValue(t, "asm: "+name+": widths 0 and 1; both must be positive", func() { call(1, 0, 1) })
		require.PanicsWithValue(t, "asm: "+name+": widths 1 and 0; both must be positive", func() { call(1, 1, 0) })
	}
	for name, f := range map[string]func(dst, x []float32){"Exp": Exp, "Tanh": Tanh, "Sigmoid": Sigmoid} {
		for _, by := range []int{-1, 1} {
			require.PanicsWithValue(t, "asm: mismatched lengths in "+name, func() { f(some[:3], some[:3+by]) })
		}
		require.NotPanics(t, func() { f(none, none) })
	}
	for _, c := range [][3]int{{2, 6, 3}, {0, 0, 3}, {2, 0, 0}} {
		require.NotPanics(t, func() { LogSumExp(some[:c[0]], some[:c[1]], c[2]) })
	}
	for _, c := range [][3]int{{2, 5, 3}, {2, 7, 3}, {0, 0, -1}, {1, 1, 0}} {
		require.PanicsWithValue(t, "asm: mismatched lengths in LogSumExp", func() { LogSumExp(some[:c[0]], some[:c[1]], c[2]) })
	}
	for _, n := range []int{1, 2, 3, 5, 7} {
		for _, draw := range []func(){
			func() { PhiloxBlocks(make([]uint32, n), &Counter{}, 0) }, func() { Uniforms(some[:n], &Counter{}, 0) }, func() { Normals(some[:n], &Counter{}, 0) },
		} {
			require.PanicsWithValue(t, "asm: the length of a Philox draw must be a multiple of 4", draw)
		}
	}
}

// TestRefusals: what does not fit together is refused by name, at either side of each limit.
func TestRefusals(t *testing.T) {
	words, dst, bytes := new([BitSamples]uint32), new([BitSamples]float64), new([BitSamples]byte)
	perceptron := func(units, groups, sites, tables, state int, site int32) func() {
		p := BitPerceptron{Tables: make([]float32, tables), Output: make([]float32, units)}
		all := make([]int32, sites)
		if sites > 2 {
			all[2] = site
		}
		return func() { p.Logits(make([][BitSamples]float32, 1), make([]uint64, state), all) }
	}
	logits := func(blocks, states int) func() {
		p := BitPerceptron{Tables: make([]float32, 256), Output: make([]float32, 16)}
		return func() { p.Logits(make([][BitSamples]float32, blocks), make([]uint64, states), make([]int32, 4)) }
	}
	tables := func(tables, weights, k int) []func() {
		return []func(){
			func() { BitTables(make([]float32, tables), make([]float32, weights), make([]float32, max(k, 0))) },
			func() { BitFold(make([]float32, weights), make([]float32, tables), k) },
		}
	}
	number := func(table, sites int, site int32) []func() {
		all := make([]int32, sites)
		if sites > 0 {
			all[sites-1] = site
		}
		return []func(){
			func() { BitDraw(make([]uint32, table), make([]uint64, 3), all, words) },
			func() { BitLookup(dst, make([]float64, table), 1, make([]uint64, 3), all) },
		}
	}
	category := func(thresholds, q, sites, strides int, site int32) []func() {
		all := make([]int32, sites)
		if sites > 0 {
			all[0] = site
		}
		return []func(){func() {
			CategoryDraw(bytes, make([]uint32, thresholds), q, make([]byte, 3*BitSamples), all, make([]int32, strides), words)
		}}
	}
	heat := func(k int, p float64) func() {
		var up [5]float64
		up[k] = p
		return func() { NewLatticeHeatBath(up) }
	}
	sweep := func(l int, one, none float64) func() { return func() { NewSweep(l, one, none, false) } }
	four := NewSweep(4, 0.5, 0.1, false)
	bath, sites := NewLatticeHeatBath([5]float64{}), NewSites([]Neighbourhood{{0, 1, 2, 3, 9}})
	const block = 16 * ReplicaWords
	const perceptrons, states = "asm: BitPerceptron: lengths of tables, output weights and sites do not match", "asm: BitPerceptron.Logits: not as many states as blocks"
	const outside, draws, choices = "asm: a site is not in the state", "asm: a table does not have a number for each state of the sites", "asm: CategoryDraw: lengths of thresholds, sites and strides do not match"
	const sides, probabilities = "asm: lattice side or acceptance out of range", "asm: probability of a spin out of range"
	nan := math.NaN()
	for want, calls := range map[string][]func(){
		"": {
			perceptron(16, 1, 4, 256, 2, 1), perceptron(64, 1, 4, 1024, 2, 1), perceptron(16, 16, 64, 4096, 2, 1), logits(2, 4), logits(1, 3),
			tables(256, 64, 16)[0], tables(256, 64, 16)[1], tables(0, 0, 16)[0], tables(0, 0, 16)[1],
			number(1<<16, 16, 2)[0], number(1<<16, 16, 2)[1], number(1, 0, 0)[0], number(1, 0, 0)[1],
			category(1, 2, 1, 1, 2)[0], category(15, 16, 0, 0, 0)[0], category(6, 4, 2, 2, 0)[0],
			heat(0, 0), heat(4, 1), sweep(2, 1, 0), sweep(1024, 0, 0), sweep(4, 0.5, 0.5),
			func() { bath.Redraw(make([]uint64, 10*ReplicaWords), sites, &Xoshiro{}) },
			func() { four.Independent(make([]uint64, block), new(Xoshiro)) }, func() { four.SharedSweeps(make([]uint64, 2*block), &Counter{}, 1) }, func() { four.SharedSweeps(nil, &Counter{}, 1) },
		},
		perceptrons: {
			perceptron(0, 1, 4, 0, 2, 1), perceptron(15, 1, 4, 240, 2, 1), perceptron(80, 1, 4, 1280, 2, 1), perceptron(16, 0, 0, 0, 2, 1), perceptron(16, 17, 68, 17*256, 2, 1),
			perceptron(16, 1, 5, 256, 2, 1), perceptron(16, 1, 3, 0, 2, 1), perceptron(16, 1, 4, 255, 2, 1), perceptron(16, 1, 4, 257, 2, 1),
		},
		states:  {logits(0, 0), logits(2, 3), logits(3, 4)},
		outside: {perceptron(16, 1, 4, 256, 2, 2), perceptron(16, 1, 4, 256, 2, -1), number(4, 2, 3)[0], number(4, 2, -1)[1], category(1, 2, 1, 1, 3)[0], category(1, 2, 1, 1, -1)[0]},
		"asm: BitTables: lengths of tables and weights do not match": {tables(0, 0, 0)[0], tables(240, 60, 15)[0], tables(255, 64, 16)[0], tables(257, 64, 16)[0], tables(128, 32, 16)[0]},
		"asm: BitFold: lengths of tables and weights do not match":   {tables(0, 0, 0)[1], tables(0, 0, -16)[1], tables(240, 60, 15)[1], tables(255, 64, 16)[1], tables(257, 64, 16)[1], tables(128, 32, 16)[1]},
		draws: {
			number(3, 2, 0)[0], number(5, 2, 0)[1], number(0, 0, 0)[0], number(1<<17, 17, 0)[0], number(1<<17, 17, 0)[1],
		},
		choices: {
			category(1, 1, 0, 0, 0)[0], category(1, 0, 0, 0, 0)[0], category(31, 17, 0, 0, 0)[0], category(0, 2, 0, 0, 0)[0], category(4, 3, 0, 0, 0)[0], category(5, 4, 0, 0, 0)[0], category(1, 2, 1, 2, 0)[0], category(1, 2, 2, 1, 0)[0],
		},
		probabilities: {heat(0, -1e-9), heat(1, -1e-9), heat(4, math.Nextafter(1, 2)), heat(3, nan), heat(2, nan)},
		sides:         {sweep(1, 1, 0), sweep(1025, 1, 0), sweep(4, 0.5, 0.51), sweep(4, 1.01, 0), sweep(4, 0.5, -0.01), sweep(4, nan, 0), sweep(4, 1, nan)},
		"asm: a site outside of the block of replicas":    {func() { bath.Redraw(make([]uint64, 10*ReplicaWords-1), sites, &Xoshiro{}) }},
		"asm: a site to redraw is a neighbour of another": {func() { NewSites([]Neighbourhood{{0, 1, 1, 1, 1}, {5, 2, 2, 2, 0}}) }, func() { NewSites([]Neighbourhood{{0, 5, 1, 1, 1}, {5, 2, 2, 2, 2}}) }},
		"asm: spins are not one block of replicas":        {func() { four.Independent(make([]uint64, block-1), new(Xoshiro)) }, func() { four.Independent(make([]uint64, 2*block), new(Xoshiro)) }},
		"asm: spins are not whole blocks of replicas":     {func() { four.SharedSweeps(make([]uint64, block+1), &Counter{}, 1) }, func() { four.SharedSweeps(make([]uint64, block/2), &Counter{}, 1) }},
	} {
		for i, call := range calls {
			if want == "" {
				require.NotPanics(t, call, i)
			} else {
				require.PanicsWithValue(t, want, call, i)
			}
		}
	}
}
