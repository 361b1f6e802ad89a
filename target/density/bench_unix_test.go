//go:build unix

package density

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/target/density/expression"
	"github.com/revgen/revgen/target/density/program"
)

// BenchmarkSources measures ln π of the φ⁴ field on 8 × 8 sites, of 256 states at once,
// as an expression, in Go, and over pipes.
func BenchmarkSources(b *testing.B) {
	compiled, err := expression.Compile(phi4, expression.Environment{Dim: 64, Parameters: map[string]expression.Parameter{
		"kappa": expression.Number(0.2), "lambda": expression.Number(0.02),
	}})
	require.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	x, dst := make([]float32, 64*blockRows), make([]float64, blockRows)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	// Time of the processor, which other work on the machine takes from no one.
	cpu := func(who int) float64 {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(who, &u))
		return float64(u.Utime.Nano() + u.Stime.Nano())
	}
	measure := func(b *testing.B, s source) {
		require.NoError(b, s.Evaluate(dst, x, nil))
		start := cpu(syscall.RUSAGE_SELF)
		for b.Loop() {
			if err := s.Evaluate(dst, x, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric((cpu(syscall.RUSAGE_SELF)-start)/float64(b.N*blockRows), "cpu-ns/state")
	}
	b.Run("expression", func(b *testing.B) {
		measure(b, newEvaluators(1, func() evaluator { return compiled.NewEvaluator().Evaluate }))
	})
	b.Run("go", func(b *testing.B) {
		measure(b, newEvaluators(1, func() evaluator { return vectors.Evaluator(field{}) }))
	})
	run := func(name string, command ...string) {
		b.Run(name, func(b *testing.B) {
			begin := func() *program.Workers {
				return program.New(program.Config{Command: command, Dim: 64, Timeout: time.Minute, Processes: 1})
			}
			before := cpu(syscall.RUSAGE_CHILDREN)
			idle := begin()
			require.NoError(b, idle.Evaluate(dst, x, nil))
			idle.Close()
			start := cpu(syscall.RUSAGE_CHILDREN)
			w := begin()
			measure(b, w)
			w.Close()
			b.ReportMetric((cpu(syscall.RUSAGE_CHILDREN)-start-(start-before))/float64(b.N*blockRows), "program-cpu-ns/state")
		})
	}
	for name, with := range map[string][2]string{"c": {"cc", "target.c"}, "fortran": {"gfortran", "target.f90"}} {
		if _, err := exec.LookPath(with[0]); err == nil {
			run(name, build(b, with[0], with[1]))
		}
	}
	run("python", python(b), filepath.Join("..", "..", "examples", "targets", "target.py"))
}
