package vectors

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// newTestSubject takes smaller samples and perceptrons than Checks.
func newTestSubject(workers *pool.Pool) *subject {
	known := []Known{plane(0.6).known(), randomMixture(3, 3, 8).known()}
	c := paperConfig()
	c.Generator.Hidden = []int{24, 16}
	v := newSubject(&c, known, plane(0.4).known(), workers)
	v.chains, v.batches = 1<<13, 100
	return v
}

// passes runs checks, of which those for which except is true may fail.
func passes(t *testing.T, v *subject, except func(name string) bool) {
	seen := map[string]bool{}
	require.NoError(t, engine.RunChecks(context.Background(), func(c engine.Check) {
		require.True(t, c.OK || except(c.Name), "%+v", c)
		require.NotEmpty(t, c.Detail)
		require.False(t, seen[c.Name], "%s appears twice", c.Name)
		seen[c.Name] = true
		_, err := json.Marshal(c)
		require.NoError(t, err)
	}, v.checks()...))
}

func TestChecks(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	none := func(string) bool { return false }
	passes(t, newTestSubject(workers), none)
	names := systemtest.Checks(t, func(workers *pool.Pool, emit func(engine.Check)) error {
		v := newTestSubject(workers)
		v.chains, v.batches = 1<<12, 40
		return engine.RunChecks(t.Context(), emit, append(v.checks(), newModalTestSubject(workers, 1).checks()...)...)
	})
	require.ElementsMatch(t, append(breakable(faults()), breakable(modalFaults())...), names, "every check must be shown to fail")
	passes(t, newModalTestSubject(workers, 3), func(name string) bool {
		// That the paper's order is not reversible shows in larger batches only: few
		// pairs of states are near each other.
		return name == "population_loss_paper_order"
	})
}

// A wrongLoss spoils the loss or the gradient of a batch.
type wrongLoss struct {
	discrepancy
	spoil func(loss *float64, ds stateGradient)
}

func (w wrongLoss) LossGradient(ds stateGradient, s, next States) float64 {
	loss := w.discrepancy.LossGradient(ds, s, next)
	w.spoil(&loss, ds)
	return loss
}

func wrongEstimator(spoil func(loss *float64, ds stateGradient)) func(*subject) {
	return func(v *subject) {
		right := v.estimator
		v.estimator = func(l *LossConfig, n, dim, modes int) discrepancy {
			return wrongLoss{right(l, n, dim, modes), spoil}
		}
	}
}

// wrongRun moves as if towards another target or by another walk.
func wrongRun(change func(m gaussians, tr *TransitionConfig) gaussians) func(*subject) {
	return func(v *subject) {
		v.run = func(m *mover, s States, steps int, c *asm.Counter, first uint64) engine.Count {
			moves := TransitionConfig{Sigma: []float64{0.3, 1, 2}}
			other := change(m.target.(gaussians), &moves)
			return newKernel(other, moves).newMover(strip).run(s, steps, c, first)
		}
	}
}

// wrongNaive changes the oracle by less than what the fast gradient is held to, so that only the
// differences of its own value tell.
func wrongNaive(spoil func(loss *float64, x, gradX, gradE []float64)) func(*subject) {
	return func(v *subject) {
		right := v.naive
		v.naive = func(k *mmd.Kernel, stat mmd.Statistic, x, y, e, f []float64, dim, modes int, gradX, gradE []float64) float64 {
			loss := right(k, stat, x, y, e, f, dim, modes, gradX, gradE)
			spoil(&loss, x, gradX, gradE)
			return loss
		}
	}
}

