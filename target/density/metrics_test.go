package density

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestExactGenerator: where the generator is the target in its coordinates, before any
// training, weights are constant, ln Z is that of the target's own coordinates, and
// averages agree with those of the chains; where the target is another, they do not.
func TestExactGenerator(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	logZ := 2*math.Log(2*math.Pi) + math.Log(20*0.3*0.2*0.5)
	evaluate := func(text string) (*measure.Evaluation, float64) {
		// Coordinates: normal, log-normal above 1, log-normal below 5, and logit-normal.
		cfg, err := catalogue.Systems{RealsDefinition}.Configure("reals", "paper", "training.steps=0", "training.batch=64", "generator.gain=1e-9", "transition.sigma=0.2,0.7,1.4", "transition.steps=20", "evaluation.samples=20000",
			"target.dim=4", "target.parameters={}", "target.support=[[null,null],[1,null],[null,5],[-2,2]]",
			"target.link=logit", "target.center=[300,0.5,-0.2,0.1]", "target.scale=[20,0.3,0.2,0.5]", "target.expression="+text)
		require.NoError(t, err)
		system, err := cfg.New(workers)
		require.NoError(t, err)
		params := make([]float32, system.NumParams())
		system.Initialize(params)
		e, err := system.(engine.Evaluator).Evaluate(context.Background(), params, 20000)
		require.NoError(t, err)
		row := make([]byte, 4*4+8)
		require.NoError(t, system.(engine.Sampler).Sample(row, engine.Weighted, params, 0, 1, 0))
		return e, math.Float64frombits(binary.LittleEndian.Uint64(row[4*4:]))
	}
	const text = "let u = log(x[1] - 1); let v = log(5 - x[2]); let w = log((x[3] + 2)/(2 - x[3])); " +
		"-((x[0] - 300)/20)^2/2 - ((u - 0.5)/0.3)^2/2 - u - ((v + 0.2)/0.2)^2/2 - v - ((w - 0.1)/0.5)^2/2 - log(x[3] + 2) - log(2 - x[3]) + log(4)"
	good, weight := evaluate(text)
	require.Empty(t, good.Warnings)
	require.InDelta(t, logZ, weight, 1e-2, "ln w of a sample")
	for _, m := range good.Metrics {
		switch m.Name {
		case "effective_sample_size":
			require.InDelta(t, 1, m.Generated, 1e-4)
		case "log_z":
			require.InDelta(t, logZ, m.Generated, 1e-4)
		default:
			require.LessOrEqual(t, m.Error, 6*math.Hypot(m.Uncertainty, m.Floor*math.Sqrt(math.Pi/2)), m.Name)
			require.Positive(t, m.Uncertainty, m.Name)
		}
	}
	bad, _ := evaluate(text + " - (x[0] - 300)^2/200")
	require.NotEmpty(t, bad.Warnings)
	for _, m := range bad.Metrics {
		if m.Name == "variance_x0" {
			require.Greater(t, m.Error, 20.0)
			require.Less(t, m.Reweighted.Error, 5*math.Hypot(m.Reweighted.StandardError, m.Uncertainty), "by weights")
			require.Less(t, m.Reweighted.StandardError, 5.0)
		}
	}
}

// TestLostMode: a mode that the samples lack and chains find is called lost, which verify
// and --strict take for a failed check.
func TestLostMode(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	system := func(text string) engine.System {
		cfg, err := catalogue.Systems{MixedDefinition}.Configure("mixed", "paper", "training.steps=0", "training.batch=64", "target.dim=2",
			"target.parameters={}", "target.modes=2", "target.center=[[0],[5]]", "target.scale=[[1],[1]]", "evaluation.samples=4000",
			"generator.kind=mixture", "generator.components=1", "generator.scout.population=400", "training.optimizer.weight_decay=0", "loss.kind=balance",
			"target.expression="+text)
		require.NoError(t, err)
		s, err := cfg.New(workers)
		require.NoError(t, err)
		return s
	}
	one, both := system("-sum((x - 5*k)^2)/2 - 30*k"), system("-sum((x - 5*k)^2)/2")
	params := make([]float32, both.NumParams())
	for of, lost := range map[engine.System]int{one: 1, both: 0} {
		of.Initialize(params)
		e, err := both.(engine.Evaluator).Evaluate(t.Context(), params, 4000)
		require.NoError(t, err)
		require.Len(t, e.Lost, lost, "%v", e.Warnings)
		require.Subset(t, e.Warnings, e.Lost)
	}
}

