//go:build mpi

package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMPIEmbedding runs hosts that have begun MPI themselves: they train over their
// communicator, to the bits of one process. REVGEN_TEST_MPIRUN is another launcher
// than mpirun, whose compiler is mpicc with the same suffix.
func TestMPIEmbedding(t *testing.T) {
	launcher := strings.Fields(os.Getenv("REVGEN_TEST_MPIRUN"))
	if len(launcher) == 0 {
		launcher = []string{"mpirun", "--oversubscribe"}
	}
	compiler, tags := strings.Replace(launcher[0], "mpirun", "mpicc", 1), "mpi"
	if strings.HasSuffix(compiler, ".mpich") {
		tags = "mpi,mpich"
	}
	needs(t, "go", launcher[0], compiler)
	abi, err := filepath.Abs("../cmd/librevgen")
	require.NoError(t, err)
	w := &workshop{dir: t.TempDir(), abi: abi}
	w.run(t, nil, "go", "build", "-tags", tags, "-buildmode=c-shared", "-ldflags=-extldflags=-Wl,-z,nodelete", "-o", filepath.Join(w.dir, "librevgen.so"), abi)
	env := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "UCX_ERROR_SIGNALS="}
	ranks := func(n, program string, args ...string) string {
		return w.run(t, env, launcher[0], append(append(launcher[1:], "-n", n, program), args...)...)
	}
	program := w.compile(t, compiler, "ranks", "-std=c99", "c/ranks.c")
	alone := filepath.Join(w.dir, "alone")
	require.Contains(t, w.run(t, env, program, alone), "by 1 ranks") // not even by mpirun
	want, err := os.ReadFile(alone + ".0")
	require.NoError(t, err)
	for _, n := range []string{"2", "3"} {
		require.Contains(t, ranks(n, program, filepath.Join(w.dir, n)), "by "+n+" ranks")
		models, err := filepath.Glob(filepath.Join(w.dir, n+".*"))
		require.NoError(t, err)
		require.Len(t, models, int(n[0]-'0'))
		for _, m := range models {
			got, err := os.ReadFile(m)
			require.NoError(t, err)
			require.Equal(t, want, got, m)
		}
	}
	ranks("2", w.compile(t, compiler, "communicators", "-std=c99", filepath.Join(abi, "testdata/communicators.c")))
}
