package revgen

import (
	"context"
	"slices"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
)

// TrainOptions say how a run is carried out. None but Start changes its numbers. The zero value
// trains in memory with a thread for each processor.
type TrainOptions struct {
	// Dir is a run directory, made if need be, where files and checkpoints are kept.
	// If it holds a run of the same configuration, this continues.
	Dir string
	// MaxTime, if positive, stops the run after that time, as the end of ctx does.
	MaxTime time.Duration
	// MaxEvaluations, if positive, stops the run when a target of one's own has been
	// evaluated so often.
	MaxEvaluations int64
	// Threads to compute with; 0 means one for each processor.
	Threads int
	// Progress, if not nil, is called at every logged step.
	Progress func(run.Progress)
	// Ranks, if not nil, are the processes that share this training. Each calls Train with
	// the same configuration and returns the model, whose bits are those of one process
	// alone. Only rank 0 uses Dir, calls Progress and has an Evaluation. If another rank
	// fails the error is engine.ErrElsewhere.
	Ranks Ranks
	// Start, if not nil, is the model whose parameters the run begins with: one of
	// another temperature, say. Its hash becomes part of the configuration.
	Start *Model
}

// Ranks are processes that run the same program side by side, such as those of MPI (package
// internal/mpi).
type Ranks = pool.Ranks

// Train runs Algorithm 1 for the configured steps and measures the generator. If ctx or
// MaxTime ends it earlier the error is run.ErrStopped, and Train with the same Dir continues,
// to the same bits. cfg must not change meanwhile.
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
