package spins

import "math/bits"

// A LaneCounter counts for each of 64 lanes how often its bit was set, by adders of one bit for
// all lanes at once. Bit b of all counts is plane b.
type LaneCounter struct {
	planes [32]uint64
	words  int // added so far, which no count exceeds
}

// Add adds each bit of x to the count of its lane.
func (c *LaneCounter) Add(x uint64) {
	c.words++
	for b := 0; x != 0; b++ {
		c.planes[b], x = c.planes[b]^x, c.planes[b]&x
	}
}

// Count returns the count of a lane.
func (c *LaneCounter) Count(lane int) (n int) {
	for b, x := range c.planes[:bits.Len(uint(c.words))] {
		n |= int(x>>lane&1) << b
	}
	return n
}