// increase multiplies numbers by 1 + 10⁻⁵.
func increase(numbers []float64) {
	for i := range numbers {
		numbers[i] *= 1 + 1e-5
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
			v.acceptance = func(m *mover, rows int) []float32 {
				other := *m
				other.logPi, other.logNext = m.logNext, m.logPi
				return other.acceptance(rows)
			}
		}},
		{"one acceptance in thousands is off", []string{"detailed-balance/sigma=0.1"}, func(v *subject) {
			calls := 0
			v.acceptance = func(m *mover, rows int) []float32 {
				ratio := m.acceptance(rows)
				if calls++; (calls+1)/2 == 16 && ratio[160] < 1 { // there or back
					ratio[160] *= 0.9999
				}
				return ratio
			}
		}},
		{"the acceptance has the root of the ratio", []string{"detailed-balance/sigma=1"}, func(v *subject) {
			v.acceptance = func(m *mover, rows int) (ratio []float32) {
				for i := range rows {
					ratio = append(ratio, min(1, float32(math.Exp((m.logNext[i]-m.logPi[i])/2))))
				}
				return ratio
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
			v.transform64 = func(f *flow, params, z []float64) ([]float64, float64) {
				x, volume := f.transform64(params, z)
				x[0] += 1e-4
				return x, volume
			}
		}},
		{"the inverse stops a coupling early", []string{"flow-inverse"}, func(v *subject) {
			v.inverse = func(p *flowPass, z, x []float32, w *weights) {
				p.inverse(z, x, w)
				p.join(z, p.v[1:], 1)
			}
		}},
		{"the volume is off by 1e-4", []string{"flow-volume"}, func(v *subject) {
			v.transform64 = func(f *flow, params, z []float64) ([]float64, float64) {
				x, volume := f.transform64(params, z)
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
			for i := range s.generator.nets.slice(grad, 14) {
				s.generator.nets.slice(grad, 14)[i] *= 1.001
			}
		})},
		{"a bias of the last layer has the wrong sign", []string{"backpropagation/realnvp"}, wrongBackward("realnvp", func(_ *System, grad []float32) { grad[len(grad)-1] *= -1 })},
		{"one block's gradient is off by a thousandth", []string{"backpropagation/residual"}, wrongBackward("residual", func(s *System, grad []float32) {
			for i := range s.generator.nets.slice(grad, 0) {
				s.generator.nets.slice(grad, 0)[i] *= 0.999
			}
		})},
	}
	list = append(list,
		fault{"a factor of the gradient is off by 1e-5", []string{"gradient/mmd"}, wrongNaive(func(_ *float64, _, gradX, _ []float64) { increase(gradX) })},
		fault{"the loss depends on s elsewhere", []string{"gradient/mmd"}, wrongNaive(func(loss *float64, x, _, _ []float64) { *loss += 1e-5 * x[3] })},
		fault{"the loss is off by a hundredth and 1e-5", []string{"batch-loss/mmd"}, wrongEstimator(func(loss *float64, _ stateGradient) { *loss += *loss/100 + 1e-5 })},
		fault{"one element of the gradient is off by a hundredth", []string{"batch-gradient/mmd"}, wrongEstimator(func(_ *float64, ds stateGradient) { ds.x[7] *= 1.01 })},
		fault{"not a number", []string{"batch-gradient/mmd", "gradient-at-target/mmd"}, wrongEstimator(func(_ *float64, ds stateGradient) { ds.x[7] = float32(math.NaN()) })},
		fault{"the loss is biased", []string{"loss-at-target/mmd"}, wrongEstimator(func(loss *float64, _ stateGradient) { *loss += 0.03 })},
		fault{"the gradient is biased", []string{"gradient-at-target/mmd"}, wrongEstimator(func(_ *float64, ds stateGradient) {
			for i := range ds.x {
				ds.x[i] += 1e-3
			}
		})},
		fault{"the chain never moves", []string{"loss-elsewhere/mmd"}, func(v *subject) {
			v.run = func(*mover, States, int, *asm.Counter, uint64) (none engine.Count) { return none }
		}},
		fault{"the loss has the wrong sign", []string{"loss-elsewhere/mmd"}, wrongEstimator(func(loss *float64, _ stateGradient) { *loss = -*loss })},
	)
	return list
}

// breakable returns the names of the checks that faults break.
func breakable(faults []fault) []string {
	names := map[string]bool{}
	for _, f := range faults {
		for _, name := range f.checks {
			names[name] = true
		}
	}
	return slices.Collect(maps.Keys(names))
}

// TestEveryCheckCanFail breaks what checks examine and expects them to say so.
func TestEveryCheckCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks checks that TestChecks runs")
	}
	workers := pool.New(2)
	defer workers.Close()
	sums := doubleSums{}
	breaks(t, faults(), func() *subject {
		v := newTestSubject(workers)
		v.chains, v.steps, v.batches = 1<<12, 200, 25
		v.naive = sums.naive
		return v
	})
	breaks(t, modalFaults(), func() *subject {
		v := newModalTestSubject(workers, 1)
		v.steps, v.batches = 200, 60
		v.naive = sums.naive
		return v
	})
}

// doubleSums remembers losses by double sums, which most faults leave as they are.
type doubleSums map[[sha256.Size]byte]doubleSum

type doubleSum struct {
	loss         float64
	gradX, gradE []float64
}

func (d doubleSums) once(sum func() doubleSum, of ...any) doubleSum {
	h := sha256.New()
	for _, part := range of {
		if err := binary.Write(h, binary.LittleEndian, part); err != nil {
			fmt.Fprintf(h, "%v", part)
		}
	}
	key := [sha256.Size]byte(h.Sum(nil))
	if _, known := d[key]; !known {
		d[key] = sum()
	}
	return d[key]
}

func (d doubleSums) naive(k *mmd.Kernel, stat mmd.Statistic, x, y, e, f []float64, dim, modes int, gradX, gradE []float64) float64 {
	r := d.once(func() (r doubleSum) {
		r.loss = mmd.MixedNaive(k, stat, x, y, e, f, dim, modes, gradX, gradE)
		r.gradX, r.gradE = slices.Clone(gradX), slices.Clone(gradE)
		return r
	}, *k, stat, x, y, e, f, dim, gradX == nil, gradE == nil)
	copy(gradX, r.gradX)
	copy(gradE, r.gradE)
	return r.loss
}

func breaks(t *testing.T, faults []fault, fresh func() *subject) {
	maker := map[string]int{} // which of the functions makes a check
	short := fresh()
	short.chains, short.steps, short.batches = 1<<9, 3, 3
	for i, check := range short.checks() {
		check(func(c engine.Check) { maker[c.Name] = i })
	}
	for _, f := range faults {
		outcomes := map[int][]engine.Check{}
		for _, name := range f.checks {
			i, known := maker[name]
			require.True(t, known, name)
			if outcomes[i] == nil {
				v := fresh()
				f.spoil(v)
				v.checks()[i](func(c engine.Check) { outcomes[i] = append(outcomes[i], c) })
			}
			at := slices.IndexFunc(outcomes[i], func(c engine.Check) bool { return c.Name == name })
			c := outcomes[i][at]
			require.False(t, c.OK, "%s: %s passes with value %g and bound %g", name, f.what, c.Value, c.Bound)
			_, err := json.Marshal(c)
			require.NoError(t, err)
		}
	}
}
