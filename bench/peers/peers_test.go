package peers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/long"
)

// shared is the workshop of tests that need no other.
var shared *Workshop

func TestMain(m *testing.M) {
	var err error
	if shared, err = NewWorkshop(context.Background()); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := shared.Close(); err != nil {
		panic(err)
	}
	os.Exit(code)
}

func workshop(t *testing.T, ctx context.Context) *Workshop {
	t.Helper()
	w, err := NewWorkshop(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// start starts a peer, or skips the test where it is not installed.
func start(t *testing.T, name string, s Setting) *Process {
	t.Helper()
	p, err := Find(name)
	require.NoError(t, err)
	if strings.HasSuffix(name, "avx512") && !slices.Contains(asm.Supported(), asm.AVX512) {
		t.Skip("this processor has no AVX-512")
	}
	r, err := shared.Start(p, s)
	var missing *MissingError
	if errors.As(err, &missing) {
		t.Skip(missing)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func TestEveryPeerDescribesItself(t *testing.T) {
	long.Only(t)
	for _, p := range allPeers {
		t.Run(p.Name, func(t *testing.T) {
			r := start(t, p.Name, Setting{Threads: 2})
			about, err := r.About()
			require.NoError(t, err)
			require.Regexp(t, "2 threads|one thread$|one thread,", about)
			require.ErrorContains(t, r.Select("nonsense"), p.Name)
			require.NoError(t, func() error { _, err := r.About(); return err }(), "a peer survives a mistake")
		})
	}
}

func TestOpenBLASProducts(t *testing.T) {
	r := start(t, "openblas", Setting{Threads: 1})
	require.NoError(t, r.Load("x", []float32{1, 2, 3, 4, 5, 6})) // 3×2
	require.NoError(t, r.Load("w", []float32{1, 0, 2, 0, 1, 3})) // 2×3
	require.NoError(t, r.Select("forward", 3, 2, 3))
	elapsed, err := r.Run(3)
	require.NoError(t, err)
	require.Positive(t, elapsed)
	y := make([]float32, 9)
	require.NoError(t, r.Store("y", y))
	require.Equal(t, []float32{1, 2, 8, 3, 4, 18, 5, 6, 28}, y)

	require.Error(t, r.Store("y", make([]float32, 8)), "the wrong length")
	require.Error(t, r.Store("absent", y))
}

func TestPyTorchOperations(t *testing.T) {
	r := start(t, "pytorch", Setting{Threads: 1})
	require.NoError(t, r.Load("x", []float32{0, -1, -2, -0.5}))
	y := make([]float32, 4)
	require.NoError(t, r.Select("exp", 4))
	_, err := r.Run(1)
	require.NoError(t, err)
	require.NoError(t, r.Store("y", y))
	for i, x := range []float64{0, -1, -2, -0.5} {
		require.InDelta(t, math.Exp(x), y[i], 1e-6)
	}
}

func TestMissingPeersSayHowToInstallThem(t *testing.T) {
	long.SkipShort(t)
	p := Peer{Name: "absent", Install: "apt install absent", compiler: []string{"no-such-compiler"}, source: "openblas.c"}
	_, err := shared.Start(&p, Setting{Threads: 1})
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "no-such-compiler")
	require.ErrorContains(t, err, "apt install absent")

	p = Peer{Name: "absent", Install: "apt install python3-absent", source: "pytorch.py", imports: "no_such_module"}
	_, err = shared.Start(&p, Setting{Threads: 1})
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "apt install python3-absent")

	gcc := start(t, "c-gram", Setting{Threads: 1}).Peer // skips without a compiler
	p = Peer{Name: "absent", Install: "apt install libabsent-dev", compiler: gcc.compiler, source: gcc.source, libs: []string{"-lno-such-library"}}
	_, err = shared.Start(&p, Setting{Threads: 1})
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "no-such-library")

	_, err = Find("nonsense")
	require.ErrorContains(t, err, "openblas-haswell")
}

func TestProgramsAreCompiledOnce(t *testing.T) {
	long.SkipShort(t)
	p := start(t, "c-gram", Setting{Threads: 1}).Peer
	first, err := shared.command(p)
	require.NoError(t, err)
	before, err := os.Stat(first[0])
	require.NoError(t, err)
	second, err := shared.command(p)
	require.NoError(t, err)
	require.Equal(t, first, second)
	after, err := os.Stat(second[0])
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
}

// TestNothingRunsButWhatWasBuilt leaves programs of every name that a peer goes
// by wherever a former version looked for them, and modules that Python would find
// in the directory it starts from.
func TestNothingRunsButWhatWasBuilt(t *testing.T) {
	long.SkipShort(t)
	home, tmp, here := t.TempDir(), t.TempDir(), t.TempDir()
	mark := filepath.Join(t.TempDir(), "mark")
	trap := []byte("#!/bin/sh\ntouch " + mark + "\n")
	for _, v := range []string{"HOME", "XDG_CACHE_HOME"} {
		t.Setenv(v, "")
		require.NoError(t, os.Unsetenv(v))
	}
	t.Setenv("TMPDIR", tmp)
	t.Chdir(here)
	require.NoError(t, os.WriteFile(filepath.Join(here, "numpy.py"), []byte("open("+strconv.Quote(mark)+", 'w')\n"), 0o600))
	key := sha256.New() // as it was named
	gram, err := Find("c-gram")
	require.NoError(t, err)
	if gcc, err := exec.LookPath("gcc"); err == nil {
		version, err := exec.Command(gcc, "--version").Output()
		require.NoError(t, err)
		fmt.Fprintln(key, gcc, gram.compiler[1:], gram.libs, asm.CPUName())
		key.Write(version)
	}
	key.Write(source("peer.h"))
	key.Write(source(gram.source))
	for _, root := range []string{home, tmp} {
		dir := filepath.Join(root, "revgen", "peers", fmt.Sprintf("%x", key.Sum(nil)[:8]))
		require.NoError(t, os.MkdirAll(dir, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "gram"), trap, 0o777))
	}
	w := workshop(t, t.Context())
	for _, name := range []string{"c-gram", "pytorch"} {
		p, err := Find(name)
		require.NoError(t, err)
		r, err := w.Start(p, Setting{Threads: 1})
		var missing *MissingError
		if errors.As(err, &missing) {
			continue
		}
		require.NoError(t, err)
		_, err = r.About()
		require.NoError(t, err)
	}
	require.NoFileExists(t, mark)
	info, err := os.Stat(w.dir)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())
}

