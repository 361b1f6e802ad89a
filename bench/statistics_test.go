package bench

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedianInterval(t *testing.T) {
	// The second and the ninth of ten values: both sides miss with probability
	// 2·(1+10)/1024 = 2.1 %; the third and the eighth would miss with 10.9 %.
	require.Equal(t, [2]float64{2, 9}, medianInterval([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}))
	// Six extremes miss with 2/64 = 3.1 %; five with 6.3 %, but there is no better.
	require.Equal(t, [2]float64{1, 6}, medianInterval([]float64{1, 2, 3, 4, 5, 6}))
	require.Equal(t, [2]float64{1, 5}, medianInterval([]float64{1, 2, 3, 4, 5}))
	require.Equal(t, [2]float64{7, 7}, medianInterval([]float64{7}))
}

func TestMannWhitneyDistribution(t *testing.T) {
	// All six orders of two and two values, counted by hand.
	require.InDeltaSlice(t, []float64{1. / 6, 1. / 6, 2. / 6, 1. / 6, 1. / 6}, mannWhitney(2, 2), 1e-15)
	p := mannWhitney(7, 5)
	require.Len(t, p, 36)
	sum := 0.0
	for u, x := range p {
		require.InDelta(t, x, p[len(p)-1-u], 1e-15, "symmetric")
		sum += x
	}
	require.InDelta(t, 1, sum, 1e-14)
	require.InDelta(t, 1./792, p[0], 1e-15) // 12!/(7! 5!) orders
}

// TestMannWhitneyOrders counts the orders of three and four values one by one.
func TestMannWhitneyOrders(t *testing.T) {
	want := make([]float64, 13)
	for order := range 1 << 7 {
		u, ones := 0, 0
		for i := range 7 {
			if order>>i&1 == 1 {
				ones++
				u += i + 1 - ones // values of the other sample below
			}
		}
		if ones == 3 {
			want[u] += 1. / 35
		}
	}
	require.InDeltaSlice(t, want, mannWhitney(3, 4), 1e-15)
}

// TestRatioInterval: of five and five values P(U ≤ 2) = 4/252 is within half of 5 %, and
// P(U ≤ 3) = 7/252 beyond; of four and four P(U ≤ 0) = 1/70 only, and of three and three none.
func TestRatioInterval(t *testing.T) {
	a, b := []float64{1, 2, 4, 8, 16}, []float64{1, 1.1, 1.25, 1.3, 1.5}
	var ratios []float64
	for _, x := range a {
		for _, y := range b {
			ratios = append(ratios, y/x)
		}
	}
	slices.Sort(ratios)
	interval, ok := ratioInterval(a, b)
	require.Equal(t, [2]float64{ratios[2], ratios[22]}, interval)
	require.True(t, ok)
	interval, ok = ratioInterval(a[:4], b[:4])
	require.Equal(t, [2]float64{1. / 8, 1.3}, interval)
	require.True(t, ok)
	interval, ok = ratioInterval(a[:3], b[:3])
	require.Equal(t, [2]float64{1. / 4, 1.25}, interval)
	require.False(t, ok)
	for _, none := range [][2][]float64{{nil, b}, {a, nil}} {
		interval, ok = ratioInterval(none[0], none[1])
		require.True(t, math.IsNaN(interval[0]) && math.IsNaN(interval[1]) && !ok)
	}
	interval = medianInterval(nil)
	require.True(t, math.IsNaN(interval[0]) && math.IsNaN(interval[1]))
}

// TestDrift: a verdict takes 5 % beyond what the control leaves possible.
func TestDrift(t *testing.T) {
	row := func(ns, control float64) *Row {
		return &Row{Times: Times{Nanoseconds: slices.Repeat([]float64{ns}, 8)}, Control: slices.Repeat([]float64{control}, 8)}
	}
	for _, c := range []struct {
		ratio, control float64
		want           string
	}{
		{0.952, 1, Faster}, {0.953, 1, Inconclusive}, {1.0499, 1, Inconclusive}, {1.0501, 1, Slower},
		{0.857, 0.9, Faster}, {0.858, 0.9, Inconclusive}, {1.0501, 0.9, Slower},
		{1.154, 1.1, Inconclusive}, {1.156, 1.1, Slower}, {0.952, 1.1, Faster},
	} {
		change := compareRows(row(100, 7), row(100*c.ratio, 7*c.control))
		require.Equal(t, c.want, change.Verdict, c)
		require.InDelta(t, c.ratio, change.Ratio, 1e-12)
		require.InDeltaSlice(t, []float64{c.ratio, c.ratio, c.control, c.control}, append(change.Interval[:], change.Control[:]...), 1e-12)
	}
	without := row(100, 1)
	without.Control = nil
	require.Equal(t, [2]float64{1, 1}, compareRows(without, row(100, 1)).Control)
	require.Equal(t, [2]float64{1, 1}, compareRows(row(100, 1), without).Control)
}

