package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/diagnose"
)

// TestDiagnose follows a run of few steps, which is off, from train's own brief
// diagnosis to samples of the refinement that was found.
func TestDiagnose(t *testing.T) {
	dir := t.TempDir()
	o := revgen(t, dir, tiny("run", "--diagnose", "brief", "--strict")...)
	require.Equal(t, exitCheck, o.code, o.stderr)
	require.NotContains(t, o.stderr, "--strict", "said once")
	quiet := revgen(t, dir, tiny("quiet", "--diagnose", "brief", "--strict", "-q")...)
	require.Equal(t, exitCheck, quiet.code)
	require.Contains(t, o.stderr, "diagnosis: "+strings.TrimSpace(strings.TrimPrefix(quiet.stderr, "revgen: --strict: ")))
	require.Contains(t, o.stderr, "warning: far from the reference: ")
	var summary struct {
		Target, Program, Machine, Date string
		Diagnosis                      diagnose.Report
		Warnings                       []string
	}
	data, err := os.ReadFile(filepath.Join(dir, "run", "summary.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &summary))
	// Within how much of a time that depends on the machine: it says that it is off.
	require.Contains(t, []diagnose.Verdict{diagnose.Refine, diagnose.Unknown, diagnose.Wrong}, summary.Diagnosis.Verdict, summary.Diagnosis.Sentence)
	require.Contains(t, o.stderr, summary.Diagnosis.Sentence)
	require.NotEmpty(t, summary.Target+summary.Program+summary.Machine+summary.Date)
	require.NotEmpty(t, summary.Warnings)

	// So does whoever draws from it.
	o = ok(t, dir, "sample", "run", "-n", "10", "-o", "x.npy")
	require.Contains(t, o.stderr, "warning: the diagnosis of these samples is: "+summary.Diagnosis.Sentence)

	o = revgen(t, dir, "sample", "run", "-n", "10", "-o", "x.npy", "--refine", "auto", "--shard", "0/2")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "all shards need the same diagnosis")

	o = revgen(t, dir, "diagnose", "run", "--strict", "-n", "4096")
	require.Equal(t, exitCheck, o.code, o.stderr)
	require.Regexp(t, `^usable after --refine \d+: as drawn, `, o.stdout)
	require.Regexp(t, `(?m)^energy spread +`, o.stdout)
	o = ok(t, dir, "diagnose", "run", "--json", "-n", "4096", "--seed", "5")
	var r diagnose.Report
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &r))
	require.Positive(t, r.Refine)

	o = ok(t, dir, "sample", "run", "-n", "10", "-o", "x.npy", "--refine", "auto", "--shard", "0/2")
	require.Contains(t, o.stderr, "--refine ")
	require.NotContains(t, o.stderr, "warning", "refined as they are, there is nothing to warn of")
	var record sampleRecord
	data, err = os.ReadFile(filepath.Join(dir, "x.npy.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &record))
	require.Equal(t, r.Refine, record.Refine)

	// What training measured is evidence here, too.
	data, err = os.ReadFile(filepath.Join(dir, "run", "summary.json"))
	require.NoError(t, err)
	var changed map[string]any
	require.NoError(t, json.Unmarshal(data, &changed))
	changed["lost"] = []string{"the sector of negative magnetisation is missing"}
	data, err = json.Marshal(changed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run", "summary.json"), data, 0o600))
	o = ok(t, dir, "diagnose", "run", "-n", "4096")
	require.Contains(t, o.stdout, "samples show: the sector of negative magnetisation is missing")

	for want, args := range map[string][]string{
		"--samples: 10 is not between": {"run", "-n", "10"}, "--max-refine: 3 is not a power of two": {"run", "--max-refine", "3"},
	} {
		o = revgen(t, dir, append([]string{"diagnose"}, args...)...)
		require.Equal(t, exitUsage, o.code)
		require.Contains(t, o.stderr, want)
	}
}