// TestTheWorkshopIsPrivate refuses directories that others can write to, at
// whatever depth, unless they are sticky.
func TestTheWorkshopIsPrivate(t *testing.T) {
	top := t.TempDir()
	below := filepath.Join(top, "below")
	require.NoError(t, os.Mkdir(below, 0o700))
	t.Setenv("TMPDIR", below)
	for mode, fine := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o777: false, 0o770: false, 0o777 | os.ModeSticky: true} {
		require.NoError(t, os.Chmod(top, mode))
		w, err := NewWorkshop(t.Context())
		if fine {
			require.NoError(t, err, mode)
			require.NoError(t, w.Close())
		} else {
			require.ErrorContains(t, err, top+" can be written to by other users", mode)
		}
		left, err := os.ReadDir(below)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(top, 12345, 12345))
		_, err := NewWorkshop(t.Context())
		require.ErrorContains(t, err, "belongs to another user")
	}
}

func TestADeadPeerIsAnError(t *testing.T) {
	w := workshop(t, t.Context())
	r, err := w.Start(start(t, "openblas", Setting{Threads: 1}).Peer, Setting{Threads: 1})
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
	ours := []string{"PATH=/bin", "OMP_NUM_THREADS=7", "OPENBLAS_CORETYPE=Zen", "OMP_THREAD_LIMIT=1", "MALLOC_TRIM_THRESHOLD_=7", "GLIBC_TUNABLES=glibc.malloc.trim_threshold=7"}
	text := strings.Join(p.environment(ours, Setting{Threads: 3}), "\n") + "\n"
	require.Contains(t, text, "PATH=/bin\n")
	require.Contains(t, text, "OMP_NUM_THREADS=3\n")
	require.Contains(t, text, "OPENBLAS_NUM_THREADS=3\n")
	require.Contains(t, text, "OPENBLAS_CORETYPE=Haswell\n")
	require.NotContains(t, text, "_THREADS=7")
	require.NotContains(t, text, "Zen")
	require.NotContains(t, text, "OMP_THREAD_LIMIT")

	for _, name := range []string{"pytorch", "pytorch-avx512"} {
		p, err = Find(name)
		require.NoError(t, err)
		text = strings.Join(p.environment(ours, Setting{Threads: 4, BLAS: 2}), "\n") + "\n"
		for _, line := range []string{"OMP_NUM_THREADS=4", "OPENBLAS_NUM_THREADS=2", "MALLOC_MMAP_THRESHOLD_=33554432",
			"MALLOC_TRIM_THRESHOLD_=4000000000", "MALLOC_TOP_PAD_=268435456"} {
			require.Contains(t, text, line+"\n")
		}
		require.NotContains(t, text, "=7")
	}
}

