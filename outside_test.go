package revgen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// A program of another module uses the library by its public names alone, those of
// targets of one's own included.
func TestAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go .*$`).Find(mod)
	require.NotNil(t, version)
	// A workspace: the library's packages are compiled as they are here. It reads the go.mod of
	// every module that any of them names, some of which no other command has downloaded.
	write("go.mod", "module example.org/host\n\n"+string(version)+"\n")
	write("go.work", string(version)+"\n\nuse (\n\t.\n\t"+here+"\n)\n")
	write("main.go", `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/target/density"
)

// normal is a target: a normal law in three dimensions.
type normal struct{}

func (normal) Dim() int { return 3 }

func (normal) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		dst[r] = -(x[3*r]*x[3*r] + x[3*r+1]*x[3*r+1] + x[3*r+2]*x[3*r+2]) / 2
	}
}

// Types that an embedder of the engine names.
var _ func(cfg engine.Config, workers *engine.Workers) (engine.System, error) = engine.Config.New

func main() {
	own := density.Reals("normal", "a normal law", normal{})
	cfg, err := catalogue.Systems{own}.Configure("normal", "quick", "training.steps=20", "training.batch=64", "evaluation.samples=500")
	if err == nil {
		var model *revgen.Model
		if model, err = revgen.Train(context.Background(), cfg, revgen.TrainOptions{Dir: os.Args[1]}); err == nil {
			if model, err = revgen.Load(os.Args[1], own); err == nil {
				err = draw(model)
			}
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func draw(model *revgen.Model) error {
	sampler, err := model.NewSampler(7, 2)
	if err != nil {
		return err
	}
	defer sampler.Close()
	states, energies := revgen.States{X: make([]float32, 300)}, make([]float64, 100)
	if err := sampler.Sample(context.Background(), states, 0, 5); err != nil {
		return err
	}
	beta, err := sampler.Energies(energies, states)
	x := states.X
	if want := float64(x[0]*x[0]+x[1]*x[1]+x[2]*x[2]) / 2; beta != 1 || energies[0] < want-1e-5 || energies[0] > want+1e-5 {
		return fmt.Errorf("the energy is %v, not %v; β = %v", energies[0], want, beta)
	}
	return err
}
`)
	// The lines that the documents show of a program are Go, and the same.
	var shown []string
	for _, page := range []string{"README.md", filepath.Join("docs", "embedding.md")} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		block := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(text)
		require.NotNil(t, block, page)
		shown = append(shown, string(block[1]))
	}
	require.Equal(t, shown[0], shown[1])
	require.LessOrEqual(t, strings.Count(shown[0], "\n"), 10)
	write("shown.go", "package main\n\nimport (\n\"context\"\n\n\"github.com/revgen/revgen\"\n)\n\nfunc shown(ctx context.Context) (err error) {\n"+shown[0]+"return err\n}\n\nvar _ = shown\n")
	build := exec.Command("go", "build", "-o", "host", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(filepath.Join(dir, "host"), filepath.Join(dir, "run")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, out, "a library prints nothing")
}

// pkg-config tells the version of the library.
func TestPackageVersion(t *testing.T) {
	long.SkipShort(t)
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	out, err := exec.Command("make", "-n", "install", "VERSION=v1.2.3").CombinedOutput()
	require.NoError(t, err, "%s", out)
	script := regexp.MustCompile(`(?m)^sed '([^']*)' cmd/librevgen/revgen.pc.in`).FindSubmatch(out)
	require.NotNil(t, script, "%s", out)
	text, err := exec.Command("sed", string(script[1]), "cmd/librevgen/revgen.pc.in").CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Contains(t, string(text), "\nVersion: 1.2.3\n")
}

// TestVulnerabilitiesNeedTheNetwork: .ci/run fails where govulncheck finds something, and says
// that nothing was looked for where its list cannot be reached. A go of the test's own plays it.
func TestVulnerabilitiesNeedTheNetwork(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	dir := t.TempDir()
	for _, c := range []struct {
		says, want string
		fails      bool
	}{
		{`govulncheck: fetching vulnerabilities: Get "https://vuln.go.dev/index/modules.json.gz": dial tcp: lookup vuln.go.dev: no such host`, "left out: the list of vulnerabilities cannot be reached; nothing was looked for", false},
		{"Your code is affected by 1 vulnerability from 1 module.", "vulnerabilities FAILED", true},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho '"+c.says+"' >&2\nexit 3\n"), 0o700))
		cmd := exec.Command("bash", ".ci/run", "vulnerabilities")
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "CI_STRICT=")
		out, err := cmd.CombinedOutput()
		require.Equal(t, c.fails, err != nil, string(out))
		require.Contains(t, string(out), c.says)
		require.Contains(t, string(out), c.want)
	}
}
