package vectors

// In equilibrium the law of (s, s′), where s′ comes from s by reversible moves, is the law
// of (s′, s). That is Algorithm 1, in two forms: pairs of samples, of any generator, and log
// densities, of generators that know theirs.

// Loss returns L at θ.
func (p *pairs) Loss(θ []float32, step uint32) (float64, error) {
	p.generator.draw(p.s, θ, step)                           // s = G_θ(z)
	if err := p.kernel.move(p.next, p.s, step); err != nil { // s′ ~ p^m(s, ·), from here on a constant
		return 0, err
	}
	return p.loss.LossGradient(p.ds, p.s, p.next), nil // L((s, s′), (s′, s)) and ∂L/∂s
}

// Backward sets grad to ∂L/∂θ.
func (p *pairs) Backward(θ, grad []float32) {
	p.generator.backward(grad, θ, p.ds) // ∂L/∂θ = ∂L/∂s ∂G_θ/∂θ
}

// Loss returns L at θ.
func (b *balance) Loss(θ []float32, step uint32) (float64, error) {
	b.generator.draw(b.s, θ, step)                           // s = G_θ(z)
	if err := b.kernel.move(b.next, b.s, step); err != nil { // s′ ~ p^m(s, ·), or another s
		return 0, err
	}
	b.weigh()               // R(s) and R(s′), R = ln q − ln π
	return b.Measure(), nil // ½ E (R(s) − R(s′))², and the coefficient c of each ∇ln q
}

// Backward sets grad to ∂L/∂θ with both states held fixed.
func (b *balance) Backward(θ, grad []float32) {
	b.score(grad, θ) // ∂L/∂θ = Σ c ∇ln q(s) + c′ ∇ln q(s′)
}
