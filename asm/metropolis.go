package asm

import "math"

// A Sweep performs Metropolis sweeps on many replicas of a periodic L×L Ising
// lattice without a field. A block of ReplicaBits replicas is a slice of
// L²·ReplicaWords words, with one bit for each replica: the spins of site
// i = row·L + col are ReplicaWords words from word i·ReplicaWords on. So one
// operation on a vector serves all replicas, and full adders over bits count
// differences of the energy.
//
// A sweep visits every site once. For even L it visits the sites of the first
// colour, with even row + col, and then the others, both row by row. For odd L,
// where no such colouring exists, it visits all sites in order. At a site with u
// unsatisfied bonds a flip costs 4|J|(2−u). It is accepted with probability λ for
// u ≥ 2, λ·one for u = 1 and λ·none for u = 0, where one = exp(−4β|J|) and
// none = exp(−8β|J|), all rounded to multiples of 2⁻³². Each site's step obeys
// detailed balance, so a sweep leaves the Boltzmann distribution invariant.
//
// With λ = 1 a sweep would not reach all configurations: from rows of
// alternating spins, where all u = 2, it flips every site for ever. With λ = 63/64
// any site may be the only one to flip, so all configurations are connected.
type Sweep struct {
	l        int
	two      uint64 // threshold for u ≥ 2, in units of 2⁻³²
	one      uint64 // threshold for u = 1
	none     uint64 // threshold for u = 0
	opposite uint64 // all ones if bonds between opposite spins are satisfied, else 0

	// Plane k is for bit 31−k of the thresholds: the bit of none, and the differences of one's
	// and of two's from it, each as a word of zeros or of ones.
	planes [acceptancePlanes]acceptancePlane
}

type acceptancePlane = [3]uint64

const (
	ReplicaWords = 8 // words of one site in a block
	ReplicaBits  = 64 * ReplicaWords

	maxSweepSide     = 1024
	acceptancePlanes = 32 // bits of a threshold
	quad             = 4  // sites of one colour that share planes of random bits, see Independent
	minPlanes        = 8  // least number of planes of a site
	minQuadPlanes    = 13 // least number of planes of quad sites
)

// attemptProbability is λ, the probability that a flip is attempted.
const attemptProbability = 63.0 / 64

