package answer

import "math/rand/v2"

const critical = 0.44068679350977

// problems returns all problems.
func problems() []problem {
	return append([]problem{
		lattice(16, critical), lattice(32, critical), lattice(64, critical),
		glass(8, 1, 8), glass(16, 1, 16), cubic(6, 0.2217),
	}, vectorProblems()...)
}

// Bonds returns the bonds of a periodic lattice, from each site to the next along every axis.
func Bonds(dimensions, side int) (bonds [][2]int32) {
	sites := 1
	for range dimensions {
		sites *= side
	}
	for i := range sites {
		for step := 1; step < sites; step *= side {
			next := i + step
			if i/step%side == side-1 {
				next -= step * side
			}
			bonds = append(bonds, [2]int32{int32(i), int32(next)})
		}
	}
	return bonds
}

// An edge is two sites and their coupling.
type edge = [3]int32

// cubicGraph returns a periodic cubic lattice of couplings 1, and two pairs of spins that are
// far from each other.
func cubicGraph(side int) (edges []edge, pairs [][2]int32) {
	for _, b := range Bonds(3, side) {
		edges = append(edges, edge{b[0], b[1], 1})
	}
	half := int32(side / 2)
	return edges, [][2]int32{{0, half}, {0, half * int32(side*side+side+1)}}
}

// glassGraph returns a periodic square lattice with random couplings of ±1, and four random
// pairs of spins that are far from each other.
func glassGraph(side int, seed uint64) (edges []edge, pairs [][2]int32) {
	r := rand.New(rand.NewPCG(seed, 0x676c617373)) // "glass" in ASCII
	for _, b := range Bonds(2, side) {
		edges = append(edges, edge{b[0], b[1], int32(2*r.IntN(2) - 1)})
	}
	site := func(y, x int) int32 { return int32(y%side*side + x%side) }
	for range 4 {
		y, x := r.IntN(side), r.IntN(side)
		pairs = append(pairs, [2]int32{site(y, x), site(y+side/2, x+side/2)})
	}
	return edges, pairs
}
