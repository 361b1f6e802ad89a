package asm

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
)

// The first outputs of xoshiro256++ from the state 1, 2, 3, 4, as in the test
// vectors of Rust's rand_xoshiro.
func TestXoshiroKnownAnswers(t *testing.T) {
	want := []uint64{
		41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205,
		9973669472204895162, 14011001112246962877, 12406186145184390807, 15849039046786891736, 10450023813501588000,
	}
	var x Xoshiro
	for i := range x {
		for lane := range x[i] {
			x[i][lane] = uint64(i + 1)
		}
	}
	for _, w := range want {
		for _, out := range x.next() {
			require.Equal(t, w, out)
		}
	}
}

// Sides around pairs of sites and with more sites than one call of the assembly.
var sweepSides = []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 17, 22, 64, 101}

func testSweep(r *rand.Rand, l int) *Sweep {
	one := r.Float64()
	switch r.IntN(6) {
	case 0:
		one = 1
	case 1:
		one = 0
	}
	return NewSweep(l, one, one*r.Float64(), r.IntN(2) == 0)
}

func randomSpins(r *rand.Rand, n int) []uint64 {
	spins := make([]uint64, n)
	for i := range spins {
		spins[i] = r.Uint64()
	}
	return spins
}

func TestSweepsEqualGeneric(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(1, 2))
		page := endOfPage[uint64](t, 2*101*101*ReplicaWords)
		for _, l := range sweepSides {
			for range max(1, 200/(l*l)) {
				s := testSweep(r, l)
				n := l * l * ReplicaWords
				start := randomSpins(r, 2*n)
				want := append([]uint64(nil), start...)
				got := page(2 * n)
				copy(got, start)
				c := Counter{Seed: r.Uint64(), Step: 3}
				for step := range uint32(3) {
					c.Step = step
					sweepShared(s, want, &c)
					s.SharedSweeps(got, &c, 1)
				}
				require.True(t, slices.Equal(want, got), "shared draws, L = %d", l)
				c.Step = 3
				s.SharedSweeps(got, &c, 5)
				require.EqualValues(t, 3, c.Step)
				for range 5 {
					sweepShared(s, want, &c)
					c.Step++
				}
				require.True(t, slices.Equal(want, got), "five sweeps with shared draws, L = %d", l)

				var a, b Xoshiro
				a.Seed(&c, 0)
				b = a
				want, got = want[:n], got[:n]
				guarded := guardedCopy(got)
				for range 3 {
					sweepIndependent(s, want, &a)
					s.Independent(guarded.data, &b)
				}
				guarded.check(t)
				require.True(t, slices.Equal(want, guarded.data), "independent draws, L = %d", l)
				require.Equal(t, a, b, "generators, L = %d", l)
			}
		}
	})
}

// TestSharedDraws: half sweeps draw, in steps of 512 and by whole blocks, what they use and
// no more.
func TestSharedDraws(t *testing.T) {
	for _, l := range []int{2, 3, 6, 22, 23, 40} {
		s := NewSweep(l, 0.5, 0.2, false)
		order := make([]halfSweep, s.colours())
		spins := make([]uint64, s.blockLen())
		s.sharedInCache(spins, &Counter{Seed: 1, Step: 7}, order)
		for colour := range order {
			need := (colour + 1) * l * l / s.colours()
			if colour > 0 { // its first row comes last
				need = min(need, l*l/2+512)
			}
			require.Equal(t, (need+3)/4*4, order[colour].to, "L = %d, colour %d", l, colour)
			require.LessOrEqual(t, order[colour].to-order[colour].from, 512+7)
			require.Equal(t, Counter{Seed: 1, Step: 7}, order[colour].stream)
		}
	}
}

