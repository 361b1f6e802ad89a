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

// ofBest returns the generator of the preset best of the critical lattice.
func ofBest(side int) (*hierarchy.Model, error) {
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

// What 16 hidden units of a sample take at least, in products of numbers: u/√(1+u²) by an
// estimate of the root and a Newton step, and the output's multiply-add.
const activate = 16 * 7

// The cost of a perceptron's output for a sample besides: 16 partial sums become one,
// and the bias is added to their half.
const reduce, reduceProducts = 15 + 1, 1

// What functions take for a number, without looking at numbers that they cannot take.
var (
	exponential = work{Float: 11, FMA: 9}
	quotient    = work{Float: 3, FMA: 2}
	logarithm   = work{Float: 15, FMA: 12}
)

// The same of float64, by longer polynomials and in vectors of half as many numbers.
var exponential64, logarithm64 = work{Float: 2 * 20, FMA: 2 * 16}, work{Float: 2 * 21, FMA: 2 * 13}

func hierarchyRows(e *environment, size string, v []int) ([]*operation, error) {
	m, err := ofBest(v[0])
	if err != nil {
		return nil, optionf("size %q: %v", size, err)
	}
	params := make([]float32, m.NumParams())
	m.Initialize(params, 1)

	sums, units, outputs := m.Operations()
	rows, vectors, perceptrons := float64(sums), float64(units), float64(outputs)
	learned, all := float64(m.Learned()), float64(m.Spins())
	// A spin's table holds 16 rows of each four inputs and is read for a block of samples.
	table := e.threads() * int(16*64*rows/learned)
	// The first row of a sum is not added to anything.
	added := 16 * (rows - vectors)
	layers := work{
		Read: 64 * rows, Float: added + activate*vectors + reduce*perceptrons,
		FMA: activate*vectors + reduceProducts*perceptrons,
	}
	// A learned spin, with its ln q: an exponential, which both need, a quotient, its product
	// with the random words' range, and a logarithm.
	draw := phase{"draw", total(layers, total(exponential, quotient, logarithm).times(learned)), table}
	random := phase{"random", philox.times(all), 0}
	// A number of a table and a comparison.
	exact := phase{"exact", work{Read: 4 * (all - learned), Integer: all - learned}, table}

	// Calls of about a millisecond, so that others on the host leave some of them alone, and
	// of as many samples as threads draw at once.
	samples := max(256*e.threads(), min(1024, 1<<18/(v[0]*v[0])))
	sampler := m.NewSampler(params, e.workers)
	spins, r := make([]uint64, samples*sampler.Words()), make([]float64, samples)
	first := uint64(0)
	var total need
	for _, p := range []phase{draw, random, exact} {
		total = append(total, phase{p.name, p.counts.times(float64(samples)), p.bytes})
	}
	return []*operation{{
		name: "draw/" + size, amount: float64(samples), unit: "sample", need: total,
		call: func() {
			if err := sampler.Sample(spins, r, 1, first); err != nil {
				panic(failure{err})
			}
			first += uint64(samples)
		},
	}}, nil
}
