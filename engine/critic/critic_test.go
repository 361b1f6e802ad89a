package critic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

func newCritic(t *testing.T, n, dim, threads int, form string) *Critic {
	t.Helper()
	workers := pool.New(threads)
	t.Cleanup(workers.Close)
	config := Default()
	config.Form, config.Hidden, config.Steps = form, []int{9, 6}, 2
	c := New(n, dim, config, 3, workers)
	return c
}

// moves returns random states and where they went.
func moves(n, dim int) (s, t []float32) {
	r := rand.New(rand.NewPCG(1, 2))
	s, t = make([]float32, n*dim), make([]float32, n*dim)
	for i := range s {
		s[i] = float32(1.3 * r.NormFloat64())
		t[i] = 0.8*s[i] + float32(0.6*r.NormFloat64())
	}
	return s, t
}

// value is f(s, t) in float64.
func (c *Critic) value(params, s, t []float64) float64 {
	if !c.paired {
		return c.net.Forward64(params, s)[0] - c.net.Forward64(params, t)[0]
	}
	join := func(a, b []float64) []float64 { return append(append([]float64(nil), a...), b...) }
	return c.net.Forward64(params, join(s, t))[0] - c.net.Forward64(params, join(t, s))[0]
}

// TestGradients compares the value, both gradients and the alternatives with
// float64 and central differences, on every kernel path.
func TestGradients(t *testing.T) {
	long.SkipShort(t)
	before, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(before)) }()
	const n, h = 270, 1e-6 // two blocks
	for _, path := range asm.Supported() {
		require.NoError(t, asm.Use(path))
		for _, form := range []string{"pair", "difference"} {
			for _, dim := range []int{1, 3} {
				c := newCritic(t, n, dim, 2, form)
				s, u := moves(n, dim)
				params, s64, u64 := number.Widen(c.Params), number.Widen(s), number.Widen(u)
				objective := func() (sum float64) {
					for i := range n {
						f := c.value(params, s64[i*dim:][:dim], u64[i*dim:][:dim])
						sum += (f - f*f/2) / n
					}
					return sum
				}
				require.InDelta(t, objective(), c.Evaluate(s, u), 1e-5)
				grad := make([]float32, n*dim)
				c.Gradient(grad)
				for i := range n {
					one := func() float64 { return c.value(params, s64[i*dim:][:dim], u64[i*dim:][:dim]) }
					require.InDelta(t, one(), c.Values()[i], 1e-4)
					for d := range dim {
						require.InDelta(t, number.CentralDifference(&s64[i*dim+d], h, one), n*grad[i*dim+d], 1e-4, "%v, %s: ∂f/∂s", path, form)
					}
				}

				values := make([]float32, 3*n)
				c.Changes(values, 3, func(state []float32, _, a int) { state[dim-1] += float32(a) })
				for i := range n {
					for a := range 3 {
						altered := append([]float64(nil), s64[i*dim:][:dim]...)
						altered[dim-1] += float64(a)
						now := c.value(params, s64[i*dim:][:dim], u64[i*dim:][:dim])
						require.InDelta(t, c.value(params, altered, u64[i*dim:][:dim])-now, n*values[3*i+a], 1e-4)
					}
				}

				twin, again := newCritic(t, n, dim, 1, form), make([]float32, n*dim)
				require.Equal(t, c.Evaluate(s, u), twin.Evaluate(s, u))
				twin.Gradient(again)
				require.Equal(t, grad, again)
				twin.Learn()
				require.Equal(t, 2.0, twin.Taken[0], "it learns")

				c.lanes.Backward(c.grad, c.ascend)
				for i := range params {
					require.InDelta(t, -number.CentralDifference(&params[i], h, objective), c.grad[i], 1e-4, "%v, %s: ∂J/∂φ %d", path, form, i)
				}
			}
		}
	}
}

