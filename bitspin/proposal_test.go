package bitspin

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/long"
)

// significance is the false-alarm probability of each statistical test if its
// seed were drawn anew.
const significance = 1e-6

// chiSquare tests counts against expectations and returns the p-value.
func chiSquare(counts []int, expected []float64) float64 {
	var x float64
	cells := 0
	for i, e := range expected {
		if e == 0 {
			if counts[i] != 0 {
				return 0
			}
			continue
		}
		x += (float64(counts[i]) - e) * (float64(counts[i]) - e) / e
		cells++
	}
	return mathext.GammaIncRegComp(float64(cells-1)/2, x/2)
}

func mustMixture(t testing.TB, global float64) Proposal {
	p, err := Mixture(global)
	require.NoError(t, err)
	return p
}

func proposals(t testing.TB) []Proposal {
	return []Proposal{SingleSpin(), mustMixture(t, 0.1), MultiSpin()}
}

func TestMaskFrequencies(t *testing.T) {
	for _, l := range []int{2, 3} {
		for _, p := range proposals(t) {
			t.Run(fmt.Sprintf("L=%d/%v", l, p), func(t *testing.T) {
				lat := mustLattice(t, l)
				states := 1 << lat.N
				expected, counts := make([]float64, states), make([]int, states)
				masks := make([]uint64, 1<<20)
				var sum float64
				for m := range expected {
					q := p.Probability(lat.N, []uint64{uint64(m)})
					expected[m] = q * float64(len(masks))
					sum += q
				}
				require.InDelta(t, 1, sum, 1e-14)
				newProposer(lat, p).propose(masks, &asm.Counter{Seed: 7, Purpose: 3}, 0, 0)
				for _, m := range masks {
					counts[m]++
				}
				require.Greater(t, chiSquare(counts, expected), significance)
			})
		}
	}
}

// TestSubsetFrequencies tests the decoders of larger lattices by the size of
// the mask and, given the size, by how often each site and each pair of
// neighbouring bits occurs.
func TestSubsetFrequencies(t *testing.T) {
	long.SkipShort(t)
	for _, l := range []int{4, 5, 7, 8, 9, 12} {
		t.Run(fmt.Sprintf("L=%d", l), func(t *testing.T) {
			lat := mustLattice(t, l)
			n := lat.N
			draws := 200000
			if lat.Words > 1 {
				draws = 20000
			}
			masks := make([]uint64, draws*lat.Words)
			newProposer(lat, MultiSpin()).propose(masks, &asm.Counter{Seed: 11}, 1000, 2)
			sizes, sites := make([]int, n), make([]int, n)
			expectedSize, expectedSite := make([]float64, n), make([]float64, n)
			var pairs, expectedPairs, pairVariance float64
			for i := range n {
				expectedSize[i] = float64(draws) / float64(n)
			}
			var members float64
			for i := range draws {
				m := masks[i*lat.Words:][:lat.Words]
				size, adjacent := 0, 0
				for s := range n {
					if spin(m, s) > 0 {
						size++
						sites[s]++
						if spin(m, (s+1)%n) > 0 {
							adjacent++
						}
					}
				}
				require.NotZero(t, size)
				sizes[size-1]++
				members += float64(size)
				k, nn := float64(size), float64(n)
				pairs += float64(adjacent)
				expectedPairs += k * (k - 1) / (nn - 1)
				// Given k, the number of adjacent pairs on a ring of n sites has
				// this variance (it counts runs).
				pairVariance += k * (k - 1) * (nn - k) * (nn - k - 1) / ((nn - 1) * (nn - 1) * max(nn-2, 1))
			}
			require.Greater(t, chiSquare(sizes, expectedSize), significance)
			for s := range n {
				expectedSite[s] = members / float64(n)
			}
			// Sites of one mask are negatively correlated given its size, so χ²
			// is conservative.
			require.Greater(t, chiSquare(sites, expectedSite), significance)
			require.Less(t, math.Abs(pairs-expectedPairs), 5*math.Sqrt(pairVariance))
		})
	}
}

// TestSmallSubsetsReachEverySite counts how often each site is in subsets of one
// to three sites, or missing in their complements, where a site that the draws
// favour or forget weighs most: with each count within seven standard deviations.
func TestSmallSubsetsReachEverySite(t *testing.T) {
	lat := mustLattice(t, 9)
	p, n := newProposer(lat, MultiSpin()), lat.N
	var r wordReader
	mask, counts, drawn := make([]uint64, lat.Words), map[int][]int{}, map[int]int{}
	for i := range uint64(400000) {
		r.reset(&asm.Counter{Seed: 5}, i)
		size := 1 + int(r.uniform(uint32(n)))
		if small := min(size, n-size); small == 0 || small > 3 {
			continue // as the mask's size will be
		}
		r.reset(&asm.Counter{Seed: 5}, i)
		p.drawSubset(mask, &r)
		if counts[size] == nil {
			counts[size] = make([]int, n)
		}
		drawn[size]++
		for s := range n {
			if (spin(mask, s) > 0) == (2*size < n) {
				counts[size][s]++
			}
		}
	}
	require.Len(t, counts, 6)
	for size, of := range counts {
		share := float64(min(size, n-size)) / float64(n)
		mean := float64(drawn[size]) * share
		for s, c := range of {
			require.InDelta(t, mean, c, 7*math.Sqrt(mean*(1-share)), "site %d of masks of %d", s, size)
		}
	}
}

