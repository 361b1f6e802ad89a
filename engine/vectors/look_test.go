package vectors

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// A formula is a target of which nothing is known but ln π.
type formula struct {
	dim  int
	lnPi func(x []float64) float64
}

func (f formula) Dim() int { return f.dim }
func (f formula) LogDensity(dst, x []float32, _ []uint8) {
	state := make([]float64, f.dim)
	for r := range dst {
		for i := range state {
			state[i] = float64(x[r*f.dim+i])
		}
		dst[r] = float32(f.lnPi(state))
	}
}

// A modalFormula has the same ln π in each of its modes.
type modalFormula struct {
	formula
	modes int
}

func (f modalFormula) Modes() int { return f.modes }

func norm2(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}

func gaussian(x []float64) float64 { return -norm2(x) / 2 }

// doubled has two wells in each coordinate, which lean towards the next but one by some coupling.
func doubled(coupling float64) func(x []float64) float64 {
	return func(x []float64) (sum float64) {
		for i, v := range x {
			sum -= (v*v-3)*(v*v-3)/2 + coupling*v*x[(i+2)%len(x)]
		}
		return sum
	}
}

func shell(x []float64) float64 {
	r := math.Sqrt(norm2(x)) - 4
	return -20 * r * r
}

func student(x []float64) float64 { return -float64(10+len(x)) / 2 * math.Log(1+norm2(x)/10) }

func banana(x []float64) float64 {
	sum := -x[0] * x[0] / 2
	for _, v := range x[1:] {
		v -= 2 * x[0] * x[0]
		sum -= v * v / 2
	}
	return sum
}

func quartic(x []float64) (sum float64) {
	for i, v := range x {
		sum -= v*v*v*v/4 + 0.3*v*x[(i+2)%len(x)]
	}
	return sum
}

func mild(x []float64) (sum float64) {
	for i, v := range x {
		next := x[(i+2)%len(x)]
		sum -= v*v/2 + 0.05*v*v*next*next
	}
	return sum
}

// balls has two Gaussians, whose centres are ±4 in four coordinates.
func balls(x []float64) float64 {
	to := 4 * (x[0] + x[1] + x[2] + x[3])
	return -norm2(x)/2 + math.Abs(to) + math.Log1p(math.Exp(-2*math.Abs(to)))
}

const tied = 0.95 // correlation of neighbours

// stiff is nearly a Gaussian of tied neighbours.
func stiff(x []float64) (sum float64) {
	for i, v := range x {
		sum -= 0.0003 * v * v * v * v
		if i > 0 {
			v = (v - tied*x[i-1]) / math.Sqrt(1-tied*tied)
		}
		sum -= v * v / 2
	}
	return sum
}

