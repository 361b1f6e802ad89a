package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// as builds the system of a configuration, of the type that its generator has.
func as[S any](t *testing.T, c *Config, workers *pool.Pool) S {
	t.Helper()
	s, err := c.New(workers)
	require.NoError(t, err)
	return any(s).(S)
}

var systems = catalogue.Systems{Definition}

// glass returns a ±J glass on a periodic lattice of the given sides.
func glass(seed uint64, sides ...int) spins.Hamiltonian {
	r := rand.New(rand.NewPCG(seed, 0))
	h := spins.Hamiltonian{Spins: 1}
	for _, side := range sides {
		h.Spins *= side
	}
	for i := range h.Spins {
		stride := 1
		for _, side := range sides {
			at := i / stride % side
			if j := i + stride*((at+1)%side-at); side > 2 || at == 0 {
				h.Edges = append(h.Edges, spins.Edge{I: i, J: j, Coupling: float64(2*r.IntN(2) - 1)})
			}
			stride *= side
		}
	}
	return h
}

func configured(t *testing.T, preset string, h spins.Hamiltonian, beta float64) *Config {
	t.Helper()
	c, err := Preset(preset)
	require.NoError(t, err)
	c.Target.Beta, c.Target.Spins, c.Target.Edges, c.Target.Fields, c.Target.Offset, c.Target.Labels = beta, h.Spins, h.Edges, h.Fields, h.Offset, h.Labels
	why, err := c.Adapt(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, why)
	require.NoError(t, c.Validate())
	return c
}

func TestContract(t *testing.T) {
	long.SkipShort(t)
	before := firstWork
	firstWork = 1 << 25
	defer func() { firstWork = before }()
	field := glass(2, 3, 3)
	field.Fields, field.Offset = []float64{0.1, -0.2, 0.3, 0, 0, 0.5, -1, 0.1, 0.2}, 1.5
	large := glass(3, 5, 4, 4) // two words, and no exact reference
	for name, h := range map[string]spins.Hamiltonian{"a field": field, "two words": large} {
		for _, preset := range []string{"quick", "paper"} {
			t.Run(name+", "+preset, func(t *testing.T) {
				c := configured(t, preset, h, 0.4)
				c.Training.Batch, c.Evaluation.Samples, c.Generator.Hidden = 64, 300, []int{16}
				systemtest.Run(t, c)
			})
		}
		t.Run(name+", by moves", func(t *testing.T) {
			c := configured(t, "quick", h, 0.4)
			c.Training.Batch, c.Evaluation.Samples, c.Loss.Partners, c.Transition.Proposal = 64, 300, 0, "single"
			systemtest.Run(t, c)
		})
	}
}

// TestOperations: a diagnosis asks how many couplings a sweep computes.
func TestOperations(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := configured(t, "quick", glass(2, 3, 3), 0.4)
	s, err := c.New(workers)
	require.NoError(t, err)
	require.Equal(t, 18, s.(interface{ Operations() int }).Operations())
}

func TestVerify(t *testing.T) {
	systemtest.Checks(t, func(workers *pool.Pool, emit func(engine.Check)) error { return Verify(t.Context(), workers, emit) })
}

// TestChecksCanFail breaks what each check looks at.
func TestChecksCanFail(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for name, breaks := range map[string]func(v *subject){
		"formats": func(v *subject) {
			parse := v.parse
			v.parse = func(f spins.Format, text string) (*spins.Graph, error) {
				if f != spins.Rudy {
					return parse(f, text)
				}
				r, err := spins.Source{File: "text", Format: f, Sign: spins.SignCoupling}.Parse([]byte(text))
				return r.Graph, err
			}
		},
		"energies": func(v *subject) {
			v.energy = func(g *spins.Graph, s []uint64) float64 { return g.Energy(s) - g.Offset() }
		},
		"energy-differences": func(v *subject) {
			v.difference = func(g *spins.Graph, s []uint64, i int) float64 { return g.Difference(s, i) * (1 + 1e-9) }
		},
		"enumeration": func(v *subject) {
			v.enumeration = func(ctx context.Context, g *spins.Graph, beta float64, threads int) (*spins.Exact, error) {
				return spins.Enumerate(ctx, g, beta*(1+1e-6), threads)
			}
		},
		"sweeps": func(v *subject) {
			v.sweep = func(s *spins.Sweeper, batch []uint64, sweeps int) {
				for i := range batch {
					if i%4 == 0 {
						batch[i] ^= 1
					}
				}
			}
		},
		"density": func(v *subject) {
			v.logDensity = func(s *hierarchical, params []float32, logq []float64, batch []uint64) {
				s.logDensity(params, logq, batch)
				for i := range logq {
					logq[i] *= 1 + 1e-4
				}
			}
		},
		"gradient": func(v *subject) {
			v.gradient = func(s *hierarchy.System, params, grad []float32) {
				s.Backward(params, grad)
				for i := range grad {
					if i%7 == 0 {
						grad[i] = -grad[i]
					}
				}
			}
		},
	} {
		v := newSubject(workers)
		breaks(v)
		failed := []string{}
		require.NoError(t, v.verify(context.Background(), func(c engine.Check) {
			if !c.OK {
				failed = append(failed, c.Name)
			}
		}))
		require.Equal(t, []string{name}, failed)
	}
}

