package engine

import (
	"context"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/state"
)

// A System is one target distribution with the generator that learns it: all
// that the trainer knows of either. Loss and Backward are the paper's Algorithm 1, whose
// lines stand in reversibility.go, Pairs and Densities, called once per step; searches by losses
// alone call Loss for each candidate. The buffers of a batch are allocated once.
//
// Every random number is a function of the seed, its purpose, the step and the
// sample's index, so the methods give the same bits for any number of threads.
type System interface {
	// NumParams returns the length of the flat parameter vector θ.
	NumParams() int
	// Initialize fills θ with the starting values that belong to the seed.
	Initialize(params []float32)
	// Loss draws noise z_i ~ ρ0, s_i = G_θ(z_i) and s′_i ~ p^m(s_i, ·), returns the loss L of
	// the pairs and keeps what its gradient with s′ fixed needs. An error is the target's. If
	// one rank returns it all do, and the system has then learned nothing.
	Loss(params []float32, step uint32) (float64, error)
	// Backward sets grad = ∂L/∂θ of the last Loss, at the same params.
	Backward(params, grad []float32)
	// Acceptance returns the fraction of Metropolis–Hastings proposals that
	// the last Loss accepted; of a loss that takes no moves, the fraction that
	// independence Metropolis from sample to sample would.
	Acceptance() float64
}

// A Count says how many proposals were made and how many of them accepted.
type Count = bitspin.Count

// A Stateful system carries state from step to step beyond θ and the
// optimiser's moments. Its sections are saved in checkpoints and restored in
// place on resumption.
type Stateful interface {
	State() []Section
}

// A Converging system may have converged before its steps are over.
type Converging interface {
	// Converged reports whether further steps would gain nothing. It is a function of State.
	Converged() bool
}

// A Section is a named array of a model or checkpoint file.
type Section = state.Section

// An Evaluator measures a trained generator against its exact reference.
type Evaluator interface {
	// Evaluate draws the given number of samples from the generator with
	// parameters params and returns its table of metrics.
	Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error)
}

// An Illustrator shows a trained generator beside its target.
type Illustrator interface {
	// Figures draws the given number of samples from the generator with
	// parameters params and returns pictures of them.
	Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error)
}

// A Config is everything that determines a run of one system, as a JSON
// object. It is a pointer to a struct whose zero value need not be valid.
type Config interface {
	// Validate reports the first value that cannot be used, by its key.
	Validate() error
	// Shared returns the part that all systems have; embedding Common is
	// enough to provide it.
	Shared() *Common
	// New builds the system. The batch has Shared().Training.Batch samples.
	New(workers *Workers) (System, error)
}

// An Explainer is a configuration that tells a user before a run what it is about.
type Explainer interface {
	// Describe returns a sentence about the target, which names the file's conventions if it
	// was read from one.
	Describe() string
	// Explain returns a sentence about the training: which generator learns, by which form of
	// the principle, and over which moves.
	Explain() string
	// Demands returns the memory that a run needs.
	Demands() []Demand
}

// An Adapter is a configuration whose presets are recipes for its target.
type Adapter interface {
	// Adapt gives everything but the target, the seed and the evaluation the
	// values of the preset's recipe for this target. It returns what it chose and
	// why, "" if the preset stands as it is. The error is ctx's: a recipe that looks at
	// its target, which takes up to minutes, stops soon after ctx has ended, and does not
	// begin after that.
	Adapt(ctx context.Context) (why string, err error)
}

// An Initializer is a system that looks at its target to initialise the generator,
// which takes seconds or more.
type Initializer interface {
	// InitializeContext is Initialize, but returns ctx's error soon after ctx has
	// ended, with params undefined.
	InitializeContext(ctx context.Context, params []float32) error
}

// A Loader is a configuration that names files.
type Loader interface {
	// Load reads the files, and keeps in the configuration what they hold and their
	// hashes. A file whose hash is kept need not be there any more, but must not have
	// changed. Errors begin with the key's path.
	Load() error
}

// A Definition registers a system with the command line.
type Definition struct {
	Name    string
	Summary string
	// Presets names the ready-made configurations, the default first.
	Presets []string
	// Preset returns a fresh configuration, or an error that lists the names. PresetOf
	// makes it of a function that returns the system's own type.
	Preset func(name string) (Config, error)
	// Recognise, if not nil, reports whether the content of a file that is no
	// configuration is a target of the system, and returns the assignments that make
	// it the target: target.file=PATH, say.
	Recognise func(data []byte, path string) (set []string, ok bool)
	// Files describes the files that Recognise knows.
	Files string
	// Verify runs the exhaustive checks of the system's mathematics and
	// reports each through emit. An error says why they could not be run.
	Verify func(ctx context.Context, workers *Workers, emit func(Check)) error
}

// PresetOf returns a Definition's Preset that calls one of a system's own type.
func PresetOf[C Config](preset func(name string) (C, error)) func(name string) (Config, error) {
	return func(name string) (Config, error) {
		c, err := preset(name)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}