// TestRecipesOfLooks: what a recipe makes of targets of which nothing is known, by what a
// population finds.
func TestRecipesOfLooks(t *testing.T) {
	long.SkipShort(t)
	path, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(path)) }()
	const listed = "listed"
	free := math.Sqrt((1 - tied*tied) / (1 + tied*tied)) // of a coordinate between two that it is tied to
	for _, c := range []struct {
		formula
		quick                   bool
		base                    string
		components, depth, wide int
		bent                    bool
		partition, because      string
		population, steps       int
		rate                    float64
	}{
		{formula{2, shell}, false, "joint", 33, 0, 32, false, "parity", "so many leave little of ln π unexplained", 2048, 2500, 0.02},
		{formula{2, student}, true, "joint", 32, 0, 32, false, "parity", "ln π is not quadratic", 1024, 1000, 0.02},
		{formula{3, shell}, true, "joint", 60, 0, 32, true, "parity", "modes lie apart", 1024, 1000, 0.02},
		{formula{5, shell}, true, "joint", 32, 8, 32, false, "parity", "ln π is far from quadratic", 1024, 1600, 0.005},
		{formula{7, student}, true, "joint", 32, 0, 32, false, "parity", "ln π is not quadratic", 1024, 1000, 0.02},
		{formula{3, banana}, true, "joint", 8, 4, 32, true, listed, "ln π is not quadratic", 1024, 1000, 0.005},
		{formula{4, doubled(0)}, true, "product", 8, 0, 32, false, "parity", "ln π is a sum of functions of one coordinate each", 1024, 1000, 0.02},
		{formula{4, doubled(0.02)}, true, "product", 8, 4, 32, true, listed, "that comes nearer to the target than joint ones", 1024, 1000, 0.005},
		{formula{17, doubled(0)}, true, "product", 8, 0, 32, false, "parity", "ln π is a sum of functions of one coordinate each", 1024, 1000, 0.02},
		{formula{17, doubled(0.02)}, true, "product", 8, 4, 64, true, listed, "that comes nearer to the target than joint ones", 1024, 800, 0.003},
		{formula{65, doubled(0)}, true, "product", 8, 0, 32, false, "parity", "ln π is a sum of functions of one coordinate each", 512, 1000, 0.02},
		{formula{65, balls}, true, "joint", 2, 0, 32, true, "parity", "modes lie apart", 512, 400, 0.003},
		{formula{65, stiff}, true, "joint", 1, 4, 64, true, "parity", "ln π is not quadratic", 512, 400, 0.0029 * free / 0.4},
		{formula{8, quartic}, true, "joint", 4, 4, 32, true, listed, "ln π is not quadratic", 1024, 1000, 0.005},
		{formula{17, quartic}, true, "joint", 1, 4, 64, true, listed, "ln π is not quadratic", 1024, 800, 0.003},
		{formula{65, mild}, true, "joint", 1, 4, 64, true, listed, "ln π is not quadratic", 512, 400, 0.0029},
	} {
		use := path
		if c.components > mixture.Many { // as fits of many have it to the last bit
			if use = asm.Generic; runtime.GOARCH != "amd64" {
				continue
			}
		}
		require.NoError(t, asm.Use(use))
		of := paperConfig()
		of.Generator.Kind = "mixture"
		why, err := of.Recipe(t.Context(), c.formula, Seen{}, c.quick)
		require.NoError(t, err)
		g, name := of.Generator, fmt.Sprintf("%d coordinates: %s", c.dim, why)
		require.Equal(t, []any{c.base, c.components, c.depth, []int{c.wide, c.wide}, c.bent, c.partition}, []any{g.Base, g.Components, g.Depth, g.Hidden, g.Bent, g.Partition}, name)
		if require.Equal(t, c.partition == listed, len(g.Changed) > 0, name); c.partition == listed && c.dim > 3 {
			// Each of these coordinates has to do with the next but one, which the other part has.
			apart := 0
			for i := range c.dim {
				if slices.Contains(g.Changed, i) != slices.Contains(g.Changed, (i+2)%c.dim) {
					apart++
				}
			}
			require.GreaterOrEqual(t, apart, c.dim-3, name)
		}
		population := c.population
		if c.dim == 2 && c.components > mixture.Many {
			population *= 4
		}
		require.Equal(t, mixture.ScoutConfig{Population: population, Moves: 10}, g.Scout, name)
		said, rest, few := strings.Cut(why, "; all chains descend from ")
		require.Equal(t, fmt.Sprintf("%s, because %s where %d Metropolis chains found probability mass", g.name(), c.because, c.population), said)
		if few {
			var lines int
			require.True(t, scan(rest, "%d of them, so modes that those did not meet are missing", &lines), rest)
			require.Less(t, lines, c.population/16)
		}
		rate, off := of.Training.Optimizer.LearningRate, 1e-12
		if c.rate < 0.0029 { // it is the population's freedom that counts
			off = 0.07
		}
		require.Equal(t, []any{c.steps, number.Rounded(rate, 2)}, []any{of.Training.Steps, rate}, name)
		require.InEpsilon(t, c.rate, rate, off, name)
	}
	for _, c := range []struct {
		formula
		components int
		bent       bool
		population int
		width      float64
		partners   float64
		steps      int
		rate       float64
	}{
		{formula{1, doubled(0)}, 12, false, 1024, 0.18, 0.9, 1000, 0.02},
		{formula{2, gaussian}, 1, false, 1024, 0.69, 0.9, 1000, 0.02},
		{formula{2, banana}, 8, true, 1024, 0.37, 0.5, 1000, 0.02},
		{formula{65, gaussian}, 1, false, 512, 0.12, 0.9, 400, 0.003 / 30 / (65. * 65 / 64 / 64)},
		{formula{17, mild}, 4, true, 512, 0.20, 0.5, 400, 0.003},
		{formula{65, mild}, 1, true, 512, 0.10, 0.5, 400, 0.003},
	} {
		require.NoError(t, asm.Use(path))
		of := modalPaper()
		why, err := of.Recipe(t.Context(), modalFormula{c.formula, 2}, Seen{}, true)
		require.NoError(t, err)
		require.Equal(t, mixture.Name(c.components, " for each of 2 modes", c.bent)+" with a density", why)
		require.Equal(t, []any{c.components, c.bent, mixture.ScoutConfig{Population: c.population, Moves: 10}}, []any{of.Generator.Components, of.Generator.Bent, of.Generator.Scout}, why)
		require.InEpsilon(t, c.width, of.Transition.Sigma[1], 0.1, why)
		require.Equal(t, []any{c.partners, c.steps}, []any{of.Loss.Partners, of.Training.Steps}, why)
		require.InEpsilon(t, c.rate, of.Training.Optimizer.LearningRate, 1e-12, why)
	}
}

