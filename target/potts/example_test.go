package potts_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/target/potts"
)

// A law of one's own: three sites on a line, of which neighbours repel the same state and
// state 2 attracts state 0. Its partition function is a sum of 27 terms.
func ExamplePreset() {
	repel := [][]float64{{1, 0, -1}, {0, 1, 0}, {-1, 0, 1}}
	cfg, err := potts.Preset("quick")
	if err != nil {
		log.Fatal(err)
	}
	cfg.Target = potts.TargetConfig{Beta: 1, Q: 3, Model: "potts", Sites: 3, Tables: []potts.Table{{I: 0, J: 1, Energy: repel}, {I: 1, J: 2, Energy: repel}}}
	if _, err := cfg.Adapt(context.Background()); err != nil {
		log.Fatal(err)
	}
	model, err := revgen.Train(context.Background(), cfg, revgen.TrainOptions{})
	if err != nil {
		log.Fatal(err)
	}
	sampler, err := model.NewSampler(1, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer sampler.Close()
	states := make([]byte, 10_000*3)
	if err := sampler.SampleBytes(context.Background(), states, "states", 0, 0); err != nil {
		log.Fatal(err)
	}
	var energy, mean, z float64
	for i := 0; i < len(states); i += 3 {
		energy += (repel[states[i]][states[i+1]] + repel[states[i+1]][states[i+2]]) / 10_000
	}
	for k := range 27 {
		e := repel[k/9][k/3%3] + repel[k/3%3][k%3]
		mean, z = mean+e*math.Exp(-e), z+math.Exp(-e)
	}
	fmt.Printf("the mean energy is exact: %v\n", math.Abs(energy-mean/z) < 0.05)
	// Output: the mean energy is exact: true
}