// TestPyTorchKeepsItsMemory counts the pages that a step faults in: with the
// allocator as it comes, each of a loss's matrices of 2048×2048 has 4,096. Where a
// process's heap cannot grow, because of what the system has put behind it, a matrix is
// mapped anew in spite of the settings, so some processes may try.
func TestPyTorchKeepsItsMemory(t *testing.T) {
	least := math.MaxInt
	for range 4 {
		if least = min(least, faultsOfAStep(t)); least < 1000 {
			break
		}
	}
	require.Less(t, least, 1000)
}

// faultsOfAStep returns the fewest pages that a step of a process faults in.
func faultsOfAStep(t *testing.T) int {
	r := start(t, "pytorch", Setting{Threads: 1})
	faults := func() (minor int) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.command.Process.Pid))
		if err != nil {
			t.Skip(err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		_, err = fmt.Sscan(strings.Fields(rest)[7], &minor)
		require.NoError(t, err)
		return minor
	}
	kernel, err := r.File("kernel.json", []byte(`{"bandwidths": [1]}`))
	require.NoError(t, err)
	require.NoError(t, r.Load("s", make([]float32, 4096)))
	require.NoError(t, r.Load("t", make([]float32, 4096)))
	require.NoError(t, r.Select("gram", 2048, 2, "V", kernel))
	least := math.MaxInt // of calls after the first, in which the heap grows
	for range 5 {
		before := faults()
		_, err = r.Run(1)
		require.NoError(t, err)
		least = min(least, faults()-before)
	}
	return least
}

func TestThreadsOfOpenMPAndOpenBLASApart(t *testing.T) {
	r := start(t, "pytorch", Setting{Threads: 2, BLAS: 1})
	about, err := r.About()
	require.NoError(t, err)
	require.Contains(t, about, "2 threads")
	if !strings.Contains(about, "OpenBLAS") {
		t.Skip(about)
	}
	require.Contains(t, about, "OpenBLAS with 1")
}

// TestPeersEndWithTheirContext has a peer work for hours and a compiler hang.
func TestPeersEndWithTheirContext(t *testing.T) {
	long.SkipShort(t)
	ctx, cancel := context.WithCancel(t.Context())
	w := workshop(t, ctx)
	r, err := w.Start(start(t, "c-gram", Setting{Threads: 2}).Peer, Setting{Threads: 2})
	require.NoError(t, err)
	x := make([]float32, 2*2048)
	require.NoError(t, r.Load("s", x))
	require.NoError(t, r.Load("t", x))
	require.NoError(t, r.Select("gram", 2048, 0.1, 0.5, 1, 2, 5, 1.4))
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = r.Run(1 << 30) // returns, or the test's time runs out
	require.Error(t, err)
	require.Error(t, r.Close())

	ctx, cancel = context.WithCancel(t.Context())
	w = workshop(t, ctx)
	time.AfterFunc(100*time.Millisecond, cancel)
	// The shell's child holds on to the output.
	_, err = w.output(w.dir, "sh", "-c", "sleep 10000; true")
	require.ErrorIs(t, err, context.Canceled)
}

func TestMetropolis512(t *testing.T) {
	long.SkipShort(t)
	const side, beta = 32, 0.2
	r := start(t, "c-metropolis-avx512", Setting{Threads: 2})
	for _, draws := range []string{"shared", "independent"} {
		require.NoError(t, r.Select(draws, side, 0, 1))
		_, err := r.Run(1) // at β = 0 every flip is accepted
		require.NoError(t, err)
		spins := make([]uint64, side*side*8)
		require.NoError(t, r.Store("spins", spins))
		before := slices.Clone(spins)
		_, err = r.Run(1)
		require.NoError(t, err)
		require.NoError(t, r.Store("spins", spins))
		for i := range spins {
			require.Equal(t, ^before[i], spins[i])
		}
		require.NoError(t, r.Select(draws, side, beta, 1))
		_, err = r.Run(20)
		require.NoError(t, err)
	}
	require.ErrorContains(t, r.Select("shared", 33, beta, 1), "even")
}
