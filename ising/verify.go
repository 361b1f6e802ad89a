package ising

import (
	"context"
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

// Verify checks the mathematics of the package exhaustively on the 3×3
// lattice, each function against an independent computation, and reports every
// check through emit. It returns the error of ctx.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	return newSubject(workers).verify(ctx, emit)
}

// A subject holds the functions that Verify examines. Tests replace one by a wrong one and
// expect its check to fail.
type subject struct {
	workers *pool.Pool
	samples int // Metropolis samples from each configuration

	energy      func(m bitspin.Model, s []uint64) float64
	difference  func(m bitspin.Model, s, mask []uint64) float64
	enumeration func(t Target) (Observables, error)
	kaufman     func(l int, j, beta float64) (Thermodynamics, error)
	matrix      func(t Target, p bitspin.Proposal) (*TransitionMatrix, error)
	metropolis  func(t Target, p bitspin.Proposal) (spins.Kernel, error)
	surrogate   func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64
	hamming     func(n, spins int, k mmd.Kernel, mode mmd.HammingGradient, stat mmd.Statistic) lossGradient
	backward    func(s *system, params, grad []float32)
}

// A lossGradient returns the loss of a batch of pairs and sets its gradient.
type lossGradient interface {
	LossGradient(s, t []uint64, grad []float32) float64
}

func newSubject(workers *pool.Pool) *subject {
	return &subject{
		workers:    workers,
		samples:    1 << 16,
		energy:     bitspin.Model.Energy,
		difference: bitspin.Model.EnergyDifference,
		enumeration: func(t Target) (Observables, error) {
			g, err := CountStates(t.L)
			if err != nil {
				return Observables{}, err
			}
			return g.Observables(t), nil
		},
		kaufman: Kaufman,
		matrix:  NewTransitionMatrix,
		metropolis: func(t Target, p bitspin.Proposal) (spins.Kernel, error) {
			return bitspin.NewMetropolis(t.Model, t.Beta, p)
		},
		surrogate: mmd.Naive,
		hamming: func(n, spins int, k mmd.Kernel, mode mmd.HammingGradient, stat mmd.Statistic) lossGradient {
			return mmd.NewHamming(n, spins, k, mode, stat, workers)
		},
		backward: (*system).Backward,
	}
}

// A check computes a value and compares it with a bound.
type check struct {
	name string
	run  func(v *subject) engine.Check
}

// checks lists the checks of Verify, in order.
func checks() []check {
	list := []check{
		{"energies", (*subject).checkEnergies},
		{"energy-differences", (*subject).checkDifferences},
		{"ground-truths", (*subject).checkGroundTruths},
		{"enumeration-kaufman", (*subject).checkKaufman},
	}
	for _, name := range []string{"mixture", "multi-spin"} {
		p := crash.Must(bitspin.ParseProposal(name, 0.1))
		with := func(f func(*subject, bitspin.Proposal) engine.Check) func(*subject) engine.Check {
			return func(v *subject) engine.Check { return f(v, p) }
		}
		list = append(list,
			check{"row-sums/" + name, with(largestOver(1e-15, "largest |Σ_s′ P(s, s′) − 1| at", func(m *TransitionMatrix, _ []float64) float64 { return m.rowSumError() }))},
			check{"detailed-balance/" + name, with(largestOver(1e-15, "largest |π(s)P(s, s′) − π(s′)P(s′, s)| at", (*TransitionMatrix).detailedBalanceError))},
			check{"irreducibility/" + name, with(largestOver(0, "configurations not connected to the first in both directions, at", func(m *TransitionMatrix, _ []float64) float64 { return float64(m.unreachable()) }))},
			check{"metropolis-rows/" + name, with((*subject).checkMetropolis)},
			check{"loss-at-target/" + name, with(largestOver(1e-15, "population loss at p = π,", func(m *TransitionMatrix, pi []float64) float64 {
				return newPopulation(9, verifiedKernel).loss(asymmetry(pi, m))
			}))},
			check{"loss-elsewhere/" + name, with((*subject).checkLossElsewhere)},
			check{"gradient-at-target/" + name, with(largestOver(1e-15, "largest element of the surrogate gradient at p = π over all pairs and spins,", gradientAtTarget))},
		)
	}
	return append(list,
		check{"surrogate-gradient", (*subject).checkSurrogate},
		check{"batch-loss", (*subject).checkBatchLoss},
		check{"batch-gradient", (*subject).checkBatchGradient},
		check{"backpropagation", (*subject).checkBackpropagation},
	)
}