// On lattices larger than the cache of a core several sweeps go on at a time, with
// rows of theirs around the torus.
func TestLargeSweepsEqualGeneric(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		if path == Generic {
			return
		}
		r := rand.New(rand.NewPCG(7, 8))
		for _, l := range []int{124, 130} {
			s := testSweep(r, l)
			require.Equal(t, maxSweepsInCache, s.sweepsInCache(1))
			want := randomSpins(r, l*l*ReplicaWords)
			got := slices.Clone(want)
			c := Counter{Seed: r.Uint64()}
			s.SharedSweeps(got, &c, maxSweepsInCache+1)
			for range maxSweepsInCache + 1 {
				sweepShared(s, want, &c)
				c.Step++
			}
			require.True(t, slices.Equal(want, got), "L = %d", l)
		}
	})
}

// sweepShared and sweepIndependent are the sweeps by the generic kernels, with
// the order of rows written out.
func sweepShared(s *Sweep, spins []uint64, c *Counter) {
	draws := make([]uint32, (s.l*s.l+3)&^3)
	PhiloxBlocks(draws, c, 0)
	perColour := s.l * s.l / s.colours()
	for ; len(spins) > 0; spins = spins[s.blockLen():] {
		for colour := range s.colours() {
			s.sharedGeneric(spins, draws[colour*perColour:], 0, s.l, colour)
		}
	}
}

func sweepIndependent(s *Sweep, spins []uint64, g *Xoshiro) {
	for row := range s.l {
		s.independentGeneric(spins, g, row, row+1, 0)
		if row >= 2 && s.colours() == 2 {
			s.independentGeneric(spins, g, row-1, row, 1)
		}
	}
	if s.colours() == 2 {
		s.independentGeneric(spins, g, s.l-1, s.l, 1)
		s.independentGeneric(spins, g, 0, 1, 1)
	}
}

// The generic sweep with shared draws against one replica at a time with
// integers.
func TestSharedSweepOfEachReplica(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range []int{2, 3, 4, 5} {
		for range 4 {
			s := testSweep(r, l)
			spins := randomSpins(r, l*l*ReplicaWords)
			before := append([]uint64(nil), spins...)
			c := Counter{Seed: r.Uint64()}
			draws := make([]uint32, (l*l+3)&^3)
			PhiloxBlocks(draws, &c, 0)
			s.SharedSweeps(spins, &c, 1)
			for replica := range ReplicaBits {
				spin := make([]int, l*l)
				for i := range spin {
					spin[i] = 2*int(before[i*ReplicaWords+replica/64]>>(replica%64)&1) - 1
				}
				next := 0
				for colour := range s.colours() {
					for i := range spin {
						row, col := i/l, i%l
						if (row+col)%s.colours() != colour {
							continue
						}
						sum := spin[(row+1)%l*l+col] + spin[(row+l-1)%l*l+col] + spin[row*l+(col+1)%l] + spin[row*l+(col+l-1)%l]
						satisfied := spin[i] * sum // −4 … 4
						if s.opposite != 0 {
							satisfied = -satisfied
						}
						u := (4 - satisfied) / 2
						draw := uint64(draws[next])
						next++
						if draw < []uint64{s.none, s.one, s.two, s.two, s.two}[u] {
							spin[i] = -spin[i]
						}
					}
				}
				for i, v := range spin {
					require.Equal(t, v, 2*int(spins[i*ReplicaWords+replica/64]>>(replica%64)&1)-1, "L = %d, replica %d, site %d", l, replica, i)
				}
			}
		}
	}
}

