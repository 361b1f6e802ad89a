package density_test

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/target/density"
)

// ring is π(x) ∝ exp(−(|x|² − 4)²/4) in the plane.
type ring struct{}

func (ring) Dim() int { return 2 }

func (ring) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		off := x[2*r]*x[2*r] + x[2*r+1]*x[2*r+1] - 4
		dst[r] = -off * off / 4
	}
}

// A target in Go becomes a system, which trains by itself, or has every verb of the
// command line by cmd.Main(definition). examples/ring is a whole program.
func ExampleReals() {
	definition := density.Reals("ring", "a ring in the plane", ring{})
	cfg, err := catalogue.Systems{definition}.Configure("ring", "quick", "training.steps=20", "training.batch=256", "evaluation.samples=2000")
	if err != nil {
		fmt.Println(err)
		return
	}
	workers := engine.NewWorkers(1)
	defer workers.Close()
	result, err := run.Train(context.Background(), cfg, workers, run.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Steps, "steps;", result.Evaluation.Metrics[0].Name, "is the first row of the table")
	// Output: 20 steps; mean_x0 is the first row of the table
}

// An expression is a configuration, and needs no Go.
func Example() {
	cfg, err := catalogue.Systems{density.RealsDefinition}.Configure("reals", "quick",
		"target.dim=3", "target.expression=-sum((x - mu)^2)/2", `target.parameters={"mu": [100, 200, 300]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Shared().System, cfg.Shared().Preset)
	_, err = catalogue.Systems{density.RealsDefinition}.Configure("reals", "quick", "target.expression=-sum((x - mu)^2)/2")
	fmt.Println(err)
	// Output:
	// reals quick
	// target.expression: column 11, at mu)^2)/2: unknown name mu; there are x, pi, inf, radius, width
}

// between is a switch between two places, of weights 1 and 3.
type between struct{}

func (between) Dim() int   { return 2 }
func (between) Modes() int { return 2 }

func (between) LogDensity(dst, x []float32, k []uint8) {
	for r, mode := range k {
		a, b := x[2*r]-8*float32(mode), x[2*r+1]
		dst[r] = -(a*a+b*b)/2 + float32(mode)*1.0986
	}
}

// A mode beside a vector, likewise.
func ExampleMixed() {
	definition := density.Mixed("between", "a switch between two places", between{})
	cfg, err := catalogue.Systems{definition}.Configure("between", "quick", "training.steps=20", "training.batch=256", "evaluation.samples=2000")
	if err != nil {
		fmt.Println(err)
		return
	}
	workers := engine.NewWorkers(1)
	defer workers.Close()
	result, err := run.Train(context.Background(), cfg, workers, run.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Steps, "steps;", result.Evaluation.Metrics[0].Name, "is the first row of the table")
	// Output: 20 steps; mode_weight_0 is the first row of the table
}
