package gmm_test

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/internal/pool"
)

// A mixture of the user's own.
func ExampleNewTarget() {
	target, err := gmm.NewTarget(gmm.TargetConfig{Components: []gmm.Component{
		{Weight: 0.75, Mean: []float64{0, 0}, Covariance: [][]float64{{1, 0}, {0, 1}}},
		{Weight: 0.25, Mean: []float64{3, 0}, Covariance: [][]float64{{0.5, 0.4}, {0.4, 0.5}}},
	}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("mean %v\n", target.Mean())
	fmt.Printf("ln π(1, 1) %.6f\n", target.LogDensity([]float64{1, 1}))
	fmt.Printf("median of the first coordinate %.6f\n", target.Marginal(0).Quantile(0.5))
	_, err = gmm.NewTarget(gmm.TargetConfig{Components: []gmm.Component{
		{Weight: 1, Mean: []float64{0, 0}, Covariance: [][]float64{{1, 2}, {2, 1}}},
	}})
	fmt.Println(err)
	// Output:
	// mean [0.75 0]
	// ln π(1, 1) -3.125559
	// median of the first coordinate 0.430599
	// components[0].covariance: not positive definite: its leading 2×2 block is not
}

// Independent exact samples, a function of the seed and the sample's number.
func ExampleTarget_Sample() {
	c, err := gmm.Preset("paper")
	if err != nil {
		panic(err)
	}
	target, err := gmm.NewTarget(c.Target)
	if err != nil {
		panic(err)
	}
	x := make([]float32, 3*2)
	target.Sample(x, &asm.Counter{Seed: 1}, 0)
	for ; len(x) > 0; x = x[2:] {
		fmt.Printf("(%+.3f, %+.3f)\n", x[0], x[1])
	}
	// Output:
	// (+1.269, +0.916)
	// (+1.443, +0.766)
	// (-0.108, +0.180)
}

// Training from Go: the quick preset, cut short.
func ExamplePreset() {
	c, err := gmm.Preset("quick")
	if err != nil {
		panic(err)
	}
	c.Training.Steps, c.Training.Batch, c.Evaluation.Samples = 30, 256, 1000
	workers := pool.New(2)
	defer workers.Close()
	result, err := run.Train(context.Background(), c, workers, run.Options{})
	if err != nil {
		panic(err)
	}
	for _, m := range result.Evaluation.Metrics {
		if m.Paper != nil {
			fmt.Printf("%s: the paper has %.4f\n", m.Name, *m.Paper)
		}
	}
	// Output: l2_density_error: the paper has 0.0483
}
