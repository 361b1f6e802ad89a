package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/revgen/revgen/bench/answer"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/report"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/ising"
)

// FieldStudy names the study of the field's own targets: generators with a density by
// the preset best, beside the best chains that there are for each target.
const FieldStudy = "field"

// A FieldTarget is one row of it.
type FieldTarget struct {
	Name, Title string
	System      string
	Assignments []string
	LogZ        float64 // exact, NaN where the system tells it or nobody does
	Published   string  // what others have, and who
}

// FieldTargets are the study's rows.
var FieldTargets = slices.Concat([]FieldTarget{
	critical(4, ""), critical(8, "ESS 0.9964, 136 s on an A100 (RiGCS)"), critical(16, "ESS 0.949, 986 s (RiGCS)"),
	critical(32, "ESS 0.926, 3844 s (RiGCS)"), critical(64, "ESS 0.371, 14010 s (RiGCS)"), critical(128, ""),
	ferromagnet(24, "0.4407", "0", "ESS 0.0102 (SDDS)"),
	ferromagnet(8, "0.28", "0", ""), ferromagnet(16, "0.28", "0", ""), ferromagnet(24, "0.28", "0", ""), ferromagnet(32, "0.28", "0", ""),
	ferromagnet(8, "0.6", "0", ""), ferromagnet(16, "0.6", "0", ""), ferromagnet(24, "0.6", "0", ""), ferromagnet(32, "0.6", "0", ""),
	ferromagnet(16, "0.4407", "0.1", ""), ferromagnet(16, "0.6", "0.1", ""),
},
	// Each glass at ever lower temperatures, to where it stops working.
	glasses("ea-8x8", "±J glass, 8×8", 64, answer.Bonds(2, 8), "1", "2", "3"),
	glasses("ea-16x16", "±J glass, 16×16", 256, answer.Bonds(2, 16), "1", "1.5", "2"),
	glasses("ea-4x4x4", "±J glass, 4×4×4", 64, answer.Bonds(3, 4), "1", "1.5", "2"),
	glasses("ea-6x6x6", "±J glass, 6×6×6", 216, answer.Bonds(3, 6), "0.5", "0.7", "0.9"),
	glasses("sk-64", "Sherrington–Kirkpatrick, 64 spins", 64, complete(64), "1", "1.5", "2"),
	continuous())

const criticalBeta = "0.4407"

func critical(l int, published string) FieldTarget {
	return ferromagnet(l, criticalBeta, "0", published)
}

func ferromagnet(l int, beta, h, published string) FieldTarget {
	t := FieldTarget{
		Name: fmt.Sprintf("ising-l%d-%s", l, beta), Title: fmt.Sprintf("Ising, %d×%d, β = %s", l, l, beta), System: "ising",
		Assignments: []string{fmt.Sprintf("target.l=%d", l), "target.beta=" + beta}, LogZ: math.NaN(), Published: published,
	}
	if h != "0" {
		t.Name, t.Title, t.Assignments = t.Name+"-field", t.Title+", h = "+h, append(t.Assignments, "target.h="+h)
	}
	return t
}

// glasses are targets of the same couplings, ±1, or normal ones of deviation 1/√n, at
// several temperatures.
func glasses(name, title string, n int, edges [][2]int32, betas ...string) (all []FieldTarget) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(edges))))
	couplings := make([]string, len(edges))
	for i, e := range edges {
		j := float64(1 - 2*r.IntN(2))
		if len(edges) == n*(n-1)/2 {
			j = math.Round(1e6*r.NormFloat64()/math.Sqrt(float64(n))) / 1e6
		}
		couplings[i] = fmt.Sprintf("[%d,%d,%v]", min(e[0], e[1]), max(e[0], e[1]), j)
	}
	for _, beta := range betas {
		all = append(all, FieldTarget{Name: name + "-" + beta, Title: title + ", β = " + beta, System: "spins", LogZ: math.NaN(),
			Assignments: []string{"target.file=", fmt.Sprintf("target.spins=%d", n), "target.edges=[" + strings.Join(couplings, ",") + "]", "target.fields=[" + strings.Repeat("0,", n-1) + "0]", "target.beta=" + beta}})
	}
	return all
}

