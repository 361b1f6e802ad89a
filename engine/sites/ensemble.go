// Package sites holds what spins and categories share: how configurations of sites are drawn
// from any generator, moved by any kernel, weighed, observed and written. A configuration is
// a number of words of type W: 64 spins in a uint64 each, or a state in a byte.
package sites

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
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
)

// MaxSamples is the number of samples of a seed's stream.
const MaxSamples = 1 << 40

// An Ensemble draws, refines, weighs and observes the configurations of any generator, for
// systems to embed.
type Ensemble[W uint64 | byte] struct {
	States   States[W]
	Beta     float64                               // inverse temperature of the target
	Energy   func(dst []float64, batch []W)        // of configurations
	Kernel   Kernel[W]                             // refines samples
	Mixing   func(beta float64) (Kernel[W], error) // the kernel that mixes best at an inverse temperature
	Tempered bool                                  // Chains returns chains of replica exchange
	Draws    func(params []float32) Draws[W]       // samples of the generator
	// Weigher returns R = ln q + βE as a function of configurations. It is nil for a
	// generator without a density.
	Weigher func(params []float32) func(r []float64, batch []W)
	Names   []string                                      // of the observables
	Observe func(values []float64, stride int, batch []W) // sets the observables, [configurations][stride]

	Seed    uint64 // of the training
	Workers *pool.Pool

	kept struct {
		params []float32 // of the generator
		states []W       // its samples 0, 1, …
		r      []float64 // their R, if the generator has a density
	}
}

// States says what configurations are.
type States[W uint64 | byte] interface {
	// Words returns the number of words of a configuration.
	Words() int
	// Sites returns the number of sites of a configuration.
	Sites() int
	// MaxSamples returns how many samples of a seed kernels have random numbers for.
	MaxSamples() uint64
	// Formats lists the layouts that hold all of a configuration, the default first.
	Formats() []engine.Format
	// Read returns configurations that are written in one of the Formats.
	Read(format string, states []byte) ([]W, error)
	// Write writes configurations in one of the Formats.
	Write(dst []byte, format string, batch []W)
	// Disperse sets configurations first, first+1, … to states that are far apart.
	Disperse(batch []W, from *rng.Counter, first uint64)
	// Stir applies random symmetries of the energy to configurations, with the random numbers
	// first, first+1, … of the stream.
	Stir(batch []W, c rng.Counter, first uint64)
}

// Draws are configurations of a trained generator, the same for any number of threads.
type Draws[W uint64 | byte] interface {
	// Generate fills dst with samples first, first+1, …, and r with their R = ln q + βE. Either
	// may be nil; r is nil if the generator has no density.
	Generate(dst []W, r []float64, first uint64)
}

// Words returns the number of words of a configuration.
func (e *Ensemble[W]) Words() int { return e.States.Words() }

// byRows splits n rows among the threads.
func (e *Ensemble[W]) byRows(n, rows int, run func(lo, hi int)) {
	e.Workers.Run((n+rows-1)/rows, func(piece int) { run(piece*rows, min(n, (piece+1)*rows)) })
}

// Formats implements engine.Sampler.
func (e *Ensemble[W]) Formats() []engine.Format {
	all := e.States.Formats()
	if e.Weigher == nil {
		return all
	}
	f := all[0]
	return append(all, engine.Format{
		Name: engine.Weighted, Descr: "[('" + f.Name + "', " + f.Descr + ", " + npy.Tuple(f.Shape) + "), ('log_weight', '<f8')]", RowBytes: f.RowBytes + 8,
		Doc:       f.Doc + "; and ln w = −βE − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
		Unrefined: true,
	})
}

// Reach implements engine.Sampler.
func (e *Ensemble[W]) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, e.States.MaxSamples(), n, refine, e.Kernel.MaxSteps())
}

// Sample implements engine.Sampler.
func (e *Ensemble[W]) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := e.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	words := e.Words()
	drawn := make([]W, n*words)
	if format == engine.Weighted && e.Weigher != nil {
		if refine > 0 {
			return fmt.Errorf("refine: the density of refined samples is not known, and neither are their weights; leave it 0, or take another format")
		}
		r, plain := make([]float64, n), e.States.Formats()[0]
		e.Draws(params).Generate(drawn, r, first)
		e.byRows(n, 4096, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				row := dst[i*(plain.RowBytes+8):][:plain.RowBytes+8]
				e.States.Write(row[:plain.RowBytes], plain.Name, drawn[i*words:][:words])
				binary.LittleEndian.PutUint64(row[plain.RowBytes:], math.Float64bits(-r[i]))
			}
		})
		return nil
	}
	if _, err := e.format(format); err != nil {
		return err
	}
	e.Draw(drawn, params, first, refine)
	return e.write(dst, format, drawn)
}

// format returns a layout that holds all of a configuration.
func (e *Ensemble[W]) format(name string) (engine.Format, error) {
	var names []string
	for _, f := range e.States.Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return engine.Format{}, fmt.Errorf("format: %q is not %s", name, strings.Join(names, " or "))
}

