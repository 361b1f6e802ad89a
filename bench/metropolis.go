package bench

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/ising"
)

var metropolisSuite = Suite{
	Name:    "metropolis",
	Summary: "Metropolis sweeps of L×L lattices with replicas across bits",
	Size:    "L",
	Sizes:   []string{"64", "256", "1024"},
	sized:   metropolisRows,
}

// metropolisBeta is well inside the disordered phase: equilibrium is reached
// within tens of sweeps.
const metropolisBeta = 0.3

// flipOperations returns the least number of operations for 32 replicas of a site. Shared
// draws take the count of unsatisfied bonds from five words and the choice between three
// acceptances, in functions of three bits, or of two without AVX-512. Independent draws also
// take eight planes of random bits, each an output of xoshiro256++ and its comparison.
func flipOperations(path asm.Path) (shared, independent float64) {
	if path == asm.AVX512 {
		return 8, 8 + 8*(10+3)
	}
	return 17, 17 + 8*(14+5)
}

// sharedSweeps is the number of sweeps in one of our calls with shared draws. On large
// lattices some of them pass through the caches together.
const sharedSweeps = 8

func metropolisRows(e *environment, size string, v []int) ([]*operation, error) {
	side := v[0]
	if side > 1024 || side%2 == 1 {
		return nil, optionf("size %q: L must be even and at most 1024", size)
	}
	shared, independent := flipOperations(e.path)
	sweep := asm.NewSweep(side, math.Exp(-4*metropolisBeta), math.Exp(-8*metropolisBeta), false)

	// Every thread has a block of replicas.
	blocks := make([][]uint64, e.threads())
	generators := make([]asm.Xoshiro, e.threads())
	counters := make([]asm.Counter, e.threads())
	for i := range blocks {
		blocks[i] = make([]uint64, side*side*asm.ReplicaWords)
		generators[i].Seed(&asm.Counter{Seed: 1, Purpose: 1}, uint64(16*i))
		counters[i] = asm.Counter{Seed: 2, Purpose: uint32(i)}
		var words [4]uint32
		for k := range blocks[i] {
			asm.PhiloxBlocks(words[:], &asm.Counter{Seed: 3, Purpose: uint32(i)}, uint64(k))
			blocks[i][k] = uint64(words[0])<<32 | uint64(words[1])
		}
	}
	replicas := float64(asm.ReplicaBits * len(blocks))
	newOperation := func(name string, operations float64, sweeps int, body func(i int)) *operation {
		flips := float64(sweeps*side*side) * replicas
		call := func() { e.workers.Run(len(blocks), body) }
		ours := func() ([]uint64, error) { call(); return blocks[0], nil }
		op := &operation{
			name: name + "/" + size, amount: flips, unit: "flip", call: call,
			need: need{{
				// A call reads and writes all sites once.
				counts: work{Integer: flips / 32 * operations, Read: float64(side*side) * replicas / 8, Write: float64(side*side) * replicas / 8},
				bytes:  8 * len(blocks) * len(blocks[0]),
			}},
			rivals: []rival{{
				name: "c++-metropolis", amount: float64(side*side) * 64, caveat: "one draw for 64 replicas, ours for 512",
				prepare: func(p *peers.Process) (agreement, error) {
					return agreeOnEnergy(p, "metropolis", side, ours, 1)
				},
			}},
		}
		if e.path == asm.AVX512 && side >= 4 {
			op.rivals = append(op.rivals, rival{
				name: "c-metropolis-avx512", amount: float64(side*side) * asm.ReplicaBits, perThread: true,
				prepare: func(p *peers.Process) (agreement, error) {
					return agreeOnEnergy(p, name, side, ours, asm.ReplicaWords)
				},
			})
		}
		return op
	}
	operations := []*operation{
		newOperation("shared", shared, sharedSweeps, func(i int) {
			sweep.SharedSweeps(blocks[i], &counters[i], sharedSweeps)
			counters[i].Step += sharedSweeps
		}),
		newOperation("independent", independent, 1, func(i int) { sweep.Independent(blocks[i], &generators[i]) }),
	}
	operations[1].rivals[0].caveat = "one draw for 64 replicas, ours for one"
	return operations, nil
}

// agreeOnEnergy selects the peer's sweeps and compares both mean energies with the exact
// one, in standard errors. The peer's replicas are the bits of theirWords words of each site.
func agreeOnEnergy(p *peers.Process, operation string, side int, ours func() ([]uint64, error), theirWords int) (agreement, error) {
	if err := p.Select(operation, side, metropolisBeta, 1); err != nil {
		return agreement{}, err
	}
	theirSpins := make([]uint64, side*side*theirWords)
	theirs := func() ([]uint64, error) {
		_, err := p.Run(1)
		return theirSpins, err
	}
	ourError, err := energyError(side, asm.ReplicaWords, ours, func([]uint64) error { return nil })
	if err != nil {
		return agreement{}, err
	}
	theirError, err := energyError(side, theirWords, theirs, func(spins []uint64) error { return p.Store("spins", spins) })
	return agreement{max(ourError, theirError), 6, "other random numbers; energies' deviation from the exact one in standard errors"}, err
}

// energyError runs a chain of sweeps and returns the distance of its mean energy from
// Kaufman's exact one, in standard errors.
func energyError(side, words int, sweep func() ([]uint64, error), fetch func([]uint64) error) (float64, error) {
	const equilibration, measurements, interval = 60, 40, 4 // interval is in sweeps
	var energy stat.Mean
	for i := range equilibration + measurements*interval {
		spins, err := sweep()
		if err != nil {
			return 0, err
		}
		if k := i - equilibration + 1; k > 0 && k%interval == 0 {
			if err := fetch(spins); err != nil {
				return 0, err
			}
			energy.Add(energyPerSite(spins, side, words))
		}
	}
	exact := crash.Must(ising.Kaufman(side, 1, metropolisBeta)).Energy / float64(side*side)
	return math.Abs(energy.Value()-exact) / energy.StandardError(), nil
}

// energyPerSite returns the mean energy of replicas whose spins at a site are
// the bits of adjacent words.
func energyPerSite(spins []uint64, side, words int) float64 {
	unsatisfied := 0
	site := func(row, col int) []uint64 { return spins[(row%side*side+col%side)*words:][:words] }
	for row := range side {
		for col := range side {
			here, right, down := site(row, col), site(row, col+1), site(row+1, col)
			for i, x := range here {
				unsatisfied += bits.OnesCount64(x^right[i]) + bits.OnesCount64(x^down[i])
			}
		}
	}
	sites := float64(side * side)
	return 2*float64(unsatisfied)/(sites*64*float64(words)) - 2
}
