package optim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// TestStepFollowsPyTorch compares forty updates with torch.optim.AdamW's
// algorithm in float64, clipping and weight averaging included.
func TestStepFollowsPyTorch(t *testing.T) {
	const n = 20011
	workers := pool.New(2)
	defer workers.Close()
	r := rand.New(rand.NewPCG(3, 4))
	cfg := AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2}
	o := NewOptimizer(cfg, 100, 0.9, n, workers)
	params, grad := make([]float32, n), make([]float32, n)
	p, m, v, ema := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range params {
		params[i] = float32(r.NormFloat64())
		p[i] = float64(params[i])
	}
	clipped := 0
	for step := 1; step <= 40; step++ {
		for i := range grad {
			grad[i] = float32(r.NormFloat64()) * float32(step) / 30
		}
		var sum float64
		for _, g := range grad {
			sum += float64(g) * float64(g)
		}
		norm := o.Norm(grad)
		require.InEpsilon(t, math.Sqrt(sum), norm, 1e-6)
		require.True(t, o.Step(params, grad, norm, step, 0.5))
		scale := 1.0
		if norm > 100 {
			scale = 100 / (norm + 1e-6)
			clipped++
		}
		d := min(0.9, float64(step)/float64(step+10))
		for i := range p {
			g := float64(grad[i]) * scale
			lr := cfg.LearningRate * 0.5
			p[i] -= lr * cfg.WeightDecay * p[i]
			m[i] = cfg.Beta1*m[i] + (1-cfg.Beta1)*g
			v[i] = cfg.Beta2*v[i] + (1-cfg.Beta2)*g*g
			mHat := m[i] / (1 - math.Pow(cfg.Beta1, float64(step)))
			vHat := v[i] / (1 - math.Pow(cfg.Beta2, float64(step)))
			p[i] -= lr * mHat / (math.Sqrt(vHat) + cfg.Epsilon)
			ema[i] = d*ema[i] + (1-d)*p[i]
		}
	}
	require.Greater(t, clipped, 5)
	require.Less(t, clipped, 35)
	for i := range p {
		// Each update rounds a parameter twice, by half an ulp.
		bound := 40 * 0x1p-23 * (1 + math.Abs(p[i]))
		require.InDelta(t, p[i], params[i], bound)
		require.InDelta(t, ema[i], o.EMA[i], bound)
	}
	require.Zero(t, alloctest.PerRun(5, func() { o.Step(params, grad, o.Norm(grad), 41, 1) }))
}

