package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// narrow are the systems with small networks, under the names of the paper's.
func narrow() []engine.Definition {
	definition := func(d engine.Definition, preset func() (engine.Config, error)) engine.Definition {
		d.Preset = func(string) (engine.Config, error) { return preset() }
		return d
	}
	return []engine.Definition{
		definition(hybrid.Definition, func() (engine.Config, error) {
			c, err := hybrid.Preset("paper")
			c.Generator.Latent, c.Generator.Hidden = 5, []int{9, 7}
			return c, err
		}),
		definition(ising.Definition, func() (engine.Config, error) {
			c, err := ising.Preset("paper")
			c.Generator.Latent, c.Generator.Hidden, c.Target.L = 6, []int{10}, 9
			c.Loss.Kernel.Bandwidths = []float64{9} // which reaches across 81 spins
			return c, err
		}),
		definition(gmm.Definition, func() (engine.Config, error) {
			c, err := gmm.Preset("paper")
			c.Generator.Hidden, c.Generator.Depth, c.Generator.Clamp = []int{6, 5}, 3, 1.5
			c.Loss.Boundary.Radius, c.Loss.Boundary.Center = 1, []float64{0.5, -0.25}
			return c, err
		}),
	}
}

// TestPretenders holds what is measured against loops in float64 by the peers' protocol, and
// has each of the commands of a comparison fail.
func TestPretenders(t *testing.T) {
	p := pretender(t, "pytorch")
	workers := pool.New(2)
	defer workers.Close()
	both := &environment{path: testEnvironment(t).path, workers: workers, systems: narrow()}
	for _, c := range []struct {
		suite, size string
		tolerance   float64
		commands    []int // that a comparison takes, by operation; 0 without one
	}{
		{"iteration", "hybrid/paper/30", 1e-3, []int{10}}, // forget, four arrays, select, run, two results, select
		{"iteration", "ising/paper/30", 1e-3, []int{9}},
		{"iteration", "gmm/paper/30", 1e-3, []int{9}},
		{"gram", "33x2", 1e-3, []int{6, 6}},
		{"gram", "17x3", 1e-3, []int{6}},
		{"hamming", "50x3", 1e-3, []int{-1, 6}},
		{"hamming", "20x9", 1e-3, []int{-1, 6, -1, 6}},
		{"rng", "40001", 6, []int{0, 3}},
		{"math", "33001", 2e-6, []int{4}},
		{"gemm", "131x7x5", 1e-4, []int{5}},
		{"gemm", "9x4x6", 1e-4, []int{5}},
	} {
		s := Suites()[slices.Index(Names(), c.suite)]
		operations, err := s.operations(both, c.size)
		require.NoError(t, err)
		var counts []int
		for _, op := range operations {
			op.call()
			op.call() // again, with the same result
			if len(op.rivals) == 0 {
				counts = append(counts, 0)
			}
			for _, v := range op.rivals {
				if v.name == "pytorch-avx512" {
					continue // the same
				}
				if v.call != nil {
					v.call()
					a, err := v.prepare(nil)
					require.NoError(t, err)
					require.LessOrEqual(t, a.difference, a.tolerance, op.name)
					counts = append(counts, -1)
					continue
				}
				before := commands(t, p)
				a, err := v.prepare(p)
				require.NoError(t, err, op.name)
				require.Equal(t, c.tolerance, a.tolerance)
				require.LessOrEqual(t, a.difference, a.tolerance, op.name)
				count := commands(t, p) - before - 1
				counts = append(counts, count)
				for k := 1; k <= count; k++ {
					require.NoError(t, p.Select("failing", k))
					_, err := v.prepare(p)
					require.ErrorContains(t, err, "on purpose", "%s, command %d", op.name, k)
				}
			}
		}
		require.Equal(t, c.commands, counts, "%s %s", c.suite, c.size)
	}
}

