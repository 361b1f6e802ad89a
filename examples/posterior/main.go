// Posterior is that of a logistic regression with three coefficients, normal priors of
// width 2 and forty observations that are drawn from the model itself; it prints the
// coefficients' means and standard deviations. Arguments are assignments.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/target/density"
)

const coefficients = 3

type observation struct {
	x   [coefficients]float64
	yes bool
}

type posterior []observation

// Dim returns the number of coefficients.
func (posterior) Dim() int { return coefficients }

// LogDensity sets dst[r] to the logarithm of prior times likelihood of the rows of b.
func (p posterior) LogDensity(dst, b []float32, _ []uint8) {
	for r := range dst {
		sum := 0.0
		for _, v := range b[r*coefficients : (r+1)*coefficients] {
			sum -= float64(v) * float64(v) / 8
		}
		for _, o := range p {
			sum -= math.Log1p(math.Exp(-o.margin(b[r*coefficients:])))
		}
		dst[r] = float32(sum)
	}
}

// margin returns b·x with the sign of what was observed.
func (o observation) margin(b []float32) (m float64) {
	for j, x := range o.x {
		m += x * float64(b[j])
	}
	if !o.yes {
		return -m
	}
	return m
}

func main() {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	data := make(posterior, 40)
	for i := range data {
		data[i] = observation{[coefficients]float64{1, random.NormFloat64(), random.NormFloat64()}, true}
		data[i].yes = random.Float64() < 1/(1+math.Exp(-data[i].margin([]float32{0.5, 1, -1})))
	}
	own := density.Reals("posterior", "a logistic regression", data)
	cfg, err := catalogue.Systems{own}.Configure("posterior", "quick", os.Args[1:]...)
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
	b := make([]float32, n*coefficients)
	if err := sampler.Sample(ctx, revgen.States{X: b}, 0, 16); err != nil {
		log.Fatal(err)
	}
	for j := range coefficients {
		var mean, square float64
		for r := range n {
			v := float64(b[r*coefficients+j])
			mean, square = mean+v/n, square+v*v/n
		}
		fmt.Printf("b%d = %.2f ± %.2f\n", j, mean, math.Sqrt(square-mean*mean))
	}
}
