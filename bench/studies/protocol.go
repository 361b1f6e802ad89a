package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/report"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/ising"
	"github.com/revgen/revgen/target/potts"
)

// ProtocolStudy names the study of the distances by which masked diffusion samplers are
// judged: generators with a density by the preset best, beside what exact samples have.
const ProtocolStudy = "protocol"

// ProtocolTargets are the study's.
var ProtocolTargets = []FieldTarget{
	ferromagnet(16, "0.28", "0", ""), ferromagnet(16, criticalBeta, "0", ""), ferromagnet(16, "0.6", "0", ""),
	ferromagnet(24, "0.28", "0", ""), ferromagnet(24, criticalBeta, "0", ""), ferromagnet(24, "0.6", "0", ""),
	threeStates("0.5"), threeStates("1.005"), threeStates("1.2"),
}

func threeStates(beta string) FieldTarget {
	return FieldTarget{
		Name: "potts-l16-" + beta, Title: "Potts, q = 3, 16×16, β = " + beta, System: "potts",
		Assignments: []string{"target.q=3", "target.l=16", "target.beta=" + beta}, LogZ: math.NaN(),
	}
}

// PublishedDistances are another method's, 0 where it has none.
type PublishedDistances struct {
	Method    string    `json:"method"`
	Distances Distances `json:"distances"`
}

// publishedDistances are of the 16×16 lattice, from tables 2, 5 and 16 of the paper of
// IEDG (Iterative Exact Discrete Guidance), of 4 096 samples each, with the number of
// states of their reference in IEDG's release; of three states CorrAgg alone.
var publishedDistances = map[string]struct {
	reference int
	methods   []PublishedDistances
}{
	"ising-l16-0.28": {4096, []PublishedDistances{
		{"MDNS", Distances{0.0112, 0.161, 0.0094, 0.0023, 0.00235}},
		{"MetaDNS", Distances{0.0084, 0.195, 0.0089, 0.0038, 0.00125}},
		{"IEDG", Distances{0.0061, 0.242, 0.0074, 0.0043, 0.00682}},
	}},
	"ising-l16-0.4407": {65_536, []PublishedDistances{
		{"MDNS", Distances{0.0105, 0.171, 0.0098, 0.0019, 0.00467}},
		{"MetaDNS", Distances{0.0317, 0.124, 0.0132, 0.0055, 0.00360}},
		{"IEDG", Distances{0.0106, 0.150, 0.0252, 0.0223, 0.00275}},
	}},
	"ising-l16-0.6": {4096, []PublishedDistances{
		{"MDNS", Distances{0.0173, 0.058, 0.0034, 0.0012, 0.00100}},
		{"MetaDNS", Distances{0.0049, 0.089, 0.0057, 0.0031, 0.00091}},
		{"IEDG", Distances{0.0157, 0.054, 0.0193, 0.0045, 0.00062}},
	}},
	"potts-l16-0.5": {4096, []PublishedDistances{
		{"MDNS", Distances{correlationDistance: 0.068}}, {"IEDG", Distances{correlationDistance: 0.067}},
	}},
	"potts-l16-1.005": {4096, []PublishedDistances{
		{"MDNS", Distances{correlationDistance: 0.212}}, {"IEDG", Distances{correlationDistance: 0.123}},
	}},
	"potts-l16-1.2": {4096, []PublishedDistances{
		{"MDNS", Distances{correlationDistance: 0.039}}, {"IEDG", Distances{correlationDistance: 0.038}},
	}},
}

// A ProtocolRow is what one target gave.
type ProtocolRow struct {
	Name      string        `json:"target"`
	Title     string        `json:"title"`
	Changed   []string      `json:"changed,omitempty"` // assignments that the user added
	Samples   int           `json:"samples"`           // of each seed, and states of the reference
	Distances [5]string     `json:"distances"`         // names of those below
	Runs      []ProtocolRun `json:"runs"`              // by seed
	Floor     ProtocolFloor `json:"floor"`             // of as many exact samples
	// Published are others', and PublishedFloor is that of as many exact samples as theirs.
	Published      []PublishedDistances `json:"published,omitempty"`
	PublishedFloor *ProtocolFloor       `json:"published_floor,omitempty"`
	Machine        reproduce.Machine    `json:"machine"`
}

