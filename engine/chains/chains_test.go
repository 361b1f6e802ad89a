package chains_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// run runs the chains of a system's quick preset with some values set.
func run(t *testing.T, o chains.Options, threads int, system string, set ...string) *chains.Level {
	t.Helper()
	return &runAll(t, o, threads, system, set...).Levels[0]
}

// source is a system with its default recipe, or for targets of one's own with none that
// looks at them, which takes most of a test's time and has no part in their chains.
func source(system string, set []string) catalogue.Source {
	preset := ""
	if system == "reals" {
		preset = "paper"
	}
	return catalogue.Source{System: system, Preset: preset, Set: set}
}

func runAll(t *testing.T, o chains.Options, threads int, system string, set ...string) *chains.Result {
	t.Helper()
	cfg, _, err := root.Systems().Resolve(context.Background(), source(system, set))
	require.NoError(t, err)
	workers := pool.New(threads)
	defer workers.Close()
	s, err := cfg.New(workers)
	require.NoError(t, err)
	defer engine.Release(s)
	r, err := chains.Run(context.Background(), s, o, nil)
	require.NoError(t, err)
	return r
}

// beyond is the |z| that normal errors exceed with a probability of 6·10⁻⁸; a
// standard error that is estimated from thousands of effective draws leaves 10⁻⁶.
const beyond = 5.4

func requireMean(t *testing.T, r *chains.Level, name string, exact float64) {
	t.Helper()
	for i := range r.Observables {
		if x := &r.Observables[i]; x.Name == name {
			require.False(t, x.Doubtful(), "%+v", x)
			require.Greater(t, x.StandardError, 0.0)
			require.Less(t, math.Abs(x.Mean-exact), beyond*x.StandardError, "%s: %v ± %v, exactly %v", name, x.Mean, x.StandardError, exact)
			require.Less(t, x.StandardError, 0.05*x.Deviation, name)
			return
		}
	}
	t.Fatalf("no observable %s", name)
}

// Averages of the 3×3 lattice are those of its 512 configurations.
func TestIsing(t *testing.T) {
	const l, beta = 3, 0.3
	var z, energy, abs float64
	for config := range 1 << (l * l) {
		spin := func(y, x int) float64 { return float64(2*(config>>(y%l*l+x%l)&1) - 1) }
		var e, m float64
		for y := range l {
			for x := range l {
				e -= spin(y, x) * (spin(y+1, x) + spin(y, x+1))
				m += spin(y, x)
			}
		}
		w := math.Exp(-beta * e)
		z, energy, abs = z+w, energy+w*e, abs+w*math.Abs(m)/(l*l)
	}
	o := chains.Options{Chains: 64, Draws: 500, BurnIn: 50, Spacing: 1}
	r := run(t, o, 2, "ising", "target.l=3", "target.beta=0.3")
	requireMean(t, r, "energy", energy/z)
	requireMean(t, r, "abs_magnetisation", abs/z)
	requireMean(t, r, "magnetisation", 0)
	for _, x := range r.Observables {
		require.NotEqual(t, engine.LogWeight, x.Name)
	}
	for _, threads := range []int{1, 3} {
		require.Equal(t, r.Values, run(t, o, threads, "ising", "target.l=3", "target.beta=0.3").Values)
	}
	require.NotEqual(t, r.Values, run(t, o, 1, "ising", "target.l=3", "target.beta=0.3", "training.seed=2").Values)
}

