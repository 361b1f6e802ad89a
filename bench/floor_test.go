package bench

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/ising"
)

// knownPeaks are rates that make floors easy to compute by hand.
func knownPeaks() *peaks {
	p := &peaks{}
	for r, rate := range map[Resource]float64{FMA: 100, Float: 200, Integer: 400, Multiply: 50} {
		p.rates = append(p.rates, Peak{Resource: r, Rate: rate})
	}
	p.rates = append(p.rates, Peak{Resource: Write, Bytes: 4096, Rate: 10})
	return p
}

func operationNamed(t *testing.T, operations []*operation, err error, name string) *operation {
	t.Helper()
	require.NoError(t, err)
	for _, op := range operations {
		if op.name == name {
			return op
		}
	}
	require.Fail(t, "no operation "+name)
	return nil
}

func testEnvironment(t *testing.T) *environment {
	path, _, _ := asm.Active()
	workers := pool.New(1)
	t.Cleanup(workers.Close)
	return &environment{path: path, workers: workers, systems: []engine.Definition{ising.Definition}}
}

func TestFloorIsTheScarcestResourceOfEachPhase(t *testing.T) {
	f := knownPeaks().floor(need{
		{name: "first", counts: map[Resource]float64{FMA: 1000, Float: 3000}},              // 10 and 15 ns
		{name: "second", counts: map[Resource]float64{Write: 4096, FMA: 100}, bytes: 4096}, // 409.6 and 1 ns
	})
	require.InDelta(t, 15+409.6, f.Nanoseconds, 1e-9)
	require.Len(t, f.Terms, 4)
	require.Equal(t, Term{"first", FMA, 1000, 10}, f.Terms[0])
	require.Zero(t, knownPeaks().floor(nil).Nanoseconds)
}

// TestHierarchyFloor: 4×4 has six learned spins, of which five look at others, with 16 hidden
// units each.
func TestHierarchyFloor(t *testing.T) {
	operations, err := hierarchySuite.operations(testEnvironment(t), "4")
	rows, vectors, outputs := 18.0, 5.0, 5.0
	draw := operationNamed(t, operations, err, "draw/4").need
	require.Len(t, draw, 3)
	require.Equal(t, 1024*64*rows, draw[0].counts[Read])
	require.Equal(t, 1024*(7*16*vectors+outputs+23*6), draw[0].counts[FMA])
	require.Equal(t, 1024*(16*(rows-vectors)+7*16*vectors+16*outputs+29*6), draw[0].counts[Float])
	require.Equal(t, 1024*5*16.0, draw[1].counts[Multiply])
	require.Equal(t, 1024*10.0, draw[2].counts[Integer])
	_, err = hierarchySuite.operations(testEnvironment(t), "5x5")
	require.ErrorContains(t, err, "not of the form L")
	_, err = hierarchySuite.operations(testEnvironment(t), "1")
	require.Error(t, err)
}

func TestGemmFloor(t *testing.T) {
	operations, err := gemmSuite.operations(testEnvironment(t), "3x5x7")
	op := operationNamed(t, operations, err, "forward/3x5x7")
	require.Equal(t, 2.0*3*5*7, op.amount)
	require.InDelta(t, 3*5*7/100., knownPeaks().floor(op.need).Nanoseconds, 1e-12)
}

func TestPerceptronWork(t *testing.T) {
	forward, backward := perceptron(true, 32, 256, 256, 9) // the Ising generator
	require.Equal(t, work{FMA: 32*256 + 256*256 + 256*9}, forward)
	require.Equal(t, work{FMA: 76032}, forward)
	require.Equal(t, work{FMA: 2*76032 - 32*256}, backward) // no gradient with respect to the noise
	_, backward = perceptron(false, 32, 256, 256, 9)
	require.Equal(t, work{FMA: 2 * 76032}, backward)
}