// TestChainsThatStay: chains that agree with each other, and never came to where the samples
// are, are no reference of a generator whose weights are level.
func TestChainsThatStay(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "quick", "target.parameters={}", "target.center=[0]", "target.scale=[1]", "generator.kind=mixture",
		"generator.components=1", "transition.sigma=[1.5]", "target.expression=-sum(x^2)/2")
	made, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, made.NumParams())
	made.Initialize(params)
	s := made.(*system)
	_, err = s.Evaluate(t.Context(), params, 10_000)
	require.NoError(t, err)
	chains := s.reference
	r := lists.Column(s.values, s.column(engine.LogWeight), len(s.names))
	for i, w := range r {
		r[i] = -w
	}
	for _, moved := range []float64{0, 100} {
		for i := s.column("x0"); i < len(chains.values); i += chains.width {
			chains.values[i] += moved
		}
		e, err := s.tabulate(r, measure.NewReweighing(r))
		require.NoError(t, err)
		require.Equal(t, moved > 0, e.Metrics[0].Unsettled)
		if moved > 0 {
			require.Contains(t, e.Warnings, "no reference: 100 % of the samples, whose weights are level, are where no reference chain came")
			require.Len(t, e.Warnings, 1)
		}
	}
}

// TestUnsettledChains: a target that cannot be normalised in one direction, which the
// hints hide, and one whose chains find no weight, have no reference, and the table
// says so.
func TestUnsettledChains(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for text, want := range map[string]string{
		"-(x[0] - x[1])^2":                           "have not converged",
		"sum((x - 0.3)^2) < 1e-6 ? -sum(x^2) : -inf": "there is no reference",
	} {
		cfg := configure(t, RealsDefinition, "paper", "target.parameters={}", "target.scale=[1]", "target.expression="+text, "evaluation.samples=4000")
		system, err := cfg.New(workers)
		require.NoError(t, err)
		params := make([]float32, system.NumParams())
		system.Initialize(params)
		e, err := system.(engine.Evaluator).Evaluate(context.Background(), params, 4000)
		require.NoError(t, err)
		all := ""
		for _, w := range e.Warnings {
			all += w + "\n"
		}
		require.Contains(t, all, want, text)
	}
}

// TestChainsBeginWhereThereIsWeight: of a target with bounds that only ln π knows, of which
// states drawn about the hints alone are hardly ever inside.
func TestChainsBeginWhereThereIsWeight(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "paper", "target.dim=12", "target.parameters={}", "target.center=[1]", "target.scale=[0.8]",
		"target.expression=min(x) > 0 and max(x) < 3 ? sum(2*log(x) - 2*x) : -inf")
	system, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, system.NumParams())
	system.Initialize(params)
	const n = 256
	o := system.(chains.Observer)
	w, err := o.Chains(params, n)
	require.NoError(t, err)
	names := o.Observables()
	values := make([]float64, n*len(names))
	w.Observe(values)
	var first stat.Mean
	for i := range n {
		row := values[i*len(names):]
		require.False(t, math.IsInf(row[slices.Index(names, "log_density")], 0), "chain %d", i)
		first.Add(row[slices.Index(names, "x0")])
	}
	require.Greater(t, first.Deviation(), 0.1, "chains begin apart")
}

// TestLevel: a constant in ln π, however large, changes nothing but ln Z and ln π.
func TestLevel(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	evaluate := func(text string) (*measure.Evaluation, float64, float64) {
		cfg, err := catalogue.Systems{RealsDefinition}.Configure("reals", "quick", "training.steps=0", "target.dim=2", "target.parameters={}", "target.scale=[1]",
			"evaluation.samples=4000", "generator.components=2", "generator.scout.population=256", "target.expression="+text)
		require.NoError(t, err)
		system, err := cfg.New(workers)
		require.NoError(t, err)
		params := make([]float32, system.NumParams())
		system.Initialize(params)
		e, err := system.(engine.Evaluator).Evaluate(t.Context(), params, 4000)
		require.NoError(t, err)
		row := make([]byte, 2*4+8)
		require.NoError(t, system.(engine.Sampler).Sample(row, engine.Weighted, params, 0, 1, 0))
		energy := make([]float64, 1)
		_, err = system.(engine.Scorer).Energies(energy, "states", row[:8])
		require.NoError(t, err)
		return e, math.Float64frombits(binary.LittleEndian.Uint64(row[8:])), energy[0]
	}
	const shape, constant = "-sum(x^2)/2 - x[0]^4/10", 2e7
	plain, weight, energy := evaluate(shape)
	raised, raisedWeight, raisedEnergy := evaluate(shape + " - 2e7")
	require.InDelta(t, weight-constant, raisedWeight, 1e-4)
	require.InDelta(t, energy+constant, raisedEnergy, 1e-4)
	for i, m := range plain.Metrics {
		want := m.Generated
		if m.Name == "log_z" || m.Name == "mean_log_density" {
			want -= constant
		}
		require.InDelta(t, want, raised.Metrics[i].Generated, 1e-4*max(1, math.Abs(m.Generated)), m.Name)
	}
}

// Outside is a system whose target another program computes.
type outside struct{ *system }

func (outside) Probe() ([]float64, error) { return []float64{0}, nil }

