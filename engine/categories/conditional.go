package categories

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/asm"
)

const block = 64 // samples that are drawn together

// Tables of what a conditional or a star says are kept where they have at most so many
// entries, and few for each site that shares them.
const (
	mostEntries = 1 << 16
	ownEntries  = 1 << 10
)

// A factor is e^(−β(e − low)) of a pair, [states of the neighbour][states of the site], or of
// a field.
type factor struct {
	energy []float64 // as neighbours share it
	weight []float64
	low    float64 // the lowest of a pair, the first of a field
}

// factors are those of all pairs at one β, shared as the energies are, and of fields.
type factors struct {
	all  []factor
	at   map[*float64]int // of pairs
	beta float64
}

// add returns the number of a new factor.
func (f *factors) add(e []float64, low float64) int {
	f.all = append(f.all, factor{e, make([]float64, len(e)), low})
	return len(f.all) - 1
}

// of returns the number of a pair's.
func (f *factors) of(e []float64) int {
	k, ok := f.at[&e[0]]
	if !ok {
		if f.at == nil {
			f.at = map[*float64]int{}
		}
		low, _, _ := extremes(e)
		k = f.add(e, low)
		f.at[&e[0]] = k
	}
	return k
}

// set computes the weights at inverse temperature β.
func (f *factors) set(beta float64) {
	f.beta = beta
	for k := range f.all {
		a := &f.all[k]
		for i, e := range a.energy {
			a.weight[i] = math.Exp(-beta * (e - a.low))
		}
	}
}

// A conditional is the law of one site given its neighbours: its weights are
// e^(−βf(s)) Π_j factor_j(x_j, s).
type conditional struct {
	site   int
	q      int
	around []int32
	pairs  []int // of factors
	field  int   // of factors, −1 for none
}

// weigh sets w to the weights of the site's states and returns −ln of what they were divided
// by, in units of energy.
func (c *conditional) weigh(w *[MostStates]float64, f *factors, x func(site int32) byte) (low float64) {
	for s := range c.q {
		w[s] = 1
	}
	if c.field >= 0 {
		a := &f.all[c.field]
		copy(w[:], a.weight)
		low = a.low
	}
	for k, j := range c.around {
		a := &f.all[c.pairs[k]]
		low += a.low
		for s, v := range a.weight[int(x(j))*c.q:][:c.q] {
			w[s] *= v
		}
	}
	return low
}

// thresholds sets dst, of at least len(w)−1, so that the state is the number of those that are
// at most a random word, and no more than len(w)−1.
func thresholds(dst []uint32, w []float64) {
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

// chosen is the state that thresholds and a word make.
func chosen(t []uint32, word uint32) (s byte) {
	for _, x := range t {
		if x <= word {
			s++
		}
	}
	return s
}

// A memo holds what is a function of the states of a few sites, whose number is
// Σ_j x_j strides_j: thresholds of a draw, as asm.CategoryDraw takes them, and ln W.
type memo struct {
	sizes   []int // q of the sites
	strides []int32
	draw    []uint32
	logW    []float64 // nil where it is not wanted
	of      *star     // whose it is, or one that shares it
}

// thresholdsOf is how many thresholds of q states there are.
func thresholdsOf(q int) int { return 1<<bits.Len(uint(q-1)) - 1 }

func (m *memo) entries() (n int) {
	n = 1
	for _, q := range m.sizes {
		n *= q
	}
	return n
}

// numbers sets index to the samples' numbers, which fit 16 bits: those of eight samples are
// summed up in two words.
func (m *memo) numbers(index *[block]int32, state []byte, around []int32) {
	const bytes, half = 0x00ff00ff00ff00ff, 0xffff
	for b := 0; b < block; b += 8 {
		var even, odd uint64
		for j, site := range around {
			x, stride := binary.LittleEndian.Uint64(state[int(site)*block+b:]), uint64(m.strides[j])
			even += (x & bytes) * stride
			odd += (x >> 8 & bytes) * stride
		}
		part := (*[8]int32)(index[b:])
		for k := 0; k < 8; k += 2 {
			part[k], part[k+1] = int32(even&half), int32(odd&half)
			even, odd = even>>16, odd>>16
		}
	}
}

// draw draws the centre of a star for a block.
func (l *law) draw(s *star, state []byte, words *[block]uint32) {
	q, dst := s.centre.q, (*[block]byte)(state[s.centre.site*block:])
	if s.table >= 0 {
		m := &l.memos[s.table]
		asm.CategoryDraw(dst, m.draw, q, state, s.around, m.strides, words)
		return
	}
	var w [MostStates]float64
	var t [MostStates]uint32
	for b := range dst {
		s.weigh(&w, &l.factors, sample(state, b))
		thresholds(t[:q-1], w[:q])
		dst[b] = chosen(t[:q-1], words[b])
	}
}

// sample returns the states of the b-th sample of a block.
func sample(state []byte, b int) func(site int32) byte {
	return func(site int32) byte { return state[int(site)*block+b] }
}

// A star is a site with some of its neighbours, the leaves, that are summed out. A site given
// all its neighbours is one without leaves.
type star struct {
	centre conditional // its pairs are those with sites around
	leaves []leaf
	around []int32 // sites that the star touches
	weighs bool    // ln W is wanted
	table  int     // −1 where there is none
}

// A leaf is tied to sites around, and with one factor to the centre.
type leaf struct {
	conditional
	centre int // of factors, [states of the centre][states of the leaf]
}

// weigh sets w to the weights of the centre's states, the leaves summed out, and returns
// ln W.
func (s *star) weigh(w *[MostStates]float64, f *factors, x func(site int32) byte) (logW float64) {
	q := s.centre.q
	low := s.centre.weigh(w, f, x)
	for k := range s.leaves {
		l := &s.leaves[k]
		var v [MostStates]float64
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
		// A product of many may vanish.
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
