package ising

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/pool"
)

func mustTarget(t testing.TB, l int, j, h, beta float64) Target {
	target, err := NewTarget(l, j, h, beta)
	require.NoError(t, err)
	return target
}

// mustEnumerate visits all 2^(l²) configurations of the periodic l×l lattice,
// 2 ≤ l ≤ 5. A configuration is one word; its broken bonds are
// counted by XOR with its two shifted copies. Configurations whose last spin
// is +1 are taken from their global flips, which have the same bond sum.
func mustEnumerate(t testing.TB, l int) *DensityOfStates {
	lat, err := bitspin.NewLattice(l)
	require.NoError(t, err)
	n := lat.N
	g := &DensityOfStates{lat, make([]uint64, (n+1)*(n+1))}
	var (
		down, up    = uint(l) & 63, uint(n-l) & 63
		wrap        = uint(l-1) & 63
		all         = uint64(1)<<n - 1
		last, inner uint64
	)
	for row := range l {
		last |= 1 << (row*l + l - 1)
	}
	inner = all &^ last
	for s := range uint64(1) << (n - 1) {
		right := s>>1&inner | s<<wrap&last
		below := s>>down | s<<up&all
		broken := bits.OnesCount64(s^right) + bits.OnesCount64(s^below)
		g.count[(2*n-broken)/2*(n+1)+bits.OnesCount64(s)]++
	}
	for b := range n + 1 {
		row := g.count[b*(n+1):][:n+1]
		for m := range (n + 2) / 2 {
			sum := row[m] + row[n-m]
			row[m], row[n-m] = sum, sum
		}
	}
	return g
}

// criticalBeta is ½ ln(1+√2), the bulk's critical inverse temperature.
const criticalBeta = 0.44068679350977151262

// TestReferenceIsShared: runs of other seeds that follow each other have one reference,
// and a run of another target has another.
func TestReferenceIsShared(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	of := func(seed uint64, beta float64) *reference {
		c := paper()
		c.Training.Seed, c.Target.Beta = seed, beta
		m, err := newEvaluator(c, workers)
		require.NoError(t, err)
		r, err := m.reference(context.Background())
		require.NoError(t, err)
		require.Equal(t, beta, r.target.Beta)
		return r
	}
	first := of(1, 0.2)
	require.Same(t, first, of(2, 0.2))
	require.NotSame(t, first, of(2, 0.5))
}

func TestGroundTruths(t *testing.T) {
	g := mustEnumerate(t, 3)
	for beta, want := range map[float64]Observables{
		0.2: {Thermodynamics{6.669744604314, -4.842892000871, 1.367213071898}, 0.459977400186, 0.148598666041},
		0.5: {Thermodynamics{9.925150370851, -15.909106192236, 4.676964355805}, 0.925984777976, 0.133435329173},
	} {
		got := g.Observables(mustTarget(t, 3, 1, 0, beta))
		require.InDelta(t, want.LogZ, got.LogZ, 1e-12)
		require.InDelta(t, want.Energy, got.Energy, 1e-12)
		require.InDelta(t, want.SpecificHeat, got.SpecificHeat, 1e-12)
		require.InDelta(t, want.AbsMagnetisation, got.AbsMagnetisation, 1e-12)
		require.InDelta(t, want.Susceptibility, got.Susceptibility, 1e-12)
	}
}

// TestLargerLattices holds the enumeration against published digits: ln Z, E/N,
// C/N and ⟨|m|⟩.
func TestLargerLattices(t *testing.T) {
	for _, c := range []struct {
		l                      int
		beta, logZ, e, heat, m float64
	}{
		{3, criticalBeta, 9.0202134009, -1.6112463815, .62873611, .8710719355},
		{4, criticalBeta, 15.5219154588, -1.5656237876, .78326683, .8438604448},
		{5, criticalBeta, 23.8862987792, -1.5367195165, .90120019, .8227078634},
		{3, .6, 11.5876950134, -1.9065580111, .30761638, .9721027463},
		{4, .6, 20.0565328843, -1.9080695278, .31555380, .9728674502},
		{5, .6, 30.9469501373, -1.9086946485, .31567727, .9732910925},
	} {
		got := mustEnumerate(t, c.l).Observables(mustTarget(t, c.l, 1, 0, c.beta))
		n := float64(c.l * c.l)
		require.InDelta(t, c.logZ, got.LogZ, 1e-10)
		require.InDelta(t, c.e, got.Energy/n, 1e-10)
		require.InDelta(t, c.heat, got.SpecificHeat/n, 1e-8)
		require.InDelta(t, c.m, got.AbsMagnetisation, 1e-10)
	}
}

