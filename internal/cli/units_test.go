package cli

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "200000": 200000, "200_000": 200000, "2e5": 200000, "1.5e3": 1500, "18446744073709551615": math.MaxUint64} {
		var c count
		require.NoError(t, c.Set(text), text)
		require.Equal(t, want, uint64(c), text)
	}
	for _, text := range []string{"", "-1", "1.5", "1e300", "NaN", "Inf", "ten", "18446744073709551616", "1e-3"} {
		var c count
		require.Error(t, c.Set(text), text)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "01:30:00": 90 * time.Minute, "1-12:00:01": 36*time.Hour + time.Second, "100:00:00": 100 * time.Hour,
	} {
		var d duration
		require.NoError(t, d.Set(text), text)
		require.Equal(t, want, time.Duration(d), text)
	}
	for _, text := range []string{"", "0", "-1h", "0s", "00:00:00", "1:2", "1:60:00", "1:00:60", "x-01:00:00", "1-", "90", "1:-1:00", "+1:00:00"} {
		var d duration
		require.Error(t, d.Set(text), text)
	}
}

// The parts of a sample are adjacent, complete and of nearly equal size.
func TestShard(t *testing.T) {
	for _, total := range []uint64{0, 1, 7, 100, 1 << 40, math.MaxUint64} {
		for _, n := range []uint64{1, 2, 3, 7, 128} {
			next := uint64(0)
			for i := range n {
				s := shard{i, n, false}
				first, size := s.slice(total)
				require.Equal(t, next, first)
				require.InDelta(t, float64(total/n), float64(size), 1)
				next += size
			}
			require.Equal(t, total, next)
		}
	}
	for _, text := range []string{"", "1", "1/1", "3/2", "0/0", "-1/2", "a/b", "1/2/3", "0/ 2"} {
		var s shard
		require.Error(t, s.Set(text), text)
	}
	var s shard
	require.NoError(t, s.Set("5/64"))
	require.Equal(t, shard{5, 64, false}, s)
}

func TestEvaluationTable(t *testing.T) {
	paper := 0.0045
	var b bytes.Buffer
	require.NoError(t, writeEvaluation(&b, "paper", &measure.Evaluation{Metrics: []measure.Metric{
		{Name: "energy", Exact: -4.842892, Generated: -4.8512, Error: 0.00172, Relative: true, Interval: [2]float64{-4.862, -4.8404}, Floor: 0.0022, Paper: &paper},
		{Name: "total_variation", Generated: 0.0213, Error: 0.0213, Interval: [2]float64{0.0192, 0.0234}, Floor: 0.0179},
		{Name: "certain", Exact: 1, Generated: 1, Error: 1e-7},
	}}))
	require.Equal(t, strings.TrimPrefix(`
metric            exact  generated    error     95 % interval  sampling floor   paper
───────────────  ──────  ─────────  ───────  ────────────────  ──────────────  ──────
energy           -4.843     -4.851   0.17 %  [-4.862, -4.840]          0.22 %  0.45 %
total variation       0     0.0213   0.0213  [0.0192, 0.0234]          0.0179       –
certain               1          1  1.0e-07            [0, 0]               0       –
`, "\n"), b.String())
}

func TestQuantities(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 0.123: "0.12", 9.876: "9.88", 98.76: "98.8", 987.6: "988", 9876: "9876", 12345: "12.3k", 1.5e6: "1.5M", 2.34e9: "2.34G",
	} {
		require.Equal(t, want, quantity(x))
	}
	for x, want := range map[float64]string{0: "0:00", 0.2: "0:01", 59.5: "1:00", 3599: "59:59", 3600: "1:00:00", 1e6: "277:46:40", math.Inf(1): "?", 1e9: "?"} {
		require.Equal(t, want, timeLeft(x))
	}
	require.Equal(t, "?", timeLeft(math.NaN()))
}

func TestLinesInsteadOfABar(t *testing.T) {
	var stderr bytes.Buffer
	p := &program{stderr: &stderr}
	m := p.newMeter(100, "steps")
	m.update(50, 10, "loss 1")
	require.Empty(t, stderr.String(), "nothing before ten seconds have passed")
	m.last = m.last.Add(-lineEvery)
	m.update(60, 10, "loss 1")
	m.update(70, 10, "loss 1")
	m.update(100, 10, "loss 1")
	m.end()
	require.Equal(t, "steps 60/100  loss 1  10.0 steps/s  0:04 left\nsteps 100/100  loss 1  10.0 steps/s  0:00 left\n", stderr.String())
}
