package sites

import (
	"slices"

	"github.com/revgen/revgen/internal/pool"
)

// A Net is a generator with a density.
type Net[W uint64 | byte] interface {
	Words() int // of a configuration
	NumParams() int
	TensorName(i int) string
	Initialize(params []float32, seed uint64)
	NewSampler(params []float32, workers *pool.Pool) *Sampler[W]
}

// A Density implements the parameters and samples of a system whose generator has a density, for
// systems to embed.
type Density[W uint64 | byte] struct {
	Net     Net[W]
	Seed    uint64 // of the training
	Workers *pool.Pool

	kept struct {
		params  []float32
		sampler *Sampler[W] // with tables for these parameters
	}
}

// sampler returns the Sampler of the generator with the given parameters. One goroutine may use
// it.
func (d *Density[W]) sampler(params []float32) *Sampler[W] {
	kept := &d.kept
	if kept.sampler == nil || !slices.Equal(kept.params, params) {
		kept.sampler = nil // free its workspace before another is made
		kept.params, kept.sampler = slices.Clone(params), d.Net.NewSampler(params, d.Workers)
	}
	return kept.sampler
}

// NumParams implements engine.System.
func (d *Density[W]) NumParams() int { return d.Net.NumParams() }

// TensorName implements engine.TensorNamer.
func (d *Density[W]) TensorName(i int) string { return d.Net.TensorName(i) }

// Initialize implements engine.System.
func (d *Density[W]) Initialize(params []float32) { d.Net.Initialize(params, d.Seed) }

// NewDraws returns samples of the generator with the given parameters, by the seed of its
// training.
func (d *Density[W]) NewDraws(params []float32) Draws[W] {
	return &seededDraws[W]{Sampler: d.sampler(params), seed: d.Seed}
}

// Weigher returns R as a function of configurations, as Ensemble.Weigher.
func (d *Density[W]) Weigher(params []float32) func(r []float64, batch []W) {
	return d.sampler(params).R
}

type seededDraws[W uint64 | byte] struct {
	*Sampler[W]
	seed uint64
	r    []float64
}

// Generate implements Draws. It panics beyond sample MaxSamples.
func (d *seededDraws[W]) Generate(dst []W, r []float64, first uint64) {
	if n := len(dst) / d.words; r == nil {
		d.r = slices.Grow(d.r[:0], n)
		r = d.r[:n]
	}
	if err := d.Sample(dst, r, d.seed, first); err != nil {
		panic(err.Error())
	}
}
