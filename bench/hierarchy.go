package bench

import (
	"context"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/ising"
)

var hierarchySuite = Suite{
	Name:    "hierarchy",
	Summary: "samples with their density of critical lattices drawn from coarse to fine",
	Size:    "L",
	Sizes:   []string{"16", "32", "64"},
	sized:   hierarchyRows,
}

// bestGenerator returns the generator of the preset best for a critical lattice.
func bestGenerator(side int) (*hierarchy.Model, error) {
	c := crash.Must(ising.Preset("best"))
	c.Target.L, c.Target.Beta = side, 0.4407
	if _, err := c.Adapt(context.Background()); err != nil {
		return nil, err
	}
	g := &c.Generator
	return hierarchy.NewSquare(hierarchy.Square{
		Side: side, J: c.Target.J, Beta: c.Target.Beta, Neighbours: g.Neighbours, Hidden: g.Units, Rotations: g.Symmetries == "rotations",
	})
}

// activationProducts is the least number of products of 16 hidden units of a sample:
// u/√(1+u²) by an estimate of the root and a Newton step, and the output's multiply-add.
const activationProducts = 16 * 7

// reduceFloats is the least number of operations that add up the 16 partial sums of a
// perceptron's output and add the bias to half the sum; reduceProducts of them are products.
const reduceFloats, reduceProducts = 15 + 1, 1

func hierarchyRows(e *environment, size string, v []int) ([]*operation, error) {
	m, err := bestGenerator(v[0])
	if err != nil {
		return nil, optionf("size %q: %v", size, err)
	}
	params := make([]float32, m.NumParams())
	m.Initialize(params, 1)

	rowCount, vectorCount, outputCount := m.Operations()
	rows, vectors, perceptrons := float64(rowCount), float64(vectorCount), float64(outputCount)
	learned, exact := float64(m.Learned()), float64(m.Spins()-m.Learned())
	// A learned spin's table has 16 rows for every four inputs. All samples of a block read it.
	tableBytes := e.threads() * int(16*64*rows/learned)
	additions := 16 * (rows - vectors) // the first row of a sum is not added to anything
	layers := work{
		Read: 64 * rows, Float: additions + activationProducts*vectors + reduceFloats*perceptrons,
		FMA: activationProducts*vectors + reduceProducts*perceptrons,
	}
	// A learned spin and its ln q take an exponential, a quotient with its product with the
	// random words' range, and a logarithm.
	draw := phase{"draw", sumOf(layers, sumOf(exponential, quotient, logarithm).times(learned)), tableBytes}
	random := phase{"random", philox.times(learned + exact), 0}
	// An exact spin takes a threshold from a table and a comparison.
	lookup := phase{"exact", work{Read: 4 * exact, Integer: exact}, tableBytes}

	// A call takes about a millisecond, so that others on the host disturb few of them, and
	// has at least as many samples as all threads draw at once.
	samples := max(256*e.threads(), min(1024, 1<<18/(v[0]*v[0])))
	sampler := m.NewSampler(params, e.workers)
	spins, r := make([]uint64, samples*sampler.Words()), make([]float64, samples)
	first := uint64(0)
	var perCall need
	for _, p := range []phase{draw, random, lookup} {
		perCall = append(perCall, phase{p.name, p.counts.times(float64(samples)), p.bytes})
	}
	return []*operation{{
		name: "draw/" + size, amount: float64(samples), unit: "sample", need: perCall,
		call: func() {
			if err := sampler.Sample(spins, r, 1, first); err != nil {
				panic(callError{err})
			}
			first += uint64(samples)
		},
	}}, nil
}
