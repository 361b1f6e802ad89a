package bitspin_test

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
)

// A batch of two 3×3 configurations takes Metropolis steps.
func ExampleMetropolis_Run() {
	model, err := bitspin.NewModel(3, 1, 0) // L = 3, J = 1, h = 0
	if err != nil {
		panic(err)
	}
	proposal, err := bitspin.Mixture(0.1)
	if err != nil {
		panic(err)
	}
	kernel, err := bitspin.NewMetropolis(model, 0.2, proposal)
	if err != nil {
		panic(err)
	}

	batch := []uint64{0, 0b111111111}
	var stats bitspin.Count
	stream := asm.Counter{Seed: 1}
	kernel.Run(nil, batch, batch, 0, 2, 1000, &stream, 0, &stats)
	fmt.Printf("acceptance between 0.6 and 0.8: %t\n", stats.Rate() > 0.6 && stats.Rate() < 0.8)
	// Output: acceptance between 0.6 and 0.8: true
}

func ExampleModel_EnergyDifference() {
	model, err := bitspin.NewModel(3, 1, 0)
	if err != nil {
		panic(err)
	}
	up := []uint64{0b111111111}
	row := []uint64{0b000000111} // the three spins of the first row
	fmt.Println(model.Energy(up), model.EnergyDifference(up, row))
	// Output: -18 12
}

func ExamplePack() {
	logits := []float32{0.3, -1.2, 0.1, -0.5} // one configuration of the 2×2 lattice
	batch := make([]uint64, 1)
	bitspin.Pack(batch, logits, 4)
	spins := make([]float32, 4)
	bitspin.Unpack(spins, batch, 4)
	fmt.Printf("%04b %v\n", batch[0], spins)
	// Output: 0101 [1 -1 1 -1]
}
