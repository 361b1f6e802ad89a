package spins

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
)

// Formats implements engine.Sampler.
func (e *Ensemble) Formats() []engine.Format {
	all := []engine.Format{
		{Name: "spins", Descr: "'|i1'", Shape: e.Shape, RowBytes: e.Spins, Doc: "spins ±1 as int8"},
		{Name: "bits", Descr: "'<u8'", Shape: []int{e.Words()}, RowBytes: 8 * e.Words(),
			Doc: "packed spins as little-endian uint64: bit i mod 64 of word i div 64 is spin i, 1 for +1; unused high bits are 0"},
	}
	if e.Weigher != nil {
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Shape), "[]"), " ", ", ")
		if len(e.Shape) == 1 {
			shape += "," // a tuple
		}
		all = append(all, engine.Format{
			Name: engine.Weighted, Descr: "[('spins', '|i1', (" + shape + ")), ('log_weight', '<f8')]", RowBytes: e.Spins + 8,
			Doc:       "spins ±1 as int8, and ln w = −βE − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
			Unrefined: true,
		})
	}
	for i := range all {
		all[i].Doc += e.Order
	}
	return all
}

// Reach implements engine.Sampler.
func (e *Ensemble) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, MaxSamples, n, refine, e.Kernel.MaxSteps())
}

// Sample implements engine.Sampler.
func (e *Ensemble) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := e.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	drawn := make([]uint64, n*e.Words())
	if format == engine.Weighted && e.Weigher != nil {
		if refine > 0 {
			return fmt.Errorf("refine: the density of refined samples is not known, and neither are their weights; leave it 0, or take another format")
		}
		for i, r := range e.Draws(params).(Weighed).Weigh(drawn, n, first) {
			row := dst[i*(e.Spins+8):][:e.Spins+8]
			WriteSigns(row[:e.Spins], drawn[i*e.Words():][:e.Words()], e.Spins)
			binary.LittleEndian.PutUint64(row[e.Spins:], math.Float64bits(-r))
		}
		return nil
	}
	if format != "spins" && format != "bits" {
		return fmt.Errorf("format: %q is not one of the samples' formats", format)
	}
	e.Drawing(params).Draw(drawn, first, refine)
	return e.write(dst, format, drawn)
}

// A Drawing draws the samples of one generator.
type Drawing struct {
	Draws
	ensemble *Ensemble
	params   []float32
}

// Drawing returns the samples of the generator with the given parameters.
func (e *Ensemble) Drawing(params []float32) *Drawing { return &Drawing{e.Draws(params), e, params} }

// Draw fills dst with samples first, first+1, … after refine steps of the kernel.
func (d *Drawing) Draw(dst []uint64, first uint64, refine int) {
	if refine == 0 {
		d.draw(dst, first)
		return
	}
	d.ensemble.refined(dst, first, refine, func(whole []uint64, start uint64, _ int) { d.draw(whole, start) })
}

func (d *Drawing) draw(dst []uint64, first uint64) {
	kept, words := &d.ensemble.kept, uint64(d.ensemble.Words())
	if n := uint64(len(kept.states)); first < n/words && uint64(len(dst)) <= n-first*words && slices.Equal(kept.params, d.params) {
		copy(dst, kept.states[first*words:])
		return
	}
	d.Generate(dst, first)
}

// mostKept is how many words of samples are kept.
const mostKept = 4 << 20

// Measure calls visit with the generator's samples 0 … samples−1 after refine steps of the
// kernel, at most atOnce at a time. It keeps those that are not refined, unless they are
// too many or kept already: what measures a generator, what shows it and what writes its
// samples all ask for the same.
func (e *Ensemble) Measure(ctx context.Context, params []float32, samples, refine, atOnce int, visit func(batch []uint64)) error {
	d, words, rows := e.Drawing(params), e.Words(), min(samples, atOnce)
	known := len(e.kept.states) >= samples*words && slices.Equal(e.kept.params, params)
	keep := refine == 0 && samples <= mostKept/words && !known
	if keep {
		rows = samples
	}
	states := make([]uint64, rows*words)
	for first := 0; first < samples; first += atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := states[:min(atOnce, samples-first)*words]
		if keep {
			part = states[first*words:][:len(part)]
		}
		d.Draw(part, uint64(first), refine)
		visit(part)
	}
	if keep {
		e.kept.params, e.kept.states = slices.Clone(params), states
	}
	return nil
}

// refined takes steps with samples first, first+1, … of the stream, which set
// gives from start on, with those before and after them that draw together with
// them.
func (e *Ensemble) refined(dst []uint64, first uint64, steps int, set func(whole []uint64, start uint64, before int)) {
	words, block := uint64(e.Words()), uint64(e.Kernel.Together())
	start := e.together(first)
	end := (first + uint64(len(dst))/words + block - 1) / block * block
	before, whole := int((first-start)*words), dst
	if block > 1 {
		whole = make([]uint64, (end-start)*words)
	}
	set(whole, start, before)
	e.move(whole, 0, len(whole)/int(words), start, steps, e.Kernel, rng.Stream(e.Seed, rng.SampleTransition, 0))
	if block > 1 {
		copy(dst, whole[before:])
	}
}

// together returns the first of the samples that draw together with one.
func (e *Ensemble) together(sample uint64) uint64 {
	block := uint64(e.Kernel.Together())
	return sample / block * block
}

// move takes steps of a kernel with configurations from … to−1 of a batch, that of those
// first, first+1, … of a stream, where first and from are the first of those that draw
// together.
func (e *Ensemble) move(batch []uint64, from, to int, first uint64, steps int, k Kernel, stream rng.Counter) {
	halted := e.Workers.Halted
	e.byRows(to-from, PieceOf(k), func(lo, hi int) {
		c := stream
		var stats bitspin.Stats
		k.RunUntil(halted, batch, batch, from+lo, from+hi, steps, &c, first, &stats)
	})
}

// Refine implements engine.Scorer.
func (e *Ensemble) Refine(states []byte, format string, first uint64, steps int) error {
	packed, err := ReadStates(format, states, e.Spins)
	if err == nil {
		err = e.Reach(first, uint64(len(packed)/e.Words()), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	moved := make([]uint64, len(packed))
	e.refined(moved, first, steps, func(whole []uint64, _ uint64, before int) { copy(whole[before:], packed) })
	return e.write(states, format, moved)
}
