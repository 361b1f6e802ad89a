package revgen

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
)

// A Model is a trained generator with the configuration that trained it.
type Model struct {
	// Evaluation measures the generator against its exact reference; nil if the model
	// was loaded, or its system has none.
	Evaluation *measure.Evaluation
	// Warnings are those of the training; none if the model was loaded.
	Warnings []string

	file   *run.Model
	config engine.Config
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

// Seed returns the seed of the training run. The Evaluation measured the samples of this seed;
// take another one for samples that are independent of it.
func (m *Model) Seed() uint64 { return m.config.Shared().Training.Seed }

// Params returns the generator's parameters θ. The slice is the model's own.
func (m *Model) Params() []float32 { return m.file.Params }

// MarshalJSON describes the model: its configuration, the number of its parameters, the hash of
// configuration and parameters, its evaluation, and the layouts of its states.
func (m *Model) MarshalJSON() ([]byte, error) {
	s, err := m.NewSampler(m.Seed(), 1)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	formats := s.Formats()
	for i := range formats {
		formats[i].Shape = append([]int{}, formats[i].Shape...) // a scalar's shape is [] in JSON, not null
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

// Diagnose reports how far the model's samples can be trusted, without an exact reference:
// whether they drift under the target's Metropolis kernel, and whether independent chains agree
// (package diagnose). opt.Moves of 0 stands for diagnose.Work, and threads of 0 for one thread for each
// processor.
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

// NewSampler returns the sampler of a seed, which computes with the given number of threads,
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