// TestLearnsTheLogRatio: for states of N(0, σ²) that move by exact
// Ornstein–Uhlenbeck steps of N(0, 1), f* = tanh of half the change of
// ln(p/π) = (1 − 1/σ²) x²/2.
func TestLearnsTheLogRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	const n, sigma, steps = 2048, 1.3, 400
	for _, form := range []string{"pair", "difference"} {
		workers := pool.New(2)
		config := Default()
		config.Form, config.Hidden, config.LearningRate = form, []int{32, 32}, 3e-3
		c := New(n, 1, config, 1, workers)
		r := rand.New(rand.NewPCG(1, 2))
		s, u := make([]float32, n), make([]float32, n)
		var off, size, gain float64
		for step := range steps {
			for i := range s {
				s[i] = float32(sigma * r.NormFloat64())
				u[i] = float32(0.3*float64(s[i]) + math.Sqrt(1-0.09)*r.NormFloat64())
			}
			value := c.Evaluate(s, u)
			if step >= steps*9/10 {
				gain += value / (steps / 10)
				for i, f := range c.Values() {
					change := (1 - 1/(sigma*sigma)) / 2 * (float64(s[i])*float64(s[i]) - float64(u[i])*float64(u[i]))
					want := math.Tanh(change / 2)
					off += (float64(f) - want) * (float64(f) - want)
					size += want * want
				}
			}
			require.Equal(t, value, c.Learn())
		}
		require.Less(t, off, 0.2*size, form)
		require.InEpsilon(t, size/(2*n*steps/10), gain, 0.3, "J* = ½ E[f*²], out of sample")
		workers.Close()
	}
}

func TestReproducible(t *testing.T) {
	const n, dim = 700, 2
	s, u := moves(n, dim)
	flip := func(state []float32, _, a int) { state[a] = -state[a] }
	for _, form := range []string{"pair", "difference"} {
		var want []float32
		for _, threads := range []int{1, 2, 3} {
			c := newCritic(t, n, dim, threads, form)
			grad, values := make([]float32, n*dim), make([]float32, n*dim)
			step := func() {
				c.Evaluate(s, u)
				c.Gradient(grad)
				c.Changes(values, dim, flip)
				c.Learn()
			}
			for range 3 {
				step()
			}
			got := append(append(append([]float32(nil), grad...), values...), c.Params...)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "%s, %d threads", form, threads)
			require.Equal(t, 6.0, c.Taken[0])
			require.Zero(t, alloctest.PerRun(5, step))
		}
	}
}

func TestValidate(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"form":          func(c *Config) { c.Form = "triple" },
		"hidden[1]":     func(c *Config) { c.Hidden = []int{3, 0} },
		"learning_rate": func(c *Config) { c.LearningRate = math.NaN() },
		"weight_decay":  func(c *Config) { c.WeightDecay = -1 },
		"steps":         func(c *Config) { c.Steps = 0 },
	} {
		c := Default()
		require.NoError(t, conf.Check(&c))
		change(&c)
		require.ErrorContains(t, conf.Check(&c), key+":")
	}
}

// TestWeightDecayIsDecoupled: one step with weight decay leads to where one
// without does, less the learning rate times the decay times the parameters.
func TestWeightDecayIsDecoupled(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s, u := moves(300, 2)
	learn := func(decay float64) (before, after []float32) {
		config := Default()
		config.Hidden, config.Steps, config.LearningRate, config.WeightDecay = []int{8}, 1, 0.01, decay
		c := New(300, 2, config, 3, workers)
		before = slices.Clone(c.Params)
		c.Evaluate(s, u)
		require.False(t, math.IsNaN(c.Learn()))
		return before, c.Params
	}
	before, without := learn(0)
	_, with := learn(2)
	for i, p := range before {
		require.InDelta(t, without[i]-0.01*2*p, with[i], 1e-6)
	}
}