// TestReferences: what peers are given changes on purpose only, and kernels are counted where
// they are not zero.
func TestReferences(t *testing.T) {
	e := testEnvironment(t)
	for i, want := range []struct {
		loss float64
		grad int
	}{{0.2752, 5*9 + 9 + 9*7 + 7 + 7*4 + 4}, {0.240912, 6*10 + 10 + 10*81 + 81}, {0.780036, 3 * 2 * (6 + 6 + 6*5 + 5 + 5 + 1)}} {
		config, err := narrow()[i].Preset("paper")
		require.NoError(t, err)
		const n = 30
		config.Shared().Training.Batch = n
		trainer, err := engine.NewTrainer(config, e.workers)
		require.NoError(t, err)
		system, m := trainer.System(), modelOf(config)
		r, err := referenceOf(m, config, system)
		require.NoError(t, err)
		require.InEpsilon(t, want.loss, r.loss, 1e-4)
		require.Len(t, r.grad, want.grad)
		require.Len(t, r.inputs["params"], want.grad)
		loss := m.discrepancy(system)
		require.Equal(t, "discrepancy", loss.name)
		if i > 0 {
			continue
		}
		counts, pairs := [3]int{}, 0.0
		from, _ := lastMoves[vectors.States](system)
		require.Len(t, from.K, n)
		for _, k := range from.K {
			counts[k]++
		}
		for _, c := range counts {
			pairs += float64(c * c)
		}
		one := kernelWork(config.(*hybrid.Config).Loss.Kernel)
		require.Equal(t, work{FMA: pairs * (one[FMA] + 4), Float: pairs * (one[Float] + 6)}, loss.counts)
	}
}

// TestOwnRecipes: a configuration beyond the paper's has no reference.
func TestOwnRecipes(t *testing.T) {
	e := testEnvironment(t)
	hold := func(config engine.Config) {
		t.Helper()
		m := modelOf(config)
		require.NotNil(t, m)
		_, err := referenceOf(m, config, nil)
		require.ErrorIs(t, err, errNoPeer)
	}
	for _, change := range []func(c *gmm.Config){
		func(c *gmm.Config) { c.Generator.Kind = "residual" },
		func(c *gmm.Config) { c.Generator.Partition = "halves" },
		func(c *gmm.Config) { c.Loss.Kind = "balance" },
		func(c *gmm.Config) { c.Loss.Kind = "discriminator" },
		func(c *gmm.Config) { c.Transition.Sigma = []float64{0.1, 0.2} },
		func(c *gmm.Config) { c.Target.Components[0].Mean = []float64{1, 1, 1} },
	} {
		c, err := gmm.Preset("paper")
		require.NoError(t, err)
		change(c)
		hold(c)
		third := map[string]string{"mmd": "discrepancy", "balance": "density", "discriminator": "transition"}
		require.Equal(t, third[c.Loss.Kind], modelOf(c).step(nil, 8)[2].name)
	}
	for _, change := range []func(c *ising.Config){
		func(c *ising.Config) { c.Generator.Head = "bernoulli" },
		func(c *ising.Config) { c.Loss.Kind = "discriminator" },
		func(c *ising.Config) { c.Loss.Gradient = "witness" },
	} {
		c, err := ising.Preset("paper")
		require.NoError(t, err)
		change(c)
		hold(c)
	}
	c, err := hybrid.Preset("paper")
	require.NoError(t, err)
	c.Transition.Order = "random"
	hold(c)

	own := narrow()[2]
	own.Preset = func(string) (engine.Config, error) {
		c, err := gmm.Preset("paper")
		c.Transition.Sigma = []float64{0.1, 0.2}
		return c, err
	}
	e.systems = []engine.Definition{own}
	operations, err := iterationRows(e, "gmm/paper/8")
	require.NoError(t, err)
	require.Empty(t, operations[0].rivals)
	require.Equal(t, "not the paper's recipe: no peer knows it", operations[0].note)
}

// TestOtherMixtures counts the work of couplings of three coordinates, two of which one
// part has, and of residual perceptrons in the latent variables.
func TestOtherMixtures(t *testing.T) {
	c, err := gmm.Preset("paper")
	require.NoError(t, err)
	c.Generator.Depth, c.Generator.Hidden = 2, []int{6, 5}
	for i := range c.Target.Components {
		c.Target.Components[i].Mean = []float64{0, 0, 0}
	}
	// 1-6-5-2 in the first coupling, whose first layers are kinks, and 2-6-5-1 in the second.
	kinks, dense := 5*2.0, 5*2.0
	forward, backward := mixture{c}.generator()
	require.Equal(t, work{FMA: 2 * (kinks + dense + 2*6 + 6*5 + 5), Float: 2 * 5 * 3, Read: 2 * 5 * 8}, forward)
	require.Equal(t, work{FMA: 2 * (kinks + 2*dense + 2*(2*6+6*5+5)), Float: 2 * 5 * 3, Read: 2 * 5 * 12, Write: 2 * 5 * 8}, backward)
	c.Generator.Kind = "residual"
	for latent, width := range map[int]float64{0: 3, 4: 4} {
		c.Generator.Latent = latent
		forward, backward = mixture{c}.generator()
		one := width*6 + 6*5 + 5*width
		require.Equal(t, work{FMA: 2 * one}, forward)
		require.Equal(t, work{FMA: 2*2*one - 6*width}, backward, "no gradient with respect to the noise")
	}
}