// TestPiecesCoverTheVector: vectors about one piece long move in every element,
// and none beyond.
func TestPiecesCoverTheVector(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	cfg := AdamW{LearningRate: 0.5, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	for _, n := range []int{1, pieceLen - 1, pieceLen, pieceLen + 1, 2*pieceLen - 1} {
		o := NewOptimizer(cfg, 0, 0, n, workers)
		params, grad := make([]float32, n), make([]float32, n)
		for i := range grad {
			grad[i] = 2
		}
		norm := o.Norm(grad)
		require.InEpsilon(t, 2*math.Sqrt(float64(n)), norm, 1e-6)
		require.True(t, o.Step(params, grad, norm, 1, 1))
		for i, p := range params {
			require.InDelta(t, -0.5, p, 1e-5, "parameter %d of %d", i, n)
		}
	}
}

// TestClipLeavesShortGradients alone, those of exactly the largest norm among
// them.
func TestClipLeavesShortGradients(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	cfg := AdamW{LearningRate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	moments := func(clip float64) []float32 {
		o := NewOptimizer(cfg, clip, 0, 2, workers)
		grad := []float32{3e-4, 4e-4}
		o.Step([]float32{1, 1}, grad, 5e-4, 1, 1)
		return o.M
	}
	require.Equal(t, moments(0), moments(5e-4))
	require.NotEqual(t, moments(0), moments(4.9e-4))
}

func TestStepReportsNonFinite(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	cfg := AdamW{LearningRate: 1e38, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	o := NewOptimizer(cfg, 0, 0, 3, workers)
	params := []float32{1, 3e38, -3e38}
	require.False(t, o.Step(params, []float32{0, -1, 1}, 1, 1, 1))
	require.True(t, math.IsNaN(o.Norm([]float32{0, float32(math.NaN()), 1})))
}

func TestSchedule(t *testing.T) {
	validate := func(s *Schedule) error { return conf.First(conf.Check(s), s.Validate()) }
	step := Schedule{Kind: "step", Milestones: []int{10, 20}, Factor: 0.5, Warmup: 4}
	require.NoError(t, validate(&step))
	for at, want := range map[int]float64{1: 0.25, 2: 0.5, 4: 1, 10: 1, 11: 0.5, 20: 0.5, 21: 0.25} {
		require.Equal(t, want, step.At(at, 30), "step %d", at)
	}
	cosine := Schedule{Kind: "cosine", Final: 0.1}
	require.NoError(t, validate(&cosine))
	require.Equal(t, 1.0, cosine.At(1, 100))
	require.InDelta(t, 0.55, cosine.At(51, 100), 1e-12)
	require.InDelta(t, 0.1, cosine.At(101, 100), 1e-12)
	require.Equal(t, 1.0, (&Schedule{Kind: "constant"}).At(5, 10))
	for want, bad := range map[string]Schedule{
		`kind: "linear" is not one of constant, step, cosine`:    {Kind: "linear"},
		"factor: 0 is not in (0, 1]":                             {Kind: "step"},
		"factor: 1.001 is not in (0, 1]":                         {Kind: "step", Factor: 1.001},
		"milestones[1]: 3; milestones are positive and increase": {Kind: "step", Factor: 0.5, Milestones: []int{3, 3}},
		"milestones[0]: 0; milestones are positive and increase": {Kind: "step", Factor: 0.5, Milestones: []int{0, 3}},
		"milestones[2]: 3; milestones are positive and increase": {Kind: "step", Factor: 0.5, Milestones: []int{3, 4, 3}},
		"final: 1.001 is not between 0 and 1":                    {Kind: "cosine", Final: 1.001},
		"final: -0.001 is not between 0 and 1":                   {Kind: "cosine", Final: -0.001},
		"final: NaN is not between 0 and 1":                      {Kind: "cosine", Final: math.NaN()},
		"warmup: -1 is not between 0 and 2147483647":             {Kind: "constant", Warmup: -1},
	} {
		require.EqualError(t, validate(&bad), want)
	}
	warm := Schedule{Kind: "cosine", Final: 0.5, Warmup: 4}
	require.InDelta(t, 0.5*(0.5+0.25*(1+math.Cos(math.Pi/8))), warm.At(2, 8), 1e-12)
	require.Equal(t, 0.5, (&Schedule{Kind: "cosine", Final: 0.5}).At(2, 0), "of no steps the first is the last")
	for _, good := range []Schedule{ // at the bounds
		{Kind: "step", Factor: 1, Milestones: []int{1, 2}}, {Kind: "cosine"}, {Kind: "cosine", Final: 1}, {Kind: "constant", Warmup: 1},
	} {
		require.NoError(t, validate(&good), "%+v", good)
	}
}

func TestAdamWValidate(t *testing.T) {
	good := AdamW{1e-3, 0.9, 0.999, 1e-8, 0}
	require.NoError(t, conf.Check(&good))
	for key, change := range map[string]func(*AdamW){
		"learning_rate: 0 ":   func(a *AdamW) { a.LearningRate = 0 },
		"learning_rate: NaN ": func(a *AdamW) { a.LearningRate = math.NaN() },
		"beta1: 1 ":           func(a *AdamW) { a.Beta1 = 1 },
		"beta2: -0.1 ":        func(a *AdamW) { a.Beta2 = -0.1 },
		"epsilon: 0 ":         func(a *AdamW) { a.Epsilon = 0 },
		"weight_decay: -1 ":   func(a *AdamW) { a.WeightDecay = -1 },
		"weight_decay: +Inf ": func(a *AdamW) { a.WeightDecay = math.Inf(1) },
	} {
		bad := good
		change(&bad)
		require.ErrorContains(t, conf.Check(&bad), key)
	}
}

// TestStateBeforeTheFirstStep is 0, and State lists what steps change.
func TestStateBeforeTheFirstStep(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	cfg := AdamW{LearningRate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	for _, ema := range []float64{0, 0.9} {
		o := NewOptimizer(cfg, 0, ema, 3, workers)
		for _, s := range o.State() {
			require.Equal(t, make([]float32, 3), s.Float32, s.Name)
		}
		params := []float32{1, 2, 3}
		require.True(t, o.Step(params, []float32{1, 1, 1}, 1, 1, 1))
		require.True(t, o.Step(params, []float32{1, -1, 1}, 1, 2, 1))
		require.InDelta(t, 0.19, o.State()[0].Float32[0], 1e-6, "it has begun")
	}
}