// TestStatesThatOverflow: states of a batch that serves more steps, whose noise is no number any
// longer, leave the gradient finite, and that of the others as it is without them.
func TestStatesThatOverflow(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := testConfigs()["mixture"]
	c.Loss.Reuse, c.Loss.Partners = 3, 0.25
	built, err := c.New(workers)
	require.NoError(t, err)
	params := make([]float32, built.NumParams())
	built.Initialize(params)
	s := built.(*System)
	d, dim := s.form.(*balance), s.Dim
	grad := make([]float32, len(params))
	var loss float64
	for step := range uint32(2) {
		loss, err = s.Loss(params, 1+step)
		require.NoError(t, err)
	}
	for _, far := range []float32{1e20, float32(math.Inf(1))} {
		for j := range dim {
			d.S.X[dim*5+j], d.Next.X[dim*2+j] = far, -far
		}
		d.transition.logPi[5], d.transition.logNext[2] = -1e40, -1e40
		off, err := s.Loss(params, 3)
		require.NoError(t, err)
		s.Backward(params, grad)
		require.Greater(t, off, loss)
		require.False(t, slices.ContainsFunc(grad, func(g float32) bool { return g-g != 0 }))
		require.Zero(t, d.C[5])
		require.Zero(t, d.CNext[2])
	}
}

// TestReusedBatches: a batch serves two steps with the same R, its modes being where a checkpoint
// keeps them, and its weights are judged once.
func TestReusedBatches(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := small(modalBest(), threeTwins(3))
	c.Loss.Reuse, c.Loss.Enough, c.Loss.Partners = 1, 0.5, 0.25
	built, err := c.New(workers)
	require.NoError(t, err)
	params := make([]float32, built.NumParams())
	built.Initialize(params)
	s := built.(*System)
	d := s.form.(*balance)
	step := func(k uint32) (x []float32, modes []uint8, r, next []float64) {
		_, err := s.Loss(params, k)
		require.NoError(t, err)
		return slices.Clone(d.S.X), append(slices.Clone(d.S.K), d.Next.K...), slices.Clone(d.R), slices.Clone(d.RNext)
	}
	x, modes, r, next := step(1)
	n := float64(c.Training.Batch)
	require.Equal(t, n, d.convergence.state[0])
	clear(d.S.K)
	clear(d.Next.K)
	again, same, r2, next2 := step(2)
	require.Equal(t, x, again)
	require.Equal(t, modes, same)
	require.InDeltaSlice(t, r, r2, 1e-4)
	require.InDeltaSlice(t, next, next2, 1e-4)
	require.Equal(t, n, d.convergence.state[0])
	other, _, _, _ := step(3)
	require.NotEqual(t, x, other)
	require.Equal(t, 2*n, d.convergence.state[0])
	var names []string
	for _, section := range d.State() {
		names = append(names, section.Name)
	}
	require.Equal(t, []string{"batch.states", "batch.next", "batch.log_density", "batch.next_log_density", "batch.modes", "enough.log_ratios", "enough.state"}, names)
}

