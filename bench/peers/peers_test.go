package peers

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// start starts a peer, or skips the test where it is not installed.
func start(t *testing.T, name string, threads int) *Process {
	t.Helper()
	p, err := Find(name)
	require.NoError(t, err)
	r, err := p.Start(context.Background(), threads, "") // the test's own context ends before its clean-up
	var missing *MissingError
	if errors.As(err, &missing) {
		t.Skip(missing)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func TestEveryPeerDescribesItself(t *testing.T) {
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			r := start(t, p.Name, 2)
			about, err := r.About()
			require.NoError(t, err)
			require.Contains(t, about, "2 threads")
			require.ErrorContains(t, r.Select("nonsense"), p.Name)
			require.NoError(t, func() error { _, err := r.About(); return err }(), "a peer survives a mistake")
		})
	}
}

func TestOpenBLASProducts(t *testing.T) {
	r := start(t, "openblas", 1)
	require.NoError(t, r.Load("x", []float32{1, 2, 3, 4, 5, 6})) // 3×2
	require.NoError(t, r.Load("w", []float32{1, 0, 2, 0, 1, 3})) // 2×3
	require.NoError(t, r.Select("forward", 3, 2, 3))
	elapsed, err := r.Run(3)
	require.NoError(t, err)
	require.Positive(t, elapsed)
	y := make([]float32, 9)
	require.NoError(t, r.Store("y", y))
	require.Equal(t, []float32{1, 2, 8, 3, 4, 18, 5, 6, 28}, y)

	require.NoError(t, r.Select("input", 3, 2, 3))
	_, err = r.Run(1)
	require.NoError(t, err)
	dx := make([]float32, 6)
	require.NoError(t, r.Store("dx", dx))
	require.Equal(t, []float32{17, 26, 39, 58, 61, 90}, dx)

	require.NoError(t, r.Select("weights", 3, 2, 3))
	_, err = r.Run(2) // accumulates
	require.NoError(t, err)
	dw := make([]float32, 6)
	require.NoError(t, r.Store("dw", dw))
	require.Equal(t, []float32{2 * 35, 2 * 44, 2 * 202, 2 * 44, 2 * 56, 2 * 256}, dw)

	require.Error(t, r.Store("y", make([]float32, 8)), "the wrong length")
	require.Error(t, r.Store("absent", y))
}

func TestPyTorchOperations(t *testing.T) {
	r := start(t, "pytorch", 1)
	require.NoError(t, r.Load("x", []float32{0, -1, -2, -0.5}))
	y := make([]float32, 4)
	for name, f := range map[string]func(float64) float64{"exp": math.Exp, "tanh": math.Tanh} {
		require.NoError(t, r.Select("unary", name, 4))
		_, err := r.Run(1)
		require.NoError(t, err)
		require.NoError(t, r.Store("y", y))
		for i, x := range []float64{0, -1, -2, -0.5} {
			require.InDelta(t, f(x), y[i], 1e-6, name)
		}
	}
	require.NoError(t, r.Select("logsumexp", 2, 2))
	_, err := r.Run(1)
	require.NoError(t, err)
	require.NoError(t, r.Store("y", y[:2]))
	require.InDelta(t, math.Log(1+math.Exp(-1)), y[0], 1e-6)
}

func TestMissingPeersSayHowToInstallThem(t *testing.T) {
	p := Peer{Name: "absent", Install: "apt install absent", compiler: []string{"no-such-compiler"}, source: "openblas.c"}
	_, err := p.Start(t.Context(), 1, t.TempDir())
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "no-such-compiler")
	require.ErrorContains(t, err, "apt install absent")

	p = Peer{Name: "absent", Install: "apt install python3-absent", source: "pytorch.py", imports: "no_such_module"}
	_, err = p.Start(t.Context(), 1, t.TempDir())
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "apt install python3-absent")

	gcc := start(t, "c-gram", 1).Peer // skips without a compiler
	p = Peer{Name: "absent", Install: "apt install libabsent-dev", compiler: gcc.compiler, source: gcc.source, libs: []string{"-lno-such-library"}}
	_, err = p.Start(t.Context(), 1, t.TempDir())
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "no-such-library")

	_, err = Find("nonsense")
	require.ErrorContains(t, err, "openblas-haswell")
}

func TestProgramsAreCompiledOnce(t *testing.T) {
	cache := t.TempDir()
	p := start(t, "c-gram", 1).Peer
	first, err := p.command(cache)
	require.NoError(t, err)
	before, err := os.Stat(first[0])
	require.NoError(t, err)
	second, err := p.command(cache)
	require.NoError(t, err)
	require.Equal(t, first, second)
	after, err := os.Stat(second[0])
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
}

func TestADeadPeerIsAnError(t *testing.T) {
	r, err := start(t, "openblas", 1).Peer.Start(t.Context(), 1, "")
	require.NoError(t, err)
	require.NoError(t, r.command.Process.Kill())
	_, err = r.Run(1)
	require.ErrorContains(t, err, "openblas ended unexpectedly")
	require.Error(t, r.Close())
	require.NoDirExists(t, r.dir)
}

func TestEnvironmentIsOurs(t *testing.T) {
	p, err := Find("openblas-haswell")
	require.NoError(t, err)
	env := p.environment([]string{"PATH=/bin", "OMP_NUM_THREADS=7", "OPENBLAS_CORETYPE=Zen", "OMP_THREAD_LIMIT=1"}, 3)
	text := strings.Join(env, "\n") + "\n"
	require.Contains(t, text, "PATH=/bin\n")
	require.Contains(t, text, "OMP_NUM_THREADS=3\n")
	require.Contains(t, text, "OPENBLAS_CORETYPE=Haswell\n")
	require.NotContains(t, text, "=7")
	require.NotContains(t, text, "Zen")
	require.NotContains(t, text, "OMP_THREAD_LIMIT")
}