func TestRatioIntervalCoversTheRatio(t *testing.T) {
	const trials, factor = 2000, 1.3
	random := rand.New(rand.NewPCG(1, 2))
	missed := 0
	for range trials {
		a, b := make([]float64, 8), make([]float64, 10)
		for i := range a {
			a[i] = math.Exp(0.2 * random.NormFloat64())
		}
		for i := range b {
			b[i] = factor * math.Exp(0.2*random.NormFloat64())
		}
		interval, ok := ratioInterval(a, b)
		require.True(t, ok)
		if interval[0] > factor || interval[1] < factor {
			missed++
		}
	}
	// 5 % at most are missed; 5 standard deviations more have probability 3e-7.
	require.Less(t, float64(missed), trials*0.05+5*math.Sqrt(trials*0.05*0.95))
	require.Greater(t, missed, trials/100, "an interval that never misses is too wide")
}

func TestVerdicts(t *testing.T) {
	times := []float64{100, 102, 98, 101, 99, 100.5, 99.5, 101.5}
	row := func(factor, control float64) *Row {
		r := &Row{}
		for _, v := range times {
			r.Nanoseconds = append(r.Nanoseconds, factor*v)
			r.Control = append(r.Control, control*(50+v/2))
		}
		return r
	}
	before := row(1, 1)
	require.Equal(t, Faster, compareRows(before, row(0.85, 1)).Verdict)
	require.Equal(t, Slower, compareRows(before, row(1.15, 1)).Verdict)
	require.Equal(t, Inconclusive, compareRows(before, row(1.002, 1)).Verdict)
	require.Equal(t, Inconclusive, compareRows(before, row(1.05, 1)).Verdict, "two runs of one program differ by so much")
	require.InDelta(t, 0.85, compareRows(before, row(0.85, 1)).Ratio, 1e-12)
	// A machine that is slower as a whole says nothing about the program.
	require.Equal(t, Inconclusive, compareRows(before, row(1.5, 1.5)).Verdict)
	require.Equal(t, Inconclusive, compareRows(before, row(0.5, 0.5)).Verdict)
	require.Equal(t, Slower, compareRows(before, row(2, 1.5)).Verdict)
	require.Equal(t, Faster, compareRows(before, row(0.8, 1.2)).Verdict, "though the machine was slower")

	few := compareRows(&Row{Times: Times{Nanoseconds: times[:2]}}, &Row{Times: Times{Nanoseconds: times[:2]}})
	require.Equal(t, Inconclusive, few.Verdict)
	require.Contains(t, few.Detail, "too few")
	without := row(0.5, 1)
	without.Control = nil
	require.Equal(t, Inconclusive, compareRows(before, without).Verdict)
	require.Contains(t, compareRows(before, without).Detail, "no control")
}

// TestAProgramIsNotFasterThanItself simulates runs of one program, each on a
// machine that others slow down by a factor of one to three which changes from
// run to run, and with every repetition.
func TestAProgramIsNotFasterThanItself(t *testing.T) {
	const trials = 2000
	random := rand.New(rand.NewPCG(3, 4))
	run := func() *Row {
		r := &Row{}
		load := 1 + 2*random.Float64()
		for range 7 {
			now := load * math.Exp(0.1*random.NormFloat64())
			r.Control = append(r.Control, now*math.Exp(0.05*random.NormFloat64()))
			r.Nanoseconds = append(r.Nanoseconds, now*math.Exp(0.05*random.NormFloat64()))
		}
		return r
	}
	wrong, without := 0, 0
	for range trials {
		a, b := run(), run()
		if compareRows(a, b).Verdict != Inconclusive {
			wrong++
		}
		a.Control, b.Control = []float64{1, 1, 1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1, 1, 1}
		if compareRows(a, b).Verdict != Inconclusive {
			without++
		}
	}
	require.Greater(t, without, trials/2, "intervals of the times alone are mostly wrong")
	require.Less(t, wrong, trials/200)
}

