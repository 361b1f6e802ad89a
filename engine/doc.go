// Package engine trains a generator by reversibility: Algorithm 1 of the paper
// for any System, and sampling of what was trained.
//
// Most users do not need it. Package revgen, the module's root, trains, loads and
// samples in ten lines, and target/density takes a density of one's own. This package
// is for whoever writes a system.
//
// Data flows one way, in batches, through buffers that the system allocates
// once: noise z becomes samples s, a few Metropolis–Hastings steps make s′ of
// them, the discrepancy between the laws of (s, s′) and (s′, s) gives a
// gradient with respect to s, and backpropagation and AdamW do the rest.
//
//	cfg, err := ising.Preset("quick")
//	…
//	workers := engine.NewWorkers(0)
//	defer workers.Close()
//	trainer, err := engine.NewTrainer(cfg, workers)
//	…
//	err = trainer.Step()
//
// It knows no files: package run keeps a run directory, with checkpoints and a model.
package engine
