package potts

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// Verify checks the mathematics of sites of a few states exhaustively, over all 19,683
// configurations of three states on the 3×3 lattice and over those of a small graph, each function
// against an independent computation. It reports every check through emit.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	return newSubject(workers).verify(ctx, emit)
}

// A subject holds the functions that Verify examines. Tests replace one by a wrong one and expect
// its check to fail.
type subject struct {
	workers  *pool.Pool
	energy   func(t *categories.Target, s []byte) float64
	sum      func(t *categories.Target) float64
	torus    func(l, q int, energy, field []float64, beta float64) (float64, error)
	moves    func(t *categories.Target, kind string) (*categories.Moves, error)
	density  func(s *sites.Sampler[byte], r []float64, batch []byte)
	gradient func(s *categories.System, params, grad []float32)
	oneHot   func(t categories.OneHot, c *spins.TransitionConfig) (spins.Kernel, error)
}

func newSubject(workers *pool.Pool) *subject {
	return &subject{
		workers: workers,
		energy:  (*categories.Target).Energy,
		sum:     func(t *categories.Target) float64 { return crash.Must(categories.NewSum(context.Background(), t)).LogZ },
		torus:   categories.Torus,
		moves: func(t *categories.Target, kind string) (*categories.Moves, error) {
			return categories.NewMoves(t, &spins.TransitionConfig{Proposal: kind, GlobalFlip: 0.25}, 1)
		},
		density:  (*sites.Sampler[byte]).R,
		gradient: (*categories.System).Backward,
		oneHot:   func(t categories.OneHot, c *spins.TransitionConfig) (spins.Kernel, error) { return t.Kernel(c, 1) },
	}
}

func (v *subject) verify(ctx context.Context, emit func(engine.Check)) error {
	return engine.RunChecks(ctx, emit,
		v.checkEnergies, v.checkIsing, v.checkSums,
		func(emit func(engine.Check)) { v.checkKernel(emit, spins.Sweeping, 3) }, func(emit func(engine.Check)) { v.checkKernel(emit, "mixture", 60) },
		v.checkDensity, v.checkGradient, v.checkOneHot)
}

// lattice returns the 3×3 lattice of three states with a field.
func lattice(model string) *TargetConfig {
	return &TargetConfig{Beta: 0.8, Q: 3, Model: model, L: 3, J: 1.1, Fields: [][]float64{{0.2, 0, -0.1}}}
}

// example returns a random graph of sites of 2 to 4 states with tables and fields.
func example() *TargetConfig {
	r := rand.New(rand.NewPCG(8, 0))
	t := &TargetConfig{Beta: 0.7, Q: 4, Model: "potts", Sites: 7, States: []int{2, 4, 3, 3, 4, 2, 3}, Offset: 0.4}
	for i := range t.Sites {
		var h []float64
		for range t.States[i] {
			h = append(h, r.NormFloat64())
		}
		t.Fields = append(t.Fields, h)
		for j := range i {
			switch r.IntN(3) {
			case 0:
				t.Edges = append(t.Edges, spins.Edge{I: j, J: i, Coupling: r.NormFloat64()})
			case 1:
				table := Table{I: i, J: j}
				for range t.States[i] {
					var row []float64
					for range t.States[j] {
						row = append(row, r.NormFloat64())
					}
					table.Energy = append(table.Energy, row)
				}
				t.Tables = append(t.Tables, table)
			}
		}
	}
	return t
}

// definedEnergy returns the energy by its definition.
func (t *TargetConfig) definedEnergy(s []byte) float64 {
	e := t.Offset
	couple := func(i, j int, coupling float64) {
		switch {
		case t.Model == "clock":
			e -= coupling * math.Cos(2*math.Pi*(float64(s[i])-float64(s[j]))/float64(t.Q))
		case s[i] == s[j]:
			e -= coupling
		}
	}
	for r := range t.L {
		for c := range t.L {
			couple(r*t.L+c, r*t.L+(c+1)%t.L, t.J)
			couple(r*t.L+c, (r+1)%t.L*t.L+c, t.J)
		}
	}
	for _, c := range t.Edges {
		couple(c.I, c.J, c.Coupling)
	}
	for _, c := range t.Tables {
		e += c.Energy[s[c.I]][s[c.J]]
	}
	for i, x := range s {
		if t.Fields != nil {
			e -= t.Fields[min(i, len(t.Fields)-1)][x]
		}
	}
	return e
}