// TestTrainedModel trains on a glass in a field that can be enumerated, verifies
// it, and breaks what the checks of a model look at.
func TestTrainedModel(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	h := glass(4, 4, 3)
	h.Fields, h.Offset = make([]float64, h.Spins), -3.5
	for i := range h.Fields {
		h.Fields[i] = 0.1 * float64(i%5)
	}
	c := configured(t, "best", h, 1)
	c.Training.Steps, c.Evaluation.Samples = 500, 20_000
	result, err := run.Train(context.Background(), c, workers, run.Options{})
	require.NoError(t, err)
	agrees(t, result.Evaluation, 0.97)

	s := as[*hierarchical](t, c, workers)
	failed := func(params []float32, logDensity func(logq []float64, batch []uint64)) (names []string) {
		require.NoError(t, s.verifyModel(context.Background(), params, 20_000, logDensity, func(c engine.Check) {
			if !c.OK {
				names = append(names, c.Name)
			}
		}))
		return names
	}
	right := func(logq []float64, batch []uint64) { s.logDensity(result.Params, logq, batch) }
	require.Empty(t, failed(result.Params, right))
	require.Equal(t, []string{"model.density", "model.log-z"}, failed(result.Params, func(logq []float64, batch []uint64) {
		right(logq, batch)
		for i := range logq {
			logq[i] += 1e-4
		}
	}))
	fresh := make([]float32, len(result.Params))
	s.Initialize(fresh)
	require.Contains(t, failed(fresh, right), "model.samples", "samples of another generator")
	require.NoError(t, s.VerifyModel(context.Background(), result.Params, 20_000, func(c engine.Check) { require.True(t, c.OK, "%+v", c) }))
}