// TestKinksHaveNoProducts holds the count of perceptrons of one input against
// the loops of package asm, piecewiseSum and piecewiseSumBackward: the width of
// the first layer costs nothing.
func TestKinksHaveNoProducts(t *testing.T) {
	for _, units := range []int{8, 64} {
		forward, backward := perceptron(false, 1, units, 16, 1)
		// x·P + Q, times slope, the larger one, times the weight into the sum.
		require.Equal(t, work{FMA: 16 * 3, Float: 16 * 4, Read: 16 * 8}, forward)
		// The first three of these again; dy·w; four sums, one of them without a product.
		require.Equal(t, work{FMA: 16 * (2 + 1 + 3), Float: 16 * (3 + 1 + 4), Read: 16 * (8 + 8), Write: 16 * 8}, backward)
	}
	// What follows the second layer is dense.
	forward, backward := perceptron(true, 1, 64, 16, 8, 2)
	require.Equal(t, work{FMA: 16*2 + 16*8 + 8*2, Float: 16 * 3, Read: 16 * 8}, forward)
	require.Equal(t, work{FMA: 16*2 + 2*(16*8+8*2), Float: 16 * 3, Read: 16 * (4 + 8), Write: 16 * 8}, backward)
	// Two layers have no kinks to gain from.
	forward, _ = perceptron(true, 1, 64, 1)
	require.Equal(t, work{FMA: 128}, forward)
	require.Empty(t, kinkTables(1, 64, 1))
}

// TestPieces holds the count against the loops of prefixRows and piecewiseGradient.
func TestPieces(t *testing.T) {
	// Two multiply-adds; two sums below, two products, and two multiply-adds each for those, for
	// the first layer's unit and for the weight.
	require.Equal(t, work{FMA: 30 * (2 + 8), Float: 30 * (2 + 2 + 8), Read: 30 * (4 + 8 + 4 + 4), Write: 30 * (8 + 4)}, kinkTables(1, 6, 5, 1))
	c, err := gmm.Preset("paper")
	require.NoError(t, err)
	phases := mixture{c}.model().step(nil, 2)
	require.Equal(t, "pieces", phases[4].name)
	require.Equal(t, 16*64*64*10., phases[4].counts[FMA])
}

// TestNoiseAndOptimizer: what a step does beside the generator and the loss, in the paper's settings.
func TestNoiseAndOptimizer(t *testing.T) {
	for name, c := range map[string]struct {
		words, moves float64 // of a sample: all, and those of moves
		d            engine.Definition
	}{
		"ising": {32 + 4, 4, ising.Definition}, "gmm": {2 + 3*(2+1), 9, gmm.Definition}, "hybrid": {32 + 1 + 3*7, 21, hybrid.Definition},
	} {
		config, err := c.d.Preset("paper")
		require.NoError(t, err)
		m := modelOf(config)
		moves := m.transition[Multiply]
		if name == "ising" {
			steps := float64(config.(*ising.Config).Transition.Steps)
			moves -= steps // the choice of a site
			c.words, c.moves = c.words+4*(steps-1), c.moves*steps
		}
		require.Equal(t, c.moves*philox[Multiply], moves, name)
		phases := noiseAndOptimizer(m, 10, 7)
		require.Equal(t, 10*(c.words-c.moves)*philox[Multiply], phases[0].counts[Multiply], name)
		require.Equal(t, work{FMA: 35, Float: 91, Read: 112, Write: 84}, phases[1].counts)
	}
	c, err := gmm.Preset("paper")
	require.NoError(t, err)
	// Three steps, four densities of two components in the plane.
	density := 2*(4+2.+9) + 12
	require.Equal(t, 4*density+3*(2*12+2+9), mixture{c}.model().transition[FMA])
}

