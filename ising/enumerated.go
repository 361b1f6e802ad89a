package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/pool"
)

// enumerable is the largest number of spins for which an objective may use
// the full transition matrix.
const enumerable = MaxMatrixSites

// A functional gives the discrepancy as a function of the law of s over all
// 2^N configurations, with s′ averaged out by the transition matrix P^m.
type functional interface {
	// discrepancy takes the estimates p[0] and p[1] of the law by the two
	// halves of the batch. It returns the loss and sets g[half] to the function
	// of configurations whose mean that half's samples are to descend. It
	// reports whether the numbers can be used.
	discrepancy(p, g [2][]float32) (loss float64, ok bool)
	state() []engine.Section
}

// enumeratedObjective estimates the law of s by the batch.
type enumeratedObjective struct {
	s      *system
	f      functional
	stay   []float32      // P(s, s) of a single Metropolis step
	p, g   [2][]float32   // by half of the batch
	blocks [][2][]float32 // partial sums of p
	tree   []*tree        // by lane, for Rao–Blackwell
	orbits *orbits        // of the generator's symmetry, nil if it has none
	means  []float64      // over orbits
	count  func(block, lo, hi int, _ []float32)
	rate   float64
}

func newEnumeratedObjective(s *system) (*enumeratedObjective, error) {
	c, n := s.config, 1<<s.model.N
	proposal, err := c.proposal()
	if err != nil {
		return nil, err
	}
	step, err := NewTransitionMatrix(Target{s.model, c.Target.Beta}, proposal)
	if err != nil {
		return nil, err
	}
	chain := step.Power(c.Transition.Steps)
	o := &enumeratedObjective{s: s, stay: make([]float32, n)}
	for i := range o.stay {
		o.stay[i] = float32(step.Row(i)[i])
	}
	if c.Loss.Objective == "kfd" {
		o.f = newTabulated(s.model, chain, c.Loss.Witness.Bandwidth, c.Loss.Witness.Config, s.workers)
	} else {
		o.f = newQuadratic(chain, &c.Loss.Kernel)
	}
	for half := range 2 {
		o.p[half], o.g[half] = make([]float32, n), make([]float32, n)
	}
	for range s.lanes.Blocks() {
		o.blocks = append(o.blocks, [2][]float32{make([]float32, n), make([]float32, n)})
		o.tree = append(o.tree, newTree(s.model.N))
	}
	if y := s.generator.symmetry; !y.trivial() {
		o.orbits = y.orbits()
		o.means = make([]float64, len(o.orbits.size))
	}
	o.count = o.countBlock
	return o, nil
}

func (o *enumeratedObjective) state() []engine.Section { return o.f.state() }
func (o *enumeratedObjective) acceptance() float64     { return o.rate }

// transition has nothing to draw: the matrix averages over s′.
func (o *enumeratedObjective) transition(uint32) {}

// half returns the half of the batch that row r belongs to.
func (o *enumeratedObjective) half(r int) int {
	if 2*r < o.s.config.Training.Batch {
		return 0
	}
	return 1
}

func (o *enumeratedObjective) countBlock(block, lo, hi int, _ []float32) {
	s, p := o.s, o.blocks[block]
	clear(p[0])
	clear(p[1])
	for r := lo; r < hi; r++ {
		into := p[o.half(r)]
		if s.config.Loss.RaoBlackwell {
			o.tree[block].addLaw(into, s.activations.Output()[r*s.model.N:][:s.model.N])
		} else {
			into[s.spins[r]]++
		}
	}
}

func (o *enumeratedObjective) discrepancy(uint32) float64 {
	s, n := o.s, len(o.stay)
	s.lanes.Forward(o.count)
	batch := s.config.Training.Batch
	for half := range 2 {
		size := float32((batch + 1 - half) / 2)
		for i := range n {
			var sum float32
			for _, b := range o.blocks {
				sum += b[half][i]
			}
			o.p[half][i] = sum / size
		}
		o.symmetrise(o.p[half])
	}
	o.rate = 0
	for i, stay := range o.stay {
		o.rate += float64(o.p[0][i]+o.p[1][i]) / 2 * float64(1-stay)
	}
	loss, ok := o.f.discrepancy(o.p, o.g)
	if !ok {
		return math.NaN()
	}
	o.symmetrise(o.g[0])
	o.symmetrise(o.g[1])
	return loss
}

