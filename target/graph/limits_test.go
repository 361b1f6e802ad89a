package graph

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/ctxtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// TestLimits: each number of a configuration on both sides of its limits.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Generator.Neighbours, c.Generator.Units = 1, 1 }, ""},
		{func(c *Config) { c.Generator.Neighbours, c.Generator.Units = 64, 64 }, ""},
		{func(c *Config) { c.Generator.Neighbours = 0 }, "generator.neighbours: 0 is not between 1 and 64"},
		{func(c *Config) { c.Generator.Neighbours = 65 }, "generator.neighbours: 65 is not between 1 and 64"},
		{func(c *Config) { c.Generator.Units = 0 }, "generator.units: 0 is not between 1 and 64"},
		{func(c *Config) { c.Generator.Units = 65 }, "generator.units: 65 is not between 1 and 64"},
		{func(c *Config) { c.Target.Beta = -1 }, "target.beta: -1 is not a finite number ≥ 0"},
		{func(c *Config) { c.Target.Beta = 1e9 }, "target.beta: β·E reaches 1.8e+10; β, J and h must keep it below 1e9"},
		{func(c *Config) { c.Target.Spins, c.Target.Edges = 1<<15, nil }, ""},
		{func(c *Config) { c.Target.Spins, c.Target.Edges = 1<<15+1, nil }, "target.spins: 32769 is not between 1 and 32768"},
		{func(c *Config) { c.Target.Spins, c.Target.Edges = 0, nil }, "target.file: names no file, and target.spins and edges say nothing; a target is needed: revgen train glass.json, or --set target.file=glass.json"},
		{func(c *Config) { c.Target.Spins, c.Target.Edges, c.Target.File = 0, nil, "f" }, "target.file: f has not been read; Load reads it"},
		{func(c *Config) { c.Target.File = "f" }, ""},
		{func(c *Config) { c.Target.Format = "rudy" }, "target.format: goes with target.file, as do target.sign and target.vartype"},
		{func(c *Config) { c.Target.Sign = "energy" }, "target.format: goes with target.file, as do target.sign and target.vartype"},
		{func(c *Config) { c.Target.Vartype = "spin" }, "target.format: goes with target.file, as do target.sign and target.vartype"},
		{func(c *Config) { c.Target.Format, c.Target.SHA256 = "rudy", "x" }, ""},
		{func(c *Config) { c.Target.Edges[0].J = 9 }, "target.edges[0]: there is no spin 9; the spins are 0 to 8"},
		{func(c *Config) { c.System = "ising" }, `system: "ising" is not spins`},
	} {
		cfg := configured(t, "best", glass(1, 3, 3), 0.5)
		c.change(cfg)
		if c.want == "" {
			require.NoError(t, cfg.Validate())
		} else {
			require.EqualError(t, cfg.Validate(), c.want)
		}
	}
	_, err := Preset("worst")
	require.EqualError(t, err, `preset: "worst" is not one of quick, paper, best`)
	cfg := configured(t, "best", glass(1, 3, 3), 0.5)
	cfg.Generator.Neighbours, cfg.Generator.Units = 5, 6
	demands := cfg.Demands()
	require.Equal(t, append(cfg.kind().Demands(9), engine.Demand{Key: "target.spins", Bytes: 64 * 64 * 8 * 9}, engine.Demand{Key: "target.edges", Bytes: (8*64 + 200) * 18}), demands)
	require.Equal(t, cfg.Training.Demands(9*(6*(5+2)+1)), demands[:len(demands)-3])
	require.Equal(t, cfg.kind().Explain(), cfg.Explain())

	wrong := configured(t, "best", glass(1, 3, 3), 0.5)
	wrong.Target.Edges[0].J = 9
	require.Contains(t, wrong.Describe(), "there is no spin 9")
	why, err := wrong.Adapt(context.Background())
	require.NoError(t, err)
	require.Empty(t, why)
	_, err = wrong.New(nil)
	require.EqualError(t, err, "target.edges[0]: there is no spin 9; the spins are 0 to 8")
	wrong = configured(t, "best", glass(1, 3, 3), 0.5)
	wrong.Transition.Proposal = "multi-spin"
	_, err = wrong.New(nil)
	require.ErrorContains(t, err, "transition.proposal: ")

	// Σ_j tanh |βJ| of a spin, on average.
	target := TargetConfig{Beta: 0.5, Spins: 4, Edges: []spins.Edge{{I: 0, J: 1, Coupling: 1}, {I: 1, J: 2, Coupling: -2}}}
	require.InDelta(t, 2*(math.Tanh(0.5)+math.Tanh(1))/4, target.coupling(), 1e-12)
}