// TestChecksOfModels computes what the checks of a model find by loops over configurations
// and samples.
func TestChecksOfModels(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	const n, beta, samples = 6, 0.7, 500
	h, g := example(n, 3)
	c := configured(t, "quick", h, beta)
	s := as[*hierarchical](t, c, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	for i := range params {
		params[i] += 0.1 * float32(i%3)
	}
	// A density that is not the generator's.
	wrong := func(logq []float64, batch []uint64) {
		s.logDensity(params, logq, batch)
		for i, config := range batch {
			logq[i] += 0.01 + 0.02*float64(config&3)
		}
	}
	all, logq := listDensities(n, wrong)
	batch, mean, square := make([]uint64, samples), 0., 0.
	s.NewDraws(params).Generate(batch, nil, 0)
	for _, config := range batch {
		mean += logq[config] / samples
	}
	for _, config := range batch {
		square += (logq[config] - mean) * (logq[config] - mean) / (samples - 1)
	}
	var sum, entropy, z, weights float64
	r := make([]float64, len(all))
	s.Model().NewSampler(params, workers).R(r, all)
	for i, l := range logq {
		sum += math.Exp(l)
		entropy += l * math.Exp(l)
		z += math.Exp(-beta * definedEnergy(&h, all[i]))
		weights += math.Exp(l - r[i])
	}
	far := math.Abs(mean-entropy) / math.Sqrt(square/samples)
	average := func(f func(config uint64) float64) {
		var want, got float64
		for i, config := range all {
			want += math.Exp(logq[i]) * f(config)
		}
		for _, config := range batch {
			got += f(config) / samples
		}
		far = max(far, math.Abs(got-want)/math.Sqrt((1-want*want+1e-6)/samples))
	}
	spin := func(config uint64, i int) float64 { return float64(config>>i&1)*2 - 1 }
	for i := range n {
		average(func(config uint64) float64 { return spin(config, i) })
	}
	for _, e := range g.Edges() {
		average(func(config uint64) float64 { return spin(config, e.I) * spin(config, e.J) })
	}
	want := map[string]engine.Check{
		"model.density": {Value: math.Abs(sum - 1), Bound: 1e-5, Detail: "|Σ q − 1| over all 64 configurations"},
		"model.samples": {Value: far, Bound: math.Sqrt2 * math.Erfinv(1-1e-6/float64(n+len(g.Edges())+1)),
			Detail: "largest deviation of ln q, ⟨s_i⟩ and ⟨s_i s_j⟩ of 500 samples from their averages under q, in standard errors"},
		"model.log-z": {Value: math.Abs(math.Log(weights / z)), Bound: 1e-5},
	}
	require.NoError(t, s.verifyModel(t.Context(), params, samples, wrong, func(c engine.Check) {
		w := want[c.Name]
		delete(want, c.Name)
		require.InDelta(t, w.Value, c.Value, 1e-8, c.Name)
		require.InDelta(t, w.Bound, c.Bound, 1e-12, c.Name)
		require.Contains(t, c.Detail, w.Detail)
		require.Equal(t, c.Value <= c.Bound, c.OK)
	}))
	require.Empty(t, want)
}

// agrees holds a table against its reference: nothing further off than exact
// samples are once in 10⁷, the reference's own error included.
func agrees(t *testing.T, e *measure.Evaluation, least float64) {
	t.Helper()
	const far = 5.4
	seen := map[string]bool{}
	for _, m := range e.Metrics {
		seen[m.Name] = true
		switch m.Name {
		case "effective_sample_size":
			require.Greater(t, m.Generated, least)
		case "log_z":
			se := math.Hypot((m.Interval[1]-m.Interval[0])/2/1.96, m.Uncertainty)
			require.Less(t, m.Error, far*se+1e-6, "%+v", m)
		}
	}
	for _, name := range []string{"energy", "specific_heat", "abs_magnetisation", "susceptibility", "overlap_square", "magnetisation", "edge_correlation",
		"energy_histogram", "effective_sample_size", "log_z", "kl_by_density"} {
		require.True(t, seen[name], name)
	}
}

// TestAgreesWithTransferMatrix trains on graphs that are too large to enumerate: a
// glass, and a Max-Cut problem of a file.
func TestAgreesWithTransferMatrix(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	r := rand.New(rand.NewPCG(6, 0))
	var cut strings.Builder
	fmt.Fprintln(&cut, 28, 14*28/10)
	for _, k := range r.Perm(27 * 28 / 2)[:14*28/10] {
		j := 1
		for ; k >= j; j++ {
			k -= j
		}
		fmt.Fprintln(&cut, k+1, j+1, 1)
	}
	maxCut, err := resolve(write(t, "g.txt", cut.String()), "target.beta=0.8")
	require.NoError(t, err)
	for name, c := range map[string]*Config{"glass": configured(t, "quick", glass(5, 3, 3, 3), 0.8), "Max-Cut": maxCut} {
		c.Training.Steps, c.Evaluation.Samples = 600, 20_000
		result, err := run.Train(context.Background(), c, workers, run.Options{})
		require.NoError(t, err)
		agrees(t, result.Evaluation, 0.97)
		for _, m := range result.Evaluation.Metrics {
			if m.Name == "energy" {
				require.Zero(t, m.Uncertainty, name)
				require.Less(t, m.Error, 0.003+5.4*m.Floor*math.Sqrt(math.Pi/2), name)
			}
		}
	}
}

// TestTemperingIsEnumeration: both references of one graph agree.
func TestTemperingIsEnumeration(t *testing.T) {
	if testing.Short() {
		t.Skip("tempers for long")
	}
	workers := pool.New(2)
	defer workers.Close()
	h := glass(6, 4, 4)
	h.Fields = make([]float64, h.Spins)
	h.Fields[3], h.Offset = 0.7, 2
	c := configured(t, "quick", h, 0.9)
	s := as[*hierarchical](t, c, workers)
	exact, err := s.newReference(context.Background())
	require.NoError(t, err)
	require.Zero(t, exact.uncertainty)
	got, err := s.temperingReference(context.Background())
	require.NoError(t, err)
	require.Empty(t, got.warnings)
	transfers(t, s, exact)
	const far = 6 // of standard errors of 64 ladders
	for name, of := range map[string][3]float64{
		"energy": {exact.Energy, got.Energy, got.uncertainty.energy}, "C": {exact.SpecificHeat, got.SpecificHeat, got.uncertainty.specificHeat},
		"|m|": {exact.AbsMagnetisation, got.AbsMagnetisation, got.uncertainty.absMagnetisation}, "χ": {exact.Susceptibility, got.Susceptibility, got.uncertainty.susceptibility},
		"q²": {exact.OverlapSquare, got.OverlapSquare, got.uncertainty.overlapSquare}, "ln Z": {exact.logZ, got.logZ, got.logZError},
	} {
		require.Positive(t, of[2], name)
		require.InDelta(t, of[0], of[1], far*of[2], name)
	}
	for i, m := range exact.Magnetisations {
		require.InDelta(t, m, got.Magnetisations[i], 20*got.uncertainty.magnetisations)
	}
	for i, m := range exact.EdgeCorrelations {
		require.InDelta(t, m, got.EdgeCorrelations[i], 20*got.uncertainty.edgeCorrelations)
	}
	mass := 0.0
	for k, e := range exact.overlapLaw {
		require.InDelta(t, e.Value, got.overlapLaw[k].Value, 8*got.overlapLaw[k].Uncertainty+1e-3)
		mass += e.Value
	}
	require.InDelta(t, 1, mass, 1e-9)
	mean := 0.0
	for k, e := range exact.energyLaw {
		mean += e.Value * exact.energies.Centre(k)
	}
	require.InDelta(t, exact.Energy, mean, exact.energies.Width/2)
}

// transfers holds the reference by a transfer matrix against that by enumeration.
func transfers(t *testing.T, s *hierarchical, exact *reference) {
	t.Helper()
	m, err := spins.NewTransfer(s.graph)
	require.NoError(t, err)
	got, err := s.transferReference(context.Background(), m)
	require.NoError(t, err)
	require.Zero(t, got.uncertainty)
	require.Zero(t, got.logZError)
	require.InDelta(t, exact.logZ, got.logZ, 1e-10)
	require.InDelta(t, exact.Energy, got.Energy, 1e-10)
	require.InDelta(t, exact.OverlapSquare, got.OverlapSquare, 1e-10)
	require.InDeltaSlice(t, exact.Magnetisations, got.Magnetisations, 1e-10)
	require.InDeltaSlice(t, exact.EdgeCorrelations, got.EdgeCorrelations, 1e-10)
	deviation := math.Sqrt(exact.SpecificHeat) / s.config.Target.Beta
	// Laws are those of draws.
	for k, e := range exact.overlapLaw {
		require.InDelta(t, e.Value, got.overlapLaw[k].Value, 8*got.overlapLaw[k].Uncertainty+1e-4)
	}
	mean := 0.0
	for k, e := range got.energyLaw {
		mean += e.Value * got.energies.Centre(k)
	}
	require.InDelta(t, exact.Energy, mean, got.energies.Width/2+0.01*deviation)
	// These are 2¹⁸ in 64 groups; overlaps are of one with the next.
	sums, err := m.Sum(t.Context(), s.config.Target.Beta, 1)
	require.NoError(t, err)
	const draws, groups = 1 << 18, 64
	require.Equal(t, 1, s.graph.Words())
	batch, energies := make([]uint64, draws), make([]float64, draws)
	sums.Draw(batch, rng.Stream(s.config.Training.Seed, rng.Reference, 0), 0)
	s.graph.Energies(energies, batch)
	require.InEpsilon(t, deviation, gonum.StdDev(energies, nil), 0.02)
	bins := measure.BinsOf(energies, got.Energy, gonum.StdDev(energies, nil))
	require.InDeltaSlice(t, []float64{bins.Origin, bins.Width, float64(bins.N)}, []float64{got.energies.Origin, got.energies.Width, float64(got.energies.N)}, 1e-9)
	law := func(values []float64, b measure.Bins, got []measure.Estimate) {
		t.Helper()
		require.Len(t, got, b.N)
		shares := make([][]float64, b.N)
		for i := range shares {
			shares[i] = make([]float64, groups)
		}
		for k, x := range values {
			shares[b.Of(x)][k*groups/len(values)] += groups / float64(len(values))
		}
		for i, share := range shares {
			mean, deviation := gonum.MeanStdDev(share, nil)
			require.InDelta(t, mean, got[i].Value, 1e-12)
			require.InDelta(t, deviation/8, got[i].Uncertainty, 1e-12)
		}
	}
	law(energies, got.energies, got.energyLaw)
	n, overlaps := s.graph.N(), make([]float64, draws/2)
	for k := range overlaps {
		overlaps[k] = 1 - 2*float64(bits.OnesCount64(batch[2*k]^batch[2*k+1]))/float64(n)
	}
	law(overlaps, overlapBins(n), got.overlapLaw)
}

// TestExtentOfTempering: one unit of work for each spin and edge of 64 chains and the root of the
// number of spins, of at least 256 rounds, of which there are twice as many until chains agree.
func TestExtentOfTempering(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	before := firstWork
	defer func() { firstWork = before }()
	for _, c := range []struct {
		work   float64
		rounds int
	}{{1, 256}, {64 * 16 * 3 * 300, 300}} {
		h := glass(3, 3, 3)
		h.Edges = h.Edges[:7] // with nine spins 16 in all
		s := as[*hierarchical](t, configured(t, "quick", h, 0.3), workers)
		s.config.Training.Seed = 5
		firstWork = c.work
		got, err := s.temperingReference(t.Context())
		require.NoError(t, err)
		require.Empty(t, got.warnings)
		for rounds := c.rounds; ; rounds *= 2 {
			l, err := s.Temper(t.Context(), rng.OfReference, 64, rounds/2)
			require.NoError(t, err)
			sums := newChainSums(s.graph)
			logZ, err := l.Measure(t.Context(), rounds, 9*math.Ln2, func(round int) {
				batch, energies := l.Coldest()
				sums.add(batch, energies)
				if round%4 == 3 {
					sums.correlate(batch)
				}
			})
			require.NoError(t, err)
			want, worst := sums.reference(0.3), 0.0
			for _, chains := range [][][]float64{sums.energies, sums.abs, sums.squares} {
				worst = max(worst, stat.Chains(stat.Interleaved(chains), len(chains)).RHat)
			}
			if worst <= 1.01 {
				want.logZ, want.logZError = logZ.Value, logZ.Uncertainty
				require.Equal(t, want, got)
				break
			}
		}
	}
	s := as[*hierarchical](t, configured(t, "quick", glass(3, 3, 3), 0), workers)
	firstWork = 1
	limit := memory.Limit
	defer func() { memory.Limit = limit }()
	memory.Limit = func() float64 { return 2*24*64*256 - 1 }
	_, err := s.temperingReference(t.Context())
	require.EqualError(t, err, "parallel tempering: the energies of 256 rounds of 64 chains take 0.000366 GiB, and there are 0.000732")
	memory.Limit = func() float64 { return 2 * 24 * 64 * 256 }
	if _, err = s.temperingReference(t.Context()); err != nil {
		require.ErrorContains(t, err, "the energies of 512 rounds")
	}
}

// TestWarnings: a generator at its start is so far from a cold glass that weights
// are needed, and the table says so.
func TestWarnings(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := configured(t, "quick", glass(7, 4, 4), 2)
	c.Evaluation.Samples = 2000
	s := as[*hierarchical](t, c, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	e, err := s.Evaluate(context.Background(), params, 2000)
	require.NoError(t, err)
	require.Len(t, e.Warnings, 1)
	require.Contains(t, e.Warnings[0], "use their weights")
	require.True(t, e.Weights.Trusted())
	few, err := s.Evaluate(context.Background(), params, 100)
	require.NoError(t, err)
	require.Empty(t, few.Warnings, "nobody is told to use weights that cannot be trusted")
	require.Contains(t, few.Weights.Warning, "can be trusted")
	for _, m := range e.Metrics {
		if m.Name == "energy" {
			require.Greater(t, m.Error, 100*m.Floor)
		}
	}
}

// TestWeightedSamples: weights reweight a generator that is far off, and their
// mean is Z, the offset included.
func TestWeightedSamples(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	h := glass(8, 3, 3)
	h.Offset = 4
	c := configured(t, "quick", h, 0.3)
	s := as[*hierarchical](t, c, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	const n, sites = 50_000, 9
	dst := make([]byte, n*(sites+8))
	require.NoError(t, s.Sample(dst, "weighted", params, 0, n, 0))
	var weights, energies float64
	for ; len(dst) > 0; dst = dst[sites+8:] {
		var config uint64
		for i, b := range dst[:sites] {
			if int8(b) > 0 {
				config |= 1 << i
			}
		}
		w := math.Exp(math.Float64frombits(binary.LittleEndian.Uint64(dst[sites:]))) / n
		weights += w
		energies += w * definedEnergy(&h, config)
	}
	exact, err := s.newReference(context.Background())
	require.NoError(t, err)
	require.InDelta(t, exact.logZ, math.Log(weights), 0.05)
	require.InDelta(t, exact.Energy, energies/weights, 0.2)
}

// TestStates: energies of samples in either format are those of the definition, and
// refining samples in place gives what sampling with refinement does.
func TestStates(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	h := glass(8, 9, 8)
	h.Offset = 0.5
	s := as[*hierarchical](t, configured(t, "quick", h, 0.7), workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	const n, first, sweeps = 600, 512, 2
	for format, row := range map[string]int{"spins": 72, "bits": 16} {
		plain, refined := make([]byte, n*row), make([]byte, n*row)
		require.NoError(t, s.Sample(plain, format, params, first, n, 0))
		require.NoError(t, s.Sample(refined, format, params, first, n, sweeps))
		energies := make([]float64, n)
		beta, err := s.Energies(energies, format, plain)
		require.NoError(t, err)
		require.Equal(t, 0.7, beta)
		for k, e := range energies {
			want := h.Offset
			for _, c := range h.Edges {
				sign := func(i int) float64 {
					if format == "spins" {
						return float64(int8(plain[k*row+i]))
					}
					return float64(int(plain[k*row+i/8]>>(i%8)&1)*2 - 1)
				}
				want -= c.Coupling * sign(c.I) * sign(c.J)
			}
			require.InDelta(t, want, e, 1e-9)
		}
		require.NoError(t, s.Refine(plain, format, first, sweeps))
		require.Equal(t, refined, plain, format)
		_, err = s.Energies(energies[1:], format, plain)
		require.Error(t, err)
	}
}

// TestInherit: a generator at one temperature starts the next with the same
// weights, also where the spins' order is another.
func TestInherit(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	h, _ := example(16, 9)
	h.Fields = nil
	at := func(beta float64) *hierarchical {
		s := as[*hierarchical](t, configured(t, "quick", h, beta), workers)
		return s
	}
	from, to := at(0.3), at(0.3)
	theirs, mine := make([]float32, from.NumParams()), make([]float32, to.NumParams())
	for i := range theirs {
		theirs[i] = float32(i%11) - 5
	}
	require.NoError(t, to.Inherit(mine, from, theirs))
	require.Equal(t, theirs, mine)
	warm := at(1.2)
	mine = make([]float32, warm.NumParams())
	require.NoError(t, warm.Inherit(mine, from, theirs))
	require.NotZero(t, mine[0])
}

// TestMovesAlone trains by moves alone, with a density: of a 3×3 glass at β = 1 a thousand
// samples are worth 990 and more, and ln Z is right within five standard errors.
func TestMovesAlone(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := configured(t, "best", glass(4, 3, 3), 1)
	why, err := c.Adapt(t.Context())
	require.NoError(t, err)
	require.Contains(t, why, "spins are learned")
	require.Contains(t, c.Explain(), "heat-bath sweep")
	c.Loss.Partners, c.Training.Steps, c.Training.Batch, c.Evaluation.Samples = 0, 1000, 256, 20_000
	result, err := run.Train(t.Context(), c, workers, run.Options{})
	require.NoError(t, err)
	for _, m := range result.Evaluation.Metrics {
		switch m.Name {
		case "effective_sample_size":
			require.Less(t, m.Error, 0.01)
		case "log_z":
			require.Less(t, m.Error, 5*m.Floor+1e-6)
		}
	}
}

// TestThePapersMethod trains a perceptron by moves alone on a small glass, without
// and in a field, where flips of all spins are proposals like any other.
func TestThePapersMethod(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	workers := pool.New(2)
	defer workers.Close()
	plain, field := glass(4, 3, 3), glass(4, 3, 3)
	field.Fields = []float64{0.5, -0.5, 0.25, 0, 0, 0, 1, 0, -0.25}
	for name, h := range map[string]spins.Hamiltonian{"no field": plain, "a field": field} {
		c := configured(t, "paper", h, 0.5)
		require.Equal(t, 36, c.Transition.Steps, name)
		require.Equal(t, []float64{1.5, 3}, c.Loss.Kernel.Bandwidths, name)
		c.Training.Steps, c.Training.Batch, c.Evaluation.Samples = 600, 256, 20_000
		c.Training.Schedule.Milestones = []int{400, 500}
		result, err := run.Train(context.Background(), c, workers, run.Options{})
		require.NoError(t, err)
		s := as[*system](t, c, workers)
		fresh := make([]float32, s.NumParams())
		s.Initialize(fresh)
		before, err := s.Evaluate(context.Background(), fresh, 20_000)
		require.NoError(t, err)
		for i, m := range result.Evaluation.Metrics {
			if m.Name == "total_variation" {
				t.Logf("%s: %.3f, %.3f at the start", name, m.Error, before.Metrics[i].Error)
				require.Less(t, m.Error, before.Metrics[i].Error/3, name)
			}
			require.NotEqual(t, "log_z", m.Name, "a perceptron has no density")
		}
		require.ErrorContains(t, s.Sample(make([]byte, 17), "weighted", result.Params, 0, 1, 0), "format:")
	}
}

// TestNothingToLearn: all spins of a star are drawn exactly.
func TestNothingToLearn(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	star := spins.Hamiltonian{Spins: 3, Edges: []spins.Edge{{I: 0, J: 1, Coupling: 1}, {I: 0, J: 2, Coupling: -2}}}
	c := configured(t, "quick", star, 1)
	c.Training.Steps, c.Evaluation.Samples = 2, 1000
	result, err := run.Train(context.Background(), c, workers, run.Options{})
	require.NoError(t, err)
	require.Empty(t, result.Params)
	require.Empty(t, result.Evaluation.Warnings)
}

// write stores a file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func resolve(path string, set ...string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	from, ok := systems.Recognise(data, path)
	if !ok {
		return nil, fmt.Errorf("not recognised")
	}
	from.Set = set
	cfg, _, err := systems.Resolve(context.Background(), from)
	if err != nil {
		return nil, err
	}
	return cfg.(*Config), nil
}

func TestFilesAreRecognised(t *testing.T) {
	for name, text := range map[string]string{
		"revgen": `{"spins": 2, "edges": [[0, 1, 0.5]]}`, "rudy": "# a comment\n2 1\n1 2 1e0\n", "coo": "# vartype=SPIN\n0 1 -1.5\n",
		"qubo": "c comment\np qubo 0 2 1 1\n0 0 1\n0 1 2\n",
		"bqpjson": `{"version": "1.0.0", "id": 1, "metadata": {}, "variable_ids": [0, 1], "variable_domain": "boolean", "scale": 1, "offset": 0,
			"linear_terms": [], "quadratic_terms": [{"id_tail": 0, "id_head": 1, "coeff": 1}]}`,
	} {
		path := write(t, "glass.txt", text)
		c, err := resolve(path, "target.beta=0.5")
		require.NoError(t, err, name)
		require.Equal(t, spins.Format(name), c.Target.Format)
		require.Len(t, c.Target.SHA256, 64)
		require.Contains(t, c.Describe(), "E = ")
		require.Equal(t, 0.5, c.Target.Beta)
		// The model does not need the file, and reads back the same.
		text, err := conf.Encode(c)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		back, err := run.DecodeConfig(systems, text, "model.rvg")
		require.NoError(t, err)
		require.Equal(t, c, back)
		again, _, err := systems.Resolve(t.Context(), catalogue.Source{Text: text, File: "config.json"})
		require.NoError(t, err)
		require.Equal(t, c, again)
	}
	for _, text := range []string{"", "hello world\n", `{"system": "spins", "edges": []}`, `{"a": 1}`, `[1]`, "\x00\x01"} {
		_, ok := systems.Recognise([]byte(text), "x")
		require.False(t, ok, "%q", text)
	}
}

func TestFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"3 2\n1 2 1\n2 2 1\n":                                  ":3: spin 2 is coupled to itself",
		"3 2\n1 2 1\n2 1 1\n":                                  ":3: spins 2 and 1 are coupled for the second time, first in line 2",
		"3 2\n1 2 1\n2 4 1\n":                                  ":3: there is no spin 4",
		"3 2\n1 2 1\n":                                         ":1: announces 2 edges, but there are 1",
		"3 1\n1 2 x\n":                                         `:2: "x" is not a finite number`,
		"3 1\n1 2 1\nand more\n":                               `:3: "and more"`,
		"99999999999 1\n1 2 1\n":                               ":1: the number of spins",
		"3 99999999999\n1 2 1\n":                               ":1: the number of edges",
		"0 1 1\n":                                              "set vartype to spin or binary",
		`{"spins": 2, "edges": [[0, 0, 1]]}`:                   ":1:24: edges[0]: spin 0 is coupled to itself",
		`{"spins": 2, "edges": [[0, 2, 1]]}`:                   ":1:24: edges[0]: there is no spin 2",
		`{"spins": 2, "edges": [[0, 1, 1], [1, 0, 1]]}`:        "edges[1]: spins 1 and 0 are coupled for the second time",
		`{"spins": 2, "edges": [], "fields": [1]}`:             "fields: 1 numbers for 2 spins",
		`{"spins": 2, "edges": [[0, 1, 1]], "coupling": 1}`:    "coupling",
		`{"spins": 99999, "edges": [[0, 1, 1]]}`:               "target.spins: 99999 is not between 1 and 32768",
		`{"spins": 2, "edges": [[0, 1, 1]], "labels": ["a"]}`:  "labels: 1 names for 2 spins",
		`{"spins": 2, "edges": [[0, 1, 1e300]], "offset": -1}`: "target.beta: β·E reaches",
	} {
		path := write(t, "glass.txt", text)
		_, err := resolve(path)
		require.ErrorContains(t, err, want, text)
		require.True(t, strings.HasPrefix(err.Error(), "target."), "%v", err)
	}
}

// TestFileIsHeldByItsHash: a run goes on without its file, and not with another.
func TestFileIsHeldByItsHash(t *testing.T) {
	path := write(t, "glass.txt", "2 1\n1 2 1\n")
	c, err := resolve(path)
	require.NoError(t, err)
	require.NoError(t, c.Load())
	require.NoError(t, os.WriteFile(path, []byte("2 1\n1 2 -1\n"), 0o600))
	require.ErrorContains(t, c.Load(), "target.sha256: "+path+" has changed")
	require.NoError(t, c.Validate(), "a model needs no file")
	require.NoError(t, os.Remove(path))
	require.NoError(t, c.Load())
	c.Target.SHA256, c.Target.Spins, c.Target.Edges = "", 0, nil
	require.ErrorContains(t, c.Load(), "target.file: ")
	both := configured(t, "quick", glass(1, 3, 3), 1)
	both.Target.File = write(t, "other.txt", "2 1\n1 2 1\n")
	require.ErrorContains(t, both.Load(), "target.file: the energy stands in the configuration too")
	none, err := Preset("best")
	require.NoError(t, err)
	require.ErrorContains(t, none.Validate(), "target.file: names no file")
}

// TestFormerRecipe: a configuration that was written before there was a choice has the
// inputs that there were; a new one those of the recipe.
func TestFormerRecipe(t *testing.T) {
	c := configured(t, "quick", glass(1, 3, 3), 1)
	require.Equal(t, hierarchy.Reached, c.Generator.Inputs)
	text, err := conf.Encode(c)
	require.NoError(t, err)
	const key = `"inputs": "reached",`
	require.Contains(t, string(text), key)
	former := strings.Replace(string(text), key, "", 1)
	now, err := run.DecodeConfig(systems, text, "now")
	require.NoError(t, err)
	require.Equal(t, c.Generator.Inputs, now.(*Config).Generator.Inputs)
	then, err := run.DecodeConfig(systems, []byte(former), "then")
	require.NoError(t, err)
	require.Equal(t, hierarchy.Nearest, then.(*Config).Generator.Inputs)
}

func TestRefusals(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"loss.kind: mmd does not go with generator.kind, which is hierarchy":      func(c *Config) { c.Loss.Kind = "mmd" },
		"loss.kind: balance does not go with generator.kind, which is perceptron": func(c *Config) { c.Generator.Kind, c.Loss.Kind = "perceptron", "balance" },
		"transition.proposal":    func(c *Config) { c.Transition.Proposal = "multi-spin" },
		"transition.global_flip": func(c *Config) { c.Transition.Proposal, c.Transition.GlobalFlip = "mixture", 2 },
		"target.beta":            func(c *Config) { c.Target.Beta = -1 },
		"target.edges[0]":        func(c *Config) { c.Target.Edges[0].J = 99 },
		"target.format":          func(c *Config) { c.Target.Format = "rudy" },
		"generator.neighbours":   func(c *Config) { c.Generator.Neighbours = 65 },
		"generator.inputs":       func(c *Config) { c.Generator.Inputs = "all" },
		"generator.units":        func(c *Config) { c.Generator.Units = 0 },
		"transition.anneal":      func(c *Config) { c.Transition.Anneal = 2 },
		"transition.anneal_from": func(c *Config) { c.Transition.AnnealFrom = -1 },
		"loss.partners":          func(c *Config) { c.Loss.Partners = 1.5 },
		"training.batch":         func(c *Config) { c.Training.Batch = 100 },
		"training.method":        func(c *Config) { c.Training.Method = "evolution" },
	} {
		c := configured(t, "best", glass(1, 3, 3), 1)
		change(c)
		if !strings.Contains(key, ":") {
			key += ":"
		}
		require.ErrorContains(t, c.Validate(), key)
	}
}