// Four sites at a time against one replica at a time: every draw is compared bit
// by bit, and no random bit is looked at for two undecided replicas.
func TestQuadsDrawEveryBitOnce(t *testing.T) {
	long.SkipShort(t)
	const l, row = 8, 3
	r := rand.New(rand.NewPCG(5, 6))
	clashes, longest := 0, 0
	for range 400 {
		s := testSweep(r, l)
		spins := randomSpins(r, l*l*ReplicaWords)
		want := slices.Clone(spins)
		var generator, bits Xoshiro
		generator.Seed(&Counter{Seed: r.Uint64()}, 0)
		bits = generator
		s.independentGeneric(spins, &generator, row, row+1, 0)

		thresholds := []uint64{s.none, s.one, s.two, s.two, s.two}
		undecided, threshold := [quad][ReplicaBits]bool{}, [quad][ReplicaBits]uint64{}
		spin := func(row, col, replica int) *uint64 {
			return &want[((row+l)%l*l+(col+l)%l)*ReplicaWords+replica/64]
		}
		at := func(k int) int { return row%2 + 2*k }
		for k := range quad {
			for replica := range ReplicaBits {
				undecided[k][replica] = true
				u := 0
				for _, next := range [][2]int{{row + 1, at(k)}, {row - 1, at(k)}, {row, at(k) + 1}, {row, at(k) - 1}} {
					differ := (*spin(row, at(k), replica)^*spin(next[0], next[1], replica))>>(replica%64)&1 == 1
					if differ != (s.opposite != 0) {
						u++
					}
				}
				threshold[k][replica] = thresholds[u]
			}
		}
		var flips [quad][ReplicaBits]bool
		together := false
		for plane, left := 0, true; left && plane < acceptancePlanes; plane++ {
			if plane >= minPlanes && !together {
				together = true
				for replica := range ReplicaBits {
					n := 0
					for k := range quad {
						if undecided[k][replica] {
							n++
						}
					}
					together = together && n < 2
				}
				if !together {
					clashes++
				}
			}
			left = plane < minQuadPlanes-1 || !together
			var looked [ReplicaBits]bool
			var random replicas
			for k := range quad {
				if k == 0 || !together {
					random, looked = bits.next(), [ReplicaBits]bool{}
				}
				for replica := range ReplicaBits {
					if !undecided[k][replica] {
						continue
					}
					require.False(t, looked[replica], "replica %d, plane %d", replica, plane)
					looked[replica] = true
					bit, own := random[replica/64]>>(replica%64)&1, threshold[k][replica]>>(acceptancePlanes-1-plane)&1
					if bit != own {
						undecided[k][replica] = false
						flips[k][replica] = bit < own
					}
					left = left || undecided[k][replica]
				}
			}
			longest = max(longest, plane+1)
		}
		for k := range quad {
			for replica, flip := range flips[k] {
				if flip {
					*spin(row, at(k), replica) ^= 1 << (replica % 64)
				}
			}
		}
		require.True(t, slices.Equal(want, spins))
		require.Equal(t, bits, generator)
	}
	require.Positive(t, clashes)
	require.Greater(t, longest, minQuadPlanes)
}

// Flips with independent draws are accepted with their probabilities, and
// independently in neighbouring replicas and of other sites, one site at a time and
// four. Level 10⁻⁶ in all.
func TestIndependentAcceptance(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		for _, l := range []int{4, 8} {
			testIndependentAcceptance(t, l, path == Generic)
		}
	})
}

func testIndependentAcceptance(t *testing.T, l int, few bool) {
	one, none := 0.3, 0.07
	s := NewSweep(l, one, none, false)
	sweeps := 3000
	if few {
		sweeps = 200
	}
	var g Xoshiro
	g.Seed(&Counter{Seed: 77}, 0)
	var flipped, pairs [2]int
	across := 0
	for range sweeps {
		// All spins down but one, of the second colour: the first site has one
		// unsatisfied bond, site (2, 0) of the same colour none.
		spins := make([]uint64, l*l*ReplicaWords)
		for i := range ReplicaWords {
			spins[ReplicaWords+i] = math.MaxUint64
		}
		s.Independent(spins, &g)
		for k, site := range []int{0, 2 * l} {
			for _, w := range spins[site*ReplicaWords:][:ReplicaWords] {
				flipped[k] += bits.OnesCount64(w)
				pairs[k] += bits.OnesCount64(w & (w >> 1) & 0x5555555555555555)
			}
		}
		for i, w := range spins[2*l*ReplicaWords:][:ReplicaWords] {
			across += bits.OnesCount64(w & spins[(2*l+2)*ReplicaWords+i])
		}
	}
	n := float64(sweeps * ReplicaBits)
	for k, p := range []float64{attemptProbability * one, attemptProbability * none} {
		require.InDelta(t, p*n, float64(flipped[k]), 5.5*math.Sqrt(p*(1-p)*n))
		require.InDelta(t, p*p*n/2, float64(pairs[k]), 5.5*math.Sqrt(p*p*(1-p*p)*n/2))
	}
	p := attemptProbability * none
	require.InDelta(t, p*p*n, float64(across), 5.5*math.Sqrt(p*p*(1-p*p)*n))
}

