package density

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
)

// small is what makes a preset quick to build and to train. The last has what a
// recipe chooses, without looking for it, which takes most of a test's time.
var small = map[string][]string{
	"quick": {"training.batch=600", "generator.scout.population=200", "evaluation.samples=300"},
	"paper": {"training.batch=600", "generator.hidden=[8]", "evaluation.samples=300"},
	"paper of a mixture": {
		"training.batch=600", "generator.kind=mixture", "generator.components=2", "generator.scout.population=200",
		"loss.kind=balance", "loss.partners=0.5", "training.optimizer.weight_decay=0", "evaluation.samples=300",
	},
}

// configure returns a small configuration of a definition's preset.
func configure(t testing.TB, def engine.Definition, preset string, set ...string) engine.Config {
	t.Helper()
	set = append(slices.Clone(small[preset]), set...)
	preset, _, _ = strings.Cut(preset, " ")
	cfg, err := catalogue.Systems{def}.Configure(def.Name, preset, set...)
	require.NoError(t, err)
	return cfg
}

// python returns one with NumPy.
func python(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			return name
		}
	}
	t.Skip("no python3 with NumPy")
	return ""
}

// build compiles one of the templates with a compiler, if there is one.
func build(t testing.TB, compiler, source string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no %s", compiler)
	}
	binary := filepath.Join(t.TempDir(), "target")
	out, err := exec.Command(compiler, "-O2", "-ffp-contract=off", "-o", binary, template(source), "-lm").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

func template(name string) string { return filepath.Join("..", "..", "examples", "targets", name) }

// quoted writes a list of strings for an assignment.
func quoted(t testing.TB, key string, list ...string) string {
	t.Helper()
	text, err := conf.Encode(&struct {
		List []string `json:"list"`
	}{list})
	require.NoError(t, err)
	return key + "=" + string(text[len("{\n  \"list\": "):len(text)-2])
}

func TestContract(t *testing.T) {
	for _, preset := range []string{"quick", "paper"} {
		t.Run(preset, func(t *testing.T) {
			t.Run("reals", func(t *testing.T) { systemtest.Run(t, configure(t, RealsDefinition, preset)) })
			t.Run("mixed", func(t *testing.T) { systemtest.Run(t, configure(t, MixedDefinition, preset)) })
		})
	}
	if testing.Short() {
		t.Skip("the kits test their generators and losses")
	}
	contract(t, map[string]string{"flow": "paper", "mixture": "paper of a mixture"})
	t.Run("program", func(t *testing.T) {
		systemtest.Run(t, configure(t, RealsDefinition, "paper", "target.kind=program", "target.dim=64",
			quoted(t, "target.command", build(t, "cc", "target.c"))))
	})
}

// TestContractCrossed takes what bounds and lines do to a mixture, and what modes do to the
// paper's generator.
func TestContractCrossed(t *testing.T) {
	long.Only(t)
	contract(t, map[string]string{"flow": "paper of a mixture", "mixture": "paper"})
	t.Run("go", func(t *testing.T) { systemtest.Run(t, configure(t, Reals("field", "a field", field{}), "paper")) })
}

// contract takes bounds and lines with the preset that stands for a flow, and modes with that
// of a mixture.
func contract(t *testing.T, preset map[string]string) {
	t.Run("bounded", func(t *testing.T) {
		systemtest.Run(t, configure(t, RealsDefinition, preset["flow"], "target.dim=3", "generator.depth=2", "target.parameters={}", "target.center=[]", "target.scale=[]",
			"target.expression=sum(log(x)) - 2*sum(x) + log(5 - x[2])", "target.support=[[0,null],[0,null],[0,5]]"))
	})
	t.Run("line", func(t *testing.T) {
		depth := "generator.depth=1"
		if preset["flow"] != "paper" {
			depth = "generator.depth=0"
		}
		systemtest.Run(t, configure(t, RealsDefinition, preset["flow"], "target.dim=1", "target.parameters={}", "target.expression=-x[0]^4", depth))
	})
	t.Run("plane with modes", func(t *testing.T) {
		systemtest.Run(t, configure(t, MixedDefinition, preset["mixture"], "target.dim=2", "target.modes=2", `target.parameters={"m":[[1,2],[-30,40]]}`,
			"target.expression=-sum((x - m[k])^2)*(k + 1)"))
	})
	t.Run("go with modes", func(t *testing.T) { systemtest.Run(t, configure(t, Mixed("steps", "two", steps{}), preset["mixture"])) })
}

// field is the φ⁴ field of the templates.
type field struct{}

func (field) Dim() int { return 64 }