// TestLargeFiles: 100,000 edges are read within a second, of which the processor
// is busy for no more than this.
func TestLargeFiles(t *testing.T) {
	long.SkipShort(t)
	const n = 1 << 13
	r := rand.New(rand.NewPCG(1, 0))
	var text strings.Builder
	fmt.Fprintf(&text, "%d 100000\n", n)
	seen := map[[2]int]bool{}
	for len(seen) < 100_000 {
		i, j := r.IntN(n), r.IntN(n)
		if e := [2]int{min(i, j), max(i, j)}; i != j && !seen[e] {
			seen[e] = true
			fmt.Fprintln(&text, e[0]+1, e[1]+1, 2*r.IntN(2)-1)
		}
	}
	path := write(t, "large.txt", text.String())
	c, err := Preset("quick")
	require.NoError(t, err)
	c.Target.File = path
	start := time.Now()
	require.NoError(t, c.Load())
	t.Logf("read in %v", time.Since(start))
	require.Len(t, c.Target.Edges, 100_000)
	start = time.Now()
	encoded, err := conf.Encode(c)
	require.NoError(t, err)
	back := new(Config)
	require.NoError(t, conf.Decode(encoded, "config.json", back))
	t.Logf("config.json of %d bytes written and read in %v", len(encoded), time.Since(start))
	require.True(t, slices.Equal(c.Target.Edges, back.Target.Edges))
}