// TestWords: what is said of targets and of the references that they have.
func TestWords(t *testing.T) {
	g := func(h spins.Hamiltonian) *spins.Graph {
		graph, err := spins.NewGraph(h)
		require.NoError(t, err)
		return graph
	}
	for n, want := range map[int]string{25: "the sum over all 2^25 configurations", 26: "a transfer matrix over at most 1 spins, "} {
		require.True(t, strings.HasPrefix(describeReference(g(chain(n))), want), describeReference(g(chain(n))))
	}
	require.Contains(t, describeReference(g(glass(1, 8, 8, 8))), "parallel tempering, because more than 22 spins have neighbours on both sides of some cut")
	for preset, want := range map[string]string{
		"quick": "1 of 9 spins are learned, each by a network of 16 units that reads at most 24 others; the rest are drawn exactly; reference: the sum over all 2^9 configurations",
		"paper": "the paper's method in 20000 steps, with 36 proposals between s and s′ and Gaussians of bandwidth [1.5]; reference: the sum over all 2^9 configurations",
	} {
		c := configured(t, preset, chain(9), 0.1)
		why, err := c.Adapt(context.Background())
		require.NoError(t, err)
		if preset == "quick" {
			_, counted, _ := strings.Cut(want, " ")
			_, got, _ := strings.Cut(why, " ")
			require.Equal(t, counted, got)
		} else {
			require.Equal(t, want, why)
		}
	}
	workers := pool.New(1)
	defer workers.Close()
	c := configured(t, "quick", glass(1, 3, 3), 0.5)
	for _, labels := range [][]string{nil, {"a", "b", "c", "d", "e", "f", "g", "h", "i"}} {
		c.Target.Labels = labels
		doc := as[*hierarchical](t, c, workers).Formats()[0].Doc
		if labels == nil {
			require.Contains(t, doc, "; spin i has the number i from 0")
		} else {
			require.Contains(t, doc, "; spin i has the label target.labels[i], the first a")
		}
	}
}

// chain couples each of n spins to the next.
func chain(n int) spins.Hamiltonian {
	h := spins.Hamiltonian{Spins: n}
	for i := range n - 1 {
		h.Edges = append(h.Edges, spins.Edge{I: i, J: i + 1, Coupling: 1})
	}
	return h
}

// TestBins: of overlaps.
func TestBins(t *testing.T) {
	for n, each := range map[int]int{1: 1, 39: 1, 40: 2, 79: 2, 80: 3, 1000: 26} {
		b := overlapBins(n)
		require.Equal(t, measure.Bins{Origin: -1 - 1/float64(n), Width: 2 * float64(each) / float64(n), N: n/each + 1}, b)
		for k := range n + 1 { // 2k/n − 1 stands in the middle of the k-th value's place
			require.Equal(t, k/each, b.Of(2*float64(k)/float64(n)-1), "%d of %d", k, n)
		}
		require.LessOrEqual(t, b.N, 41)
	}
}

// TestOverlapLaw compares that by transforms with the double sum, in bins.
func TestOverlapLaw(t *testing.T) {
	const n = 6
	r := rand.New(rand.NewPCG(1, 8))
	p, sum := make([]float64, 1<<n), 0.0
	for i := range p {
		p[i] = r.ExpFloat64()
		sum += p[i]
	}
	b := overlapBins(n)
	want := make([]float64, b.N)
	for i := range p {
		p[i] /= sum
	}
	for i, x := range p {
		for j, y := range p {
			want[b.Of(overlap([]uint64{uint64(i)}, []uint64{uint64(j)}, n))] += x * y
		}
	}
	for k, e := range exactOverlapLaw(p, n) {
		require.InDelta(t, want[k], e.Value, 1e-12)
		require.Zero(t, e.Uncertainty)
	}
	require.Equal(t, 1-2*3.0/70, overlap([]uint64{5, 1}, []uint64{3, 0}, 70))
}

