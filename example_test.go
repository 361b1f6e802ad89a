package revgen_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/revgen/revgen"
)

// A short run, so that examples are quick; leave these out for one that is good.
var short = []string{"training.steps=20", "training.batch=64", "evaluation.samples=500"}

// Train a generator and draw from it.
func Example() {
	ctx := context.Background()
	cfg, err := revgen.Configure("ising", "quick", short...)
	if err != nil {
		log.Fatal(err)
	}
	model, err := revgen.Train(ctx, cfg, revgen.TrainOptions{})
	if err != nil {
		log.Fatal(err)
	}
	sampler, err := model.NewSampler(7, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer sampler.Close()
	spins := make([]int8, 1000*sampler.Dim())
	if err := sampler.Sample(ctx, revgen.States{Spins: spins}, 0, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sampler.Dim(), "spins;", len(model.Evaluation.Metrics) > 0)
	// Output: 9 spins; true
}

// A configuration in JSON; the keys that are missing are the preset's.
func ExampleParseConfig() {
	cfg, err := revgen.ParseConfig([]byte(`{"system": "ising", "preset": "best", "target": {"l": 16, "beta": 0.44}}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cfg.Shared().System, cfg.Shared().Preset)

	_, err = revgen.ParseConfig([]byte(`{"system": "ising", "target": {"beta": -1}}`))
	fmt.Println(err)
	// Output:
	// ising best
	// line 1:40: target.beta: -1 is not a finite number ≥ 0
}

// A model of a run directory, or of a file that Save has written.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "revgen")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cfg, err := revgen.Configure("gmm", "quick", short...)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := revgen.Train(context.Background(), cfg, revgen.TrainOptions{Dir: filepath.Join(dir, "run")}); err != nil {
		log.Fatal(err)
	}
	model, err := revgen.Load(filepath.Join(dir, "run"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Seed(), model.Save(filepath.Join(dir, "model.rvg")))
	// Output: 1 <nil>
}

// Energies of states, wherever they are from, and moves of theirs.
func ExampleSampler_Energies() {
	ctx := context.Background()
	cfg, err := revgen.Configure("ising", "quick", append(short, "target.beta=0.3")...)
	if err != nil {
		log.Fatal(err)
	}
	model, err := revgen.Train(ctx, cfg, revgen.TrainOptions{})
	if err != nil {
		log.Fatal(err)
	}
	sampler, err := model.NewSampler(7, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer sampler.Close()
	up := revgen.States{Bits: []uint64{1<<9 - 1}}
	energies := make([]float64, 1)
	beta, err := sampler.Energies(energies, up)
	fmt.Println(energies[0], beta, err)
	err = sampler.Refine(ctx, up, 0, 100)
	fmt.Println(up.Bits[0] < 1<<9, err)
	// Output:
	// -18 0.3 <nil>
	// true <nil>
}