func TestGolden(t *testing.T) {
	for _, c := range []struct{ preset, want string }{{"quick", `
start 1175a16d525a
trained 38a86f0eb913
spins, refined by 0 fe03bc58a94a
spins, refined by 3 e97b782ceefe
bits, refined by 0 61cf4f53fdce
bits, refined by 3 9dd579f57dcd
weighted, refined by 0 d3bec154d67b`}, {"paper", `
start ff68a614def3
trained 67cb57761ccc
spins, refined by 0 114fd08901ab
spins, refined by 3 5bfcddc0af50
bits, refined by 0 fb95a8924588
bits, refined by 3 a6550cab9d03`}} {
		t.Run(c.preset, func(t *testing.T) {
			cfg := configured(t, c.preset, glass(9, 9, 8), 0.4)
			cfg.Training.Batch, cfg.Generator.Hidden = 128, []int{16}
			systemtest.Golden(t, cfg, c.want)
		})
	}
}

// TestRecogniseLeavesStates: files whose sites have several states are another system's.
func TestRecogniseLeavesStates(t *testing.T) {
	for text, want := range map[string]bool{
		"0 1 2\n": true, "# q=3\n0 1 2\n": false, " # q = 5 model=clock\n0 1 2\n": false,
		`{"edges": [[0, 1, 1]]}`: true, `{"q": 3, "edges": [[0, 1, 1]]}`: false, `{"states": [3, 2], "edges": [[0, 1, 1]]}`: false,
	} {
		_, ok := recognise([]byte(text), "x")
		require.Equal(t, want, ok, text)
	}
}