// A ProtocolRun is how far the samples of one seed are from the reference.
type ProtocolRun struct {
	Seed     uint64    `json:"seed"`
	Raw      Distances `json:"raw"`
	Weighted Distances `json:"weighted"` // by importance weights
}

// A ProtocolFloor is how far exact samples are from a reference.
type ProtocolFloor struct {
	Mean     Distances `json:"mean"`
	Quantile Distances `json:"quantile"` // of 95 %
}

// protocol is the sizes of the study.
var protocol = struct {
	samples, published               int // of ours and of others
	chains, burnIn, spacing, repeats int // of the reference, sweeps of Swendsen and Wang's
}{samples: 65_536, published: 4096, chains: 128, burnIn: 8192, spacing: 128, repeats: 400}

// protocolSide is the side that others publish. Larger lattices' states, which take
// longer, are a quarter as many sweeps apart, where they are independent all the same.
const protocolSide = 16

// protocolBlock is how many states, one after another of one chain, are resampled
// together, and protocolSeed the reference's.
const (
	protocolBlock = 64
	protocolSeed  = 1
)

// recordProtocol puts a target's row into the results, in place of an earlier one, writes
// these and tells the observer.
func (e *execution) recordProtocol(ctx context.Context, results *Results) error {
	row := ProtocolRow{
		Name: e.field.Name, Title: e.field.Title, Changed: e.Assignments, Samples: protocol.samples,
		Distances: DistanceNames, Machine: e.Machine(),
	}
	var params [][]float32
	for n, cfg := range e.Configs {
		seed := cfg.Shared().Training.Seed
		result, err := e.Train(ctx, cfg, e.Run(cfg, n, seed), run.Options{Unmeasured: true})
		if err != nil {
			return err
		}
		params = append(params, result.Params)
	}
	blocks, err := e.protocolReference(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", e.field.Name, err)
	}
	reference := e.pool()
	for _, b := range blocks {
		reference.Merge(b)
	}
	for n, cfg := range e.Configs {
		raw, weighted, err := e.protocolSamples(ctx, cfg, params[n])
		if err != nil {
			return fmt.Errorf("%s: %w", e.field.Name, err)
		}
		row.Runs = append(row.Runs, ProtocolRun{cfg.Shared().Training.Seed, raw.Distances(reference), weighted.Distances(reference)})
	}
	row.Floor = protocolFloor(e.pool, blocks, protocol.samples, protocol.samples)
	if p, ok := publishedDistances[row.Name]; ok {
		floor := protocolFloor(e.pool, blocks, protocol.published, p.reference)
		row.Published, row.PublishedFloor = p.methods, &floor
	}
	results.Protocol = replaced(results.Protocol, row, func(r *ProtocolRow) string { return r.Name }, ranks(ProtocolTargets))
	if err := results.Write(e.Plan.Dir); err != nil {
		return err
	}
	return e.watch.done(&Results{Protocol: []ProtocolRow{row}})
}

// pool returns an empty one of the target's lattice.
func (e *execution) pool() *Pool {
	if c, ok := e.Configs[0].(*potts.Config); ok {
		return NewPool(c.Target.L, c.Target.Q)
	}
	return NewPool(e.Configs[0].(*ising.Config).Target.L, 2)
}

// pottsSpacing is by how much fewer sweeps of sites of several states, whose moves are slower,
// come before and between states; their correlation time is below five.
const pottsSpacing = 8