func complete(n int) (edges [][2]int32) {
	for i := range n {
		for j := range i {
			edges = append(edges, [2]int32{int32(j), int32(i)})
		}
	}
	return edges
}

// The centres of FAB's forty Gaussians, 80u − 40 of the uniforms u of a Mersenne twister
// of seed 0, the coordinates of each in succession.
var (
	fabX = []float64{
		-0.2995, -32.9218, -15.4062, -0.7925, -3.5498, -12.0885, -38.2139, -16.4889, 15.8134, -27.1176,
		14.5287, -8.232, -6.4473, 36.219, -25.1815, -15.592, -25.9272, -27.9456, -23.3496, 17.8487,
		2.1037, 6.7674, -28.9026, 25.2375, -17.7398, 25.5824, 15.8753, 26.8195, 7.4538, -27.7234,
		18.0989, -23.6941, 21.9589, 1.5273, 24.8151, -30.8249, 15.7204, 34.8083, 7.9606, 3.6797,
	}
	fabY = []float64{
		21.4577, -29.4376, 10.7263, 31.7156, 10.5845, -7.8626, -26.4913, 1.4817, 24.0009, -17.4185,
		33.2155, 29.9325, 4.2326, -37.1068, -10.1266, 34.56, -18.4133, -37.4624, 34.3839, 19.3869,
		-20.5073, -37.3478, -20.6212, 23.4528, -1.4433, 39.7653, 5.4037, -23.5521, -31.0122, -20.6633,
		16.0864, 12.0843, -5.0487, 9.2682, 38.4078, -14.6588, 33.142, 35.2943, -34.7833, -25.0242,
	}
)

// continuous are targets of real vectors, as their papers define them.
func continuous() []FieldTarget {
	reals := func(name, title string, dim int, expression, parameters string, logZ float64) FieldTarget {
		return FieldTarget{Name: name, Title: title, System: "reals", LogZ: logZ, Assignments: []string{
			fmt.Sprintf("target.dim=%d", dim), "target.parameters=" + parameters, "target.center=[]", "target.scale=[]", "target.expression=" + expression}}
	}
	// Forty Gaussians of deviation ln(1+e), their centres uniform in [−40, 40]²: those
	// that FAB's library draws from its seed 0.
	a, _ := json.Marshal(fabX)
	b, _ := json.Marshal(fabY)
	variance := math.Pow(math.Log1p(math.E), 2)
	forty := reals("gaussians-40", "40 Gaussians in the plane", 2, "logsumexp(-((x[0] - a)^2 + (x[1] - b)^2)/(2*v))",
		fmt.Sprintf(`{"a":%s,"b":%s,"v":%v}`, a, b, variance), math.Log(40*2*math.Pi*variance))
	// x⁴ wells beside normal coordinates: 16 of either.
	well := 0.0
	for i := -40000; i <= 40000; i++ {
		x := float64(i) * 1e-4
		well += 1e-4 * math.Exp(-x*x*x*x+6*x*x+0.5*x)
	}
	wells := reals("many-well-32", "many-well, 32 coordinates", 32, "sum(-x[:16]^4 + 6*x[:16]^2 + 0.5*x[:16]) - sum(x[16:]^2)/2", "{}",
		16*(math.Log(well)+0.5*math.Log(2*math.Pi)))
	funnel := reals("funnel-10", "Neal's funnel, 10 coordinates", 10, "-x[0]^2/18 - 4.5*x[0] - exp(-x[0])*sum(x[1:]^2)/2", "{}",
		5*math.Log(2*math.Pi)+math.Log(3))
	phi4 := func(l int) FieldTarget {
		return reals(fmt.Sprintf("phi4-%dx%d", l, l), fmt.Sprintf("φ⁴, %d×%d, κ = 0.2, λ = 0.02", l, l), l*l,
			fmt.Sprintf("2*kappa*sum(x*(shift(x, [%d,%d], [1,0]) + shift(x, [%d,%d], [0,1]))) - sum(x^2 + lambda*(x^2 - 1)^2)", l, l, l, l), `{"kappa":0.2,"lambda":0.02}`, math.NaN())
	}
	// Medians of three seeds each, in the files of results of FAB's repository.
	forty.Published, wells.Published = "ESS 0.64 (FAB with buffer)", "ESS 0.80 (FAB with buffer)"
	all := []FieldTarget{forty, wells, funnel, phi4(8), phi4(16)}
	r := rand.New(rand.NewPCG(40, 2))
	for range 80 {
		r.Float64() // of a target that has gone; those after it stay what they were
	}
	for _, dim := range []int{8, 32} {
		// Four components of deviations 0.6 to 1.2, some four deviations from the origin.
		var terms []string
		for k := range 4 {
			mean := make([]float64, dim)
			for i := range mean {
				mean[i] = math.Round(1e4*4*r.NormFloat64()/math.Sqrt(float64(dim))*math.Sqrt(2)) / 1e4
			}
			m, _ := json.Marshal(mean)
			s := 0.6 + 0.2*float64(k)
			terms = append(terms, fmt.Sprintf("-sum((x - %s)^2)/%v - %v", m, 2*s*s, float64(dim)*math.Log(s)))
		}
		all = append(all, reals(fmt.Sprintf("mixture-%d", dim), fmt.Sprintf("4 Gaussians, %d coordinates", dim), dim,
			"logsumexp(["+strings.Join(terms, ", ")+"])", "{}", math.Log(4)+0.5*float64(dim)*math.Log(2*math.Pi)))
	}
	return all
}

