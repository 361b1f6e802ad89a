package bench

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/ising"
)

var hammingSuite = Suite{
	Name:    "hamming",
	Summary: "reversibility loss and gradient of spins on L×L lattices, one Gaussian",
	Size:    "NxL",
	Sizes:   []string{"2048x3", "8192x3", "2048x4", "2048x8", "2048x16", "2048x32", "2048x64"},
	sized:   hammingRows,
}

// isingKernel is wide enough for lattices of the paper's size, but not for larger ones.
var isingKernel = mmd.Kernel{Bandwidths: []float64{2}}

func hammingRows(e *environment, size string, v []int) (operations []*operation, err error) {
	n, side := v[0], v[1]
	if side > 1024 || n > 1<<20 {
		return nil, optionf("size %q: N is at most %d and L at most 1024", size, 1<<20)
	}
	add := func(name string, kernel mmd.Kernel, moves func(n, side int) (s, t []uint64, err error)) error {
		s, t, err := moves(n, side)
		if err == nil {
			operations = append(operations, e.hamming(name+"/"+size, kernel, s, t, n, side))
		}
		return err
	}
	if side <= 8 { // on larger lattices hardly any move is accepted near equilibrium
		err = add("loss-gradient", isingKernel, isingMoves)
	}
	if side >= 8 && err == nil {
		err = add("training", isingKernel, e.trainingMoves)
	}
	// On a large lattice isingKernel vanishes between almost all configurations. A bandwidth of
	// the side reaches all of them.
	if side > 8 && err == nil {
		err = add("wide", mmd.Kernel{Bandwidths: []float64{float64(side)}}, e.trainingMoves)
	}
	return operations, err
}

// hamming returns the operation of n moves of a lattice from s to t.
func (e *environment) hamming(name string, kernel mmd.Kernel, s, t []uint64, n, side int) *operation {
	spins := side * side
	h := mmd.NewHamming(n, spins, kernel, mmd.Surrogate, mmd.V, e.workers)
	g := mmd.NewGram(n, spins, kernel, mmd.V, e.workers)
	floatS, floatT := make([]float32, n*spins), make([]float32, n*spins)
	asm.Unpack(floatS, s, n, spins)
	asm.Unpack(floatT, t, n, spins)
	ours := newReference(floatS, floatT)
	var floatLoss float64
	floatGrad := make([]float32, n*spins)
	shape := shapeOf(s, t, n)
	shape.measureFar(s, t, n, spins, reachOf(&kernel, spins))
	op := &operation{
		name: name, amount: float64(n) * float64(n-1) / 2, unit: "pair",
		need: need{hammingPhase("", e.path, shape, spins)},
		call: func() { ours.loss = h.LossGradient(s, t, ours.grad) },
		note: fmt.Sprintf("unordered pairs of samples; %d distinct moves, %d signed columns of %d first configurations, %.3g %% of the kernel's terms zero", shape.rows, shape.columns, shape.firstStates, 100*shape.farShare),
	}
	if spins <= 1<<8 {
		op.rivals = []rival{{
			name: "our float Gram",
			call: func() { floatLoss = g.LossGradient(floatS, floatT, floatGrad) },
			prepare: func(*peers.Process) (agreement, error) {
				floatLoss = g.LossGradient(floatS, floatT, floatGrad)
				return lossAgreement(ours.loss, floatLoss, ours.grad, floatGrad), nil
			},
		}}
	}
	if n <= 4096 && spins <= 1<<10 { // PyTorch's products take seconds beyond
		op.rivals = append(op.rivals, e.pyTorchGram(ours, n, spins, kernel)...)
	}
	return op
}

// isingMoves returns a batch of configurations of an L×L lattice, close to
// equilibrium at β = 0.2, and where one multi-spin Metropolis step takes them.
func isingMoves(n, side int) (s, t []uint64, err error) {
	const beta, steps = 0.2, 50
	model, err := bitspin.NewModel(side, 1, 0)
	if err != nil {
		return nil, nil, err
	}
	move := crash.Must(bitspin.NewMetropolis(model, beta, bitspin.MultiSpin()))
	s, t = make([]uint64, n*model.Words), make([]uint64, n*model.Words)
	asm.SignMask(s, noise(n*model.N, 1), n, model.N)
	var stats bitspin.Count
	for i := range steps {
		move.Run(nil, s, s, 0, n, 1, &asm.Counter{Seed: 2, Step: uint32(i)}, 0, &stats)
	}
	move.Run(nil, t, s, 0, n, 1, &asm.Counter{Seed: 3}, 0, &stats)
	return s, t, nil
}

// trainingMoves returns n samples of an untrained generator of the paper's preset at the
// given side, and where a proposal of several spins takes them. Training starts from such
// moves: nearly all are distinct and most are long, so that few of the kernel's terms
// coincide.
func (e *environment) trainingMoves(n, side int) (s, t []uint64, err error) {
	config := crash.Must(ising.Preset("paper"))
	config.Target.L, config.Training.Batch = side, n
	config.Transition.Proposal, config.Transition.Steps = "multi-spin", 1
	trainer, err := engine.NewTrainer(config, e.workers)
	if err != nil {
		return nil, nil, err
	}
	if _, err := trainer.System().Loss(trainer.Params(), 0); err != nil {
		return nil, nil, err
	}
	s, t = lastMoves[[]uint64](trainer.System())
	return s, t, nil
}

