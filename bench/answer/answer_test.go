package answer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/long"
)

// autoregressive is a series of mean m and variance 1 with ρ_t = aᵗ.
func autoregressive(n int, m, a float64, seed uint64) *Series {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &Series{width: 2, Setup: 1, Sampling: 4}
	x := r.NormFloat64()
	for range n {
		x = a*x + math.Sqrt(1-a*a)*r.NormFloat64()
		s.rows = append(s.rows, m+x, (m+x)*(m+x))
	}
	return s
}

// TestLatticeSums: E and |m| are those of all pairs of neighbours on a torus.
func TestLatticeSums(t *testing.T) {
	const side = 5
	r := rand.New(rand.NewPCG(3, 8))
	for range 20 {
		state := make([]byte, side*side)
		var sum, bonds int
		for i := range state {
			spin := int8(1 - 2*r.IntN(2))
			state[i] = byte(spin)
			sum += int(spin)
		}
		for i := range state {
			for j := range state {
				dx, dy := (j%side-i%side+side)%side, (j/side-i/side+side)%side
				if dx+dy == 1 {
					bonds += int(int8(state[i])) * int(int8(state[j]))
				}
			}
		}
		energy, m := latticeSums(state, side)
		require.Equal(t, -float64(bonds), energy)
		require.InDelta(t, math.Abs(float64(sum))/(side*side), m, 1e-15)
	}
}

// TestJudge holds what is said of series against what is known of their laws: a weighted
// one of independent rows, a correlated one, and one with another mean.
func TestJudge(t *testing.T) {
	const n = 100_000
	// Drawn from N(0, 1) with weights e^{x − ½}: the target is N(1, 1), and the error² of
	// its mean E[w²(x − 1)²]/n = e·E_{N(2,1)}[(x − 1)²]/n = 2e/n.
	ours := autoregressive(n, 0, 0, 1)
	for r := range n {
		ours.weights = append(ours.weights, math.Exp(ours.rows[2*r]-0.5))
	}
	outcomes := []Outcome{
		{Contender: "ours", Series: *ours},
		{Contender: "chain", Series: *autoregressive(n, 1, 0.8, 2)}, // τ = (1 + 0.8)/(1 − 0.8) = 9
		{Contender: "elsewhere", Series: *autoregressive(n, 1.5, 0, 3)},
		{Contender: "missing", Missing: "not installed"},
	}
	o := meanObservable("x", 0, 1)
	o.unit = func(m []float64) float64 { return math.Sqrt(m[1] - m[0]*m[0]) }
	p := problem{observables: []observable{o}}
	p.judge(outcomes)
	of := func(k int) Average { return outcomes[k].Averages[0] }
	const each = 4.0 / n
	require.InEpsilon(t, math.Sqrt(2*math.E/n), of(0).Error, 0.1)
	require.InEpsilon(t, 1/(2*math.E*each), of(0).Independent, 0.2)
	require.InEpsilon(t, math.Sqrt(9.0/n), of(1).Error, 0.1)
	require.InEpsilon(t, 1/(9*each), of(1).Independent, 0.2)
	require.InEpsilon(t, 1+9*each*1e4, of(1).Seconds, 0.2, "setup, and until √(9/n) is a hundredth")
	require.True(t, outcomes[0].Consistent())
	require.True(t, outcomes[1].Consistent())
	require.False(t, outcomes[2].Consistent(), "half a deviation off")
	require.False(t, outcomes[3].Consistent())
	last := outcomes[1].Curve[len(outcomes[1].Curve)-1]
	require.InDelta(t, 5, last.Seconds, 1e-12)
	require.InDelta(t, math.Abs(of(1).Value-1)/of(1).Unit, last.Error, 1e-12)

	paid := outcomes[1].Paid(&outcomes[0])
	require.True(t, math.IsInf(paid, 1), "a chain that is slower never pays")
	outcomes[0].Setup = 11
	require.InEpsilon(t, 10/(1/of(1).Independent-1/of(0).Independent), outcomes[0].Paid(&outcomes[1]), 1e-12)
}

// TestConsensus: where nothing is exact, each is held against the others.
func TestConsensus(t *testing.T) {
	outcomes := []Outcome{
		{Series: *autoregressive(1000, 0, 0, 1)}, {Series: *autoregressive(1000, 0, 0, 2)}, {Series: *autoregressive(1000, 1, 0, 3)},
	}
	p := problem{observables: []observable{meanObservable("x", 0, math.NaN())}}
	p.judge(outcomes[:2])
	require.True(t, outcomes[0].Consistent() && outcomes[1].Consistent())
	require.Equal(t, outcomes[1].Averages[0].Value, outcomes[0].Averages[0].Reference)
	outcomes = []Outcome{{Preset: "best", Series: outcomes[0].Series}, {Preset: "quick", Series: outcomes[0].Series}, {Series: outcomes[1].Series}}
	p.judge(outcomes)
	require.Equal(t, outcomes[2].Averages[0].Value, outcomes[0].Averages[0].Reference, "ours are not held against each other")
	outcomes = []Outcome{{Series: outcomes[0].Series}, {Series: outcomes[2].Series}, {Series: *autoregressive(1000, 1, 0, 3)}}
	p.judge(outcomes)
	require.False(t, outcomes[2].Consistent())
}

