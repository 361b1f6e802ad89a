package spins_test

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A triangle that cannot satisfy all its couplings.
func ExampleNewGraph() {
	g, err := spins.NewGraph(spins.Hamiltonian{
		Spins: 3,
		Edges: []spins.Edge{{I: 0, J: 1, Coupling: -1}, {I: 1, J: 2, Coupling: -1}, {I: 2, J: 0, Coupling: -1}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(g)
	fmt.Println(g.Energy([]uint64{0b111}), g.Energy([]uint64{0b011}), g.Difference([]uint64{0b111}, 2))
	// Output:
	// 3 spins, 3 edges, degree 2, J -1, no field, all integers, not bipartite; hash f8a64e959d2b
	// 3 -1 -4
}

// A file of the G-set is a Max-Cut problem: heavy edges want opposite spins.
func ExampleSource_Parse() {
	reading, err := spins.Source{File: "square.txt"}.Parse([]byte("4 4\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n"))
	if err != nil {
		panic(err)
	}
	fmt.Println(reading)
	_, err = spins.Source{File: "square.txt"}.Parse([]byte("4 4\n1 2 1\n2 3 1\n3 4 1\n2 1 1\n"))
	fmt.Println(err)
	// Output:
	// square.txt (rudy: spins s = ±1 numbered from 1, Max-Cut, E = +Σ w s s, so J = −w): 4 spins, 4 edges, degree 2, J -1, no field, all integers, bipartite; hash 8ad3bcaba1c8
	// square.txt:5: spins 2 and 1 are coupled for the second time, first in line 2; write one edge
}

// Exact averages of a small glass.
func ExampleEnumerate() {
	g, err := spins.NewGraph(spins.Hamiltonian{
		Spins: 4, Edges: []spins.Edge{{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 0, -1}, {0, 2, 0.5}},
	})
	if err != nil {
		panic(err)
	}
	x, err := spins.Enumerate(context.Background(), g, 0.7, 0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("ln Z %.6f, energy %.6f, ground state %v\n", x.LogZ, x.Energy, x.GroundEnergy)
	// Output: ln Z 3.598513, energy -1.938891, ground state -2.5
}

// A batch of two configurations takes Metropolis steps and heat-bath sweeps.
func ExampleMetropolis_Run() {
	g, err := spins.NewGraph(spins.Hamiltonian{Spins: 3, Edges: []spins.Edge{{I: 0, J: 1, Coupling: 1}, {I: 1, J: 2, Coupling: -1}}})
	if err != nil {
		panic(err)
	}
	steps, err := spins.NewMetropolis(g, 0.5, 0.1) // β = 0.5; one proposal in ten flips all spins
	if err != nil {
		panic(err)
	}
	sweeps, err := spins.NewSweeper(g, 0.5)
	if err != nil {
		panic(err)
	}
	batch := []uint64{0b000, 0b111}
	stream := rng.Stream(1, rng.SampleTransition, 0)
	var moves, redrawn bitspin.Count
	steps.Run(nil, batch, batch, 0, 2, 100, &stream, 0, &moves)
	stream.Step++
	sweeps.Run(nil, batch, batch, 0, 2, 10, &stream, 0, &redrawn)
	fmt.Println(moves.Proposed, "proposals,", redrawn.Proposed, "spins redrawn")
	// Output: 200 proposals, 64 spins redrawn
}

// Replica exchange on a ±J glass, and how far to trust it.
func ExampleEnsemble() {
	var edges []spins.Edge
	for i := range 36 { // the 6×6 torus
		for k, j := range []int{i/6*6 + (i+1)%6, (i + 6) % 36} {
			edges = append(edges, spins.Edge{I: i, J: j, Coupling: float64((5*i+3*k)%7%2*2 - 1)})
		}
	}
	g, err := spins.NewGraph(spins.Hamiltonian{Spins: 36, Edges: edges})
	if err != nil {
		panic(err)
	}
	workers := pool.New(0)
	defer workers.Close()
	e := spins.Ensemble{
		States: spins.Packed{Spins: 36, Even: true}, Beta: 1.5, Energy: g.Energies,
		Mixing: func(beta float64) (spins.Kernel, error) { return spins.NewSweeper(g, beta) },
		Seed:   1, Workers: workers,
	}
	const chains, rounds = 64, 400
	ladder, err := e.Temper(context.Background(), 0, chains, rounds)
	if err != nil {
		panic(err)
	}
	var all []float64
	logZ, err := ladder.Measure(context.Background(), rounds, 36*math.Ln2, func(int) {
		_, energies := ladder.Coldest()
		all = append(all, energies...)
	})
	if err != nil {
		panic(err)
	}
	energy := stat.Chains(all, chains)
	fmt.Println("R̂ below 1.05:", energy.RHat < 1.05)
	fmt.Println("energy to 1 %:", energy.StandardError < 0.01*-energy.Mean)
	fmt.Println("ln Z to 0.05:", logZ.Uncertainty < 0.05)
	// Output:
	// R̂ below 1.05: true
	// energy to 1 %: true
	// ln Z to 0.05: true
}
