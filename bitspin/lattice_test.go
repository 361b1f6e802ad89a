package bitspin

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// naive is the oracle: one int a spin, sums over bonds.
type naive struct {
	l     int
	spins []int
}

func unpackNaive(l int, config []uint64) naive {
	s := naive{l, make([]int, l*l)}
	for i := range s.spins {
		s.spins[i] = -1
		if config[i/64]&(1<<(i%64)) != 0 {
			s.spins[i] = 1
		}
	}
	return s
}

func (s naive) bondSum() (sum int) {
	for row := range s.l {
		for col := range s.l {
			here := s.spins[row*s.l+col]
			right := s.spins[row*s.l+(col+1)%s.l]
			below := s.spins[(row+1)%s.l*s.l+col]
			sum += here*right + here*below
		}
	}
	return sum
}

func (s naive) magnetisation() (sum int) {
	for _, x := range s.spins {
		sum += x
	}
	return sum
}

func (s naive) flipped(mask []uint64) naive {
	m := unpackNaive(s.l, mask)
	f := naive{s.l, make([]int, len(s.spins))}
	for i, x := range s.spins {
		f.spins[i] = -x * m.spins[i]
	}
	return f
}

func mustLattice(t testing.TB, l int) *Lattice {
	lat, err := NewLattice(l)
	require.NoError(t, err)
	return lat
}

func mustModel(t testing.TB, l int, j, h float64) Model {
	m, err := NewModel(l, j, h)
	require.NoError(t, err)
	return m
}

func randomConfig(r *rand.Rand, lat *Lattice) []uint64 {
	s := make([]uint64, lat.Words)
	for w := range s {
		s[w] = r.Uint64()
	}
	s[len(s)-1] &= lat.lastWord
	return s
}

func TestAllStatesAndMasksOfSide3(t *testing.T) {
	lat := mustLattice(t, 3)
	bonds, magnetisation := make([]int, 512), make([]int, 512)
	for s := range uint64(512) {
		n := unpackNaive(3, []uint64{s})
		bonds[s], magnetisation[s] = n.bondSum(), n.magnetisation()
		require.Equal(t, bonds[s], lat.BondSum([]uint64{s}), "bond sum of %09b", s)
		require.Equal(t, magnetisation[s], lat.Magnetisation([]uint64{s}), "magnetisation of %09b", s)
	}
	for s := range uint64(512) {
		for mask := range uint64(512) {
			db, dm := lat.Difference([]uint64{s}, []uint64{mask})
			if db != bonds[s^mask]-bonds[s] || dm != magnetisation[s^mask]-magnetisation[s] {
				t.Fatalf("state %09b, mask %09b: differences %d and %d", s, mask, db, dm)
			}
		}
	}
}

func TestAllStatesAndMasksOfSide2(t *testing.T) {
	lat := mustLattice(t, 2)
	require.Equal(t, 8, lat.BondSum([]uint64{15}), "double bonds")
	for s := range uint64(16) {
		for mask := range uint64(16) {
			before := unpackNaive(2, []uint64{s})
			after := before.flipped([]uint64{mask})
			require.Equal(t, before.bondSum(), lat.BondSum([]uint64{s}))
			db, dm := lat.Difference([]uint64{s}, []uint64{mask})
			require.Equal(t, after.bondSum()-before.bondSum(), db)
			require.Equal(t, after.magnetisation()-before.magnetisation(), dm)
		}
	}
}

func TestAgainstNaive(t *testing.T) {
	for _, l := range []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 31, 32, 33, 64, 65, 127, 128, 130} {
		t.Run(fmt.Sprintf("L=%d", l), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(l)))
			lat := mustLattice(t, l)
			for range max(2, 1000/lat.N) {
				checkAgainstNaive(t, lat, randomConfig(r, lat), randomConfig(r, lat))
			}
			empty, full := make([]uint64, lat.Words), make([]uint64, lat.Words)
			lat.fill(full)
			checkAgainstNaive(t, lat, full, empty)
			checkAgainstNaive(t, lat, empty, full)
		})
	}
}

func checkAgainstNaive(t require.TestingT, lat *Lattice, s, mask []uint64) {
	before := unpackNaive(lat.L, s)
	after := before.flipped(mask)
	require.Equal(t, before.bondSum(), lat.BondSum(s))
	require.Equal(t, before.magnetisation(), lat.Magnetisation(s))
	db, dm := lat.Difference(s, mask)
	require.Equal(t, after.bondSum()-before.bondSum(), db)
	require.Equal(t, after.magnetisation()-before.magnetisation(), dm)
}