func TestBinomialsUpTo64(t *testing.T) {
	for size := 1; size <= 64; size++ {
		exact := new(big.Int).Binomial(64, int64(size))
		approx, _ := new(big.Float).SetInt(exact).Float64()
		require.InEpsilon(t, approx, Choose(64, size), 1e-14)
	}
}

// TestBoundIsUniform checks that every result has ⌊2³²/n⌋ accepted draws.
// Result v is drawn by the x with v·2³² ≤ x·n < (v+1)·2³²; only the first of
// them can have a low word below 2³² mod n.
func TestBoundIsUniform(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 9, 126, 4096, 48620, 1<<31 - 1, 1 << 31, 3 << 30, math.MaxUint32} {
		b := newBound(n)
		require.Equal(t, uint32((1<<32)%uint64(n)), b.reject)
		for _, v := range []uint32{0, 1, n / 2, n - 2, n - 1} {
			if v >= n {
				continue
			}
			above := func(v uint64) uint64 { // ⌈v·2³²/n⌉
				q, r := bits.Div64(v>>32, v<<32, uint64(n))
				if r != 0 {
					q++
				}
				return q
			}
			first, end := above(uint64(v)), above(uint64(v)+1)
			accepted := end - first
			for x := first; x < end && x < first+2; x++ {
				got, ok := b.draw(uint32(x))
				require.Equal(t, v, got)
				if !ok {
					accepted--
				}
			}
			require.Equal(t, (1<<32)/uint64(n), accepted, "n=%d v=%d", n, v)
		}
	}
}

// TestRedrawsStayUniform uses a bound that rejects a quarter of all draws, so
// that the retry blocks are read.
func TestRedrawsStayUniform(t *testing.T) {
	b, counts := newBound(3<<30), make([]int, 3)
	const draws = 30000
	for i := range uint64(draws) {
		counts[b.redraw(&asm.Counter{Seed: 5}, i, 9, int(i%2))>>30]++
	}
	expected := []float64{draws / 3, draws / 3, draws / 3}
	require.Greater(t, chiSquare(counts, expected), significance)

	var r wordReader
	r.reset(&asm.Counter{Seed: 6}, 0)
	clear(counts)
	for range draws {
		counts[r.uniform(3<<30)>>30]++
	}
	require.Greater(t, chiSquare(counts, expected), significance)
}

func TestMasksDoNotDependOnTheSplit(t *testing.T) {
	c := &asm.Counter{Seed: 1, Purpose: 2, Step: 3}
	for _, l := range []int{3, 5, 9} {
		for _, p := range proposals(t) {
			lat := mustLattice(t, l)
			q := newProposer(lat, p)
			all := make([]uint64, 300*lat.Words)
			q.propose(all, c, 50, 4)
			again := slices.Repeat([]uint64{^uint64(0)}, len(all))
			q.propose(again, c, 50, 4)
			require.Equal(t, all, again, "what stood there before")
			for lo := 0; lo < 300; lo += 37 {
				hi := min(lo+37, 300)
				part := make([]uint64, (hi-lo)*lat.Words)
				q.propose(part, c, 50+uint64(lo), 4)
				require.Equal(t, all[lo*lat.Words:hi*lat.Words], part, "L=%d %v", l, p)
			}
			other := make([]uint64, len(all))
			q.propose(other, c, 50, 5)
			require.NotEqual(t, all, other, "steps must differ")
		}
	}
}

// TestSequentialStreamsAreDisjoint: on more than 16 sites a step reads as many
// words as it needs, and never those of the next sample, with room for as
// many redraws as draws.
func TestSequentialStreamsAreDisjoint(t *testing.T) {
	for _, l := range []int{5, 8, 9, 10, 16, 31, 32, 64, 255, 256} {
		p := newProposer(mustLattice(t, l), MultiSpin())
		n := p.lattice.N
		words := 2 * (1 + n/2 + 2) // the size, the smaller of subset and complement, and the acceptance
		var r wordReader
		buffer := len(r.buffer)
		require.LessOrEqual(t, p.MaxSteps()*words+buffer, 4<<perSampleBits, "L=%d", l)
		mask := make([]uint64, p.lattice.Words)
		for _, sample := range []uint64{0, 1, 77, MaxSamples - 2} {
			r.reset(&asm.Counter{Seed: uint64(l)}, sample)
			require.Equal(t, sample<<perSampleBits, r.next, "L=%d", l)
			for step := range 4 {
				before := 4*int(r.next-sample<<perSampleBits) - (buffer - r.used)
				p.drawSubset(mask, &r)
				r.word()
				r.word()
				require.LessOrEqual(t, 4*int(r.next-sample<<perSampleBits)-(buffer-r.used)-before, words, "L=%d: sample %d, step %d", l, sample, step)
			}
		}
	}
}