// read returns configurations in one of the layouts that hold all of them.
func (e *Ensemble[W]) read(format string, states []byte) ([]W, error) {
	f, err := e.format(format)
	if err != nil {
		return nil, err
	}
	if len(states)%f.RowBytes != 0 {
		return nil, fmt.Errorf("states: %d bytes are not a number of configurations of %d sites in format %s", len(states), e.States.Sites(), format)
	}
	return e.States.Read(format, states)
}

// write writes configurations in one of the layouts that hold all of them.
func (e *Ensemble[W]) write(dst []byte, format string, batch []W) error {
	f, err := e.format(format)
	if err != nil {
		return err
	}
	words := e.Words()
	e.byRows(len(batch)/words, 4096, func(lo, hi int) {
		e.States.Write(dst[lo*f.RowBytes:hi*f.RowBytes], format, batch[lo*words:hi*words])
	})
	return nil
}

// Draw fills dst with samples first, first+1, … of the generator with the given parameters,
// after refine steps of the kernel.
func (e *Ensemble[W]) Draw(dst []W, params []float32, first uint64, refine int) {
	e.draw(dst, nil, e.Draws(params), params, first, refine)
}

// draw is Draw, given the Draws of the parameters. Unless r is nil it sets r to R of the samples,
// which are not refined then.
func (e *Ensemble[W]) draw(dst []W, r []float64, draws Draws[W], params []float32, first uint64, refine int) {
	if refine > 0 {
		e.refined(dst, first, refine, func(whole []W, start uint64, _ int) { e.draw(whole, nil, draws, params, start, 0) })
		return
	}
	kept, words := &e.kept, uint64(e.Words())
	if n := uint64(len(kept.states)); first < n/words && uint64(len(dst)) <= n-first*words && slices.Equal(kept.params, params) {
		copy(dst, kept.states[first*words:])
		if r != nil {
			copy(r, kept.r[first:])
		}
		return
	}
	draws.Generate(dst, r, first)
}

// maxKeptBytes bounds the samples that Measure keeps.
const maxKeptBytes = 64 << 20

// Measure calls visit with the generator's samples 0 … samples−1 after refine steps of the
// kernel, at most maxRows at a time, and with their R if the generator has a density and they are
// not refined. It keeps samples that are not refined, unless they are too many, since tables,
// figures and files all ask for the same ones.
func (e *Ensemble[W]) Measure(ctx context.Context, params []float32, samples, refine, maxRows int, visit func(batch []W, r []float64)) error {
	draws, words, rows := e.Draws(params), e.Words(), min(samples, maxRows)
	isKept := len(e.kept.states) >= samples*words && slices.Equal(e.kept.params, params)
	keep := refine == 0 && samples <= maxKeptBytes/(words*binary.Size(W(0))) && !isKept
	if keep {
		rows = samples
	}
	states := make([]W, rows*words)
	var r []float64
	if e.Weigher != nil && refine == 0 {
		r = make([]float64, rows)
	}
	for first := 0; first < samples; first += maxRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		at, n := 0, min(maxRows, samples-first)
		if keep {
			at = first
		}
		part, weights := states[at*words:][:n*words], r
		if r != nil {
			weights = r[at:][:n]
		}
		e.draw(part, weights, draws, params, uint64(first), refine)
		visit(part, weights)
	}
	if keep {
		e.kept.params, e.kept.states, e.kept.r = slices.Clone(params), states, r
	}
	return nil
}

// refined sets dst to samples first, first+1, … of the stream after steps of the kernel. It moves
// whole blocks of the kernel, since samples of a block draw together: fill sets whole to samples
// start, start+1, …; those of dst begin at word before.
func (e *Ensemble[W]) refined(dst []W, first uint64, steps int, fill func(whole []W, start uint64, before int)) {
	words, block := uint64(e.Words()), uint64(e.Kernel.BlockSize())
	start := e.firstOfBlock(first)
	end := (first + uint64(len(dst))/words + block - 1) / block * block
	before, whole := int((first-start)*words), dst
	if block > 1 {
		whole = make([]W, (end-start)*words)
	}
	fill(whole, start, before)
	e.move(whole, 0, len(whole)/int(words), start, steps, e.Kernel, rng.Stream(e.Seed, rng.SampleTransition, 0))
	if block > 1 {
		copy(dst, whole[before:])
	}
}

// firstOfBlock returns the first of the samples that draw together with the given one.
func (e *Ensemble[W]) firstOfBlock(sample uint64) uint64 {
	block := uint64(e.Kernel.BlockSize())
	return sample / block * block
}

// move takes steps of a kernel with configurations from … to−1 of a batch. Configuration i draws
// the random numbers of sample first+i of the stream; first and from begin blocks of the kernel.
func (e *Ensemble[W]) move(batch []W, from, to int, first uint64, steps int, k Kernel[W], stream rng.Counter) {
	halted := e.Workers.Halted
	e.byRows(to-from, PieceOf(k), func(lo, hi int) {
		c := stream
		var stats bitspin.Count
		k.Run(halted, batch, batch, from+lo, from+hi, steps, &c, first, &stats)
	})
}

var (
	_ engine.Sampler = (*Ensemble[uint64])(nil)
	_ engine.Scorer  = (*Ensemble[byte])(nil)
)