// A hammingShape has the numbers that the work of a batch's loss depends on.
type hammingShape struct {
	rows        int // distinct moves
	columns     int // distinct moves and reverse moves that do not cancel each other
	firstStates int // distinct configurations that columns begin with
	// farShare is the fraction of pairs of a row and a column that are so far apart that the
	// kernel is zero in single precision; farWords is how many words of 32 bits, on average,
	// have to be compared to see it.
	farShare, farWords float64
}

// reachOf returns the largest Hamming distance of two moves at which the kernel or its
// slope is a normal number in single precision.
func reachOf(k *mmd.Kernel, spins int) int {
	const leastNormal = 0x1p-126
	for h := 2 * spins; h > 0; h-- {
		if d := 4 * float64(h); k.Value(d) >= leastNormal || -k.Derivative(d) >= leastNormal {
			return h
		}
	}
	return 0
}

// measureFar sets farShare and farWords, from the columns of some of the rows. They stay 0 for
// up to 64 spins, whose few words are always compared to the end.
func (shape *hammingShape) measureFar(s, t []uint64, n, spins, reach int) {
	const sampleRows = 64
	if spins <= 64 || reach >= 2*spins {
		return
	}
	words := len(s) / n
	var pairs, far, farWords int
	for i := 0; i < n; i += (n + sampleRows - 1) / sampleRows {
		for j := range n {
			a, b, c, d := s[i*words:][:words], t[i*words:][:words], s[j*words:][:words], t[j*words:][:words]
			if slices.Equal(c, d) {
				continue // it cancels its reverse
			}
			for range 2 {
				pairs++
				if need := wordsBeyond(a, b, c, d, reach); need > 0 {
					far++
					farWords += need
				}
				c, d = d, c
			}
		}
	}
	if far > 0 {
		shape.farShare, shape.farWords = float64(far)/float64(pairs), float64(farWords)/float64(far)
	}
}

// wordsBeyond returns how many words of 32 bits have to be compared until the moves from a
// to b and from c to d differ in more than reach bits, 0 if they do not.
func wordsBeyond(a, b, c, d []uint64, reach int) (n int) {
	h := 0
	for _, pair := range [][2][]uint64{{a, c}, {b, d}} {
		for k, x := range pair[0] {
			x ^= pair[1][k]
			for _, half := range [2]uint32{uint32(x), uint32(x >> 32)} {
				n++
				if h += bits.OnesCount32(half); h > reach {
					return n
				}
			}
		}
	}
	return 0
}

// shapeOf counts the rows and columns of n moves from s to t.
func shapeOf(s, t []uint64, n int) hammingShape {
	words := len(s) / n
	type move struct{ from, to string }
	text := func(x []uint64, i int) string { return fmt.Sprint(x[i*words:][:words]) }
	net := map[move]int{}
	seen, firsts := map[move]bool{}, map[string]bool{}
	for i := range n {
		a, b := text(s, i), text(t, i)
		seen[move{a, b}] = true
		net[move{a, b}]++
		net[move{b, a}]-- // a move with a = b cancels itself
	}
	shape := hammingShape{rows: len(seen)}
	for m, count := range net {
		if count != 0 {
			shape.columns++
			firsts[m.from] = true
		}
	}
	shape.firstStates = len(firsts)
	return shape
}

// patternBits is the number of spins that share an addition: columns are added up by the
// pattern of so many spins, and the sums are signed afterwards.
const patternBits = 6

// hammingPhase counts the loss and gradient. A row and a column take an exclusive or and a
// population count of every 32 bits, a look-up for the loss and one for the gradient, and a
// weighted sum of each. A row and a first configuration take an addition for every few
// spins. Where the kernel is zero, only farWords are compared.
func hammingPhase(name string, path asm.Path, shape hammingShape, spins int) phase {
	nearShare := 1 - shape.farShare
	pairs, words := float64(shape.rows)*float64(shape.columns), float64((2*spins+31)/32)
	nearPairs := nearShare * pairs
	p := phase{name: name, counts: work{
		Integer: 2*words*nearPairs + 2*shape.farWords*shape.farShare*pairs,
		FMA:     2 * nearPairs,
		Float:   2*nearPairs + nearShare*float64(shape.rows)*float64(shape.firstStates)*float64((spins+patternBits-1)/patternBits),
	}}
	if steps := lookupSteps(path, 2*spins+1); steps > 0 {
		p.counts[Lookup] = 2 * float64(steps) * nearPairs
	} else {
		p.counts[Read] = 2 * 4 * nearPairs
		p.bytes = 2 * 4 * (2*spins + 1)
	}
	return p
}

// lookupSteps returns how many steps of asm.ProbeLookup find an entry of a table, or 0
// where loading the entry is less work. With AVX-512 one entry beyond a multiple
// of 32 takes no further step.
func lookupSteps(path asm.Path, entries int) int {
	switch {
	case path == asm.AVX512 && entries <= 129:
		return max(1, (entries-1+31)/32)
	case path == asm.AVX2 && entries <= 32:
		return (entries + 7) / 8
	case path == asm.Generic:
		return 1
	}
	return 0
}