// symmetrise averages a function of configurations over the symmetry of the
// generator's output.
func (o *enumeratedObjective) symmetrise(f []float32) {
	if o.orbits != nil {
		o.orbits.average(f, o.means)
	}
}

func (o *enumeratedObjective) headGradient(lo, hi int) {
	s := o.s
	n, scale := s.model.N, 1/float32(s.config.Training.Batch)
	if s.config.Loss.RaoBlackwell {
		tree := o.tree[lo/nn.BlockRows()]
		for r := lo; r < hi; r++ {
			tree.gradient(s.grad[r*n:][:n], o.g[o.half(r)], s.activations.Output()[r*n:][:n], scale)
		}
		return
	}
	for r := lo; r < hi; r++ {
		g, state := o.g[o.half(r)], s.spins[r]
		for i := range n {
			up := state >> i & 1
			s.grad[r*n+i] = (g[state^1<<i] - g[state]) * scale * (0.5 - float32(up))
		}
	}
	s.straightThrough(lo, hi)
}

// A tree is scratch for sums over the product law of independent spins.
type tree struct {
	up     []float32 // probability of spin up, by spin
	law    []float32 // of the first spins
	folded []float32 // g averaged over the last spins, from 2^N down to 1
}

func newTree(spins int) *tree {
	return &tree{make([]float32, spins), make([]float32, 1<<spins), make([]float32, 2<<spins)}
}

func (t *tree) probabilities(logits []float32) {
	for i, h := range logits {
		t.up[i] = float32(1 / (1 + math.Exp(-2*float64(h))))
	}
}

// addLaw adds to sum the probability of every configuration.
func (t *tree) addLaw(sum, logits []float32) {
	t.probabilities(logits)
	t.law[0] = 1
	for i, q := range t.up {
		half := 1 << i
		for s, p := range t.law[:half] {
			t.law[half+s] = p * q
			t.law[s] = p - p*q
		}
	}
	for s, p := range t.law {
		sum[s] += p
	}
}

// gradient sets grad to scale times the gradient of E[g(s)] by the logits.
func (t *tree) gradient(grad, g, logits []float32, scale float32) {
	t.probabilities(logits)
	// folded[2^i … 2^{i+1}) holds g averaged over spins i and up.
	copy(t.folded[len(g):], g)
	for i := len(t.up) - 1; i >= 0; i-- {
		half, q := 1<<i, t.up[i]
		from := t.folded[2*half : 4*half]
		to := t.folded[half : 2*half]
		for s := range to {
			to[s] = from[s] + q*(from[half+s]-from[s])
		}
	}
	t.law[0] = 1
	for i, q := range t.up {
		half := 1 << i
		from := t.folded[2*half : 4*half]
		var sum float32
		for s, p := range t.law[:half] {
			sum += p * (from[half+s] - from[s])
			t.law[half+s] = p * q
			t.law[s] = p - p*q
		}
		grad[i] = scale * 2 * q * (1 - q) * sum // dq/dh = 2q(1−q)
	}
}

// quadratic is the maximum mean discrepancy as a quadratic form pᵀAp in the
// law of s, with its full gradient 2Ap.
type quadratic struct {
	states  int
	packed  []float32 // A
	zero    []float32
	p, half []float32
}

func newQuadratic(chain *TransitionMatrix, k *mmd.Kernel) *quadratic {
	n := chain.States
	form, a := lossForm(chain, k), make([]float32, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = float32(form.At(i, j))
		}
	}
	q := &quadratic{states: n, packed: make([]float32, asm.PackedLen(n, n)), zero: make([]float32, n), p: make([]float32, n), half: make([]float32, n)}
	asm.PackWeights(q.packed, a, n, n)
	return q
}

