package asm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// telling is the variable of the environment that has this program tell which path it uses.
const telling = "REVGEN_TEST_TELL_PATH"

// TestPathOfTheEnvironment: the variable chooses the path of a process, and one that it cannot have is said.
func TestPathOfTheEnvironment(t *testing.T) {
	if os.Getenv(telling) != "" {
		path, why, err := Active()
		fmt.Printf("best: %v.\ntold: %v, %s, %v.\n", bestPath, path, why, err)
		return
	}
	us, err := os.Executable()
	require.NoError(t, err)
	plain := fmt.Sprintf("%v, best path that the CPU supports, ", bestPath)
	want := map[string]string{"": plain + "<nil>", "sse": plain + `REVGEN_ISA: asm: unknown kernel path "sse"; the paths are generic, avx2, avx512`, "generic": "generic, REVGEN_ISA=generic, <nil>"}
	for p := bestPath + 1; p <= AVX512; p++ {
		want[p.String()] = plain + fmt.Sprintf("REVGEN_ISA: asm: path %v is not supported here; the best is %v", p, bestPath)
	}
	for name, told := range want {
		c := exec.Command(us, "-test.run=^TestPathOfTheEnvironment$", "-test.v")
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, EnvISA+"=") {
				c.Env = append(c.Env, v)
			}
		}
		c.Env = append(c.Env, telling+"=1", EnvISA+"="+name)
		out, err := c.Output()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("the kernel of an emulated processor does not run its programs")
		}
		require.NoError(t, err)
		if !strings.Contains(string(out), fmt.Sprintf("best: %v.\n", bestPath)) {
			t.Skip("the kernel runs programs of an emulated processor on its own")
		}
		require.Contains(t, string(out), "told: "+told+".\n", name)
	}
}

// TestOperationsOfProbes: a round is four operations on each of fourteen chains, of as many numbers as an
// instruction of the path has.
func TestOperationsOfProbes(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		for p, lanes := range map[Probe][3]float64{
			ProbeFMA: {1, 8, 16}, ProbeFloat: {1, 8, 16}, ProbeInteger: {2, 8, 16}, ProbeLookup: {1, 8, 16}, ProbeMultiply: {1, 4, 8},
		} {
			require.Equal(t, 3*4*14*lanes[path], p.Run(3), "%v", p)
		}
	})
}

// TestTilesBeyondTheLast: where no pair is there is no loss, and the sums are cleared.
func TestTilesBeyondTheLast(t *testing.T) {
	k := radialCases[0].radial()
	forEachPath(t, func(t *testing.T, _ Path) {
		x := newGramBatch(rand.New(rand.NewPCG(1, 2)), 17, 2, 1)
		x.N = 16
		for _, tile := range []GramRange{{0, 16, 16, 32}, {16, 32, 0, 16}, {16, 32, 16, 32}} {
			rows, cols := make([]float32, 32), make([]float32, 32)
			for i := range rows {
				rows[i], cols[i] = 7, 7
			}
			require.Zero(t, GramTile(k, x, tile, rows, cols, make([]float32, GramScratch(2))))
			require.Equal(t, make([]float32, 64), append(rows, cols...), "%v", tile)
		}
	})
}

// TestColumnsBeyondTheirRoom: a list that grows beyond its capacity has all its columns, of few spins and of many.
func TestColumnsBeyondTheirRoom(t *testing.T) {
	eachHamming(t, func(t *testing.T) {
		for _, n := range []int{9, 65} {
			c := newHammingCase(rand.New(rand.NewPCG(uint64(n), 3)), n, 3*tileColumns+1, true)
			columns := NewHammingColumns(n, 1)
			for i, w := range c.weights {
				columns.Append(c.first[i], c.second[i], float32(w))
			}
			require.Equal(t, len(c.weights), columns.Len())
			require.Equal(t, map[int]int{9: 1, 65: 4}[n], columns.Parts())
			c.columns = columns
			c.pack()
			loss, base, spin := make([]float64, HammingRows), make([]float32, HammingRows), make([]float32, n*HammingRows)
			HammingSums(loss, base, spin, c.rows, c.columns, c.tables)
			c.check(t, loss, base, spin, fmt.Sprintf("%d spins", n))
		}
	})
}
