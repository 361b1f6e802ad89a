package ising

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A functional gives the discrepancy as a function of the law of s over all
// 2^N configurations, with s′ averaged out.
type functional interface {
	// discrepancy takes the estimates p[0] and p[1] of the law by the two
	// halves of the batch. It returns the loss and sets g[half] to the function
	// of configurations whose mean that half's samples are to descend. It
	// reports whether the numbers can be used.
	discrepancy(p, g [2][]float32) (loss float64, ok bool)
	// anneal takes the transition to an inverse temperature, without which there is
	// none: the first step of a training that is annealed begins at another than the
	// target's.
	anneal(beta float64)
	// leaving returns 1 − P(s, s) of a single Metropolis step, by s.
	leaving() []float32
	state() []engine.Section
}

// enumeratedObjective estimates the law of s by the batch.
type enumeratedObjective struct {
	*perceptron.Batch
	config   *Config
	f        functional
	symmetry symmetry
	p, g     [2][]float32 // by half of the batch
	orbits   *orbits      // of the generator's symmetry
	means    []float64    // over orbits
	rate     float64
}

func newEnumeratedObjective(c *Config, b *perceptron.Batch) (*enumeratedObjective, error) {
	o := &enumeratedObjective{Batch: b, config: c, symmetry: symmetry{flip: c.Generator.Symmetry == "z2", side: c.Target.L}}
	o.orbits = sharedOrbits(o.symmetry)
	var err error
	if o.f, err = o.newFunctional(); err != nil {
		return nil, err
	}
	for half := range 2 {
		o.p[half], o.g[half] = make([]float32, 1<<b.Spins), make([]float32, 1<<b.Spins)
	}
	o.means = make([]float64, len(o.orbits.size))
	return o, nil
}

// newFunctional averages over s′ with the transition matrix.
func (o *enumeratedObjective) newFunctional() (functional, error) {
	c := o.config
	proposal, err := proposal(&c.Transition)
	if err != nil {
		return nil, err
	}
	target, err := c.target()
	switch {
	case err != nil:
		return nil, fmt.Errorf("target: %w", err)
	case c.Loss.Kind == "kfd":
		return newTabulated(o.orbits, target, proposal, c.Transition.Steps, c.Loss.Witness, o.Workers), nil
	}
	return newQuadratic(target, proposal, c.Transition.Steps, &c.Loss.Kernel, o.Workers), nil
}

// State lists what a checkpoint must hold of the witness.
func (o *enumeratedObjective) State() []engine.Section { return o.f.state() }

func (o *enumeratedObjective) Acceptance() float64 { return o.rate }

// Anneal implements perceptron.Averager.
func (o *enumeratedObjective) Anneal(fraction float64) { o.f.anneal(o.config.Target.Beta * fraction) }

// half returns the half of the batch that row r belongs to.
func (o *enumeratedObjective) half(r int) int { return stat.Half(r, o.Rows) }

func (o *enumeratedObjective) Discrepancy() float64 {
	clear(o.p[0])
	clear(o.p[1])
	for r, spins := range o.States {
		o.p[o.half(r)][spins]++
	}
	return o.ofSums()
}