func TestDifferenceOfEverySite(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for _, l := range []int{2, 3, 8, 9, 12, 65} {
		lat := mustLattice(t, l)
		s, mask := randomConfig(r, lat), make([]uint64, lat.Words)
		for k := range lat.N {
			clear(mask)
			mask[k/64] = 1 << (k % 64)
			db, dm := lat.Difference(s, mask)
			quarter, half := lat.differenceOne(s, k)
			require.Equal(t, [2]int{db, dm}, [2]int{4 * quarter, 2 * half}, "L=%d site %d", l, k)
		}
	}
}

func anyConfig(lat *Lattice) *rapid.Generator[[]uint64] {
	return rapid.Custom(func(t *rapid.T) []uint64 {
		s := rapid.SliceOfN(rapid.Uint64(), lat.Words, lat.Words).Draw(t, "words")
		s[lat.Words-1] &= lat.lastWord
		return s
	})
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lat, err := NewLattice(rapid.IntRange(2, 20).Draw(t, "L"))
		require.NoError(t, err)
		s := anyConfig(lat).Draw(t, "config")
		a := anyConfig(lat).Draw(t, "mask a")
		b := anyConfig(lat).Draw(t, "mask b")
		checkAgainstNaive(t, lat, s, a)

		// Flips compose: a, then b, is the flip of a XOR b.
		both, after := make([]uint64, lat.Words), make([]uint64, lat.Words)
		for w := range s {
			both[w], after[w] = a[w]^b[w], s[w]^a[w]
		}
		da, ma := lat.Difference(s, a)
		db, mb := lat.Difference(after, b)
		dc, mc := lat.Difference(s, both)
		require.Equal(t, [2]int{da + db, ma + mb}, [2]int{dc, mc})

		// The global flip leaves the bonds alone, and each flip undoes itself.
		full := make([]uint64, lat.Words)
		lat.fill(full)
		d, m := lat.Difference(s, full)
		require.Equal(t, [2]int{0, -2 * lat.Magnetisation(s)}, [2]int{d, m})
		back, mback := lat.Difference(after, a)
		require.Equal(t, [2]int{-da, -ma}, [2]int{back, mback})

		require.Zero(t, da%4)
		require.LessOrEqual(t, max(da, -da), 4*lat.N)
		require.LessOrEqual(t, max(ma, -ma), 2*lat.N)
	})
}

func FuzzDifference(f *testing.F) {
	f.Add(uint8(3), uint64(1), uint64(2))
	f.Add(uint8(9), uint64(3), uint64(4))
	f.Fuzz(func(t *testing.T, side uint8, config, mask uint64) {
		lat := mustLattice(t, 2+int(side)%30)
		checkAgainstNaive(t, lat,
			randomConfig(rand.New(rand.NewPCG(config, 0)), lat),
			randomConfig(rand.New(rand.NewPCG(mask, 1)), lat))
	})
}

func TestModelEnergies(t *testing.T) {
	m := mustModel(t, 3, -1.5, 0.25)
	batch := []uint64{0, 511, 1}
	energies := make([]float64, 3)
	m.Energies(energies, batch)
	require.Equal(t, []float64{27 + 2.25, 27 - 2.25, 1.5*10 + 0.25*7}, energies)
	require.Equal(t, energies[2]-energies[0], m.EnergyDifference(batch[:1], []uint64{1}))
	require.PanicsWithValue(t, "bitspin: batch of 2 words for 3 configurations of 1 words", func() { m.Energies(energies, batch[:2]) })

	m = mustModel(t, 9, 1, 0.5) // two words each
	batch = []uint64{0, 0, ^uint64(0), 1<<17 - 1, 3, 5, 7, 9}
	energies = make([]float64, 4)
	m.Energies(energies, batch)
	for i := range energies {
		require.Equal(t, m.Energy(batch[2*i:2*i+2]), energies[i])
	}
}

func TestBadModels(t *testing.T) {
	nan, inf := nan(), 1/zero()
	for name, make := range map[string]func() error{
		"L = 1":   func() error { _, err := NewModel(1, 1, 0); return err },
		"L = -3":  func() error { _, err := NewLattice(-3); return err },
		"L large": func() error { _, err := NewLattice(MaxSide + 1); return err },
		"J NaN":   func() error { _, err := NewModel(3, nan, 0); return err },
		"J inf":   func() error { _, err := NewModel(3, inf, 0); return err },
		"h NaN":   func() error { _, err := NewModel(3, 1, nan); return err },
		"h inf":   func() error { _, err := NewModel(3, 1, -inf); return err },
	} {
		require.Error(t, make(), name)
	}
}

func zero() float64 { return 0 }
func nan() float64  { return zero() / zero() }
