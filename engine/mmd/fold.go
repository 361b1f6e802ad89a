package mmd

import "math/bits"

// A fold numbers the distinct pairs (a, b) of a batch in the order of their
// first appearance.
type fold struct {
	words   int
	id      []int   // of each sample
	sample  []int   // first sample of each distinct pair
	count   []int   // samples with that pair
	reverse []int   // id of the pair (b, a), or -1
	table   []int32 // open addressing: id+1, or 0
	s, t    []uint64
	pair    []uint64 // each distinct pair in one word, where it fits
}

func (f *fold) init(n, spins int) {
	f.words = (spins + 63) / 64
	if spins <= 32 {
		f.pair = make([]uint64, 0, n)
	}
	f.id = make([]int, n)
	f.sample = make([]int, 0, n)
	f.count = make([]int, 0, n)
	f.reverse = make([]int, 0, n)
	f.table = make([]int32, 1<<bits.Len(uint(2*n-1)))
}

// run folds the pairs (s_i, t_i).
func (f *fold) run(s, t []uint64) {
	clear(f.table)
	f.sample, f.count, f.reverse = f.sample[:0], f.count[:0], f.reverse[:0]
	if f.pair != nil {
		f.runNarrow(s, t)
		return
	}
	f.s, f.t = s, t
	w := f.words
	for i := range f.id {
		slot, id := f.find(s[i*w:(i+1)*w], t[i*w:(i+1)*w])
		if id < 0 {
			id = f.add(i)
			f.table[slot] = int32(id + 1)
		}
		f.id[i] = id
		f.count[id]++
	}
	for id, i := range f.sample {
		_, f.reverse[id] = f.find(t[i*w:(i+1)*w], s[i*w:(i+1)*w])
	}
	f.s, f.t = nil, nil
}

// add begins a distinct pair with its first sample.
func (f *fold) add(sample int) (id int) {
	id = len(f.sample)
	f.sample = append(f.sample, sample)
	f.count = append(f.count, 0)
	f.reverse = append(f.reverse, -1)
	return id
}

const hashMultiplier = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio

// slot returns where the search for a hash begins.
func (f *fold) slot(hash uint64) int { return int(hash >> (64 - bits.Len(uint(len(f.table)-1)))) }

// runNarrow is run for pairs that fit a word, a in its low half: exchanging a
// and b is a rotation.
func (f *fold) runNarrow(s, t []uint64) {
	f.pair = f.pair[:0]
	for i, a := range s[:len(f.id)] {
		pair := a | t[i]<<32
		slot, id := f.findNarrow(pair)
		if id < 0 {
			id = f.add(i)
			f.pair = append(f.pair, pair)
			f.table[slot] = int32(id + 1)
		}
		f.id[i] = id
		f.count[id]++
	}
	for id, pair := range f.pair {
		_, f.reverse[id] = f.findNarrow(bits.RotateLeft64(pair, 32))
	}
}

// findNarrow is find for a pair in one word.
func (f *fold) findNarrow(pair uint64) (slot, id int) {
	slot = f.slot(pair * hashMultiplier)
	for ; f.table[slot] != 0; slot = (slot + 1) & (len(f.table) - 1) {
		if id = int(f.table[slot]) - 1; f.pair[id] == pair {
			return slot, id
		}
	}
	return slot, -1
}

// find returns the id of the pair (a, b), or -1 and the slot where it belongs.
func (f *fold) find(a, b []uint64) (slot, id int) {
	var hash uint64
	for k := range a {
		hash = (hash ^ a[k]) * hashMultiplier
		hash = (bits.RotateLeft64(hash, 32) ^ b[k]) * hashMultiplier
	}
	w := f.words
	slot = f.slot(hash)
probe:
	for ; f.table[slot] != 0; slot = (slot + 1) & (len(f.table) - 1) {
		id = int(f.table[slot]) - 1
		i := f.sample[id] * w
		for k := range a {
			if f.s[i+k] != a[k] || f.t[i+k] != b[k] {
				continue probe
			}
		}
		return slot, id
	}
	return slot, -1
}

// distance returns the Hamming distance between the two configurations of a row
// of a block laid out for asm.HammingSums.
func (f *fold) distance(rows []uint64, lane, lanes int) int {
	n := 0
	for k := range f.words {
		n += bits.OnesCount64(rows[k*lanes+lane] ^ rows[(f.words+k)*lanes+lane])
	}
	return n
}
