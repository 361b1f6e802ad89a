package main

/*
#include "revgen.h"
*/
import "C"

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
)

// A spinTarget is the host's target of spins.
type spinTarget struct {
	sites     int
	energies  func(dst []float64, batch []uint64)
	newFlips  func() (spins.Kernel, error)
	newSweeps func() (spins.Kernel, error)
}

// newSpinTarget copies the target that the host describes.
func newSpinTarget(t *C.revgen_spins) (*spinTarget, error) {
	switch {
	case t == nil:
		return nil, argument("target: a null pointer")
	case t.size != C.sizeof_revgen_spins:
		return nil, &failure{C.REVGEN_VERSION, "target: its size is not that of this version's"}
	case t.side > 0 && (t.sites > 0 || t.edges > 0):
		return nil, argument("target: both a lattice (side) and a graph (sites, edges)")
	case t.side > bitspin.MaxSide:
		return nil, argument(fmt.Sprintf("target: side: %d is more than %d", uint64(t.side), bitspin.MaxSide))
	}
	beta := float64(t.beta)
	if t.side > 0 {
		model, err := bitspin.NewModel(int(t.side), float64(t.coupling), float64(t.field))
		if err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
		return &spinTarget{
			model.N, model.Energies,
			func() (spins.Kernel, error) { return bitspin.NewMetropolis(model, beta, bitspin.SingleSpin()) },
			func() (spins.Kernel, error) { return bitspin.NewSweeper(model, beta) },
		}, nil
	}
	switch {
	case t.sites < 1 || t.sites > spins.MaxSpins:
		return nil, argument(fmt.Sprintf("target: sites: %d is not between 1 and %d", uint64(t.sites), spins.MaxSpins))
	case t.edges > spins.MaxEdges:
		return nil, argument(fmt.Sprintf("target: edges: %d are more than %d", uint64(t.edges), spins.MaxEdges))
	case t.edges > 0 && (t.edge == nil || t.couplings == nil):
		return nil, argument("target: edge or couplings: a null pointer")
	}
	h := spins.Hamiltonian{Spins: int(t.sites), Edges: make([]spins.Edge, t.edges)}
	pairs, couplings := unsafe.Slice((*uint32)(t.edge), 2*len(h.Edges)), unsafe.Slice((*float64)(t.couplings), len(h.Edges))
	for k := range h.Edges {
		h.Edges[k] = spins.Edge{I: int(pairs[2*k]), J: int(pairs[2*k+1]), Coupling: couplings[k]}
	}
	if t.fields != nil {
		h.Fields = append(h.Fields, unsafe.Slice((*float64)(t.fields), h.Spins)...)
	}
	g, err := spins.NewGraph(h)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return &spinTarget{
		g.N(), g.Energies,
		func() (spins.Kernel, error) { return spins.NewMetropolis(g, beta, 0) },
		func() (spins.Kernel, error) { return spins.NewSweeper(g, beta) },
	}, nil
}

// batch returns the host's packed states.
func (l *spinTarget) batch(states *C.uint64_t, count C.uint64_t, size C.size_t) ([]uint64, error) {
	words := bitspin.Words(l.sites)
	row := C.size_t(8 * words)
	switch {
	case states == nil && size > 0:
		return nil, argument("states: a null pointer")
	case size > math.MaxInt64 || size%row != 0 || size/row != C.size_t(count):
		return nil, argument(fmt.Sprintf("size: not that of the states, of %d bytes each", uint64(row)))
	case uintptr(unsafe.Pointer(states))%8 != 0:
		return nil, argument("states: not at a multiple of 8 bytes")
	}
	batch := unsafe.Slice((*uint64)(states), int(size/8))
	if tail := l.sites & 63; tail != 0 {
		for i := words - 1; i < len(batch); i += words {
			if batch[i]>>tail != 0 {
				return nil, argument(fmt.Sprintf("states: state %d has bits beyond its %d spins", i/words, l.sites))
			}
		}
	}
	return batch, nil
}

//export revgenMetropolis
func revgenMetropolis(id C.revgen, target *C.revgen_spins, kind C.int, steps, seed C.uint64_t, stream C.uint32_t, first, count C.uint64_t, states *C.uint64_t, size C.size_t) C.int {
	return call(id, func(ctx context.Context, h *handle) error {
		l, err := newSpinTarget(target)
		if err != nil {
			return err
		}
		batch, err := l.batch(states, count, size)
		if err != nil {
			return err
		}
		newKernel := l.newFlips
		switch kind {
		case C.REVGEN_FLIPS:
		case C.REVGEN_SWEEPS:
			newKernel = l.newSweeps
		default:
			return argument(fmt.Sprintf("kind: %d is neither REVGEN_FLIPS nor REVGEN_SWEEPS", int(kind)))
		}
		k, err := newKernel()
		if err != nil {
			return fmt.Errorf("target: %w", err)
		}
		return h.walk(ctx, k, batch, bitspin.Words(l.sites), uint64(steps), rng.Stream(uint64(seed), rng.ChainTransition, uint32(stream)), uint64(first))
	})
}

// walk takes a batch of packed states along a kernel.
func (h *handle) walk(ctx context.Context, k spins.Kernel, batch []uint64, words int, steps uint64, c rng.Counter, first uint64) error {
	n := len(batch) / words
	switch {
	case steps > uint64(k.MaxSteps()):
		return argument(fmt.Sprintf("steps: %d are more than the %d that one stream has random numbers for; go on with another", steps, k.MaxSteps()))
	case first%uint64(k.BlockSize()) != 0:
		return argument(fmt.Sprintf("first: %d is not a multiple of the %d chains that draw together", first, k.BlockSize()))
	case first > spins.MaxSamples || uint64(n) > spins.MaxSamples-first:
		return argument(fmt.Sprintf("first: chains %d to %d are beyond the %d of a stream", first, first+max(uint64(n), 1)-1, uint64(spins.MaxSamples)))
	case n == 0:
		return nil
	}
	workers := engine.NewWorkers(h.threads)
	defer workers.Close()
	defer workers.Heed(ctx)()
	piece := sites.PieceOf(k)
	workers.Run((n+piece-1)/piece, func(i int) {
		counter, stats := c, bitspin.Count{}
		k.Run(workers.Halted, batch, batch, i*piece, min(n, (i+1)*piece), int(steps), &counter, first, &stats)
	})
	return ctx.Err()
}

//export revgenSpinEnergies
func revgenSpinEnergies(id C.revgen, target *C.revgen_spins, count C.uint64_t, states *C.uint64_t, size C.size_t, energies *C.double) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		l, err := newSpinTarget(target)
		if err != nil {
			return err
		}
		batch, err := l.batch(states, count, size)
		if err != nil {
			return err
		}
		if energies == nil && count > 0 {
			return argument("energies: a null pointer")
		}
		l.energies(unsafe.Slice((*float64)(energies), int(count)), batch)
		return nil
	})
}
