package density

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// TestVisits: a tail that chains leave again has the weight of their visits; where one stays, or
// is at a state as likely as others, it may have any.
func TestVisits(t *testing.T) {
	const draws = 300
	for _, c := range []struct {
		there  []int
		chains int
		share  float64
		likely int // states that are less so
		mode   bool
	}{
		{nil, 0, 0, 0, false},
		{[]int{0, draws + 1}, 2, 2.0 / 600, 4, false},
		{[]int{draws, draws + 1}, 1, 2.0 / 600, 4, false},
		{[]int{draws - 3, draws - 2, draws - 1}, 1, 3.0 / 600, 3, true},
		{[]int{draws - 2, draws - 1}, 1, 2.0 / 600, 4, false}, // has come just now
		{[]int{0, draws + 1}, 2, 2.0 / 600, 6, true},
	} {
		there, likelihood := make([]bool, 2*draws), make([]float64, 2*draws)
		for i := range likelihood {
			likelihood[i] = -1
		}
		for i := range c.likely { // others than these
			likelihood[100+i] = -3
		}
		for _, i := range c.there {
			there[i], likelihood[i] = true, -2
		}
		if len(c.there) > 1 {
			likelihood[c.there[0]] = -4 // less likely than all others
		}
		chains, share, mode := countVisits(there, likelihood, draws)
		require.Equal(t, c.chains, chains)
		require.InDelta(t, c.share, share, 1e-12)
		require.Equal(t, c.mode, mode)
	}
}

// TestPlaces: of each chain that was somewhere its states there, ln π with every mode, and how far
// it was from the samples in their standard deviations, but for ln π and weights. Its last state
// counts where it is as likely as nearly all samples.
func TestPlaces(t *testing.T) {
	const draws = 3
	s := &system{System: &vectors.System{Ensemble: &vectors.Ensemble{}}, names: []string{"x0", "log_density", engine.LogWeight}}
	s.Modes = 2
	samples := []float64{-1, -1, 0, 1, -2, 0, -1, -3, 0, 1, -4, 0}
	values, logPi, there := make([]float64, 3*referenceChains*draws), make([]float64, referenceChains*draws), make([]bool, referenceChains*draws)
	states := vectors.States{X: make([]float32, 2*referenceChains*draws), Dim: 2}
	for i := range there {
		states.X[2*i], logPi[i] = float32(i), float64(-i)
		copy(values[3*i:], []float64{float64(10 * i), -5, 99})
	}
	there[4], there[5] = true, true // of the second chain
	places := s.undrawnPlaces(states, logPi, values, there, samples)
	require.Len(t, places, 1)
	require.Equal(t, []float64{4, 0, 5, 0}, places[0].X)
	require.InDeltaSlice(t, []float64{math.Ln2 - 4, math.Ln2 - 5}, places[0].LogPi, 1e-12)
	require.InDelta(t, 50/math.Sqrt(4./3), places[0].Away, 1e-12)
	values[3*5+1] = -4
	logs := s.lastLogWeights(values, samples)
	require.Len(t, logs, referenceChains)
	for c, l := range logs {
		require.Equal(t, map[bool]float64{true: 99, false: math.Inf(-1)}[c == 1], l)
	}
}

// TestVisitsOfChains: what is said of states that chains came to and the generator hardly draws,
// and whether they are lost.
func TestVisitsOfChains(t *testing.T) {
	const samples, draws, n = 1000, 4, 4 * referenceChains
	workers := pool.New(1)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "paper", "target.dim=2", "target.parameters={}", "target.center=[0]", "target.scale=[1]", "generator.gain=1e-9",
		"target.expression=logsumexp([-sum(x^2)/2, -sum((x - 20)^2)/2])") // whose generator has the first mode
	made, err := cfg.New(workers)
	require.NoError(t, err)
	s := made.(*system)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	values, err := s.samplesOf(t.Context(), params, samples)
	require.NoError(t, err)
	r := lists.Column(values, s.column(engine.LogWeight), len(s.names))
	for i, w := range r {
		r[i] = -w
	}
	weights := measure.NewReweighing(r)
	require.InDelta(t, math.Log(2*math.Pi), weights.LogZ, 1e-3)
	for _, c := range []struct {
		name      string
		at        map[int][2]float32 // other states than those about the origin
		unsettled bool
		chains    int
		near      string
		lost      bool
		doubt     bool
		more      string
	}{
		{"nowhere else", nil, false, 0, "", false, false, ""},
		{"another mode", map[int][2]float32{12: {20, 20}, 13: {20, 20}, 14: {20, 20}, 15: {20, 19}, 23: {20, 20}}, false, 2, "x0 = 20, x1 = 20 π/q is e^400 ", true, false, ""},
		{"a tail", map[int][2]float32{12: {10.5, 10.5}}, false, 1, "x0 = 10.5, x1 = 10.5 π/q is e^20 ", false, false, ""},
		{"the end of a chain", map[int][2]float32{15: {10.5, 10.5}}, false, 1, "x0 = 10.5, x1 = 10.5 π/q is e^20 ", true, false, ""},
		{"another mode of chains apart", map[int][2]float32{12: {20, 20}, 13: {20, 20}, 14: {20, 20}, 15: {20, 19}, 23: {20, 20}}, true, 2, "x0 = 20, x1 = 20 π/q is e^400 ", true, true, ""},
		{"a tail of chains apart", map[int][2]float32{12: {10.5, 10.5}}, true, 1, "x0 = 10.5, x1 = 10.5 π/q is e^20 ", false, false, "; averages lack about 0 standard deviations without these states"},
	} {
		var x []float32
		for i := range n {
			at, ok := c.at[i]
			if !ok {
				at = [2]float32{float32(i%7) / 10, float32(i%5) / 10}
			}
			x = append(x, at[:]...)
		}
		s.reference = &reference{states: asm.Bytes(x), chains: referenceChains}
		out := &measure.Evaluation{Samples: samples, Metrics: []measure.Metric{{}, {Unsettled: c.unsettled}}}
		require.NoError(t, s.checkCoverage(out, params, &weights.Weights, values))
		if c.chains == 0 {
			require.Empty(t, out.Warnings)
			continue
		}
		why := fmt.Sprintf("%d of 128 chains came to states that the generator hardly draws, in %s of their steps: near %stimes its mean%s", c.chains, number.Percent(float64(len(c.at))/n), c.near, c.more)
		require.Equal(t, []string{why}, out.Warnings, c.name)
		if c.lost {
			require.Equal(t, []string{why}, out.Lost, c.name)
		} else {
			require.Empty(t, out.Lost, c.name)
		}
		require.Equal(t, map[bool]string{true: why}[c.doubt], out.Doubt, c.name)
	}
}