func TestOptions(t *testing.T) {
	good := chains.Options{Chains: 1, Draws: 4, Spacing: 1}
	levels := make([]float64, 257)
	for i := range levels {
		levels[i] = float64(i)
	}
	for _, change := range []func(*chains.Options){
		func(*chains.Options) {}, func(o *chains.Options) { o.Chains = 1 << 16 }, func(o *chains.Options) { o.Draws = 1 << 24 },
		func(o *chains.Options) { o.BurnIn = math.MaxInt32 }, func(o *chains.Options) { o.BurnIn = chains.HalfBurnIn },
		func(o *chains.Options) { o.Spacing = math.MaxInt32 }, func(o *chains.Options) { o.Spacing = chains.AutoSpacing },
		func(o *chains.Options) { o.Ladder = levels[:256] }, func(o *chains.Options) { o.Ladder, o.Draws = levels[:2], 1<<23 },
		func(o *chains.Options) { o.Chains, o.Draws = 1<<10, 1<<14 },
	} {
		o := good
		change(&o)
		require.NoError(t, o.Validate(), "%+v", o)
	}
	for want, change := range map[string]func(*chains.Options){
		"chains: 0 is not between 1 and 65536": func(o *chains.Options) { o.Chains = 0 },
		"draws: 3 are fewer than 4":            func(o *chains.Options) { o.Draws = 3 },
		"draws: 16777217 of 1 chains are more than 16777216 together; let the spacing be larger": func(o *chains.Options) { o.Draws = 1<<24 + 1 },
		"burn-in: -2 is not between 0 and 2147483647":                                            func(o *chains.Options) { o.BurnIn = -2 },
		"spacing: 0 is not between 1 and 2147483647":                                             func(o *chains.Options) { o.Spacing = 0 },
		"ladder: 1 inverse temperatures; give 2 to 256":                                          func(o *chains.Options) { o.Ladder = []float64{0.5} },
		"ladder: 0.1 comes after 0.5; inverse temperatures ascend":                               func(o *chains.Options) { o.Ladder = []float64{0.5, 0.1} },
		"ladder: 0.5 comes after 0.5; inverse temperatures ascend":                               func(o *chains.Options) { o.Ladder = []float64{0.5, 0.5} },
		"ladder: NaN is not a finite number ≥ 0":                                                 func(o *chains.Options) { o.Ladder = []float64{math.NaN(), 0.1} },
		"chains: 65537 is not between 1 and 65536":                                               func(o *chains.Options) { o.Chains = 1<<16 + 1 },
		"burn-in: 2147483648 is not between 0 and 2147483647":                                    func(o *chains.Options) { o.BurnIn = 1 << 31 },
		"spacing: -2 is not between 1 and 2147483647":                                            func(o *chains.Options) { o.Spacing = -2 },
		"spacing: 2147483648 is not between 1 and 2147483647":                                    func(o *chains.Options) { o.Spacing = 1 << 31 },
		"ladder: 257 inverse temperatures; give 2 to 256":                                        func(o *chains.Options) { o.Ladder = levels },
		"ladder: -1 is not a finite number ≥ 0":                                                  func(o *chains.Options) { o.Ladder = []float64{-1, 1} },
		"ladder: +Inf is not a finite number ≥ 0":                                                func(o *chains.Options) { o.Ladder = []float64{0, math.Inf(1)} },
		"draws: 16385 of 1024 chains are more than 16777216 together; let the spacing be larger": func(o *chains.Options) { o.Chains, o.Draws = 1<<10, 1<<14+1 },
		"ladder: chains that are given have none": func(o *chains.Options) {
			o.Ladder, o.Start = levels[:2], func([]float32, int) (chains.Walk, error) { return nil, nil }
		},
		"draws: 8388609 of 1 chains at 2 temperatures are more than 16777216 together; let the spacing be larger": func(o *chains.Options) {
			o.Ladder, o.Draws = []float64{0.1, 0.5}, 1<<23+1
		},
	} {
		o := good
		change(&o)
		require.EqualError(t, o.Validate(), want)
	}
}

// Averages of a mixture are those of its components: E x = Σ w μ,
// E|x|²/2 = Σ w (|μ|² + tr Σ)/2, and E p(k|x) = w_k.
func TestMixture(t *testing.T) {
	long.SkipShort(t)
	r := run(t, chains.Options{Chains: 64, Draws: 500, BurnIn: 2000, Spacing: 50}, 2, "gmm", `target.components=[
		{"weight": 0.3, "mean": [-1.5, 0], "covariance": [[1, 0], [0, 1]]},
		{"weight": 0.7, "mean": [1, 0.5], "covariance": [[0.5, 0.2], [0.2, 1]]}]`)
	requireMean(t, r, "x0", -0.3*1.5+0.7)
	requireMean(t, r, "x1", 0.7*0.5)
	requireMean(t, r, "mean_square", (0.3*(2.25+2)+0.7*(1.25+1.5))/2)
	requireMean(t, r, "mode_weight_0", 0.3)
}

// TestObservablesInFiles: each figure has its key, be it finite or not.
func TestObservablesInFiles(t *testing.T) {
	text, err := json.Marshal(chains.Observable{Name: "energy", SecondsPerEffective: 7,
		ChainSummary: stat.ChainSummary{Mean: 1, StandardError: 2, Deviation: 3, Time: 4, RHat: math.Inf(1), EffectiveSize: 6}})
	require.NoError(t, err)
	require.Equal(t, `{"name":"energy","mean":1,"standard_error":2,"deviation":3,"autocorrelation_time":4,"r_hat":"Infinity","effective_size":6,"seconds_per_effective_sample":7}`, string(text))
}
