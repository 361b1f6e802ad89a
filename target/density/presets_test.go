package density

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// TestRecipes: quick looks at its target, keeps what is set, and is as it stands where
// there are too many coordinates, or modes, to look at.
func TestRecipes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("looks at many targets")
	}
	resolve := func(preset string, set ...string) (*RealsConfig, string) {
		cfg, why, err := catalogue.Systems{RealsDefinition}.Resolve(t.Context(), catalogue.Source{System: "reals", Preset: preset, Set: set})
		require.NoError(t, err)
		return cfg.(*RealsConfig), why
	}
	c, why := resolve("quick", "generator.components=3")
	require.Contains(t, why, "a mixture of ")
	require.Equal(t, "mixture", c.Generator.Kind)
	require.Equal(t, "balance", c.Loss.Kind)
	require.Equal(t, 3, c.Generator.Components)
	c, why = resolve("quick", "target.dim=513", "target.parameters={}", "target.scale=[]", "target.expression=-sum(x^2)/18")
	require.Regexp(t, `^short chains found the probability mass around [^;]* 513 numbers; a RealNVP, because a mixture is learned in up to 512 coordinates$`, why)
	require.Equal(t, "realnvp", c.Generator.Kind)
	// Where neighbours leave a coordinate a tenth of its deviation, by smaller steps.
	c, why = resolve("quick", "target.dim=66", "target.parameters={}", "target.scale=[]", "target.expression=-50*sum((x[1:] - 0.99*x[:65])^2) - x[0]^2/2 - sum(x^4)/100")
	require.Contains(t, why, "a Gaussian, bent through 4 couplings")
	require.InDelta(t, mixture.SettledRate*0.3, c.Training.Optimizer.LearningRate, mixture.SettledRate*0.1)
	_, why = resolve("quick", "target.dim=6", "target.parameters={}", "target.scale=[]", "target.expression=sum(log(exp(-x^2/2) + 100*exp(-5000*x^2))) - 2*(sum(x) - 3)^2")
	require.Contains(t, why, "Gaussians, bent, because modes lie apart")
	_, why = resolve("quick", "target.dim=80", "target.parameters={}", "target.scale=[]", "target.expression=-sum((x - 3)^2)/2 + sum(x[1:]*x[:79])/3")
	require.Contains(t, why, "a Gaussian, because ln π is quadratic")
	mixed := func(dim, modes int) (*MixedConfig, string) {
		hints := strings.Repeat(",[0.5]", modes)[1:] // without which pilots of 9 modes in 400 coordinates take seconds
		cfg, why, err := catalogue.Systems{MixedDefinition}.Resolve(t.Context(), catalogue.Source{System: "mixed", Preset: "quick",
			Set: []string{fmt.Sprintf("target.dim=%d", dim), fmt.Sprintf("target.modes=%d", modes), "target.parameters={}", "target.expression=-sum(x^2)*(k + 1)",
				"target.center=[" + strings.ReplaceAll(hints, "0.5", "0") + "]", "target.scale=[" + hints + "]"}})
		require.NoError(t, err)
		return cfg.(*MixedConfig), why
	}
	many, why := mixed(7, 17)
	require.Contains(t, why, "a Gaussian for each of 17 modes with a density")
	require.Equal(t, "mixture", many.Generator.Kind)
	many, why = mixed(400, 9)
	require.Contains(t, why, "the paper's settings, because in 400 coordinates a mixture is learned of up to 8 modes")
	require.Equal(t, "perceptron", many.Generator.Kind)
	// The scale of all coordinates but one is a function of that: couplings. Tails that are
	// a little heavy: Gaussians.
	for deviation, couplings := range map[string]int{"3": 4, "0.5": 0} {
		c, why = resolve("quick", "target.dim=10", "target.parameters={}", "target.center=[]", "target.scale=[]",
			"target.expression=-x[0]^2/(2*"+deviation+"^2) - 4.5*x[0] - exp(-x[0])*sum(x[1:]^2)/2")
		require.Equal(t, couplings, c.Generator.Depth, why)
	}
	// Shells: many Gaussians, bent in few dimensions.
	for dim, bent := range map[string]bool{"3": true, "5": false} {
		c, why = resolve("quick", "target.dim="+dim, "target.parameters={}", "target.center=[]", "target.scale=[]",
			"target.expression=-(sqrt(sum(x^2)) - 4.5)^2*4")
		require.Contains(t, why, "because ln π is far from quadratic")
		require.Equal(t, []any{32, 8, bent}, []any{c.Generator.Components, c.Generator.Depth, c.Generator.Bent}, why)
	}
	// A target of a file has no hints but its own.
	cfg, why, err := catalogue.Systems{RealsDefinition}.Resolve(t.Context(), catalogue.Source{Text: []byte(`{"system": "reals", "preset": "paper",
		"target": {"dim": 3, "expression": "-sum((x - 500)^2)/200", "parameters": {}}}`)})
	require.NoError(t, err)
	require.Contains(t, why, "short chains found the probability mass around ")
	require.InDelta(t, 500, cfg.(*RealsConfig).Target.Center[0], 10)
	c, why = resolve("paper", "target.scale=[1.6]")
	require.Empty(t, why)
	require.Equal(t, "mmd", c.Loss.Kind)
}