func TestKaufmanAgainstEnumeration(t *testing.T) {
	for l := 2; l <= 5; l++ {
		g := mustEnumerate(t, l)
		for _, j := range []float64{1, 0.5, -1} {
			for _, beta := range []float64{0, 1e-6, 1e-3, 0.1, 0.2, 0.44, criticalBeta - 1e-9, criticalBeta, criticalBeta + 1e-9, 0.45, 0.6, 1, 3, 20} {
				got, err := Kaufman(l, j, beta)
				if j < 0 && l%2 == 1 && beta > 0 {
					require.ErrorContains(t, err, "frustrated")
					continue
				}
				require.NoError(t, err)
				want := g.Observables(mustTarget(t, l, j, 0, beta)).Thermodynamics
				name := fmt.Sprintf("L=%d J=%v β=%v", l, j, beta)
				require.InDelta(t, want.LogZ, got.LogZ, 1e-13*want.LogZ, name)
				require.InDelta(t, want.Energy, got.Energy, 1e-12*math.Abs(want.Energy)+1e-14, name)
				require.InDelta(t, want.SpecificHeat, got.SpecificHeat, 1e-10*want.SpecificHeat+1e-14, name)
			}
		}
	}
}

// TestKaufmanOnsagerLimit compares a large lattice with the energy of the
// infinite one, L. Onsager, Phys. Rev. 65, 117 (1944).
func TestKaufmanOnsagerLimit(t *testing.T) {
	for _, beta := range []float64{0.1, 0.2, 0.3, 0.6, 1, 2} {
		th := math.Tanh(2 * beta)
		modulus := 2 * math.Sinh(2*beta) / math.Pow(math.Cosh(2*beta), 2)
		want := -1 / th * (1 + 2/math.Pi*(2*th*th-1)*mathext.CompleteK(modulus*modulus))
		for _, j := range []float64{1, -1} {
			got, err := Kaufman(256, j, beta)
			require.NoError(t, err)
			require.InEpsilon(t, want, got.Energy/(256*256), 1e-12)
		}
	}
}

// TestKaufmanDerivatives checks E and C_v against differences of ln Z.
func TestKaufmanDerivatives(t *testing.T) {
	for _, l := range []int{3, 16, 256} {
		for _, beta := range []float64{0.1, 0.4, criticalBeta, 0.5, 0.9} {
			const j, h = 1.5, 1e-4
			at := func(beta float64) Thermodynamics {
				v, err := Kaufman(l, j, beta)
				require.NoError(t, err)
				return v
			}
			low, mid, high := at(beta-h), at(beta), at(beta+h)
			require.InEpsilon(t, -(high.LogZ-low.LogZ)/(2*h), mid.Energy, 1e-4)
			require.InEpsilon(t, -beta*beta*(high.Energy-low.Energy)/(2*h), mid.SpecificHeat, 1e-4+2e-3*float64(l)/256)
		}
	}
}

func TestKaufmanExtremes(t *testing.T) {
	for _, l := range []int{2, 7, 256, 1024} {
		n := float64(l * l)
		hot, err := Kaufman(l, 1, 0)
		require.NoError(t, err)
		require.InEpsilon(t, n*math.Ln2, hot.LogZ, 1e-13)
		require.InDelta(t, 0, hot.Energy, 1e-9)
		require.Zero(t, hot.SpecificHeat)
		cold, err := Kaufman(l, 1, 400)
		require.NoError(t, err)
		require.InEpsilon(t, 800*n+math.Ln2, cold.LogZ, 1e-13)
		require.Equal(t, -2*n, cold.Energy)
		require.Zero(t, cold.SpecificHeat)
		free, err := Kaufman(l, 0, 3)
		require.NoError(t, err)
		require.Zero(t, free.Energy)
	}
}

func TestKaufmanRejects(t *testing.T) {
	for name, c := range map[string]struct {
		l       int
		j, beta float64
	}{
		"side":       {1, 1, 1},
		"β < 0":      {3, 1, -1},
		"β NaN":      {3, 1, math.NaN()},
		"J NaN":      {3, math.NaN(), 1},
		"infinite":   {4, math.Inf(1), 1},
		"frustrated": {3, -1, 0.5},
	} {
		_, err := Kaufman(c.l, c.j, c.beta)
		require.Error(t, err, name)
	}
}

