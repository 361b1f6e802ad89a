package graph

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Verify checks the mathematics of spins on graphs exhaustively, over all configurations of small
// graphs, each function against an independent computation. It reports every check through emit.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	return newSubject(workers).verify(ctx, emit)
}

// A subject holds the functions that Verify examines. Tests replace one by a wrong one and expect
// its check to fail.
type subject struct {
	workers     *pool.Pool
	parse       func(format spins.Format, text string) (*spins.Graph, error)
	energy      func(g *spins.Graph, config []uint64) float64
	difference  func(g *spins.Graph, config []uint64, i int) float64
	enumeration func(ctx context.Context, g *spins.Graph, beta float64, threads int) (*spins.Exact, error)
	sweep       func(s *spins.Sweeper, batch []uint64, sweeps int)
	logDensity  func(s *hierarchical, params []float32, logq []float64, batch []uint64)
	gradient    func(s *hierarchy.System, params, grad []float32)
}

func newSubject(workers *pool.Pool) *subject {
	return &subject{
		workers: workers,
		parse: func(format spins.Format, text string) (*spins.Graph, error) {
			r, err := spins.Source{File: "text", Format: format}.Parse([]byte(text))
			if err != nil {
				return nil, err
			}
			return r.Graph, nil
		},
		energy:      (*spins.Graph).Energy,
		difference:  (*spins.Graph).Difference,
		enumeration: spins.Enumerate,
		sweep: func(s *spins.Sweeper, batch []uint64, sweeps int) {
			c := rng.Stream(1, rng.SampleTransition, 0)
			s.Run(nil, batch, batch, 0, len(batch), sweeps, &c, 0, new(bitspin.Count))
		},
		logDensity: (*hierarchical).logDensity,
		gradient:   (*hierarchy.System).Backward,
	}
}

func (v *subject) verify(ctx context.Context, emit func(engine.Check)) error {
	return engine.RunChecks(ctx, emit,
		v.checkFormats, v.checkEnergies, v.checkDifferences, v.checkEnumeration, v.checkSweeps, v.checkDensity, v.checkGradient)
}

// example returns a random graph, with couplings and fields that are no integers.
func example(n int, seed uint64) (spins.Hamiltonian, *spins.Graph) {
	r := rand.New(rand.NewPCG(seed, 0))
	h := spins.Hamiltonian{Spins: n, Offset: r.NormFloat64(), Fields: make([]float64, n)}
	for i := range n {
		h.Fields[i] = 0.5 * r.NormFloat64()
		for j := range i {
			if r.IntN(3) == 0 {
				h.Edges = append(h.Edges, spins.Edge{I: j, J: i, Coupling: r.NormFloat64()})
			}
		}
	}
	return h, crash.Must(spins.NewGraph(h))
}

// definedEnergy returns the energy by its definition.
func definedEnergy(h *spins.Hamiltonian, config uint64) float64 {
	s := func(i int) float64 { return 2*float64(config>>i&1) - 1 }
	e := h.Offset
	for _, c := range h.Edges {
		e -= c.Coupling * s(c.I) * s(c.J)
	}
	for i, x := range h.Fields {
		e -= x * s(i)
	}
	return e
}

// rounding bounds the errors of energies of order one.
const rounding = 1e-11

// checkFormats reads the same three terms in every text format, and compares all energies with the
// format's definition.
func (v *subject) checkFormats(emit func(engine.Check)) {
	terms := []struct {
		i, j int
		w    float64
	}{{0, 1, 1.5}, {1, 2, -2}, {0, 2, 0.25}}
	var zeroBased, oneBased strings.Builder
	for _, t := range terms {
		fmt.Fprintln(&zeroBased, t.i, t.j, t.w)
		fmt.Fprintln(&oneBased, t.i+1, t.j+1, t.w)
	}
	sum := func(config uint64, value func(bit float64) float64) (e float64) {
		for _, t := range terms {
			e += t.w * value(float64(config>>t.i&1)) * value(float64(config>>t.j&1))
		}
		return e
	}
	spin, bit := func(b float64) float64 { return 2*b - 1 }, func(b float64) float64 { return b }
	cut := func(config uint64) (e float64) { // the total weight less twice the weight of the cut
		for _, t := range terms {
			e += t.w
			if (config>>t.i^config>>t.j)&1 != 0 {
				e -= 2 * t.w
			}
		}
		return e
	}
	worst := 0.0
	for _, f := range []struct {
		format spins.Format
		text   string
		energy func(config uint64) float64
	}{
		{spins.Rudy, "3 3\n" + oneBased.String(), cut},
		{spins.COO, "# vartype=SPIN\n" + zeroBased.String(), func(c uint64) float64 { return sum(c, spin) }},
		{spins.COO, "# vartype=BINARY\n" + zeroBased.String() + "1 1 3\n", func(c uint64) float64 { return sum(c, bit) + 3*float64(c>>1&1) }},
		{spins.QUBO, "p qubo 0 3 1 3\n1 1 3\n" + zeroBased.String(), func(c uint64) float64 { return sum(c, bit) + 3*float64(c>>1&1) }},
	} {
		g := crash.Must(v.parse(f.format, f.text))
		for config := range uint64(8) {
			worst = max(worst, math.Abs(g.Energy([]uint64{config})-f.energy(config)))
		}
	}
	emit(engine.AtMost("formats", worst, rounding, "largest error of an energy of rudy, COO of spins and of bits, and QUBO, by the definition of each"))
}

