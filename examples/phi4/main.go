// Phi4 is a scalar field on a periodic 4×4 lattice, π(φ) ∝ e^{−S(φ)} with
//
//	S = Σ_i [ −2κ φ_i (φ_right + φ_down) + φ_i² + λ(φ_i² − 1)² ],
//
// of which it prints ⟨|m|⟩ and ⟨φ²⟩. Arguments are assignments, training.steps=500 say.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/target/density"
)

const side = 4

type field struct{ kappa, lambda float64 }

// Dim returns the number of sites.
func (field) Dim() int { return side * side }

// LogDensity sets dst[r] = −S of the rows of x, [len(dst)][side²].
func (f field) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		phi, action := x[r*side*side:][:side*side], 0.0
		for i, v := range phi {
			row, col := i/side, i%side
			right, down := phi[row*side+(col+1)%side], phi[(row+1)%side*side+col]
			square := float64(v) * float64(v)
			action += -2*f.kappa*float64(v)*float64(right+down) + square + f.lambda*(square-1)*(square-1)
		}
		dst[r] = float32(-action)
	}
}

func main() {
	ctx := context.Background()
	own := density.Reals("phi4", "a scalar field on a lattice", field{kappa: 0.18, lambda: 0.5})
	cfg, err := catalogue.Systems{own}.Configure("phi4", "quick", os.Args[1:]...)
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
	x := make([]float32, n*sampler.Dim())
	if err := sampler.Sample(ctx, revgen.States{X: x}, 0, 16); err != nil {
		log.Fatal(err)
	}
	var order, squares float64
	for r := range n {
		m := 0.0
		for _, v := range x[r*side*side : (r+1)*side*side] {
			m += float64(v) / (side * side)
			squares += float64(v) * float64(v) / (n * side * side)
		}
		order += math.Abs(m) / n
	}
	fmt.Printf("<|m|> = %.3f, <phi^2> = %.3f\n", order, squares)
}
