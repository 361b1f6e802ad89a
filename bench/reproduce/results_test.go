package reproduce

import (
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/configtest"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func pointer(x float64) *float64 { return &x }

// fixed are results that no run has to be made for.
func fixed(t *testing.T) *Results {
	t.Helper()
	metrics := func(scale float64) []*measure.Evaluation {
		var all []*measure.Evaluation
		for _, seed := range []float64{1, 0.5, 1.25} {
			f := scale * seed
			all = append(all, &measure.Evaluation{Samples: 200_000, Metrics: []measure.Metric{
				{Name: "energy", Exact: -4.842892, Generated: -4.842892 * (1 - 0.004*f), Error: 0.004 * f, Relative: true,
					Interval: [2]float64{-4.867, -4.815}, Floor: 0.0021, Paper: pointer(0.0045)},
				{Name: "abs_magnetisation", Exact: 0.45998, Generated: 0.45998 + 0.004*f, Error: 0.004 * f,
					Interval: [2]float64{0.4627, 0.4652}, Floor: 5.1e-4, Paper: pointer(0.0028)},
				{Name: "total_variation", Generated: 0.018 * f, Error: 0.018 * f, Interval: [2]float64{0.017, 0.021}, Floor: 0.0179,
					Law: stat.Null{0.0173, 0.0176, 0.0179, 0.0182, 0.0185}, Paper: pointer(0.0331)},
				{Name: "joint_mmd2", Generated: 1.5e-6 * f, Error: 1.5e-6 * f, Interval: [2]float64{1e-6, 2e-6}},
			}})
		}
		return all
	}
	machine := Machine{CPU: "Some CPU", Platform: "linux/amd64", Threads: 2, Path: "avx2", Program: "v1.2.0"}
	r := &Results{Schema: SchemaVersion}
	for _, o := range []Outcome{
		{Setting: "ising-0.2", Title: "Ising model, L = 3, β = 0.2", System: "ising", Preset: "paper", Seeds: []uint64{7}, Steps: 6000, Batch: 2048,
			Samples: 200_000, Seconds: 61.4, Machine: machine, Figures: []string{"paper-ising-0.2-distributions"}},
		{Setting: "ising-0.2", Title: "Ising model, L = 3, β = 0.2", System: "ising", Preset: "best", Seeds: []uint64{1, 2, 3}, Steps: 400, Batch: 2048,
			Samples: 200_000, Seconds: 9.87, Machine: machine, Changed: []string{"training.steps=400"},
			Published:  []Published{{"Other", "h = 0.1, not 0", "total_variation", 0.0799}, {"Another", "the same target", "total_variation", 0.2}},
			Processors: 18.24, Warnings: []string{"seed 1: no reference", "seed 2: no reference", "seed 2: a mode is lost", "seed 3: no reference"}},
		{Setting: "gmm", Title: "Gaussian mixture, d = 2", System: "gmm", Preset: "best", Seeds: []uint64{1, 2}, Steps: 10_000, Batch: 2048,
			Samples: 200_000, Seconds: 7262, Machine: machine},
	} {
		tables := metrics(map[string]float64{"paper": 4, "best": 1}[o.Preset])
		if o.System == "gmm" {
			tables = []*measure.Evaluation{
				{Metrics: []measure.Metric{{Name: "l2_density_error", Generated: 0.0123, Error: 0.0123, Interval: [2]float64{0.01229, 0.01231}, Paper: pointer(0.0483)}}},
				{Metrics: []measure.Metric{{Name: "l2_density_error", Generated: 0.0321, Error: 0.0321, Interval: [2]float64{0.03209, 0.03211}, Paper: pointer(0.0483)}}},
			}
		}
		var err error
		o.Metrics, err = combine(tables[:len(o.Seeds)])
		require.NoError(t, err)
		if o.Setting == "ising-0.2" && o.Preset == "best" {
			for _, e := range tables {
				e.Metrics = append(e.Metrics[:3:3],
					measure.Metric{Name: "effective_sample_size", Exact: 1, Generated: 0.99987, Error: 1.3e-4, Interval: [2]float64{0.99986, 0.99988}},
					measure.Metric{Name: "log_z", Exact: 12.5, Generated: 12.5001, Error: 1e-4, Interval: [2]float64{12.4999, 12.5003}, Floor: 8e-5})
			}
			o.Million, err = combine(tables)
			require.NoError(t, err)
			o.Metrics = append(o.Metrics, o.Million[3:]...)
		}
		r.insert(o)
	}
	return r
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestMarkdown(t *testing.T) {
	r := fixed(t)
	golden(t, "results.md", r.Markdown())
	r.Outcomes[1].Machine.Program = "v1.3.0"
	require.NotContains(t, r.Markdown(), "All on")
	require.Contains(t, r.Markdown(), " On Some CPU (linux/amd64), 2 threads, kernel path avx2, revgen v1.3.0.")
	require.NotContains(t, (&Results{}).Markdown(), "##")
}

func TestTables(t *testing.T) {
	var b strings.Builder
	r := fixed(t)
	for i := range r.Outcomes {
		b.WriteString(r.Outcomes[i].Summary() + "\n")
		require.NoError(t, r.Outcomes[i].Table().WriteText(&b))
	}
	golden(t, "tables.txt", b.String())
}

func TestResultsFile(t *testing.T) {
	dir := t.TempDir()
	none, err := Read(dir)
	require.NoError(t, err)
	require.Empty(t, none.Outcomes)
	want := fixed(t)
	require.NoError(t, want.Write(dir))
	got, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for _, bad := range []string{"{", `{"schema":2,"outcomes":[]}`} {
		require.NoError(t, os.WriteFile(resultsFile(dir), []byte(bad), 0o644))
		_, err = Read(dir)
		require.ErrorContains(t, err, resultsFile(dir))
	}
}

// An outcome replaces that of the same setting and preset; the others stay, in
// the order of the settings.
func TestInsert(t *testing.T) {
	r := &Results{}
	for _, name := range []string{"ising-0.5/best", "gmm/paper", "ising-0.2/best", "gmm/best", "ising-0.5/best"} {
		setting, preset, _ := strings.Cut(name, "/")
		r.insert(Outcome{Setting: setting, Preset: preset, Steps: len(r.Outcomes)})
	}
	var order []string
	for _, o := range r.Outcomes {
		order = append(order, o.Setting+"/"+o.Preset)
	}
	require.Equal(t, []string{"gmm/paper", "gmm/best", "ising-0.2/best", "ising-0.5/best"}, order)
	require.Equal(t, 4, r.Outcomes[3].Steps, "the later one")
}

func TestCombine(t *testing.T) {
	table := func(errs ...float64) (all []*measure.Evaluation) {
		for _, e := range errs {
			all = append(all, &measure.Evaluation{Metrics: []measure.Metric{{Name: "x", Exact: 1, Generated: 1 - e, Error: e, Interval: [2]float64{-e, e}, Floor: 0.1}}})
		}
		return all
	}
	m, err := combine(table(0.5, 0.2, 0.9))
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 0.5, 0.2, 0.9}, []float64{m[0].Error, m[0].Generated, m[0].Range[0], m[0].Range[1]})
	require.Equal(t, [2]float64{-0.5, 0.5}, m[0].Interval)
	m, err = combine(table(0.5, 0.25, 1, 0.75))
	require.NoError(t, err)
	require.Equal(t, 0.625, m[0].Error)
	other := table(0.5, 0.5)
	other[1].Metrics[0].Name = "y"
	_, err = combine(other)
	require.Error(t, err)
	other[1].Metrics = nil
	_, err = combine(other)
	require.Error(t, err)
}

