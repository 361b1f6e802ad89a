package ising

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
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

// Observables returns energy E, m, |m|, the magnetisation of a chessboard
// and the correlation over half the side, of lattices that have them.
func (s *measured) Observables() []string {
	var names []string
	for _, i := range sees(s.model.L) {
		names = append(names, seenNames[i])
	}
	return names
}

// observe sets values, [configurations][stride], of packed configurations.
func (s *measured) observe(values []float64, stride int, states []uint64) {
	model, all, n := s.model, sees(s.model.L), float64(s.model.N)
	board := chessboard(model)
	rows, g := make([]uint32, model.L), make([]float64, axialDistances(model.L))
	for len(states) > 0 {
		config := states[:model.Words]
		e, m := model.Energy(config), float64(model.Magnetisation(config))/n
		of := [seen]float64{seenEnergy: e, seenMagnetisation: m, seenAbsMagnetisation: math.Abs(m)}
		for i, k := range all {
			switch k {
			case seenStaggered:
				differ := 0
				for w, x := range config {
					differ += bits.OnesCount64(x ^ board[w])
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

// walkers are an engine.Walk of configurations.
type walkers struct {
	s       *measured
	kernel  spins.Kernel
	purpose rng.Purpose
	states  []uint64
	first   uint64 // the first of a block of sweeps
	piece   int    // configurations that move together
	slice   int    // steps between looks at the context
	flips   bool   // by chance, all spins at once, at every call
	calls   uint32
	// weigh, if not nil, sets dst to the logarithms of the weights.
	weigh func(dst []float64, states []uint64)
}

func (s *measured) newWalkers(purpose rng.Purpose, n int) *walkers {
	const flips = 1 << 26
	return &walkers{s: s, kernel: s.moving, purpose: purpose, states: make([]uint64, n*s.model.Words),
		piece: spins.PieceOf(s.moving), slice: min(s.config.mostSteps(), max(1, flips/(n*s.model.N)))}
}

// walk returns samples that walk.
func (s *measured) walk(params []float32, first uint64, n int) (*walkers, error) {
	if err := s.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := s.newWalkers(rng.WalkTransition, n)
	w.first = first / bitspin.SweepBlock * bitspin.SweepBlock
	s.newSampler(params).draw(w.states, first, 0)
	return w, nil
}

// chains returns configurations of which a third each begin with all spins up, with
// all down, and at random. Heat-bath sweeps redraw them; without a field so does,
// at every call by chance, a flip of all spins, which costs no energy.
func (s *measured) chains(n int) (*walkers, error) {
	kernel, err := bitspin.NewSweeper(s.model, s.config.Target.Beta)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	w := s.newWalkers(rng.ChainTransition, n)
	w.kernel, w.piece, w.slice, w.flips = kernel, bitspin.SweepBlock, max(1, w.slice/4), s.model.H == 0
	from := rng.Stream(s.config.Training.Seed, rng.ChainStart, 0)
	var draw [4]uint32
	for i := range n {
		config := w.states[i*s.model.Words:][:s.model.Words]
		for k := range config {
			if i%3 == 2 {
				asm.PhiloxBlocks(draw[:], &from, uint64(i*s.model.Words+k))
				config[k] = uint64(draw[1])<<32 | uint64(draw[0])
			}
		}
		if i%3 == 0 {
			w.invert(config)
		}
		config[len(config)-1] &= w.top()
	}
	return w, nil
}

// Walk implements engine.Observer.
func (s *measured) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	return s.walk(params, first, n)
}

// Chains implements engine.Observer.
func (s *measured) Chains(_ []float32, n int) (engine.Walk, error) { return s.chains(n) }

// top has the bits of a configuration's last word.
func (w *walkers) top() uint64 { return math.MaxUint64 >> (-w.s.model.N & 63) }

// invert flips all spins.
func (w *walkers) invert(config []uint64) {
	for k := range config {
		config[k] = ^config[k]
	}
	config[len(config)-1] &= w.top()
}

// Advance implements engine.Walk.
func (w *walkers) Advance(ctx context.Context, steps int) error {
	words := w.s.model.Words
	n := len(w.states) / words
	for ; steps > 0; steps -= w.slice {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.calls == math.MaxUint32 {
			return fmt.Errorf("the walk's random numbers have come to their end")
		}
		moving := rng.Stream(w.s.config.Training.Seed, w.purpose, w.calls)
		w.calls++
		w.s.workers.Run((n+w.piece-1)/w.piece, func(piece int) {
			var stats bitspin.Stats
			c := moving
			w.kernel.Run(w.states, w.states, piece*w.piece, min(n, (piece+1)*w.piece), min(w.slice, steps), &c, w.first, &stats)
		})
	}
	if w.flips {
		w.flip()
	}
	return nil
}

// flip inverts half of the configurations.
func (w *walkers) flip() {
	words := w.s.model.Words
	c := rng.Stream(w.s.config.Training.Seed, rng.ChainStart, w.calls)
	var draw [4]uint32
	for i := 0; i*words < len(w.states); i++ {
		if i%128 == 0 {
			asm.PhiloxBlocks(draw[:], &c, uint64(i/128))
		}
		if draw[i/32%4]>>(i%32)&1 != 0 {
			w.invert(w.states[i*words:][:words])
		}
	}
}

// Observe implements engine.Walk.
func (w *walkers) Observe(values []float64) {
	w.ObserveUnweighted(values)
	n := len(w.states) / w.s.model.Words
	if w.weigh == nil || n == 0 {
		return
	}
	stride, weights := len(values)/n, make([]float64, n)
	w.weigh(weights, w.states)
	for i, v := range weights {
		values[i*stride+stride-1] = v
	}
}

// ObserveUnweighted implements engine.UnweightedWalk.
func (w *walkers) ObserveUnweighted(values []float64) {
	words := w.s.model.Words
	n := len(w.states) / words
	if n == 0 {
		return
	}
	const rows = 256
	stride := len(values) / n
	w.s.workers.Run((n+rows-1)/rows, func(piece int) {
		lo, hi := piece*rows, min((piece+1)*rows, n)
		w.s.observe(values[lo*stride:], stride, w.states[lo*words:hi*words])
	})
}

// Observables adds the weight to those of any generator.
func (s *hierarchical) Observables() []string {
	return append(s.measured.Observables(), engine.LogWeight)
}

// weigher returns ln π − ln q + const as a function of configurations.
func (s *hierarchical) weigher(params []float32) func(dst []float64, states []uint64) {
	sampler := s.Model().NewSampler(params, s.workers)
	return func(dst []float64, states []uint64) {
		sampler.R(dst, states)
		for i := range dst {
			dst[i] = -dst[i]
		}
	}
}

// Walk implements engine.Observer.
func (s *hierarchical) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	w, err := s.walk(params, first, n)
	if err != nil {
		return nil, err
	}
	w.weigh = s.weigher(params)
	return w, nil
}

// Chains implements engine.Observer.
func (s *hierarchical) Chains(params []float32, n int) (engine.Walk, error) {
	w, err := s.chains(n)
	if err != nil {
		return nil, err
	}
	w.weigh = s.weigher(params)
	return w, nil
}

var (
	_ engine.Observer = (*measured)(nil)
	_ engine.Observer = (*hierarchical)(nil)
)
