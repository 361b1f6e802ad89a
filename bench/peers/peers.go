// Package peers runs programs that do what RevGen's kernels do, written with
// the tools that others would use, for measurements side by side.
//
// A peer is a child process that holds named arrays, repeats one selected
// operation as often as it is told and times itself; src/peer.h describes the
// protocol. Sources are embedded. C and C++ peers are compiled anew by every run,
// into a private directory that it removes at its end. What a peer needs comes
// from packages of the distribution; a peer that cannot be run is reported as
// missing, with the command that installs it.
package peers

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/lists"
)

//go:embed src/*.h src/*.c src/*.cpp src/*.py src/*.R src/*.stan
var sources embed.FS

// A Peer is a program to compare with.
type Peer struct {
	Name    string
	Summary string
	Install string // the command that installs what it needs on Debian
	Program string // the peer that this one is another setting of; empty if it is none

	compiler     []string // command line without files; nil for Python or R
	source       string
	otherSources []string // files that the source needs beside it
	libs         []string
	imports      string   // module that Python must find, or package that R must
	env          []string // further environment variables, beside the numbers of threads
}

// The commands that install peers include the compilers' packages.
const (
	installC       = "apt install gcc libc6-dev"
	installBLAS    = "apt install gcc libc6-dev libopenblas-dev"
	installCXX     = "apt install g++"
	installPyTorch = "apt install python3-torch"
	installEmcee   = "apt install python3-emcee"
	installStan    = "apt install r-cran-rstan r-cran-bh g++"
)

var allPeers = []Peer{
	{
		Name: "openblas", Summary: "OpenBLAS's sgemm", Install: installBLAS,
		compiler: []string{"gcc", "-O3", "-march=native"}, source: "openblas.c", libs: []string{"-lopenblas"},
	},
	{
		Name: "openblas-haswell", Summary: "OpenBLAS's sgemm restricted to its AVX2 kernels", Install: installBLAS,
		compiler: []string{"gcc", "-O3", "-march=native"}, source: "openblas.c", libs: []string{"-lopenblas"},
		env: []string{"OPENBLAS_CORETYPE=Haswell"},
	},
	{
		Name: "c-gram", Summary: "C/OpenMP loop over pairs, -O3 -march=native -ffast-math, 512-bit vectors", Install: installC,
		compiler: []string{"gcc", "-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fopenmp"}, source: "gram.c", libs: []string{"-lm"},
	},
	{
		Name: "c++-metropolis", Summary: "multi-spin-coded Metropolis in C++/OpenMP, 64 replicas, shared draw", Install: installCXX,
		compiler: []string{"g++", "-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp"}, source: "metropolis.cpp",
	},
	{
		Name: "c-metropolis-avx512", Summary: "multi-spin-coded Metropolis in C with AVX-512 intrinsics, 512 replicas a thread", Install: installC,
		compiler: []string{"gcc", "-O3", "-march=native", "-fopenmp"}, source: "metropolis512.c", libs: []string{"-lm"},
	},
	{
		Name: "pytorch", Summary: "PyTorch as installed", Install: installPyTorch,
		source: "pytorch.py", otherSources: pytorch, imports: "torch", env: allocator,
	},
	{
		Name: "pytorch-avx512", Program: "pytorch", Summary: "PyTorch with its AVX-512 kernels switched on", Install: installPyTorch,
		source: "pytorch.py", otherSources: pytorch, imports: "torch", env: append([]string{"ATEN_CPU_CAPABILITY=avx512"}, allocator...),
	},
	{
		Name: "c-chains", Summary: "Wolff, Swendsen–Wang and replica exchange of bit-coded spins in C", Install: installC,
		compiler: []string{"gcc", "-O3", "-march=native"}, source: "chains.c", libs: []string{"-lm"},
	},
	{
		Name: "emcee", Summary: "emcee's affine-invariant ensemble, NumPy densities of all walkers at once", Install: installEmcee,
		source: "targets.py", imports: "emcee",
	},
	{
		Name: "stan", Summary: "Stan's NUTS by rstan", Install: installStan,
		source: "stan.R", otherSources: []string{"targets.stan"}, imports: "rstan",
	},
}

var pytorch = []string{"pytorch_systems.py"}

// Find returns the peer of the given name.
func Find(name string) (*Peer, error) {
	found, err := lists.Choose(allPeers, []string{name}, func(p Peer) string { return p.Name }, "unknown peer %q; the peers are %s")
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// A MissingError says why a peer cannot be run and what would make it run.
type MissingError struct{ Peer, Reason, Install string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is missing: %s; install it with: %s", e.Peer, e.Reason, e.Install)
}

// allocator has glibc keep the memory that a program frees. Otherwise PyTorch's matrices of
// 16 MiB are fresh pages, and it spends 10 to 60 % of its time in the kernel, which clears
// them.
var allocator = []string{
	"MALLOC_MMAP_THRESHOLD_=33554432", "MALLOC_TRIM_THRESHOLD_=4000000000", "MALLOC_TOP_PAD_=268435456",
}

// environment returns env with the variables of a peer and a setting, and without other
// variables that would change the peer's speed.
func (p *Peer) environment(env []string, s Setting) []string {
	n, blas := strconv.Itoa(s.Threads), strconv.Itoa(s.Threads)
	if s.BLAS != 0 {
		blas = strconv.Itoa(s.BLAS)
	}
	set := append([]string{
		"OMP_NUM_THREADS=" + n, "OPENBLAS_NUM_THREADS=" + blas, "MKL_NUM_THREADS=" + blas,
		"OMP_DYNAMIC=false", "PYTHONDONTWRITEBYTECODE=1",
		"LC_ALL=C",
	}, p.env...)
	removed := append([]string{
		"OMP_THREAD_LIMIT=", "GOMP_SPINCOUNT=", "OMP_WAIT_POLICY=", "OPENBLAS_CORETYPE=", "ATEN_CPU_CAPABILITY=",
		"MALLOC_ARENA_MAX=", "MALLOC_PERTURB_=", "GLIBC_TUNABLES=",
	}, set...)
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(removed, func(c string) bool { return strings.HasPrefix(c, name+"=") })
	})
	return append(env, set...)
}