// The verdict compares with the paper plainly, and says when either or both of
// the errors are what exact samples have.
func TestJudge(t *testing.T) {
	law := make(stat.Null, 100) // of a distance between .017 and .019
	for i := range law {
		law[i] = 0.017 + 0.002*(float64(i)+0.5)/100
	}
	// The mean of a half-normal error is √(2/π) σ, so that 95 % are below
	// 1.96 σ = 2.456 times the floor, and the median of five below 1.646 times.
	for _, c := range []struct {
		name       string
		err, floor float64
		law        stat.Null
		seeds      int
		paper      *float64
		want       string
	}{
		{"no figure of the paper", 0.30, 0.1, nil, 1, nil, "–"},
		{"no figure of the paper, at the floor", 0.20, 0.1, nil, 1, nil, "– *"},
		{"larger than the paper's", 0.50, 0.1, nil, 1, pointer(0.4), "no"},
		{"equal is not better", 0.40, 0.1, nil, 1, pointer(0.4), "no"},
		{"smaller than the paper's", 0.30, 0.1, nil, 1, pointer(0.4), "yes"},
		{"smaller and at the floor", 0.24, 0.1, nil, 1, pointer(0.4), "yes *"},
		{"just above the bound", 0.246, 0.1, nil, 1, pointer(0.4), "yes"},
		{"smaller, both at the floor", 0.05, 0.1, nil, 1, pointer(0.2), "yes **"},
		{"larger, both at the floor", 0.22, 0.1, nil, 1, pointer(0.05), "no **"},
		{"larger than a lucky figure of the paper", 0.30, 0.1, nil, 1, pointer(0.05), "no"},
		{"a median of five scatters less", 0.20, 0.1, nil, 5, pointer(0.4), "yes"},
		{"a median of five at the floor", 0.16, 0.1, nil, 5, pointer(0.4), "yes *"},
		{"a median of five and one sample at the floor", 0.16, 0.1, nil, 5, pointer(0.24), "yes **"},
		{"a distance above its quantile", 0.01895, 0.018, law, 1, pointer(0.033), "yes"},
		{"a distance at its floor", 0.01885, 0.018, law, 1, pointer(0.033), "yes *"},
		{"a distance of five seeds above its bound", 0.01885, 0.018, law, 5, pointer(0.033), "yes"},
		{"distances at the floor", 0.01885, 0.018, law, 1, pointer(0.0185), "no **"},
		{"without a floor", 0.019, 0, nil, 1, pointer(0.02), "yes"},
		{"not a number", math.NaN(), 0, nil, 1, pointer(0.02), "–"},
	} {
		m := Metric{Error: c.err, Floor: c.floor, Paper: c.paper}
		m.judge(c.law, c.seeds)
		require.Equal(t, c.want, verdict(&m), c.name)
		require.Equal(t, c.paper == nil || math.IsNaN(c.err), m.Better == nil, c.name)
	}
	// A reference that is off itself makes the errors of exact samples larger.
	table := func(uncertainty float64) []*measure.Evaluation {
		return []*measure.Evaluation{{Metrics: []measure.Metric{{Name: "x", Error: 0.3, Floor: 0.1, Uncertainty: uncertainty}}}}
	}
	for uncertainty, want := range map[float64]bool{0: false, 0.05: false, 0.2: true} {
		all, err := combine(table(uncertainty))
		require.NoError(t, err)
		require.Equal(t, want, all[0].AtFloor, "%v", uncertainty)
		require.Equal(t, uncertainty, all[0].Uncertainty)
	}
	m := Metric{Error: 0.1, Floor: 0.1}
	m.judge(nil, 1)
	require.InDelta(t, 0.1*1.959964*math.Sqrt(math.Pi/2), m.Bound, 1e-6)
}

