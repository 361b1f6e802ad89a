package answer

import "math/rand/v2"

const critical = 0.44068679350977

// problems returns all of them, with fresh counters.
func problems() []problem {
	return append([]problem{
		lattice(16, critical), lattice(32, critical), lattice(64, critical),
		glass(8, 1, 8), glass(16, 1, 16), cubic(6, 0.2217),
	}, vectorProblems()...)
}

// cubicGraph is a periodic cubic lattice of couplings 1, and two pairs of spins.
func cubicGraph(side int) (edges [][3]int32, pairs [][2]int32) {
	at := func(z, y, x int) int32 { return int32((z%side*side+y%side)*side + x%side) }
	for z := range side {
		for y := range side {
			for x := range side {
				for _, other := range []int32{at(z, y, x+1), at(z, y+1, x), at(z+1, y, x)} {
					edges = append(edges, [3]int32{at(z, y, x), other, 1})
				}
			}
		}
	}
	return edges, [][2]int32{{0, at(0, 0, side/2)}, {0, at(side/2, side/2, side/2)}}
}

// glassGraph draws couplings, and four pairs of spins that are far from each other.
func glassGraph(side int, seed uint64) (edges [][3]int32, pairs [][2]int32) {
	r := rand.New(rand.NewPCG(seed, 0x676c617373))
	at := func(y, x int) int32 { return int32(y%side*side + x%side) }
	for y := range side {
		for x := range side {
			for _, other := range []int32{at(y, x+1), at(y+1, x)} {
				edges = append(edges, [3]int32{at(y, x), other, int32(2*r.IntN(2) - 1)})
			}
		}
	}
	for range 4 {
		y, x := r.IntN(side), r.IntN(side)
		pairs = append(pairs, [2]int32{at(y, x), at(y+side/2, x+side/2)})
	}
	return edges, pairs
}
