package asm

import "math"

// A Sweep performs Metropolis sweeps on many replicas of a periodic L×L Ising
// lattice without a field. One bit belongs to one replica: a block of
// ReplicaBits replicas is a slice of L²·ReplicaWords words in which the spins of
// site row·L + col of all replicas are words site·ReplicaWords and following. So
// one operation on a vector serves all replicas, and differences of the energy
// are counted by full adders over bits.
//
// A sweep visits every site once: for even L first the sites of the first colour,
// with even row + col, then the others, each row by row; for odd L, where such a
// colouring does not exist, all sites in their order. With the number u of unsatisfied bonds at a
// site a flip costs 4|J|(2−u). It is accepted with probability λ for u ≥ 2,
// λ·one for u = 1 and λ·none for u = 0, where one = exp(−4β|J|) and none =
// exp(−8β|J|), all rounded to multiples of 2⁻³². Each site's step obeys detailed
// balance, so a sweep leaves the Boltzmann distribution invariant.
//
// With λ = 1 a sweep would not reach all configurations: from rows of
// alternating spins, where all u = 2, it flips every site with certainty, for
// ever. With λ = 63/64 any site may be the only
// one to flip, so all configurations are connected.
type Sweep struct {
	l              int
	two, one, none uint64 // thresholds in units of 2⁻³²: u ≥ 2, u = 1, u = 0
	opposite       uint64 // all ones if neighbours want opposite spins

	// Bit 31−k of the thresholds, as words of zeros or of ones: that of none, and
	// what one and two differ from it by.
	planes [acceptancePlanes]acceptancePlane
}

type acceptancePlane = [3]uint64

const (
	ReplicaWords = 8 // words of one site in a block
	ReplicaBits  = 64 * ReplicaWords

	maxSweepSide     = 1024
	acceptancePlanes = 32
	surePlanes       = 8  // planes that are compared without asking whether all replicas are decided
	quadPlanes       = 13 // the same of four sites at a time
	quad             = 4  // sites of one colour whose replicas draw together, see Independent
)

// attempt is λ, the probability that a flip is attempted.
const attempt = 63.0 / 64

// NewSweep returns sweeps of an l×l lattice, 2 ≤ l ≤ 1024, that accept flips with
// one and with no unsatisfied bond with λ times the given probabilities,
// 0 ≤ none ≤ one ≤ 1. If opposite is set, the satisfied bonds are those between
// opposite spins. At l = 2 every bond counts twice.
func NewSweep(l int, one, none float64, opposite bool) *Sweep {
	refuse(l < 2 || l > maxSweepSide || !(0 <= none && none <= one && one <= 1), "lattice side or acceptance out of range")
	threshold := func(p float64) uint64 { return uint64(math.RoundToEven(math.Ldexp(attempt*p, acceptancePlanes))) }
	s := &Sweep{l: l, two: threshold(1), one: threshold(one), none: threshold(none)}
	if opposite {
		s.opposite = math.MaxUint64
	}
	for k := range s.planes {
		bit := func(threshold uint64) uint64 { return -(threshold >> (acceptancePlanes - 1 - k) & 1) }
		s.planes[k] = acceptancePlane{bit(s.none), bit(s.one) ^ bit(s.none), bit(s.two) ^ bit(s.none)}
	}
	return s
}

// SharedSweeps performs n sweeps on all the blocks that spins holds, with one draw
// for each site that all replicas share. A single replica is a faithful Markov
// chain, but replicas are strongly correlated: chains that once meet stay
// together. Use it for throughput, or with replicas at different times; averages
// over replicas have no smaller error than the literature's codes of this kind.
//
// The sweeps have the draws of the steps c.Step, c.Step+1, …: that of the i-th site in
// the order of a sweep is word i of the stream, four to a block, from block 0. All paths
// give the same bits. On lattices that do not fit into the cache of a core, a few
// sweeps follow each other through it.
func (s *Sweep) SharedSweeps(spins []uint64, c *Counter, n int) {
	var order [2 * sweepsTogether]halfSweep
	together := s.together(len(spins) / s.blockLen())
	stream := *c
	for n > 0 {
		sweeps := min(n, together)
		s.sharedTogether(spins, &stream, order[:sweeps*s.step()])
		stream.Step += uint32(sweeps)
		n -= sweeps
	}
}

// A halfSweep is the visit of all sites of one colour, with the draws that it has
// made and not yet used.
type halfSweep struct {
	stream   Counter
	from, to int // words that were drawn
	words    [maxSweepSide + 4 + sharedAhead]uint32
}

// draw returns words first … last−1 of the stream, of which total are needed in the
// end, and sharedAhead more.
func (h *halfSweep) draw(first, last, total int) []uint32 {
	if first < h.from || last > h.to {
		h.from, h.to = first&^3, (min(max(last, first+drawsAtATime), total)+3)&^3
		PhiloxBlocks(h.words[:h.to-h.from], &h.stream, uint64(h.from/4))
	}
	return h.words[first-h.from:]
}

