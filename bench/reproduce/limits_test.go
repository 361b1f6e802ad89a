package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// TestSettingsList: what is reproduced changes on purpose only.
func TestSettingsList(t *testing.T) {
	var b strings.Builder
	for _, s := range Settings {
		fmt.Fprintf(&b, "%s: %s; %s %v of %v; %s, %d seeds, %t\n", s.Name, s.Title, s.System, s.Assignments, s.Presets, s.Headline, s.Seeds, s.Million)
		for _, p := range s.Published {
			fmt.Fprintf(&b, "  %s, %s: %s %g\n", p.Method, p.Target, p.Metric, p.Error)
		}
	}
	golden(t, "settings.txt", b.String())
	require.Equal(t, 1_000_000, million)
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		first uint64
		n     int
		want  string
	}{
		{0, 1, ""}, {0, 1000, ""}, {math.MaxUint64 - 5, 5, ""},
		{0, 0, "seeds: 0 is not between 1 and 1000"}, {0, 1001, "seeds: 1001 is not between 1 and 1000"},
		{math.MaxUint64 - 4, 5, "seed: there are no 5 seeds from 18446744073709551611 on"},
	} {
		if err := CheckSeeds(c.first, c.n); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	require.NoError(t, CheckSchema(3, 3))
	require.EqualError(t, CheckSchema(2, 3), "schema version 2; this program reads version 3")
	require.EqualError(t, CheckSchema(4, 3), "schema version 4; this program reads version 3")
	for preset, rank := range map[string]int{"paper": 0, "best": 1, "quick": 2, "own": 3} {
		require.Equal(t, rank, presetRank(preset))
	}
	for threads, want := range map[int]string{1: "C (P), 1 thread, kernel path K, revgen R", 2: "C (P), 2 threads, kernel path K, revgen R"} {
		require.Equal(t, want, (&Machine{CPU: "C", Platform: "P", Threads: threads, Path: "K", Program: "R"}).String())
	}
	for in, want := range map[*Outcome]string{
		{}: "preset: it has none", {Preset: "a"}: "seeds: the list is empty", {Preset: "a", Seeds: []uint64{1}}: "",
		{Preset: "a", Seeds: []uint64{1}, Metrics: []Metric{{Name: "x"}, {}}}: "metrics[1].name: it has none",
		{Preset: "a", Seeds: []uint64{1}, Million: []Metric{{}}}:              "million[0].name: it has none",
	} {
		if err := in.Check(); want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
	for _, at := range []bool{false, true} {
		require.Equal(t, at, (&Outcome{Metrics: []Metric{{}, {AtFloor: at}}}).AtFloor())
	}

	// Curves have at most so many points as there are steps, and figures are of the paper's settings.
	p := &Plan{Dir: "d", Presets: []string{"quick"}, Seed: 4, Seeds: 2}
	for steps, every := range map[int]int{10: 1, 49: 1, 50: 2, 1000: 40} {
		p.Assignments = []string{fmt.Sprint("training.steps=", steps)}
		all, err := p.trials(context.Background(), []engine.Definition{ising.Definition})
		require.NoError(t, err)
		require.Len(t, all, 2)
		for i := range all {
			first, second := all[i].Configs[0].Shared(), all[i].Configs[1].Shared()
			require.Equal(t, []int{every, 0}, []int{first.Evaluation.Every, second.Evaluation.Every})
			require.Equal(t, []uint64{4, 5}, []uint64{first.Training.Seed, second.Training.Seed})
			require.Equal(t, filepath.Join("d", "figures"), all[i].Figures)
			require.Equal(t, filepath.Join("d", "quick", all[i].Setting.Name), all[i].Dir)
			require.Equal(t, p.Assignments, all[i].Changed)
		}
	}
	p.Assignments = []string{"evaluation.every=7"}
	all, err := p.trials(context.Background(), []engine.Definition{ising.Definition})
	require.NoError(t, err)
	require.Equal(t, 7, all[0].Configs[0].Shared().Evaluation.Every)
	trial := Trial{Study: "s", Setting: Settings[2], Preset: "best", Dir: "d", First: 3, Count: 9}
	require.Equal(t, Run{Study: "s", Setting: Settings[2], Preset: "best", Seed: 8, Steps: all[0].Configs[0].Shared().Training.Steps, Dir: "d/seed8", Index: 5, Count: 9},
		trial.Run(all[0].Configs[0], 2, 8))
}

// TestObservers: what an observer says ends a plan, and each run begins and ends.
func TestObservers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs settings")
	}
	p := tiny(t.TempDir())
	p.Only, p.Seeds = []string{"ising-0.5"}, 1
	enough := errors.New("enough")
	var said []string
	begun := func(r Run) { said = append(said, fmt.Sprintf("begin %s %d of %d", r.Setting.Name, r.Index, r.Count)) }
	results, err := execute(t, context.Background(), p, Observer{
		Begin: begun, End: func(r Run) { said = append(said, fmt.Sprint("end ", r.Seed)) },
		Progress: func(run.Progress) { said = append(said, ".") },
		Outcome:  func(*Outcome) error { return enough },
	})
	require.ErrorIs(t, err, enough)
	require.Len(t, results.Outcomes, 1)
	require.Equal(t, "begin ising-0.5 0 of 1", said[0])
	require.Equal(t, "end 3", said[len(said)-1])
	require.Contains(t, said, ".")
	o := results.Outcomes[0]
	require.Equal(t, p.Assignments, o.Changed)
	require.Positive(t, o.Processors)
	require.Positive(t, o.Seconds)
	require.NotEmpty(t, o.Figures)
	require.True(t, strings.HasPrefix(o.Figures[0], "paper-ising-0.5-"), o.Figures)
	back, err := Read(p.Dir)
	require.NoError(t, err)
	require.Equal(t, results, back, "it was written before")

	// Where results cannot be written or read, that is said.
	require.NoError(t, os.Remove(resultsFile(p.Dir)))
	require.NoError(t, os.Mkdir(resultsFile(p.Dir), 0o755))
	_, err = execute(t, context.Background(), p, Observer{})
	require.ErrorContains(t, err, resultsFile(p.Dir))
	require.NoFileExists(t, filepath.Join(p.Dir, "lock"), "and nobody owns it")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	p.Dir = filepath.Join(file, "below")
	_, err = execute(t, context.Background(), p, Observer{})
	require.Error(t, err)
	require.Error(t, (&Results{}).Write(p.Dir))
	require.Error(t, Store(filepath.Join(t.TempDir(), "x"), math.Inf(1), "", ""))

	w, before := NewStopwatch(), peers.ProcessorTime(0)
	for peers.ProcessorTime(0)-before < 20*time.Millisecond {
	}
	require.GreaterOrEqual(t, w.Seconds(), 0.02)
	require.Positive(t, w.Wall())
	workers := pool.New(2)
	defer workers.Close()
	m := (&Trial{Workers: workers, Program: "p"}).Machine()
	require.Equal(t, []any{2, "p"}, []any{m.Threads, m.Program})
}