// TestChainSums: averages of configurations of ladders and their errors by the ladders' scatter,
// each by its definition.
func TestChainSums(t *testing.T) {
	h := glass(3, 3, 3)
	for _, fields := range [][]float64{nil, {1, 0, 0, -1, 0, 0, 0, 2, 0}} {
		h.Fields = fields
		g, err := spins.NewGraph(h)
		require.NoError(t, err)
		const rounds, n, beta = 5, 9, 0.7
		r := rand.New(rand.NewPCG(4, 4))
		c := newChainSums(g)
		var energies, abs [rounds][64]float64
		var overlaps [rounds][32]float64
		sums, products := make([][64]float64, n), make([][64]float64, len(h.Edges))
		for round := range rounds {
			batch := make([]uint64, 64)
			for k := range batch {
				batch[k] = r.Uint64() & 511
				energies[round][k] = definedEnergy(&spins.Hamiltonian{Spins: n, Edges: h.Edges, Fields: fields}, batch[k])
				var m float64
				for i := range n {
					s := spins.Spin(batch[k:], i)
					m += s / n
					sums[i][k] += s / rounds
				}
				abs[round][k] = math.Abs(m)
				for e, edge := range g.Edges() {
					products[e][k] += spins.Spin(batch[k:], edge.I) * spins.Spin(batch[k:], edge.J) / rounds
				}
				if k%2 == 1 {
					for i := range n {
						overlaps[round][k/2] += spins.Spin(batch[k:], i) * spins.Spin(batch[k-1:], i) / n
					}
				}
			}
			c.add(batch, energies[round][:])
			c.correlate(batch)
		}
		got := c.reference(beta)
		require.Equal(t, "parallel tempering", got.label)
		u := &got.uncertainty
		// Means over ladders, and their standard errors.
		scatter := func(ladders int, of func(k int) float64) (mean, standardError float64) {
			n := float64(ladders)
			var squares float64
			for k := range ladders {
				mean += of(k) / n
			}
			for k := range ladders {
				squares += (of(k) - mean) * (of(k) - mean)
			}
			return mean, math.Sqrt(squares / (n - 1) / n)
		}
		moments := func(of func(k int) float64) (mean, standardError float64) { return scatter(64, of) }
		var deviation float64 // of the energy
		for _, v := range []struct {
			of                                       [rounds][64]float64
			mean, meanError, scale, got, uncertainty float64
		}{{energies, got.Energy, u.energy, beta * beta, got.SpecificHeat, u.specificHeat}, {abs, got.AbsMagnetisation, u.absMagnetisation, beta * n, got.Susceptibility, u.susceptibility}} {
			all, off := moments(func(k int) (x float64) {
				for round := range rounds {
					x += v.of[round][k] / rounds
				}
				return x
			})
			variance, e := moments(func(k int) (x float64) {
				for round := range rounds {
					x += (v.of[round][k] - all) * (v.of[round][k] - all) / rounds
				}
				return x
			})
			require.InDelta(t, all, v.mean, 1e-12)
			require.InDelta(t, off, v.meanError, 1e-12)
			require.InDelta(t, v.scale*variance, v.got, 1e-10)
			require.InDelta(t, v.scale*e, v.uncertainty, 1e-10)
			if v.scale == beta*beta {
				deviation = math.Sqrt(variance)
			}
		}
		square, off := scatter(32, func(k int) (x float64) {
			for round := range rounds {
				x += overlaps[round][k] * overlaps[round][k] / rounds
			}
			return x
		})
		require.InDelta(t, square, got.OverlapSquare, 1e-12)
		require.InDelta(t, off, u.overlapSquare, 1e-12)
		var spinError, edgeError float64
		for i := range n {
			mean, e := moments(func(k int) float64 { return sums[i][k] })
			if fields == nil {
				mean, e = 0, 0
			}
			require.InDelta(t, mean, got.Magnetisations[i], 1e-12)
			spinError += e / n
		}
		for i := range products {
			mean, e := moments(func(k int) float64 { return products[i][k] })
			require.InDelta(t, mean, got.EdgeCorrelations[i], 1e-12)
			edgeError += e / float64(len(products))
		}
		require.InDelta(t, spinError, u.magnetisations, 1e-12)
		require.InDelta(t, edgeError, u.edgeCorrelations, 1e-12)
		var first []float64 // of the first ladder
		for round := range rounds {
			first = append(first, energies[round][0])
		}
		require.Equal(t, measure.BinsOf(first, got.Energy, deviation), got.energies)
		for i, e := range got.energyLaw {
			mean, of := moments(func(k int) (x float64) {
				for round := range rounds {
					if got.energies.Of(energies[round][k]) == i {
						x += 1.0 / rounds
					}
				}
				return x
			})
			require.InDelta(t, mean, e.Value, 1e-12)
			require.InDelta(t, of, e.Uncertainty, 1e-12)
		}
		var total float64
		for i, e := range got.overlapLaw {
			var mean float64
			for round := range rounds {
				for _, q := range overlaps[round] {
					if overlapBins(n).Of(q) == i {
						mean += 1.0 / rounds / 32
					}
				}
			}
			require.InDelta(t, mean, e.Value, 1e-12)
			total += e.Value
		}
		require.InDelta(t, 1, total, 1e-12)
	}
}

