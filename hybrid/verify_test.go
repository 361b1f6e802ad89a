package hybrid

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/pool"
)

func TestVerify(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	names := map[string]bool{}
	require.NoError(t, Verify(context.Background(), workers, func(c engine.Check) {
		require.True(t, c.OK, "%+v", c)
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
	}))
	require.Len(t, names, 37)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Verify(ctx, workers, func(engine.Check) { t.Fatal("cancelled") }), context.Canceled)
}

// failures returns the names of the checks that failed.
func failures(checks ...engine.Check) (names []string) {
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestVerifyCatchesWrongConstants(t *testing.T) {
	target := paperTarget(t)
	target.wells[1].z *= 1 + 1e-11
	require.Equal(t, []string{"known_moments"}, failures(checkTarget(target)...))

	target = paperTarget(t)
	target.wells[0].mass[len(target.wells[0].mass)-1] += 1e-11
	require.Contains(t, failures(checkTarget(target)...), "normalising_constants")

	target = paperTarget(t)
	mass := target.wells[2].mass
	mass[len(mass)/2] += 0.01 // a jump at one node: no x has the levels in between
	require.Contains(t, failures(checkTarget(target)...), "quantiles")
}

// wrongTransition returns a kernel of testTransitions whose proposals are changed.
func wrongTransition(t *testing.T, order string, change func(p *proposal)) *transition {
	tr := newTransition(paperTarget(t), testTransitions[order])
	for i := range tr.proposals {
		change(&tr.proposals[i])
	}
	return tr
}

func TestVerifyCatchesWrongTeleport(t *testing.T) {
	for name, change := range map[string]func(p *proposal){
		"no Jacobian":              func(p *proposal) { p.offset -= math.Log(math.Abs(p.factor)) },
		"squared Jacobian":         func(p *proposal) { p.offset += math.Log(math.Abs(p.factor)) },
		"no normalising constants": func(p *proposal) { p.offset = math.Log(math.Abs(p.factor)) },
	} {
		wrong := wrongTransition(t, "random", change)
		require.Equal(t, []string{"detailed_balance_teleport"}, failures(checkDetailedBalance(wrong)...), name)
		require.NotEmpty(t, failures(checkInvariance("", wrong)), name)
		require.NotEmpty(t, failures(checkInvariance("", wrongTransition(t, "paper", change))), name)
		require.NotEmpty(t, failures(checkReversible("", wrong, true)), name)
		require.NotEmpty(t, failures(checkLongRun(wrong, 50)), name)
	}
	noWayBack := wrongTransition(t, "random", func(p *proposal) {
		if p.from < p.to {
			p.factor *= 1 + 1e-8
		}
	})
	require.Equal(t, []string{"detailed_balance_teleport"}, failures(checkDetailedBalance(noWayBack)...))
}

func TestVerifyCatchesWrongWalk(t *testing.T) {
	wrong := wrongTransition(t, "random", func(p *proposal) { p.muTo *= 1 + 1e-7 })
	require.Equal(t, []string{"detailed_balance_walk", "detailed_balance_flip", "detailed_balance_teleport"},
		failures(checkDetailedBalance(wrong)...))
}

func TestVerifyCatchesTheWrongOrder(t *testing.T) {
	random := newTransition(paperTarget(t), testTransitions["random"])
	ordered := newTransition(paperTarget(t), testTransitions["paper"])
	require.NotEmpty(t, failures(checkReversible("", ordered, true)))
	require.NotEmpty(t, failures(checkReversible("", random, false)))

	workers := pool.New(2)
	defer workers.Close()
	checks, err := checkPopulationLoss(context.Background(), ordered, random, 120, workers)
	require.NoError(t, err)
	require.Equal(t, []string{"population_loss_random", "population_loss_paper_order"}, failures(checks...))

	// A kernel that leaves another law invariant.
	wrong := func(order string) *transition {
		return wrongTransition(t, order, func(p *proposal) { p.offset -= math.Log(math.Abs(p.factor)) })
	}
	checks, err = checkPopulationLoss(context.Background(), wrong("random"), wrong("paper"), 25, workers)
	require.NoError(t, err)
	require.Equal(t, []string{"population_loss_random", "kfd_population_loss_random", "kfd_population_loss_paper_order"}, failures(checks...))
}

func TestVerifyCatchesWrongLoss(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for name, wrong := range map[string]struct {
		loss lossGradient
		want string
	}{
		"value": {func(m *mmd.Mixed, x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
			return 1.0001 * mixedLoss(m, x, y, k, l, gradX, gradK)
		}, "loss_against_naive"},
		"coordinate": {func(m *mmd.Mixed, x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
			v := mixedLoss(m, x, y, k, l, gradX, gradK)
			slices.Reverse(gradX[:4])
			return v
		}, "gradient_against_naive"},
		"mode": {func(m *mmd.Mixed, x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
			v := mixedLoss(m, x, y, k, l, gradX, gradK)
			gradK[5] *= 2
			return v
		}, "gradient_against_naive"},
	} {
		checks, err := checkLoss(workers, wrong.loss, mmd.MixedNaive)
		require.NoError(t, err)
		require.Equal(t, []string{wrong.want}, failures(checks...), name)
	}
}

// TestVerifyCatchesWrongNaiveGradient changes the oracle by less than what the
// fast gradient is held to, so that only the differences of its own value tell.
func TestVerifyCatchesWrongNaiveGradient(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for name, pick := range map[string]func(gradX, gradE []float64) []float64{
		"coordinate": func(gradX, _ []float64) []float64 { return gradX },
		"mode":       func(_, gradE []float64) []float64 { return gradE },
	} {
		checks, err := checkLoss(workers, mixedLoss, func(k *mmd.Kernel, stat mmd.Statistic, x, y, e, f []float64, modes int, gradX, gradE []float64) float64 {
			v := mmd.MixedNaive(k, stat, x, y, e, f, modes, gradX, gradE)
			wrong := pick(gradX, gradE)
			for i := range wrong {
				wrong[i] *= 1 + 1e-5
			}
			return v
		})
		require.NoError(t, err)
		require.Equal(t, []string{"gradient_against_differences"}, failures(checks...), name)
	}
}

func TestVerifyCatchesWrongWitness(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	random := newTransition(paperTarget(t), testTransitions["random"])
	checks, err := checkWitness(random, workers, func(m *kfd.Mixed, x, y []float32, k, l []uint8) float64 {
		return 1.01 * m.Fit(x, y, k, l)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"kfd_loss_against_naive"}, failures(checks...))
	checks, err = checkWitness(random, workers, func(m *kfd.Mixed, x, y []float32, k, l []uint8) float64 {
		loss := m.Fit(x, y, k, l)
		y[0], x[150] = y[0]+0.1, x[150]+0.1 // one sample of each half
		m.Fit(x, y, k, l)
		return loss
	})
	require.NoError(t, err)
	require.NotEmpty(t, failures(checks...))
}

func TestVerifyCatchesWrongBackward(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	checks, err := checkBackward(workers, func(s *system, params, grad []float32) {
		s.Backward(params, grad)
		g := s.generator
		for i := range g.net.Biases(grad, 2) {
			g.net.Biases(grad, 2)[i] *= 1.001
		}
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"backward_mmd_surrogate_split", "backward_mmd_surrogate_branch",
		"backward_stationarity_surrogate_split", "backward_stationarity_surrogate_branch",
		"backward_kfd_surrogate_split", "backward_kfd_surrogate_branch",
		"backward_discriminator_surrogate_split", "backward_discriminator_surrogate_branch",
		"backward_mmd_score_split", "backward_mmd_score_branch",
		"backward_stationarity_score_split", "backward_stationarity_score_branch",
		"backward_kfd_score_split", "backward_kfd_score_branch",
		"backward_discriminator_score_split", "backward_discriminator_score_branch",
	}, failures(checks...))
}

// TestCentralDifferencesAreChecked breaks the function that is differentiated.
func TestCentralDifferencesAreChecked(t *testing.T) {
	x := 2.0
	require.InDelta(t, 12, centralDifference(&x, 1e-4, func() float64 { return x * x * x }), 1e-6)
	require.Equal(t, 2.0, x)
	require.InDelta(t, 0.5, relativeError([]float64{3, 0}, []float64{2, 0}), 1e-15)
}