// rounding bounds the errors of numbers of order one.
const rounding = 1e-11

func (v *subject) checkEnergies(emit func(engine.Check)) {
	var worst float64
	count := 0
	for _, t := range []*TargetConfig{lattice("potts"), lattice("clock"), example()} {
		law := crash.Must(t.law())
		law.Each(func(_ int, s []byte) {
			worst = max(worst, math.Abs(v.energy(law, s)-t.definedEnergy(s)))
			count++
		})
	}
	emit(engine.AtMost("potts energies", worst, rounding, "of all %d configurations of 3×3 Potts and clock models and of a graph with tables", count))
}

func (v *subject) checkIsing(emit func(engine.Check)) {
	const l, beta, j = 6, 0.9, 1.3
	got, k := crash.Must(v.torus(l, 2, categories.Potts(2, j), nil, beta)), crash.Must(ising.Kaufman(l, j/2, beta))
	emit(engine.AtMost("potts of two states", math.Abs(got-k.LogZ-beta*j*l*l), 1e-10, "ln Z on the %d×%[1]d lattice by transfer matrix, less Ising's by Kaufman's formula at half the coupling", l))
}

func (v *subject) checkSums(emit func(engine.Check)) {
	var worst float64
	for _, t := range []*TargetConfig{lattice("potts"), lattice("clock"), example()} {
		law := crash.Must(t.law())
		want, _ := law.Enumerate()
		worst = max(worst, math.Abs(v.sum(law)-want))
		if t.L == 0 {
			continue
		}
		torus := crash.Must(v.torus(t.L, t.Q, t.pair(t.Q, t.Q, t.J), law.Fields[0], t.Beta))
		worst = max(worst, math.Abs(torus-want))
	}
	emit(engine.AtMost("potts sums", worst, rounding, "ln Z site by site and by transfer matrices, less sums over all configurations"))
}

// checkKernel compares the mean energy of exact draws after steps with the exact mean.
func (v *subject) checkKernel(emit func(engine.Check), kind string, steps int) {
	t := &TargetConfig{Beta: 0.9, Q: 3, Model: "clock", L: 3, J: 1}
	law := crash.Must(t.law())
	exact, m := crash.Must(categories.NewSum(context.Background(), law)), crash.Must(v.moves(law, kind))
	const samples = 1 << 16
	batch := make([]byte, samples*law.N())
	stream, transition := rng.Stream(1, rng.Reference, 0), rng.Stream(1, rng.SampleTransition, 0)
	exact.Draw(batch, &stream, 0)
	m.Run(nil, batch, batch, 0, samples, steps, &transition, 0, new(bitspin.Count))
	var mean, square, got float64
	_, p := law.Enumerate()
	law.Each(func(k int, s []byte) {
		e := law.Energy(s)
		mean, square = mean+p[k]*e, square+p[k]*e*e
	})
	for i := range samples {
		got += law.Energy(batch[i*law.N():][:law.N()]) / samples
	}
	standardError := math.Sqrt((square - mean*mean) / samples)
	emit(engine.AtMost("potts "+kind, math.Abs(got-mean)/standardError, 5, "standard errors between the mean energy of %d exact draws after %d steps and the exact one", samples, steps))
}

// checkDensity compares q, summed over all configurations, with 1.
func (v *subject) checkDensity(emit func(engine.Check)) {
	var worst float64
	for _, t := range []*TargetConfig{{Beta: 0.8, Q: 3, Model: "potts", L: 3, J: 1.1}, lattice("clock"), example()} {
		s, params := v.model(t)
		m := s.Model()
		var configs []byte
		m.Target().Each(func(_ int, s []byte) { configs = append(configs, s...) })
		n := m.Sites()
		r := make([]float64, len(configs)/n)
		v.density(m.NewSampler(params, v.workers), r, configs)
		var sum float64
		for i, r := range r {
			sum += math.Exp(r - t.Beta*t.definedEnergy(configs[i*n:][:n]))
		}
		worst = max(worst, math.Abs(sum-1))
	}
	emit(engine.AtMost("potts density", worst, 2e-5, "q summed over all configurations, less 1"))
}

