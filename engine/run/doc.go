// Package run trains a system in a run directory, whose files nobody else writes. It saves
// and restores the trainer's state, logs what each step says, measures what was trained and
// leaves the model. It knows no mathematics: the trainer is package engine's.
//
//	cfg, err := ising.Preset("quick")
//	…
//	workers := engine.NewWorkers(0)
//	defer workers.Close()
//	result, err := run.Train(ctx, cfg, workers, run.Options{Dir: "run"})
//
// Train is the way in (run.go). What a run begins with is found in setup.go and start.go,
// and what it goes on from in directory.go; file.go has the container of models and
// checkpoints.
package run
