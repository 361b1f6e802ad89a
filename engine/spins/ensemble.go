package spins

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// An Ensemble is what the configurations of any generator are drawn, refined,
// weighed and observed by, for systems to embed.
type Ensemble struct {
	Spins int
	Shape []int  // of an array of a configuration's spins
	Order string // which spin is which, as the end of a sentence

	Beta    float64                                            // inverse temperature of the target
	Energy  func(dst []float64, batch []uint64)                // of packed configurations
	Even    bool                                               // whether flipping all spins leaves the energy as it is
	Kernel  Kernel                                             // of refinement
	Mixing  func(beta float64) (Kernel, error)                 // what mixes best at an inverse temperature
	Draws   func(params []float32) Draws                       // of the generator
	Weight  Weight                                             // nil for a generator without a density
	Names   []string                                           // of observables
	Observe func(values []float64, stride int, batch []uint64) // sets them, [configurations][stride]

	Seed    uint64 // of the training
	Workers *pool.Pool

	kept struct {
		params []float32 // of the generator
		states []uint64  // its samples 0, 1, …
	}
}

// Draws are packed configurations of a trained generator, the same for any number
// of threads.
type Draws interface {
	// Generate fills dst with samples first, first+1, ….
	Generate(dst []uint64, first uint64)
}

// A Weight knows a generator's density.
type Weight interface {
	// WeightedFormat describes samples with the logarithms of their weights, of
	// spins in an array of the given shape, which SampleWeighted writes.
	WeightedFormat(shape ...int) engine.Format
	SampleWeighted(dst []byte, params []float32, first uint64, n, refine int) error
	// Weigher returns ln π − ln q + const as a function of packed configurations.
	Weigher(params []float32) func(dst []float64, batch []uint64)
}

// Words returns the number of words of a configuration.
func (e *Ensemble) Words() int { return (e.Spins + 63) / 64 }

// Formats implements engine.Sampler.
func (e *Ensemble) Formats() []engine.Format {
	all := []engine.Format{
		{Name: "spins", Descr: "'|i1'", Shape: e.Shape, RowBytes: e.Spins, Doc: "spins ±1 as int8"},
		{Name: "bits", Descr: "'<u8'", Shape: []int{e.Words()}, RowBytes: 8 * e.Words(),
			Doc: "packed spins as little-endian uint64: bit i mod 64 of word i div 64 is spin i, 1 for +1; unused high bits are 0"},
	}
	if e.Weight != nil {
		all = append(all, e.Weight.WeightedFormat(e.Shape...))
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
	switch {
	case format == "spins" || format == "bits":
	case e.Weight == nil:
		return fmt.Errorf("format: %q is not spins or bits", format)
	case format == e.Weight.WeightedFormat(e.Shape...).Name:
		return e.Weight.SampleWeighted(dst, params, first, n, refine)
	default:
		return fmt.Errorf("format: %q is not spins, bits or %s", format, e.Weight.WeightedFormat(e.Shape...).Name)
	}
	drawn := make([]uint64, n*e.Words())
	e.Drawing(params).Draw(drawn, first, refine)
	e.write(dst, format, drawn)
	return nil
}

// write writes packed configurations in a format.
func (e *Ensemble) write(dst []byte, format string, batch []uint64) {
	words, rowBytes := e.Words(), e.Spins
	if format == "bits" {
		rowBytes = 8 * words
	}
	e.byRows(len(batch)/words, 4096, func(lo, hi int) {
		from, to := batch[lo*words:hi*words], dst[lo*rowBytes:hi*rowBytes]
		if format == "bits" {
			WriteBits(to, from)
		} else {
			WriteSigns(to, from, e.Spins)
		}
	})
}

// writeStates is write for formats that users name.
func (e *Ensemble) writeStates(dst []byte, format string, batch []uint64) error {
	if format != "spins" && format != "bits" {
		return fmt.Errorf("format: %q is not spins or bits", format)
	}
	e.write(dst, format, batch)
	return nil
}

// Convert implements engine.Converter.
func (e *Ensemble) Convert(dst []byte, format string, states []byte) error {
	packed, err := ReadStates("spins", states, e.Spins)
	if err != nil {
		return err
	}
	return e.writeStates(dst, format, packed)
}

// byRows splits n rows among the threads.
func (e *Ensemble) byRows(n, rows int, run func(lo, hi int)) {
	e.Workers.Run((n+rows-1)/rows, func(piece int) { run(piece*rows, min(n, (piece+1)*rows)) })
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

// Energies implements engine.Energetic.
func (e *Ensemble) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	packed, err := ReadStates(format, states, e.Spins)
	words := e.Words()
	if err == nil && len(packed) != len(dst)*words {
		err = fmt.Errorf("states: there are %d for %d energies", len(packed)/words, len(dst))
	}
	if err != nil {
		return 0, err
	}
	e.byRows(len(dst), 1024, func(lo, hi int) { e.Energy(dst[lo:hi], packed[lo*words:hi*words]) })
	return e.Beta, nil
}

// Refine implements engine.Refiner.
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
	e.write(states, format, moved)
	return nil
}