func (v *subject) checkEnergies(emit func(engine.Check)) {
	h, g := example(12, 1)
	worst := 0.0
	for config := range uint64(1) << h.Spins {
		worst = max(worst, math.Abs(v.energy(g, []uint64{config})-definedEnergy(&h, config)))
	}
	emit(engine.AtMost("energies", worst, rounding, "largest error of the energies of all %d configurations", 1<<h.Spins))
}

func (v *subject) checkDifferences(emit func(engine.Check)) {
	h, g := example(10, 2)
	worst := 0.0
	for config := range uint64(1) << h.Spins {
		for i := range h.Spins {
			want := definedEnergy(&h, config^1<<i) - definedEnergy(&h, config)
			worst = max(worst, math.Abs(v.difference(g, []uint64{config}, i)-want))
		}
	}
	emit(engine.AtMost("energy-differences", worst, rounding, "largest error of all %d changes by a flip", h.Spins<<h.Spins))
}

func (v *subject) checkEnumeration(emit func(engine.Check)) {
	h, g := example(14, 3)
	const beta = 0.8
	exact := crash.Must(v.enumeration(context.Background(), g, beta, v.workers.Threads()))
	var z, energy, square, abs float64
	magnetisation := make([]float64, h.Spins)
	for config := range uint64(1) << h.Spins {
		e := definedEnergy(&h, config)
		w := math.Exp(-beta * e)
		z += w
		energy += w * e
		square += w * e * e
		abs += w * math.Abs(float64(2*bits.OnesCount64(config)-h.Spins)) / float64(h.Spins)
		for i := range magnetisation {
			magnetisation[i] += w * (2*float64(config>>i&1) - 1)
		}
	}
	energy /= z
	worst := max(math.Abs(exact.LogZ-math.Log(z)), math.Abs(exact.Energy-energy), math.Abs(exact.AbsMagnetisation-abs/z),
		math.Abs(exact.SpecificHeat-beta*beta*(square/z-energy*energy)))
	for i, m := range magnetisation {
		worst = max(worst, math.Abs(exact.Magnetisations[i]-m/z))
	}
	emit(engine.AtMost("enumeration", worst, 1e-9, "largest error of ln Z, energy, specific heat, |m| and ⟨s_i⟩ by the sum over %d configurations", 1<<h.Spins))
}

// checkSweeps draws from π, takes sweeps, and compares the frequencies with π.
func (v *subject) checkSweeps(emit func(engine.Check)) {
	const samples, level = 1 << 16, 1e-7
	h, g := example(7, 4)
	const beta = 0.7
	s := crash.Must(spins.NewSweeper(g, beta))
	var z float64
	p := make([]float64, 1<<h.Spins)
	for i := range p {
		p[i] = math.Exp(-beta * definedEnergy(&h, uint64(i)))
		z += p[i]
	}
	r := rand.New(rand.NewPCG(5, 0))
	batch := make([]uint64, samples)
	for k := range batch {
		u := r.Float64() * z
		i := 0
		for ; i < len(p)-1 && u >= p[i]; i++ {
			u -= p[i]
		}
		batch[k] = uint64(i)
	}
	v.sweep(s, batch, 3)
	counts := make([]float64, len(p))
	for _, config := range batch {
		counts[config]++
	}
	worst := 0.0
	for i := range p {
		q := p[i] / z
		worst = max(worst, math.Abs(counts[i]-samples*q)/math.Sqrt(samples*q*(1-q)+25))
	}
	bound := math.Sqrt2 * math.Erfinv(1-level/float64(len(p)))
	emit(engine.AtMost("sweeps", worst, bound, "largest deviation of a frequency of %d exact samples after three sweeps, in standard deviations", samples))
}

// generator returns a generator and parameters far from the initial ones.
func (v *subject) generator(n int, seed uint64, fields bool) (*hierarchical, []float32) {
	h, _ := example(n, seed)
	if !fields {
		h.Fields = nil
	}
	c := crash.Must(Preset("best"))
	c.Target = TargetConfig{Beta: 0.7, Spins: h.Spins, Edges: h.Edges, Fields: h.Fields, Offset: h.Offset}
	c.Generator.Neighbours, c.Generator.Units, c.Training.Batch, c.Loss.Partners = 6, 4, 128, 0.5
	s := crash.Must(c.New(v.workers)).(*hierarchical)
	params := make([]float32, s.NumParams())
	stream := rng.Stream(seed, rng.Initialization, 1)
	rng.Normals(params, len(params), &stream, 0)
	for i := range params {
		params[i] *= 0.5
	}
	return s, params
}

