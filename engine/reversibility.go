package engine

import "github.com/revgen/revgen/internal/state"

// In equilibrium the law of (s, s′), where s′ comes from s by reversible moves, is the law
// of (s′, s). That is Algorithm 1, in two forms: Pairs of samples, of any generator, and
// Densities, of generators that know theirs. S is a batch of states, packed spins or
// vectors, and D is what a loss says of them, ∂L/∂s.

// Pairs is the paper's form, in which the loss compares pairs of samples.
type Pairs[S, D any] struct {
	Generator interface {
		Draw(s S, θ []float32, step uint32)
		Backward(grad, θ []float32, ds D)
	}
	Transition  Transition[S]
	Discrepancy Discrepancy[S, D]
	S, Next     S
	DS          D
}

// Loss returns L at θ.
func (p *Pairs[S, D]) Loss(θ []float32, step uint32) (float64, error) {
	p.Generator.Draw(p.S, θ, step)                               // s = G_θ(z)
	if err := p.Transition.Move(p.Next, p.S, step); err != nil { // s′ ~ p^m(s, ·), from here on a constant
		return 0, err
	}
	return p.Discrepancy.LossGradient(p.DS, p.S, p.Next), nil // L((s, s′), (s′, s)) and ∂L/∂s
}

// Backward sets grad to ∂L/∂θ.
func (p *Pairs[S, D]) Backward(θ, grad []float32) {
	p.Generator.Backward(grad, θ, p.DS) // ∂L/∂θ = ∂L/∂s ∂G_θ/∂θ
}

// Moves returns the pairs (s, s′) of the last Loss.
func (p *Pairs[S, D]) Moves() (s, next S) { return p.S, p.Next }

// Densities is our form, in which the loss is that of detailed balance.
type Densities[S any] struct {
	*Balance
	Generator interface {
		Draw(s S, θ []float32, step uint32)
		Weigh(r, rNext []float64, s, next S)
		Score(grad, θ []float32, c, cNext []float64)
	}
	Transition Transition[S]
	S, Next    S
}

// Loss returns L at θ.
func (d *Densities[S]) Loss(θ []float32, step uint32) (float64, error) {
	d.Generator.Draw(d.S, θ, step)                               // s = G_θ(z)
	if err := d.Transition.Move(d.Next, d.S, step); err != nil { // s′ ~ p^m(s, ·), or another s
		return 0, err
	}
	d.Generator.Weigh(d.R, d.RNext, d.S, d.Next) // R(s) and R(s′), R = ln q − ln π
	return d.Measure(), nil                      // ½ E (R(s) − R(s′))², and the coefficient c of each ∇ln q
}

// Backward sets grad to ∂L/∂θ with both states held fixed.
func (d *Densities[S]) Backward(θ, grad []float32) {
	d.Generator.Score(grad, θ, d.C, d.CNext) // ∂L/∂θ = Σ c ∇ln q(s) + c′ ∇ln q(s′)
}

// A Transition makes reversible moves of a batch. The error is the target's.
type Transition[S any] interface {
	Move(next, s S, step uint32) error
	Acceptance() float64 // of the last Move's proposals
}

// A Discrepancy returns the loss of a batch of moves s → s′, NaN if it has no numbers that
// can be used, and sets ds to its gradient with s′ fixed, at least in a rank's own rows.
// Its State is what it carries between steps.
type Discrepancy[S, D any] interface {
	LossGradient(ds D, s, next S) float64
}

// Acceptance returns the fraction of the last Loss's proposals that were accepted.
func (p *Pairs[S, D]) Acceptance() float64 { return p.Transition.Acceptance() }

// Acceptance returns the fraction of the last Loss's proposals that were accepted, where
// independent samples are proposals too.
func (d *Densities[S]) Acceptance() float64 { return d.Balance.Acceptance(d.Transition.Acceptance()) }

// State lists what the loss carries from step to step.
func (p *Pairs[S, D]) State() []Section { return state.Of(p.Discrepancy) }
