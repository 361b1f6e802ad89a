// Glass is a ±J spin glass on a periodic 6×6 lattice at β = 1: couplings drawn from a
// seed, samples, and the overlap of pairs of them. Arguments are assignments,
// training.steps=100 say.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"github.com/revgen/revgen"
)

const side = 6

func main() {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	var edges [][3]int
	for i := range side * side {
		row, col := i/side, i%side
		for _, j := range []int{row*side + (col+1)%side, (row+1)%side*side + col} {
			edges = append(edges, [3]int{i, j, 1 - 2*random.IntN(2)})
		}
	}
	text, err := json.Marshal(edges)
	if err != nil {
		log.Fatal(err)
	}
	target := []string{"target.beta=1", fmt.Sprint("target.spins=", side*side), "target.edges=" + string(text)}
	cfg, err := revgen.Configure("spins", "quick", append(target, os.Args[1:]...)...)
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
	spins := make([]int8, n*side*side)
	if err := sampler.Sample(ctx, revgen.States{Spins: spins}, 0, 4); err != nil {
		log.Fatal(err)
	}
	var energy, overlap float64
	for r := range n {
		s := spins[r*side*side:][:side*side]
		for _, e := range edges {
			energy -= float64(e[2]) * float64(s[e[0]]*s[e[1]]) / n
		}
		if r%2 == 1 {
			q := 0.0
			for i, before := range spins[(r-1)*side*side:][:side*side] {
				q += float64(before*s[i]) / (side * side)
			}
			overlap += q * q * 2 / n
		}
	}
	fmt.Printf("<E> = %.2f, <q^2> = %.3f\n", energy, overlap)
}
