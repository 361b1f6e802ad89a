package revgen

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
)

// A Model is a trained generator with the configuration that trained it.
type Model struct {
	// Evaluation measures the generator against its exact reference; nil if the model
	// was loaded, or its system has none.
	Evaluation *measure.Evaluation
	// Warnings are what was seen in training that the user should know of.
	Warnings []string

	file   *run.Model
	config engine.Config
}

// TrainOptions say how a run is carried out, and do not change its numbers. The zero
// value trains in memory with a thread for each processor.
type TrainOptions struct {
	// Dir is a run directory, made if need be, where files and checkpoints are kept.
	// If it holds a run of the same configuration, this continues.
	Dir string
	// MaxTime, if positive, stops the run after that long, as ctx does.
	MaxTime time.Duration
	// MaxEvaluations, if positive, stops the run likewise when a target of one's own has been
	// evaluated so often.
	MaxEvaluations int64
	// Threads to compute with; 0 means one for each processor.
	Threads int
	// Progress, if not nil, is called at every logged step.
	Progress func(run.Progress)
	// Ranks, if not nil, are the processes that share this training: each calls Train
	// with the same configuration, and has the model then, with the bits of one process
	// alone. The number 0 alone uses Dir, calls Progress and has an Evaluation. Where
	// another fails the error is engine.ErrElsewhere.
	Ranks Ranks
	// Start, if not nil, is the model whose parameters the run begins with: that of
	// another temperature, say. It becomes part of the configuration.
	Start *Model
}

// Ranks are processes that go through the same program side by side: package
// internal/mpi has those of MPI, for one.
type Ranks = pool.Ranks

// Train runs Algorithm 1 to the end that the configuration says, and measures the
// generator. Where ctx or MaxTime ends it earlier the error is run.ErrStopped, and
// Train with the same Dir continues, to the same bits. cfg must not change meanwhile.
func Train(ctx context.Context, cfg engine.Config, opt TrainOptions) (*Model, error) {
	options := run.Options{Dir: opt.Dir, MaxTime: opt.MaxTime, MaxEvaluations: opt.MaxEvaluations, Progress: opt.Progress}
	if opt.Start != nil {
		options.Start = &run.Start{Config: opt.Start.config, Params: opt.Start.file.Params}
		var err error
		if cfg, err = engine.Reseeded(cfg, cfg.Shared().Training.Seed); err != nil {
			return nil, err
		}
		cfg.Shared().Training.Start = options.Start.Hash()
	}
	workers := engine.NewWorkers(opt.Threads)
	defer workers.Close()
	if opt.Ranks != nil {
		workers.Join(opt.Ranks)
	}
	result, err := run.Train(ctx, cfg, workers, options)
	if err != nil {
		return nil, err
	}
	file, err := run.NewModel(cfg, result)
	if err != nil {
		return nil, err
	}
	file.Params = slices.Clone(file.Params)
	return &Model{Evaluation: result.Evaluation, Warnings: result.Warnings, file: file, config: cfg}, nil
}

// Load reads the model of a run directory or a model file, whose system is one of
// Systems or of one's own. A file that is damaged or of another version is refused
// with a *run.FileError.
func Load(path string, own ...engine.Definition) (*Model, error) {
	file, cfg, err := run.Read(slices.Concat(Systems(), own), path)
	if err != nil {
		return nil, err
	}
	return &Model{file: file, config: cfg}, nil
}

// Save writes a model file, which appears whole or not at all.
func (m *Model) Save(path string) error { return m.file.Write(path) }

// Config returns the configuration that trained the model, which must not be changed.
func (m *Model) Config() engine.Config { return m.config }

// Seed returns the seed of the training run. Its samples are those that were
// measured; take another for samples that are independent of the Evaluation.
func (m *Model) Seed() uint64 { return m.config.Shared().Training.Seed }

// Params returns the generator's parameters θ. The slice is the model's own.
func (m *Model) Params() []float32 { return m.file.Params }

// MarshalJSON describes the model: its configuration, its parameters' number, the hash of
// both, its evaluation, and the layouts of its states.
func (m *Model) MarshalJSON() ([]byte, error) {
	s, err := m.NewSampler(m.Seed(), 1)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	formats := s.Formats()
	for i := range formats {
		formats[i].Shape = append([]int{}, formats[i].Shape...) // that of a scalar is a list without lengths
	}
	return json.Marshal(struct {
		System     string              `json:"system"`
		Dim        int                 `json:"dim"`
		Parameters int                 `json:"parameters"`
		Hash       string              `json:"hash"`
		Steps      int                 `json:"steps"`
		Path       string              `json:"path"`
		Seed       uint64              `json:"seed"`
		Formats    []engine.Format     `json:"formats"`
		Config     json.RawMessage     `json:"config"`
		Evaluation *measure.Evaluation `json:"evaluation,omitempty"`
		Warnings   []string            `json:"warnings,omitempty"`
	}{m.file.System, s.Dim(), len(m.file.Params), m.file.Hash(), m.file.Step, m.file.Path, m.Seed(), formats, m.file.Config, m.Evaluation, m.Warnings})
}

// Diagnose says how far the model's samples can be trusted, without anything exact of
// the target: what drifts under its Metropolis kernel, and whether independent chains
// agree (package diagnose). Moves of 0 are those of diagnose.Work. Threads are those to
// compute with, 0 for one for each processor.
func (m *Model) Diagnose(ctx context.Context, opt diagnose.Options, threads int) (*diagnose.Report, error) {
	workers := engine.NewWorkers(threads)
	defer workers.Close()
	system, err := m.config.New(workers)
	if err != nil {
		return nil, err
	}
	defer engine.Release(system)
	if opt.Moves == 0 {
		opt.Moves = diagnose.Work(system)
	}
	return diagnose.Run(ctx, system, m.file.Params, opt)
}

// NewSampler returns the stream of a seed, computed with the given number of threads,
// 0 for one for each processor. It must be closed.
func (m *Model) NewSampler(seed uint64, threads int) (*Sampler, error) {
	cfg, err := engine.Reseeded(m.config, seed)
	if err != nil {
		return nil, err
	}
	workers := engine.NewWorkers(threads)
	stream, err := engine.NewStream(cfg, m.file.Params, workers)
	if err != nil {
		workers.Close()
		return nil, err
	}
	return &Sampler{workers: workers, stream: stream, formats: stream.Formats()}, nil
}