// TestBalancedFloor: of eight states two move; flows know ln q of what they draw, Gaussians do not.
func TestBalancedFloor(t *testing.T) {
	c, err := gmm.Preset("paper")
	require.NoError(t, err)
	c.Training.Batch, c.Transition.Steps = 8, 5
	c.Loss.Kind, c.Loss.Partners = "balance", 0.75
	m := mixture{c}
	move, density := m.moves()
	moves := 2*5*(move[FMA]+density[FMA]) + 8*density[FMA]
	forward, backward := m.generator()
	phases := m.balanceStep()
	require.Len(t, phases, 4)
	require.Equal(t, 8*forward[FMA], phases[0].counts[FMA])
	require.Equal(t, moves, phases[1].counts[FMA])
	require.Equal(t, 2*forward[FMA], phases[2].counts[FMA])
	require.Equal(t, 10*backward[FMA], phases[3].counts[FMA])

	c.Generator.Kind, c.Generator.Components = "mixture", 7
	phases = m.balanceStep()
	// A triangle of three numbers of float64 in the plane, and with the mean five.
	require.Equal(t, 8*3*2., phases[0].counts[FMA])
	require.Equal(t, moves, phases[1].counts[FMA])
	require.Equal(t, 10*(7*(5*2+32)+26.), phases[2].counts[FMA])
	require.Equal(t, 10*7*(2*2+3)*2., phases[3].counts[FMA])
	require.Equal(t, 3, m.model().latent)
	require.Equal(t, phases, m.model().step(nil, 8)[:4])
}

func TestKernelWork(t *testing.T) {
	one := kernelWork(mmd.Kernel{Bandwidths: []float64{2}})
	require.Equal(t, work{FMA: 5, Float: 10}, one) // 4 for the exponential, 1 for k′; 4 and 1 more
	// Exponents 50, 2, ½, ⅛ and 1/50: ½ and 2 are fourth powers of ⅛ and ½.
	ladder := kernelWork(mmd.Kernel{Bandwidths: []float64{0.1, 0.5, 1, 2, 5}})
	require.Equal(t, 3*4+2*2+5., ladder[FMA])
	require.Equal(t, ladder[FMA]+3*4+5, ladder[Float])
	// Exponents 1/2 and 1/32: the first is a sixteenth power.
	two := kernelWork(mmd.Kernel{Bandwidths: []float64{1, 4}})
	require.Equal(t, work{FMA: 4 + 4 + 2, Float: 4 + 4 + 2 + 4 + 2}, two)
	for wider, fma := range map[float64]float64{math.Sqrt2: 4 + 1, 4 * math.Sqrt2: 4 + 4, 1: 4 + 4, 3: 4 + 4} { // a square; a 32nd power; the same; none
		require.Equal(t, fma+2, kernelWork(mmd.Kernel{Bandwidths: []float64{1, wider}})[FMA], "%v", wider)
	}
	steep := kernelWork(mmd.Kernel{IMQ: []mmd.IMQ{{C: 1, Beta: 1, Weight: 2}}})
	require.Equal(t, work{FMA: 6, Float: 9}, steep)
	multiquadric := kernelWork(mmd.Kernel{IMQ: []mmd.IMQ{{C: 1.4, Beta: 0.5, Weight: 1}}})
	require.Equal(t, work{FMA: 5, Float: 8}, multiquadric)
}

func TestPairwiseCounts(t *testing.T) {
	p := pairwisePhase("", 4, mmd.Kernel{Bandwidths: []float64{2}}, 2) // 6 pairs, 2 kernels each
	require.Equal(t, 6*(2*5+2*7.), p.counts[FMA])
	require.Equal(t, 6*(2*10+2*11+2.), p.counts[Float])
}

func TestHammingShape(t *testing.T) {
	//             moved; the same; its reverse; rejected; another
	s := []uint64{1, 1, 2, 3, 4}
	u := []uint64{2, 2, 1, 3, 5}
	// 1→2 outweighs 2→1, so both orders remain, and 4→5 both ways.
	require.Equal(t, hammingShape{rows: 4, columns: 4, firstStates: 4}, shapeOf(s, u, 5))
	require.Equal(t, hammingShape{rows: 2}, shapeOf([]uint64{1, 2}, []uint64{2, 1}, 2), "a move and its reverse balance")
	require.Equal(t, 3, shapeOf([]uint64{1, 1}, []uint64{2, 3}, 2).firstStates)
}

