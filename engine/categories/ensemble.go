package categories

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// An Ensemble is what the configurations of any generator are drawn, refined, weighed and
// observed by, for systems to embed.
type Ensemble struct {
	Target *Target
	Shape  []int  // of an array of a configuration's sites
	Order  string // which site is which, as the end of a sentence
	Moves  *Moves // of refinement
	Mixing func(beta float64) (*Moves, error)
	// Draws returns samples of the generator, with their R = ln q + βE where that is known.
	Draws   func(params []float32) Draws
	Weighed bool // whether it is
	Names   []string
	Observe func(values []float64, config []byte) // sets the observables of a configuration

	Seed    uint64 // of the training
	Workers *pool.Pool

	kept struct {
		params []float32 // of the generator
		states []byte    // its samples 0, 1, …
	}
}

// Draws are samples of a trained generator, the same for any number of threads.
type Draws interface {
	// Generate fills batch, unless it is nil, with samples first, first+1, …, one byte a site,
	// and r, unless it is nil, with their R.
	Generate(batch []byte, r []float64, first uint64)
	// R sets r to that of given configurations.
	R(r []float64, batch []byte)
}

// A drawing is the Draws of a Model.
type drawing struct {
	*Sampler
	seed uint64
}

func (d drawing) Generate(batch []byte, r []float64, first uint64) {
	if r == nil {
		r = make([]float64, len(batch)/d.model.Sites())
	}
	if err := d.Sample(batch, r, d.seed, first); err != nil {
		panic(err.Error())
	}
}

// NewDraws returns the samples of the generator with the given parameters that belong to
// the seed of its training.
func (s *System) NewDraws(params []float32) Draws {
	return drawing{s.net.NewSampler(params, s.workers), s.training.Seed}
}

// Formats implements engine.Sampler.
func (e *Ensemble) Formats() []engine.Format {
	n, q := e.Target.N(), e.Target.Most()
	all := []engine.Format{
		{Name: "states", Descr: "'|i1'", Shape: e.Shape, RowBytes: n, Doc: fmt.Sprintf("states 0 … %d as int8", q-1)},
		{Name: "one_hot", Descr: "'|i1'", Shape: append(e.Shape[:len(e.Shape):len(e.Shape)], q), RowBytes: n * q,
			Doc: "for each state of a site, 1 where it is in it and 0 otherwise, as int8"},
	}
	if e.Weighed {
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Shape), "[]"), " ", ", ")
		if len(e.Shape) == 1 {
			shape += "," // a tuple
		}
		all = append(all, engine.Format{
			Name: engine.Weighted, Descr: "[('states', '|i1', (" + shape + ")), ('log_weight', '<f8')]", RowBytes: n + 8,
			Doc:       "states as int8, and ln w = −βE − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
			Unrefined: true,
		})
	}
	for i := range all {
		all[i].Doc += e.Order
	}
	return all
}

// read returns configurations of a format that holds all of a state.
func (e *Ensemble) read(format string, states []byte) ([]byte, error) {
	n, q := e.Target.N(), e.Target.Most()
	row := map[string]int{"states": n, "one_hot": n * q}[format]
	if row == 0 {
		return nil, fmt.Errorf("format: %q is not states or one_hot", format)
	}
	if len(states)%row != 0 {
		return nil, fmt.Errorf("states: %d bytes are not a number of configurations of %d sites in format %s", len(states), n, format)
	}
	if format == "one_hot" {
		packed := make([]byte, len(states)/q)
		for i := range packed {
			x := states[i*q:][:q]
			at := slices.Index(x, 1)
			for s, v := range x {
				if at < 0 || v != 0 && s != at {
					return nil, fmt.Errorf("states: of site %d of configuration %d not exactly one of the %d numbers is 1 and the others 0", i%n, i/n, q)
				}
			}
			packed[i] = byte(at)
		}
		states = packed
	}
	return states, e.Target.check(states)
}

// write writes configurations in a format of read.
func (e *Ensemble) write(dst []byte, format string, batch []byte) error {
	switch format {
	case "states":
		copy(dst, batch)
	case "one_hot":
		clear(dst)
		q := e.Target.Most()
		for i, s := range batch {
			dst[i*q+int(s)] = 1
		}
	default:
		return fmt.Errorf("format: %q is not states or one_hot", format)
	}
	return nil
}

// Reach implements engine.Sampler.
func (e *Ensemble) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, MaxSamples, n, refine, e.Moves.MaxSteps())
}

// Sample implements engine.Sampler.
func (e *Ensemble) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := e.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	sites := e.Target.N()
	drawn := make([]byte, n*sites)
	if format == engine.Weighted && e.Weighed {
		if refine > 0 {
			return fmt.Errorf("refine: the density of refined samples is not known, and neither are their weights; leave it 0, or take another format")
		}
		r := make([]float64, n)
		e.Draws(params).Generate(drawn, r, first)
		for i, r := range r {
			row := dst[i*(sites+8):][:sites+8]
			copy(row, drawn[i*sites:][:sites])
			binary.LittleEndian.PutUint64(row[sites:], math.Float64bits(-r))
		}
		return nil
	}
	if format != "states" && format != "one_hot" {
		return fmt.Errorf("format: %q is not one of the samples' formats", format)
	}
	e.draw(params, e.Draws(params), drawn, first, refine)
	return e.write(dst, format, drawn)
}

// draw fills dst with samples first, first+1, … after refine steps.
func (e *Ensemble) draw(params []float32, d Draws, dst []byte, first uint64, refine int) {
	n := uint64(e.Target.N())
	kept := e.kept.states
	if have := uint64(len(kept)); first < have/n && uint64(len(dst)) <= have-first*n && slices.Equal(e.kept.params, params) {
		copy(dst, kept[first*n:])
	} else {
		d.Generate(dst, nil, first)
	}
	e.refine(dst, first, refine, rng.Stream(e.Seed, rng.SampleTransition, 0))
}

