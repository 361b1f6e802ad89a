package categories

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/asm"
)

const block = 64 // samples that are drawn together

// A table of a star is kept if it has at most maxEntries, and at most maxEntriesPerSharer for each
// star that shares it.
const (
	maxEntries          = 1 << 16
	maxEntriesPerSharer = 1 << 10
)

// A factor holds the weights e^(−β(e − low)) of a pair, [states of the neighbour][states of the
// site], or of a field.
type factor struct {
	energy []float64 // pairs with equal energies share the slice, and the factor
	weight []float64
	low    float64 // the lowest energy of a pair, the first of a field
}

// factors hold the factors of all pairs and fields at one β.
type factors struct {
	all       []factor
	pairIndex map[*float64]int // index of a pair's factor, by the first entry of its energies
	beta      float64
}

// addFactor returns the index of a new factor.
func (f *factors) addFactor(e []float64, low float64) int {
	f.all = append(f.all, factor{e, make([]float64, len(e)), low})
	return len(f.all) - 1
}

// pairFactor returns the index of a pair's factor, which it adds if there is none.
func (f *factors) pairFactor(e []float64) int {
	k, ok := f.pairIndex[&e[0]]
	if !ok {
		if f.pairIndex == nil {
			f.pairIndex = map[*float64]int{}
		}
		low, _, _ := extremes(e)
		k = f.addFactor(e, low)
		f.pairIndex[&e[0]] = k
	}
	return k
}

// setWeights computes the weights at inverse temperature β.
func (f *factors) setWeights(beta float64) {
	f.beta = beta
	for k := range f.all {
		a := &f.all[k]
		for i, e := range a.energy {
			a.weight[i] = math.Exp(-beta * (e - a.low))
		}
	}
}

// A conditional is the law of one site given some of its neighbours j. The weight of state s is
// e^(−βf(s)) Π_j e^(−βe_j(x_j, s)).
type conditional struct {
	site       int
	q          int // number of its states
	neighbours []int32
	pairs      []int // indices of the neighbours' factors
	field      int   // index of the field's factor, −1 for none
}

// weigh sets w to the weights e^(−β(E(s) − low)) of the site's states, and returns low.
func (c *conditional) weigh(w *[MaxStates]float64, f *factors, x func(site int32) byte) (low float64) {
	for s := range c.q {
		w[s] = 1
	}
	if c.field >= 0 {
		a := &f.all[c.field]
		copy(w[:], a.weight)
		low = a.low
	}
	for k, j := range c.neighbours {
		a := &f.all[c.pairs[k]]
		low += a.low
		for s, v := range a.weight[int(x(j))*c.q:][:c.q] {
			w[s] *= v
		}
	}
	return low
}

// setThresholds sets dst to the len(w)−1 thresholds by which drawState draws states with weights w.
// If dst is longer, the other thresholds are MaxUint32.
func setThresholds(dst []uint32, w []float64) {
	var sum float64
	for _, v := range w {
		sum += v
	}
	var below float64
	for s := range dst {
		dst[s] = math.MaxUint32
		if s < len(w)-1 {
			below += w[s]
			dst[s] = uint32(min(math.RoundToEven(0x1p32*below/sum), math.MaxUint32))
		}
	}
}

// drawState returns the number of thresholds that are at most a random word.
func drawState(thresholds []uint32, word uint32) (s byte) {
	for _, x := range thresholds {
		if x <= word {
			s++
		}
	}
	return s
}

// A table holds a star's thresholds and ln W for all states x of the sites that it touches, which have
// entry Σ_j x_j strides_j.
type table struct {
	star       *star // one of the stars that share the table
	sizes      []int // number of states of each site
	strides    []int32
	thresholds []uint32  // as asm.CategoryDraw takes them
	logW       []float64 // nil where it is not needed
}

// thresholdCount returns the number of thresholds of an entry for q states.
func thresholdCount(q int) int { return 1<<bits.Len(uint(q-1)) - 1 }

// indices sets the samples' entries. They fit 16 bits, so that two words sum up those of eight
// samples.
func (t *table) indices(index *[block]int32, state []byte, sites []int32) {
	const bytes, half = 0x00ff00ff00ff00ff, 0xffff
	for b := 0; b < block; b += 8 {
		var even, odd uint64
		for j, site := range sites {
			x, stride := binary.LittleEndian.Uint64(state[int(site)*block+b:]), uint64(t.strides[j])
			even += (x & bytes) * stride
			odd += (x >> 8 & bytes) * stride
		}
		eight := (*[8]int32)(index[b:])
		for k := 0; k < 8; k += 2 {
			eight[k], eight[k+1] = int32(even&half), int32(odd&half)
			even, odd = even>>16, odd>>16
		}
	}
}

// draw draws the centre of a star, the leaves summed out, for a block.
func (l *law) draw(s *star, state []byte, words *[block]uint32) {
	q, dst := s.centre.q, (*[block]byte)(state[s.centre.site*block:])
	if s.table >= 0 {
		t := &l.tables[s.table]
		asm.CategoryDraw(dst, t.thresholds, q, state, s.around, t.strides, words)
		return
	}
	var w [MaxStates]float64
	var thresholds [MaxStates]uint32
	for b := range dst {
		s.weigh(&w, &l.factors, statesOf(state, b))
		setThresholds(thresholds[:q-1], w[:q])
		dst[b] = drawState(thresholds[:q-1], words[b])
	}
}

// statesOf returns the states of sample b of a block, by site.
func statesOf(state []byte, b int) func(site int32) byte {
	return func(site int32) byte { return state[int(site)*block+b] }
}

// A star is a site, the centre, with some of its neighbours, the leaves, which are summed out. A
// site given all its neighbours is a star without leaves.
type star struct {
	centre conditional // given the sites around
	leaves []leaf
	around []int32 // the sites that the star touches
	needsW bool    // tables of the star hold ln W
	table  int     // index of its table, −1 for none
}

// A leaf is the law of a leaf given the sites around the star, with one more factor for the centre.
type leaf struct {
	conditional
	centre int // index of the factor [states of the centre][states of the leaf]
}

// weigh sets w to the weights of the centre's states, the leaves summed out, up to a common
// factor. It returns ln W, the logarithm of the sum of the weights without that factor.
func (s *star) weigh(w *[MaxStates]float64, f *factors, x func(site int32) byte) (logW float64) {
	q := s.centre.q
	low := s.centre.weigh(w, f, x)
	for k := range s.leaves {
		l := &s.leaves[k]
		var v [MaxStates]float64
		low += l.weigh(&v, f, x)
		a := &f.all[l.centre]
		low += a.low
		for c := range q {
			var sum float64
			for t, y := range a.weight[c*l.q:][:l.q] {
				sum += y * v[t]
			}
			w[c] *= sum
		}
		// A product over many leaves may underflow.
		if largest := slices.Max(w[:q]); largest < 1e-100 {
			for c := range q {
				w[c] /= largest
			}
			logW += math.Log(largest)
		}
	}
	var sum float64
	for _, y := range w[:q] {
		sum += y
	}
	return logW + math.Log(sum) - f.beta*low
}
