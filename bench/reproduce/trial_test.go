package reproduce

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/pool"
)

// measured is a bowl with a table of one metric.
type measured struct {
	*systemtest.Bowl
	table func(samples int) (*measure.Evaluation, error)
}

func (m *measured) New(*pool.Pool) (engine.System, error) { return m, nil }

func (m *measured) Evaluate(_ context.Context, _ []float32, samples int) (*measure.Evaluation, error) {
	return m.table(samples)
}

// TestTrials: an outcome has the medians over its seeds, and the warnings of each, and keeps what
// was known of the training where nothing is trained again.
func TestTrials(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	dir := t.TempDir()
	config := func(seed uint64, value float64, warnings ...string) engine.Config {
		b := systemtest.NewBowl(3, "gradient")
		b.Training.Steps, b.Training.CheckpointEvery, b.Training.Seed, b.Training.Batch, b.Evaluation.Samples = 4, 0, seed, 7, 50
		return &measured{b, func(samples int) (*measure.Evaluation, error) {
			return &measure.Evaluation{Samples: samples, Warnings: warnings, Metrics: []measure.Metric{{Name: "a", Generated: value, Error: value, Floor: 10}}}, nil
		}}
	}
	var began, ended []Run
	steps := 0
	trial := func(preset string, configs ...engine.Config) *Trial {
		began, ended, steps = nil, nil, 0
		return &Trial{Study: "s", Setting: Setting{Name: "x", Title: "X", System: "toy"}, Preset: preset, Configs: configs, Changed: []string{"b=1"}, Dir: dir, Program: "p", Workers: workers, First: 5, Count: 9,
			Watch: Observer{Begin: func(r Run) { began = append(began, r) }, End: func(r Run) { ended = append(ended, r) }, Progress: func(run.Progress) { steps++ }}}
	}
	tr := trial("paper", config(3, 2, "thin", "slow"), config(4, 8), config(5, 4, "thin"))
	o, err := tr.Outcome(t.Context(), &Outcome{Seconds: 1e6, Seeds: []uint64{3, 4, 5}})
	require.NoError(t, err)
	require.Equal(t, []any{"x", "X", "toy", "paper", 4, 7, 50, []uint64{3, 4, 5}, []string{"b=1"}, 2}, []any{o.Setting, o.Title, o.System, o.Preset, o.Steps, o.Batch, o.Samples, o.Seeds, o.Changed, o.Warned})
	require.Equal(t, []string{"seed 3: thin", "seed 3: slow", "seed 5: thin"}, o.Warnings)
	require.Equal(t, []float64{4, 4, 2, 8}, []float64{o.Metrics[0].Generated, o.Metrics[0].Error, o.Metrics[0].Range[0], o.Metrics[0].Range[1]})
	require.Equal(t, tr.Machine(), o.Machine)
	require.Less(t, o.Seconds, 1e3)
	require.True(t, tr.Trained)
	require.Nil(t, o.Million)
	require.Equal(t, 12, steps)
	for i, r := range began {
		seed := uint64(3 + i)
		require.Equal(t, Run{Study: "s", Setting: tr.Setting, Preset: "paper", Seed: seed, Steps: 4, Dir: filepath.Join(dir, []string{"seed3", "seed4", "seed5"}[i]), Index: 5 + i, Count: 9}, r)
	}
	require.Equal(t, began, ended)

	// Measured again, which takes none of the training's figures from who trained.
	old := &Outcome{Seconds: 1e6, Processors: 2e6, Machine: Machine{CPU: "old"}, Seeds: []uint64{3}}
	one := trial("paper", config(3, 2, "thin"))
	one.Setting.Million = true
	o, err = one.Outcome(t.Context(), old)
	require.NoError(t, err)
	require.Equal(t, []any{1e6, 2e6, "old", []string{"thin"}, 1}, []any{o.Seconds, o.Processors, o.Machine.CPU, o.Warnings, o.Warned})
	require.Nil(t, o.Million, "of other presets")
	old.Seeds = []uint64{4}
	o, err = one.Outcome(t.Context(), old)
	require.NoError(t, err)
	require.Equal(t, one.Machine(), o.Machine, "of other seeds")
	require.Less(t, o.Seconds, 1e3)
	require.Zero(t, o.Processors, "nothing was trained")
	one = trial("best", config(3, 2))
	one.Setting.Million = true
	o, err = one.Outcome(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 50}, []int{len(o.Million), o.Samples})
	require.Zero(t, o.Warned)
	one.Configs[0].(*measured).table = func(samples int) (*measure.Evaluation, error) {
		if samples == million {
			return nil, errors.New("too many")
		}
		return &measure.Evaluation{}, nil
	}
	_, err = one.Outcome(t.Context(), nil)
	require.EqualError(t, err, "too many")

	bare := systemtest.NewBowl(3, "gradient")
	bare.Training.Seed = 7
	_, err = trial("paper", bare).Outcome(t.Context(), nil)
	require.EqualError(t, err, "x: the system cannot be measured")
	broken := errors.New("broken")
	for what, table := range map[string]*measure.Evaluation{"the tables of two seeds differ in their metrics": {Metrics: []measure.Metric{{Name: "b"}}}, "": nil} {
		other := config(6, 1).(*measured)
		other.table = func(int) (*measure.Evaluation, error) {
			if table == nil {
				return nil, broken
			}
			return table, nil
		}
		_, err = trial("paper", config(3, 2), other).Outcome(t.Context(), nil)
		if table == nil {
			require.Equal(t, broken, err)
		} else {
			require.EqualError(t, err, what)
		}
	}
	silent := trial("paper", config(8, 1))
	silent.Watch = Observer{}
	_, err = silent.Outcome(t.Context(), nil)
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(dir, "seed8", "model.rvg"))
	require.NoError(t, err)
}