// TestScores: what descends is f of pairs, and g of states of the other form; a step to what is
// not finite is told, and batches of other sizes are refused.
func TestScores(t *testing.T) {
	const n, dim = 300, 2
	s, u := moves(n, dim)
	for _, form := range []string{"pair", "difference"} {
		c := newCritic(t, n, dim, 2, form)
		c.Evaluate(s, u)
		values := make([]float32, n)
		c.Scores(values)
		params := number.Widen(c.Params)
		for i := range n {
			want := 0.0
			if a, b := number.Widen(s[i*dim:][:dim]), number.Widen(u[i*dim:][:dim]); form == "pair" {
				want = c.value(params, a, b)
			} else {
				want = c.net.Forward64(params, a)[0]
			}
			require.InDelta(t, want, values[i], 1e-4)
		}
		require.PanicsWithValue(t, "critic: batch of the wrong size", func() { c.Evaluate(s[1:], u) })
		require.PanicsWithValue(t, "critic: batch of the wrong size", func() { c.Evaluate(s, u[1:]) })
		require.PanicsWithValue(t, "critic: alternatives of the wrong number", func() { c.Changes(make([]float32, 2*n+1), 2, nil) })
		c.Params[len(c.Params)-1] = float32(math.Inf(1))
		require.True(t, math.IsNaN(c.Learn()))
		require.Equal(t, 1.0, c.Taken[0])
	}
	require.Equal(t, Config{Form: "difference", Hidden: []int{64, 64}, LearningRate: 3e-3, WeightDecay: 1e-2, Steps: 4}, Default())
	for steps, want := range map[int]string{1: "", 1000: "", 0: "steps: 0 is not between 1 and 1000", 1001: "steps: 1001 is not between 1 and 1000"} {
		c := Default()
		c.Steps = steps
		if err := conf.Check(&c); want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
	var names []string
	for _, section := range newCritic(t, n, dim, 1, "pair").State() {
		names = append(names, section.Name)
	}
	require.Equal(t, []string{"critic.params", "critic.m", "critic.v", "critic.taken"}, names)
}

// TestSteps takes AdamW's steps by its definition in float64, with the gradients that there
// are at each.
func TestSteps(t *testing.T) {
	const n, dim, steps = 300, 2, 3
	s, u := moves(n, dim)
	c, twin := newCritic(t, n, dim, 2, "pair"), newCritic(t, n, dim, 1, "pair")
	c.config.Steps = steps
	want := number.Widen(c.Params)
	m, v := make([]float64, len(want)), make([]float64, len(want))
	slight := make([]bool, len(want)) // a gradient of which rounding is a part that shows in its direction
	for step := 1.; step <= steps; step++ {
		for i, x := range want {
			twin.Params[i] = float32(x)
		}
		twin.Evaluate(s, u)
		twin.lanes.Backward(twin.grad, twin.ascend)
		for i, g := range number.Widen(twin.grad) {
			slight[i] = slight[i] || math.Abs(g) < 1e-4
			m[i], v[i] = 0.9*m[i]+0.1*g, 0.999*v[i]+0.001*g*g
			want[i] -= 3e-3 * (m[i]/(1-math.Pow(0.9, step))/(math.Sqrt(v[i]/(1-math.Pow(0.999, step)))+1e-8) + 1e-2*want[i])
		}
	}
	c.Evaluate(s, u)
	c.Learn()
	held := 0
	for i, x := range want {
		if slight[i] {
			require.InDelta(t, x, c.Params[i], 2*3e-3*steps) // the longest ways, apart from each other
			continue
		}
		require.InDelta(t, x, c.Params[i], 1e-5)
		held++
	}
	require.Greater(t, held, len(want)/2)
}

// TestBytes counts what a discriminator of 6 inputs, 5 units, 7 and one output takes of batches
// of 100: of four activations of a row all 19 numbers and eight more, in rows of the batch and a
// block; of each lane four of the widest layer in a block; and of 85 parameters nine, and one
// more a lane.
func TestBytes(t *testing.T) {
	c := Config{Hidden: []int{5, 7}}
	block, lanes := float64(nn.BlockRows()), float64(nn.LanesOf(100))
	require.Equal(t, 4*((100+block)*(4*19+8)+lanes*block*4*7+(9+lanes)*85), c.Bytes(100, 3))
	c.Hidden = nil
	require.Equal(t, 4*((100+block)*(4*7+8)+lanes*block*4*6+(9+lanes)*7), c.Bytes(100, 3))
}
