package bitspin

import (
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/revgen/revgen/asm"
)

// SweepBlock is the number of samples whose sweeps draw from one generator.
const SweepBlock = asm.ReplicaBits

// A Sweeper is a transition kernel p(s, s′) in detailed balance with the Boltzmann
// distribution of a model that redraws every spin: heat-bath sweeps, for
// SweepBlock samples at a time, each in a bit of its own and with draws of its
// own. It is immutable and may be used by any number of goroutines.
//
// Sites are coloured so that no two neighbours agree: by two colours for even L,
// by three for odd L. A colour's update K_c redraws all of its sites from their
// conditional distribution given the others. These do not touch each other's
// conditions, so that K_c is the same for any order of its sites, and satisfies
// detailed balance: it is a projection that is self-adjoint in L²(π). A product of
// such updates is self-adjoint if it reads the same in both directions. Therefore
// sweeps go through the colours and back,
//
//	n sweeps = 0 1 0 1 … 0,  or  0 1 2 1 0 1 2 1 … 0,
//
// with 1 + 2n or 1 + 4n updates, and n sweeps are the n-th power of one, as K_0 is
// a projection. The order is the same for all samples, and leaves them
// independent. Probabilities are rounded to multiples of 2⁻³².
type Sweeper struct {
	model   Model
	heat    *asm.LatticeHeatBath
	colours []*asm.Sites
	scratch sync.Pool // *replicas
}

// replicas are the samples of a block, which are swept together.
type replicas struct {
	spins     []uint64
	generator asm.Xoshiro
}

// NewSweeper returns the sweeps of a model at inverse temperature beta ≥ 0.
func NewSweeper(model Model, beta float64) (*Sweeper, error) {
	if err := CheckTemperature(beta, model.EnergyRange()); err != nil {
		return nil, err
	}
	var up [5]float64
	for k := range up {
		field := model.J*float64(2*k-4) + model.H
		up[k] = 1 / (1 + math.Exp(-2*beta*field))
	}
	s := &Sweeper{model: model, heat: asm.NewLatticeHeatBath(up)}
	for _, sites := range Colours(model.L) {
		s.colours = append(s.colours, asm.NewSites(neighbourhoods(model.L, sites)))
	}
	s.scratch.New = func() any { return &replicas{spins: make([]uint64, model.N*asm.ReplicaWords)} }
	return s, nil
}

// Colours returns the sites of each colour that a Sweeper redraws together. An
// odd row takes three colours, 0 1 0 1 … 2, and a site the sum of those of its row
// and column modulo 3.
func Colours(l int) [][]int {
	colours := make([][]int, 2+l%2)
	colour := func(i int) int {
		if i == l-1 && l%2 == 1 {
			return 2
		}
		return i % 2
	}
	for site := range l * l {
		k := (colour(site/l) + colour(site%l)) % len(colours)
		colours[k] = append(colours[k], site)
	}
	return colours
}

// neighbourhoods returns the given sites with their neighbours.
func neighbourhoods(l int, sites []int) []asm.Neighbourhood {
	list := make([]asm.Neighbourhood, len(sites))
	for i, site := range sites {
		row, col := site/l, site%l
		at := func(r, c int) uint32 { return uint32((r+l)%l*l + (c+l)%l) }
		list[i] = asm.Neighbourhood{uint32(site), at(row-1, col), at(row+1, col), at(row, col-1), at(row, col+1)}
	}
	return list
}

// SweepOrder calls update for the colours, of which there are as many as given,
// in the order of n sweeps.
func SweepOrder(colours, n int, update func(colour int)) {
	if n == 0 {
		return
	}
	last := colours - 1
	update(0)
	for range n {
		for c := 1; c <= last; c++ {
			update(c)
		}
		for c := last - 1; c >= 0; c-- {
			update(c)
		}
	}
}

// Run takes the given number of sweeps with each of the configurations lo … hi−1
// of the batch src, storing the results in the batch dst, which may be src, and
// counts the spins and those that ended flipped in st.
//
// Configuration i is sample firstSample+i of the stream, below MaxSamples. The
// random numbers of a block of SweepBlock samples, counted from sample 0, come
// from one generator, and how many are drawn depends on all of the block. So
// firstSample+lo must be the first of a block, and a block that is cut short gives
// other bits than the whole one. Otherwise Run is as Metropolis.Run.
func (s *Sweeper) Run(halted func() bool, dst, src []uint64, lo, hi int, sweeps int, c *asm.Counter, firstSample uint64, st *Count) {
	words := s.model.Words
	dst, src = dst[lo*words:hi*words], src[lo*words:hi*words]
	first := firstSample + uint64(lo)
	if first%SweepBlock != 0 || first+uint64(hi-lo) > MaxSamples {
		panic(fmt.Sprintf("bitspin: sweeps of samples %d to %d, not of blocks of %d below %d", first, first+uint64(hi-lo), SweepBlock, uint64(MaxSamples)))
	}
	if sweeps < 0 {
		panic(fmt.Sprintf("bitspin: %d sweeps", sweeps))
	}
	r := s.scratch.Get().(*replicas)
	defer s.scratch.Put(r)
	stopped := false
	for len(src) > 0 {
		n := min(SweepBlock*words, len(src))
		const seed = 16 // blocks of the stream that a generator's state takes
		r.generator.Seed(c, first/SweepBlock*seed)
		Columns(r.spins, src[:n], s.model.N, asm.ReplicaWords)
		SweepOrder(len(s.colours), sweeps, func(colour int) {
			if stopped = stopped || halted != nil && halted(); !stopped {
				s.heat.Redraw(r.spins, s.colours[colour], &r.generator)
			}
		})
		st.Add(Count{uint64(n / words * s.model.N), Rows(dst[:n], src[:n], r.spins, s.model.N, asm.ReplicaWords)})
		dst, src, first = dst[n:], src[n:], first+SweepBlock
	}
}

// MaxSteps returns no real limit: a block's generator draws for any number of sweeps.
func (s *Sweeper) MaxSteps() int { return math.MaxInt32 }

// BlockSize returns SweepBlock, the number of samples that draw from one generator.
func (s *Sweeper) BlockSize() int { return SweepBlock }

// Columns transposes packed configurations of n spins. dst has wide words for each spin, bit
// k of which is the spin of configuration k; bits beyond the batch are 0.
func Columns(dst, batch []uint64, n, wide int) {
	words := Words(n)
	rows := len(batch) / words
	var square [64]uint64
	for part := range wide {
		for w := range words {
			clear(square[:])
			for i := range min(64, max(0, rows-64*part)) {
				square[i] = batch[(64*part+i)*words+w]
			}
			asm.Transpose64(&square)
			for i, column := range square[:min(64, n-64*w)] {
				dst[(64*w+i)*wide+part] = column
			}
		}
	}
}

// Rows is the inverse of Columns: it stores the configurations in dst, which may be src,
// and returns how many spins differ from src.
func Rows(dst, src, columns []uint64, n, wide int) (changed uint64) {
	words := Words(n)
	rows := len(dst) / words
	var square [64]uint64
	for part := range wide {
		for w := range words {
			clear(square[:])
			for i := range min(64, n-64*w) {
				square[i] = columns[(64*w+i)*wide+part]
			}
			asm.Transpose64(&square)
			for i := range min(64, max(0, rows-64*part)) {
				at := (64*part+i)*words + w
				changed += uint64(bits.OnesCount64(src[at] ^ square[i]))
				dst[at] = square[i]
			}
		}
	}
	return changed
}
