package bench

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/ising"
)

// knownPeaks are rates that make floors easy to compute by hand.
func knownPeaks() *peaks {
	p := &peaks{}
	for r, rate := range map[Resource]float64{FMA: 100, Float: 200, Integer: 400, Multiply: 50} {
		p.seen = append(p.seen, Peak{Resource: r, Rate: rate})
	}
	p.seen = append(p.seen, Peak{Resource: Write, Bytes: 4096, Rate: 10})
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

// TestHierarchyFloor: 4×4 has six learned spins, of which five look at others, three of
// these with 16 hidden units and two with 48.
func TestHierarchyFloor(t *testing.T) {
	operations, err := hierarchySuite.operations(testEnvironment(t), "4")
	rows, vectors, outputs := 42.0, 9.0, 5.0
	draw := operationNamed(t, operations, err, "draw/4").need
	require.Len(t, draw, 3)
	require.Equal(t, 1024*64*rows, draw[0].counts[Read])
	require.Equal(t, 1024*(7*16*vectors+outputs+23*6), draw[0].counts[FMA])
	require.Equal(t, 1024*(16*(rows-vectors)+7*16*vectors+16*outputs+29*6), draw[0].counts[Float])
	require.Equal(t, 1024*5*16.0, draw[1].counts[Multiply])
	require.Equal(t, 1024*10.0, draw[2].counts[Integer])
	back := operationNamed(t, operations, err, "gradient/4").need
	require.Len(t, back, 3)
	require.Equal(t, 1024*64*rows, back[2].counts[Write])
	require.Equal(t, 1024*(16*(2*rows-vectors)+11*16*vectors), back[2].counts[Float])
	require.Equal(t, 1024*5*6.0, back[1].counts[Multiply])
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
		require.Equal(t, work{FMA: 16 * 3, Float: 16 * 4}, forward)
		// The first three of these again; dy·w; four sums, one of them without a product.
		require.Equal(t, work{FMA: 16 * (2 + 1 + 3), Float: 16 * (3 + 1 + 4)}, backward)
	}
	// What follows the second layer is dense.
	forward, backward := perceptron(true, 1, 64, 16, 8, 2)
	require.Equal(t, work{FMA: 16*2 + 16*8 + 8*2, Float: 16 * 3}, forward)
	require.Equal(t, work{FMA: 16*2 + 2*(16*8+8*2), Float: 16 * 3}, backward)
	// Two layers have no kinks to gain from.
	forward, _ = perceptron(true, 1, 64, 1)
	require.Equal(t, work{FMA: 128}, forward)
}

func TestKernelCounts(t *testing.T) {
	one := kernelCounts(mmd.Kernel{Bandwidths: []float64{2}})
	require.Equal(t, map[Resource]float64{FMA: 5, Float: 10}, one) // 4 for the exponential, 1 for k′; 4 and 1 more
	// Exponents 50, 2, ½, ⅛ and 1/50: ½ and 2 are fourth powers of ⅛ and ½.
	ladder := kernelCounts(mmd.Kernel{Bandwidths: []float64{0.1, 0.5, 1, 2, 5}})
	require.Equal(t, 3*4+2*2+5., ladder[FMA])
	require.Equal(t, ladder[FMA]+3*4+5, ladder[Float])
	multiquadric := kernelCounts(mmd.Kernel{IMQ: []mmd.IMQ{{C: 1.4, Beta: 0.5, Weight: 1}}})
	require.Equal(t, map[Resource]float64{FMA: 5, Float: 8}, multiquadric)
}

func TestPairwiseCounts(t *testing.T) {
	p := pairwise("", 4, mmd.Kernel{Bandwidths: []float64{2}}, 2) // 6 pairs, 2 kernels each
	require.Equal(t, 6*(2*5+2*7.), p.counts[FMA])
	require.Equal(t, 6*(2*10+2*11+2.), p.counts[Float])
}