func (v *subject) checkDensity(emit func(engine.Check)) {
	worst := 0.0
	for seed, fields := range []bool{false, true} {
		s, params := v.generator(14, uint64(seed), fields)
		_, logq := listDensities(s.graph.N(), func(logq []float64, batch []uint64) { v.logDensity(s, params, logq, batch) })
		sum := 0.0
		for _, l := range logq {
			sum += math.Exp(l)
		}
		worst = max(worst, math.Abs(sum-1))
	}
	emit(engine.AtMost("density", worst, 1e-5, "|Σ q − 1| over all configurations of 14 spins, with and without fields"))
}

// logDensity sets logq to ln q = R − βE of configurations.
func (s *hierarchical) logDensity(params []float32, logq []float64, batch []uint64) {
	s.System.Weigher(params)(logq, batch)
	energies := make([]float64, len(logq))
	s.graph.Energies(energies, batch)
	for i, e := range energies {
		logq[i] -= s.config.Target.Beta * e
	}
}

// listDensities returns all configurations of n spins, in order of their words, and their ln q.
func listDensities(n int, logDensity func(logq []float64, batch []uint64)) (configs []uint64, logq []float64) {
	configs, logq = lists.Range[uint64](0, 1<<n), make([]float64, 1<<n)
	logDensity(logq, configs)
	return configs, logq
}

func (v *subject) checkGradient(emit func(engine.Check)) {
	worst, count := 0.0, 0
	for seed, fields := range []bool{false, true} {
		s, params := v.generator(12, uint64(seed)+7, fields)
		relative, tensors := engine.GradientError(s, params, func(params, grad []float32) { v.gradient(s.System, params, grad) })
		worst, count = max(worst, relative), count+tensors
	}
	emit(engine.AtMost("gradient", worst, 2e-3, "of %d tensors, against central differences in float64", count))
}

// VerifyModel compares a trained generator of at most maxListedSpins spins with sums over all
// configurations: the density must sum to 1, samples must have its entropy and its averages, and
// weights must give ln Z.
func (s *hierarchical) VerifyModel(ctx context.Context, params []float32, samples int, emit func(engine.Check)) error {
	if s.graph.N() > maxListedSpins {
		return nil
	}
	logDensity := func(logq []float64, batch []uint64) { s.logDensity(params, logq, batch) }
	return s.verifyModel(ctx, params, samples, logDensity, emit)
}

// verifyModel is VerifyModel with a logDensity that tests replace.
func (s *hierarchical) verifyModel(ctx context.Context, params []float32, samples int, logDensity func(logq []float64, batch []uint64), emit func(engine.Check)) error {
	n := s.graph.N()
	configs, logq := listDensities(n, logDensity)
	edges := s.graph.Edges()
	// addMoments adds weight times every spin and edge product of a configuration.
	addMoments := func(moments []float64, config []uint64, weight float64) {
		for i := range n {
			moments[i] += weight * spins.Spin(config, i)
		}
		for e, edge := range edges {
			moments[n+e] += weight * spins.Spin(config, edge.I) * spins.Spin(config, edge.J)
		}
	}
	want := make([]float64, n+len(edges)) // moments under q
	var sum, meanLogq float64
	for i, l := range logq {
		q := math.Exp(l)
		sum += q
		meanLogq += q * l
		addMoments(want, configs[i:i+1], q)
	}
	emit(engine.AtMost("model.density", math.Abs(sum-1), 1e-5, "|Σ q − 1| over all %d configurations", 1<<n))
	got := make([]float64, len(want))
	var mean stat.Mean
	batch := make([]uint64, samples)
	s.NewDraws(params).Generate(batch, nil, 0)
	for i, config := range batch {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		mean.Add(logq[config])
		addMoments(got, batch[i:i+1], 1/float64(samples))
	}
	const level = 1e-6
	bound := math.Sqrt2 * math.Erfinv(1-level/float64(len(want)+1))
	worst := math.Abs(mean.Value()-meanLogq) / max(mean.StandardError(), 1e-9)
	for i, w := range want {
		worst = max(worst, math.Abs(got[i]-w)/math.Sqrt((max(0, 1-w*w)+1e-6)/float64(samples)))
	}
	emit(engine.AtMost("model.samples", worst, bound, "largest deviation of ln q, ⟨s_i⟩ and ⟨s_i s_j⟩ of %d samples from their averages under q, in standard errors", samples))
	exact, err := spins.Enumerate(ctx, s.graph, s.config.Target.Beta, s.workers.Threads())
	if err != nil {
		return err
	}
	// Σ q e^−R over all configurations is Z, whatever q.
	r := make([]float64, len(configs))
	s.Model().NewSampler(params, s.workers).R(r, configs)
	z := 0.0
	for i, l := range logq {
		z += math.Exp(l - r[i] - exact.LogZ)
	}
	emit(engine.AtMost("model.log-z", math.Abs(math.Log(z)), 1e-5, "error of ln Z by the weights of all configurations, %v by enumeration", exact.LogZ))
	return nil
}

var _ engine.SelfChecker = (*hierarchical)(nil)