// TestTrainingMovesAreDistinct compares them with those near equilibrium: what
// they cost is in the pairs of distinct moves.
func TestTrainingMovesAreDistinct(t *testing.T) {
	e := testEnvironment(t)
	const n = 512
	s, u, err := isingMoves(n, 16)
	require.NoError(t, err)
	mild := shapeOf(s, u, n)
	s, u, err = e.trainingMoves(n, 16)
	require.NoError(t, err)
	training := shapeOf(s, u, n)
	require.Equal(t, n, training.rows)
	require.Greater(t, training.columns, 2*mild.columns)

	operations, err := hammingSuite.operations(e, "64x16")
	require.NoError(t, err)
	require.Len(t, operations, 2)
	require.Equal(t, "training/64x16", operations[0].name)
	require.Equal(t, "wide/64x16", operations[1].name)
	operations, err = hammingSuite.operations(e, "64x8")
	require.NoError(t, err)
	require.Len(t, operations, 2)
}

func TestHammingCounts(t *testing.T) {
	shape := hammingShape{rows: 10, columns: 20, firstStates: 5}
	p := hammingPhase("", asm.AVX512, shape, 9) // 18 bits of a pair fit into one word of 32
	require.Equal(t, work{Integer: 200 * 2, Lookup: 200 * 2, FMA: 200 * 2, Float: 200*2 + 50*2}, p.counts)
	require.Equal(t, 200*2*3., hammingPhase("", asm.AVX2, shape, 9).counts[Lookup], "19 entries in registers of 8")
	p = hammingPhase("", asm.AVX512, shape, 64)
	require.Equal(t, 200*2*4., p.counts[Integer])
	require.Equal(t, 200*2*4., p.counts[Lookup])
	p = hammingPhase("", asm.AVX2, shape, 64)
	require.Zero(t, p.counts[Lookup])
	require.Equal(t, 200*8., p.counts[Read])
	require.Equal(t, 2*4*129, p.bytes)
}

// TestHammingCountsZeros leaves out the terms of a kernel that are zero.
func TestHammingCountsZeros(t *testing.T) {
	const spins, words = 128, 2
	gaussian := mmd.Kernel{Bandwidths: []float64{1}} // exp(−2h)
	require.Equal(t, 43, reachOf(&gaussian, spins), "its slope is exp(−2h)/2, and the least normal number exp(−87.3)")
	require.Equal(t, 2*spins, reachOf(&mmd.Kernel{Bandwidths: []float64{8}}, spins))

	// Two moves of ones to zeros and back differ in all bits, one of them and a
	// rejected one in half.
	ones := ^uint64(0)
	s := []uint64{0, 0, ones, ones, 0, 0}
	u := []uint64{ones, ones, 0, 0, 0, 0}
	require.Equal(t, 2, wordsBeyond(s[:2], u[:2], s[2:4], u[2:4], 43))
	require.Zero(t, wordsBeyond(s[:2], u[:2], s[:2], u[:2], 43))
	require.Equal(t, 6, wordsBeyond(s[:2], u[:2], s[4:], u[4:], 43), "nothing differs in the first four words")
	shape := hammingShape{rows: 3, columns: 2, firstStates: 2}
	shape.measureFar(s, u, 3, spins, 43)
	// Each of three rows has four signed columns, two moves and their reverses. Two of
	// the first two rows' are the row itself.
	require.Equal(t, 8./12, shape.farShare)
	require.Equal(t, (4*2.+2*6+2*2)/8, shape.farWords)

	all, far := hammingPhase("", asm.AVX512, hammingShape{rows: 3, columns: 2, firstStates: 2}, spins), hammingPhase("", asm.AVX512, shape, spins)
	require.InEpsilon(t, all.counts[FMA]/3, far.counts[FMA], 1e-12)
	require.InEpsilon(t, all.counts[Integer]/3+2*6*shape.farShare*shape.farWords, far.counts[Integer], 1e-12)
}

