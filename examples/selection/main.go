// Selection is the posterior of a linear regression that does not know which of two
// variables belong in it. The mode k is the set of those that do, one bit each; their
// coefficients x have normal priors of width 1, and those of the others follow that prior
// alone, so that all modes are of one dimension. It prints the sets' probabilities.
// Arguments are assignments.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/target/density"
)

const variables, sets = 2, 4

// regression is y = x_1 v_1 + x_2 v_2 + noise of width 1.
type regression struct {
	v [][variables]float64
	y []float64
}

// Dim returns the number of coefficients.
func (regression) Dim() int { return variables }

// Modes returns the number of sets.
func (regression) Modes() int { return sets }

// LogDensity sets dst[r] to the logarithm of prior times likelihood.
func (t regression) LogDensity(dst, x []float32, k []uint8) {
	for r, set := range k {
		var sum float64
		var b [variables]float64
		for j := range b {
			b[j] = float64(x[r*variables+j])
			sum -= b[j] * b[j] / 2
			if set>>j&1 == 0 {
				b[j] = 0
			}
		}
		for i, v := range t.v {
			off := t.y[i] - b[0]*v[0] - b[1]*v[1]
			sum -= off * off / 2
		}
		dst[r] = float32(sum)
	}
}

func main() {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	var data regression
	for range 12 {
		v := [variables]float64{random.NormFloat64(), random.NormFloat64()}
		data.v = append(data.v, v)
		data.y = append(data.y, 0.6*v[0]+random.NormFloat64())
	}
	own := density.Mixed("selection", "which variables belong in a regression", data)
	cfg, err := catalogue.Systems{own}.Configure("selection", "quick", os.Args[1:]...)
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
	const n = 10_000
	states := revgen.States{X: make([]float32, n*variables), Modes: make([]int32, n)}
	if err := sampler.Sample(ctx, states, 0, 16); err != nil {
		log.Fatal(err)
	}
	var weight [sets]float64
	for _, k := range states.Modes {
		weight[k] += 1.0 / n
	}
	for k, w := range weight {
		fmt.Printf("first %-5v second %-5v %.3f\n", k&1 != 0, k&2 != 0, w)
	}
}
