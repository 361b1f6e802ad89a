package ising_test

import (
	"fmt"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/ising"
)

// The exact observables of the paper's table.
func ExampleCountStates() {
	states, err := ising.CountStates(3)
	if err != nil {
		panic(err)
	}
	target, err := ising.NewTarget(3, 1, 0, 0.2) // L, J, h, β
	if err != nil {
		panic(err)
	}
	o := states.Observables(target)
	fmt.Printf("E %.4f  |m| %.4f  C_v %.4f  χ %.4f\n", o.Energy, o.AbsMagnetisation, o.SpecificHeat, o.Susceptibility)
	// Output: E -4.8429  |m| 0.4600  C_v 1.3672  χ 0.1486
}

func ExampleKaufman() {
	v, err := ising.Kaufman(256, 1, 0.6)
	if err != nil {
		panic(err)
	}
	fmt.Printf("energy per site %.6f\n", v.Energy/(256*256))
	// Output: energy per site -1.909086
}

// How far the uniform distribution is from the target after ten steps.
func ExampleNewTransitionMatrix() {
	target, err := ising.NewTarget(3, 1, 0, 0.2)
	if err != nil {
		panic(err)
	}
	step, err := ising.NewTransitionMatrix(target, bitspin.MultiSpin())
	if err != nil {
		panic(err)
	}
	pi, err := target.Probabilities()
	if err != nil {
		panic(err)
	}
	uniform := make([]float64, len(pi))
	for s := range uniform {
		uniform[s] = 1 / float64(len(uniform))
	}
	after := step.Power(10).Apply(uniform)
	fmt.Printf("%.3f → %.3f\n", ising.TotalVariation(uniform, pi), ising.TotalVariation(after, pi))
	// Output: 0.331 → 0.068
}
