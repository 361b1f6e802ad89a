package answer

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/figure"
)

// report has a problem where training has paid after some samples, one that nobody but we
// answers right, and one where all are better than we.
func report() *Report {
	outcome := func(name string, setup, seconds, independent, off float64) Outcome {
		return Outcome{
			Contender: name, Preset: map[string]string{"revgen, best": "best", "revgen, quick": "quick"}[name], Series: Series{Setup: setup, Sampling: 4},
			Averages: []Average{{Observable: "fast", Seconds: 0.1, Independent: 1e6}, {Observable: "slow", Value: 2.5, Reference: 2, Seconds: seconds, Independent: independent, Off: off}}, Slowest: 1,
			Curve: []Point{{Seconds: 1.5, Error: 0.25, Standard: 0.125}, {Seconds: 3, Error: 0, Standard: 0.0625}},
		}
	}
	counted := outcome("revgen, quick", 9, 10, 4000, 1)
	counted.SetupEvaluations, counted.Evaluations = 2.5e6, 32_000 // in 4 s, which are 16,000 independent samples
	return &Report{Schema: 1, CPU: "a processor", Version: "1", Seed: 5, Answers: []Answer{
		{Problem: "first", Outcomes: []Outcome{outcome("revgen, best", 20, 21, 8000, 1), counted, outcome("chain", 1, 2, 1000, 2), {Contender: "absent", Missing: "not there; install it"}}},
		{Problem: "wrong", Outcomes: []Outcome{outcome("revgen, best", 1, 10, 100, 1), outcome("chain", 0, 2, 50, 7)}},
		{Problem: "late", Outcomes: []Outcome{outcome("revgen, best", 1, 10, 100, 1), outcome("chain", 0, 2, 250, 4.9)}},
		{Problem: "fourth", Outcomes: []Outcome{{Contender: "revgen, best", Preset: "best", Missing: "no"}, outcome("chain", 0, 2, 250, 0)}},
	}}
}

// TestBars: of ours that are right, the one counts that comes nearest to a bar.
func TestBars(t *testing.T) {
	written := func(r *Report) string {
		var b strings.Builder
		r.writeBars(&b)
		return b.String()
	}
	require.Empty(t, written(report()))
	r := report()
	for i, name := range []string{"ising-32", "schools", "glass-8", "funnel"} {
		a := &r.Answers[i]
		a.Problem = name
		for j := range a.Outcomes {
			if a.Outcomes[j].Contender == "chain" {
				a.Outcomes[j].Contender = map[string]string{"ising-32": "Wolff", "glass-8": "replica exchange"}[name]
				if a.Outcomes[j].Contender == "" {
					a.Outcomes[j].Contender = "Stan's NUTS"
				}
			}
		}
	}
	// A sample by best costs an eighth of one by Wolff; training by quick has paid after 10,667.
	require.Equal(t, `
| target | bar | | measured | |
|---|---|--:|--:|---|
| ising-32 | samples/s, times those of Wolff | at least 12 | 8 | missed |
| ising-32 | paid after samples of Wolff | at most 300,000 | 10,700 | met |
| glass-8 | time to 1 %, times that of replica exchange | at most 1 | 5 | missed |
| schools | time to 1 %, times that of Stan's NUTS | at most 3 | 5 | missed |
| schools | samples/s, times those of Stan's NUTS | at least 100 | 2 | missed |
`, written(r))
	for i := range r.Answers[0].Outcomes[:2] {
		r.Answers[0].Outcomes[i].Averages[0].Off = 6
	}
	require.NotContains(t, written(r), "ising-32", "wrong answers reach no bar")
	r = report()
	r.Answers[0].Problem, r.Answers[0].Outcomes[2].Contender = "ising-16", "Wolff"
	r.Answers[0].Outcomes[0].Averages[1].Independent = 12_000
	require.Contains(t, written(r), "at least 12 | 12 | met")
}

// TestBarsHaveContenders: each bar is of a problem of the suite and one of its contenders.
func TestBarsHaveContenders(t *testing.T) {
	for _, bar := range bars() {
		i := slices.IndexFunc(problems(), func(p problem) bool { return p.name == bar.problem })
		require.GreaterOrEqual(t, i, 0, bar.problem)
		require.True(t, slices.ContainsFunc(problems()[i].peers, func(c contender) bool { return c.name() == bar.contender }), bar.contender)
	}
}