// Score implements engine.Scorer.
func (e *Ensemble) Score(values []float64, params []float32, format string, states []byte) error {
	packed, err := ReadStates(format, states, e.Spins)
	stride, words := len(e.Observables()), e.Words()
	if err == nil && len(packed)/words*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", len(packed)/words, len(values), stride)
	}
	if err != nil {
		return err
	}
	o := Observed{Packed: packed, hi: len(packed) / words, ensemble: e}
	switch {
	case e.Weight == nil:
	case params != nil:
		o.weigh = e.Weight.Weigher(params)
	default:
		for i := stride - 1; i < len(values); i += stride {
			values[i] = math.NaN()
		}
	}
	o.Observe(values)
	return nil
}

// Observables implements engine.Observer.
func (e *Ensemble) Observables() []string {
	if e.Weight == nil {
		return e.Names
	}
	return append(e.Names[:len(e.Names):len(e.Names)], engine.LogWeight)
}

// Observed are configurations that are observed. Of a walk that ranks share they are
// those of the rank.
type Observed struct {
	Packed   []uint64 // states, of all ranks
	lo, hi   int      // which are observed
	ensemble *Ensemble
	weigh    func(dst []float64, batch []uint64) // nil without a density
}

// Observed returns n configurations, all spins down. Those of a generator with a
// density are weighed as samples of it.
func (e *Ensemble) Observed(params []float32, n int) Observed {
	o := Observed{Packed: make([]uint64, n*e.Words()), hi: n, ensemble: e}
	if e.Weight != nil {
		o.weigh = e.Weight.Weigher(params)
	}
	return o
}

// Observe implements engine.Walk.
func (o *Observed) Observe(values []float64) {
	o.ObserveUnweighted(values)
	if o.weigh == nil {
		return
	}
	stride, words := len(o.ensemble.Names)+1, o.ensemble.Words()
	weights := make([]float64, o.hi-o.lo)
	o.weigh(weights, o.Packed[o.lo*words:o.hi*words])
	for i, v := range weights {
		values[(o.lo+i+1)*stride-1] = v
	}
}

// ObserveUnweighted implements engine.UnweightedWalk.
func (o *Observed) ObserveUnweighted(values []float64) {
	e := o.ensemble
	words, stride := e.Words(), len(e.Observables())
	own, seen := o.Packed[o.lo*words:o.hi*words], values[o.lo*stride:]
	e.byRows(o.hi-o.lo, 256, func(lo, hi int) { e.Observe(seen[lo*stride:], stride, own[lo*words:hi*words]) })
}

// States implements engine.StateWalk.
func (o *Observed) States(dst []byte, format string) error {
	words := o.ensemble.Words()
	if o.hi == o.lo {
		return nil
	}
	row := len(dst) / (len(o.Packed) / words)
	return o.ensemble.writeStates(dst[o.lo*row:o.hi*row], format, o.Packed[o.lo*words:o.hi*words])
}

// Own implements engine.SharedWalk.
func (o *Observed) Own() (lo, hi int) { return o.lo, o.hi }

// share leaves a rank those of its own, of whole pieces of a kernel's rows.
func (o *Observed) share(rows int) {
	o.lo, o.hi = o.ensemble.Workers.Rows(len(o.Packed)/o.ensemble.Words(), rows)
}

// A Walk is an engine.Walk of configurations by the steps of a kernel.
type Walk struct {
	Observed
	engine.Strides
	kernel Kernel
	first  uint64
}