// TestAnnealedBatches: weights of a target that is not yet the one that is learned count for nothing.
func TestAnnealedBatches(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := small(modalBest(), threeTwins(1))
	c.Loss.Enough = 0.5
	c.Transition.Annealing = engine.Annealing{Anneal: 0.5, AnnealFrom: 0.3}
	built, err := c.New(workers)
	require.NoError(t, err)
	s, params := built.(*System), make([]float32, built.NumParams())
	s.Initialize(params)
	d := s.form.(*balance)
	for step := range uint32(c.Training.Steps) {
		d.convergence.state = [2]float64{100, 1}
		_, err := s.Loss(params, step+1)
		require.NoError(t, err)
		want := [2]float64{}
		if c.Transition.At(int(step+1), c.Training.Steps) == 1 {
			want = [2]float64{100 + float64(c.Training.Batch), 1}
		}
		require.Equal(t, want, d.convergence.state, step)
		require.Equal(t, want[1] > 0, s.Converged())
	}
	require.Equal(t, 1.0, c.Transition.At(c.Training.Steps, c.Training.Steps))
}

// TestLooksThatFail: where nothing is to be found of a target, or of one of its modes, recipes and
// starting values say why, and they end with a context.
func TestLooksThatFail(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(1)
	defer workers.Close()
	flat := func([]float64) float64 { return 0 }
	rising := func(x []float64) float64 { return x[0] }
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx  context.Context
		of   formula
		want string
	}{
		{t.Context(), formula{65, flat}, "mode 0: no Gaussian settles where walkers found weight: ln π has no curvature there that differences of it show, or is −∞ all around; bound the coordinates, say where the weight is, or take a generator of another kind"},
		{t.Context(), formula{65, rising}, "mode 0: "},
		{ended, formula{2, gaussian}, "context canceled"},
		{ended, formula{17, gaussian}, "context canceled"},
	} {
		of := modalBest()
		target := modalFormula{c.of, 2}
		_, err := of.Recipe(c.ctx, target, Seen{}, true)
		require.ErrorContains(t, err, c.want)
		s := New(&of, target, workers)
		require.EqualError(t, s.InitializeContext(c.ctx, make([]float32, s.NumParams())), err.Error())
		plain := testConfig{paperConfig(), c.of}
		placed(&plain, 2)
		plain.Generator.Depth = 0
		if s = New(&plain.Config, c.of, workers); c.ctx == ended || c.want == "mode 0: " {
			err = s.InitializeContext(c.ctx, make([]float32, s.NumParams()))
			require.Error(t, err)
			require.NotContains(t, err.Error(), "mode 0")
			_, err = plain.Recipe(c.ctx, c.of, Seen{}, true)
			require.Error(t, err)
		}
	}
}

// TestShapesOfCoordinates: in many of them more steps are of a shape, and samples of 1449 are too few
// to know a covariance by.
func TestShapesOfCoordinates(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := paperConfig()
	c.Generator.Depth, c.Generator.Hidden = 1, []int{1}
	for d, plain := range map[int]int{chains.ManyCoordinates - 1: 2, chains.ManyCoordinates: 8, 1449: 0} {
		s := New(&c, formula{d, gaussian}, workers)
		w := s.newWalk(make([]float32, s.NumParams()), rng.ChainTransition, 0, 3)
		w.Shape(0)
		if plain == 0 {
			require.Nil(t, w.shaping)
			continue
		}
		require.Equal(t, plain, w.shaping.plainEvery)
		require.InDeltaSlice(t, slices.Repeat([]float64{2.4 / math.Sqrt(float64(d))}, 3), w.shaping.stepSize, 1e-12)
		require.Equal(t, slices.Repeat([]float64{math.Inf(-1)}, 3), w.shaping.lastLogPi)
		// The generator is the identity, of 16,384 samples.
		for i := range d {
			for j := range d {
				require.InDelta(t, map[bool]float64{true: 1}[i == j], w.shaping.shapes[0].lower[i*d+j], 6./math.Sqrt(1<<14))
			}
		}
	}
}

