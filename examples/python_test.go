package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
)

// python installs the wheel in an empty environment that has NumPy, and runs its tests, the
// tutorial of docs/python.md as it stands there, and the example.
func (w *workshop) python(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy, venv, ensurepip").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("no Python with NumPy, venv and ensurepip here")
	}
	wheels := filepath.Join(w.dir, "wheels")
	w.run(t, nil, "go", "run", "./cmd/internal/dist", "-wheel", "-version", "v1.2.3-rc.4", "-library", filepath.Join(w.dir, "librevgen.so"), "-o", wheels)
	wheel, err := filepath.Glob(filepath.Join(wheels, "revgen-1.2.3rc4-py3-none-manylinux_2_*.whl"))
	require.NoError(t, err)
	require.Len(t, wheel, 1)
	environment := filepath.Join(w.dir, "env")
	w.run(t, nil, python, "-m", "venv", "--system-site-packages", environment)
	python = filepath.Join(environment, "bin", "python")
	w.run(t, nil, python, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", "--disable-pip-version-check", wheel[0])

	// What Go says is what the command line says.
	var known [][3]string
	for _, wrong := range [][2]string{{"ising", "target.l=1"}, {"ising", "target.ll=3"}, {"ising", "training.steps=-1"}, {"ising", `target.beta="hot"`},
		{"spins", `target.edges=[[0,0,1]]`}, {"reals", `target.expression="-x[0]^2+y"`}, {"gmm", `generator.kind="flow"`}} {
		_, err := revgen.Configure(wrong[0], "", wrong[1])
		require.Error(t, err, wrong)
		known = append(known, [3]string{wrong[0], wrong[1], err.Error()})
	}
	text, err := json.Marshal(known)
	require.NoError(t, err)
	errors := filepath.Join(w.dir, "errors.json")
	require.NoError(t, os.WriteFile(errors, text, 0o600))
	said := w.run(t, []string{"REVGEN_ERRORS=" + errors}, python, "../cmd/librevgen/testdata/test_revgen.py")
	t.Log(said[strings.LastIndex(said, "Ran "):])

	page, err := os.ReadFile("../docs/python.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(blocks), 5)
	if exec.Command(python, "-c", "import xarray").Run() != nil {
		t.Log("no xarray here: the tutorial without its last part")
		blocks = blocks[:len(blocks)-1]
	}
	var tutorial strings.Builder
	for _, b := range blocks {
		tutorial.WriteString(b[1])
	}
	program := filepath.Join(w.dir, "tutorial.py")
	require.NoError(t, os.WriteFile(program, []byte(tutorial.String()), 0o600))
	cmd := exec.Command(python, program)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	w.drawsTheSame(t, nil, python, "python/ring.py")
}