// TestFarMoves holds the share of far moves among every third of 130 rows against a count of
// single spins.
func TestFarMoves(t *testing.T) {
	const n, spins, words, reach = 130, 66, 2, 60
	random := rand.New(rand.NewPCG(5, 6))
	s, u := make([]uint64, n*words), make([]uint64, n*words)
	for i := range s {
		mask := ^uint64(0) >> (62 * (i % words))
		s[i] = random.Uint64() & mask
		u[i] = s[i] ^ random.Uint64()&random.Uint64()&mask
		if i/words%5 == 0 {
			u[i] = s[i] // rejected
		}
	}
	bit := func(x []uint64, row, spin int) uint64 { return x[row*words+spin/64] >> (spin % 64) & 1 }
	var pairs, far, farWords float64
	for i := 0; i < n; i += 3 {
		for j := range n {
			for _, reverse := range []bool{false, true} {
				c, d, differ, moved, read := s, u, 0, false, 0
				if reverse {
					c, d = u, s
				}
				for half := range 2 * 2 * words { // of 32 spins, of s and then of t
					from, to := s, c
					if half >= 2*words {
						from, to = u, d
					}
					for k := half % (2 * words) * 32; k < min(spins, (half%(2*words)+1)*32); k++ {
						differ += int(bit(from, i, k) ^ bit(to, j, k))
					}
					if differ > reach && read == 0 {
						read = half + 1
					}
				}
				for k := range spins {
					moved = moved || bit(s, j, k) != bit(u, j, k)
				}
				if moved {
					pairs++
					if read > 0 {
						far, farWords = far+1, farWords+float64(read)
					}
				}
			}
		}
	}
	require.Positive(t, far)
	require.Less(t, far, pairs)
	var shape hammingShape
	shape.measureFar(s, u, n, spins, reach)
	require.Equal(t, far/pairs, shape.farShare)
	require.Equal(t, farWords/far, shape.farWords)
	for _, c := range [][2]int{{64, reach}, {spins, 2 * spins}} {
		var none hammingShape
		none.measureFar(s, u, n, c[0], c[1])
		require.Zero(t, none)
	}
	shape = hammingShape{}
	shape.measureFar(s, u, n, spins, 2*spins-1)
	require.Zero(t, shape, "nothing is as far")
	require.Zero(t, reachOf(&mmd.Kernel{Bandwidths: []float64{0.1}}, 3), "exp(−200)")
	require.Equal(t, 1, reachOf(&mmd.Kernel{Bandwidths: []float64{0.16}}, 3))
}

// TestLookupSteps: registers hold tables of up to 129 entries, 32 a step, or 32 entries, 8 a
// step.
func TestLookupSteps(t *testing.T) {
	for path, all := range map[asm.Path]map[int]int{
		asm.AVX512:  {1: 1, 2: 1, 33: 1, 34: 2, 65: 2, 66: 3, 129: 4, 130: 0},
		asm.AVX2:    {1: 1, 8: 1, 9: 2, 16: 2, 32: 4, 33: 0},
		asm.Generic: {1: 1, 500: 1},
	} {
		for entries, want := range all {
			require.Equal(t, want, lookupSteps(path, entries), "%v %d", path, entries)
		}
	}
}

