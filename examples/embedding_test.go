// Package examples runs programs that use RevGen from other languages.
package examples

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/internal/cli"
	"github.com/revgen/revgen/internal/long"
)

const samples, seed = "1000", "7"

// A workshop has the library, a model, and the samples that the command line draws
// from it.
type workshop struct {
	dir, model, abi string
	want            []byte
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	needs(t, "go", "gcc")
	abi, err := filepath.Abs("../cmd/librevgen")
	require.NoError(t, err)
	w := &workshop{dir: t.TempDir(), abi: abi}
	w.model = filepath.Join(w.dir, "run")
	w.run(t, nil, "go", "build", "-buildmode=c-shared", "-ldflags=-w -extldflags=-Wl,-z,nodelete", "-o", filepath.Join(w.dir, "librevgen.so"), abi)
	revgenCommand(t, "train", "ising", "-s", "training.steps=20", "-s", "training.batch=64", "-s", "evaluation.samples=500", "--samples", "0", "-o", w.model, "-q")
	out := filepath.Join(w.dir, "samples.npy")
	revgenCommand(t, "sample", w.model, "-n", samples, "--seed", seed, "--refine", "2", "-o", out, "-q")
	w.want, err = os.ReadFile(out)
	require.NoError(t, err)
	return w
}

func revgenCommand(t *testing.T, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	require.Zero(t, cli.Run(args, &bytes.Buffer{}, &stderr, revgen.Systems()...), "%v: %s", args, &stderr)
}

// needs skips a test whose tools are missing.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
}

// run runs a command in the workshop and returns what it printed.
func (w *workshop) run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), append(env, "CGO_ENABLED=1")...)
	if name == "go" {
		cmd.Dir = ".."
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

// compile returns the program that a compiler makes of sources.
func (w *workshop) compile(t *testing.T, compiler, name string, args ...string) string {
	t.Helper()
	needs(t, compiler)
	program := filepath.Join(w.dir, name)
	w.run(t, nil, compiler, append(append([]string{"-O1", "-Wall", "-Wextra", "-Werror", "-I", w.abi, "-o", program}, args...),
		"-L", w.dir, "-lrevgen", "-lm", "-pthread", "-Wl,-rpath,"+w.dir)...)
	return program
}

// drawsTheSame runs a program that writes the samples of the command line, and trains
// on a target of its own.
func (w *workshop) drawsTheSame(t *testing.T, env []string, program string, args ...string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	said := w.run(t, env, program, append(args, w.model, seed, samples, out)...)
	require.Contains(t, said, "ring of radius 2")
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Len(t, got, 9000)
	require.True(t, bytes.HasSuffix(w.want, got), "the samples are not those of the command line")
}

// TestEmbedding builds and runs the consumers of the C ABI: each gets, bit for bit,
// what revgen sample writes.
func TestEmbedding(t *testing.T) {
	long.Only(t)
	w := newWorkshop(t)
	t.Run("C", func(t *testing.T) {
		w.drawsTheSame(t, nil, w.compile(t, "gcc", "c", "-std=c99", "c/ring.c"))
	})
	t.Run("C++", func(t *testing.T) {
		w.drawsTheSame(t, nil, w.compile(t, "g++", "cpp", "-std=c++17", "cpp/ring.cpp"))
	})
	t.Run("Fortran", func(t *testing.T) {
		w.drawsTheSame(t, nil, w.compile(t, "gfortran", "fortran", "-J", w.dir, "fortran/revgen.f90", "fortran/ring.f90"))
	})
	t.Run("Python", w.python)
	// misuse is silent, as revgen.h promises of all that it does.
	misuse := func(t *testing.T, env []string, name string, flags ...string) {
		program := w.compile(t, "gcc", name, append(flags, "-std=c99", filepath.Join(w.abi, "testdata/misuse.c"))...)
		require.Empty(t, w.run(t, env, program, w.model, fmt.Sprint(100), filepath.Join(t.TempDir(), "run"), fmt.Sprint(long.Rand().Uint32())))
	}
	t.Run("misuse", func(t *testing.T) { misuse(t, nil, "misuse") })
	t.Run("sanitizers", func(t *testing.T) { // of the hosts; what Go keeps for ever is no leak
		env := []string{"ASAN_OPTIONS=detect_leaks=0"}
		flags := []string{"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"}
		empty := filepath.Join(w.dir, "empty.c")
		require.NoError(t, os.WriteFile(empty, []byte("int main(void) { return 0; }\n"), 0o600))
		if out, err := exec.Command("gcc", append(flags, "-o", filepath.Join(w.dir, "empty"), empty)...).CombinedOutput(); err != nil {
			t.Skipf("no sanitizers here: %s", out)
		}
		w.drawsTheSame(t, env, w.compile(t, "gcc", "c-sanitized", append(flags, "-std=c99", "c/ring.c")...))
		w.drawsTheSame(t, env, w.compile(t, "g++", "cpp-sanitized", append(flags, "-std=c++17", "cpp/ring.cpp")...))
		misuse(t, env, "misuse-sanitized", flags...)
	})
	t.Run("overhead", func(t *testing.T) { // and that it runs; docs/embedding.md has what it prints
		w.run(t, nil, "go", "build", "-tags", "overhead", "-buildmode=c-shared", "-ldflags=-w -extldflags=-Wl,-z,nodelete", "-o", filepath.Join(w.dir, "overhead", "librevgen.so"), w.abi)
		program := w.compile(t, "gcc", "overhead/overhead", "-std=c99", "-L", filepath.Join(w.dir, "overhead"), "-Wl,-rpath,"+filepath.Join(w.dir, "overhead"), filepath.Join(w.abi, "testdata/overhead.c"))
		t.Log(w.run(t, nil, program, w.model, "1", "2000"))
	})
	t.Run("signals", func(t *testing.T) {
		w.run(t, nil, w.compile(t, "gcc", "signals", "-std=c99", filepath.Join(w.abi, "testdata/signals.c")), filepath.Join(w.dir, "librevgen.so"), w.model)
	})
}
