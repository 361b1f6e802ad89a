package spins

import (
	"fmt"
	"math"
	"sync"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
)

// A Sweeper is a transition kernel p(s, s′) in detailed balance with the Boltzmann
// law of a graph that redraws every spin: heat-bath sweeps, for Lanes samples at
// a time. It is immutable and may be used by any number of goroutines.
//
// A colour's update redraws an independent set of spins from their conditional
// law given the others, which is a self-adjoint projection in L²(π) whatever the
// order of its spins. A product of such updates is in detailed balance if it
// reads the same in both directions, so n sweeps take the colours as
//
//	0 1 … c … 1 0 1 … c … 1 0, n times there and back.
//
// The order is the same for all samples, and leaves them independent.
type Sweeper struct {
	heat    *heatBath
	colours [][]int32
	free    sync.Pool // *lanes
}

// NewSweeper returns the sweeps of a graph at inverse temperature beta ≥ 0.
func NewSweeper(g *Graph, beta float64) (*Sweeper, error) {
	if err := g.CheckTemperature(beta); err != nil {
		return nil, err
	}
	s := &Sweeper{heat: newHeatBath(g, beta), colours: g.Colours()}
	s.free.New = func() any { return s.heat.newLanes() }
	return s, nil
}

// order calls update for the colours of n sweeps, in order.
func (s *Sweeper) order(n int, update func(colour int)) {
	bitspin.SweepOrder(len(s.colours), n, update)
}

// updates returns how many spins n sweeps redraw.
func (s *Sweeper) updates(n int) (total uint64) {
	s.order(n, func(colour int) { total += uint64(len(s.colours[colour])) })
	return total
}

// BlockSize returns Lanes.
func (s *Sweeper) BlockSize() int { return Lanes }

// MaxSteps returns the number of sweeps that a stream has draws for, for all of its samples.
func (s *Sweeper) MaxSteps() int {
	const maxUpdates = 1 << 52 / (MaxSamples / Lanes)
	first := s.updates(1)                  // less than 2·MaxSpins
	perSweep := max(1, s.updates(2)-first) // the difference is 0 with a single colour
	return int(min(math.MaxInt32, 1+(maxUpdates-first)/perSweep))
}

// Run implements Kernel, for samples below MaxSamples. It counts the spins that were redrawn
// and those that ended flipped. firstSample+lo must be a multiple of Lanes. Draws depend on the
// number of sweeps, so a call with two is not two calls with one.
func (s *Sweeper) Run(halted func() bool, dst, src []uint64, lo, hi int, sweeps int, c *rng.Counter, firstSample uint64, st *bitspin.Count) {
	words := s.heat.graph.Words()
	first := firstSample + uint64(lo)
	updates := s.updates(sweeps)
	switch {
	case hi < lo || first%Lanes != 0 || first+uint64(hi-lo) > MaxSamples:
		panic(fmt.Sprintf("spins: sweeps of samples %d to %d, not of blocks of %d below %d", first, first+uint64(hi-lo), Lanes, uint64(MaxSamples)))
	case sweeps < 0 || updates > 1<<52 || (first+uint64(hi-lo))/Lanes*updates > 1<<52:
		panic(fmt.Sprintf("spins: %d sweeps of %d samples exceed a stream", sweeps, first+uint64(hi-lo)))
	}
	dst, src = dst[lo*words:hi*words], src[lo*words:hi*words]
	l := s.free.Get().(*lanes)
	defer s.free.Put(l)
	stopped := false
	for len(src) > 0 {
		n := min(Lanes*words, len(src))
		bitspin.Columns(l.spins, src[:n], len(l.spins), 1)
		s.heat.tabulate(l)
		position := first / Lanes * updates
		s.order(sweeps, func(colour int) {
			if stopped = stopped || halted != nil && halted(); stopped {
				return
			}
			s.heat.update(l, s.colours[colour], c, position)
			position += uint64(len(s.colours[colour]))
		})
		st.Add(bitspin.Count{Proposed: uint64(n/words) * updates, Accepted: bitspin.Rows(dst[:n], src[:n], l.spins, len(l.spins), 1)})
		dst, src, first = dst[n:], src[n:], first+Lanes
	}
}
