package answer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/ising"
)

// pretending is the variable of the environment that has this program be a peer, whose n-th
// command fails if the variable is n.
const pretending = "REVGEN_TEST_PRETEND"

func TestMain(m *testing.M) {
	if failing, err := strconv.Atoi(os.Getenv(pretending)); err == nil {
		pretend(failing)
		return
	}
	os.Exit(m.Run())
}

// pretend is a peer whose series is 0, 1, 2, …, that takes 20 ms for a call, tells of
// 100 evaluations a call, and of 2 s before draws of 1 ms each.
func pretend(failing int) {
	var calls int
	var width int
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		if failing--; failing == 0 {
			fmt.Println("error it fails on purpose")
			continue
		}
		var numbers []float64
		switch words[0] {
		case "select": // NAME WALKERS DIM SEED, or NAME DIM SEED
			width = 1
			for _, w := range words[2 : len(words)-1] {
				n, _ := strconv.Atoi(w)
				width *= n
			}
		case "run":
			n, _ := strconv.Atoi(words[1])
			if n < 1000 { // of emcee
				calls += n
				for began := peers.ProcessorTime(0); peers.ProcessorTime(0)-began < time.Duration(n)*20*time.Millisecond; {
				}
			} else {
				calls = n
			}
			fmt.Println("ok 1")
			continue
		case "store":
			switch words[1] {
			case "series":
				for i := range calls * width {
					numbers = append(numbers, float64(i))
				}
			case "times":
				numbers = []float64{2, float64(calls) / 1000}
			case "evaluations":
				if numbers = []float64{100 * float64(calls)}; calls >= 1000 {
					numbers = []float64{7, numbers[0]}
				}
			}
			data, err := binary.Append(nil, binary.NativeEndian, numbers)
			if err == nil {
				err = os.WriteFile(words[2], data, 0o600)
			}
			if err != nil {
				fmt.Println("error", err)
				continue
			}
		}
		fmt.Println("ok", strings.Join(words[:1], ""))
	}
}

