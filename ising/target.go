package ising

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/spins"
)

// A Target is the Boltzmann distribution π(s) = exp(−βE(s))/Z of an Ising model.
type Target struct {
	bitspin.Model
	Beta float64
}

// NewTarget returns the distribution of the L×L lattice with coupling j,
// field h and inverse temperature beta ≥ 0, all finite.
func NewTarget(l int, j, h, beta float64) (Target, error) {
	if !(beta >= 0) || math.IsInf(beta, 0) {
		return Target{}, fmt.Errorf("inverse temperature β = %v is not a finite number ≥ 0", beta)
	}
	model, err := bitspin.NewModel(l, j, h)
	return Target{model, beta}, err
}

// Spins returns the number of spins.
func (t Target) Spins() int { return t.N }

// Kernel implements spins.Target.
func (t Target) Kernel(c *spins.TransitionConfig, fraction float64) (spins.Kernel, error) {
	beta := fraction * t.Beta
	if err := bitspin.CheckTemperature(beta, t.EnergyRange()); err != nil {
		return nil, fmt.Errorf("target.beta: %w", err)
	}
	if c.Proposal == spins.Sweeping {
		return bitspin.NewSweeper(t.Model, beta)
	}
	p, err := bitspin.ParseProposal(c.Proposal, c.GlobalFlip)
	if err != nil {
		return nil, fmt.Errorf("transition.global_flip: %w", err)
	}
	return bitspin.NewMetropolis(t.Model, beta, p)
}

// Thermodynamics are the quantities that follow from ln Z(β).
type Thermodynamics struct {
	LogZ         float64 // ln Σ_s exp(−βE(s))
	Energy       float64 // ⟨E⟩ of the whole lattice
	SpecificHeat float64 // C_v = β²(⟨E²⟩ − ⟨E⟩²) of the whole lattice
}

// Observables are the quantities of the paper's table, with m = Σ_i s_i / N.
type Observables struct {
	Thermodynamics
	AbsMagnetisation float64 // ⟨|m|⟩
	Susceptibility   float64 // χ = βN(⟨m²⟩ − ⟨|m|⟩²)
}

// energies returns E(s) of all configurations, indexed by their words.
func (t Target) energies() []float64 {
	e := make([]float64, 1<<t.N)
	for s := range e {
		e[s] = t.Energy([]uint64{uint64(s)})
	}
	return e
}

// Probabilities returns π(s) of all configurations, indexed by their words. The
// lattice must have at most 4×4 sites.
func (t Target) Probabilities() ([]float64, error) {
	if t.L > maxListedSide {
		return nil, fmt.Errorf("the %d×%d lattice has too many configurations to list; the largest is 4×4", t.L, t.L)
	}
	p := t.energies()
	ground, z := slices.Min(p), 0.0
	for s, e := range p {
		p[s] = math.Exp(-t.Beta * (e - ground))
		z += p[s]
	}
	for s := range p {
		p[s] /= z
	}
	return p, nil
}

// TotalVariation returns ½ Σ |p − q| of two distributions over the same states.
func TotalVariation(p, q []float64) float64 {
	if len(p) != len(q) {
		panic(fmt.Sprintf("ising: distributions over %d and %d states", len(p), len(q)))
	}
	return floats.Distance(p, q, 1) / 2
}