// ofSums returns the discrepancy where p holds the sums over the halves of the
// batch of the samples' indicators, or of the laws that they were drawn from.
func (o *enumeratedObjective) ofSums() float64 {
	for half, p := range o.p {
		size := float32(stat.HalfSize(half, o.Rows))
		for i := range p {
			p[i] /= size
		}
		o.symmetrise(p)
	}
	o.rate = 0
	for i, leaves := range o.f.leaving() {
		o.rate += float64(o.p[0][i]+o.p[1][i]) / 2 * float64(leaves)
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
	if o.symmetry.flip {
		o.orbits.average(f, o.means)
	}
}

// Gradient implements perceptron.Objective.
func (o *enumeratedObjective) Gradient(lo, hi int) {
	n, scale := o.Spins, 1/float32(o.Rows)
	for r := lo; r < hi; r++ {
		g, state := o.g[o.half(r)], o.States[r]
		for i := range n {
			up := state >> i & 1
			o.Grad[r*n+i] = (g[state^1<<i] - g[state]) * scale * (0.5 - float32(up))
		}
	}
}

// Contributions of a function g of configurations is g.
func (o *enumeratedObjective) Contributions(values []float32) {
	for r, state := range o.States {
		values[r] = o.g[o.half(r)][state]
	}
}

// Halves implements perceptron.Fitted: the values of g of each half, if it is that of least
// squares.
func (o *enumeratedObjective) Halves() (c [2][]float64) {
	if o.config.Loss.Kind == "kfd" {
		c = (*kfd.Solutions)(&o.g).Halves()
	}
	return c
}

// Coefficients are the values of g, the mean of the two halves'.
func (o *enumeratedObjective) Coefficients(c []float64) []float64 {
	return (*kfd.Solutions)(&o.g).Coefficients(c)
}

// Witness implements perceptron.Fitted.
func (o *enumeratedObjective) Witness(values, c []float64, states []uint64) {
	for i, state := range states {
		values[i] = c[state]
	}
}

// raoBlackwell takes the law of s for the mean of the laws that a bernoulli head
// draws from.
type raoBlackwell struct {
	*enumeratedObjective
	laws    []*productLaw // of a block of rows
	packed  [2]packedTable
	measure func(block, lo, hi int, _ []float32)
	pack    func(half int)
}

func newRaoBlackwell(of *enumeratedObjective) *raoBlackwell {
	o := &raoBlackwell{enumeratedObjective: of}
	for half := range 2 {
		o.packed[half] = newPackedTable(o.Spins)
	}
	for range o.Lanes.Blocks() {
		o.laws = append(o.laws, newProductLaw(o.Spins, nn.BlockRows(), o.Workers.Float32s))
	}
	o.measure = func(block, lo, hi int, _ []float32) {
		o.laws[block].measure(o.Logits[lo*o.Spins : hi*o.Spins])
		middle := min(max(lo, stat.Middle(o.Rows)), hi)
		o.laws[block].sum(0, 0, middle-lo)
		o.laws[block].sum(1, middle-lo, hi-lo)
	}
	o.pack = func(half int) { o.packed[half].set(o.g[half]) }
	return o
}

func (o *raoBlackwell) Discrepancy() float64 {
	o.Lanes.Forward(o.measure)
	for half, p := range o.p {
		clear(p)
		for _, law := range o.laws {
			law.addTo(p, half)
		}
	}
	loss := o.ofSums()
	o.Workers.Run(2, o.pack)
	return loss
}

// LogitGradient implements perceptron.LogitObjective.
func (o *raoBlackwell) LogitGradient(lo, hi int) {
	n, scale, law := o.Spins, 1/float32(o.Rows), o.laws[lo/nn.BlockRows()]
	middle := min(max(lo, stat.Middle(o.Rows)), hi)
	law.gradient(o.Grad[lo*n:middle*n], &o.packed[0], 0, middle-lo, scale)
	law.gradient(o.Grad[middle*n:hi*n], &o.packed[1], middle-lo, hi-lo, scale)
}

// quadratic is the maximum mean discrepancy as a quadratic form pᵀAp in the
// law of s, with its full gradient 2Ap.
type quadratic struct {
	target   Target
	proposal bitspin.Proposal
	steps    int
	kernel   *mmd.Kernel
	workers  *pool.Pool
	beta     float64 // of the form
	states   int
	packed   []float32 // A
	zero     []float32
	p, half  []float32
	leave    []float32
}

func newQuadratic(t Target, proposal bitspin.Proposal, steps int, k *mmd.Kernel, workers *pool.Pool) *quadratic {
	n := 1 << t.N
	q := &quadratic{
		target: t, proposal: proposal, steps: steps, kernel: k, workers: workers,
		states: n, packed: make([]float32, asm.PackedLen(n, n)), zero: make([]float32, n),
		p: make([]float32, n), half: make([]float32, n), leave: make([]float32, n),
	}
	q.beta = math.NaN()
	return q
}

// anneal computes the form anew when β changes, and only then allocates.
func (q *quadratic) anneal(beta float64) {
	if q.beta == beta {
		return
	}
	q.beta = beta
	step, err := NewTransitionMatrix(Target{q.target.Model, beta}, q.proposal)
	if err != nil {
		panic(err) // Config.Validate allows MaxMatrixSites sites
	}
	step.workers = q.workers
	n := q.states
	form, a := lossForm(step.Power(q.steps), q.kernel), make([]float32, n*n)
	for i := range n {
		q.leave[i] = float32(1 - step.Row(i)[i])
		for j := range n {
			a[i*n+j] = float32(form.At(i, j))
		}
	}
	asm.PackWeights(q.packed, a, n, n)
}

func (q *quadratic) state() []engine.Section { return nil }
func (q *quadratic) leaving() []float32      { return q.leave }

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

// tabulated is the least-squares witness with one feature per orbit of the
// generator's symmetry, per configuration if it has none.
type tabulated struct {
	orbits   *orbits
	moves    *orbitChain
	steps    int
	beta     float64   // of the transition
	states   int       // orbits
	chain    []float32 // P^m, [from][to]
	reversed []float32 // its transpose
	packed   []float32
	zero     []float32
	both     []float32 // p of the two halves
	next     []float32 // pP of the two halves
	leave    []float32
	witness  *kfd.Witness
	mean     [2][]float64
	c        kfd.Solutions
	workers  *pool.Pool
	fill     func(row int)
}

func newTabulated(o *orbits, target Target, proposal bitspin.Proposal, steps int, c perceptron.WitnessConfig, workers *pool.Pool) *tabulated {
	n := len(o.size)
	t := &tabulated{
		orbits: o, moves: newOrbitChain(o, target, proposal, workers), steps: steps,
		states: n, chain: workers.Float32s(n * n), reversed: workers.Float32s(n * n), packed: workers.Float32s(asm.PackedLen(n, n)),
		zero: make([]float32, n), both: make([]float32, 2*n), next: make([]float32, 2*n), leave: make([]float32, len(o.of)),
		witness: kfd.New(n, o.penalty(c.Bandwidth), c.Config, workers), workers: workers,
	}
	for half := range 2 {
		t.mean[half], t.c[half] = make([]float64, n), make([]float32, n)
	}
	t.beta = math.NaN()
	t.fill = t.fillRow
	return t
}

// anneal computes the transition matrix anew when β changes.
func (t *tabulated) anneal(beta float64) {
	if t.beta == beta {
		return
	}
	t.beta = beta
	t.moves.set(beta)
	for s, orbit := range t.orbits.of {
		t.leave[s] = float32(1 - t.moves.stays(orbit))
	}
	n := t.states
	for i, x := range t.moves.power(t.steps) {
		t.chain[i] = float32(x)
	}
	const tile = 16 // columns of one cache line; a stride of 2 KiB keeps few lines
	for left := 0; left < n; left += tile {
		for i := range n {
			for j := left; j < min(left+tile, n); j++ {
				t.reversed[j*n+i] = t.chain[i*n+j]
			}
		}
	}
	asm.PackWeights(t.packed, t.chain, n, n)
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

func (t *tabulated) state() []engine.Section { return t.witness.State() }
func (t *tabulated) leaving() []float32      { return t.leave }

func (t *tabulated) discrepancy(p, g [2][]float32) (float64, bool) {
	n, of := t.states, t.orbits.of
	clear(t.both)
	for half := range 2 {
		sums := t.both[half*n:][:n]
		for s, v := range p[half] {
			sums[of[s]] += v
		}
	}
	asm.DenseForward(t.next, t.both, t.packed, t.zero, 2, n, n, 1)
	if t.witness.Stale() {
		t.workers.Run(n, t.fill)
	}
	if !t.witness.Update() {
		return 0, false
	}
	var loss float64
	for half := range 2 {
		for i := range n {
			t.mean[half][i] = float64(t.both[half*n+i]) - float64(t.next[half*n+i])
		}
	}
	t.witness.SolveHalves(&t.c, &t.mean)
	for half := range 2 {
		for i, f := range t.mean[half] {
			loss += f * float64(t.c[half][i]) / 2
		}
		for s, orbit := range of {
			g[half][s] = t.c[half][orbit]
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