// TestObservablesWithField holds couplings of either sign and a field against
// sums over all configurations.
func TestObservablesWithField(t *testing.T) {
	for _, l := range []int{2, 3, 4} {
		for _, c := range []struct{ j, h, beta float64 }{{1, 0.3, 0.4}, {-1, 0, 0.7}, {-0.8, -0.5, 0.3}, {0, 1, 1}, {1, 0, 0}} {
			target := mustTarget(t, l, c.j, c.h, c.beta)
			p, err := target.Probabilities()
			require.NoError(t, err)
			var z, e, e2, abs, m2 float64
			for s, w := range p {
				config := []uint64{uint64(s)}
				energy, m := target.Energy(config), float64(target.Magnetisation(config))/float64(target.N)
				z += math.Exp(-c.beta * energy)
				e += w * energy
				e2 += w * energy * energy
				abs += w * math.Abs(m)
				m2 += w * m * m
			}
			got := mustEnumerate(t, l).Observables(target)
			require.InDelta(t, math.Log(z), got.LogZ, 1e-12)
			require.InDelta(t, e, got.Energy, 1e-10)
			require.InDelta(t, abs, got.AbsMagnetisation, 1e-12)
			require.InDelta(t, c.beta*c.beta*(e2-e*e), got.SpecificHeat, 1e-9)
			require.InDelta(t, c.beta*float64(target.N)*(m2-abs*abs), got.Susceptibility, 1e-11)
		}
	}
}

func TestBadTargets(t *testing.T) {
	for _, beta := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := NewTarget(3, 1, 0, beta)
		require.ErrorContains(t, err, "β")
	}
	_, err := NewTarget(1, 1, 0, 0.2)
	require.Error(t, err)
	_, err = mustTarget(t, 5, 1, 0, 0.2).Probabilities()
	require.ErrorContains(t, err, "5×5")
	require.Panics(t, func() { mustEnumerate(t, 3).Observables(mustTarget(t, 4, 1, 0, 0.2)) })
	require.Panics(t, func() { TotalVariation([]float64{1}, nil) })
}

func TestTotalVariation(t *testing.T) {
	require.Equal(t, 0.5, TotalVariation([]float64{0.5, 0.5, 0}, []float64{0, 0.5, 0.5}))
}

func TestDensityOfStatesAgainstBits(t *testing.T) {
	for _, l := range []int{2, 3, 4} {
		g := mustEnumerate(t, l)
		target := mustTarget(t, l, 1, 0, 0)
		want := map[[2]int]uint64{}
		for s := range uint64(1) << target.N {
			want[[2]int{target.BondSum([]uint64{s}), 2*bits.OnesCount64(s) - target.N}]++
		}
		var sum uint64
		for b := -2*target.N - 1; b <= 2*target.N+1; b++ {
			for m := -target.N - 1; m <= target.N+1; m++ {
				require.Equal(t, want[[2]int{b, m}], g.of(b, m), "L=%d B=%d M=%d", l, b, m)
				sum += g.of(b, m)
			}
		}
		require.Equal(t, uint64(1)<<target.N, sum)
	}
}

// TestTallyOfALargeLattice counts on the largest lattice that a configuration
// may name, whose pairs of sums would not fit in memory as a table.
func TestTallyOfALargeLattice(t *testing.T) {
	target := mustTarget(t, 256, 1, 0, 0.4)
	count := newTally(target.Model)
	batch := make([]uint64, 3*target.Words)
	batch[0] = 1
	count.count(batch)
	count.joint.normalise()
	n := target.N
	want := map[[2]int]float64{{2*n - 8, 2 - n}: 1.0 / 3, {2 * n, -n}: 2.0 / 3}
	count.joint.each(func(b, m int, w float64) {
		require.InDelta(t, want[[2]int{b, m}], w, 1e-15)
		delete(want, [2]int{b, m})
	})
	require.Empty(t, want)
}

// of returns the number of configurations with bond sum b and
// magnetisation m.
func (g *DensityOfStates) of(b, m int) uint64 {
	n := g.lattice.N
	if b < -2*n || b > 2*n || (b+2*n)%4 != 0 || m < -n || m > n || (m+n)%2 != 0 {
		return 0
	}
	return g.count[(b+2*n)/4*(n+1)+(m+n)/2]
}