// TestChainsAgree holds the peers in C against enumeration, at a level of 10⁻⁶ an average.
func TestChainsAgree(t *testing.T) {
	long.SkipShort(t)
	w, err := peers.NewWorkshop(t.Context())
	require.NoError(t, err)
	defer w.Close()
	check := func(c contender, value func(s *Series) float64, exact float64) {
		t.Helper()
		s, _, err := c.run(t.Context(), w, 0.1, 3)
		var missing *peers.MissingError
		if errors.As(err, &missing) {
			t.Skip(missing)
		}
		require.NoError(t, err)
		p := problem{observables: []observable{{"", func([]float64) float64 { return value(s) }, func([]float64) float64 { return 1 }, exact}}}
		p.observables[0].value = func(m []float64) float64 { return value(&Series{rows: m, width: len(m)}) }
		o := []Outcome{{Series: *s}}
		p.judge(o)
		require.Less(t, o[0].Averages[0].Off, 5.0, "%s: %g, not %g", c.name(), o[0].Averages[0].Value, exact)
	}
	first := func(i int) func(*Series) float64 { return func(s *Series) float64 { return s.rows[i] } }
	three := lattice(3, 0.2)
	for _, c := range three.peers {
		check(c, first(0), -4.842892000871)
		check(c, first(2), 0.459977400186)
	}

	small := glass(4, 0.7, 5)
	edges, pairs := glassGraph(4, 5)
	h := spins.Hamiltonian{Spins: 16}
	for _, e := range edges {
		h.Edges = append(h.Edges, spins.Edge{I: int(e[0]), J: int(e[1]), Coupling: float64(e[2])})
	}
	g, err := spins.NewGraph(h)
	require.NoError(t, err)
	var z, energy, together float64
	for config := range uint64(1 << 16) {
		e := g.Energy([]uint64{config})
		weight := math.Exp(-0.7 * e)
		z += weight
		energy += weight * e
		together += weight * spins.Spin([]uint64{config}, int(pairs[0][0])) * spins.Spin([]uint64{config}, int(pairs[0][1]))
	}
	check(small.peers[0], first(0), energy/z)
	check(small.peers[0], first(2), together/z)
}

// TestGlassPairs: the pairs of a glass are as far from each other as its lattice lets them be.
func TestGlassPairs(t *testing.T) {
	const side = 8
	edges, pairs := glassGraph(side, 3)
	require.Len(t, edges, 2*side*side)
	require.Len(t, pairs, 4)
	for _, p := range pairs {
		i, j := int(p[0]), int(p[1])
		require.Equal(t, side/2, (j/side-i/side+side)%side)
		require.Equal(t, side/2, (j%side-i%side+side)%side)
	}
}

// TestCubicLattice: each spin has six neighbours, a step away, and pairs are as far apart as they may be.
func TestCubicLattice(t *testing.T) {
	const side = 4
	edges, pairs := cubicGraph(side)
	degrees := make([]int, side*side*side)
	away := func(i, j int32) (steps int) {
		for _, unit := range []int32{1, side, side * side} {
			d := (j/unit%side - i/unit%side + side) % side
			steps += int(min(d, side-d))
		}
		return steps
	}
	for _, e := range edges {
		require.Equal(t, []any{1, int32(1)}, []any{away(e[0], e[1]), e[2]})
		degrees[e[0]]++
		degrees[e[1]]++
	}
	require.Equal(t, slices.Repeat([]int{6}, len(degrees)), degrees)
	require.Equal(t, []int{side / 2, 3 * side / 2}, []int{away(pairs[0][0], pairs[0][1]), away(pairs[1][0], pairs[1][1])})
}

// TestVectorTargets holds the densities in Python against those in Go: emcee's averages
// agree with the exact ones.
func TestVectorTargets(t *testing.T) {
	w, err := peers.NewWorkshop(t.Context())
	require.NoError(t, err)
	defer w.Close()
	for _, p := range vectorProblems() {
		if p.name != "banana" && p.name != "two_modes" {
			continue
		}
		s, _, err := p.peers[1].run(context.Background(), w, 1.5, 1) // as long as walkers that start about 0 take to settle, several times
		var missing *peers.MissingError
		if errors.As(err, &missing) {
			t.Skip(missing)
		}
		require.NoError(t, err)
		require.Positive(t, s.Evaluations)
		if p.name == "banana" {
			o := []Outcome{{Series: *s}}
			p.judge(o)
			require.True(t, o[0].Consistent(), o[0].Averages)
		}
	}
}