// A FieldRow is what one target gave: medians over the seeds that were measured, in
// one execution or several.
type FieldRow struct {
	Name      string            `json:"target"`
	Title     string            `json:"title"`
	Changed   []string          `json:"changed,omitempty"` // assignments that the user added
	Runs      []FieldRun        `json:"runs"`              // by seed
	Seeds     []uint64          `json:"seeds"`             // of the runs that ended
	ESS       float64           `json:"effective_size"`
	Range     [2]float64        `json:"effective_size_range"`
	ParetoK   float64           `json:"pareto_k"`    // the largest
	LogZError float64           `json:"log_z_error"` // standard error of ln Z
	LogZOff   float64           `json:"log_z_off"`   // |ln Z − exact|, NaN where that is not known
	Reference float64           `json:"reference_error,omitempty"`
	Seconds   float64           `json:"seconds"`              // of training
	Time      float64           `json:"autocorrelation_time"` // of exact draws
	Draw      float64           `json:"seconds_per_draw"`     // of a sample as proposed
	Peers     []FieldPeer       `json:"peers"`
	Published string            `json:"published,omitempty"`
	Machine   reproduce.Machine `json:"machine"` // of the peers
}

// A FieldRun is what one seed of a target gave.
type FieldRun struct {
	Seed       uint64            `json:"seed"`
	Unfinished bool              `json:"unfinished,omitempty"` // only the times are known, so far
	Seconds    float64           `json:"seconds"`              // of training, of processors
	Wall       float64           `json:"wall_seconds"`         // of training, with what is not known of processors
	ESS        float64           `json:"effective_size"`
	ParetoK    float64           `json:"pareto_k"`
	LogZ       float64           `json:"log_z"`
	LogZError  float64           `json:"log_z_error"`
	LogZOff    float64           `json:"log_z_off"`
	Reference  float64           `json:"reference_error,omitempty"`
	Time       float64           `json:"autocorrelation_time"`
	Draw       float64           `json:"seconds_per_draw"`
	Machine    reproduce.Machine `json:"machine"` // of the training
}

// MarshalJSON implements json.Marshaler.
func (r FieldRun) MarshalJSON() ([]byte, error) { return number.Marshal(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *FieldRun) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, r) }