// sharedTogether performs a half sweep for each element of order: one or a few whole
// sweeps. Every half sweep begins one row below the one before and follows it a few
// rows behind, around the torus: when it visits a row, its predecessor has visited the
// rows above and below, and its successor none of the three. So large lattices pass
// through the cache once, with the same result as one half sweep after the other.
func (s *Sweep) sharedTogether(spins []uint64, c *Counter, order []halfSweep) {
	refuse(len(spins)%s.blockLen() != 0, "spins are not whole blocks of replicas")
	for i := range order {
		order[i].stream, order[i].to = *c, 0
		order[i].stream.Step += uint32(i / s.step())
	}
	atATime := max(s.step(), sharedSites/s.l)
	visit := func(i, row, end int) {
		colour, perRow := i%s.step(), s.l/s.step()
		first := (colour*s.l + row) * perRow
		draws := order[i].draw(first, first+(end-row)*perRow, (colour+1)*s.l*perRow)
		for rest := spins; len(rest) > 0; rest = rest[s.blockLen():] {
			s.shared(rest[:s.blockLen()], draws, row, end, colour, i == 0)
		}
	}
	groups := (s.l + atATime - 1) / atATime
	for t := range groups + len(order) - 1 {
		for i := max(0, t-groups+1); i < min(t+1, len(order)); i++ {
			row := (t - i) * atATime
			end := min(row+atATime, s.l) + i
			row += i
			if row < s.l {
				visit(i, row, min(end, s.l))
			}
			if end > s.l {
				visit(i, max(row, s.l)-s.l, end-s.l)
			}
		}
	}
}

// together returns how many sweeps of a number of blocks keep the rows that they are
// at in the cache of a core.
func (s *Sweep) together(blocks int) int {
	rowBytes := s.l * ReplicaWords * 8 * max(1, blocks)
	if s.step() == 1 || s.l*rowBytes <= sharedBytes {
		return 1
	}
	return min(max(1, (sharedBytes/rowBytes-4)/2), sweepsTogether)
}

// Independent performs one sweep on one block with a draw of its own for every
// site of every replica: replicas are independent.
//
// Draws are compared with the acceptance bit by bit, the highest first, at most 32
// bits, for four sites at a time where the row has four of the same colour left and L
// is even. A bit decides half of the replicas that are left, whose other bits need not
// be drawn. Every plane of bits takes one output of the generator for each site, until
// at least eight planes were drawn and no replica is undecided at two of the four
// sites. From then on each bit is looked at for one site only, so that one output
// serves all four, until at least thirteen planes were drawn and all is decided. A
// single site takes eight planes and then as many as leave some replica undecided. For
// even L the second colour of a row takes its outputs right after the
// first colour of the next row, that of the first row last of all. All paths
// give the same bits.
func (s *Sweep) Independent(spins []uint64, g *Xoshiro) {
	refuse(len(spins) != s.blockLen(), "spins are not one block of replicas")
	s.rows(func(row, end, colour int) { s.independent(spins, g, row, end, colour) })
}

// sharedAhead is the number of draws that the assembly may read beyond those it
// uses.
const sharedAhead = 15

const (
	// sharedSites is the number of sites, in whole rows, between the visits of the two
	// colours: 16 KiB, which stay in the innermost cache until the second comes.
	sharedSites = 256

	// sharedBytes is how much of the cache of a core sweeps together may fill.
	sharedBytes    = 768 << 10
	sweepsTogether = 4

	drawsAtATime = 512 // fewer cost more each
)

// rows visits the rows of both colours. The second colour follows the first by one
// row, so that a large lattice passes through the cache once, with the same result as
// one colour after the other: its first row, which the last row of the first colour
// has for a neighbour, comes last.
func (s *Sweep) rows(visit func(first, end, colour int)) {
	for row := range s.l {
		visit(row, row+1, 0)
		if s.step() == 2 && row >= 2 {
			visit(row-1, row, 1)
		}
	}
	if s.step() == 2 {
		visit(s.l-1, s.l, 1)
		visit(0, 1, 1)
	}
}

func (s *Sweep) blockLen() int { return s.l * s.l * ReplicaWords }

// step returns the number of colours, which is the distance of the sites of one
// colour in a row.
func (s *Sweep) step() int {
	if s.l%2 == 0 {
		return 2
	}
	return 1
}

