package ising

import (
	"fmt"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/spins"
)

// Energies implements engine.Weigher.
func (s *measured) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	packed, err := spins.ReadStates(format, states, s.model.N)
	if err == nil && len(packed) != len(dst)*s.model.Words {
		err = fmt.Errorf("states: there are %d for %d energies", len(packed)/s.model.Words, len(dst))
	}
	if err != nil {
		return 0, err
	}
	const rows = 4096
	s.workers.Run((len(dst)+rows-1)/rows, func(piece int) {
		lo, hi := piece*rows, min((piece+1)*rows, len(dst))
		s.model.Energies(dst[lo:hi], packed[lo*s.model.Words:hi*s.model.Words])
	})
	return s.config.Target.Beta, nil
}

// Refine implements engine.Refiner.
func (s *measured) Refine(states []byte, format string, first uint64, steps int) error {
	packed, err := spins.ReadStates(format, states, s.model.N)
	if err == nil {
		err = s.Reach(first, uint64(len(packed)/s.model.Words), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	rows, from := nn.BlockRows(), first
	if s.config.sweeps() { // of whole blocks
		rows, from = bitspin.SweepBlock, first/bitspin.SweepBlock*bitspin.SweepBlock
	}
	before := int(first-from) * s.model.Words
	whole := make([]uint64, (before+len(packed)+rows*s.model.Words-1)/(rows*s.model.Words)*rows*s.model.Words)
	copy(whole[before:], packed)
	if !s.config.sweeps() {
		whole = whole[:len(packed)]
	}
	(&sampler{m: s}).move(whole, from, steps, rows)
	if moved := whole[before:][:len(packed)]; format == "bits" {
		spins.WriteBits(states, moved)
	} else {
		spins.WriteSigns(states, moved, s.model.N)
	}
	return nil
}

var (
	_ engine.Weigher = (*measured)(nil)
	_ engine.Refiner = (*measured)(nil)
)