// TestRivalsOfSizes: what a comparison would take too long or too much memory for is left out.
func TestRivalsOfSizes(t *testing.T) {
	e := testEnvironment(t)
	for size, want := range map[string][]int{
		"4096x2": {2}, "4097x2": {1}, "4096x3": {1}, "4097x3": {0},
	} {
		operations, err := gramSuite.operations(e, size)
		require.NoError(t, err)
		require.Equal(t, want, rivalsOf(e, operations), size)
	}
	for size, want := range map[string][]int{
		"2x7": {2}, "2x8": {2, 2}, "2x9": {2, 2}, "2x16": {2, 2}, "2x17": {1, 1}, "2x32": {1, 1}, "2x33": {0, 0},
		"4096x2": {2}, "4097x2": {1},
	} {
		operations, err := hammingSuite.operations(e, size)
		require.NoError(t, err)
		require.Equal(t, want, rivalsOf(e, operations), size)
	}
	_, err := hammingRows(e, "x", []int{2, 1025})
	require.ErrorContains(t, err, `size "x": N is at most 1048576 and L at most 1024`)
	_, err = hammingRows(e, "y", []int{1<<20 + 1, 3})
	require.ErrorContains(t, err, `size "y": N is at most`)
	_, err = metropolisRows(e, "x", []int{1026})
	require.ErrorContains(t, err, `size "x": L must be even and at most 1024`)
	for _, c := range [][3]string{
		{"hamming", "4x1", "lattice side 1 is outside 2 to 1024"}, {"hamming", "1x16", "training.batch: 1 is not between"},
		{"metropolis", "1", `size "1": L must be even`}, {"hierarchy", "2", `size "2": side: 2 is not a multiple of 4`},
	} {
		s := Suites()[slices.Index(Names(), c[0])]
		_, err := s.operations(e, c[1])
		require.ErrorContains(t, err, c[2])
	}
	for parts, want := range map[string]string{"1x2": "", "0x2": "not of the form", "1x1073741824": "", "1x1073741825": "not of the form", "1": "not of the form", "1x2x3": "not of the form"} {
		if _, err := parseSize(parts, "AxB"); want == "" {
			require.NoError(t, err, parts)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// rivalsOf counts rivals, one for each program.
func rivalsOf(e *environment, operations []*operation) (counts []int) {
	for _, op := range operations {
		names := map[string]bool{}
		for _, v := range op.rivals {
			if v.name != "pytorch-avx512" {
				names[v.name] = true
			}
		}
		counts = append(counts, len(names))
	}
	return counts
}

// TestSizesOfSystems holds the numbers in sizes to their bounds.
func TestSizesOfSystems(t *testing.T) {
	e := testEnvironment(t)
	for size, want := range map[string]string{
		"ising/paper/2": "", "ising/paper/16777216": "", "ising/paper": "",
		"ising/paper/1": `"1" is not a number of samples`, "ising/paper/16777217": "not a number of samples", "ising/paper/x": "not a number of samples",
		"ising": "not of the form SYSTEM/PRESET/N", "ising/paper/2/3": "not of the form SYSTEM/PRESET/N",
	} {
		if _, n, err := e.configOf(size); want == "" {
			require.NoError(t, err)
			require.Equal(t, map[string]int{"ising/paper/2": 2, "ising/paper/16777216": 1 << 24}[size], n)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	// A configuration's own file has its own batch.
	config, err := ising.Preset("paper")
	require.NoError(t, err)
	config.Training.Batch = 30
	text, err := catalogue.EncodeConfig(config)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "own.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	operations, err := iterationRows(e, file)
	require.NoError(t, err)
	require.Equal(t, 30., operations[0].amount)
	require.NoError(t, os.WriteFile(file, []byte(`{"system": "ising", "training": {"batch": 0}}`), 0o600))
	_, _, err = e.configOf(file)
	require.ErrorContains(t, err, "batch")
	_, _, err = e.configOf(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorContains(t, err, "none.json")
}