// NewWalk returns n configurations, all spins down, that walk with a kernel.
func (e *Ensemble) NewWalk(params []float32, k Kernel, purpose rng.Purpose, n int) *Walk {
	const flips = 1 << 26
	slice := min(k.MaxSteps(), max(1, flips/(max(n, 1)*e.Spins)))
	return &Walk{Observed: e.Observed(params, n), kernel: k, Strides: engine.Strides{Seed: e.Seed, Purpose: purpose, Slice: slice}}
}

// Walk implements engine.Observer.
func (e *Ensemble) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	if err := e.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := e.NewWalk(params, e.Kernel, rng.WalkTransition, n)
	w.first = e.together(first)
	e.Drawing(params).Draw(w.Packed, first, 0)
	return w, nil
}

// Advance implements engine.Walk.
func (w *Walk) Advance(ctx context.Context, steps int) error {
	return w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		w.ensemble.move(w.Packed, w.lo, w.hi, w.first, steps, w.kernel, stream)
	})
}

// dispersed is a walk by what mixes best, whose configurations begin far apart. Where the
// law is even, each call also flips all spins of a configuration with probability ½, which
// costs no energy.
type dispersed struct{ *Walk }

// Chains implements engine.Observer: of configurations of which a third each begin with
// all spins up, with all down, and at random.
func (e *Ensemble) Chains(params []float32, n int) (engine.Walk, error) {
	kernel, err := e.Mixing(e.Beta)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	w := dispersed{e.NewWalk(params, kernel, rng.ChainTransition, n)}
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	e.disperse(w.Packed, &from, 0)
	w.share(PieceOf(kernel))
	return w, nil
}

// Advance implements engine.Walk.
func (w dispersed) Advance(ctx context.Context, steps int) error {
	err := w.Walk.Advance(ctx, steps)
	if err == nil && w.ensemble.Even {
		w.ensemble.flip(w.Packed, w.Calls, 0)
	}
	return err
}

// disperse sets configurations of which a third each have all spins up, all down, and
// each by chance.
func (e *Ensemble) disperse(batch []uint64, from *rng.Counter, first uint64) {
	words := e.Words()
	for i := range len(batch) / words {
		switch config := batch[i*words:][:words]; i % 3 {
		case 0:
			clear(config)
			Invert(config, e.Spins)
		case 1:
			clear(config)
		case 2:
			Randomize(config, e.Spins, from, first+uint64(i*words))
		}
	}
}

// flip inverts configurations by chance, with the numbers first, first+1, … of a call.
func (e *Ensemble) flip(batch []uint64, call uint32, first uint64) {
	words := e.Words()
	c := rng.Stream(e.Seed, rng.ChainStart, call)
	var draw [4]uint32
	for i := range len(batch) / words {
		if i%128 == 0 {
			asm.PhiloxBlocks(draw[:], &c, first+uint64(i/128))
		}
		if draw[i/32%4]>>(i%32)&1 != 0 {
			Invert(batch[i*words:][:words], e.Spins)
		}
	}
}

// Randomize gives every spin a direction by chance.
func Randomize(config []uint64, spins int, c *rng.Counter, block uint64) {
	var draw [4]uint32
	for k := range config {
		asm.PhiloxBlocks(draw[:], c, block+uint64(k))
		config[k] = uint64(draw[1])<<32 | uint64(draw[0])
	}
	config[len(config)-1] &= Top(spins)
}

// Top returns the bits that a configuration's last word has.
func Top(spins int) uint64 { return math.MaxUint64 >> (-spins & 63) }

// Invert flips all spins.
func Invert(config []uint64, spins int) {
	for k := range config {
		config[k] = ^config[k]
	}
	config[len(config)-1] &= Top(spins)
}

var (
	_ engine.Sampler        = (*Ensemble)(nil)
	_ engine.Scorer         = (*Ensemble)(nil)
	_ engine.Refiner        = (*Ensemble)(nil)
	_ engine.Walk           = (*Walk)(nil)
	_ engine.UnweightedWalk = (*Walk)(nil)
	_ engine.StateWalk      = (*Walk)(nil)
	_ engine.SharedWalk     = (*Walk)(nil)
)
