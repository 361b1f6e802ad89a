package bench

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/mmd"
)

var hammingSuite = Suite{
	Name:    "hamming",
	Summary: "reversibility loss and gradient of spins on L×L lattices, one Gaussian",
	Size:    "NxL",
	Sizes:   []string{"2048x3", "8192x3", "2048x4", "2048x8"},
	rows:    hammingRows,
}

// isingKernel is the kernel of the Ising model's paper preset.
var isingKernel = mmd.Kernel{Bandwidths: []float64{2}}

func hammingRows(e *environment, size string) ([]*operation, error) {
	v, err := parseSize(size, 2, "NxL")
	if err != nil {
		return nil, err
	}
	n, side := v[0], v[1]
	s, t, err := isingMoves(n, side)
	if err != nil {
		return nil, err
	}
	spins := side * side
	h, err := mmd.NewHamming(n, spins, isingKernel, mmd.Surrogate, mmd.V, e.workers)
	if err != nil {
		return nil, err
	}
	g, err := mmd.NewGram(n, spins, isingKernel, mmd.V, e.workers)
	if err != nil {
		return nil, err
	}
	var loss, floatLoss float64
	grad, floatGrad := make([]float32, n*spins), make([]float32, n*spins)
	floatS, floatT := make([]float32, n*spins), make([]float32, n*spins)
	asm.Unpack(floatS, s, n, spins)
	asm.Unpack(floatT, t, n, spins)
	rows, columns := distinctMoves(s, t, n)
	op := &operation{
		name: "loss-gradient/" + size, amount: float64(n) * float64(n-1) / 2, unit: "pair",
		need: need{hammingPhase("", rows, columns, spins)},
		call: func() { loss = h.LossGradient(s, t, grad) },
		note: fmt.Sprintf("unordered pairs of samples; %d distinct moves, %d signed columns", rows, columns),
		rivals: []rival{{
			name: "our float Gram",
			call: func() { floatLoss = g.LossGradient(floatS, floatT, floatGrad) },
			prepare: func(*peers.Process) (agreement, error) {
				floatLoss = g.LossGradient(floatS, floatT, floatGrad)
				return lossAgreement(loss, floatLoss, grad, floatGrad), nil
			},
		}},
	}
	if n <= 4096 {
		op.rivals = append(op.rivals, e.pyTorch(rival{
			unlike: "three dense Gram matrices, automatic differentiation",
			prepare: func(p *peers.Process) (agreement, error) {
				return agreeOnGram(p, n, spins, isingKernel, func(p *peers.Process, words ...any) (agreement, error) {
					if err := p.Load("s", floatS); err != nil {
						return agreement{}, err
					}
					if err := p.Load("t", floatT); err != nil {
						return agreement{}, err
					}
					theirLoss, theirs := make([]float64, 1), make([]float32, n*spins)
					if err := once(p, words, map[string]any{"loss": theirLoss, "grad": theirs}); err != nil {
						return agreement{}, err
					}
					return lossAgreement(loss, theirLoss[0], grad, theirs), nil
				})
			},
		})...)
	}
	return []*operation{op}, nil
}

// isingMoves returns a batch of configurations of an L×L lattice, close to
// equilibrium at β = 0.2, and where one multi-spin Metropolis step takes them.
func isingMoves(n, side int) (s, t []uint64, err error) {
	const beta, steps = 0.2, 50
	model, err := bitspin.NewModel(side, 1, 0)
	if err != nil {
		return nil, nil, err
	}
	move, err := bitspin.NewMetropolis(model, beta, bitspin.MultiSpin())
	if err != nil {
		return nil, nil, err
	}
	s, t = make([]uint64, n*model.Words), make([]uint64, n*model.Words)
	asm.SignMask(s, noise(n*model.N, 1), n, model.N)
	var stats bitspin.Stats
	for i := range steps {
		move.Run(s, s, 0, n, 1, &asm.Counter{Seed: 2, Step: uint32(i)}, 0, &stats)
	}
	move.Run(t, s, 0, n, 1, &asm.Counter{Seed: 3}, 0, &stats)
	return s, t, nil
}

// distinctMoves counts what the loss of a batch of moves reduces to: the
// distinct moves, each a row, and the columns, moves and reverse moves of
// distinct configurations that do not balance each other.
func distinctMoves(s, t []uint64, n int) (rows, columns int) {
	words := len(s) / n
	net := map[string]int{}
	key := func(a, b []uint64) string { return fmt.Sprint(a, b) }
	seen := map[string]bool{}
	for i := range n {
		a, b := s[i*words:][:words], t[i*words:][:words]
		seen[key(a, b)] = true
		net[key(a, b)]++
		net[key(b, a)]-- // cancels where a = b
	}
	for _, count := range net {
		if count != 0 {
			columns++
		}
	}
	return len(seen), columns
}

// hammingPhase counts the loss and gradient of rows distinct moves against
// signed columns: per pair of them an exclusive or and a population count of
// every 32 bits, two table look-ups, a sum of the loss, and one of each spin.
func hammingPhase(name string, rows, columns, spins int) phase {
	pairs, words := float64(rows)*float64(columns), float64((2*spins+31)/32)
	return phase{name: name, counts: map[Resource]float64{
		Integer: pairs * (2*words + 2),
		Float:   pairs * (1 + float64(spins)),
	}}
}
