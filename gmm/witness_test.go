package gmm

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/internal/state"
)

// TestWitnessTellsTheDivergence: ½Var(g) of a diagnosis, the noise of its fits taken off, is
// the divergence of flows stopped early from their target, by quadrature, to second order
// and as far as features see it, and so is the mean of what batches of a training tell; and
// the training goes on as if nothing had been fitted. Of the preset, and with -v the table of
// docs/trust.md, if REVGEN_TEST_CALIBRATION is set, which takes minutes.
func TestWitnessTellsTheDivergence(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	generators := []int{300}
	calibrates := os.Getenv("REVGEN_TEST_CALIBRATION") != ""
	if calibrates {
		generators = []int{40, 100, 200, 400, 800, 1600, 3200, 6400}
	}
	workers := pool.New(2)
	defer workers.Close()
	var table strings.Builder
	for _, steps := range generators {
		c := crash.Must(Preset("moves"))
		c.Training.Steps = steps
		if !calibrates {
			c.Training.Batch, c.Training.EMA, c.Training.Optimizer.LearningRate = 1024, 0, 2e-3
			c.Generator.Depth, c.Generator.Hidden = 4, []int{16}
			c.Transition.Steps, c.Loss.Witness.Features.Number = 10, 128
		}
		trainer, err := engine.NewTrainer(c, workers)
		require.NoError(t, err)
		for range steps {
			require.NoError(t, trainer.Step())
		}
		s, params := trainer.System().(*system), trainer.Params()
		e, err := s.Evaluate(t.Context(), params, 1000)
		require.NoError(t, err)
		kl := metricsByName(t, e)["kl_to_target"].Generated

		before := fmt.Sprint(state.Of(s))
		s.Dense = false // a diagnosis fits no witness where a density says more
		r, err := diagnose.Run(t.Context(), s, params, diagnose.Options{
			Samples: 1 << 14, First: diagnose.Fresh, Refine: 8, Chains: 16, Draws: 8, Witness: true,
		})
		require.NoError(t, err)
		require.NotNil(t, r.Witness)
		require.Equal(t, before, fmt.Sprint(state.Of(s)))

		var trained stat.Mean
		for i := range 64 {
			step := uint32(100_000 + i)
			s.Generate(params, step)
			s.Transition(step)
			s.Discrepancy(step)
			trained.Add(s.WitnessDivergence())
		}
		fmt.Fprintf(&table, "| %d steps | %.2g | %.2g | %.2g | %.2g ± %.1g |\n", steps, kl, r.Witness.Divergence, r.Witness.Noise, trained.Value(), trained.StandardError())
		require.InDelta(t, kl, r.Witness.Divergence, 0.45*kl+5e-4)
		require.InDelta(t, kl, trained.Value(), 0.45*kl+6*trained.StandardError())
	}
	t.Logf("| generator | KL(q‖π) | ½Var(g) | noise of a fit | of 64 batches |\n|---|--:|--:|--:|--:|\n%s", table.String())
}

// TestNoWitness: what a loss of pairs of states sees is no function of one.
func TestNoWitness(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s := crash.Must(testConfigs()["paper"].New(workers))
	witness, err := s.(engine.Witnesser).Witness(t.Context(), nil, 0)
	require.NoError(t, err)
	require.Nil(t, witness)
	require.True(t, math.IsNaN(s.(engine.Foreteller).WitnessDivergence()))
	require.Empty(t, state.Of(s))
}
