package examples

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTargets runs the targets of one's own, briefly: they train, and what they print
// are finite numbers.
func TestTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir+"/", "./phi4", "./glass", "./posterior", "./selection").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, want := range map[string]string{
		"phi4":      `^<\|m\|> = \d\.\d+, <phi\^2> = \d\.\d+\n$`,
		"glass":     `^<E> = -\d\d\.\d+, <q\^2> = \d\.\d+\n$`,
		"posterior": `^(b\d = -?\d\.\d+ ± \d\.\d+\n){3}$`,
		"selection": `^(first (true |false) second (true |false) \d\.\d+\n){4}$`,
	} {
		out, err := exec.Command(filepath.Join(dir, name), "training.steps=20", "training.batch=128", "evaluation.samples=500").CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		require.Regexp(t, want, string(out), name)
	}
}