func TestSweepThresholds(t *testing.T) {
	s := NewSweep(4, 1, 0.25, false)
	require.EqualValues(t, 63<<26, s.two)
	require.EqualValues(t, 63<<26, s.one)
	require.EqualValues(t, 63<<24, s.none)
	requireRefusal(t, func() { NewSweep(1, 0.5, 0.1, false) })
	requireRefusal(t, func() { NewSweep(1025, 0.5, 0.1, false) })
	requireRefusal(t, func() { NewSweep(4, 0.5, 0.6, false) })
	requireRefusal(t, func() { NewSweep(4, math.NaN(), 0.1, false) })
	requireRefusal(t, func() { s.Independent(make([]uint64, 5), new(Xoshiro)) })
	requireRefusal(t, func() { s.SharedSweeps(make([]uint64, 5), &Counter{}, 1) })
}

func TestSweepsDoNotAllocate(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		s := NewSweep(8, 0.3, 0.09, false)
		spins := make([]uint64, 64*ReplicaWords)
		var g Xoshiro
		require.Zero(t, alloctest.PerRun(10, func() {
			s.SharedSweeps(spins, &Counter{}, 2)
			s.Independent(spins, &g)
		}))
	})
}

func BenchmarkSweep(b *testing.B) {
	for _, l := range []int{64, 256} {
		s := NewSweep(l, math.Exp(-4*0.4406867935), math.Exp(-8*0.4406867935), false)
		spins := randomSpins(rand.New(rand.NewPCG(1, 1)), l*l*ReplicaWords)
		var g Xoshiro
		g.Seed(&Counter{}, 0)
		for range 20 {
			s.Independent(spins, &g) // to typical configurations
		}
		run := func(name string, sweep func(i int)) {
			b.Run(fmt.Sprintf("%s/L=%d", name, l), func(b *testing.B) {
				benchEachPath(b, func(b *testing.B, _ Path) {
					i := 0
					for b.Loop() {
						sweep(i)
						i++
					}
					b.ReportMetric(float64(b.N)*float64(l*l*ReplicaBits)/float64(b.Elapsed().Nanoseconds()), "flips/ns")
				})
			})
		}
		run("shared", func(i int) { s.SharedSweeps(spins, &Counter{Step: uint32(i)}, 1) })
		run("independent", func(int) { s.Independent(spins, &g) })
	}
}

func FuzzSweep(f *testing.F) {
	f.Add(uint64(1), uint8(4), 0.3, 0.1, true)
	f.Fuzz(func(t *testing.T, seed uint64, side uint8, one, ratio float64, opposite bool) {
		l := 2 + int(side)%14
		if !(one >= 0 && one <= 1 && ratio >= 0 && ratio <= 1) {
			t.Skip()
		}
		s := NewSweep(l, one, one*ratio, opposite)
		start := randomSpins(rand.New(rand.NewPCG(seed, 0)), l*l*ReplicaWords)
		c := Counter{Seed: seed}
		want := append([]uint64(nil), start...)
		sweepShared(s, want, &c)
		var a, b Xoshiro
		a.Seed(&c, 0)
		sweepIndependent(s, want, &a)
		before, why, _ := Active()
		defer activate(before, why)
		for _, path := range Supported() {
			require.NoError(t, Use(path))
			got := append([]uint64(nil), start...)
			s.SharedSweeps(got, &c, 1)
			b.Seed(&c, 0)
			s.Independent(got, &b)
			require.Equal(t, want, got, "%v", path)
			require.Equal(t, a, b, "%v", path)
		}
	})
}
