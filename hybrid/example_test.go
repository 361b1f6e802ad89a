package hybrid_test

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/pool"
)

// The constants of the paper's target.
func ExampleNewTarget() {
	target, err := hybrid.NewTarget([]float64{1, 9, 25})
	if err != nil {
		panic(err)
	}
	for k := range target.Modes() {
		w := target.Well(k)
		fmt.Printf("μ %2.0f  Z %.6f  ⟨|x|⟩ %.6f  ⟨x²⟩ %.6f\n", w.Mu(), w.Z(), w.MeanAbs(), w.MeanSquare())
	}
	fmt.Printf("x is below %.4f with probability 0.9\n", target.Quantile(0.9))
	// Output:
	// μ  1  Z 1.973732  ⟨|x|⟩ 0.827392  ⟨x²⟩ 0.832745
	// μ  9  Z 0.592205  ⟨|x|⟩ 2.992976  ⟨x²⟩ 8.971958
	// μ 25  Z 0.354597  ⟨|x|⟩ 4.998498  ⟨x²⟩ 24.989988
	// x is below 4.9810 with probability 0.9
}

// Independent exact samples, a function of the seed and the sample's number.
func ExampleTarget_Sample() {
	target, err := hybrid.NewTarget([]float64{1, 9, 25})
	if err != nil {
		panic(err)
	}
	x, k := make([]float32, 3), make([]uint8, 3)
	target.Sample(x, k, &asm.Counter{Seed: 1}, 0)
	for i := range x {
		fmt.Printf("mode %d  x %+.3f\n", k[i], x[i])
	}
	// Output:
	// mode 1  x +3.085
	// mode 1  x +2.947
	// mode 2  x -5.000
}

// A short training run of another target, from its configuration to its table.
func Example_train() {
	config, err := hybrid.Preset("quick")
	if err != nil {
		panic(err)
	}
	config.Target.Mu = []float64{0.5, 4}
	config.Training.Steps, config.Training.Batch, config.Evaluation.Samples = 10, 256, 5000
	workers := pool.New(0)
	defer workers.Close()
	result, err := run.Train(context.Background(), config, workers, run.Options{})
	if err != nil {
		panic(err)
	}
	for _, m := range result.Evaluation.Metrics {
		fmt.Println(m.Name)
	}
	// Output:
	// mode_l1
	// conditional_w1
	// marginal_w1
	// joint_mmd2
	// joint_mmd
	// effective_sample_size
	// log_z
	// kl_by_density
}