// TestSamplesAreFinite, or it is said that they are not, unless a context ends before they are drawn.
func TestSamplesAreFinite(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s, params := newTestSystem(plane(0.6), workers)
	x, logQ := s.NewStates(3), make([]float64, 3)
	require.NoError(t, s.NewSampler(params).DrawAll(t.Context(), x, logQ))
	for i := range logQ { // of a flow that is the identity
		require.InDelta(t, -square(x.X[2*i:2*i+2])/2-math.Log(2*math.Pi), logQ[i], 1e-5)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, s.NewSampler(params).DrawAll(ended, x, logQ), context.Canceled)
	params[0] = float32(math.NaN())
	require.EqualError(t, s.NewSampler(params).DrawAll(t.Context(), x, logQ), "a sample of the generator is not finite")
	require.EqualError(t, s.NewSampler(params).DrawAll(t.Context(), x, nil), "a sample of the generator is not finite")
}

// lopsided is normal in two modes, of which the second weighs less by a factor e^−by.
type lopsided struct {
	dim int
	by  float64
}

func (l lopsided) Dim() int { return l.dim }
func (lopsided) Modes() int { return 2 }
func (l lopsided) LogDensity(dst, x []float32, k []uint8) {
	for r := range dst {
		dst[r] = float32(gaussian(number.Widen(x[r*l.dim:(r+1)*l.dim])) - l.by*float64(k[r]))
	}
}

// TestModesBeginWithTheirWeights: with those that populations say, but no mode with less than a
// thousandth of the largest, or, where Gaussians have settled, 10⁻³⁰.
func TestModesBeginWithTheirWeights(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, c := range []struct {
		lopsided
		ratio, off float64
	}{
		{lopsided{2, 1}, math.Exp(-1), 0.4}, {lopsided{2, 6}, math.Exp(-6), 0.4}, {lopsided{2, -6}, math.Exp(6), 0.4}, {lopsided{2, 20}, 1e-3, 1e-5}, {lopsided{2, -20}, 1e3, 1e-5},
		{lopsided{17, 20}, math.Exp(-20), 1e-2}, {lopsided{17, 80}, 1e-30, 1e-3},
	} {
		of := small(modalBest(), c.lopsided)
		of.Generator.Components, of.Generator.Scout = 2, mixture.ScoutConfig{Population: 400, Moves: 5}
		s := New(&of.ModalConfig, c.lopsided, workers)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		base := s.generator.nets.base
		p := base.NewPacked()
		p.Set(params)
		require.InEpsilon(t, c.ratio, (p.Weight(1)+p.Weight(3))/(p.Weight(0)+p.Weight(2)), c.off, c.lopsided)
	}
}

// A laborious formula takes so many numbers.
type laborious struct {
	formula
	numbers int
	asked   *atomic.Int64
}

func (l laborious) Operations() int { return l.numbers }

func (l laborious) LogDensity(dst, x []float32, k []uint8) {
	l.asked.Add(int64(len(dst)))
	l.formula.LogDensity(dst, x, k)
}