func TestCompareMatchesRows(t *testing.T) {
	now := []float64{5, 5.1, 5.2, 5.3, 5.4}
	row := func(name string, amount float64, ns ...float64) Row {
		return Row{Suite: "gemm", Name: name, Path: "avx2", Threads: 1, Amount: amount, Times: Times{Nanoseconds: ns}, Control: now}
	}
	former := &Report{Rows: []Row{row("a", 1, 10, 11, 12, 13, 14), row("b", 2, 10, 11, 12, 13, 14)}}
	compared := func() *Report {
		report := &Report{Rows: []Row{row("a", 1, now...), row("b", 1, now...), row("c", 1, now...)}}
		return report
	}
	report := compared()
	report.Compare(former)
	require.Equal(t, Faster, report.Rows[0].Change.Verdict)
	require.Equal(t, Inconclusive, report.Rows[1].Change.Verdict, "another amount of work")
	require.Nil(t, report.Rows[2].Change)
	require.Empty(t, report.Slower())
	former.Compare(compared())
	require.Equal(t, []string{former.Rows[0].ID()}, former.Slower())

	report = compared()
	report.Machine.CPU = "another"
	report.Compare(former)
	require.Equal(t, Inconclusive, report.Rows[0].Change.Verdict)
	require.Contains(t, report.Rows[0].Change.Detail, "another CPU")
	for i := range 2 {
		report = compared()
		machine := []*Machine{&report.Machine, &former.Machine}[i]
		machine.Warnings = []string{"the machine was busy"}
		report.Compare(former)
		require.Equal(t, Inconclusive, report.Rows[0].Change.Verdict)
		require.Contains(t, report.Rows[0].Change.Detail, "busy")
		machine.Warnings = nil
	}
}

func TestABusyMachineIsWarnedOf(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(elapsed, all, ours time.Duration) usage {
		return usage{start.Add(elapsed), time.Hour + all, time.Minute + ours}
	}
	var m Machine
	m.noteLoad(at(0, 0, 0), at(10*time.Second, 19*time.Second, 10*time.Second))
	require.InDelta(t, 0.9, *m.Others, 1e-12)
	require.Len(t, m.Warnings, 1)

	var idle Machine
	idle.noteLoad(at(0, 0, 0), at(10*time.Second, 10500*time.Millisecond, 10*time.Second))
	require.InDelta(t, 0.05, *idle.Others, 1e-12)
	require.Empty(t, idle.Warnings)
	for _, c := range []struct {
		elapsed, theirs time.Duration
		warnings        int
	}{{time.Second / 2, time.Second / 20, 0}, {time.Second / 2, time.Second/20 + time.Millisecond, 1}, {time.Second/2 - 1, time.Second, 0}, {time.Second, -1, 0}} {
		var m Machine
		m.noteLoad(at(0, 0, 0), at(c.elapsed, time.Second+c.theirs, time.Second))
		require.Len(t, m.Warnings, c.warnings, c)
		require.Equal(t, c.elapsed >= time.Second/2, m.Others != nil)
		require.True(t, m.Others == nil || *m.Others >= 0)
	}
	var unknown Machine
	unknown.noteLoad(at(0, 0, 0), at(time.Second/4, time.Second, 0)) // ticks count for too much
	unknown.noteLoad(usage{at: start}, usage{at: start.Add(time.Hour)})
	require.Nil(t, unknown.Others)

	for _, format := range Formats {
		r := sampleReport()
		var b bytes.Buffer
		require.NoError(t, r.Write(&b, format))
		require.NotContains(t, b.String(), "busy", format)
		r.Machine.Warnings = m.Warnings
		b.Reset()
		require.NoError(t, r.Write(&b, format))
		require.Contains(t, b.String(), "the machine was busy: others took 0.9 of its", format)
	}
}

// TestOthersAreSeen burns time in another process and in this one.
func TestOthersAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a processor")
	}
	before := processorUsage(nil)
	if before.busy == 0 {
		t.Skip("this system does not say")
	}
	// Half a second of processor time, whatever else the machine does.
	shell := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, shell.Start())
	defer func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
	}()
	pid := []int{shell.Process.Pid}
	used := func() time.Duration { return processorUsage(pid).own - processorUsage(nil).own }
	const enough = time.Second / 2
	for used() < enough {
		time.Sleep(10 * time.Millisecond)
	}
	now, theirs := processorUsage(nil), used()
	others, ok := before.loadOfOthers(now)
	require.True(t, ok)
	// What the system counts for one process and for a processor may differ by
	// some ticks.
	require.Greater(t, others*float64(now.at.Sub(before.at)), 0.8*float64(enough))
	require.GreaterOrEqual(t, theirs, enough)
	counted, _ := before.loadOfOthers(processorUsage(pid))
	require.Less(t, counted, others+0.01, "a peer is none of the others")
}