// pretenders puts this program in the place of Python and of R.
func pretenders(t *testing.T) *peers.Workshop {
	t.Helper()
	us, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, name := range []string{"python3", "Rscript"} {
		script := "#!/bin/sh\nfor a; do [ \"$a\" = -c -o \"$a\" = -e ] && exit 0; done\nexec " + us + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755)) //nolint:gosec // it is run
	}
	t.Setenv(pretending, "0")
	w, err := peers.NewWorkshop(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// TestSeriesOfPeers: of a chain's steps a tenth come before the first row, rows are means over
// walkers, and as many draws of Stan are asked for as the time suffices for.
func TestSeriesOfPeers(t *testing.T) {
	w := pretenders(t)
	expand := func(row, x []float64) { row[0], row[1], row[2] = x[0], x[1]*x[1], 5 }
	load := map[string]any{"x": []float64{1}, "y": []float64{2}}
	walk := &chain{peer: "emcee", title: "walkers", arrays: load, stateWidth: 2, width: 3, walkers: 4, observe: expand,
		selection: func(seed uint64) []any { return []any{"name", 4, 2, seed} }}
	s, about, err := walk.run(t.Context(), w, 0.3, 1)
	require.NoError(t, err)
	require.Equal(t, "about", about)
	steps := s.Evaluations/100 + s.SetupEvaluations/100
	first := math.Floor(steps / 10)
	require.LessOrEqual(t, steps, 20.0, "of 20 ms and more")
	require.Equal(t, int(steps-first), s.n())
	require.InDelta(t, s.Setup*(steps-first), s.Sampling*first, 1e-9)
	require.GreaterOrEqual(t, s.Setup+s.Sampling, 0.3)
	require.InDelta(t, 100*first, s.SetupEvaluations, 1e-9)
	for r := range s.n() {
		want := [3]float64{0, 0, 5}
		for lane := range 4 {
			at := (float64(r)+first)*8 + float64(2*lane)
			want[0] += at / 4
			want[1] += (at + 1) * (at + 1) / 4
		}
		require.InDeltaSlice(t, want[:], s.rows[3*r:3*r+3], 1e-9)
	}

	stan := &nuts{chain{peer: "stan", title: "draws", arrays: load, stateWidth: 2, width: 2, walkers: 1, selection: func(seed uint64) []any { return []any{"name", 2, seed} }}}
	for seconds, draws := range map[float64]int{0.5: 1000, 1: 1000, 1.5: 1500} {
		s, _, err = stan.run(t.Context(), w, seconds, 1)
		require.NoError(t, err)
		require.Equal(t, draws, s.n())
		require.Equal(t, []float64{2, float64(draws) / 1000, 7, 100 * float64(draws)}, []float64{s.Setup, s.Sampling, s.SetupEvaluations, s.Evaluations})
		require.Equal(t, []float64{0, 1, 2, 3}, s.rows[:4])
	}

	if testing.Short() {
		return // the rest starts many processes
	}
	for _, c := range []struct {
		contender
		seconds  float64
		commands int
	}{{walk, 0.001, 10}, {stan, 0.5, 8}, {stan, 1.5, 10}} {
		for k := 1; k <= c.commands; k++ {
			t.Setenv(pretending, strconv.Itoa(k))
			_, _, err := c.run(t.Context(), w, c.seconds, 1)
			require.ErrorContains(t, err, "on purpose", "%s, command %d", c.name(), k)
		}
		t.Setenv(pretending, strconv.Itoa(c.commands+1))
		s, _, err := c.run(t.Context(), w, c.seconds, 1)
		require.NoError(t, err, c.name())
		require.GreaterOrEqual(t, s.n(), 4, "rows that can be judged")
	}
	_, _, err = (&chain{peer: "nobody"}).run(t.Context(), w, 1, 1)
	require.ErrorContains(t, err, `unknown peer "nobody"`)
	t.Setenv("PATH", t.TempDir())
	fresh, err := peers.NewWorkshop(t.Context())
	require.NoError(t, err)
	defer fresh.Close()
	var missing *peers.MissingError
	_, _, err = stan.run(t.Context(), fresh, 1, 1)
	require.True(t, errors.As(err, &missing), err)
}

// TestRunThatStops: what is asked of a problem that is not there, and a run that is told to
// end, are errors, and ours come first.
func TestRunThatStops(t *testing.T) {
	var said []string
	o := Options{Only: []string{"none"}, Seconds: 0.02, Seed: 2, Peers: true, Log: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	_, err := Run(t.Context(), o)
	require.ErrorContains(t, err, `unknown problem "none"; the problems are ising-16, ising-32, ising-64, glass-8, `)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Only = []string{"two_modes"}
	answers, err := Run(ctx, o)
	require.ErrorContains(t, err, "two_modes: revgen, best: ")
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, answers)
	require.Equal(t, []string{"two_modes: revgen, best"}, said)

	// What has been measured of a problem is kept.
	long.SkipShort(t)
	ctx, cancel = context.WithCancel(t.Context())
	o.Only, o.Log = []string{"glass-8"}, func(_ string, args ...any) {
		if args[1] == "revgen, quick" {
			cancel()
		}
	}
	answers, err = Run(ctx, o)
	require.ErrorContains(t, err, "glass-8: revgen, quick: ")
	require.Len(t, answers, 1)
	require.Len(t, answers[0].Outcomes, 1)
	require.Equal(t, "best", answers[0].Outcomes[0].Preset)
	require.NotEmpty(t, answers[0].Outcomes[0].Averages)
}

// TestOurSeries: a trained generator's weights, of which the largest is 1, make its averages
// those of the target.
func TestOurSeries(t *testing.T) {
	long.SkipShort(t)
	p := lattice(3, 0.2)
	for _, preset := range presets {
		o := p.ours
		o.preset = preset
		require.Equal(t, "revgen, "+preset, o.name())
		s, about, err := o.run(t.Context(), nil, 0.01, 3)
		require.NoError(t, err)
		require.NotEmpty(t, about)
		require.Zero(t, s.n()%8192)
		require.Positive(t, s.Setup)
		require.GreaterOrEqual(t, s.Sampling, 0.01)
		largest := 0.0
		for _, w := range s.weights {
			largest = max(largest, w)
		}
		require.Equal(t, 1.0, largest)
		require.Len(t, s.weights, s.n())
		outcomes := []Outcome{{Series: *s, Preset: preset}}
		p.judge(outcomes)
		require.True(t, outcomes[0].Consistent(), outcomes[0].Averages)
		for r := range 100 {
			row := s.rows[4*r : 4*r+4]
			require.Equal(t, []float64{row[0] * row[0], row[2] * row[2]}, []float64{row[1], row[3]})
		}
	}
	o := p.ours
	o.preset = "nonsense"
	_, _, err := o.run(t.Context(), nil, 0.01, 3)
	require.Error(t, err)
}

// TestLatticeObservables holds functions of means against their definitions, and what is exact
// against enumeration.
func TestLatticeObservables(t *testing.T) {
	const side, beta = 3, 0.2
	p := lattice(side, beta)
	m := []float64{-2, 5, 0.5, 0.3}
	want := []float64{-2, 0.5, beta * beta * (5 - 4), beta * 9 * (0.3 - 0.25)}
	for i, unit := range []float64{2, 0.5, want[2], want[3]} {
		require.InDelta(t, want[i], p.observables[i].value(m), 1e-15)
		require.InDelta(t, unit, p.observables[i].unit(m), 1e-15)
	}
	var z, e1, e2 float64
	for config := range 1 << (side * side) {
		state := make([]byte, side*side)
		for i := range state {
			state[i] = byte(int8(1 - 2*(config>>i&1)))
		}
		e, _ := latticeSums(state, side)
		w := math.Exp(-beta * e)
		z, e1, e2 = z+w, e1+w*e, e2+w*e*e
	}
	require.InEpsilon(t, e1/z, p.observables[0].exact, 1e-9)
	require.InEpsilon(t, beta*beta*(e2/z-e1/z*e1/z), p.observables[2].exact, 1e-9)
	exact, err := ising.Kaufman(side, 1, beta)
	require.NoError(t, err)
	require.Equal(t, exact.SpecificHeat, p.observables[2].exact)
	require.True(t, math.IsNaN(p.observables[1].exact) && math.IsNaN(p.observables[3].exact))

	g := glass(4, 0.7, 5)
	m = []float64{-3, 10, 0.1, 0.2, 0.3, 0.4}
	require.InDelta(t, 0.49*(10-9), g.observables[1].value(m), 1e-15)
	require.InDelta(t, 0.49*(10-9), g.observables[1].unit(m), 1e-15)
	for i := range 4 {
		require.Equal(t, m[2+i], g.observables[2+i].value(m))
		require.Equal(t, 1.0, g.observables[2+i].unit(m))
	}
	levels := ladder(0.7, 8)
	require.Len(t, levels, 10)
	for i, level := range levels {
		require.InEpsilon(t, 0.7*math.Pow(5, -float64(i)/9), level, 1e-12)
	}
}

// TestInfluence: the error of a function of weighted means is that of the mean of its
// linearisation.
func TestInfluence(t *testing.T) {
	s := &Series{width: 2, rows: []float64{1, 2, 3, -1, 0, 4, 2, 2}, weights: []float64{1, 0.5, 0.25, 0.25}}
	require.Equal(t, 4, s.n())
	const total = 2.0
	m := []float64{(1 + 1.5 + 0.5) / total, (2 - 0.5 + 1 + 0.5) / total}
	require.InDeltaSlice(t, m, s.means(4), 1e-15)
	require.InDeltaSlice(t, []float64{2.5 / 1.5, 1}, s.means(2), 1e-15)
	o := observable{value: func(m []float64) float64 { return m[0] * m[0] * m[1] }}
	u, variance := s.influence(o)
	square := 0.0
	for r := range 4 {
		d := 2*m[0]*m[1]*(s.rows[2*r]-m[0]) + m[0]*m[0]*(s.rows[2*r+1]-m[1])
		require.InDelta(t, s.weights[r]/(total/4)*d, u[r], 1e-8)
		square += s.weights[r] / total * d * d
	}
	require.InDelta(t, square, variance, 1e-7)

	// Points of a curve are after all rows, half of them, … and at least 64.
	p := problem{observables: []observable{meanObservable("x", 0, 1)}}
	for n, points := range map[int]int{63: 0, 64: 1, 127: 1, 128: 2, 1000: 4} {
		outcomes := []Outcome{{Series: *autoregressive(n, 1, 0, 1)}}
		p.judge(outcomes)
		c := outcomes[0].Curve
		require.Len(t, c, points, n)
		a := outcomes[0].Averages[0]
		for k := range c {
			rows := n >> (points - 1 - k)
			require.InDelta(t, 1+4*float64(rows)/float64(n), c[k].Seconds, 1e-12)
			require.InDelta(t, math.Abs(outcomes[0].means(rows)[0]-1)/a.Unit, c[k].Error, 1e-12)
			require.InEpsilon(t, a.Error*math.Sqrt(float64(n)/float64(rows))/a.Unit, c[k].Standard, 1e-9)
		}
	}
	for off, right := range map[float64]bool{4.999: true, 5: false, math.NaN(): false} {
		require.Equal(t, right, (&Outcome{Averages: []Average{{Off: 0}, {Off: off}}}).Consistent())
	}
	one := func(setup, independent float64) *Outcome {
		return &Outcome{Series: Series{Setup: setup}, Averages: []Average{{Independent: independent}}}
	}
	require.Equal(t, 4.0, one(3, 4).Paid(one(1, 1.3333333333333333333)), "2 s, of which a sample saves ½")
	require.Equal(t, 0.0, one(1, 4).Paid(one(3, 2)))
	require.True(t, math.IsInf(one(3, 2).Paid(one(1, 2)), 1))
}

// TestEveryAverage holds what is said of three series and three functions against formulas.
func TestEveryAverage(t *testing.T) {
	const n = 4000
	outcomes := []Outcome{
		{Preset: "best", Series: *autoregressive(n, 1, 0.3, 1)}, {Preset: "quick", Series: *autoregressive(n, 1, 0, 2)},
		{Missing: "gone"}, {Series: *autoregressive(n, 1, 0.5, 3)}, {Series: *autoregressive(n, 1.1, 0.8, 4)},
	}
	asked := []observable{meanObservable("x", 0, 1), meanObservable("x²", 1, math.NaN()), meanObservable("again", 0, math.NaN())}
	asked[1].unit = func([]float64) float64 { return 0.01 }
	asked[2].unit = func([]float64) float64 { return 2 }
	p := problem{observables: asked}
	p.judge(outcomes)
	for k, o := range outcomes {
		if o.Missing != "" {
			require.Empty(t, o.Averages)
			require.Empty(t, o.Curve)
			continue
		}
		require.Equal(t, 1, o.Slowest)
		for i, a := range o.Averages {
			u, _ := o.influence(asked[i])
			chain := stat.Chains(u, 1)
			square := chain.Deviation * chain.Deviation * chain.Time
			m := o.means(n)
			require.Equal(t, []any{asked[i].name, asked[i].value(m), asked[i].unit(m)}, []any{a.Observable, a.Value, a.Unit})
			require.InEpsilon(t, math.Sqrt(square/n), a.Error, 1e-12)
			reference, off := asked[i].exact, 0.0
			if i > 0 {
				var sum, weight float64
				for other := range outcomes {
					if other == k || other == 2 || k < 2 && other < 2 {
						continue // itself, the missing one, or another of ours
					}
					v := outcomes[other].Averages[i]
					sum, weight = sum+v.Value/(v.Error*v.Error), weight+1/(v.Error*v.Error)
				}
				reference, off = sum/weight, 1/math.Sqrt(weight)
			}
			require.InEpsilon(t, reference, a.Reference, 1e-12)
			require.InEpsilon(t, math.Abs(a.Value-reference)/math.Sqrt(a.Error*a.Error+off*off), a.Off, 1e-9)
			_, variance := outcomes[0].influence(asked[i])
			require.InEpsilon(t, variance/(square*4/n), a.Independent, 1e-9)
			require.InEpsilon(t, 1+4.0/n*square*1e4/(a.Unit*a.Unit), a.Seconds, 1e-9)
		}
		last := o.Curve[len(o.Curve)-1]
		furthest, standard := 0.0, 0.0
		for _, a := range o.Averages {
			furthest, standard = max(furthest, math.Abs(a.Value-a.Reference)/a.Unit), max(standard, a.Error/a.Unit)
		}
		require.InEpsilon(t, furthest, last.Error, 1e-9)
		require.InEpsilon(t, standard, last.Standard, 1e-9)
	}
	alone := []Outcome{{Series: *autoregressive(100, 1, 0, 1)}}
	p.judge(alone)
	require.Zero(t, alone[0].Averages[1].Off, "nobody else says anything")
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// TestProblems: what is asked, of what, and of whom, changes on purpose only.
func TestProblems(t *testing.T) {
	var b strings.Builder
	state := func(n int, signs bool) (floats []float64, data []byte) {
		for i := range n {
			x := math.Sin(float64(i*i) + 1)
			if signs {
				x = math.Copysign(1, x)
				data = append(data, byte(int8(x)))
			} else {
				x = float64(float32(x))
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
			}
			floats = append(floats, x)
		}
		return floats, data
	}
	sum := func(numbers any) (sum float64) {
		if floats, ok := numbers.([]float64); ok {
			for i, v := range floats {
				sum += float64(i%97+1) * v
			}
			return sum
		}
		data, err := binary.Append(nil, binary.LittleEndian, numbers)
		require.NoError(t, err)
		for i, v := range data {
			sum += float64(i%97) * float64(v)
		}
		return sum
	}
	for _, p := range problems() {
		p.setExact()
		set := strings.Join(p.ours.assignments, " ")
		if len(set) > 60 {
			set = fmt.Sprint(set[:60], " ", sum([]byte(set)))
		}
		fmt.Fprintf(&b, "──── %s: %s\n%s %s\n", p.name, p.about, p.ours.system.Name, set)
		for _, o := range p.observables {
			fmt.Fprintf(&b, "%s = %.6g; ", o.name, o.exact)
		}
		n, signs := 10, true
		if _, err := fmt.Sscanf(p.name, "ising-%d", &n); err == nil {
			n *= n
		} else if _, err := fmt.Sscanf(p.name, "glass-%d", &n); err == nil {
			n *= n
		} else if _, err := fmt.Sscanf(p.name, "cubic-%d", &n); err == nil {
			n *= n * n
		}
		if c, ok := p.peers[0].(*nuts); ok {
			n, signs = c.stateWidth, false
		}
		floats, data := state(n, signs)
		row := make([]float64, p.ours.width)
		p.ours.observe(row, data)
		fmt.Fprintf(&b, "\n%.6g\n", row)
		for _, c := range p.peers {
			chain, ok := c.(*chain)
			if !ok {
				chain = &c.(*nuts).chain
			}
			fmt.Fprintf(&b, "%s by %s, %v: %d to %d of %d", c.name(), chain.peer, chain.selection(7), chain.stateWidth, chain.width, chain.walkers)
			for _, name := range []string{"x", "y", "edges", "pairs", "levels"} {
				if numbers, ok := chain.arrays[name]; ok {
					fmt.Fprintf(&b, " %s %.8g", name, sum(numbers))
				}
			}
			if chain.observe != nil {
				row := make([]float64, chain.width)
				chain.observe(row, floats[:chain.stateWidth])
				fmt.Fprintf(&b, "\n%.6g", row)
			}
			b.WriteString("\n")
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile("testdata/problems.txt", []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/problems.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test ./bench/answer -run TestProblems -update writes it")
}
