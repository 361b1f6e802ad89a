package potts

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// configure returns a small configuration with assignments.
func configure(t *testing.T, set ...string) *Config {
	t.Helper()
	c, err := Preset("quick")
	require.NoError(t, err)
	require.NoError(t, conf.Set(c, append(set, "evaluation.samples=2000", "training.batch=128")...))
	_, err = c.Adapt(context.Background())
	require.NoError(t, err)
	c.Training.Batch, c.Generator.Neighbours, c.Generator.Units = 128, min(c.Generator.Neighbours, 6), 2
	return c
}

func configs(t *testing.T) map[string]*Config {
	glass := `target.edges=[[0,1,1],[1,2,-1],[2,3,0.5],[3,0,-0.7],[0,2,1],[1,3,0.6],[4,5,1],[3,4,1],[5,0,-1],[5,1,1]]`
	return map[string]*Config{
		"3x3":            configure(t, "target.l=3"),
		"4x4":            configure(t, "target.l=4"),
		"clock":          configure(t, "target.l=4", "target.q=5", "target.model=clock", "transition.proposal=sweep"),
		"graph":          configure(t, "target.l=0", "target.q=4", "target.sites=6", glass),
		"tables, fields": configure(t, "target.l=0", "target.q=3", "target.sites=5", "target.states=[2,3,3,3,3]", `target.tables=[{"i":0,"j":2,"energy":[[1,0,-1],[0.5,0,0]]}]`, `target.edges=[[1,2,1],[0,1,1],[0,3,0.5],[1,3,-1],[2,3,1],[3,4,1],[4,0,1],[4,1,-1],[2,4,1]]`, "target.fields=[[1,0],[],[0,0,1],[],[1,0,0]]"),
	}
}

