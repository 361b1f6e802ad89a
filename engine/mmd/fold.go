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
	shift   int     // of a hash to a slot of the table
	s, t    []uint64
	pair    []uint64 // by id+1, each distinct pair in one word, where it fits
}

func (f *fold) init(n, spins int) {
	f.words = (spins + 63) / 64
	if spins <= 32 {
		f.pair = make([]uint64, n+1)
	}
	f.id = make([]int, n)
	f.sample = make([]int, 0, n)
	f.count = make([]int, 0, n)
	f.reverse = make([]int, 0, n)
	size := bits.Len(uint(8*n - 1)) // a pair rarely finds its slot taken
	f.table, f.shift = make([]int32, 1<<size), 64-size
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
func (f *fold) slot(hash uint64) int { return int(hash >> f.shift) }

// runNarrow is run for pairs that fit a word, a in its low half: exchanging a
// and b is a rotation. Whether a pair is new is as good as random, so nothing
// branches on it.
func (f *fold) runNarrow(s, t []uint64) {
	n := len(f.id)
	sample, count, distinct := f.sample[:n], f.count[:n], 0
	clear(count)
	for i, a := range s[:n] {
		pair := a | t[i]<<32
		slot := f.slotNarrow(pair)
		entry := int(f.table[slot])
		if entry == 0 {
			distinct++
		}
		id, first := entry-1, i
		if entry == 0 {
			id = distinct - 1
		}
		if entry != 0 {
			first = sample[id]
		}
		f.table[slot] = int32(id + 1)
		f.pair[id+1] = pair
		sample[id] = first
		count[id]++
		f.id[i] = id
	}
	f.sample, f.count, f.reverse = sample[:distinct], count[:distinct], f.reverse[:distinct]
	for id := range f.reverse {
		f.reverse[id] = int(f.table[f.slotNarrow(bits.RotateLeft64(f.pair[id+1], 32))]) - 1
	}
}

// slotNarrow returns the slot of a pair in one word, or the free one where it
// belongs.
func (f *fold) slotNarrow(pair uint64) int {
	slot := f.slot(pair * hashMultiplier)
	for ; ; slot = (slot + 1) & (len(f.table) - 1) {
		entry := uint64(f.table[slot])
		other := f.pair[entry] ^ pair
		if free, same := (entry-1)>>63, (other|-other)>>63^1; free|same != 0 {
			return slot
		}
	}
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
