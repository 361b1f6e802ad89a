package bitspin

import (
	"fmt"
	"math"
	"math/bits"
)

// A Proposal is one of the paper's symmetric proposal distributions: a law of
// the set of sites to flip that does not depend on the configuration, so that
// q(s, s′) = q(s′, s). The zero value is the single-spin flip.
type Proposal struct {
	kind   proposalKind
	global uint32 // probability of the global flip in units of 2⁻³²
}

type proposalKind uint8

const (
	single proposalKind = iota
	mixture
	multiSpin
)

// SingleSpin returns the proposal that flips one uniformly chosen spin.
func SingleSpin() Proposal { return Proposal{kind: single} }

// Mixture returns the proposal that flips all spins with probability
// 0 ≤ global < 1, rounded to a multiple of 2⁻³², and otherwise one uniformly
// chosen spin.
func Mixture(global float64) (Proposal, error) {
	units := math.Round(global * (1 << 32))
	if !(global >= 0 && units < 1<<32) {
		return Proposal{}, fmt.Errorf("probability of the global flip %v is not in [0, 1)", global)
	}
	return Proposal{kind: mixture, global: uint32(units)}, nil
}

// MultiSpin returns the proposal that draws n uniformly from 1 to N and flips
// a uniformly chosen set of n spins.
func MultiSpin() Proposal { return Proposal{kind: multiSpin} }

// ParseProposal returns the proposal of the given name: "mixture", which
// flips all spins with probability global, "single" or "multi-spin", which do
// not use global.
func ParseProposal(name string, global float64) (Proposal, error) {
	switch name {
	case "mixture":
		return Mixture(global)
	case "single":
		return SingleSpin(), nil
	case "multi-spin":
		return MultiSpin(), nil
	}
	return Proposal{}, fmt.Errorf("unknown proposal %q; the proposals are mixture, single and multi-spin", name)
}

// Global returns the probability of the global flip.
func (p Proposal) Global() float64 { return float64(p.global) / (1 << 32) }

// Probability returns the probability with which exactly the spins of mask
// are proposed on a lattice of n ≥ 4 sites.
func (p Proposal) Probability(n int, mask []uint64) float64 {
	size := 0
	for _, w := range mask[:Words(n)] {
		size += bits.OnesCount64(w)
	}
	switch {
	case size == 0:
		return 0
	case p.kind == multiSpin:
		return 1 / (float64(n) * Choose(n, size))
	case size == n:
		return p.Global()
	case size == 1:
		return (1 - p.Global()) / float64(n)
	}
	return 0
}

// Choose returns the binomial coefficient, exact below 2⁵³ and +Inf beyond
// the range of a float64.
func Choose(n, k int) float64 {
	k = min(k, n-k)
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1) // the product of i+1 consecutive numbers is divisible by (i+1)!
	}
	return c
}
