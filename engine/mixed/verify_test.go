package mixed

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// newTestSubject takes smaller samples than Checks.
func newTestSubject(workers *pool.Pool, dim int) *subject {
	c := paperConfig()
	c.Transition.Steps = 1 // more of them are less irreversible in the paper's order
	v := newSubject(c, threeTwins(dim).known(), workers)
	v.chains, v.steps, v.batches = 1<<13, 300, 120
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
	}, newTestSubject(workers, 1).checks()...))
	require.NoError(t, engine.RunChecks(context.Background(), func(c engine.Check) {
		// That the paper's order is not reversible shows in larger batches only: few
		// pairs of states are near each other.
		require.True(t, c.OK || c.Name == "population_loss_paper_order", "in three dimensions: %+v", c)
	}, newTestSubject(workers, 3).checks()...))
	breakable := map[string]bool{}
	for _, f := range faults() {
		for _, name := range f.checks {
			breakable[name] = true
		}
	}
	require.Equal(t, breakable, seen, "every check must be shown to fail")
}

// A fault is something wrong in a part and the checks that must notice.
type fault struct {
	what   string
	checks []string
	spoil  func(v *subject)
}

// wrongProposals changes the proposals of both orders of moves.
func wrongProposals(change func(p *proposal)) func(*subject) {
	return func(v *subject) {
		v.propose = func(target Target, c TransitionConfig) *transition {
			t := newTransition(target, c)
			for i := range t.proposals {
				change(&t.proposals[i])
			}
			return t
		}
	}
}

// wrongTarget moves as if towards another target.
func wrongTarget(change func(m *twin)) func(*subject) {
	return func(v *subject) {
		v.propose = func(target Target, c TransitionConfig) *transition {
			return newTransition(target.(twins).changed(change), c)
		}
	}
}

func wrongLoss(spoil func(loss *float64, gradX, gradK []float32)) func(*subject) {
	return func(v *subject) {
		v.loss = func(m *mmd.Mixed, x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
			loss := m.LossGradient(x, y, k, l, gradX, gradK)
			spoil(&loss, gradX, gradK)
			return loss
		}
	}
}

// wrongNaive changes the oracle by less than what the fast gradient is held to, so
// that only the differences of its own value tell.
func wrongNaive(pick func(gradX, gradE []float64) []float64) func(*subject) {
	return func(v *subject) {
		right := v.naive
		v.naive = func(k *mmd.Kernel, stat mmd.Statistic, x, y, e, f []float64, dim, modes int, gradX, gradE []float64) float64 {
			loss := right(k, stat, x, y, e, f, dim, modes, gradX, gradE)
			wrong := pick(gradX, gradE)
			for i := range wrong {
				wrong[i] *= 1 + 1e-5
			}
			return loss
		}
	}
}

func faults() []fault {
	noVolume := func(p *proposal) { p.logVolume = 0 }
	atTarget := []string{"invariance_random", "invariance_paper_order", "long_run_moments", "reversible_random"}
	list := []fault{
		{"teleports forget their Jacobian", append([]string{"detailed_balance_teleport", "population_loss_random"}, atTarget...), wrongProposals(noVolume)},
		{"teleports have their Jacobian twice", append([]string{"detailed_balance_teleport"}, atTarget...), wrongProposals(func(p *proposal) { p.logVolume *= 2 })},
		{"the way back of a teleport is another", []string{"teleport_returns"}, wrongProposals(func(p *proposal) {
			if p.from < p.to {
				p.factor *= 1 + 1e-8
			}
		})},
		{"a scale is off by a thousandth", []string{"detailed_balance_walk", "detailed_balance_flip", "detailed_balance_teleport"}, wrongTarget(func(m *twin) { m.scale *= 1.001 })},
		{"a weight is another", append([]string{"detailed_balance_teleport"}, atTarget...), wrongTarget(func(m *twin) { m.weight *= 1.5 })},
		{"the orders are exchanged", []string{"reversible_random", "not_reversible_paper_order", "population_loss_random", "population_loss_paper_order"}, func(v *subject) {
			v.propose = func(target Target, c TransitionConfig) *transition {
				if c.Order == "random" {
					c.Order = "paper-order"
				} else {
					c.Order = "random"
				}
				return newTransition(target, c)
			}
		}},
		{"the loss is off by 1e-4", []string{"loss_against_naive"}, wrongLoss(func(loss *float64, _, _ []float32) { *loss *= 1.0001 })},
		{"the gradient is not a number", []string{"gradient_against_naive"}, wrongLoss(func(_ *float64, gradX, _ []float32) { gradX[7] = float32(math.NaN()) })},
		{"coordinates are exchanged", []string{"gradient_against_naive"}, wrongLoss(func(_ *float64, gradX, _ []float32) { slices.Reverse(gradX[:4]) })},
		{"one mode's gradient is twice as large", []string{"gradient_against_naive"}, wrongLoss(func(_ *float64, _, gradK []float32) { gradK[5] *= 2 })},
		{"the oracle's gradient by coordinates is off by 1e-5", []string{"gradient_against_differences"}, wrongNaive(func(gradX, _ []float64) []float64 { return gradX })},
		{"the oracle's gradient by modes is off by 1e-5", []string{"gradient_against_differences"}, wrongNaive(func(_, gradE []float64) []float64 { return gradE })},
	}
	return append(list, fault{"one layer's biases are off by a hundredth", []string{"backward"}, func(v *subject) {
		v.backward = func(s *System, params, grad []float32) {
			s.Backward(params, grad)
			biases := s.generator.(*perceptron).Biases(grad, 2)
			for i := range biases {
				biases[i] *= 1.01
			}
		}
	}})
}

// TestEveryCheckCanFail breaks what checks examine and expects them to say so.
func TestEveryCheckCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks checks that TestChecks runs")
	}
	workers := pool.New(2)
	defer workers.Close()
	maker := map[string]int{} // which of the functions makes a check
	short := newTestSubject(workers, 1)
	short.chains, short.steps, short.batches = 1<<9, 3, 3
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
				v := newTestSubject(workers, 1)
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

// TestCentralDifferencesAreChecked breaks the function that is differentiated.
func TestCentralDifferencesAreChecked(t *testing.T) {
	x := 2.0
	require.InDelta(t, 12, number.CentralDifference(&x, 1e-4, func() float64 { return x * x * x }), 1e-6)
	require.Equal(t, 2.0, x)
	require.InDelta(t, 0.5, relativeError([]float64{3, 0}, []float64{2, 0}), 1e-15)
}