// TestUnusualResults: settings that are not known any longer or measured nothing, presets that
// differ in their metrics, floors and machines, and warnings of some seeds.
func TestUnusualResults(t *testing.T) {
	metric := func(name string, err, floor float64, at bool) Metric {
		return Metric{Name: name, Exact: 1, Generated: 1 + err, Error: err, Range: [2]float64{err / 2, 2 * err}, Interval: [2]float64{0.99, 1.01}, Floor: floor, AtFloor: at, Quantile: 2 * floor}
	}
	relative := metric("energy", 0.02, 0.01, false)
	relative.Relative, relative.Paper = true, pointer(0.015)
	better := false
	relative.Better = &better
	both := metric("l2_density_error", 0.01, 0.02, true)
	both.Paper = pointer(0.03)
	r := &Results{Outcomes: []Outcome{
		{Setting: "gone", Title: "Of old", Preset: "best", Seeds: []uint64{4}, Metrics: []Metric{relative, metric("log_z", 0.1, 0, false)}, Million: []Metric{metric("energy", 0.001, 0.002, true)},
			Figures: []string{"a", "b"}, Machine: Machine{CPU: "C", Threads: 1}, Warnings: []string{"w", "w"}, Processors: 90},
		{Setting: "gone", Title: "Of old", Preset: "quick", Seeds: []uint64{4, 5}, Metrics: []Metric{both, metric("energy", 0.03, 0.01, true), metric("more", 0, 0.04, false)}, Figures: []string{"c"}, Machine: Machine{CPU: "D", Threads: 2},
			Warnings: []string{"seed 4: x", "seed 5: y", "seed 4: y", "seed 9: z"}, Published: []Published{{"M", "T", "more", 0.5}, {"N", "U", "none", 0.5}}},
		{Setting: "gone", Title: "Of old", Preset: "own", Seeds: []uint64{4}, Figures: []string{"d"}, Machine: Machine{CPU: "D", Threads: 2}},
		{Setting: "empty", Title: "Nothing", Preset: "paper", Seeds: []uint64{0}, Changed: []string{"a=1", "b=2"}},
	}}
	text := r.Markdown()
	_, text, _ = strings.Cut(text, "\n\n")
	_, text, _ = strings.Cut(text, "\n")
	table, rest, _ := strings.Cut(text, "\nAn asterisk")
	_, rest, _ = strings.Cut(rest, "training and measuring.\n")
	text = table + "────\n" + rest
	var b strings.Builder
	for i := range r.Outcomes {
		require.NoError(t, r.Outcomes[i].Table().WriteText(&b))
		fmt.Fprintf(&b, "%q %q\n", r.Outcomes[i].Others(), r.Outcomes[i].warningTexts())
	}
	golden(t, "unusual.txt", text+"────\n"+b.String())
}
