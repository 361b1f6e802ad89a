package bitspin

import (
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/revgen/revgen/asm"
)

// A Metropolis is the transition kernel p(s, s′) of the Metropolis–Hastings
// algorithm for one model, inverse temperature and symmetric proposal. It is
// immutable and may be used by any number of goroutines.
type Metropolis struct {
	model    Model
	proposer *proposer
	accept   acceptance
	// levels has a number for each state, nil beyond tabulatedSites. Entry
	// origin + levels[s′] − levels[s] of the acceptance table is for a move s → s′.
	levels  []int16
	scratch sync.Pool // *maskScratch, for multi-spin proposals on more than tabulatedSites sites
	flips   *Flips    // for the other proposals on more than 64 sites
}

// A maskScratch has room for the mask of a step, and reads a sample's random words.
type maskScratch struct {
	mask   []uint64
	reader wordReader
}

// NewMetropolis returns the transition kernel of a model at inverse
// temperature beta ≥ 0.
func NewMetropolis(model Model, beta float64, proposal Proposal) (*Metropolis, error) {
	if err := CheckTemperature(beta, model.EnergyRange()); err != nil {
		return nil, err
	}
	m := &Metropolis{model: model, proposer: newProposer(model.Lattice, proposal), accept: newAcceptance(model, beta)}
	if model.N <= tabulatedSites {
		m.levels = make([]int16, 1<<model.N)
		for s := range m.levels {
			bonds, magnetisation := model.small.difference(0, uint64(s))
			m.levels[s] = int16(bonds + m.accept.row*magnetisation)
		}
	}
	m.scratch.New = func() any { return &maskScratch{mask: make([]uint64, model.Words)} }
	m.flips = &Flips{&m.accept, model.N, model.Words, m.proposer.sites, uint64(proposal.global)}
	return m, nil
}

// CheckTemperature returns an error if there is no kernel at inverse temperature beta for
// energies that reach so far.
func CheckTemperature(beta, reach float64) error {
	if !(beta >= 0) || math.IsInf(beta, 0) {
		return fmt.Errorf("inverse temperature β = %v is not a finite number ≥ 0", beta)
	}
	if largest := beta * reach; !(largest <= 1e9) {
		return fmt.Errorf("β·E reaches %.3g; β, J and h must keep it below 1e9", largest)
	}
	return nil
}

// MaxSteps returns the number of steps that one stream has draws for.
func (m *Metropolis) MaxSteps() int { return m.proposer.MaxSteps() }

// BlockSize returns 1: each sample's draws are its own.
func (m *Metropolis) BlockSize() int { return 1 }

// Run takes the given number of Metropolis steps with each of the
// configurations lo … hi−1 of the batch src, storing the results in the batch
// dst, which may be src, and adds what was proposed and accepted to st.
//
// Configuration i draws the random numbers of sample firstSample+i of the
// stream, below MaxSamples, so the same bits result however a batch is split
// into ranges. steps is at most MaxSteps. Run does not allocate.
//
// It ends early, with results and counts of no use, soon after halted returns
// true, if it is not nil.
func (m *Metropolis) Run(halted func() bool, dst, src []uint64, lo, hi int, steps int, c *asm.Counter, firstSample uint64, st *Count) {
	words := m.model.Words
	checkStream(firstSample+uint64(lo), hi-lo, steps, m.MaxSteps())
	if m.proposer.decode == byFlips {
		m.flips.Run(halted, dst, src, lo, hi, steps, c, firstSample, st)
		return
	}
	dst, src = dst[lo*words:hi*words], src[lo*words:hi*words]
	copy(dst, src)
	firstSample += uint64(lo)
	if m.proposer.decode == floyd {
		m.runSubsets(halted, dst, steps, c, firstSample, st)
		return
	}
	m.runNarrow(halted, dst, steps, c, firstSample, st)
}

// runNarrow runs lattices of at most 64 sites. A strip of samples stays in the
// first-level cache for all steps.
func (m *Metropolis) runNarrow(halted func() bool, batch []uint64, steps int, c *asm.Counter, first uint64, st *Count) {
	g, table, levels := m.model.small, m.accept.table, m.levels
	row, origin := m.accept.row, m.accept.origin
	var drawn strip
	for ; len(batch) > 0; first += stripSize {
		s := batch[:min(stripSize, len(batch))]
		var accepted uint64
		for step := range steps {
			if ended(halted, step) {
				return
			}
			m.proposer.drawStrip(&drawn, c, first, step, len(s))
			for i, x := range s {
				mask := drawn.masks[i]
				var level int
				if levels != nil {
					level = int(levels[x^mask]) - int(levels[x])
				} else {
					bonds, magnetisation := g.difference(x, mask)
					level = bonds + row*magnetisation
				}
				_, accept := bits.Sub64(drawn.uniform(i), table[origin+level], 0) // the borrow, 0 or 1
				s[i] = x ^ mask&-accept
				accepted += accept
			}
		}
		st.Add(Count{uint64(steps * len(s)), accepted})
		batch = batch[len(s):]
	}
}

// runSubsets runs the multi-spin proposal on more than tabulatedSites sites.
func (m *Metropolis) runSubsets(halted func() bool, batch []uint64, steps int, c *asm.Counter, first uint64, st *Count) {
	lat := m.model.Lattice
	f := m.scratch.Get().(*maskScratch)
	defer m.scratch.Put(f)
	for ; len(batch) > 0; first++ {
		s := batch[:lat.Words]
		f.reader.reset(c, first)
		for step := range steps {
			if ended(halted, step) {
				return
			}
			m.proposer.drawSubset(f.mask, &f.reader)
			bonds, magnetisation := lat.Difference(s, f.mask)
			accepted := uint64(0)
			if join(f.reader.word(), f.reader.word()) < m.accept.threshold(bonds/4, magnetisation/2) {
				accepted = 1
				for w, x := range f.mask {
					s[w] ^= x
				}
			}
			st.Add(Count{1, accepted})
		}
		batch = batch[lat.Words:]
	}
}

// ended reports whether a run has been halted. It asks before every sixteenth step, from
// step 0 on.
func ended(halted func() bool, step int) bool { return step%16 == 0 && halted != nil && halted() }

func checkStream(first uint64, samples, steps, maxSteps int) {
	if samples < 0 || first+uint64(samples) > MaxSamples {
		panic(fmt.Sprintf("bitspin: samples %d to %d exceed the %d of a stream", first, first+uint64(samples), uint64(MaxSamples)))
	}
	if steps < 0 || steps > maxSteps {
		panic(fmt.Sprintf("bitspin: %d steps exceed the %d of a stream", steps, maxSteps))
	}
}

// A Count says how many proposals were made and how many accepted. Sweeps count the spins
// that were redrawn as proposed, and those that ended flipped as accepted.
type Count struct{ Proposed, Accepted uint64 }

// Add adds d to c.
func (c *Count) Add(d Count) {
	c.Proposed += d.Proposed
	c.Accepted += d.Accepted
}

// Rate returns the fraction accepted, 0 if nothing was proposed.
func (c Count) Rate() float64 { return float64(c.Accepted) / max(1, float64(c.Proposed)) }