func TestReport(t *testing.T) {
	text := func(format string) string {
		var b bytes.Buffer
		require.NoError(t, report().Write(&b, format))
		return b.String()
	}
	lines := strings.Split(text("md"), "\n")
	require.Equal(t, "a processor, one thread, 1, seed 5. Times are those of the processor.", lines[0])
	// 8 s more of setup are saved by 1/1000 − 1/4000 s a sample after 10,667.
	require.Equal(t, []string{
		"| first | 10 s | quick | 4,000 | 2 s | chain | 1,000 | 10,700 |",
		"| wrong | 10 s | best | 100 | 2 s (wrong) | chain | 50 | 100 |",
		"| late | 10 s | best | 100 | 2 s | chain | 250 | – |",
	}, lines[4:7])
	require.Equal(t, []string{
		"| first | revgen, best | 20 s | – | 21 s | slow | 8,000 |  |  |",
		"| first | revgen, quick | 9 s | 2.5 million + 2 a sample | 10 s | slow | 4,000 |  |  |",
		"| first | chain | 1 s | – | 2 s | slow | 1,000 | 10,700 samples |  |",
		"| first | absent | missing: not there; install it | | | | | | |",
		"| wrong | revgen, best | 1 s | – | 10 s | slow | 100 |  |  |",
		"| wrong | chain | 0 s | – | 2 s | slow | 50 | 100 samples | wrong: slow is 2.5, not 2, 7 standard errors off |",
		"| late | revgen, best | 1 s | – | 10 s | slow | 100 |  |  |",
		"| late | chain | 0 s | – | 2 s | slow | 250 | never |  |",
		"| fourth | revgen, best | missing: no | | | | | | |",
		"| fourth | chain | 0 s | – | 2 s | slow | 250 |  |  |",
		"",
		"first: chain answers first, since training takes 9 of our 10 s; from then on a sample of ours costs 4 times less.",
		"",
		"late: chain answers first, and its samples cost 2.5 times less than ours.",
		"",
	}, lines[10:])
	require.True(t, strings.HasPrefix(text("csv"), "problem,contender,seconds,error,standard_error\nfirst,\"revgen, best\",1.5,0.25,0.125\nfirst,\"revgen, best\",3,0,0.0625\nfirst,\"revgen, quick\",1.5,"))
	require.Equal(t, 1+2*8, strings.Count(text("csv"), "\n"))
	require.Contains(t, text("json"), `"independent_per_second": 4000`)
	require.ErrorContains(t, report().Write(&bytes.Buffer{}, "xml"), `unknown format "xml"; the formats are md, csv, json`)

	var b bytes.Buffer
	off := report()
	off.Answers[0].Outcomes[1].Averages[0].Off = 6
	require.NoError(t, off.Write(&b, "md"))
	require.Contains(t, b.String(), "| first | 21 s | best | 8,000 | 2 s | chain |", "what is right goes before")

	var again Report
	require.NoError(t, again.Read([]byte(text("json"))))
	require.Equal(t, report(), &again)
	for in, says := range map[string]string{
		`{"answers": [{"problem": "x"}]}`:                                                 "x: no outcomes",
		`{"answers": [{"problem": "x", "outcomes": [{"contender": "y", "slowest": 0}]}]}`: "x, y: no average 0",
		"[": "unexpected end",
	} {
		require.ErrorContains(t, new(Report).Read([]byte(in)), says)
	}

	f := report().Figure()
	require.Equal(t, []int{3, 1}, []int{len(f.Rows[0].Panels), len(f.Rows[1].Panels)})
	p := f.Rows[0].Panels[0]
	require.Equal(t, "first", p.Title)
	require.Equal(t, []figure.Scale{figure.Log, figure.Log}, []figure.Scale{p.X.Scale, p.Y.Scale})
	require.Len(t, p.Layers, 6, "a line and points of each that ran")
	require.Equal(t, figure.Layer{Mark: figure.Line, Role: figure.Series(0), Label: "revgen, best", X: []float64{1.5, 3}, Y: []float64{0.125, 0.0625}}, p.Layers[0])
	require.Equal(t, figure.Layer{Mark: figure.Points, Role: figure.Series(0), X: []float64{1.5, 3}, Y: []float64{0.25, 1e-9}}, p.Layers[1])
	require.Equal(t, figure.Series(2), p.Layers[4].Role)
	require.Equal(t, figure.Series(2), f.Rows[0].Panels[1].Layers[2].Role, "one colour for a contender")
}

