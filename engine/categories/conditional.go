package categories

import (
	"encoding/binary"
	"math"
)

const block = 64 // samples that are drawn together

// Tables of what a conditional or a star says are kept where they have at most so many
// entries, and sites share them or there are few.
const (
	mostEntries = 1 << 16
	ownEntries  = 1 << 8
)

// A factor is e^(−β(e − lowest)) of a pair, [states of the neighbour][states of the site].
type factor struct {
	energy []float64 // as neighbours share it
	weight []float64
	low    float64
}

// factors are those of all pairs at one β, shared as the energies are.
type factors struct {
	all  []factor
	at   map[*float64]int
	beta float64
}

func (f *factors) of(e []float64) int {
	k, ok := f.at[&e[0]]
	if !ok {
		if f.at == nil {
			f.at = map[*float64]int{}
		}
		k = len(f.all)
		f.at[&e[0]] = k
		low, _, _ := extremes(e)
		f.all = append(f.all, factor{e, make([]float64, len(e)), low})
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
	around []int
	pairs  []int     // of factors
	field  []float64 // nil for none
	weight []float64 // e^(−β(field − field of state 0))
	table  int       // of thresholds, −1 where there is none
}

// weigh sets w to the weights of the site's states and returns −ln of what they were divided
// by, in units of energy.
func (c *conditional) weigh(w *[MostStates]float64, f *factors, x func(site int) byte) (low float64) {
	for s := range c.q {
		w[s] = 1
	}
	if c.field != nil {
		copy(w[:], c.weight)
		low = c.field[0]
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

// thresholds sets dst, of q−1, so that the state is the number of those that are at most a
// random word.
func thresholds(dst []uint32, w []float64) {
	var sum float64
	for _, v := range w {
		sum += v
	}
	var below float64
	for s := range dst {
		below += w[s]
		dst[s] = uint32(min(math.RoundToEven(0x1p32*below/sum), math.MaxUint32))
	}
}

// chosen is the state that thresholds and a word make.
func chosen(t []uint32, word uint32) (s byte) {
	for _, x := range t {
		s += least(word, x)
	}
	return s
}

// A memo holds what is a function of the states of a few sites, whose number is
// Σ_j x_j Π_{k<j} q_k: thresholds of a draw, and ln W.
type memo struct {
	sizes []int // q of the sites
	draw  []uint32
	logW  []float64 // of stars
	star  int       // whose it is, or of a conditional
	site  int
}

func (m *memo) entries() (n int) {
	n = 1
	for _, q := range m.sizes {
		n *= q
	}
	return n
}

// numbers sets index to the samples' numbers, which fit 16 bits: those of eight samples are
// summed up in two words.
func numbers(index *[block]int32, state []byte, around, sizes []int) {
	const bytes, half = 0x00ff00ff00ff00ff, 0xffff
	for b := 0; b < block; b += 8 {
		var even, odd uint64
		stride := uint64(1)
		for j, site := range around {
			x := binary.LittleEndian.Uint64(state[site*block+b:])
			even += (x & bytes) * stride
			odd += (x >> 8 & bytes) * stride
			stride *= uint64(sizes[j])
		}
		part := (*[8]int32)(index[b:])
		for k := 0; k < 8; k += 2 {
			part[k], part[k+1] = int32(even&half), int32(odd&half)
			even, odd = even>>16, odd>>16
		}
	}
}

// look sets dst to the states that a table's thresholds and the words make.
func (m *memo) look(dst *[block]byte, index *[block]int32, q int, words *[block]uint32) {
	switch draw := m.draw; q {
	case 2:
		for b, w := range words {
			dst[b] = least(w, draw[index[b]])
		}
	case 3:
		for b, w := range words {
			t := (*[2]uint32)(draw[2*index[b]:])
			dst[b] = least(w, t[0]) + least(w, t[1])
		}
	case 4:
		for b, w := range words {
			t := (*[3]uint32)(draw[3*index[b]:])
			dst[b] = least(w, t[0]) + least(w, t[1]) + least(w, t[2])
		}
	default:
		for b, w := range words {
			dst[b] = chosen(draw[int(index[b])*(q-1):][:q-1], w)
		}
	}
}

// least is 1 if the word is at least x.
func least(word, x uint32) byte { return byte(1 - (uint64(word)-uint64(x))>>63) }

// draw draws the site of a block.
func (l *law) draw(c *conditional, state []byte, words *[block]uint32) {
	dst := (*[block]byte)(state[c.site*block:])
	if c.table >= 0 {
		var index [block]int32
		m := &l.memos[c.table]
		numbers(&index, state, c.around, m.sizes)
		m.look(dst, &index, c.q, words)
		return
	}
	var w [MostStates]float64
	var t [MostStates]uint32
	for b := range dst {
		c.weigh(&w, &l.factors, func(site int) byte { return state[site*block+b] })
		thresholds(t[:c.q-1], w[:c.q])
		dst[b] = chosen(t[:c.q-1], words[b])
	}
}

// A star is what the sites weigh that no network draws: at most one centre and its
// neighbours, the leaves, that touch drawn sites alone.
type star struct {
	centre *conditional // nil for a leaf without a centre; its pairs are those with drawn sites
	leaves []leaf
	around []int // drawn sites that the star touches
	q      int   // states of the centre, 1 without one
	table  int   // −1 where there is none
}

// A leaf is tied to drawn sites, and with one factor to the centre.
type leaf struct {
	conditional
	centre int // of factors, [states of the centre][states of the leaf], −1 without one
}

// weigh sets w to the weights of the centre's states, the leaves summed out, and returns
// ln W.
func (s *star) weigh(w *[MostStates]float64, f *factors, x func(site int) byte) (logW float64) {
	w[0] = 1
	var low float64
	if s.centre != nil {
		low = s.centre.weigh(w, f, x)
	}
	for k := range s.leaves {
		l := &s.leaves[k]
		var v [MostStates]float64
		low += l.weigh(&v, f, x)
		if l.centre < 0 {
			var sum float64
			for _, y := range v[:l.q] {
				sum += y
			}
			w[0] *= sum
			continue
		}
		a := &f.all[l.centre]
		low += a.low
		for c := range s.q {
			var sum float64
			for t, y := range a.weight[c*l.q:][:l.q] {
				sum += y * v[t]
			}
			w[c] *= sum
		}
		// A product of many may vanish.
		largest := w[0]
		for _, y := range w[1:s.q] {
			largest = max(largest, y)
		}
		if largest < 1e-100 {
			for c := range s.q {
				w[c] /= largest
			}
			logW += math.Log(largest)
		}
	}
	var sum float64
	for _, y := range w[:s.q] {
		sum += y
	}
	return logW + math.Log(sum) - f.beta*low
}
