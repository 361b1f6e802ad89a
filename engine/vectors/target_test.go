package vectors

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// gaussians are a mixture of normal laws with diagonal covariances, the target of
// the tests.
type gaussians []component

type component struct {
	weight          float64
	mean, deviation []float64
}

// plane is the mixture in two dimensions that the checks run on, with the given
// weight of its first component.
func plane(weight float64) gaussians {
	return gaussians{
		{weight, []float64{1, 1}, []float64{0.7, 0.5}},
		{1 - weight, []float64{-1, -1}, []float64{0.5, 0.8}},
	}
}

// randomMixture returns k components of equal weight in d dimensions.
func randomMixture(d, k int, seed uint64) gaussians {
	r := rand.New(rand.NewPCG(seed, 1))
	var m gaussians
	for range k {
		c := component{weight: 1 / float64(k)}
		for range d {
			c.mean = append(c.mean, 2*r.NormFloat64())
			c.deviation = append(c.deviation, 0.5+r.Float64())
		}
		m = append(m, c)
	}
	return m
}

func (m gaussians) Dim() int { return len(m[0].mean) }

// terms sets dst[k] to ln w_k N(x | μ_k, Σ_k) and returns ln π(x).
func (m gaussians) terms(dst, x []float64) float64 {
	highest, sum := math.Inf(-1), 0.0
	for k, c := range m {
		height, squares := c.weight, 0.0
		for i, v := range x {
			u := (v - c.mean[i]) / c.deviation[i]
			height, squares = height/(c.deviation[i]*math.Sqrt(2*math.Pi)), squares+u*u
		}
		dst[k] = math.Log(height) - squares/2
		highest = max(highest, dst[k])
	}
	for _, v := range dst {
		sum += math.Exp(v - highest)
	}
	return highest + math.Log(sum)
}

func (m gaussians) log(x []float64, _ int) float64 { return m.terms(make([]float64, len(m)), x) }

func (m gaussians) LogDensity(dst, x []float32, _ []uint8) {
	var terms [8]float64
	var row [16]float64
	d := m.Dim()
	for r := range dst {
		for i, v := range x[r*d : (r+1)*d] {
			row[i] = float64(v)
		}
		dst[r] = float32(m.terms(terms[:len(m)], row[:d]))
	}
}

func (m gaussians) sample(x []float32, _ []uint8, c *asm.Counter, first uint64) {
	d := m.Dim()
	u, y := make([]float32, 4), make([]float32, 4*rng.Blocks(d))
	for r := 0; r*d < len(x); r++ {
		at := first + uint64(r)
		asm.Uniforms(u, c, upperHalf|at)
		rng.Normals(y[:d], d, c, at)
		k := 0
		for left := float64(u[0]) - m[0].weight; left >= 0 && k < len(m)-1; left -= m[k].weight {
			k++
		}
		for i := range d {
			x[r*d+i] = float32(m[k].mean[i] + m[k].deviation[i]*float64(y[i]))
		}
	}
}

// deviation compares the mean responsibilities and the first and second moments.
func (m gaussians) deviation(x []float32, _ []uint8) (worst float64) {
	d, k := m.Dim(), len(m)
	want := make([]float64, k+2*d)
	for j, c := range m {
		want[j] = c.weight
		for i := range d {
			want[k+i] += c.weight * c.mean[i]
			want[k+d+i] += c.weight * (c.mean[i]*c.mean[i] + c.deviation[i]*c.deviation[i])
		}
	}
	got, terms := make([]stat.Mean, k+2*d), make([]float64, k)
	for r := 0; r*d < len(x); r++ {
		row := number.Widen(x[r*d : (r+1)*d])
		log := m.terms(terms, row)
		for j, v := range terms {
			got[j].Add(math.Exp(v - log))
		}
		for i, v := range row {
			got[k+i].Add(v)
			got[k+d+i].Add(v * v)
		}
	}
	for i, w := range want {
		worst = max(worst, math.Abs(got[i].Value()-w)/got[i].StandardError())
		if !(worst <= math.MaxFloat64) {
			return math.MaxFloat64
		}
	}
	return worst
}

func (m gaussians) known() Known {
	return Known{Target: m, Log: m.log, Sample: m.sample, Deviation: m.deviation}
}

func exact(m gaussians, n int, seed uint64) []float32 {
	x := make([]float32, n*m.Dim())
	m.sample(x, nil, &asm.Counter{Seed: seed, Purpose: 9}, 0)
	return x
}

// A testConfig is a configuration of the kit with a mixture for its target.
type testConfig struct {
	Config
	target Target
}

func (c *testConfig) Validate() error { return c.Config.Validate(c.target.Dim()) }

func (c *testConfig) New(workers *pool.Pool) (engine.System, error) {
	return New(&c.Config, c.target, workers), nil
}

// paperConfig has the paper's architecture, loss and moves.
func paperConfig() Config {
	return Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: "test", Preset: "paper",
			Training: engine.Training{
				Seed: 1, Steps: 100, Batch: 2048, Methods: search.ByGradient(),
				Optimizer: optim.AdamW{LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2},
				Schedule:  optim.Schedule{Kind: "constant"}, LogEvery: 10,
			},
			Evaluation: engine.Evaluating{Samples: 1000},
		},
		Transition: TransitionConfig{Sigma: []float64{0.1}, Steps: 3},
		Generator: GeneratorConfig{
			Kind: "realnvp", Depth: 8, Hidden: []int{64, 64}, Slope: 0.01, Gain: 1, Partition: "parity", Clamp: 1,
		},
		Loss: LossConfig{
			Kind: "mmd", Discriminator: critic.Default(),
			Kernel:    mmd.Kernel{Bandwidths: []float64{0.1, 0.5, 1, 2, 5}, IMQ: []mmd.IMQ{{C: 1.4, Beta: 0.5, Weight: 1}}},
			Statistic: mmd.V, Gradient: "surrogate",
			Boundary: BoundaryConfig{Weight: 1, Sharpness: 1, Radius: 5, Center: []float64{}},
		},
	}
}

// newTestSystem is a flow that starts as the identity, so that q = N(0, I).
func newTestSystem(target gaussians, workers *pool.Pool) (*System, []float32) {
	c := paperConfig()
	c.Generator.Gain, c.Generator.Depth, c.Generator.Hidden = math.SmallestNonzeroFloat32, 2, []int{4}
	s := New(&c, target, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	return s, params
}

// shifted returns the mixture with one mean moved.
func (m gaussians) shifted(by float64) gaussians {
	m = slices.Clone(m)
	m[0].mean = slices.Clone(m[0].mean)
	m[0].mean[0] += by
	return m
}
