package report

import (
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	for word, want := range map[string]string{"": "", "runs/a": "runs/a", "=1+1": "'=1+1", "+a": "'+a", "-a": "'-a", "@a": "'@a", "\t=a": "'\t=a", "\r=a": "'\r=a", "a=b": "a=b"} {
		require.Equal(t, want, Plain(word))
	}
}

func TestTable(t *testing.T) {
	table := Table{Header: []string{"metric", "kind", "error"}, Left: 2, Rows: [][]string{
		{"E|m|", "a", "12.5 %"},
		{"χ", "longer", "0.1"},
	}}
	var text, markdown strings.Builder
	require.NoError(t, table.WriteText(&text))
	require.Equal(t, strings.TrimPrefix(`
metric  kind     error
──────  ──────  ──────
E|m|    a       12.5 %
χ       longer     0.1
`, "\n"), text.String())
	require.NoError(t, table.WriteMarkdown(&markdown))
	require.Equal(t, strings.TrimPrefix(`
| metric | kind | error |
| --- | --- | --: |
| E\|m\| | a | 12.5 % |
| χ | longer | 0.1 |
`, "\n"), markdown.String())
}

func TestLabel(t *testing.T) {
	require.Equal(t, "mode L1", Label("mode_l1"))
	require.Equal(t, "joint MMD²", Label("joint_mmd2"))
	require.Equal(t, "abs magnetisation", Label("abs_magnetisation"))
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		x, half float64
		want    string
	}{
		{-4.842892, 0.0108, "-4.843"},
		{-4.842892, 0.3, "-4.84"},
		{0.0643895, 1e-9, "0.0643895"},
		{1234.5678, 1e-9, "1234.57"},
		{0, 0.1, "0"},
		{3.14159265, 0, "3.14159"},
		{4.1e-6, 2e-7, "4.10e-06"},
		{0.00041, 2e-5, "0.000410"},
	} {
		require.Equal(t, c.want, Value(c.x, [2]float64{c.x - c.half, c.x + c.half}))
	}
	for _, c := range []struct {
		x, half float64
		want    string
	}{
		{123456.7, 0.001, "123457"}, {1234567, 0.5, "1234567"}, {12345, 10, "12345"}, {12345.6, 100, "12345.6"}, {12345.67, 9.99, "12345.7"},
		{1e-4, 1e-6, "0.0001000"}, {9.9e-5, 1e-6, "9.90e-05"}, {9.9e-5, 1e-3, "1e-04"}, {-0.5, math.Inf(1), "-0.5"}, {-0.5, math.NaN(), "-0.5"},
		{-0.0625, 0.01, "-0.062"}, {5, 2, "5.0"}, {9.99, 1, "10.0"}, {100, 0.001, "100.000"}, {0, 0, "0"}, {3, 0, "3"}, {3, -1, "3"}, {math.Inf(1), 1, "+Inf"},
	} {
		require.Equal(t, c.want, Value(c.x, [2]float64{-c.half, c.half}), c)
	}
	require.Equal(t, "1.50", Value(1.5, [2]float64{1.25, 1.75}), "half of what it leaves open is 0.25")
	require.Equal(t, "unknown", Value(math.NaN(), [2]float64{math.NaN(), math.NaN()}))
	require.Equal(t, "unknown", Deviation(math.NaN(), false))
	require.Equal(t, "5.763e+06", Deviation(5763248.8275, false))
}

func TestDeviation(t *testing.T) {
	require.Equal(t, []string{"0", "0.0331", "8.5e-04", "0.45 %", "0.005 %"},
		[]string{Deviation(0, false), Deviation(0.0331, false), Deviation(0.00085, false), Deviation(0.0045, true), Deviation(0.00005, true)})
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0.001, "0.0010"}, {0.00099, "9.9e-04"}, {-0.0005, "-5.0e-04"}, {-0.25, "-0.2500"}, {999.99994, "999.9999"}, {1000, "1000"}, {12345, "1.234e+04"}, {-12345, "-1.234e+04"},
	} {
		require.Equal(t, c.want, Deviation(c.x, false))
	}
	require.Equal(t, []string{"0.01 %", "0.0099 %", "12.35 %", "100.00 %", "unknown", "0"},
		[]string{Deviation(0.0001, true), Deviation(0.000099, true), Deviation(0.12345, true), Deviation(1, true), Deviation(math.NaN(), true), Deviation(0, true)})
	for s, want := range map[float64]string{0: "0.0 s", 59.94: "59.9 s", 60: "1m0s", 61.6: "1m2s", 3599.4: "59m59s", 3600: "1h0m0s"} {
		require.Equal(t, want, Seconds(s))
	}
	require.Equal(t, "L2 density error", Label("l2_density_error"))
	require.Equal(t, "W1 KL MMD TV l3", Label("w1_kl_mmd_tv_l3"))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestTableOnAFullDisk(t *testing.T) {
	table := Table{Header: []string{"a"}}
	require.ErrorIs(t, table.WriteText(full{}), io.ErrShortWrite)
	require.ErrorIs(t, table.WriteMarkdown(full{}), io.ErrShortWrite)
}

func TestSeeds(t *testing.T) {
	for want, seeds := range map[string][]uint64{"": nil, "11": {11}, "11–15": {11, 12, 13, 14, 15}, "1, 3–4, 9": {1, 3, 4, 9}} {
		require.Equal(t, want, Seeds(seeds))
	}
}