// model returns a generator and parameters far from the initial ones.
func (v *subject) model(t *TargetConfig) (*categories.System, []float32) {
	m := crash.Must(categories.NewModel(*crash.Must(t.law()), categories.Network{Neighbours: 4, Hidden: 3}, v.workers))
	r := rand.New(rand.NewPCG(9, 0))
	params := make([]float32, m.NumParams())
	for i := range params {
		params[i] = float32(0.4 * r.NormFloat64())
	}
	return crash.Must(categories.NewSystem(m, &engine.Training{Seed: 3, Batch: 128, Steps: 10}, engine.Balancing{Partners: 0.5},
		&spins.TransitionConfig{Proposal: spins.Sweeping, Steps: 1}, v.workers)), params
}

func (v *subject) checkGradient(emit func(engine.Check)) {
	var worst float64
	count := 0
	for _, t := range []*TargetConfig{{Beta: 0.8, Q: 3, Model: "potts", L: 3, J: 1.1}, lattice("clock"), example()} {
		s, params := v.model(t)
		relative, tensors := engine.GradientError(s, params, func(params, grad []float32) { v.gradient(s, params, grad) })
		worst, count = max(worst, relative), count+tensors
	}
	emit(engine.AtMost("potts gradient", worst, 2e-3, "of %d tensors, against central differences", count))
}

// checkOneHot compares distances and moves of all configurations as one-hot spins with those as states.
func (v *subject) checkOneHot(emit func(engine.Check)) {
	failures, count := 0, 0
	for _, t := range []*TargetConfig{{Beta: 0.8, Q: 3, Model: "potts", L: 3, J: 1.1}, example()} {
		law := crash.Must(t.law())
		n, oneHot := law.N(), categories.OneHot{Target: law}
		words := (oneHot.Spins() + 63) / 64
		var configs []byte
		law.Each(func(_ int, s []byte) { configs = append(configs, s...) })
		rows := len(configs) / n
		packed, moved := make([]uint64, rows*words), make([]byte, len(configs))
		for i := range rows {
			x, first := packed[i*words:][:words], packed[:words]
			oneHot.Pack(x, configs[i*n:], 1)
			unequal, distance := 0, 0 // sites that differ, and spins that differ
			for k, s := range configs[i*n:][:n] {
				if s != configs[k] {
					unequal++
				}
			}
			for k := range x {
				distance += bits.OnesCount64(x[k] ^ first[k])
			}
			if distance != 2*unequal {
				failures++
			}
		}
		for _, c := range []*spins.TransitionConfig{{Proposal: "single"}, {Proposal: spins.Sweeping}} {
			kernel, m := crash.Must(v.oneHot(oneHot, c)), crash.Must(categories.NewMoves(law, c, 1))
			stream, movedPacked := rng.Stream(1, rng.SampleTransition, 0), make([]uint64, len(packed))
			m.Run(nil, moved, configs, 0, rows, 3, &stream, 0, new(bitspin.Count))
			kernel.Run(nil, movedPacked, packed, 0, rows, 3, &stream, 0, new(bitspin.Count))
			unpacked := make([]byte, len(configs))
			for i := range rows {
				oneHot.Unpack(unpacked[i*n:], 1, movedPacked[i*words:])
			}
			for i := range unpacked {
				if unpacked[i] != moved[i] {
					failures++
				}
			}
			count += rows
		}
	}
	emit(engine.AtMost("potts one-hot", float64(failures), 0, "configurations whose distance by one-hot spins is not twice that by sites, or sites that moves of one-hot spins move elsewhere than those of states, of %d moves", count))
}
