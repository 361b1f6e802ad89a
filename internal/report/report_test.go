package report

import (
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
	require.Equal(t, "unknown", Value(math.NaN(), [2]float64{math.NaN(), math.NaN()}))
	require.Equal(t, "unknown", Deviation(math.NaN(), false))
	require.Equal(t, "5.763e+06", Deviation(5763248.8275, false))
}

func TestDeviation(t *testing.T) {
	require.Equal(t, []string{"0", "0.0331", "8.5e-04", "0.45 %", "0.005 %"},
		[]string{Deviation(0, false), Deviation(0.0331, false), Deviation(0.00085, false), Deviation(0.0045, true), Deviation(0.00005, true)})
}

func TestSeeds(t *testing.T) {
	for want, seeds := range map[string][]uint64{"": nil, "11": {11}, "11–15": {11, 12, 13, 14, 15}, "1, 3–4, 9": {1, 3, 4, 9}} {
		require.Equal(t, want, Seeds(seeds))
	}
}