// TestModesByDensity: where Gaussians describe every mode, a generator that has only
// been placed has weights whose mean is the known Z, in the target's own coordinates, and
// weights of modes that are the target's.
func TestModesByDensity(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	cfg := configure(t, MixedDefinition, "quick", "target.dim=2", "target.modes=2",
		`target.parameters={"w":[0.7,0.3],"mu":[[0,0],[80,0]],"s":[1,20]}`,
		"target.expression=log(w[k]) - sum((x - mu[k])^2)/(2*s[k]^2) - len(x)*log(s[k])")
	system, params := initialized(t, cfg, workers)
	const samples = 20000
	e, err := system.(engine.Evaluator).Evaluate(t.Context(), params, samples)
	require.NoError(t, err)
	seen := 0
	for _, m := range e.Metrics {
		switch m.Name {
		case "effective_sample_size":
			seen++
			require.Greater(t, m.Generated, 0.5)
		case "log_z":
			seen++
			se := (m.Interval[1] - m.Interval[0]) / (2 * 1.96)
			require.InDelta(t, math.Log(2*math.Pi), m.Generated, 6*se)
			require.Less(t, se, 0.02)
		case "mode_weight_0", "mode_weight_1":
			seen++
			p := map[string]float64{"mode_weight_0": 0.7, "mode_weight_1": 0.3}[m.Name]
			require.InDelta(t, p, m.Reweighted.Value, 6*math.Sqrt(p/(0.5*samples)), m.Name)
		}
	}
	require.Equal(t, 4, seen)
}

// initialized returns a system and the parameters of a generator that has only been placed.
func initialized(t *testing.T, cfg engine.Config, workers *pool.Pool) (engine.System, []float32) {
	t.Helper()
	system, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, system.NumParams())
	system.Initialize(params)
	return system, params
}

// placed draws samples of a generator that has only been placed: each as x, where there are
// modes its mode as an int32, and ln of its weight. It requires an effective size above the
// least, and an ln Z within so many standard errors of the exact one, of which each is below
// the largest.
func placed(t *testing.T, cfg engine.Config, workers *pool.Pool, samples int, least, logZ, errors, largest float64) (rows [][]byte, logWeights []float64) {
	t.Helper()
	system, params := initialized(t, cfg, workers)
	s := system.(engine.Sampler)
	width := s.Formats()[slices.IndexFunc(s.Formats(), func(f engine.Format) bool { return f.Name == engine.Weighted })].RowBytes
	data, r := make([]byte, samples*width), make([]float64, samples)
	require.NoError(t, s.Sample(data, engine.Weighted, params, 0, samples, 0))
	rows = slices.Collect(slices.Chunk(data, width))
	for i, row := range rows {
		logWeights = append(logWeights, math.Float64frombits(binary.LittleEndian.Uint64(row[width-8:])))
		r[i] = -logWeights[i]
	}
	e := measure.Weigh(r)
	require.Greater(t, e.EffectiveSize, least)
	require.InDelta(t, logZ, e.LogZ, errors*e.LogZError)
	require.Less(t, e.LogZError, largest)
	return rows, logWeights
}

// TestManyCoordinates: beyond the coordinates whose shape a population takes, a generator
// that has only been placed has most of its samples' worth, and the ln Z of a chain of
// anharmonic sites that a transfer matrix gives.
func TestManyCoordinates(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("places Gaussians in many coordinates")
	}
	const sites = 66
	workers := pool.New(2)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "quick", fmt.Sprintf("target.dim=%d", sites), "target.parameters={}", "target.scale=[]",
		"target.expression=sum(0.4*x[1:]*x[:65] - x[1:]^2/2 - x[1:]^4/20) - x[0]^2/2 - x[0]^4/20")
	c := cfg.(*RealsConfig) // a Gaussian settles first, and couplings take it further
	require.Equal(t, []any{1, 4, "parity"}, []any{c.Generator.Components, c.Generator.Depth, c.Generator.Partition})
	require.Equal(t, 0.0028, c.Training.Optimizer.LearningRate) // SettledRate (64/66)²
	placed(t, cfg, workers, 6000, 0.3, logZOfSites(sites, 1, 0.4, 0.05), 5, 0.02)
}

// logZOfSites is that of an open chain of exp(−a x²/2 − q x⁴) at each site and exp(c x y)
// between neighbours, by a transfer matrix.
func logZOfSites(sites int, a, c, q float64) (logZ float64) {
	const width, points = 0.05, 241
	at := func(k int) float64 { return width * float64(k-points/2) }
	now, next := make([]float64, points), make([]float64, points)
	for site := range sites {
		var sum float64
		for k := range next {
			x := at(k)
			next[k] = 1
			if site > 0 {
				next[k] = 0
				for j, v := range now {
					next[k] += width * v * math.Exp(c*x*at(j))
				}
			}
			next[k] *= math.Exp(-a*x*x/2 - q*x*x*x*x)
			sum += width * next[k]
		}
		logZ += math.Log(sum)
		for k, v := range next {
			now[k] = v / sum
		}
	}
	return logZ
}