// TestSuccessiveMasksAreIndependent holds how many sites two masks of one sample
// share against what independent masks of their sizes would.
func TestSuccessiveMasksAreIndependent(t *testing.T) {
	for _, l := range []int{4, 8, 9, 12} {
		lat := mustLattice(t, l)
		p := newProposer(lat, MultiSpin())
		const samples = 4000
		masks := make([][]uint64, 4)
		for step := range masks {
			masks[step] = make([]uint64, samples*lat.Words)
			p.propose(masks[step], &asm.Counter{Seed: 12}, 0, step)
		}
		size := func(words []uint64) (n float64) {
			for _, w := range words {
				n += float64(bits.OnesCount64(w))
			}
			return n
		}
		n := float64(lat.N)
		for lag := 1; lag < len(masks); lag++ {
			var excess, variance float64
			for i := range samples {
				a, b := masks[0][i*lat.Words:][:lat.Words], masks[lag][i*lat.Words:][:lat.Words]
				both := make([]uint64, lat.Words)
				for w := range both {
					both[w] = a[w] & b[w]
				}
				x, y := size(a), size(b)
				excess += size(both) - x*y/n
				variance += x * y * (n - x) * (n - y) / (n * n * (n - 1))
			}
			require.Less(t, math.Abs(excess), 5*math.Sqrt(variance), "L=%d, lag %d", l, lag)
		}
	}
}

func TestProbabilities(t *testing.T) {
	p := mustMixture(t, 0.1)
	require.InDelta(t, 0.1, p.Global(), 1e-9)
	require.Equal(t, p.Global(), p.Probability(9, []uint64{511}))
	require.Equal(t, (1-p.Global())/9, p.Probability(9, []uint64{4}))
	require.Zero(t, p.Probability(9, []uint64{0}))
	require.Zero(t, p.Probability(9, []uint64{3}))
	require.Equal(t, 1.0/9/126, MultiSpin().Probability(9, []uint64{0b101010101 &^ 1}))
	require.Zero(t, MultiSpin().Probability(9, []uint64{0}))
	require.Equal(t, 1.0/81, MultiSpin().Probability(81, []uint64{math.MaxUint64, 1<<17 - 1}))
	require.Equal(t, 1.0/81, SingleSpin().Probability(81, []uint64{0, 1 << 16}))
	require.Zero(t, SingleSpin().Probability(4, []uint64{15}))
}

// proposalNames are those of proposals, in its order.
var proposalNames = []string{"single", "mixture", "multi-spin"}

func TestProposalNames(t *testing.T) {
	for i, p := range proposals(t) {
		q, err := ParseProposal(proposalNames[i], p.Global())
		require.NoError(t, err)
		require.Equal(t, p, q)
	}
	_, err := ParseProposal("wolff", 0)
	require.ErrorContains(t, err, `"wolff"`)
	for _, global := range []float64{-0.1, 1, 1 - 1e-12, nan(), 2} {
		_, err := ParseProposal("mixture", global)
		require.Error(t, err, "%v", global)
	}
	require.Equal(t, SingleSpin(), Proposal{})
}

// TestSingleSpinsAreThoseOfTheFirstWord: which spin a sample flips on a small lattice is
// a function of its first random word alone, but for the rare ones that do not decide.
func TestSingleSpinsAreThoseOfTheFirstWord(t *testing.T) {
	lat := mustLattice(t, 3)
	p, c := newProposer(lat, SingleSpin()), asm.Counter{Seed: 5, Purpose: 1}
	masks, words := make([]uint64, 100), make([]uint32, 400)
	p.propose(masks, &c, 0, 0)
	asm.PhiloxBlocks(words, &c, blockIndex(0, 0, 0))
	for i, m := range masks {
		site, ok := p.sites.draw(words[4*i])
		require.True(t, ok, "with this seed no word is rare")
		require.Equal(t, uint64(1)<<site, m, "sample %d", i)
	}
}

// TestWordsThatAreReadAgain: a word is taken where the low half of its product with n is no less than 2³² modulo n, and
// the next one otherwise.
func TestWordsThatAreReadAgain(t *testing.T) {
	for _, n := range []uint32{3, 5, 81, 65537, 3 << 30, math.MaxUint32} {
		rest := uint32((1 << 32) % uint64(n))
		inverse := uint32(1) // of n odd, modulo 2³²
		for range 5 {
			inverse *= 2 - n*inverse
		}
		words := map[uint32]bool{math.MaxUint32: true, 1 << 31: true} // and whether they are taken
		for word := range words {
			words[word] = word*n >= rest
		}
		if n%2 == 1 {
			for low, taken := range map[uint32]bool{rest - 1: false, rest: true, rest + 1: true, n - 1: n-1 >= rest, n: true} {
				words[low*inverse] = taken
			}
		}
		for word, taken := range words {
			r := wordReader{buffer: [64]uint32{word, math.MaxUint32}}
			want, used := uint64(word)*uint64(n)>>32, 1
			if !taken {
				want, used = math.MaxUint32*uint64(n)>>32, 2
			}
			require.EqualValues(t, want, r.uniform(n), "%d of %d", word, n)
			require.Equal(t, used, r.used)
		}
	}
}