func TestQuantities(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.012345: "0.0123", 12.36: "12.4", -12.36: "-12.4", 999.4: "999", 999.7: "1,000", 1000: "1,000", 38_049: "38,000", 999_499: "999,000",
		999_999: "1 million", 2_504_000: "2.5 million", math.Inf(1): "–", math.NaN(): "–",
	} {
		require.Equal(t, want, quantity(x), x)
	}
}

// TestFastest: of outcomes that are as fast the one that stands first, and who is as fast, or as
// cheap, as we are.
func TestFastest(t *testing.T) {
	outcome := func(name, preset string, seconds, independent float64, off ...float64) Outcome {
		o := Outcome{Contender: name, Preset: preset, Series: Series{Setup: 4}}
		for i, x := range off {
			o.Averages = append(o.Averages, Average{Observable: string(rune('a' + i)), Value: 1, Reference: 2, Seconds: seconds, Independent: independent, Off: x})
		}
		return o
	}
	a := Answer{Outcomes: []Outcome{outcome("best", "best", 5, 100, 0), outcome("quick", "quick", 5, 100, 0), outcome("x", "", 5, 100, 0), outcome("y", "", 5, 100, 0)}}
	require.Same(t, &a.Outcomes[0], a.fastest(true))
	require.Same(t, &a.Outcomes[2], a.fastest(false))
	require.Nil(t, (&Answer{}).fastest(true))
	require.Empty(t, a.slowerText(), "as fast as we are")
	a.Outcomes[2].Averages[0].Seconds = 2.5
	require.Equal(t, "x answers first, and its samples cost 1 times less than ours.\n", a.slowerText())
	a.Outcomes[0].Averages[0].Independent = 250
	require.Equal(t, "x answers first, since training takes 4 of our 5 s; from then on a sample of ours costs 2.5 times less.\n", a.slowerText())
	a.Outcomes[2].Averages[0].Off = 5
	require.Empty(t, a.slowerText(), "which is wrong")
	for off, right := range map[float64]bool{4.999: true, 5: false, math.NaN(): false, math.Inf(1): false} {
		o := outcome("x", "", 1, 1, 0, off)
		require.Equal(t, right, o.Consistent(), off)
	}
	for _, off := range [][]float64{{1, 7, 9, 2}, {9, 1, 9.1, 7}} {
		o := outcome("x", "", 1, 1, off...)
		require.Equal(t, "wrong: c is 1, not 2, 9 standard errors off", o.remark())
	}
	x, y := outcome("x", "", 1, 100, 0), outcome("y", "", 1, 100, 0)
	require.True(t, math.IsInf(x.Paid(&y), 1), "which costs the same")
	y.Averages[0].Independent, y.Setup = 50, 5
	require.Zero(t, x.Paid(&y), "from the beginning")
	y.Setup = 1
	require.InDelta(t, 3/(1./50-1./100), x.Paid(&y), 1e-9)
}

// TestCurves: the error after each half of the rows, of 64 at least, and what the others make of
// an average.
func TestCurves(t *testing.T) {
	for n, want := range map[int][]float64{63: nil, 64: {5}, 127: {5}, 128: {3, 5}, 256: {2, 3, 5}} {
		o := []Outcome{{Series: *autoregressive(n, 0, 0, 1)}}
		p := problem{observables: []observable{meanObservable("x", 0, 0)}}
		p.judge(o)
		var seconds []float64
		for _, at := range o[0].Curve {
			seconds = append(seconds, at.Seconds)
		}
		require.Equal(t, want, seconds, n)
	}
	outcomes := []Outcome{{Averages: []Average{{Value: 9, Error: 1}}}, {Averages: []Average{{Value: 1, Error: 0.1}}}, {Averages: []Average{{Value: 2, Error: 0.2}}}, {Missing: "gone"}}
	value, standardError := consensus(outcomes, 0, 0)
	require.InDelta(t, (1/0.01+2/0.04)/(1/0.01+1/0.04), value, 1e-12)
	require.InDelta(t, 1/math.Sqrt(1/0.01+1/0.04), standardError, 1e-12)
	alone := []Outcome{{Series: *autoregressive(100, 0, 0, 1)}}
	p := problem{observables: []observable{meanObservable("x", 0, math.NaN())}}
	p.judge(alone)
	require.Zero(t, alone[0].Averages[0].Off, "nobody else says anything")
	require.True(t, alone[0].Consistent())
}
