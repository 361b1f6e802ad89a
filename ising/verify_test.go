package ising

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

func TestVerify(t *testing.T) {
	long.SkipShort(t)
	names := systemtest.Checks(t, func(workers *pool.Pool, emit func(engine.Check)) error {
		v := newSubject(workers)
		require.Equal(t, 1<<16, v.samples)
		v.samples = 1 << 12
		return v.verify(t.Context(), emit)
	})
	require.Len(t, names, len(checks()))
}

func TestVerifyStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	workers := pool.New(1)
	defer workers.Close()
	records := 0
	err := Verify(ctx, workers, func(engine.Check) { records++; cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, records)
}

// wrongMatrix lets a test spoil every matrix that is built.
func wrongMatrix(spoil func(m *TransitionMatrix)) func(*subject) {
	return func(v *subject) {
		v.matrix = func(t Target, p bitspin.Proposal) (*TransitionMatrix, error) {
			m, err := NewTransitionMatrix(t, p)
			if err == nil {
				spoil(m)
			}
			return m, err
		}
	}
}

// A wrongStepper spoils what a Metropolis kernel returns.
type wrongStepper struct {
	spins.Kernel
	spoil func(dst []uint64, c *asm.Counter, first uint64, st *bitspin.Count)
}

func (w wrongStepper) Run(halted func() bool, dst, src []uint64, lo, hi, steps int, c *asm.Counter, first uint64, st *bitspin.Count) {
	w.Kernel.Run(halted, dst, src, lo, hi, steps, c, first, st)
	w.spoil(dst, c, first, st)
}

func wrongSteps(spoil func(dst []uint64, c *asm.Counter, first uint64, st *bitspin.Count)) func(*subject) {
	return func(v *subject) {
		right := v.metropolis
		v.metropolis = func(t Target, p bitspin.Proposal) (spins.Kernel, error) {
			k, err := right(t, p)
			return wrongStepper{k, spoil}, err
		}
	}
}

// wrongKernel builds the Metropolis kernel of another target or proposal.
func wrongKernel(change func(t *Target, p *bitspin.Proposal)) func(*subject) {
	return func(v *subject) {
		v.metropolis = func(t Target, p bitspin.Proposal) (spins.Kernel, error) {
			change(&t, &p)
			return bitspin.NewMetropolis(t.Model, t.Beta, p)
		}
	}
}

// A wrongLoss spoils the loss or the gradient of a batch.
type wrongLoss struct {
	lossGradient
	spoil func(loss *float64, grad []float32)
}

func (w wrongLoss) LossGradient(s, t []uint64, grad []float32) float64 {
	loss := w.lossGradient.LossGradient(s, t, grad)
	w.spoil(&loss, grad)
	return loss
}

func wrongBatch(only mmd.HammingGradient, spoil func(loss *float64, grad []float32)) func(*subject) {
	return func(v *subject) {
		right := v.hamming
		v.hamming = func(n, spins int, k mmd.Kernel, mode mmd.HammingGradient, stat mmd.Statistic) lossGradient {
			h := right(n, spins, k, mode, stat)
			if mode == only {
				h = wrongLoss{h, spoil}
			}
			return h
		}
	}
}

func wrongObservables(spoil func(o *Observables)) func(*subject) {
	return func(v *subject) {
		right := v.enumeration
		v.enumeration = func(t Target) (Observables, error) {
			o, err := right(t)
			spoil(&o)
			return o, err
		}
	}
}

// swap exchanges where two configurations lead, which keeps row sums.
func swap(m *TransitionMatrix, s, a, b int) {
	row := m.Row(s)
	row[a], row[b] = row[b], row[a]
}