// NewSweep returns sweeps of an l×l lattice, 2 ≤ l ≤ 1024, that accept flips with
// one and with no unsatisfied bond with λ times the given probabilities,
// 0 ≤ none ≤ one ≤ 1. If opposite is set, the satisfied bonds are those between
// opposite spins. At l = 2 every bond counts twice.
func NewSweep(l int, one, none float64, opposite bool) *Sweep {
	panicIf(l < 2 || l > maxSweepSide || !(0 <= none && none <= one && one <= 1), "lattice side or acceptance out of range")
	threshold := func(p float64) uint64 {
		return uint64(math.RoundToEven(math.Ldexp(attemptProbability*p, acceptancePlanes)))
	}
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

// SharedSweeps performs n sweeps on all blocks in spins, with one draw for each
// site that all replicas share. A single replica is a faithful Markov chain, but
// replicas are strongly correlated: chains that meet stay the same. Use it for
// throughput, or with replicas at different times. Averages over replicas have as
// large an error as those of the literature's codes of this kind.
//
// The draws are those of the steps c.Step, c.Step+1, …, one step for each sweep. The
// i-th site in the order of a sweep has word i of the stream, counted from block 0. All
// paths give the same bits. On lattices larger than the cache of a core, a few sweeps
// follow each other through it.
func (s *Sweep) SharedSweeps(spins []uint64, c *Counter, n int) {
	var halves [2 * maxSweepsInCache]halfSweep
	maxSweeps := s.sweepsInCache(len(spins) / s.blockLen())
	stream := *c
	for n > 0 {
		sweeps := min(n, maxSweeps)
		s.sharedInCache(spins, &stream, halves[:sweeps*s.colours()])
		stream.Step += uint32(sweeps)
		n -= sweeps
	}
}

// A halfSweep is a visit of all sites of one colour, with a buffer of its draws.
type halfSweep struct {
	stream   Counter
	from, to int // the buffer holds words from … to−1 of the stream
	words    [maxSweepSide + 4 + sharedAhead]uint32
}

// draw returns words first … last−1 of the stream, and after them sharedAhead numbers that do
// not matter. The half sweep needs words below total only.
func (h *halfSweep) draw(first, last, total int) []uint32 {
	if first < h.from || last > h.to {
		h.from, h.to = first&^3, (min(max(last, first+minDraws), total)+3)&^3
		PhiloxBlocks(h.words[:h.to-h.from], &h.stream, uint64(h.from/4))
	}
	return h.words[first-h.from:]
}

// sharedInCache performs the half sweeps, which make one or a few whole sweeps. Each begins one
// row below its predecessor and follows it a few rows behind, around the torus. When it visits
// a row, its predecessor has visited the rows above and below, and its successor none of the
// three. So large lattices pass through the cache once, with the same result as one half sweep
// after the other.
func (s *Sweep) sharedInCache(spins []uint64, c *Counter, halves []halfSweep) {
	panicIf(len(spins)%s.blockLen() != 0, "spins are not whole blocks of replicas")
	for i := range halves {
		halves[i].stream, halves[i].to = *c, 0
		halves[i].stream.Step += uint32(i / s.colours())
	}
	visitRows := max(s.colours(), sharedSites/s.l)
	visit := func(i, row, end int) {
		colour, perRow := i%s.colours(), s.l/s.colours()
		first := (colour*s.l + row) * perRow
		draws := halves[i].draw(first, first+(end-row)*perRow, (colour+1)*s.l*perRow)
		for blocks := spins; len(blocks) > 0; blocks = blocks[s.blockLen():] {
			s.shared(blocks[:s.blockLen()], draws, row, end, colour, i == 0)
		}
	}
	visits := (s.l + visitRows - 1) / visitRows
	for t := range visits + len(halves) - 1 {
		for i := max(0, t-visits+1); i < min(t+1, len(halves)); i++ {
			row := (t - i) * visitRows
			end := min(row+visitRows, s.l) + i
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

// sweepsInCache returns how many sweeps of so many blocks may follow each other with their
// present rows in the cache of a core.
func (s *Sweep) sweepsInCache(blocks int) int {
	rowBytes := s.l * ReplicaWords * 8 * max(1, blocks)
	if s.colours() == 1 || s.l*rowBytes <= sharedBytes {
		return 1
	}
	return min(max(1, (sharedBytes/rowBytes-4)/2), maxSweepsInCache)
}

// Independent performs one sweep on one block, with a draw for every site of every
// replica, so that replicas are independent.
//
// Draws are compared with the acceptance bit by bit, the highest of 32 first. A bit
// decides half of the undecided replicas, whose other bits need not be drawn. For even
// L four sites of a row and colour are compared at a time, as long as there are four.
// Each plane of bits takes one output of the generator for each site, until at least
// eight planes were drawn and no replica is undecided at two of the four sites. From
// then on a bit matters for one site only, so that one output serves all four, until at
// least thirteen planes were drawn and no replica is undecided. A single site takes at
// least eight planes, and ends when no replica is undecided.
//
// For even L the second colour of a row takes its outputs after the first colour of the
// next row; the second colour of the first row takes the last outputs. All paths give
// the same bits.
func (s *Sweep) Independent(spins []uint64, g *Xoshiro) {
	panicIf(len(spins) != s.blockLen(), "spins are not one block of replicas")
	s.rows(func(row, end, colour int) { s.independent(spins, g, row, end, colour) })
}

// sharedAhead is the number of draws that the assembly may read beyond those it
// uses.
const sharedAhead = 15

const (
	// sharedSites is the number of sites, in whole rows, between the visits of the two colours.
	// Their 16 KiB stay in the innermost cache.
	sharedSites = 256

	// sharedBytes bounds the rows of all sweeps that follow each other in the cache of a core.
	sharedBytes      = 768 << 10
	maxSweepsInCache = 4

	minDraws = 512 // of a call, as a shorter draw takes longer for each word
)

// rows visits the rows of both colours. The second colour follows one row behind the first, so
// that a large lattice passes through the cache once. The first row, which is a neighbour of
// the last, comes last in the second colour. So the result is that of one colour after the
// other.
func (s *Sweep) rows(visit func(first, end, colour int)) {
	for row := range s.l {
		visit(row, row+1, 0)
		if s.colours() == 2 && row >= 2 {
			visit(row-1, row, 1)
		}
	}
	if s.colours() == 2 {
		visit(s.l-1, s.l, 1)
		visit(0, 1, 1)
	}
}

func (s *Sweep) blockLen() int { return s.l * s.l * ReplicaWords }

// colours returns the number of colours, which is also the distance between the sites of one
// colour in a row.
func (s *Sweep) colours() int {
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
	if useAVX512 && s.colours() == 2 && s.opposite == 0 {
		prefetchBytes := 0
		if fetch && s.l >= prefetchSide {
			prefetchBytes = s.l * ReplicaWords * 8
		}
		if pairs := (end - first) &^ 1; pairs > 0 {
			last := first + pairs
			metropolisPairsAVX512(&spins[0], &draws[0], s.l, first, last, colour, 3*prefetchBytes, uint32(s.two), uint32(s.one), uint32(s.none))
			if last == end {
				return
			}
			first, draws = last, draws[pairs*s.l/2:]
		}
		metropolisRowsAVX512(&spins[0], &draws[0], s.l, first, end, colour, prefetchBytes, uint32(s.two), uint32(s.one), uint32(s.none))
		return
	}
	metropolisSharedVector(&spins[0], &draws[0], s.l, first, end, colour, s.colours(), s.two, s.one, s.none, s.opposite)
}

func (s *Sweep) independent(spins []uint64, g *Xoshiro, first, end, colour int) {
	if useAVX2 {
		metropolisIndependentVector(&spins[0], (*[4][8]uint64)(g), &s.planes, s.l, first, end, colour, s.colours(), s.opposite)
	} else {
		s.independentGeneric(spins, g, first, end, colour)
	}
}

// prefetchSide is the least side of a lattice that outgrows the caches near a core.
const prefetchSide = 192

type replicas = [ReplicaWords]uint64

// site returns the spins of a site in all replicas.
func (s *Sweep) site(spins []uint64, row, col int) *replicas {
	return (*replicas)(spins[(row*s.l+col)*ReplicaWords:])
}

// bonds compares the number u of unsatisfied bonds of a site: bits of two are set where u ≥ 2,
// bits of one where u = 1.
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
	step := s.colours()
	for row := first; row < end; row++ {
		col := (row + colour) % step
		for ; col < s.l; col += step {
			// As none ≤ one ≤ two, a draw below none is below the others, too.
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
	step := s.colours()
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
	var two, one, accepted, undecided [quad]replicas
	for k := range n {
		two[k], one[k] = s.bonds(spins, row, col+2*k)
		for i := range undecided[k] {
			undecided[k][i] = ^uint64(0)
		}
	}
	sharedPlane := false // all sites take the same random bits
	for p, plane := range &s.planes {
		sharedPlane = sharedPlane || n == quad && p >= minPlanes && disjoint(&undecided)
		var random replicas
		var anyUndecided uint64
		for k := range n {
			if k == 0 || !sharedPlane {
				random = g.next()
			}
			for i, random := range random {
				threshold := plane[0] ^ one[k][i]&plane[1] ^ two[k][i]&plane[2]
				accepted[k][i] |= undecided[k][i] & threshold &^ random
				undecided[k][i] &^= threshold ^ random
				anyUndecided |= undecided[k][i]
			}
		}
		if anyUndecided == 0 && (n == 1 && p >= minPlanes-1 || sharedPlane && p >= minQuadPlanes-1) {
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

// disjoint reports whether no bit is set in two elements of x.
func disjoint(x *[quad]replicas) bool {
	for i := range ReplicaWords {
		var union uint64
		for k := range x {
			if union&x[k][i] != 0 {
				return false
			}
			union |= x[k][i]
		}
	}
	return true
}