// TestManyCoordinatesWithModes: Gaussians settle on modes of other centres, widths and
// correlations, one of which is no Gaussian and one of which has next to no weight. A
// generator that has only been placed has most of its samples' worth, the ln Z of all and
// the modes' probabilities, by transfer matrices.
func TestManyCoordinatesWithModes(t *testing.T) {
	if testing.Short() {
		t.Skip("places Gaussians in many coordinates")
	}
	const sites = 30
	probability := []float64{0.5, 0.3, 0.15, 0.05, math.Exp(-50)}
	a, c, q := []float64{1, 4, 2, 1.5, 1}, []float64{0.4, -1.8, 0.5, 0, 0.3}, []float64{0, 0, 0.05, 0, 0}
	var b []string
	for k, p := range probability {
		b = append(b, fmt.Sprint(math.Log(p)-logZOfSites(sites, a[k], c[k], q[k])))
	}
	list := func(x []float64) string { return strings.ReplaceAll(fmt.Sprint(x), " ", ",") }
	workers := pool.New(2)
	defer workers.Close()
	cfg := configure(t, MixedDefinition, "quick", fmt.Sprintf("target.dim=%d", sites), fmt.Sprintf("target.modes=%d", len(a)),
		fmt.Sprintf(`target.parameters={"a":%s,"b":[%s],"c":%s,"q":%s}`, list(a), strings.Join(b, ","), list(c), list(q)),
		"target.expression=let u = x - 3*k; b[k] - a[k]*sum(u^2)/2 + c[k]*sum(u[1:]*u[:29]) - q[k]*sum(u^4)")
	require.Equal(t, 4, cfg.(*MixedConfig).Generator.Components)
	require.True(t, cfg.(*MixedConfig).Generator.Bent)
	const samples = 20000
	rows, logs := placed(t, cfg, workers, samples, 0.8, 0, 6, 0.01)
	generated, weighted, sum := make([]float64, len(a)), make([]float64, len(a)), 0.0
	for i, row := range rows {
		mode, w := binary.LittleEndian.Uint32(row[len(row)-12:]), math.Exp(logs[i])
		generated[mode] += 1.0 / samples
		weighted[mode] += w
		sum += w
	}
	for k, p := range probability {
		require.InDelta(t, p, weighted[k]/sum, 6*math.Sqrt(p/(0.8*samples))+1e-12, "mode %d", k)
		require.InDelta(t, p, generated[k], 0.1*p+6*math.Sqrt(p/samples)+1e-12, "mode %d", k)
	}
}

// looks is a context that ends when it has been looked at so many times.
type looks struct {
	context.Context
	left *atomic.Int64
}

func (l looks) Err() error {
	if l.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func after(n int64) looks {
	l := looks{context.Background(), new(atomic.Int64)}
	l.left.Store(n)
	return l
}

// TestStopsWhileItLooks: the end of a context ends the look of a recipe at its target,
// and the population that places the first generator: then nothing is left that looks
// like a checkpoint, and the run that begins anew is the one that was never stopped.
// A run that continues another has the checkpoint that was there.
func TestStopsWhileItLooks(t *testing.T) {
	long.SkipShort(t)
	t.Parallel()
	for _, d := range []engine.Definition{RealsDefinition, MixedDefinition} {
		from := catalogue.Source{System: d.Name, Preset: "quick", Set: []string{"evaluation.samples=200", "training.steps=4", "training.checkpoint_every=2", "generator.scout.population=128"}}
		all := after(math.MaxInt64)
		cfg, _, err := catalogue.Systems{d}.Resolve(all, from)
		require.NoError(t, err)
		many := math.MaxInt64 - all.left.Load()
		for _, n := range []int64{0, 1, many / 2, many * 9 / 10, many - 1} {
			_, _, err := catalogue.Systems{d}.Resolve(after(n), from)
			require.ErrorIs(t, err, context.Canceled, "%s after %d looks", d.Name, n)
		}
		workers := pool.New(2)
		defer workers.Close()
		whole, err := run.Train(t.Context(), cfg, workers, run.Options{})
		require.NoError(t, err)

		dir := t.TempDir()
		for _, n := range []int64{0, 1, 20, 40} {
			_, err = run.Train(after(n), cfg, workers, run.Options{Dir: dir})
			require.ErrorIs(t, err, run.ErrStopped, "with something to go on from")
			require.NoFileExists(t, filepath.Join(dir, "checkpoint.rvg"))
		}
		again, err := run.Train(t.Context(), cfg, workers, run.Options{Dir: dir})
		require.NoError(t, err)
		require.Equal(t, whole.Params, again.Params)
		_, err = run.Train(after(1), cfg, workers, run.Options{Dir: dir})
		var stop *run.StopError
		require.ErrorAs(t, err, &stop)
		require.Equal(t, 4, stop.Step)
	}
}