// TestEditedResults takes results that somebody has edited: they are refused or
// become tables.
func TestEditedResults(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many files")
	}
	r := fixed(t)
	for i := range r.Outcomes {
		r.Outcomes[i].Metrics = r.Outcomes[i].Metrics[:1]
	}
	document, err := json.Marshal(r)
	require.NoError(t, err)
	dir := t.TempDir()
	refused := 0
	configtest.Edited(t, document, func(edited []byte) {
		require.NoError(t, os.WriteFile(resultsFile(dir), edited, 0o644))
		require.NotPanics(t, func() {
			r, err := Read(dir)
			if err != nil {
				refused++
				return
			}
			_ = r.Markdown()
			for i := range r.Outcomes {
				require.NoError(t, r.Outcomes[i].Table().WriteText(io.Discard))
				_, _, _ = r.Outcomes[i].Summary(), r.Outcomes[i].Others(), r.Outcomes[i].AtFloor()
			}
		}, "%s", edited)
	})
	require.Greater(t, refused, 100)
	for edit, want := range map[string]string{
		`{"schema":1,"outcomes":[{"preset":"best"}]}`:                                         "outcomes[0].seeds: ",
		`{"schema":1,"outcomes":[{"preset":"best","seeds":[1],"metrics":[{"exact":1}]}]}`:     "outcomes[0].metrics[0].name: ",
		`{"schema":1,"outcomes":[{"preset":"best","seeds":[1],"million":[{"exact":1}]}]}`:     "outcomes[0].million[0].name: ",
		`{"schema":1,"outcomes":[{"seeds":[1],"metrics":[{"name":"x","error":"infinite"}]}]}`: "cannot unmarshal",
	} {
		require.NoError(t, os.WriteFile(resultsFile(dir), []byte(edit), 0o644))
		_, err := Read(dir)
		require.ErrorContains(t, err, want)
	}
}

// TestSettingsNameTargets: the recipe is the preset's for a target and a generator, as
// Basis says.
func TestSettingsNameTargets(t *testing.T) {
	for _, s := range Settings {
		for _, a := range s.Assignments {
			named := strings.HasPrefix(a, "target.") || strings.HasPrefix(a, "generator.kind=") || strings.HasPrefix(a, "evaluation.")
			require.True(t, named, "%s: %s", s.Name, a)
		}
	}
}