// put adds a run, in place of an earlier one of its seed, and takes the medians anew.
func (r *FieldRow) put(x FieldRun) {
	r.Runs = replaced(r.Runs, x, func(x *FieldRun) uint64 { return x.Seed }, bySeed)
	r.Seeds = nil
	var sizes, tails, errs, offs, seconds, times, draws []float64
	for i := range r.Runs {
		x := &r.Runs[i]
		if x.Unfinished {
			continue
		}
		r.Seeds, r.Reference = append(r.Seeds, x.Seed), x.Reference
		sizes, tails, errs, offs = append(sizes, x.ESS), append(tails, x.ParetoK), append(errs, x.LogZError), append(offs, x.LogZOff)
		seconds, times, draws = append(seconds, x.Seconds), append(times, x.Time), append(draws, x.Draw)
	}
	if len(r.Seeds) == 0 {
		return
	}
	r.ESS, r.Range = stat.Median(sizes), [2]float64{slices.Min(sizes), slices.Max(sizes)}
	r.ParetoK, r.LogZError, r.LogZOff = slices.Max(tails), stat.Median(errs), stat.Median(offs)
	r.Seconds, r.Time, r.Draw = stat.Median(seconds), stat.Median(times), stat.Median(draws)
}

// A FieldPeer is what chains cost.
type FieldPeer struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds_per_effective_draw"` // of the slowest observable
	RHat    float64 `json:"r_hat"`                      // the largest
}

// MarshalJSON implements json.Marshaler.
func (r FieldRow) MarshalJSON() ([]byte, error) { return number.Marshal(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *FieldRow) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, r) }

// targetJobs returns the trainings of a study of targets.
func (p *Plan) targetJobs(ctx context.Context, systems []engine.Definition, study string, targets []FieldTarget, record func(*execution, context.Context, *Results) error) (all []job, err error) {
	chosen, err := lists.Choose(targets, p.Only, func(t FieldTarget) string { return t.Name },
		"unknown target %q of the study "+study+"; its targets are %s")
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		t := &chosen[i]
		d := slices.IndexFunc(systems, func(d engine.Definition) bool { return d.Name == t.System })
		if d < 0 {
			continue
		}
		setting := reproduce.Setting{Name: t.Name, Title: t.Title, System: t.System, Assignments: t.Assignments}
		j := job{Trial: p.trial(study, "best", setting), field: t, record: record}
		j.Dir = filepath.Join(j.Dir, t.Name)
		if err := p.configure(ctx, &j, &systems[d]); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", study, t.Name, err)
		}
		all = append(all, j)
	}
	return all, nil
}

// Sizes of the study.
const (
	fieldSamples = 65_536 // behind ESS, ln Z and τ of each seed
	fieldChains  = 64
	fieldDraws   = 1024 // of each chain
)