func (q *quadratic) state() []engine.Section { return nil }

func (q *quadratic) discrepancy(p, g [2][]float32) (float64, bool) {
	for s := range q.p {
		q.p[s] = (p[0][s] + p[1][s]) / 2
	}
	asm.DenseForward(q.half, q.p, q.packed, q.zero, 1, q.states, q.states, 1)
	var loss float64
	for s, v := range q.half {
		loss += float64(q.p[s]) * float64(v)
		g[0][s], g[1][s] = 2*v, 2*v
	}
	return loss, true
}

// tabulated is the least-squares witness with one feature per configuration.
type tabulated struct {
	states   int
	chain    []float32 // P^m, [from][to]
	reversed []float32 // its transpose
	packed   []float32
	zero     []float32
	both     []float32 // p of the two halves
	next     []float32 // pP of the two halves
	witness  *kfd.Witness
	mean     [2][]float64
	workers  *pool.Pool
	fill     func(row int)
}

func newTabulated(model bitspin.Model, chain *TransitionMatrix, bandwidth float64, c kfd.Config, workers *pool.Pool) *tabulated {
	n := 1 << model.N
	// The Gaussian Gram matrix is a Kronecker product of 2×2 matrices, and
	// so is its inverse.
	rho := math.Exp(-2 / (bandwidth * bandwidth))
	table := make([]float64, model.N+1)
	for h := range table {
		table[h] = math.Pow(-rho, float64(h)) / math.Pow(1-rho*rho, float64(model.N))
	}
	t := &tabulated{
		states: n, chain: narrow(chain.P), reversed: make([]float32, n*n), packed: make([]float32, asm.PackedLen(n, n)),
		zero: make([]float32, n), both: make([]float32, 2*n), next: make([]float32, 2*n),
		witness: kfd.New(n, narrow(hammingMatrix(n, table)), c, workers),
		mean:    [2][]float64{make([]float64, n), make([]float64, n)}, workers: workers,
	}
	for i := range n {
		for j := range n {
			t.reversed[j*n+i] = t.chain[i*n+j]
		}
	}
	asm.PackWeights(t.packed, t.chain, n, n)
	t.fill = t.fillRow
	return t
}

// fillRow sets row s of E[δδᵀ] for indicator features: the diagonal matrix of
// the row sums of the symmetrised joint law, less that law.
func (t *tabulated) fillRow(s int) {
	n := t.states
	row := t.witness.Batch()[s*n:][:n]
	ps := (t.both[s] + t.both[n+s]) / 2
	forward, backward := t.chain[s*n:][:n], t.reversed[s*n:][:n]
	var sum float32
	for to := range row {
		j := ps*forward[to] + (t.both[to]+t.both[n+to])/2*backward[to]
		row[to] = -j
		sum += j
	}
	row[s] += sum
}

func (t *tabulated) state() []engine.Section { return witnessState(t.witness) }

func (t *tabulated) discrepancy(p, g [2][]float32) (float64, bool) {
	n := t.states
	copy(t.both, p[0])
	copy(t.both[n:], p[1])
	asm.DenseForward(t.next, t.both, t.packed, t.zero, 2, n, n, 1)
	if t.witness.Stale() {
		t.workers.Run(n, t.fill)
	}
	if !t.witness.Update() {
		return 0, false
	}
	var loss float64
	for half := range 2 {
		for s := range n {
			t.mean[half][s] = float64(t.both[half*n+s]) - float64(t.next[half*n+s])
		}
		// The witness of one half drives the other.
		t.witness.Solve(g[1-half], t.mean[half])
	}
	for half := range 2 {
		for s, f := range t.mean[half] {
			loss += f * float64(g[half][s]) / 2
		}
	}
	return loss, true
}

// hammingMatrix returns the matrix whose entry (a, b) is table[|a ⊕ b|].
func hammingMatrix(n int, table []float64) []float64 {
	m := make([]float64, n*n)
	for a := range n {
		for b := range n {
			m[a*n+b] = table[bits.OnesCount(uint(a^b))]
		}
	}
	return m
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