// protocolReference runs Swendsen's and Wang's chains and returns their states, by blocks. Spins are
// sites of two states, of which equal neighbours have 2J less energy than others.
func (e *execution) protocolReference(ctx context.Context) ([]*Pool, error) {
	burnIn, spacing := protocol.burnIn, protocol.spacing
	l, q := e.pool().l, e.pool().q
	var coupling, beta float64
	switch c := e.Configs[0].(type) {
	case *potts.Config:
		coupling, beta = c.Target.J, c.Target.Beta
		burnIn, spacing = 1+(burnIn-1)/pottsSpacing, 1+(spacing-1)/pottsSpacing
	case *ising.Config:
		if c.Target.H != 0 {
			return nil, errors.New("clusters are of a lattice without a field")
		}
		coupling, beta = 2*c.Target.J, c.Target.Beta
		if l > protocolSide {
			spacing /= 4
		}
	}
	n := l * l
	moves, err := categories.NewClusters(&categories.Target{
		States: categories.Uniform(n, q), Pairs: categories.Lattice(l, categories.Potts(q, coupling)), Beta: beta,
	})
	if err != nil {
		return nil, err
	}
	draws := protocol.samples / protocol.chains
	blocks := make([]*Pool, protocol.samples/protocolBlock)
	e.Workers.Run(protocol.chains, func(chain int) {
		stream, at, state := rng.Stream(protocolSeed, rng.ClusterTransition, uint32(chain)), uint64(0), make([]byte, n)
		var part []byte
		for k := 0; k < draws && ctx.Err() == nil; k++ {
			steps := spacing
			if k == 0 {
				steps = burnIn
			}
			moves.Move(state, &stream, at, steps)
			at += uint64(steps)
			if part = append(part, state...); len(part) == protocolBlock*n {
				b := e.pool()
				if err := b.Add("states", part, nil); err != nil {
					panic(err) // one weight each
				}
				blocks[(chain*draws+k)/protocolBlock], part = b, part[:0]
			}
		}
	})
	return blocks, ctx.Err()
}

// protocolSamples returns fresh samples of a generator, as drawn and by weights.
func (e *execution) protocolSamples(ctx context.Context, cfg engine.Config, params []float32) (raw, weighted *Pool, err error) {
	fresh, err := engine.Reseeded(cfg, cfg.Shared().Training.Seed+1000)
	if err != nil {
		return nil, nil, err
	}
	stream, err := engine.NewStream(fresh, params, e.Workers)
	if err != nil {
		return nil, nil, err
	}
	defer stream.Close()
	f, err := stream.Format(engine.Weighted)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]byte, protocol.samples*f.RowBytes)
	if err := stream.Fill(ctx, rows, f, 0, 0); err != nil {
		return nil, nil, err
	}
	var states []byte
	var weights []float64
	for row := range slices.Chunk(rows, f.RowBytes) {
		at := f.RowBytes - 8
		states = append(states, row[:at]...)
		weights = append(weights, math.Float64frombits(binary.LittleEndian.Uint64(row[at:])))
	}
	for i, most := 0, slices.Max(weights); i < len(weights); i++ {
		weights[i] = math.Exp(weights[i] - most)
	}
	raw, weighted = e.pool(), e.pool()
	format := "spins"
	if e.field.System == "potts" {
		format = "states"
	}
	if err := raw.Add(format, states, nil); err != nil {
		return nil, nil, err
	}
	return raw, weighted, weighted.Add(format, states, weights)
}

// protocolFloor summarises the distances of exact samples.
func protocolFloor(empty func() *Pool, blocks []*Pool, samples, reference int) (f ProtocolFloor) {
	for k, x := range exactDistances(empty, blocks, samples, reference) {
		f.Mean[k] = stat.MeanOf(x).Value()
		f.Quantile[k] = stat.NewNull(x).Quantile(0.95, f.Mean[k])
	}
	return f
}

