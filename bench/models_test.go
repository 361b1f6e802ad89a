package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
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
			c.Generator.Latent, c.Generator.Hidden = 6, []int{10}
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
	e := &environment{path: testEnvironment(t).path, workers: workers, systems: narrow()}
	for _, c := range []struct {
		suite, size string
		tolerance   float64
		commands    []int // that a comparison takes, by operation; 0 without one
	}{
		{"iteration", "hybrid/paper/30", 1e-3, []int{10}}, // forget, four arrays, select, run, two results, select
		{"iteration", "ising/paper/30", 1e-3, []int{9}},
		{"iteration", "gmm/paper/30", 1e-3, []int{9}},
		{"sample", "hybrid/paper/20", 1e-4, []int{8}}, // forget, three arrays, select, run, a result, select
		{"sample", "ising/paper/20", 1e-4, []int{7}},
		{"sample", "gmm/paper/20", 1e-4, []int{7}},
		{"gram", "33x2", 1e-3, []int{6, 6}},
		{"gram", "17x3", 1e-3, []int{6}},
		{"hamming", "50x3", 1e-3, []int{-1, 6}},
		{"hamming", "20x9", 1e-3, []int{-1, 6, -1, 6}},
		{"rng", "40001", 6, []int{0, 3, 3}},
		{"math", "33001", 2e-6, []int{4, 4, 4, 4, 4}},
		{"gemm", "131x7x5", 1e-4, []int{5, 5}},
	} {
		s := Suites()[slices.Index(Names(), c.suite)]
		operations, err := s.operations(e, c.size)
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

// TestPretendersThatAreWrong finds the states that a peer makes wrongly, one of four.
func TestPretendersThatAreWrong(t *testing.T) {
	p := pretender(t, "pytorch")
	require.NoError(t, p.Select("wrong"))
	e := testEnvironment(t)
	e.systems = narrow()
	for name, want := range map[string]float64{"ising": 0.25, "hybrid": 0.25 / 100, "gmm": 2} { // of spins; of modes by 100; 2|x| by |x|
		operations, err := sampleRows(e, name+"/paper/4")
		require.NoError(t, err)
		a, err := operations[0].rivals[0].prepare(p)
		require.NoError(t, err)
		require.InEpsilon(t, want, a.difference, map[bool]float64{true: 0.6, false: 1e-3}[name == "gmm"], name)
	}
}
