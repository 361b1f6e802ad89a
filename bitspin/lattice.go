package bitspin

import (
	"fmt"
	"math"
	"math/bits"
)

// MaxSide is the largest supported side of a lattice. It keeps bond sums and
// table sizes far inside the range of an int32.
const MaxSide = 1024

// Words returns the number of 64-bit words that hold n spins.
func Words(n int) int { return (n + 63) / 64 }

// A Lattice is the geometry of a periodic L×L square lattice. It is immutable
// and may be shared by any number of goroutines.
type Lattice struct {
	L     int // side
	N     int // number of sites, L²
	Words int // words per configuration

	lastColumn []uint64  // mask of the sites of the last column
	lastWord   uint64    // mask of the sites in the last word
	small      lattice64 // the same for up to 64 sites
}

// NewLattice returns the periodic lattice of the given side, 2 ≤ l ≤ MaxSide.
func NewLattice(l int) (*Lattice, error) {
	if l < 2 || l > MaxSide {
		return nil, fmt.Errorf("lattice side %d is outside 2 to %d", l, MaxSide)
	}
	lat := &Lattice{L: l, N: l * l, Words: Words(l * l)}
	lat.lastColumn = make([]uint64, lat.Words)
	for i := l - 1; i < lat.N; i += l {
		lat.lastColumn[i>>6] |= 1 << (i & 63)
	}
	lat.lastWord = LastWordMask(lat.N)
	lat.small = lattice64{side: uint8(l), lastRow: uint8(lat.N - l), lastColumn: lat.lastColumn[0], sites: lat.lastWord}
	return lat, nil
}

// Magnetisation returns M = Σ s_i of a configuration.
func (lat *Lattice) Magnetisation(config []uint64) int {
	return Magnetisation(config[:lat.Words], lat.N)
}

// Magnetisation returns Σ s_i of a configuration of n spins.
func Magnetisation(config []uint64, n int) int {
	up := 0
	for _, w := range config {
		up += bits.OnesCount64(w)
	}
	return 2*up - n
}

// BondSum returns B = Σ_<ij> s_i s_j over the 2·N bonds of a configuration.
func (lat *Lattice) BondSum(config []uint64) int {
	if lat.Words == 1 {
		right, down := lat.small.boundaries(config[0])
		return 2*lat.N - 2*(bits.OnesCount64(right)+bits.OnesCount64(down))
	}
	config = config[:lat.Words]
	unequal := 0
	for w, s := range config {
		r, d := lat.neighboursAt(config, w)
		unequal += bits.OnesCount64(s^r) + bits.OnesCount64(s^d)
	}
	return 2*lat.N - 2*unequal
}

// Difference returns the changes of the bond sum B and of the magnetisation M
// when the spins of mask, any set of sites, are flipped. The change of B is a
// multiple of 4 between −4N and 4N, that of M a multiple of 2 between −2N and
// 2N.
//
// A bond changes sign if it has exactly one end in the mask: it is cut by the
// mask's boundary, the XOR of the mask with its shifted self. Its product is
// −1 where the configuration's own boundary runs along it. Hence
//
//	ΔB = −2·|cut| + 4·|cut ∧ boundary|,  ΔM = 2·|mask| − 4·|mask ∧ config|.
//
// Every row and every column is a ring, which a mask cuts an even number of
// times; that makes ΔB a multiple of 4.
func (lat *Lattice) Difference(config, mask []uint64) (bonds, magnetisation int) {
	if lat.Words == 1 {
		quarter, half := lat.small.difference(config[0], mask[0])
		return 4 * quarter, 2 * half
	}
	config, mask = config[:lat.Words], mask[:lat.Words]
	var cut, crossing, size, up int
	for w, m := range mask {
		mr, md := lat.neighboursAt(mask, w)
		if m|mr|md == 0 {
			continue
		}
		s := config[w]
		sr, sd := lat.neighboursAt(config, w)
		mr, md = mr^m, md^m
		cut += bits.OnesCount64(mr) + bits.OnesCount64(md)
		crossing += bits.OnesCount64(mr&(sr^s)) + bits.OnesCount64(md&(sd^s))
		size += bits.OnesCount64(m)
		up += bits.OnesCount64(m & s)
	}
	return 4*crossing - 2*cut, 2*size - 4*up
}

// differenceOne returns ΔB/4 and ΔM/2 when the spin of site k is flipped.
func (lat *Lattice) differenceOne(s []uint64, k int) (quarterBonds, halfMagnetisation int) {
	l, n := lat.L, lat.N
	col := k % l
	left, right, up, down := k-1, k+1, k-l, k+l
	if col == 0 {
		left += l
	}
	if col == l-1 {
		right -= l
	}
	if up < 0 {
		up += n
	}
	if down >= n {
		down -= n
	}
	sum := spin(s, left) + spin(s, right) + spin(s, up) + spin(s, down)
	x := spin(s, k)
	return -x * sum / 2, -x
}

// spin returns s_i as ±1.
func spin(s []uint64, i int) int { return int(s[i>>6]>>(i&63)&1)*2 - 1 }

// Invert flips all spins of a configuration of n spins.
func Invert(config []uint64, n int) {
	for w := range config {
		config[w] = ^config[w]
	}
	config[len(config)-1] &= LastWordMask(n)
}

// LastWordMask returns the mask of the spins in the last word of a configuration of n spins.
func LastWordMask(n int) uint64 { return math.MaxUint64 >> (-n & 63) }

// neighboursAt returns word w of the right and of the lower neighbours of all
// sites of a configuration of any size.
func (lat *Lattice) neighboursAt(s []uint64, w int) (right, down uint64) {
	last := lat.lastColumn[w]
	right = shiftedDown(s, w, 1)&^last | shiftedUp(s, w, lat.L-1)&last
	down = shiftedDown(s, w, lat.L) | shiftedUp(s, w, lat.N-lat.L)
	if w == lat.Words-1 {
		down &= lat.lastWord
	}
	return right, down
}

// shiftedDown returns word w of s >> k.
func shiftedDown(s []uint64, w, k int) uint64 {
	w, k = w+k>>6, k&63
	if w >= len(s) {
		return 0
	}
	x := s[w] >> k
	if w+1 < len(s) {
		x |= s[w+1] << (64 - k) // vanishes for k = 0
	}
	return x
}

// shiftedUp returns word w of s << k.
func shiftedUp(s []uint64, w, k int) uint64 {
	w, k = w-k>>6, k&63
	if w < 0 {
		return 0
	}
	x := s[w] << k
	if w > 0 {
		x |= s[w-1] >> (64 - k) // vanishes for k = 0
	}
	return x
}