func TestContract(t *testing.T) {
	long.SkipShort(t)
	for name, c := range configs(t) {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

func TestMixtureContract(t *testing.T) {
	c := configure(t, "target.l=4")
	c.Transition.Proposal, c.Transition.GlobalFlip, c.Transition.Steps = "mixture", 0.1, 20
	systemtest.Run(t, c)
}

// papers are configurations of the paper's generator: even states, states that fields and
// numbers tell apart, and a learned loss.
func papers(t *testing.T) map[string]*Config {
	all := map[string]*Config{}
	for name, c := range configs(t) {
		if name == "4x4" {
			continue
		}
		c.Preset = "paper"
		_, err := c.Adapt(context.Background())
		require.NoError(t, err)
		c.Training.Batch, c.Training.Steps, c.Transition.Steps, c.Generator.Hidden = 128, 4, 5, []int{16}
		c.Generator.Gain = 10
		if name == "clock" {
			c.Loss.Kind, c.Loss.Discriminator.Hidden, c.Transition.Proposal = "discriminator", []int{8}, "sweep"
		}
		all[name] = c
	}
	return all
}

func TestPaperContract(t *testing.T) {
	for name, c := range papers(t) {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

// TestPaperLearns trains the paper's generator on the 3×3 lattice for a moment, whose error
// falls far below that of the untrained one.
func TestPaperLearns(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	c, err := Preset("paper")
	require.NoError(t, err)
	c.Training.Steps, c.Training.Batch, c.Generator.Hidden = 300, 512, []int{64}
	require.NoError(t, c.Validate())
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	variation := func() float64 {
		e, err := trainer.System().(engine.Evaluator).Evaluate(context.Background(), trainer.Params(), 20_000)
		require.NoError(t, err)
		for _, m := range e.Metrics {
			if m.Name == "total_variation" {
				return m.Error
			}
		}
		return math.NaN()
	}
	before := variation()
	for range c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	require.Less(t, variation(), before/2)
}

// TestGradient compares the gradient with central differences.
func TestGradient(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	all := configs(t)
	for name, c := range papers(t) {
		all["paper, "+name] = c
	}
	for name, c := range all {
		system, err := c.New(workers)
		require.NoError(t, err)
		s := system.(engine.Differentiable)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		for i := range params {
			params[i] += 0.3 * float32(math.Sin(float64(7*i)))
		}
		off, tensors := engine.GradientError(s, params, s.Backward)
		require.Less(t, off, 2e-3, name)
		require.Positive(t, tensors)
	}
}

// TestGolden holds bits.
func TestGolden(t *testing.T) {
	systemtest.Golden(t, configs(t)["4x4"], goldenLattice)
}

// TestTwoStates: a Potts model of two states is Ising's at half the coupling, to the last
// decimals of Kaufman's ln Z, and a clock of two states Ising's itself.
func TestTwoStates(t *testing.T) {
	for _, model := range []string{"potts", "clock"} {
		c := configure(t, "target.l=6", "target.q=2", "target.beta=0.9", "target.model="+model)
		law, err := c.Target.law()
		require.NoError(t, err)
		s, err := categories.NewSum(context.Background(), law)
		require.NoError(t, err)
		r := reference{}
		(&evaluator{config: c, law: law}).setLogZ(&r)
		require.InDelta(t, s.LogZ, r.logZ, 1e-10)
	}
}

// TestLearns trains the quick preset on the 3×3 lattice to the sampling floor.
func TestLearns(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c, err := Preset("quick")
	require.NoError(t, err)
	require.NoError(t, conf.Set(c, "target.l=3"))
	_, err = c.Adapt(context.Background())
	require.NoError(t, err)
	c.Training.Steps = 400
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	for range c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	e, err := trainer.System().(engine.Evaluator).Evaluate(context.Background(), trainer.Params(), 20_000)
	require.NoError(t, err)
	require.Empty(t, e.Warnings)
	for _, m := range e.Metrics {
		switch m.Name {
		case "effective_sample_size":
			require.Greater(t, m.Generated, 0.99)
		case "log_z", "kl_by_density":
			require.Less(t, m.Error, 0.01)
		default:
			require.Less(t, m.Error, 5*m.Floor, m.Name)
		}
	}
}

// TestReferences: exact draws and both kinds of chains agree with the sum over all
// configurations.
func TestReferences(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for name, c := range map[string]*Config{
		"clusters": configure(t, "target.l=3", "target.q=3"), "exchange": configure(t, "target.l=2", "target.q=5", "target.model=clock"),
		"frustrated": configure(t, "target.l=0", "target.q=3", "target.sites=6", "target.edges=[[0,1,-1],[1,2,-1],[2,0,-1],[2,3,1],[3,4,1.5],[4,5,-1],[5,3,-1]]", "target.beta=1.5"),
	} {
		m, err := newEvaluator(c, workers)
		require.NoError(t, err)
		exact, err := m.newReference(context.Background())
		require.NoError(t, err)
		l := newObservables(m.law, c.Target.Model)
		drawn, err := m.drawReference(context.Background())
		require.NoError(t, err)
		// Means of 64 groups of 2048 draws each.
		sum, err := categories.NewSum(context.Background(), m.law)
		require.NoError(t, err)
		draws, stream := make([]byte, 64*2048*m.law.N()), rng.Stream(c.Training.Seed, rng.Reference, 0)
		sum.Draw(draws, &stream, 0)
		means := make([]float64, 64)
		for k := range 64 * 2048 {
			means[k/2048] += l.order(draws[k*m.law.N():][:m.law.N()]) / 2048
		}
		mean, deviation := gonum.MeanStdDev(means, nil)
		require.InDelta(t, mean, drawn.means[order].Value, 1e-10)
		require.InDelta(t, deviation/8, drawn.means[order].Uncertainty, 1e-10)
		chained, err := m.chainReference(context.Background())
		require.NoError(t, err)
		require.InDelta(t, exact.logZ, drawn.logZ, 1e-10)
		require.InDelta(t, exact.means[energy].Value, drawn.means[energy].Value, 1e-6)
		require.InDelta(t, exact.variances[energy].Value, drawn.variances[energy].Value, 1e-5)
		require.Equal(t, name == "clusters", math.IsNaN(chained.logZ))
		if name != "clusters" {
			require.InDelta(t, exact.logZ, chained.logZ, 5*chained.logZError+1e-6)
			require.Less(t, chained.logZError, 0.1)
		}
		for of, r := range map[string]*reference{"draws": drawn, "chains": chained} {
			for k := range moments {
				require.InDelta(t, exact.means[k].Value, r.means[k].Value, 5*r.means[k].Uncertainty+1e-6, "%s, %s", name, of)
				require.InDelta(t, exact.variances[k].Value, r.variances[k].Value, 5*r.variances[k].Uncertainty+1e-5, "%s, %s", name, of)
			}
			for i, p := range exact.pairs {
				require.InDelta(t, p, r.pairs[i], 30*r.pairsError, "%s, %s", name, of)
			}
			// If values are on a grid (a clock's are not), so are the bins. Bins about another mean may
			// begin elsewhere; the first and the last hold what is beyond.
			for i, p := range exact.energyLaw {
				k := r.energies.Of(exact.energies.Centre(i))
				if c.Target.Model == "potts" && min(i, k) > 0 && i+1 < exact.energies.N && k+1 < r.energies.N {
					require.InDelta(t, exact.energies.Centre(i), r.energies.Centre(k), 1e-9, "%s, %s", name, of)
					require.InDelta(t, p.Value, r.energyLaw[k].Value, 6*r.energyLaw[k].Uncertainty+2e-3, "%s, %s", name, of)
				}
			}
		}
	}
}

func TestVerify(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	names := systemtest.Checks(t, func(workers *pool.Pool, emit func(engine.Check)) error { return Verify(t.Context(), workers, emit) })
	wrong := map[string]func(v *subject){
		"potts energies": func(v *subject) {
			v.energy = func(q *categories.Target, s []byte) float64 { return q.Energy(s) + 1e-9 }
		},
		"potts of two states": func(v *subject) {
			v.torus = func(int, int, []float64, []float64, float64) (float64, error) { return 1, nil }
		},
		"potts sums": func(v *subject) { v.sum = func(*categories.Target) float64 { return 1 } },
		"potts density": func(v *subject) {
			v.density = func(s *sites.Sampler[byte], r []float64, batch []byte) {
				s.R(r, batch)
				r[3] += 1
			}
		},
		"potts gradient": func(v *subject) {
			v.gradient = func(s *categories.System, params, grad []float32) {
				s.Backward(params, grad)
				for i := range grad {
					grad[i] *= 1.01
				}
			}
		},
	}
	wrong["potts one-hot"] = func(v *subject) {
		v.oneHot = func(t categories.OneHot, c *spins.TransitionConfig) (spins.Kernel, error) { return t.Kernel(c, 0.9) }
	}
	hotter := func(v *subject) {
		right := v.moves
		v.moves = func(law *categories.Target, kind string) (*categories.Moves, error) {
			at := *law
			at.Beta *= 0.9
			return right(&at, kind)
		}
	}
	wrong["potts sweep"], wrong["potts mixture"] = hotter, hotter
	require.Len(t, wrong, len(names))
	for name, spoil := range wrong {
		v := newSubject(workers)
		spoil(v)
		failed := false
		ctx, enough := context.WithCancel(context.Background())
		_ = v.verify(ctx, func(c engine.Check) {
			if c.Name == name {
				failed = !c.OK
				enough()
			}
		})
		require.True(t, failed, name)
	}
}

// TestFiles reads graphs in both formats, and says what is wrong with others.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	load := func(text string) (*Config, error) {
		path := filepath.Join(dir, "graph")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		set, ok := recognise([]byte(text), path)
		if !ok {
			set = []string{"target.l=0", "target.file=" + path}
		}
		c, err := Preset("quick")
		require.NoError(t, err)
		require.NoError(t, conf.Set(c, set...))
		if err := c.Load(); err != nil {
			return nil, err
		}
		_, err = c.Adapt(context.Background())
		require.NoError(t, err)
		return c, c.Validate()
	}
	c, err := load("# q=4 model=clock\n0 1 1.5\n\n# a comment\n2 1 -1\n")
	require.NoError(t, err)
	require.Equal(t, 3, c.Target.Sites)
	law, err := c.Target.law()
	require.NoError(t, err)
	require.InDelta(t, -1.5*0-1, law.Energy([]byte{0, 1, 3}), 1e-12)
	require.NoError(t, c.Load(), "the same file again")
	c, err = load(`{"q": 3, "sites": 3, "edges": [[0, 1, 2]], "tables": [{"i": 1, "j": 2, "energy": [[0, 1, 2], [3, 4, 5], [6, 7, 8]]}], "fields": [[0, 0, 1]], "offset": 1}`)
	require.NoError(t, err)
	law, err = c.Target.law()
	require.NoError(t, err)
	require.InDelta(t, 1-2+7-2, law.Energy([]byte{2, 2, 1}), 1e-12)
	for text, want := range map[string]string{
		"0 1 1\n":                 "is neither JSON nor begins with",
		"# q=3\n0 1\n":            ":2: ",
		"# q=3\n0 x 1\n":          "is not the number of a site",
		"# q=3\n1 1 1\n":          "coupled to itself",
		"# q=3\n0 1 inf\n":        "not a finite number",
		"# q=30\n0 1 1\n":         "q: 30 is not between 2 and 16",
		"# q=3 model=xy\n0 1 1\n": `:1: model: "xy" is not one of potts, clock`,
		"# q=3\n0 1 1\n1 0 2\n":   "joined twice",
		`{"q": 3, "sites": 2, "edges": [[0, 5, 1]]}`:                 "no two sites 0 and 5",
		`{"q": 3, "sites": 2, "model": "xy", "edges": [[0, 1, 1]]}`:  "model",
		`{"q": 3, "sites": 2, "fields": [[1, 2]]}`:                   "fields[0]: has 2 numbers for the 3 states",
		`{"q": 3, "sites": 2, "states": [3, 9]}`:                     "states[1]: 9 is not between",
		`{"q": 3, "sites": 2, "tables": [{"i": 0, "j": 1}]}`:         "tables[0].energy",
		`{"q": 3, "sites": 2, "labels": ["a", "a"]}`:                 "labels",
		`{"q": 3, "sites": 2, "edges": [[0, 1, 1]], "nosuch": true}`: "nosuch",
	} {
		_, err := load(text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestRefuses: errors name the key.
func TestRefuses(t *testing.T) {
	for want, set := range map[string][]string{
		"target.l":             {"target.l=1"},
		"target.q":             {"target.q=1"},
		"target.sites":         {"target.l=0"},
		"target.l: a lattice":  {"target.sites=4"},
		"target.beta":          {"target.beta=1000"},
		"transition.proposal":  {"transition.proposal=multi-spin"},
		"generator.neighbours": {"generator.neighbours=60"},
		"generator.units":      {"generator.units=9"},
		"training.batch":       {"training.batch=100"},
		"target.fields":        {"target.fields=[[1,2]]"},
		"loss.kind":            {"loss.kind=mmd"},
		"generator.gain":       {"generator.kind=perceptron", "loss.kind=mmd", "generator.gain=0"},
		"loss.kernel":          {"generator.kind=perceptron", "loss.kind=mmd", "loss.kernel.bandwidths=[-1]"},
	} {
		c, err := Preset("quick")
		require.NoError(t, err)
		require.NoError(t, conf.Set(c, set...))
		require.ErrorContains(t, c.Validate(), want)
	}
	c, err := Preset("quick")
	require.NoError(t, err)
	require.NoError(t, conf.Set(c, "target.fields=[[1,0,0]]", "transition.proposal=mixture"))
	require.ErrorContains(t, c.Validate(), "transition.proposal: mixture relabels")
}
