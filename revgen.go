// Package revgen trains generators of independent samples from nothing but a
// target distribution and a Metropolis–Hastings kernel, and draws from them.
//
//	cfg, err := revgen.Configure("ising", "best", "target.l=16", "target.beta=0.44")
//	…
//	model, err := revgen.Train(ctx, cfg, revgen.TrainOptions{})
//	…
//	sampler, err := model.NewSampler(7, 0) // a seed; as many threads as processors
//	…
//	defer sampler.Close()
//	spins := make([]int8, 1000*sampler.Dim())
//	err = sampler.Sample(ctx, revgen.States{Spins: spins}, 0, 0)
//
// Configure makes a configuration of a preset, and ParseConfig of JSON. Train trains a model,
// Save writes it to a file, and Load reads it from there or from a run directory. A sampler
// draws any part of the stream of samples that belongs to the model and a seed, evaluates the
// target at any states and takes them along the target's Metropolis kernel, all in the
// caller's slices. Diagnose reports how far the samples can be trusted.
//
// A target of one's own is an engine.Definition: configure it with
// catalogue.Systems{definition}.Configure, and give it to Load beside the path. Package
// cli makes a whole program of it.
//
// The package has no state, prints nothing, and leaves no goroutine behind when Train
// has returned and samplers are closed. Errors, for errors.Is and errors.As, are
// *catalogue.ConfigError for a configuration, run.ErrStopped for a run that was cancelled or out
// of time, *run.FileError for a damaged file, and *engine.NonFiniteError for numbers that ceased
// to be finite.
package revgen

import (
	"context"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/ising"
	"github.com/revgen/revgen/target/density"
	"github.com/revgen/revgen/target/graph"
	"github.com/revgen/revgen/target/potts"
)

// Systems returns the systems that come with RevGen, the default first.
func Systems() catalogue.Systems {
	return catalogue.Systems{ising.Definition, gmm.Definition, hybrid.Definition, graph.Definition, potts.Definition, density.RealsDefinition, density.MixedDefinition}
}

// Configure returns the configuration of a preset, "" for the first, of one of
// Systems. Assignments key.path=value change it, training.steps=2000 say; a preset
// that is a recipe takes its choices from the target that they describe. The result
// is valid; errors are *catalogue.ConfigError, and name the key.
func Configure(system, preset string, set ...string) (engine.Config, error) {
	return Systems().Configure(system, preset, set...)
}

// ParseConfig returns the configuration that JSON describes: config.json of a run, or a part of
// it such as {"system": "ising", "preset": "best", "target": {"l": 16}}. Its system is one of
// Systems or of one's own. Errors are *catalogue.ConfigError, and name line and key.
func ParseConfig(text []byte, own ...engine.Definition) (engine.Config, error) {
	if text == nil {
		text = []byte{}
	}
	cfg, _, err := slices.Concat(Systems(), own).Resolve(context.Background(), catalogue.Source{Text: text})
	return cfg, err
}