// recordField puts a target's row into the results, beside what these have of other
// seeds, writes them after each seed and tells the observer.
func (e *execution) recordField(ctx context.Context, results *Results) error {
	row := FieldRow{Name: e.field.Name, Changed: e.Assignments}
	if old := reproduce.Find(results.Field, func(r FieldRow) bool { return r.Name == row.Name }); old != nil && slices.Equal(old.Changed, e.Assignments) && len(old.Runs) > 0 {
		row = *old
	}
	row.Title, row.Published = e.field.Title, e.field.Published
	if len(row.Peers) == 0 {
		row.Machine = e.Machine()
	}
	keep := func() error {
		results.Field = replaced(results.Field, row, func(r *FieldRow) string { return r.Name }, ranks(FieldTargets))
		return results.Write(e.Plan.Dir)
	}
	for n := range e.Configs {
		seed := e.Configs[n].Shared().Training.Seed
		run, err := e.fieldRun(ctx, n, reproduce.Find(row.Runs, func(r FieldRun) bool { return r.Seed == seed }))
		if run != nil {
			row.put(*run)
			if err := keep(); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	// What others do does not depend on the seed, and is measured once.
	if len(row.Peers) == 0 {
		var err error
		if row.Peers, err = e.peers(ctx, e.Configs[0]); err != nil {
			return err
		}
		row.Machine = e.Machine()
	}
	if err := keep(); err != nil {
		return err
	}
	return e.watch.done(&Results{Field: []FieldRow{row}})
}

// fieldSeconds is how long the chains of each peer run, about.
var fieldSeconds = 10.0

// fieldRun trains a target's generator of one seed and measures it. old is what is
// known of the seed, or nil. Where the training stops before its end, the run says how
// long it took so far.
func (e *execution) fieldRun(ctx context.Context, n int, old *FieldRun) (*FieldRun, error) {
	cfg := e.Configs[n]
	x := FieldRun{Seed: cfg.Shared().Training.Seed, Machine: e.Machine()}
	one := e.Run(cfg, n, x.Seed)
	if _, err := os.Stat(one.Dir); err == nil && old != nil && old.Unfinished {
		x.Seconds, x.Wall = old.Seconds, old.Wall
	}
	e.Trained = false
	watch := reproduce.NewStopwatch()
	result, err := e.Train(ctx, cfg, one, run.Options{Unmeasured: true})
	x.Seconds += watch.Seconds()
	x.Wall += watch.Wall()
	switch {
	case errors.As(err, new(*run.StopError)):
		x.Unfinished = true
		return &x, err
	case err != nil:
		return nil, err
	case !e.Trained && old != nil && !old.Unfinished:
		x.Seconds, x.Wall, x.Machine = old.Seconds, old.Wall, old.Machine
	case result.Seconds > x.Wall: // some of it was in a process that left no record
		x.Seconds, x.Wall = result.Seconds, result.Seconds
	}
	draws, err := e.exact(ctx, cfg, result.Params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.field.Name, err)
	}
	w := &draws.Weights
	logZ, reference := e.logZ(ctx, cfg)
	x.ESS, x.ParetoK, x.LogZ, x.LogZError = w.EffectiveSize, w.ParetoK, w.LogZ, w.LogZError
	x.LogZOff, x.Reference = math.Abs(w.LogZ-logZ), reference
	x.Time, x.Draw = draws.time, draws.seconds
	return &x, nil
}

// An exactRun is what exact draws of one seed were seen to be.
type exactRun struct {
	engine.Exactness
	time    float64 // the larger of the runs' and the energy's autocorrelation time
	seconds float64 // of a proposal
}

// exact takes exact draws of a generator.
func (e *execution) exact(ctx context.Context, cfg engine.Config, params []float32) (x exactRun, err error) {
	fresh, err := engine.Reseeded(cfg, cfg.Shared().Training.Seed+1000)
	if err != nil {
		return x, err
	}
	stream, err := engine.NewStream(fresh, params, e.Workers)
	if err != nil {
		return x, err
	}
	defer stream.Close()
	f, err := stream.Format("")
	if err != nil {
		return x, err
	}
	draws, err := stream.Exact(f)
	if err != nil {
		return x, err
	}
	states := make([]byte, engine.ExactDraws*f.RowBytes)
	watch := reproduce.NewStopwatch()
	if err := draws.Fill(ctx, states, 0); err != nil {
		return x, err
	}
	x.seconds = watch.Seconds() / fieldSamples
	x.Exactness = draws.Exactness()
	energies := make([]float64, engine.ExactDraws)
	if _, err := stream.Energies(energies, f, states); err != nil {
		return x, err
	}
	x.time = max(x.Time, stat.Chains(energies, 1).Time)
	return x, nil
}

// logZ returns ln Z, if the study or the system knows it, with the standard error of the
// system's.
func (e *execution) logZ(ctx context.Context, cfg engine.Config) (value, standardError float64) {
	if !math.IsNaN(e.field.LogZ) {
		return e.field.LogZ, 0
	}
	system, err := cfg.New(e.Workers)
	if err != nil {
		return math.NaN(), 0
	}
	defer engine.Release(system)
	if z, ok := system.(interface {
		LogZ(context.Context) (value, standardError float64, err error)
	}); ok {
		if value, standardError, err := z.LogZ(ctx); err == nil {
			return value, standardError
		}
	}
	return math.NaN(), 0
}

// peers runs the target's own chains, and those of clusters.
func (e *execution) peers(ctx context.Context, cfg engine.Config) (all []FieldPeer, err error) {
	system, err := cfg.New(e.Workers)
	if err != nil {
		return nil, err
	}
	defer engine.Release(system)
	name := cmp.Or(map[string]string{"ising": "heat bath", "spins": "parallel tempering"}[cfg.Shared().System], "Metropolis")
	own, err := cheapest(name, func(spacing int) (float64, []stat.ChainSummary, error) {
		watch := reproduce.NewStopwatch()
		r, err := chains.Run(ctx, system, chains.Options{Chains: fieldChains, Draws: fieldDraws, BurnIn: fieldDraws / 4 * spacing, Spacing: spacing}, nil)
		if err != nil {
			return 0, nil, err
		}
		// Without the part of the burn-in.
		took := watch.Seconds() * r.Seconds / (r.Seconds + r.BurnIn)
		return took, lists.Map(r.Levels[0].Observables, func(o chains.Observable) stat.ChainSummary { return o.ChainSummary }), nil
	})
	if errors.Is(err, chains.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	clusters, err := e.clusters(ctx, cfg)
	return append([]FieldPeer{own}, clusters...), err
}

// clusters runs one chain each of Wolff's and of Swendsen's and Wang's moves in C, of
// ferromagnets without a field, where there is a compiler. Energy and |m| are observed.
func (e *execution) clusters(ctx context.Context, cfg engine.Config) (all []FieldPeer, err error) {
	c, ok := cfg.(*ising.Config)
	if !ok || c.Target.H != 0 || c.Target.J <= 0 || c.Target.L < 3 {
		return nil, nil
	}
	inC, err := peers.Find("c-chains")
	if err != nil {
		return nil, err
	}
	err = e.beside(ctx, inC, func(process *peers.Process) error {
		for _, name := range []string{"Wolff", "Swendsen-Wang"} {
			peer, err := cheapest(name, func(spacing int) (float64, []stat.ChainSummary, error) {
				const draws, burnIn = fieldChains * fieldDraws, fieldDraws
				series, took := make([]float64, 2*(burnIn+draws)), process.ProcessorTime()
				err := process.Select(strings.ToLower(name), c.Target.L, c.Target.Beta*c.Target.J, e.Configs[0].Shared().Training.Seed, spacing)
				for _, rows := range []int{burnIn, draws} {
					if err == nil {
						took = process.ProcessorTime()
						_, err = process.Run(rows)
					}
				}
				took = process.ProcessorTime() - took
				if err == nil {
					err = process.Store("series", series)
				}
				return took.Seconds(), stat.Columns(series[2*burnIn:], 1, 2), err
			})
			if err != nil {
				return err
			}
			all = append(all, peer)
		}
		return nil
	})
	return all, err
}

// beside starts a peer on one thread for what is done with it. It does nothing, and says so,
// where the peer is missing.
func (e *execution) beside(ctx context.Context, peer *peers.Peer, do func(*peers.Process) error) (err error) {
	workshop, err := peers.NewWorkshop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workshop.Close()) }()
	process, err := workshop.Start(peer, peers.Setting{Threads: 1})
	if missing, ok := errors.AsType[*peers.MissingError](err); ok {
		if e.Watch.Warning != nil {
			e.Watch.Warning(missing.Error())
		}
		return nil
	}
	if err != nil {
		return err
	}
	return do(process)
}

