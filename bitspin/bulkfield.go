package bitspin

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// A fieldSweep performs Metropolis sweeps on a block of replicas in a field, with
// an independent draw for each site of each replica. Sites are visited in their
// order. A flip is accepted with probability λ min{1, exp(−βΔE)}, λ = 63/64,
// rounded to multiples of 2⁻³²; asm.Sweep says why λ < 1.
//
// As there, draws are compared with the acceptance bit by bit for all replicas
// together, but one of ten thresholds belongs to each replica, by its spin and
// the number of its neighbours that are up.
type fieldSweep struct {
	l      int
	planes [fieldPlanes][]int // the classes whose threshold has this bit, the highest first
}

// fieldClasses are those of a spin down and of one up, by its neighbours up.
const fieldClasses = 2 * 5

const (
	fieldPlanes   = 32
	fieldAttempt  = 63.0 / 64
	drawnPlanes   = 4 // drawn at a time
	planeBlocks   = asm.ReplicaWords * 2 / 4
	blocksPerSite = fieldPlanes * planeBlocks
)

func newFieldSweep(m Model, beta float64) *fieldSweep {
	f := &fieldSweep{l: m.L}
	for spin := range 2 {
		s := float64(2*spin - 1)
		for up := range 5 {
			cost := 2 * s * (m.J*float64(2*up-4) + m.H)
			p := fieldAttempt * math.Exp(min(0, -beta*cost))
			threshold := uint64(math.RoundToEven(math.Ldexp(p, fieldPlanes)))
			for k := range f.planes {
				if threshold>>(fieldPlanes-1-k)&1 != 0 {
					f.planes[k] = append(f.planes[k], 5*spin+up)
				}
			}
		}
	}
	return f
}

type replicas = [asm.ReplicaWords]uint64

// run performs a sweep on block number block. Site i draws from block
// (block·N + i)·blocksPerSite of the stream on.
func (f *fieldSweep) run(spins []uint64, c *asm.Counter, block int) {
	l := f.l
	index := uint64(block) * uint64(l*l) * blocksPerSite
	for row := range l {
		for col := range l {
			f.visit(spins, c, index, row, col)
			index += blocksPerSite
		}
	}
}

// visit takes the step of one site.
func (f *fieldSweep) visit(spins []uint64, c *asm.Counter, index uint64, row, col int) {
	l := f.l
	here := replicaWords(spins, row*l+col)
	above, below := replicaWords(spins, (row+l-1)%l*l+col), replicaWords(spins, (row+1)%l*l+col)
	left, right := replicaWords(spins, row*l+(col+l-1)%l), replicaWords(spins, row*l+(col+1)%l)
	var class [fieldClasses]replicas // which replicas are of it
	for i := range here {
		x, y, z, w := above[i], below[i], left[i], right[i]
		// A full adder of x, y and z, and a half adder of its sum and w.
		sum := x ^ y ^ z
		carry, again := x&y|z&(x^y), sum&w
		ones, twos := sum^w, carry^again
		for up, of := range [5]uint64{^(ones | twos | carry&again), ones &^ twos, twos &^ ones, ones & twos, carry & again} {
			class[up][i], class[5+up][i] = of&^here[i], of&here[i]
		}
	}
	var accepted, open replicas // open: not yet decided
	for i := range open {
		open[i] = math.MaxUint64
	}
	var words [drawnPlanes * 2 * asm.ReplicaWords]uint32
	for first := 0; first < fieldPlanes; first += drawnPlanes {
		asm.PhiloxBlocks(words[:], c, index+uint64(first*planeBlocks))
		var undecided uint64
		for p := range drawnPlanes {
			draw := words[p*2*asm.ReplicaWords:][:2*asm.ReplicaWords]
			var threshold replicas
			for _, c := range f.planes[first+p] {
				for i, of := range &class[c] {
					threshold[i] |= of
				}
			}
			for i := range open {
				random := join(draw[2*i], draw[2*i+1])
				accepted[i] |= open[i] & threshold[i] &^ random
				open[i] &^= threshold[i] ^ random
			}
		}
		for _, x := range open {
			undecided |= x
		}
		if undecided == 0 {
			break
		}
	}
	for i := range here {
		here[i] ^= accepted[i]
	}
}
