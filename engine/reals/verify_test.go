package reals

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/pool"
)

// newTestSubject takes smaller samples and perceptrons than Checks.
func newTestSubject(workers *pool.Pool) *subject {
	known := []Known{plane(0.6).known(), randomMixture(3, 3, 8).known()}
	c := paperConfig()
	c.Generator.Hidden = []int{24, 16}
	v := newSubject(c, known, plane(0.4).known(), workers)
	v.chains, v.batches = 1<<13, 100
	return v
}

func TestChecks(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	seen := map[string]bool{}
	require.NoError(t, engine.RunChecks(context.Background(), func(c engine.Check) {
		require.True(t, c.OK, "%+v", c)
		require.NotEmpty(t, c.Detail)
		require.False(t, seen[c.Name], "%s appears twice", c.Name)
		seen[c.Name] = true
		_, err := json.Marshal(c)
		require.NoError(t, err)
	}, newTestSubject(workers).checks()...))
	for name := range seen {
		require.Contains(t, breakable(), name, "every check must be shown to fail")
	}
	require.Len(t, breakable(), len(seen))
}

// A wrongLoss spoils the loss or the gradient of a batch.
type wrongLoss struct {
	lossGradient
	spoil func(loss *float64, grad []float32)
}

func (w wrongLoss) LossGradient(s, t, grad []float32) float64 {
	loss := w.lossGradient.LossGradient(s, t, grad)
	w.spoil(&loss, grad)
	return loss
}

func wrongEstimator(spoil func(loss *float64, grad []float32)) func(*subject) {
	return func(v *subject) {
		right := v.estimator
		v.estimator = func(l *LossConfig, n, dim int) (lossGradient, error) {
			e, err := right(l, n, dim)
			return wrongLoss{e, spoil}, err
		}
	}
}

// wrongRun moves as if towards another target or by another walk.
func wrongRun(change func(m gaussians, tr *TransitionConfig) gaussians) func(*subject) {
	return func(v *subject) {
		v.run = func(tr *transition, x []float32, steps int, c *asm.Counter, first uint64, s *moveScratch) engine.Count {
			moves := TransitionConfig{Sigma: []float64{0.3, 1, 2}}
			other := newTransition(change(tr.target.(gaussians), &moves), moves)
			return other.run(x, steps, c, first, other.newScratch(len(x)/tr.dim))
		}
	}
}

func wrongNaive(spoil func(loss *float64, s, grad []float64)) func(*subject) {
	return func(v *subject) {
		right := v.naive
		v.naive = func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64 {
			loss := right(k, stat, s, t, n, dim, grad)
			spoil(&loss, s, grad)
			return loss
		}
	}
}

func wrongBackward(kind string, spoil func(s *System, grad []float32)) func(*subject) {
	return func(v *subject) {
		v.backward = func(s *System, params, grad []float32) {
			s.Backward(params, grad)
			if s.config.Generator.Kind == kind {
				spoil(s, grad)
			}
		}
	}
}

// A fault is something wrong in a part, as little as could be overlooked, and
// the checks that must notice.
type fault struct {
	what   string
	checks []string
	spoil  func(v *subject)
}