func (v *subject) verify(ctx context.Context, emit func(engine.Check)) error {
	var checkers []engine.Checker
	for _, c := range checks() {
		checkers = append(checkers, func(emit func(engine.Check)) {
			result := c.run(v)
			result.Name = c.name
			emit(result)
		})
	}
	return engine.RunChecks(ctx, emit, checkers...)
}

// verifiedModels are the models whose energies are checked. Their couplings are
// dyadic, so that sums of ±J and ±h are exact in any order.
var verifiedModels = []struct{ j, h float64 }{{1, 0}, {-1.5, 0.25}}

// sumOverBonds returns the energy by its definition, site by site.
func sumOverBonds(l int, j, h float64, s uint64) (energy float64) {
	spin := func(row, col int) float64 { return float64(s>>(row%l*l+col%l)&1)*2 - 1 }
	for row := range l {
		for col := range l {
			energy -= j * spin(row, col) * (spin(row, col+1) + spin(row+1, col))
			energy -= h * spin(row, col)
		}
	}
	return energy
}

func (v *subject) checkEnergies() engine.Check {
	var worst float64
	for _, c := range verifiedModels {
		m := crash.Must(bitspin.NewModel(3, c.j, c.h))
		for s := range uint64(512) {
			worst = max(worst, math.Abs(v.energy(m, []uint64{s})-sumOverBonds(3, c.j, c.h, s)))
		}
	}
	return engine.AtMost("", worst, 0, "512 configurations, with and without a field, against sums over bonds")
}

func (v *subject) checkDifferences() engine.Check {
	var worst float64
	for _, c := range verifiedModels {
		m := crash.Must(bitspin.NewModel(3, c.j, c.h))
		var energy [512]float64
		for s := range energy {
			energy[s] = sumOverBonds(3, c.j, c.h, uint64(s))
		}
		config, mask := make([]uint64, 1), make([]uint64, 1)
		for s := range energy {
			for flip := range energy {
				config[0], mask[0] = uint64(s), uint64(flip)
				worst = max(worst, math.Abs(v.difference(m, config, mask)-(energy[s^flip]-energy[s])))
			}
		}
	}
	return engine.AtMost("", worst, 0, "512×512 pairs of configuration and mask, with and without a field, against sums over bonds")
}

// groundTruths are the paper's exact values on the 3×3 lattice to 12 decimals.
var groundTruths = map[float64]Observables{
	0.2: {Thermodynamics{6.669744604314, -4.842892000871, 1.367213071898}, 0.459977400186, 0.148598666041},
	0.5: {Thermodynamics{9.925150370851, -15.909106192236, 4.676964355805}, 0.925984777976, 0.133435329173},
}

func (v *subject) checkGroundTruths() engine.Check {
	var worst float64
	for beta, want := range groundTruths {
		t := crash.Must(NewTarget(3, 1, 0, beta))
		got := crash.Must(v.enumeration(t))
		worst = max(worst,
			math.Abs(got.LogZ-want.LogZ), math.Abs(got.Energy-want.Energy), math.Abs(got.SpecificHeat-want.SpecificHeat),
			math.Abs(got.AbsMagnetisation-want.AbsMagnetisation), math.Abs(got.Susceptibility-want.Susceptibility))
	}
	return engine.AtMost("", worst, 1e-10, "ln Z, E, |m|, C_v and χ at β = 0.2 and 0.5, L = 3")
}

func (v *subject) checkKaufman() engine.Check {
	var worst float64
	for l := 3; l <= 5; l++ {
		for _, beta := range []float64{0.1, 0.2, 0.44068679350977147, 0.5, 0.8} {
			t := crash.Must(NewTarget(l, 1, 0, beta))
			want := crash.Must(v.enumeration(t))
			got := crash.Must(v.kaufman(l, 1, beta))
			worst = max(worst, math.Abs(got.LogZ/want.LogZ-1), math.Abs(got.Energy/want.Energy-1), math.Abs(got.SpecificHeat/want.SpecificHeat-1))
		}
	}
	return engine.AtMost("", worst, 1e-10, "relative difference of ln Z, E and C_v, L = 3, 4 and 5, five temperatures")
}