// TestReferenceBySums: the law of the energy is in bins that hold all levels, ln Z is that of
// the sum, and configurations are listed up to twenty spins.
func TestReferenceBySums(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	h := glass(3, 3, 3)
	for _, coupling := range []float64{1, 0.37} {
		for i := range h.Edges {
			h.Edges[i].Coupling *= coupling
		}
		c := configured(t, "quick", h, 0.6)
		s := as[*hierarchical](t, c, workers)
		r, err := s.reference(context.Background())
		require.NoError(t, err)
		levels := map[int]float64{}
		var z, e, square float64
		for config := range uint64(512) {
			x := definedEnergy(&h, config)
			w := math.Exp(-0.6 * x)
			z, e, square = z+w, e+w*x, square+w*x*x
			levels[r.energies.Of(x)] += w
		}
		for i, p := range r.energyLaw {
			if coupling == 1 {
				require.InDelta(t, levels[i]/z, p.Value, 1e-12)
			}
		}
		require.InDelta(t, 0.36*(square/z-e*e/z/z), r.SpecificHeat, 1e-9)
		for config, p := range r.states {
			require.InDelta(t, math.Exp(-0.6*definedEnergy(&h, uint64(config)))/z, p, 1e-12)
		}
		value, standardError, err := s.LogZ(context.Background())
		require.NoError(t, err)
		require.InDelta(t, math.Log(z), value, 1e-12)
		require.Zero(t, standardError)
	}
	c := configured(t, "quick", chain(21), 0.5)
	r, err := as[*hierarchical](t, c, workers).reference(context.Background())
	require.NoError(t, err)
	require.Nil(t, r.states)
	require.Nil(t, r.overlapLaw)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, n := range []int{10, 30} {
		s := as[*hierarchical](t, configured(t, "quick", chain(n), 0.5), workers)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		_, err := s.Evaluate(ended, params, 10)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Figures(ended, params, 10)
		require.ErrorIs(t, err, context.Canceled)
		_, _, err = s.LogZ(ended)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// TestChains are the coldest ones of parallel tempering from the first step on.
func TestChains(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := configured(t, "quick", glass(2, 3, 3), 0.5)
	c.Training.Seed = 5
	s := as[*hierarchical](t, c, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	for _, n := range []int{10, 64, 70} {
		w, err := s.Chains(params, n)
		require.NoError(t, err)
		require.NoError(t, w.Advance(t.Context(), 5))
		l, err := s.Temper(t.Context(), 0, n, 256)
		require.NoError(t, err)
		require.NoError(t, l.Advance(t.Context(), 5))
		want, _ := l.Coldest()
		states := make([]byte, 8*n)
		require.NoError(t, w.States(states, "bits"))
		read, err := s.States.Read("bits", states)
		require.NoError(t, err)
		require.Equal(t, want, read)
		require.Equal(t, len(l.Betas()), w.(chains.LevelledWalk).Levels())
	}
	values := make([]float64, 2*6)
	s.Observe(values, 6, []uint64{0, 7})
	for k, config := range []uint64{0, 7} {
		e, m := definedEnergy(&spins.Hamiltonian{Spins: 9, Edges: c.Target.Edges}, config), float64(2*3*k-9)/9
		require.InDeltaSlice(t, []float64{e, e * e, m, math.Abs(m), m * m, 0}, values[6*k:][:6], 1e-12)
	}
	require.Equal(t, []string{"energy", "energy_squared", "magnetisation", "abs_magnetisation", "magnetisation_squared"}, s.Names)
	require.Equal(t, -1, slices.Index(s.Names, "log_weight"))
}

// TestReferencesFallBack: weights that are further apart than a transfer matrix holds, and graphs
// that have none, are left to parallel tempering.
func TestReferencesFallBack(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, c := range []struct {
		h    spins.Hamiltonian
		beta float64
	}{{glass(1, 3, 3, 3), 80}, {glass(1, 6, 6, 6), 0.1}} {
		s := as[*hierarchical](t, configured(t, "quick", c.h, c.beta), workers)
		_, err := s.newReference(ctxtest.CancelAfter(context.Background(), 100))
		require.EqualError(t, err, "parallel tempering: context canceled")
	}
}

// TestManyEdges: how many there may be.
func TestManyEdges(t *testing.T) {
	long.SkipShort(t)
	h := spins.Hamiltonian{Spins: 800}
	for i := range 800 {
		for j := range i {
			if len(h.Edges) <= maxEdges {
				h.Edges = append(h.Edges, spins.Edge{I: i, J: j, Coupling: 0.1})
			}
		}
	}
	c := configured(t, "quick", chain(3), 0.1)
	c.Target.Spins, c.Target.Edges = h.Spins, h.Edges
	require.EqualError(t, c.Validate(), "target.edges: 262145 are more than 262144")
	c.Target.Edges = h.Edges[1:]
	if err := c.Validate(); err != nil {
		require.NotContains(t, err.Error(), "edges")
	}
}

// TestNew: what cannot be built says why.
func TestNew(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, c := range []struct {
		preset string
		change func(c *Config)
		want   string
	}{
		{"quick", func(c *Config) { c.Training.Batch = 100 }, "training.batch: 100 is not a multiple of 64 up to 1048576"},
		{"quick", func(c *Config) { c.Generator.Neighbours = 65 }, "generator.neighbours: 65 is not between 1 and 64"},
		{"quick", func(c *Config) { c.Transition.Proposal = "multi-spin" }, `transition.proposal: "multi-spin" is for lattices; a graph takes single, mixture or sweep`},
		{"paper", func(c *Config) { c.Transition.Proposal = "multi-spin" }, `transition.proposal: "multi-spin" is for lattices; a graph takes single, mixture or sweep`},
	} {
		config := configured(t, c.preset, chain(5), 0.5)
		c.change(config)
		built, err := config.New(workers)
		require.EqualError(t, err, c.want)
		require.Nil(t, built)
	}
}

// TestUnsettled: where the reference's chains do not agree, the rows that are compared with them
// judge nothing, those with an exact value do.
func TestUnsettled(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, preset := range []string{"quick", "paper"} {
		for _, warnings := range [][]string{nil, {"the reference has not converged"}} {
			c := configured(t, preset, glass(2, 3, 3), 0.5)
			built, err := c.New(workers)
			require.NoError(t, err)
			var s *evaluator
			switch of := built.(type) {
			case *hierarchical:
				s = of.evaluator
			case *system:
				s = of.evaluator
			}
			_, err = s.referenceCache.Get(func() (*reference, error) {
				r, err := s.newReference(t.Context())
				r.warnings, r.logZError, r.uncertainty.energy = warnings, 0.1, 0.2
				return r, err
			})
			require.NoError(t, err)
			params := make([]float32, built.NumParams())
			built.Initialize(params)
			e, err := s.Evaluate(t.Context(), params, 1000)
			require.NoError(t, err)
			for _, warning := range warnings {
				require.Contains(t, e.Warnings, warning)
			}
			var unsettled []string
			for _, m := range e.Metrics {
				if m.Unsettled {
					unsettled = append(unsettled, m.Name)
				}
			}
			want := map[string][]string{"quick": {"energy", "log_z", "kl_by_density"}, "paper": {"energy"}}[preset]
			if warnings == nil {
				want = nil
			}
			require.Equal(t, want, unsettled, preset)
		}
	}
}
