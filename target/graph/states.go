package graph

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
)

// Energies implements engine.Weigher.
func (s *system) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	packed, err := spins.ReadStates(format, states, s.graph.N())
	words := s.graph.Words()
	if err == nil && len(packed) != len(dst)*words {
		err = fmt.Errorf("states: there are %d for %d energies", len(packed)/words, len(dst))
	}
	if err != nil {
		return 0, err
	}
	const rows = 1024
	s.workers.Run((len(dst)+rows-1)/rows, func(piece int) {
		lo, hi := piece*rows, min((piece+1)*rows, len(dst))
		s.graph.Energies(dst[lo:hi], packed[lo*words:hi*words])
	})
	return s.config.Target.Beta, nil
}

// Refine implements engine.Refiner.
func (s *system) Refine(states []byte, format string, first uint64, steps int) error {
	packed, err := spins.ReadStates(format, states, s.graph.N())
	if err == nil {
		err = s.Reach(first, uint64(len(packed)/s.graph.Words()), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	// Sweeps take whole blocks.
	start := first / spins.Lanes * spins.Lanes
	before := int(first-start) * s.graph.Words()
	whole := append(make([]uint64, before), packed...)
	s.sweep(whole, start, steps, rng.Stream(s.config.Training.Seed, rng.SampleTransition, 0))
	if format == "bits" {
		spins.WriteBits(states, whole[before:])
	} else {
		spins.WriteSigns(states, whole[before:], s.graph.N())
	}
	return nil
}

var (
	_ engine.Weigher = (*system)(nil)
	_ engine.Refiner = (*system)(nil)
)
