package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench"
)

// brief makes a measurement short.
func brief(args ...string) []string {
	return append(append([]string{"bench"}, args...), "--peers=false", "--time", "1ms", "--repetitions", "6", "--threads", "1")
}

func TestBench(t *testing.T) {
	o := ok(t, "", brief("rng", "math", "--json")...)
	report, err := bench.ReadJSON(strings.NewReader(o.stdout))
	require.NoError(t, err)
	suites := map[string]int{}
	for _, row := range report.Rows {
		suites[row.Suite]++
		require.Len(t, row.Nanoseconds, 6)
		require.Equal(t, 1, row.Threads)
	}
	require.Len(t, suites, 2)
	require.Contains(t, o.stderr, "rng/normals/", "progress")

	o = ok(t, "", append(brief("iteration", "--sizes", "ising/paper/32"), "-q", "--isa", "generic")...)
	require.Empty(t, o.stderr)
	require.Contains(t, o.stdout, "| train/ising/paper/32 | generic | 1 |")
}

func TestBenchAgainstABaseline(t *testing.T) {
	dir := t.TempDir()
	o := ok(t, dir, brief("rng", "--sizes", "1000", "-o", "json")...)
	report, err := bench.ReadJSON(strings.NewReader(o.stdout))
	require.NoError(t, err)
	report.Machine.Warnings = nil // whatever runs beside this test
	write := func(name string) {
		t.Helper()
		file, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, report.WriteJSON(file))
		require.NoError(t, file.Close())
	}
	write("now.json")
	// The same run, but as if it had taken a thousand times as long.
	for i := range report.Rows {
		for k := range report.Rows[i].Nanoseconds {
			report.Rows[i].Nanoseconds[k] *= 1000
		}
	}
	write("before.json")
	o = ok(t, dir, "bench", "--from", "now.json", "--baseline", "before.json", "--fail-on", "slower")
	require.Equal(t, len(report.Rows), strings.Count(o.stdout, "| faster, 0.00"))
	o = revgen(t, dir, "bench", "--from", "before.json", "--baseline", "now.json", "--fail-on", "slower")
	require.Equal(t, exitCheck, o.code)
	require.Equal(t, len(report.Rows), strings.Count(o.stdout, "| slower, "))
	require.Contains(t, o.stderr, "slower than now.json: rng/philox/1000/path=")
	ok(t, dir, "bench", "--from", "before.json", "--baseline", "now.json")
	// A measurement is compared as well, whatever comes out of it.
	o = ok(t, dir, brief("rng", "--sizes", "1000", "--baseline", "before.json")...)
	require.Equal(t, len(report.Rows), strings.Count(o.stdout, "faster, 0.0")+strings.Count(o.stdout, "inconclusive, 0.0"))
	report.Machine.Warnings = []string{"the machine was busy"}
	write("busy.json")
	o = ok(t, dir, "bench", "--from", "busy.json", "--baseline", "now.json", "--fail-on", "slower")
	require.Equal(t, len(report.Rows), strings.Count(o.stdout, "| inconclusive, "))
	require.Contains(t, o.stdout, "Warning: the machine was busy")

	// Reports in other forms, without measuring.
	o = ok(t, dir, "bench", "--from", "before.json")
	require.Contains(t, o.stdout, "### rng")
	o = ok(t, dir, "bench", "--from", "before.json", "-o", "csv")
	require.Equal(t, 1+6*len(report.Rows), strings.Count(o.stdout, "\n"))
	o = ok(t, dir, "bench", "--from", "before.json", "--json")
	again, err := bench.ReadJSON(strings.NewReader(o.stdout))
	require.NoError(t, err)
	require.Equal(t, report.Rows, again.Rows)
	o = ok(t, dir, "bench", "--from", "before.json", "--baseline", "before.json")
	require.Equal(t, len(report.Rows), strings.Count(o.stdout, "| inconclusive, 1.000"))
}

func TestBenchMistakes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "table.md"), []byte("| a | table |"), 0o600))
	for want, args := range map[string][]string{
		"nonsense":              {"nonsense"},
		"not one of md, csv":    {"-o", "yaml"},
		"exactly one":           {"--sizes", "64"},
		"ROWSxINxOUT":           {"gemm", "--sizes", "64"},
		"the paths are generic": {"--isa", "avx1024"},
		"between 1 and":         {"rng", "-t", "0"},
		"no such file":          {"--baseline", "absent.json"},
		"-o json":               {"--baseline", "table.md"},
		"--from: table.md":      {"--from", "table.md"},
		"name no suite":         {"--from", "table.md", "rng"},
		"not one of slower":     {"--fail-on", "faster", "--baseline", "table.md"},
		"needs a --baseline":    {"--fail-on", "slower"},
		"without --threads":     {"--from", "table.md", "--threads", "1"},
	} {
		o := finish(t, command(t, dir, append([]string{"bench"}, args...)...))
		require.Equal(t, exitUsage, o.code, "%v: %s", args, o.stderr)
		require.Empty(t, o.stdout)
		require.Contains(t, o.stderr, want)
	}
	if paths := asm.Supported(); len(paths) < 3 {
		o := finish(t, command(t, dir, "bench", "--isa", "avx512"))
		require.Equal(t, exitUsage, o.code)
		require.Contains(t, o.stderr, "not supported here")
	}
}

// TestBenchStopsWhenTold asks for repetitions of an hour.
func TestBenchStopsWhenTold(t *testing.T) {
	cmd := command(t, t.TempDir(), "bench", "gemm", "--sizes", "16x16x16", "-t", "1", "--time", "1h")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "starting")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	require.Error(t, cmd.Wait())
	require.True(t, cmd.ProcessState.Exited(), "it was not killed by the test: %s", cmd.ProcessState)
	require.Contains(t, rest, "SIGTERM: stopping")
}

func TestBenchAnswer(t *testing.T) {
	dir := t.TempDir()
	o := ok(t, dir, "bench", "answer", "--only", "glass-8", "--peers=false", "--seconds", "0.01", "-o", "json", "--figure", ".")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "answer.json"), []byte(o.stdout), 0o600))
	require.FileExists(t, filepath.Join(dir, "answer.svg"))
	o = ok(t, dir, "bench", "answer", "--from", "answer.json")
	require.Contains(t, o.stdout, "| glass-8 | revgen, quick |")
	require.Equal(t, ok(t, dir, "bench", "answer", "--from", "answer.json", "-o", "json").stdout, ok(t, dir, "bench", "answer", "--from", "answer.json", "--json").stdout)
	require.NotContains(t, ok(t, dir, "bench", "answer", "--from", "answer.json", "--only", "ising-16").stdout, "glass-8")
	o = ok(t, dir, "bench", "answer", "--from", "answer.json", "-o", "csv")
	require.Contains(t, o.stdout, "problem,contender,seconds,error,standard_error\nglass-8,\"revgen, best\",")
	for _, c := range []struct{ args, want string }{
		{"--only nothing", `--only: unknown target "nothing"; the targets are ising-16, `},
		{"--seconds 0", "--seconds: 0 is not a positive time"},
		{"-o xml", `invalid argument "xml" for "-o, --output" flag`},
	} {
		o := revgen(t, dir, append([]string{"bench", "answer"}, strings.Fields(c.args)...)...)
		require.Equal(t, 2, o.code, c.args)
		require.Contains(t, o.stderr, c.want)
	}
}