func TestHammingShape(t *testing.T) {
	//             moved; the same; its reverse; rejected; another
	s := []uint64{1, 1, 2, 3, 4}
	u := []uint64{2, 2, 1, 3, 5}
	// 1→2 outweighs 2→1, so both orders remain, and 4→5 both ways.
	require.Equal(t, hammingShape{rows: 4, columns: 4, firsts: 4}, shapeOf(s, u, 5))
	require.Equal(t, hammingShape{rows: 2}, shapeOf([]uint64{1, 2}, []uint64{2, 1}, 2), "a move and its reverse balance")
	require.Equal(t, 3, shapeOf([]uint64{1, 1}, []uint64{2, 3}, 2).firsts)
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
	shape := hammingShape{rows: 10, columns: 20, firsts: 5}
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
	shape := hammingShape{rows: 3, columns: 2, firsts: 2}
	shape.apart(s, u, 3, spins, 43)
	// Each of three rows has four signed columns, two moves and their reverses. Two of
	// the first two rows' are the row itself.
	require.Equal(t, 8./12, shape.far)
	require.Equal(t, (4*2.+2*6+2*2)/8, shape.farWords)

	all, far := hammingPhase("", asm.AVX512, hammingShape{rows: 3, columns: 2, firsts: 2}, spins), hammingPhase("", asm.AVX512, shape, spins)
	require.InEpsilon(t, all.counts[FMA]/3, far.counts[FMA], 1e-12)
	require.InEpsilon(t, all.counts[Integer]/3+2*6*shape.far*shape.farWords, far.counts[Integer], 1e-12)
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
		"uniforms/1024": {Integer: 1, Float: 2, FMA: 1},   // shift; conversion, scale; offset
		"normals/1024":  {Integer: 2, Float: 15, FMA: 12}, // of a half of a pair each
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
		k := p.index(r, 1<<16)
		require.Len(t, p.seen[k].Rates, 3)
		require.Equal(t, stat.Median(p.seen[k].Rates), p.rate(r, 1<<16))
	}
	require.Len(t, p.seen, len(Resources()))
	p.sample(Read, 1<<17)
	require.Len(t, p.seen, len(Resources())+1)
}

func TestOnsagerEnergy(t *testing.T) {
	critical := math.Log(1+math.Sqrt2) / 2
	require.InDelta(t, -math.Sqrt2, onsagerEnergy(critical-1e-12), 1e-9)
	require.InDelta(t, -2*0.01, onsagerEnergy(0.01), 1e-5)
	require.InDelta(t, -2, onsagerEnergy(3), 1e-8)
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
	forward, backward := mixtureModel{config}.generator()
	require.Equal(t, work{FMA: 16 * 64 * 3, Float: 16 * 64 * 4}, forward) // 8 couplings of 2 perceptrons
	require.Equal(t, work{FMA: 16 * 64 * 6, Float: 16 * 64 * 8}, backward)
}

func TestHybridWork(t *testing.T) {
	config, err := hybrid.Preset("paper")
	require.NoError(t, err)
	forward, backward := hybridModel{config}.generator()
	products := 32*128 + 2*128*128 + 128*4. // x and three logits
	require.Equal(t, work{FMA: products}, forward)
	require.Equal(t, work{FMA: 2*products - 32*128}, backward)
}

// The floor of a recipe's generator is not that of the paper's.
func TestRecipesHaveNoFloor(t *testing.T) {
	for _, d := range []engine.Definition{ising.Definition, gmm.Definition, hybrid.Definition} {
		for _, preset := range d.Presets {
			config, err := d.Preset(preset)
			require.NoError(t, err)
			require.Equal(t, preset == "paper", modelOf(config) != nil, "%s, %s", d.Name, preset)
		}
	}
}

func TestThroughput(t *testing.T) {
	for want, x := range map[string]float64{"40.6k samples/s": 4.06e-5, "45.0G samples/s": 45, "601M samples/s": 0.601, "12.0 samples/s": 1.2e-8} {
		require.Equal(t, want, formatThroughput(x, "sample"))
	}
	require.Equal(t, "1.50 Gflop/s", formatThroughput(1.5, "flop"))
}

func TestScoreFloor(t *testing.T) {
	operations, err := scoreRows(testEnvironment(t), "ising/32/4")
	for name, bytes := range map[string]int{"npy-spins/ising/32/4": 32 * 16, "raw-bits/ising/32/4": 32 * 8, "ndjson-spins/ising/32/4": 0} {
		op := operationNamed(t, operations, err, name)
		if bytes > 0 {
			require.Equal(t, bytes, op.need[0].bytes)
		}
		require.Equal(t, op.amount, op.need[0].counts[Read])
	}
	_, err = scoreRows(testEnvironment(t), "ising/32/x")
	require.ErrorContains(t, err, `size "ising/32/x"`)
	_, err = scoreRows(testEnvironment(t), "ising/0")
	require.ErrorContains(t, err, `"0" is not a number of states`)
	_, err = scoreRows(testEnvironment(t), "heisenberg/10")
	require.ErrorContains(t, err, `there is no system "heisenberg"`)
}