// TestSparesEvaluations: quick evaluates a dear target as seldom as it can.
func TestSparesEvaluations(t *testing.T) {
	for _, c := range []struct {
		numbers, dim int
		quick, want  bool
	}{{dearOperations, 3, true, true}, {dearOperations, 14, true, true}, {dearOperations - 1, 3, true, false}, {dearOperations, 3, false, false}} {
		of, asked := paperConfig(), new(atomic.Int64)
		of.Generator.Kind, of.Evaluation.Samples = "mixture", 20_000
		why, err := of.Recipe(t.Context(), laborious{formula{c.dim, gaussian}, c.numbers, asked}, Seen{}, c.quick)
		require.NoError(t, err)
		require.Equal(t, c.want, strings.HasSuffix(why, "; as few evaluations as will do, because each takes long"), why)
		require.Equal(t, c.want, of.Generator.Scout == mixture.ScoutConfig{Population: max(512, 40*c.dim), Moves: 5})
		require.Equal(t, c.want, of.Loss.Economy == Economy{Reuse: 31, Enough: 0.99})
		require.Equal(t, c.want, of.Loss.Partners == 0.95)
		require.Equal(t, c.want, of.Evaluation.Samples == 5000)
		// Walkers that look for the weight take 260 steps, 1024 of them without sparing.
		if c.dim == 3 {
			require.Equal(t, c.want, asked.Load() < 200_000, "%d evaluations", asked.Load())
		}
	}
}

// TestSpare: what is nearly Gaussian has few long steps, of twice the states, and what is not as many as for best.
func TestSpare(t *testing.T) {
	round, near, curved, several := mixture.Look{Gaussian: true}, mixture.Look{}, mixture.Look{Curved: true}, mixture.Look{Several: true}
	for _, c := range []struct {
		dim                       int
		look                      mixture.Look
		reuse, moves, batch, half int // and halves of the steps
		rate                      float64
	}{
		{1, round, 31, 1, 200, 1, 0.02}, {1, near, 7, 5, 100, 5, 0.01},
		{2, near, 31, 1, 200, 1, 0.02}, {16, near, 31, 1, 200, 1, 0.02}, {17, near, 15, 5, 100, 2, 0.01}, {17, round, 31, 1, 200, 1, 0.02},
		{2, curved, 7, 5, 100, 5, 0.01}, {16, several, 7, 5, 100, 5, 0.01}, {17, several, 15, 5, 100, 2, 0.01},
	} {
		of := paperConfig()
		of.Training.Batch, of.Training.Steps, of.Training.Optimizer.LearningRate, of.Transition.Steps = 100, 40, 0.01, 5
		of.spareEvaluations(c.dim, c.look)
		require.Equal(t, Economy{Reuse: c.reuse, Enough: 0.99}, of.Loss.Economy, c)
		require.Equal(t, []int{c.moves, c.batch, 20 * c.half}, []int{of.Transition.Steps, of.Training.Batch, of.Training.Steps}, c)
		require.Equal(t, c.rate, of.Training.Optimizer.LearningRate, c)
	}
}

// TestLooksOnce: what a scout has found is found again where another look is taken at the same target.
func TestLooksOnce(t *testing.T) {
	dir, asked := filepath.Join(t.TempDir(), "notes"), new(atomic.Int64)
	workers := pool.New(2)
	defer workers.Close()
	look := func(about string, target Target, seed uint64) (*mixture.Found, int64) {
		g := paperConfig().Generator
		g.Base, g.Scout = "joint", mixture.ScoutConfig{Population: 128, Moves: 3}
		before := asked.Load()
		found, err := g.scout(notes.About(notes.With(t.Context(), notes.Open(dir)), about), target, 0, seed, workers)
		require.NoError(t, err)
		return found, asked.Load() - before
	}
	target := laborious{formula{3, banana}, 1, asked}
	first, spent := look("a recipe", target, 4)
	require.Greater(t, spent, int64(10_000))
	again, known := look("a run", target, 4)
	require.Equal(t, first, again)
	require.EqualValues(t, 16, known)
	for name, other := range map[string]struct {
		target Target
		seed   uint64
	}{"another seed": {target, 5}, "another target": {laborious{formula{3, gaussian}, 1, asked}, 4}} {
		found, spent := look("a run", other.target, other.seed)
		require.NotEqual(t, first.X, found.X, name)
		require.Greater(t, spent, int64(10_000), name)
	}
}