func (field) LogDensity(dst, x []float32, _ []uint8) {
	const side, kappa, lambda = 8, 0.2, 0.02
	for r := range dst {
		var hop, site float64
		phi := x[r*64 : (r+1)*64]
		for i := range side {
			for j := range side {
				v := float64(phi[i*side+j])
				square := v * v
				well := (square - 1) * (square - 1)
				hop += float64(v * (float64(phi[(i+1)%side*side+j]) + float64(phi[i*side+(j+1)%side])))
				site += square + float64(lambda*well)
			}
		}
		dst[r] = float32(float64(2*kappa*hop) - site)
	}
}

// steps has a mode twice as wide as the other.
type steps struct{}

func (steps) Dim() int   { return 2 }
func (steps) Modes() int { return 2 }

func (steps) LogDensity(dst, x []float32, k []uint8) {
	for r := range dst {
		scale := float32(1 + k[r])
		dst[r] = -(x[2*r]*x[2*r] + x[2*r+1]*x[2*r+1]) / (2 * scale * scale)
	}
}

const phi4 = "2*kappa*sum(x*(shift(x, [8,8], [1,0]) + shift(x, [8,8], [0,1]))) - sum(x^2 + lambda*(x^2 - 1)^2)"

// TestOneTarget: φ⁴ as an expression, in Go, in Python, C and Fortran is one target: every
// run ends with the same bits of every parameter and the same table, after a training of a
// flow that is long enough to learn something. Over real vectors ln π is rounded to float32,
// however it is given; the row of ln π itself has what the source gave, which in Go is float32
// already. A mixture, which settles on its target by itself, is trained in Go, and in all if
// that may take long.
func TestOneTarget(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles programs")
	}
	type result struct {
		params []float32
		table  *measure.Evaluation
	}
	const field8 = "target.parameters={\"kappa\":0.2,\"lambda\":0.02}"
	brief := []string{"training.batch=256", "generator.gain=0.1", "transition.sigma=0.05,0.18,0.35"}
	for _, c := range []struct {
		preset string
		set    []string
	}{
		{"paper", slices.Concat(brief, []string{"target.center=[]", "target.scale=[]", "training.steps=50", "loss.kind=balance", "training.optimizer.learning_rate=0.003"})},
		{"paper of a mixture", slices.Concat(brief, []string{"target.center=[]", "target.scale=[1]", "training.steps=100", "training.optimizer.learning_rate=0.005"})},
	} {
		t.Run(c.preset, func(t *testing.T) {
			train := func(t *testing.T, def engine.Definition, set ...string) result {
				return trained(t, configure(t, def, c.preset, slices.Concat(c.set, set)...))
			}
			expression := []string{"target.dim=64", "target.expression=" + phi4, field8}
			want := train(t, RealsDefinition, expression...)
			size := func(r result) float64 {
				i := slices.IndexFunc(r.table.Metrics, func(m measure.Metric) bool { return m.Name == "effective_sample_size" })
				return r.table.Metrics[i].Generated
			}
			if c.preset == "paper" || long.Tests() {
				before := train(t, RealsDefinition, append(expression, "training.steps=1")...)
				t.Log(size(before), size(want))
				require.Greater(t, size(want), 5*size(before), "nothing is learned")
			}
			same := func(t *testing.T, got result, narrow bool) {
				require.Equal(t, want.params, got.params)
				require.Equal(t, len(want.table.Metrics), len(got.table.Metrics))
				for i, m := range want.table.Metrics {
					if m.Name == "log_z" { // whose exact value is not known
						m.Exact, m.Error = 0, 0
						got.table.Metrics[i].Exact, got.table.Metrics[i].Error = 0, 0
						if withdrawn := [2]float64{}; math.IsNaN(m.Interval[0]) { // which equals nothing
							require.True(t, math.IsNaN(got.table.Metrics[i].Interval[0]))
							m.Interval, got.table.Metrics[i].Interval = withdrawn, withdrawn
						}
					}
					if narrow && (m.Name == "mean_log_density" || m.Name == "variance_log_density") {
						// Some 2⁻²⁴ of each |ln π| of a hundred or so.
						require.InDelta(t, m.Generated, got.table.Metrics[i].Generated, 1e-5*(1+m.Generated*m.Generated))
						continue
					}
					require.Equal(t, m, got.table.Metrics[i])
				}
			}
			t.Run("go", func(t *testing.T) { same(t, train(t, Reals("reals", "a field", field{})), true) })
			program := func(t *testing.T, command ...string) {
				same(t, train(t, RealsDefinition, "target.dim=64", "target.kind=program", quoted(t, "target.command", command...)), false)
			}
			if c.preset != "paper" && !long.Tests() { // programs answer as they do there
				return
			}
			t.Run("python", func(t *testing.T) { program(t, python(t), template("target.py")) })
			t.Run("c", func(t *testing.T) { program(t, build(t, "cc", "target.c")) })
			t.Run("fortran", func(t *testing.T) { program(t, build(t, "gfortran", "target.f90")) })
		})
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-serve" {
		serve(os.Args[2])
		return
	}
	os.Exit(m.Run())
}