// cheapest runs chains with ever more steps between their draws, until they mix and more
// steps no longer make an independent draw cheaper, which it is where measuring costs
// little and a step does not pass unmeasured. The run of a spacing returns the seconds of all
// draws, and what they tell.
func cheapest(name string, run func(spacing int) (float64, []stat.ChainSummary, error)) (FieldPeer, error) {
	spent, best := 0.0, FieldPeer{Name: name, RHat: math.Inf(1)}
	for spacing := 1; ; spacing *= 4 {
		seconds, observables, err := run(spacing)
		if err != nil {
			return best, err
		}
		now := FieldPeer{Name: name}
		for _, x := range observables {
			now.Seconds, now.RHat = max(now.Seconds, seconds/x.EffectiveSize), max(now.RHat, x.RHat)
		}
		mixed := now.RHat <= chains.MaxRHat
		switch {
		case mixed && best.RHat <= chains.MaxRHat && now.Seconds >= best.Seconds:
			return best, nil
		case mixed || best.RHat > chains.MaxRHat:
			best = now
		}
		// The next run takes four times as long.
		if spent += seconds; spent > fieldSeconds/4 {
			return best, nil
		}
	}
}

// FieldTable is the study's table.
func FieldTable(rows []FieldRow) *report.Table {
	t := &report.Table{Header: []string{"target", "seeds", "ESS (range)", "k̂", "ln Z off", "± of ln Z", "trained in", "τ", "exact draws", "chains", "pays from", "others"}, Left: 1}
	for i := range rows {
		r := &rows[i]
		if len(r.Seeds) == 0 {
			continue // none has ended
		}
		ess := fmt.Sprintf("%.4f", r.ESS)
		if len(r.Seeds) > 1 {
			ess += fmt.Sprintf(" (%.4f–%.4f)", r.Range[0], r.Range[1])
		}
		se := fmt.Sprintf("%.1g", r.LogZError)
		if r.Reference > 0 {
			se += fmt.Sprintf(" (reference %.1g)", r.Reference)
		}
		own := r.Time * r.Draw
		best, peers := math.Inf(1), []string{}
		for _, p := range r.Peers {
			text := p.Name + " " + microseconds(p.Seconds)
			if p.RHat > chains.MaxRHat {
				text += fmt.Sprintf(" (not mixed, R̂ %.2f)", p.RHat)
			} else {
				best = min(best, p.Seconds)
			}
			peers = append(peers, text)
		}
		pays := "–"
		switch {
		case len(r.Peers) > 0 && math.IsInf(best, 1):
			pays = "no chain mixes"
		case best <= own:
			pays = "never"
		case len(r.Peers) > 0:
			pays = fmt.Sprintf("%.1g draws", r.Seconds/(best-own))
		}
		t.Rows = append(t.Rows, []string{
			r.Title, report.Seeds(r.Seeds), ess, stat.ShapeText(r.ParetoK), orDash(!math.IsNaN(r.LogZOff), "%.1g", r.LogZOff), se, report.Seconds(r.Seconds),
			fmt.Sprintf("%.2f", r.Time), microseconds(own), strings.Join(peers, "; "), pays, orDash(r.Published != "", "%s", r.Published),
		})
	}
	return t
}

func microseconds(s float64) string {
	unit := " s"
	switch {
	case s < 1e-3:
		s, unit = 1e6*s, " µs"
	case s < 0.1:
		s, unit = 1e3*s, " ms"
	}
	if s >= 99.5 {
		return fmt.Sprintf("%.0f", s) + unit // where %g begins to write exponents
	}
	return fmt.Sprintf("%.2g", s) + unit
}

// FieldLegend explains the table.
const FieldLegend = "Medians over the seeds. ESS is the effective size of the weights of 65 536 fresh samples, k̂ the largest of Pareto's shapes, ln Z off the distance from the exact or the reference's value. τ is the autocorrelation time of exact draws, the larger of that of runs and of the energy. Training, exact draws and chains are in seconds of processors (on the wall for runs that were killed); the latter two are those of an independent draw: of a generator τ times that of a sample, of chains that of the slowest observable at the spacing that makes it cheapest, without burn-in. A generator pays from so many independent draws on, its training included. An effective size is judged by the generator's own samples and does not see what they leave out: where ln Z is off by far more than its error, a mode is missing. FAB's figures are medians of three seeds in the files of results of its own."
