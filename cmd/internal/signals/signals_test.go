package signals

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHearsBeforeTheProgramIsInitialised reads the order in which Go initialises the program,
// and when: what takes longest comes after.
func TestHearsBeforeTheProgramIsInitialised(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "revgen")
	out, err := exec.Command("go", "build", "-o", program, "github.com/revgen/revgen/cmd/revgen").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.Command(program, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	before, after, found := strings.Cut(string(out), "init github.com/revgen/revgen/cmd/internal/signals @")
	require.True(t, found, string(out))
	for _, name := range []string{"encoding/gob", "gonum.org/v1/plot", "github.com/revgen/revgen/internal/htmlpage", "github.com/revgen/revgen/internal/cli"} {
		require.NotContains(t, before, "init "+name+" @")
		require.Contains(t, after, "init "+name+" @")
	}
	require.Greater(t, strings.Count(after, "init "), strings.Count(before, "init "))
}