// refine takes steps with samples first, first+1, … of a stream.
func (e *Ensemble) refine(batch []byte, first uint64, steps int, stream rng.Counter) {
	if steps > 0 {
		e.move(batch, first, steps, e.Moves, stream)
	}
}

// move takes steps of a kernel with configurations that have the numbers first, first+1, …
// of a stream.
func (e *Ensemble) move(batch []byte, first uint64, steps int, m *Moves, stream rng.Counter) {
	n := e.Target.N()
	skip, end := int(first%block), int(first%block)+len(batch)/n
	e.Workers.Run((end+block-1)/block, func(k int) {
		lo, hi := max(0, k*block-skip), min(end, (k+1)*block)-skip
		cut := max(0, skip-k*block)
		state, c := make([]byte, n*block), stream
		var count engine.Count
		for b := range hi - lo {
			for i, x := range batch[(lo+b)*n:][:n] {
				state[i*block+cut+b] = x
			}
		}
		// Samples that were not asked for are all in state 0, which every site has.
		for left := steps; left > 0 && !e.Workers.Halted(); left -= haltSteps {
			m.runFrom(state, steps-left, min(left, haltSteps), &c, first/block+uint64(k), &count)
		}
		rows(batch[lo*n:hi*n], state, n, cut)
	})
}

// haltSteps is how many steps a thread takes before it looks whether it should stop.
const haltSteps = 256

// mostKept is how many bytes of samples are kept.
const mostKept = 64 << 20

// Measure calls visit with the generator's samples 0 … samples−1, and their R where that is
// known, at most atOnce at a time. It keeps those unless they are too many or kept already.
func (e *Ensemble) Measure(ctx context.Context, params []float32, samples, atOnce int, visit func(batch []byte, r []float64)) error {
	n, d := e.Target.N(), e.Draws(params)
	all := make([]byte, samples*n)
	for first := 0; first < samples; first += atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := min(first+atOnce, samples)
		part := all[first*n : last*n]
		var r []float64
		if e.Weighed {
			r = make([]float64, last-first)
		}
		d.Generate(part, r, uint64(first))
		visit(part, r)
	}
	if len(all) <= mostKept {
		e.kept.params, e.kept.states = slices.Clone(params), all
	}
	return nil
}

// Refine implements engine.Scorer.
func (e *Ensemble) Refine(states []byte, format string, first uint64, steps int) error {
	batch, err := e.read(format, states)
	if err == nil {
		err = e.Reach(first, uint64(len(batch)/e.Target.N()), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	batch = slices.Clone(batch)
	e.refine(batch, first, steps, rng.Stream(e.Seed, rng.SampleTransition, 0))
	return e.write(states, format, batch)
}

// Convert implements engine.Scorer.
func (e *Ensemble) Convert(dst []byte, format string, states []byte) error {
	batch, err := e.read("states", states)
	if err != nil {
		return err
	}
	return e.write(dst, format, batch)
}

// byRows splits n rows among the threads.
func (e *Ensemble) byRows(n, rows int, run func(lo, hi int)) {
	e.Workers.Run((n+rows-1)/rows, func(piece int) { run(piece*rows, min(n, (piece+1)*rows)) })
}

// Energies implements engine.Scorer.
func (e *Ensemble) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	batch, err := e.read(format, states)
	n := e.Target.N()
	if err == nil && len(batch) != len(dst)*n {
		err = fmt.Errorf("states: there are %d for %d energies", len(batch)/n, len(dst))
	}
	if err != nil {
		return 0, err
	}
	e.byRows(len(dst), 256, func(lo, hi int) { e.Target.Energies(dst[lo:hi], batch[lo*n:hi*n]) })
	return e.Target.Beta, nil
}

// Observables implements chains.Observer.
func (e *Ensemble) Observables() []string {
	if !e.Weighed {
		return e.Names
	}
	return append(e.Names[:len(e.Names):len(e.Names)], engine.LogWeight)
}

// observe sets the observables but for LogWeight, [configurations][stride].
func (e *Ensemble) observe(values []float64, batch []byte) {
	n, stride := e.Target.N(), len(e.Observables())
	e.byRows(len(batch)/n, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			e.Observe(values[i*stride:], batch[i*n:][:n])
		}
	})
}

// weigh sets LogWeight, by the generator's parameters; if these are nil it is NaN.
func (e *Ensemble) weigh(values []float64, params []float32, batch []byte) {
	if !e.Weighed {
		return
	}
	stride := len(e.Names) + 1
	r := make([]float64, len(batch)/e.Target.N())
	if params != nil {
		e.Draws(params).R(r, batch)
	}
	for i := range r {
		values[(i+1)*stride-1] = -r[i]
		if params == nil {
			values[(i+1)*stride-1] = math.NaN()
		}
	}
}

// Score implements engine.Scorer.
func (e *Ensemble) Score(values []float64, params []float32, format string, states []byte) error {
	batch, err := e.read(format, states)
	stride := len(e.Observables())
	if have := len(batch) / e.Target.N(); err == nil && have*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", have, len(values), stride)
	}
	if err != nil {
		return err
	}
	e.observe(values, batch)
	e.weigh(values, params, batch)
	return nil
}

var (
	_ engine.Sampler = (*Ensemble)(nil)
	_ engine.Scorer  = (*Ensemble)(nil)
)

// Step takes steps of a kernel with configurations of a target, in place.
func Step(t *Target, m *Moves, batch []byte, steps int, stream rng.Counter, workers *pool.Pool) {
	e := &Ensemble{Target: t, Workers: workers}
	e.move(batch, 0, steps, m, stream)
}
