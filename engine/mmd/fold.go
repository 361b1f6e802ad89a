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
	shift   int     // hash >> shift is a slot of the table
	s, t    []uint64
}

func (f *fold) init(n, spins int) {
	f.words = (spins + 63) / 64
	f.id = make([]int, n)
	f.sample = make([]int, 0, n)
	f.count = make([]int, 0, n)
	f.reverse = make([]int, 0, n)
	size := bits.Len(uint(8*n - 1)) // large enough that few pairs collide
	f.table, f.shift = make([]int32, 1<<size), 64-size
}

// foldPairs numbers the pairs (s_i, t_i).
func (f *fold) foldPairs(s, t []uint64) {
	clear(f.table)
	f.sample, f.count, f.reverse = f.sample[:0], f.count[:0], f.reverse[:0]
	f.s, f.t = s, t
	w := f.words
	for i := range f.id {
		slot, id := f.find(s[i*w:(i+1)*w], t[i*w:(i+1)*w])
		if id < 0 {
			id = len(f.sample)
			f.sample, f.count, f.reverse = append(f.sample, i), append(f.count, 0), append(f.reverse, -1)
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

const hashMultiplier = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio

// find returns the slot and the id of the pair (a, b). A new pair has id -1 and belongs in the slot.
func (f *fold) find(a, b []uint64) (slot, id int) {
	var hash uint64
	for k := range a {
		hash = (hash ^ a[k]) * hashMultiplier
		hash = (bits.RotateLeft64(hash, 32) ^ b[k]) * hashMultiplier
	}
	w := f.words
	slot = int(hash >> f.shift)
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