// exactDistances returns repeatedly, by distance, how far so many exact samples are from a
// reference of so many, both resampled from blocks of states.
func exactDistances(empty func() *Pool, blocks []*Pool, samples, reference int) (all [len(Distances{})][]float64) {
	r := rand.New(rand.NewPCG(0x706f6f6c, uint64(samples)))
	draw := func(p *Pool, states int) *Pool {
		p.Reset()
		for range states / protocolBlock {
			p.Merge(blocks[r.IntN(len(blocks))])
		}
		return p
	}
	a, b := empty(), empty()
	for range protocol.repeats {
		for k, v := range draw(a, samples).Distances(draw(b, reference)) {
			all[k] = append(all[k], v)
		}
	}
	return all
}

// ProtocolTable has a row for each distance of each target.
func ProtocolTable(rows []ProtocolRow) *report.Table {
	t := &report.Table{Header: []string{"target", "seeds", "distance", "ours (range)", "by weights (range)", "floor (95 %)"}, Left: 3}
	var methods []string
	for i := range rows {
		for _, p := range rows[i].Published {
			if !slices.Contains(methods, p.Method) {
				methods = append(methods, p.Method)
			}
		}
	}
	t.Header = append(t.Header, methods...)
	t.Header = append(t.Header, "their floor (95 %)")
	for i := range rows {
		r := &rows[i]
		seeds := lists.Map(r.Runs, func(run ProtocolRun) uint64 { return run.Seed })
		for k, name := range r.Distances {
			over := func(of func(ProtocolRun) Distances) string {
				x := lists.Map(r.Runs, func(run ProtocolRun) float64 { return of(run)[k] })
				m := reproduce.Metric{Error: stat.Median(x), Range: [2]float64{slices.Min(x), slices.Max(x)}}
				return m.ErrorText(len(x))
			}
			row := []string{r.Title, report.Seeds(seeds), name,
				over(func(r ProtocolRun) Distances { return r.Raw }), over(func(r ProtocolRun) Distances { return r.Weighted }), r.Floor.text(k)}
			for _, method := range methods {
				text := "–"
				if p := reproduce.Find(r.Published, func(p PublishedDistances) bool { return p.Method == method }); p != nil && p.Distances[k] > 0 {
					text = report.Deviation(p.Distances[k], false)
				}
				row = append(row, text)
			}
			their := "–"
			if r.PublishedFloor != nil {
				their = r.PublishedFloor.text(k)
			}
			t.Rows = append(t.Rows, append(row, their))
		}
	}
	return t
}

func (f *ProtocolFloor) text(k int) string {
	return report.Deviation(f.Mean[k], false) + " (" + report.Deviation(f.Quantile[k], false) + ")"
}

// ProtocolLegend explains the table.
const ProtocolLegend = "65 536 samples of each seed, as drawn and by weights, and as many states of Swendsen's and Wang's chains: 128 of them, 8 192 sweeps before the first state and 128 between two, 32 on 24×24. Medians over the seeds with the least and the largest. Mag is the mean difference of the rows' and columns' mean spins, CorrAgg the sum of those of the covariances of rows with rows and of columns with columns, divided by L²; JS are divergences of Jensen and Shannon of the fraction of up spins and of the energy, in nats and L² bins each; the curve is the mean difference of ⟨s s′⟩ along an axis, of all distances. These are the definitions of MDNS (arXiv 2508.10684) as the evaluation that IEDG's authors released computes them. Others' figures are of 4 096 samples, from tables 2, 5 and 16 of IEDG's paper; their references had 4 096 states, at β = 0.4407 65 536. A floor is what exact samples have on average and, in brackets, what 95 % of them do not exceed, of as many as ours and as theirs, by resampling the chains' states. Potts models have an eighth as many sweeps, (q δ − 1)/(q − 1) in place of s s′, sums over states in Mag and the last state in place of up; which of these the papers take they do not say, and of their figures CorrAgg alone is known here. Figures at their floors do not tell which sampler is better; Mag is hardly more than the scatter of the magnetisation's sign."
