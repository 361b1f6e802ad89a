package revgen_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/diagnose"
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

// The spins of a graph: a triangle of which one coupling cannot be satisfied.
func ExampleConfigure() {
	cfg, err := revgen.Configure("spins", "quick", "target.beta=0.5", "target.spins=3", "target.edges=[[0,1,1],[1,2,1],[0,2,-1]]")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cfg.Shared().System, cfg.Shared().Preset)

	_, err = revgen.Configure("spins", "quick", "target.spins=3", "target.edges=[[0,1,1],[1,3,1]]")
	var wrong *catalogue.ConfigError
	fmt.Println(errors.As(err, &wrong), err)
	// Output:
	// spins quick
	// true target.edges[1]: there is no spin 3; the spins are 0 to 2
}

// How far samples can be trusted, without anything exact of the target.
func ExampleModel_Diagnose() {
	ctx := context.Background()
	cfg, err := revgen.Configure("ising", "quick", "target.l=4", "target.beta=0.3", "evaluation.samples=500")
	if err != nil {
		log.Fatal(err)
	}
	model, err := revgen.Train(ctx, cfg, revgen.TrainOptions{})
	if err != nil {
		log.Fatal(err)
	}
	report, err := model.Diagnose(ctx, diagnose.Brief(0), 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Verdict, report.Refine)
	// Output: trustworthy 0
}

// Draws of the target itself, whatever the generator has learned, where its density is
// known.
func ExampleSampler_SampleExact() {
	ctx := context.Background()
	cfg, err := revgen.Configure("ising", "quick", append(short, "target.l=4", "target.beta=0.3")...)
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
	worth, err := sampler.SampleExact(ctx, revgen.States{Spins: spins}, 0)
	fmt.Println(worth.Acceptance > 0.2, worth.Warning == "", err)
	// Output: true true <nil>
}