// TestNeed: where weights are level a table and a brief diagnosis take few evaluations, the fewest
// where another program computes them, and all of them where chains come to a mode that is lost.
func TestNeed(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	made := func(text string) *system {
		cfg := configure(t, RealsDefinition, "paper", "target.dim=2", "target.parameters={}", "target.center=[0]", "target.scale=[1]", "generator.gain=1e-9",
			"transition.sigma=[0.3,1]", "target.expression="+text) // whose generator is the target
		s, err := cfg.New(workers)
		require.NoError(t, err)
		return s.(*system)
	}
	one, two := made("-sum(x^2)/2"), made("logsumexp([-sum(x^2)/2, -sum((x - 20)^2)/2])")
	params := make([]float32, one.NumParams())
	one.Initialize(params)
	for of, want := range map[*system]diagnose.Verdict{one: diagnose.Trustworthy, two: diagnose.Wrong} {
		const samples = 20_000
		tally := new(engine.Tally)
		of.Count(tally)
		tally.Enter(engine.Measuring)
		e, err := of.Evaluate(t.Context(), params, samples)
		require.NoError(t, err)
		require.True(t, e.Weights.Level())
		require.Equal(t, referenceChains*leapDraws, len(of.reference.values)/of.reference.width, "%v", e.Warnings)
		tally.Enter(engine.Diagnosing)
		o := diagnose.Brief(1 << 20)
		o.Evaluation = e
		r, err := diagnose.Run(t.Context(), of, params, o)
		require.NoError(t, err)
		require.Equal(t, want, r.Verdict, r.Sentence)
		spent := tally.Evaluations()
		require.Less(t, spent.Table, int64(2*samples))
		const searched = 1 << 20 / 6 // samples whose weights alone are looked at
		require.Equal(t, want == diagnose.Trustworthy, spent.Diagnosis-searched < 330_000, "%+v", spent)
		require.Equal(t, want == diagnose.Trustworthy, r.Steps == 2)
		before := spent.Diagnosis
		r, err = diagnose.Run(t.Context(), outside{of}, params, o)
		require.NoError(t, err)
		require.Equal(t, want, r.Verdict, r.Sentence)
		require.Equal(t, want == diagnose.Trustworthy, tally.Evaluations().Diagnosis-before < 150_000)
	}
}

// TestSpares: where each evaluation is another program's work, quick's table takes a quarter of the chains'
// steps, and leaps where weights are ample, too.
func TestSpares(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for preset, want := range map[string]bool{"quick": true, "best": false, "paper": false} {
		for kind, program := range map[string]bool{"program": true, "expression": false} {
			cfg := realsPreset(&origin{name: "reals"}, RealsTarget{TargetConfig: TargetConfig{Kind: kind, Dim: 2, Command: []string{"none"}, TimeoutSeconds: 1, Expression: "-sum(x^2)", Link: "probit"}, Center: []float64{0, 0}, Scale: []float64{1}}, preset)
			s, err := cfg.New(workers)
			require.NoError(t, err)
			require.Equal(t, want && program, s.(*system).frugal)
		}
	}
	const samples = 2000
	for _, spare := range []bool{true, false} {
		for text, leaps := range map[string]bool{"-sum(x^2)/2": true, "log(1 + 0.3*cos(6*x[0])) - sum(x^2)/2": spare, "-3*sum(x^2)": false} {
			cfg := configure(t, RealsDefinition, "paper", "target.dim=2", "target.parameters={}", "target.center=[0]", "target.scale=[1]", "generator.gain=1e-9",
				"transition.sigma=[0.3,1]", "target.expression="+text) // whose generator is the standard normal law
			made, err := cfg.New(workers)
			require.NoError(t, err)
			s, params := made.(*system), make([]float32, made.NumParams())
			s.frugal = spare
			s.Initialize(params)
			e, err := s.Evaluate(t.Context(), params, samples)
			require.NoError(t, err)
			draws := len(s.reference.values) / s.reference.width / referenceChains
			if leaps {
				require.Equal(t, leapDraws, draws, "%s: %v", text, e.Warnings)
				continue
			}
			require.Equal(t, map[bool]int{true: 62, false: 250}[spare], draws, text)
		}
	}
}

// TestNeedle: chains of a brief diagnosis that have come home go on, and meet a needle.
func TestNeedle(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "paper", "target.dim=3", "target.parameters={}", "target.center=[0]", "target.scale=[1]", "generator.gain=1e-9",
		"transition.sigma=[0.3,1]", "target.expression=logsumexp([log(0.8)-sum(x^2)/2, log(0.2)-3*log(0.045)-sum((x-2.2)^2)/2/0.045^2])")
	s, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	o := diagnose.Brief(1 << 20)
	o.Evaluation = &measure.Evaluation{Samples: 1 << 14, Weights: &measure.Weights{Samples: 1 << 14, EffectiveSize: 1}}
	r, err := diagnose.Run(t.Context(), s, params, o)
	require.NoError(t, err)
	require.Equal(t, diagnose.Unknown, r.Verdict, r.Sentence)
	require.Contains(t, r.Lacking, "the generator's density is too small")
}