func (s *Sweep) shared(spins []uint64, draws []uint32, first, end, colour int, fetch bool) {
	if !useAVX2 {
		s.sharedGeneric(spins, draws, first, end, colour)
		return
	}
	if useAVX512 && s.step() == 2 && s.opposite == 0 {
		ahead := 0
		if fetch && s.l >= aheadSide {
			ahead = s.l * ReplicaWords * 8
		}
		if pairs := (end - first) &^ 1; pairs > 0 {
			last := first + pairs
			metropolisPairsAVX512(&spins[0], &draws[0], s.l, first, last, colour, 3*ahead, uint32(s.two), uint32(s.one), uint32(s.none))
			if last == end {
				return
			}
			first, draws = last, draws[pairs*s.l/2:]
		}
		metropolisRowsAVX512(&spins[0], &draws[0], s.l, first, end, colour, ahead, uint32(s.two), uint32(s.one), uint32(s.none))
		return
	}
	metropolisSharedVector(&spins[0], &draws[0], s.l, first, end, colour, s.step(), s.two, s.one, s.none, s.opposite)
}

func (s *Sweep) independent(spins []uint64, g *Xoshiro, first, end, colour int) {
	if useAVX2 {
		metropolisIndependentVector(&spins[0], (*[4][8]uint64)(g), &s.planes, s.l, first, end, colour, s.step(), s.opposite)
	} else {
		s.independentGeneric(spins, g, first, end, colour)
	}
}

// aheadSide is the side from which on a lattice outgrows the caches near a core.
const aheadSide = 192

type replicas = [ReplicaWords]uint64

// site returns the spins of a site.
func (s *Sweep) site(spins []uint64, row, col int) *replicas {
	return (*replicas)(spins[(row*s.l+col)*ReplicaWords:])
}

// bonds counts the unsatisfied bonds u of a site: two is set where u ≥ 2, one
// where u = 1.
func (s *Sweep) bonds(spins []uint64, row, col int) (two, one replicas) {
	l := s.l
	up, down := s.site(spins, (row+l-1)%l, col), s.site(spins, (row+1)%l, col)
	left, right := s.site(spins, row, (col+l-1)%l), s.site(spins, row, (col+1)%l)
	here := s.site(spins, row, col)
	for i := range two {
		x := here[i] ^ s.opposite
		a, b, c, d := x^up[i], x^down[i], x^left[i], x^right[i]
		// A full adder of a, b and c, and a half adder of its sum and d.
		sum := a ^ b ^ c
		carry := a&b | c&(a^b)
		two[i] = carry | sum&d
		one[i] = (sum ^ d) &^ two[i]
	}
	return two, one
}

func (s *Sweep) sharedGeneric(spins []uint64, draws []uint32, first, end, colour int) {
	step := s.step()
	for row := first; row < end; row++ {
		col := (row + colour) % step
		for ; col < s.l; col += step {
			// The thresholds are ordered, so that none implies one, and one two.
			var two, one, none uint64
			if draw := uint64(draws[0]); draw < s.two {
				two = ^uint64(0)
				if draw < s.one {
					one = ^uint64(0)
					if draw < s.none {
						none = ^uint64(0)
					}
				}
			}
			draws = draws[1:]
			ifTwo, ifOne := s.bonds(spins, row, col)
			here := s.site(spins, row, col)
			for i := range here {
				here[i] ^= ifTwo[i]&two | ifOne[i]&one | none
			}
		}
	}
}

func (s *Sweep) independentGeneric(spins []uint64, g *Xoshiro, first, end, colour int) {
	step := s.step()
	for row := first; row < end; row++ {
		col := (row + colour) % step
		for col < s.l {
			n := 1
			if step == 2 && col+(quad-1)*step < s.l {
				n = quad
			}
			s.flip(spins, g, row, col, n)
			col += n * step
		}
	}
}

// flip updates n sites of one colour.
func (s *Sweep) flip(spins []uint64, g *Xoshiro, row, col, n int) {
	var two, one, accepted, open [quad]replicas // open: not yet decided
	for k := range n {
		two[k], one[k] = s.bonds(spins, row, col+2*k)
		for i := range open[k] {
			open[k][i] = ^uint64(0)
		}
	}
	together := false
	for p, plane := range &s.planes {
		together = together || n == quad && p >= surePlanes && disjoint(&open)
		var random replicas
		var left uint64
		for k := range n {
			if k == 0 || !together {
				random = g.next()
			}
			for i, random := range random {
				threshold := plane[0] ^ one[k][i]&plane[1] ^ two[k][i]&plane[2]
				accepted[k][i] |= open[k][i] & threshold &^ random
				open[k][i] &^= threshold ^ random
				left |= open[k][i]
			}
		}
		if left == 0 && (n == 1 && p >= surePlanes-1 || together && p >= quadPlanes-1) {
			break
		}
	}
	for k := range n {
		here := s.site(spins, row, col+2*k)
		for i := range here {
			here[i] ^= accepted[k][i]
		}
	}
}

// disjoint reports whether no bit is set in two of the four.
func disjoint(open *[quad]replicas) bool {
	for i := range ReplicaWords {
		var any uint64
		for k := range open {
			if any&open[k][i] != 0 {
				return false
			}
			any |= open[k][i]
		}
	}
	return true
}
