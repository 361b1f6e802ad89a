package asm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// latticeHeatBathCase returns random probabilities, 0 and 1 among them, and n sites of a
// graph in which 3n more sites may be their neighbours, some of them twice.
func latticeHeatBathCase(r *rand.Rand, n int) (*LatticeHeatBath, []Neighbourhood) {
	var up [5]float64
	for k := range up {
		up[k] = []float64{r.Float64(), r.Float64() / 100, 1 - r.Float64()/100, 0, 1}[r.IntN(5)]
	}
	sites := make([]Neighbourhood, n)
	for i := range sites {
		sites[i][0] = uint32(i)
		for k := range 4 {
			sites[i][k+1] = uint32(n + r.IntN(3*n))
		}
	}
	r.Shuffle(n, func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	return NewLatticeHeatBath(up), sites
}

func TestLatticeHeatBathEqualsGeneric(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(1, 2))
		page := endOfPage[uint64](t, 4*5000*ReplicaWords)
		for _, n := range []int{1, 2, 3, 4, 5, 8, 17, 100, 5000} {
			for range max(1, 50/n) {
				h, sites := latticeHeatBathCase(r, n)
				want := randomSpins(r, 4*n*ReplicaWords)
				got := page(len(want))
				copy(got, want)
				var a, b Xoshiro
				a.Seed(&Counter{Seed: r.Uint64()}, 0)
				b = a
				for first := 0; first < n; first += 1 << 12 { // an even number
					h.redrawGeneric(want, sites[first:min(n, first+1<<12)], &a)
				}
				h.Redraw(got, NewSites(sites), &b)
				require.True(t, slices.Equal(want, got), "%d sites", n)
				require.Equal(t, a, b)
			}
		}
		h, _ := latticeHeatBathCase(r, 1)
		h.Redraw(nil, NewSites(nil), &Xoshiro{})
	})
}

// The generic kernel against one replica at a time: a spin becomes up if a number
// of 32 digits, of which those that decide are drawn, lies below its probability.
func TestLatticeHeatBathAgainstIntegers(t *testing.T) {
	long.SkipShort(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 7} {
		for range 30 {
			h, sites := latticeHeatBathCase(r, n)
			spins := randomSpins(r, 4*n*ReplicaWords)
			before := slices.Clone(spins)
			var g, again Xoshiro
			g.Seed(&Counter{Seed: r.Uint64()}, 0)
			again = g
			h.redrawGeneric(spins, sites, &g)
			for first := 0; first < n; first += 2 {
				pair := sites[first:min(first+2, n)]
				var draws [2][ReplicaBits]uint64
				for digit := range acceptancePlanes {
					undecided := digit < minPlanes-1
					for k, site := range pair {
						for i, random := range again.next() {
							for bit := range 64 {
								replica := 64*i + bit
								draws[k][replica] |= random >> bit & 1 << (acceptancePlanes - 1 - digit)
								count := 0
								for _, j := range site[1:] {
									count += int(before[int(j)*ReplicaWords+i] >> bit & 1)
								}
								threshold := uint64(math.Round(math.Ldexp(h.Probability(count), acceptancePlanes)))
								undecided = undecided || (draws[k][replica]^threshold)>>(acceptancePlanes-1-digit) == 0
							}
						}
					}
					if !undecided {
						break
					}
				}
				for k, site := range pair {
					for replica := range ReplicaBits {
						count := 0
						for _, j := range site[1:] {
							count += int(before[int(j)*ReplicaWords+replica/64] >> (replica % 64) & 1)
						}
						threshold := uint64(math.Round(math.Ldexp(h.Probability(count), acceptancePlanes)))
						up := spins[int(site[0])*ReplicaWords+replica/64] >> (replica % 64) & 1
						require.Equal(t, draws[k][replica] < threshold, up == 1)
					}
				}
			}
			require.Equal(t, g, again)
		}
	}
}

func TestLatticeHeatBathProbabilities(t *testing.T) {
	want := [5]float64{0.25, 0, 1, 0.75, 0.3}
	h := NewLatticeHeatBath(want)
	for k, p := range want {
		require.InDelta(t, p, h.Probability(k), 0x1p-32)
		require.Positive(t, h.Probability(k))
		require.Less(t, h.Probability(k), 1.0)
	}
	// Complements stay complements: the law without a field is even.
	h = NewLatticeHeatBath([5]float64{1e-12, 0.1, 0.5, 0.9, 1 - 1e-12})
	for k := range 5 {
		require.Equal(t, 1.0, h.Probability(k)+h.Probability(4-k))
	}
}

func TestLatticeHeatBathRefuses(t *testing.T) {
	requireRefusal(t, func() { NewLatticeHeatBath([5]float64{0, 0, 0, 0, math.NaN()}) })
	requireRefusal(t, func() { NewLatticeHeatBath([5]float64{1.5}) })
	requireRefusal(t, func() { NewSites([]Neighbourhood{{0, 1, 1, 1, 1}, {1, 2, 2, 2, 2}}) })
	h := NewLatticeHeatBath([5]float64{})
	sites := NewSites([]Neighbourhood{{0, 1, 2, 3, 4}})
	requireRefusal(t, func() { h.Redraw(make([]uint64, 5*ReplicaWords-1), sites, &Xoshiro{}) })
}

func BenchmarkLatticeHeatBath(b *testing.B) {
	const n = 128
	h, sites := latticeHeatBathCase(rand.New(rand.NewPCG(5, 6)), n)
	h = NewLatticeHeatBath([5]float64{0.03, 0.15, 0.5, 0.85, 0.97})
	list, spins := NewSites(sites), make([]uint64, 4*n*ReplicaWords)
	benchEachPath(b, func(b *testing.B, _ Path) {
		var g Xoshiro
		g.Seed(&Counter{}, 0)
		for b.Loop() {
			h.Redraw(spins, list, &g)
		}
		b.ReportMetric(float64(b.N)*n*ReplicaBits/float64(b.Elapsed().Nanoseconds()), "flips/ns")
	})
}