func faults() []fault {
	list := []fault{
		{"the acceptance is the inverse ratio's", []string{"detailed-balance/sigma=0.1", "detailed-balance/sigma=0.3", "detailed-balance/sigma=1", "detailed-balance/sigma=2"}, func(v *subject) {
			v.acceptance = func(ratio, current, next []float32) { acceptance(ratio, next, current) }
		}},
		{"one acceptance in thousands is off", []string{"detailed-balance/sigma=0.1"}, func(v *subject) {
			v.acceptance = func(ratio, current, next []float32) {
				acceptance(ratio, current, next)
				if ratio[4000] < 1 {
					ratio[4000] *= 0.9999
				}
			}
		}},
		{"the acceptance has the root of the ratio", []string{"detailed-balance/sigma=1"}, func(v *subject) {
			v.acceptance = func(ratio, current, next []float32) {
				for i := range ratio {
					ratio[i] = min(1, float32(math.Exp(float64(next[i]-current[i])/2)))
				}
			}
		}},
		{"a covariance is off", []string{"long-run"}, wrongRun(func(m gaussians, _ *TransitionConfig) gaussians {
			m = slices.Clone(m)
			m[0].deviation = m[1].deviation
			return m
		})},
		{"the chains do not cross between components", []string{"long-run"}, wrongRun(func(m gaussians, tr *TransitionConfig) gaussians {
			tr.Sigma = []float64{0.01}
			return m
		})},
		{"a coordinate is off by 1e-4", []string{"flow-forward"}, func(v *subject) {
			v.forward64 = func(f *flow, params, z []float64) ([]float64, float64) {
				x, volume := f.forward64(params, z)
				x[0] += 1e-4
				return x, volume
			}
		}},
		{"the inverse stops a coupling early", []string{"flow-inverse"}, func(v *subject) {
			v.inverse = func(p *flowPass, z, x []float32, w *weights) {
				p.inverse(z, x, w)
				for l := range 2 {
					p.join(z, p.versions[l+1], l+1)
				}
			}
		}},
		{"the volume is off by 1e-4", []string{"flow-volume"}, func(v *subject) {
			v.forward64 = func(f *flow, params, z []float64) ([]float64, float64) {
				x, volume := f.forward64(params, z)
				return x, volume * 1.0001
			}
		}},
		{"the density is off by 1e-4", []string{"flow-density"}, func(v *subject) {
			v.flowDensity = func(p *flowPass, dst []float64) {
				p.logDensity(dst)
				for i := range dst {
					dst[i] *= 1.0001
				}
			}
		}},
		{"the penalty is the sum, not the mean", []string{"boundary-penalty"}, func(v *subject) {
			v.penalty = func(b *boundary, grad, x, sigmoids []float32, n int) float64 {
				return b.add(grad, x, sigmoids, n) * float64(n)
			}
		}},
		{"the penalty's gradient forgets the centre", []string{"boundary-gradient"}, func(v *subject) {
			v.penalty = func(b *boundary, grad, x, sigmoids []float32, n int) float64 {
				c := *b
				c.center = make([]float32, b.dim)
				c.add(grad, x, sigmoids, n)
				return b.add(make([]float32, len(grad)), x, sigmoids, n)
			}
		}},
		{"one scale perceptron's gradient is off by a thousandth", []string{"backpropagation/realnvp"}, wrongBackward("realnvp", func(s *System, grad []float32) {
			for i := range s.nets.of(grad, 14) {
				s.nets.of(grad, 14)[i] *= 1.001
			}
		})},
		{"a bias of the last layer has the wrong sign", []string{"backpropagation/realnvp"}, wrongBackward("realnvp", func(_ *System, grad []float32) { grad[len(grad)-1] *= -1 })},
		{"one block's gradient is off by a thousandth", []string{"backpropagation/residual"}, wrongBackward("residual", func(s *System, grad []float32) {
			for i := range s.nets.of(grad, 0) {
				s.nets.of(grad, 0)[i] *= 0.999
			}
		})},
	}
	list = append(list,
		fault{"a factor of the gradient is off by 1e-5", []string{"gradient/mmd"}, wrongNaive(func(_ *float64, _, grad []float64) {
			for i := range grad {
				grad[i] *= 1 + 1e-5
			}
		})},
		fault{"the loss depends on s elsewhere", []string{"gradient/mmd"}, wrongNaive(func(loss *float64, s, _ []float64) { *loss += 1e-5 * s[3] })},
		fault{"the loss is off by a hundredth and 1e-5", []string{"batch-loss/mmd"}, wrongEstimator(func(loss *float64, _ []float32) { *loss += *loss/100 + 1e-5 })},
		fault{"one element of the gradient is off by a hundredth", []string{"batch-gradient/mmd"}, wrongEstimator(func(_ *float64, grad []float32) { grad[77] *= 1.01 })},
		fault{"not a number", []string{"batch-gradient/mmd", "gradient-at-target/mmd"}, wrongEstimator(func(_ *float64, grad []float32) { grad[7] = float32(math.NaN()) })},
		fault{"the loss is biased", []string{"loss-at-target/mmd"}, wrongEstimator(func(loss *float64, _ []float32) { *loss += 0.03 })},
		fault{"the gradient is biased", []string{"gradient-at-target/mmd"}, wrongEstimator(func(_ *float64, grad []float32) {
			for i := range grad {
				grad[i] += 1e-3
			}
		})},
		fault{"the chain never moves", []string{"loss-elsewhere/mmd"}, func(v *subject) {
			v.run = func(_ *transition, x []float32, steps int, _ *asm.Counter, _ uint64, _ *moveScratch) engine.Count {
				return engine.Count{Proposed: uint64(len(x) * steps)}
			}
		}},
		fault{"the loss has the wrong sign", []string{"loss-elsewhere/mmd"}, wrongEstimator(func(loss *float64, _ []float32) { *loss = -*loss })},
	)
	return list
}

// breakable returns the names of the checks that a fault breaks.
func breakable() map[string]bool {
	names := map[string]bool{}
	for _, f := range faults() {
		for _, name := range f.checks {
			names[name] = true
		}
	}
	return names
}

// TestEveryCheckCanFail breaks what checks examine and expects them to say so.
func TestEveryCheckCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks checks that TestChecks runs")
	}
	workers := pool.New(2)
	defer workers.Close()
	// Which of the functions makes a check.
	maker := map[string]int{}
	short := newTestSubject(workers)
	short.chains, short.batches = 1<<9, 3
	for i, check := range short.checks() {
		outcomes, err := check()
		require.NoError(t, err)
		for _, c := range outcomes {
			maker[c.Name] = i
		}
	}
	for _, f := range faults() {
		outcomes := map[int][]engine.Check{}
		for _, name := range f.checks {
			i, known := maker[name]
			require.True(t, known, name)
			if outcomes[i] == nil {
				v := newTestSubject(workers)
				v.chains, v.batches = 1<<12, 25
				f.spoil(v)
				var err error
				outcomes[i], err = v.checks()[i]()
				require.NoError(t, err)
			}
			at := slices.IndexFunc(outcomes[i], func(c engine.Check) bool { return c.Name == name })
			c := outcomes[i][at]
			require.False(t, c.OK, "%s: %s passes with value %g and bound %g", name, f.what, c.Value, c.Bound)
			_, err := json.Marshal(c)
			require.NoError(t, err)
		}
	}
}