// TestEnergyError: 40 energies are measured after 60 sweeps, one of four sweeps, and their mean
// is held against Kaufman's.
func TestEnergyError(t *testing.T) {
	sweeps, fetched := 0, 0
	spins := make([]uint64, 4*4*2)
	want, square := 0.0, 0.0
	z, err := energyError(4, 2, func() ([]uint64, error) { sweeps++; return spins, nil }, func(x []uint64) error {
		require.Equal(t, 60+4*(fetched+1), sweeps)
		fetched++
		for i := range x {
			x[i] = 0x9249249249249249 << (fetched % 3 * (i % 3))
		}
		e := energyPerSite(x, 4, 2)
		want, square = want+e/40, square+e*e/40
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 60+160, sweeps)
	require.Equal(t, 40, fetched)
	require.InEpsilon(t, math.Abs(want-crash.Must(ising.Kaufman(4, 1, 0.3)).Energy/16)/math.Sqrt((square-want*want)/39), z, 1e-9)
	broken := errors.New("broken")
	_, err = energyError(4, 2, func() ([]uint64, error) { return nil, broken }, nil)
	require.ErrorIs(t, err, broken)
	_, err = energyError(4, 2, func() ([]uint64, error) { return spins, nil }, func([]uint64) error { return broken })
	require.ErrorIs(t, err, broken)
}

func TestPhiloxCounts(t *testing.T) {
	operations, err := rngSuite.operations(testEnvironment(t), "1024")
	op := operationNamed(t, operations, err, "philox/1024")
	// 256 blocks of ten rounds of two products, and as many exclusive ors.
	require.Equal(t, 256*10*2., op.need[0].counts[Multiply])
	require.Equal(t, 256*10*2., op.need[0].counts[Integer])
	require.Equal(t, 4096, op.need[0].bytes)
	require.InDelta(t, 4096/10., knownPeaks().floor(op.need).Nanoseconds, 1e-9)
	require.Equal(t, 4096., op.amount, "bytes")
	// Numbers take their blocks, and besides what each is made with.
	for name, each := range map[string]work{
		"normals/1024": {Integer: 2, Float: 15, FMA: 12}, // of a half of a pair each
	} {
		other := operationNamed(t, operations, err, name)
		require.Equal(t, 1024., other.amount)
		require.Equal(t, 4096, other.need[0].bytes)
		for _, r := range Resources() {
			require.InDelta(t, op.need[0].counts[r]+1024*each[r], other.need[0].counts[r], 1e-9, "%s %s", name, r)
		}
	}
	operations, err = rngSuite.operations(testEnvironment(t), "9")
	require.Equal(t, 48., operationNamed(t, operations, err, "philox/12").amount, "whole blocks of four numbers")
}

func TestIterationFloor(t *testing.T) {
	e := testEnvironment(t)
	operations, err := iterationRows(e, "ising/paper/128")
	op := operationNamed(t, operations, err, "train/ising/paper/128")
	require.Equal(t, 128.*76032, op.need[0].counts[FMA])
	require.Equal(t, 128*(2*76032.-32*256), op.need[1].counts[FMA])
	require.Equal(t, "discrepancy", op.need[2].name)
	moves := op.need[2].counts[Float] / 10
	require.LessOrEqual(t, moves, 128.*256, "as many rows as samples, twice as many columns")
	require.Positive(t, moves)
}

func TestPeaksAreMeasured(t *testing.T) {
	e := testEnvironment(t)
	p := &peaks{path: e.path, workers: e.workers}
	for _, r := range Resources() {
		rate := p.rate(r, 1<<16)
		require.Positive(t, rate, r)
		require.Equal(t, rate, p.rate(r, 1<<16), "remembered")
		p.sample(r, 1<<16)
		p.sample(r, 1<<16)
		s := p.peak(r, 1<<16)
		require.Len(t, s.Rates, 3)
		require.Equal(t, stat.Median(s.Rates), p.rate(r, 1<<16))
	}
	require.Len(t, p.rates, len(Resources()))
	p.sample(Read, 1<<17)
	require.Len(t, p.rates, len(Resources())+1)
}

func TestEnergyPerSite(t *testing.T) {
	spins := make([]uint64, 4*4*2)
	require.Equal(t, -2.0, energyPerSite(spins, 4, 2))
	spins[5*2] = 1 // one spin of one of 128 replicas: four bonds
	require.InDelta(t, -2+2*4./(16*128), energyPerSite(spins, 4, 2), 1e-15)
}

func TestMetropolisFloor(t *testing.T) {
	operations, err := metropolisSuite.operations(testEnvironment(t), "32")
	op := operationNamed(t, operations, err, "shared/32")
	require.Equal(t, sharedSweeps*32*32*512., op.amount)
	require.Equal(t, 32*32*512/8., op.need[0].counts[Write], "once a call")
	require.Equal(t, 32*32*64, op.need[0].bytes)
}

func TestMixtureWork(t *testing.T) {
	config, err := gmm.Preset("paper")
	require.NoError(t, err)
	forward, backward := mixture{config}.generator()
	require.Equal(t, work{FMA: 16 * 64 * 3, Float: 16 * 64 * 4, Read: 16 * 64 * 8}, forward) // 8 couplings of 2 perceptrons
	require.Equal(t, work{FMA: 16 * 64 * 6, Float: 16 * 64 * 8, Read: 16 * 64 * 16, Write: 16 * 64 * 8}, backward)
}

func TestHybridWork(t *testing.T) {
	config, err := hybrid.Preset("paper")
	require.NoError(t, err)
	m := hybridModel(config)
	products := 32*128 + 2*128*128 + 128*4. // x and three logits
	require.Equal(t, work{FMA: products}, m.forward)
	require.Equal(t, work{FMA: 2*products - 32*128}, m.backward)
}

// The floor of a recipe's generator is not that of the paper's, and is counted of mixtures
// of Gaussians alone.
func TestFloorsOfRecipes(t *testing.T) {
	for _, d := range []engine.Definition{ising.Definition, gmm.Definition, hybrid.Definition} {
		for _, preset := range d.Presets {
			config, err := d.Preset(preset)
			require.NoError(t, err)
			require.Equal(t, preset == "paper" || d.Name == "gmm", modelOf(config) != nil, "%s, %s", d.Name, preset)
		}
	}
}

// Numbers are written in the unit below the next larger one.
func TestFormats(t *testing.T) {
	for want, x := range map[string]float64{"40.6k samples/s": 4.06e-5, "45.0G samples/s": 45, "601M samples/s": 0.601, "12.0 samples/s": 1.2e-8, "1.00k samples/s": 1e-6, "999 samples/s": 9.99e-7} {
		require.Equal(t, want, formatThroughput(x, "sample"))
	}
	require.Equal(t, "1.50 Gflop/s", formatThroughput(1.5, "flop"))
	require.Equal(t, "1.50 GB/s", formatThroughput(1.5, "B"))
	for want, ns := range map[string]float64{"999 ns": 999, "1 µs": 1e3, "999 µs": 999e3, "1 ms": 1e6, "999 ms": 999e6, "1 s": 1e9, "–": math.NaN()} {
		require.Equal(t, want, formatTime(ns))
	}
	for want, n := range map[string]int{"1023 B": 1023, "1 KiB": 1024, "1023 KiB": 1<<20 - 1, "1 MiB": 1 << 20} {
		require.Equal(t, want, formatBytes(n))
	}
	for want, x := range map[string]float64{"0": 0, "NaN": math.NaN(), "100": 100, "99.9": 99.9, "1.25": 1.25, "0.0125": 0.0125, "0.000000000012": 1.23e-11} {
		require.Equal(t, want, formatRate(x))
	}
	require.Equal(t, "2 threads, 3 of BLAS", describeThreads(2, 3))
	require.Equal(t, "2 threads", describeThreads(2, 0))
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// golden holds a text against a file of testdata, which -update writes.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "go test ./bench -run %s -update writes it", t.Name())
}

// What suites measure, what their operations take and what they are compared with change on
// purpose only, because reports of different revisions are held against each other.
func TestOperations(t *testing.T) {
	var b strings.Builder
	for _, s := range Suites() {
		fmt.Fprintf(&b, "──── %s: %s\nsizes %s: %s\n", s.Name, s.Summary, s.Size, strings.Join(s.Sizes, " "))
		sizes := map[string][]string{
			"gram": {"5x2", "4x9", "4097x2"}, "hamming": {"64x3", "64x16"}, "rng": {"1001"}, "math": {"1001"}, "metropolis": {"2", "32"},
			"hierarchy": {"4", "32"}, "iteration": {"gmm/paper/64"},
		}[s.Name]
		if sizes == nil {
			sizes = small[s.Name]
		}
		for threads := 1; threads <= 2; threads++ {
			for _, path := range []asm.Path{asm.Generic, asm.AVX2, asm.AVX512} {
				if path != asm.AVX2 && (threads > 1 || !strings.Contains("gemm hamming math metropolis", s.Name)) || threads > 1 && !strings.Contains("gemm metropolis hierarchy", s.Name) {
					continue // which are the same
				}
				workers := pool.New(threads)
				e := &environment{path: path, workers: workers, systems: []engine.Definition{ising.Definition, hybrid.Definition, gmm.Definition}}
				for _, size := range sizes {
					operations, err := s.operations(e, size)
					require.NoError(t, err)
					for _, o := range operations {
						fmt.Fprintf(&b, "%v %d %s: %g %s", path, threads, o.name, o.amount, o.unit)
						for _, p := range o.need {
							fmt.Fprintf(&b, "; %s %d B", p.name, p.bytes)
							for _, r := range Resources() {
								if p.counts[r] != 0 {
									fmt.Fprintf(&b, " %s %.6g", r, p.counts[r])
								}
							}
						}
						for _, v := range o.rivals {
							fmt.Fprintf(&b, "; against %s %q %g %t %t", v.name, v.caveat, v.amount, v.perThread, v.blas)
						}
						fmt.Fprintf(&b, "; %s\n", o.note)
					}
				}
				workers.Close()
			}
		}
	}
	for _, bar := range bars() {
		fmt.Fprintf(&b, "bar %s %s %s %d %s %s %g %s\n", bar.suite, bar.operation, bar.path, bar.threads, bar.measure, bar.program, bar.minimum, bar.history)
	}
	golden(t, "operations.txt", b.String())
}

// What is compared with a peer's results is off by as much as they are.
func TestAgreement(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		a, b            []float32
		worst, relative float64
	}{
		{[]float32{1, 2}, []float32{1, 2}, 0, 0},
		{[]float32{1, 2.5}, []float32{1.5, 2}, 0.25, 1. / 3},
		{[]float32{0, 4}, []float32{0x1p-130, 4}, 0x1p-132, 0},
		{[]float32{0, 1}, []float32{-0x1p-100, 1}, 0x1p-100, 1},
		{[]float32{nan}, []float32{1}, math.Inf(1), math.Inf(1)},
	} {
		require.Equal(t, c.worst, normError(c.a, c.b), c)
		require.Equal(t, c.relative, elementError(c.a, c.b), c)
	}
	require.Equal(t, math.Inf(1), normError([]float32{inf}, []float32{inf}))
	require.Equal(t, agreement{0.25, 1e-3, "losses 2 and 2.001; largest difference of gradients relative to the largest element"},
		lossAgreement(2, 2.001, []float32{1, 2.5}, []float32{1.5, 2}))
	require.InDelta(t, 10*0.1, lossAgreement(2, 2.1, []float32{1}, []float32{1}).difference, 1e-12)
	x := []float32{1, -1, 1, -1, 2, -2} // second and fourth moments 2 and 6
	require.InDelta(t, math.Sqrt(6)*(2-1)/math.Sqrt(6-4), momentError(x, 0, 1), 1e-12)
	require.InDelta(t, math.Sqrt(6)*0.5/math.Sqrt(2), momentError(x, 0.5, 2), 1e-12)
}