// TestEveryCheckCanFail breaks what a check examines, as little as could be
// overlooked, and expects that check to say so.
func TestEveryCheckCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks checks that TestVerify runs")
	}
	both := func(name string) []string { return []string{name + "/mixture", name + "/multi-spin"} }
	breaks := []struct {
		fault  string
		checks []string
		spoil  func(v *subject)
	}{
		{"a bond is missing", []string{"energies"}, func(v *subject) {
			v.energy = func(m bitspin.Model, s []uint64) float64 {
				return m.Energy(s) + m.J*float64(int(s[0]&1)*2-1)*float64(int(s[0]>>1&1)*2-1)
			}
		}},
		{"the field has the wrong sign", []string{"energies"}, func(v *subject) {
			v.energy = func(m bitspin.Model, s []uint64) float64 {
				m.H = -m.H
				return m.Energy(s)
			}
		}},
		{"one pair of 512×512 is wrong", []string{"energy-differences"}, func(v *subject) {
			v.difference = func(m bitspin.Model, s, mask []uint64) float64 {
				d := m.EnergyDifference(s, mask)
				if s[0] == 77 && mask[0] == 300 {
					d += 4
				}
				return d
			}
		}},
		{"flips are not simultaneous", []string{"energy-differences"}, func(v *subject) {
			v.difference = func(m bitspin.Model, s, mask []uint64) (sum float64) {
				for i := range m.N {
					sum += m.EnergyDifference(s, []uint64{mask[0] & (1 << i)})
				}
				return sum
			}
		}},
		{"ln Z is off in the tenth digit", []string{"ground-truths"}, wrongObservables(func(o *Observables) { o.LogZ += 2e-10 })},
		{"χ uses m for |m|", []string{"ground-truths"}, wrongObservables(func(o *Observables) { o.Susceptibility += o.AbsMagnetisation * o.AbsMagnetisation })},
		{"C_v per site", []string{"ground-truths", "enumeration-kaufman"}, wrongObservables(func(o *Observables) { o.SpecificHeat /= 9 })},
		{"Kaufman's energy is off in the tenth digit", []string{"enumeration-kaufman"}, func(v *subject) {
			v.kaufman = func(l int, j, beta float64) (Thermodynamics, error) {
				k, err := Kaufman(l, j, beta)
				k.Energy *= 1 + 2e-10
				return k, err
			}
		}},
		{"a row loses a little", both("row-sums"), wrongMatrix(func(m *TransitionMatrix) { m.Row(500)[3] -= 1e-14 })},
		{"two destinations are exchanged", both("detailed-balance"), wrongMatrix(func(m *TransitionMatrix) { swap(m, 3, 3, 2) })},
		{"a rate is off by a thousandth", both("detailed-balance"), wrongMatrix(func(m *TransitionMatrix) { m.Row(1)[0] *= 1.001 })},
		{"a configuration cannot be entered", both("irreducibility"), wrongMatrix(func(m *TransitionMatrix) {
			for s := range m.States {
				if s != 100 {
					m.Row(s)[100] = 0
				}
			}
		})},
		{"a configuration cannot be left", both("irreducibility"), wrongMatrix(func(m *TransitionMatrix) {
			clear(m.Row(100))
			m.Row(100)[100] = 1
		})},
		{"β is 5 % off", both("metropolis-rows"), wrongKernel(func(t *Target, _ *bitspin.Proposal) { t.Beta *= 1.05 })},
		{"the field is ignored", []string{"metropolis-rows/multi-spin"}, wrongKernel(func(t *Target, _ *bitspin.Proposal) { t.H = 0 })},
		{"another proposal", []string{"metropolis-rows/multi-spin"}, wrongKernel(func(_ *Target, p *bitspin.Proposal) {
			if *p == bitspin.MultiSpin() {
				*p = bitspin.SingleSpin()
			} else {
				*p = bitspin.MultiSpin()
			}
		})},
		{"one row of 512 goes astray", []string{"metropolis-rows/mixture"}, wrongSteps(func(dst []uint64, _ *asm.Counter, first uint64, _ *bitspin.Count) {
			if first>>faultSampleBits == 200 {
				for i := range dst[:len(dst)/10] {
					dst[i] = 200
				}
			}
		})},
		{"an acceptance is not counted", both("metropolis-rows"), wrongSteps(func(_ []uint64, _ *asm.Counter, first uint64, st *bitspin.Count) {
			if first == 0 {
				st.Accepted--
			}
		})},
		{"one rate out of detailed balance", both("loss-at-target"), wrongMatrix(func(m *TransitionMatrix) { swap(m, 0, 0, 1) })},
		{"the chain never moves", both("loss-elsewhere"), wrongMatrix(func(m *TransitionMatrix) { copy(m.P, m.Power(0).P) })},
		{"the chain has two parts", []string{"loss-elsewhere/mixture"}, wrongMatrix(func(m *TransitionMatrix) {
			for s := range m.States {
				for to, p := range m.Row(s) {
					if (s^to)&1 != 0 {
						m.Row(s)[s] += p
						m.Row(s)[to] = 0
					}
				}
			}
		})},
		{"one rate out of detailed balance", both("gradient-at-target"), wrongMatrix(func(m *TransitionMatrix) { swap(m, 0, 0, 1) })},
		{"the gradient lacks a factor", []string{"surrogate-gradient"}, func(v *subject) {
			v.surrogate = func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64 {
				loss := mmd.Naive(k, stat, s, t, n, dim, grad)
				for i := range grad {
					grad[i] *= 1 + 1e-5
				}
				return loss
			}
		}},
		{"s′ moves along", []string{"surrogate-gradient"}, func(v *subject) {
			v.surrogate = func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64 {
				moved := append([]float64(nil), t...)
				for i := range s {
					moved[i] += s[i] - math.Copysign(1, s[i])
				}
				return mmd.Naive(k, stat, s, moved, n, dim, grad)
			}
		}},
		{"the loss is off by a millionth of k(0)", []string{"batch-loss"}, wrongBatch(mmd.Difference, func(loss *float64, _ []float32) { *loss += 1e-6 })},
		{"one element of the surrogate gradient", []string{"batch-gradient"}, wrongBatch(mmd.Surrogate, func(_ *float64, grad []float32) { grad[100] += 1e-7 })},
		{"one element of the differences", []string{"batch-gradient"}, wrongBatch(mmd.Difference, func(_ *float64, grad []float32) { grad[7] = float32(math.NaN()) })},
		{"a bias of the output has the wrong sign", []string{"backpropagation"}, func(v *subject) {
			v.backward = func(s *system, params, grad []float32) {
				s.Backward(params, grad)
				grad[len(grad)-1] *= -1
			}
		}},
		{"the spin layer passes gradients unchanged", []string{"backpropagation"}, func(v *subject) {
			v.backward = func(s *system, params, grad []float32) {
				clear(s.Logits())
				s.Backward(params, grad)
			}
		}},
	}
	workers := pool.New(2)
	defer workers.Close()
	all := map[string]func(*subject) engine.Check{}
	for _, c := range checks() {
		all[c.name] = c.run
	}
	broken := map[string]bool{}
	for _, b := range breaks {
		for _, name := range b.checks {
			v := newSubject(workers)
			v.samples = 1 << faultSampleBits
			b.spoil(v)
			result := all[name](v)
			require.False(t, result.OK, "%s: %s passes with value %g and bound %g", name, b.fault, result.Value, result.Bound)
			_, err := json.Marshal(result)
			require.NoError(t, err)
			broken[name] = true
		}
	}
	require.Len(t, broken, len(all), "every check must be shown to fail")
}

// testSampleBits keeps the Metropolis checks of the tests short; faults show in fewer samples.
const (
	testSampleBits  = 13
	faultSampleBits = 11
)

// TestFewSamples checks models with fewer samples than a χ² test needs.
func TestFewSamples(t *testing.T) {
	long.SkipShort(t)
	trainer := newTrainer(t, small(t, "paper"), 1)
	for _, samples := range []int{1, 2, 9, 10, 11} {
		require.NoError(t, trainer.System().(*system).VerifyModel(context.Background(), trainer.Params(), samples, func(c engine.Check) {
			require.True(t, c.OK, "%d samples: %+v", samples, c)
		}))
	}
	require.Equal(t, 1.0, chiSquare([]int{3, 7}, []float64{3, 6.9}).pValue())
	require.Equal(t, 1.0, chiSquare([]int{3, 1}, []float64{3, 2}).pValue())
}
