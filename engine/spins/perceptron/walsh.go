package perceptron

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// walsh is the least-squares witness in Walsh functions
//
//	χ_A(s) = Π_{i ∈ A} s_i,
//
// the Fourier basis of spin configurations, with one s′ drawn for each s, and of more
// than 64 spins in those of coupled. Flipping spin d changes the sign of χ_A if A holds
// d, so the differences of the witness are one matrix product.
type walsh struct {
	*Batch
	masks   []uint64    // of the sets A, each of Words
	r       int         // features
	coupled *coupled    // nil for at most 64 spins
	fields  [][]float64 // scratch of its blocks
	witness *kfd.Witness
	kfd.Solutions

	chi, delta []float32 // χ(s) and χ(s) − χ(s′), [batch][r]
	column     [][]float32
	sums       [][]float32
	mean       [2][]float64
	packed     [2][]float32 // of the matrix c_A [d ∈ A], [r][spins]
	matrix     []float32
	zero       []float32

	fillRows, fillSecond, average func(int)
	second, averaged              []pool.Span // of pieces of functions
}

// walshMasks lists the sets A: all of one and two sites, and of more as long as
// all sets of a size fit into the rank; the remaining ones are drawn. With the Z2
// symmetry odd functions vanish.
func walshMasks(spins, rank int, bandwidth float64, even bool, seed uint64) []uint64 {
	var masks []uint64
	seen := map[uint64]bool{0: true}
	add := func(m uint64) {
		if !seen[m] && !(even && bits.OnesCount64(m)%2 == 1) {
			seen[m] = true
			masks = append(masks, m)
		}
	}
	for size := 1; size <= spins; size++ {
		if size > 2 && !(float64(len(masks))+bitspin.Choose(spins, size) <= float64(rank)) && !(even && size%2 == 1) {
			break
		}
		subsets(spins, size, add)
	}
	rho := math.Exp(-2 / (bandwidth * bandwidth))
	r := rand.New(rand.NewPCG(seed, uint64(rng.Features)))
	for tries := 0; len(masks) < rank && tries < 1000*rank; tries++ {
		var m uint64
		for i := range spins {
			if r.Float64() < (1-rho)/2 {
				m |= 1 << i
			}
		}
		add(m)
	}
	return slices.Clip(masks)
}

// subsets calls visit with every set of size of the first n ≤ 64 sites.
func subsets(n, size int, visit func(uint64)) {
	if size == 0 {
		visit(0)
		return
	}
	for top := size - 1; top < n; top++ {
		subsets(top, size-1, func(m uint64) { visit(m | 1<<top) })
	}
}

// walshPenalty returns the inverse weight of each function in the Gaussian
// kernel, relative to the constant's.
func walshPenalty(masks []uint64, words int, bandwidth float64) []float32 {
	rho := math.Exp(-2 / (bandwidth * bandwidth))
	penalty := make([]float32, len(masks)/words)
	for i := range penalty {
		size := 0
		for _, m := range masks[i*words:][:words] {
			size += bits.OnesCount64(m)
		}
		penalty[i] = float32(math.Pow((1+rho)/(1-rho), float64(size)))
	}
	return penalty
}

func newWalsh(c *Config, b *Batch, t Target, even bool) *walsh {
	n, w := b.Rows, c.Loss.Witness
	o := &walsh{Batch: b}
	if b.Words == 1 {
		o.masks = walshMasks(b.Spins, w.Rank, w.Bandwidth, even, c.Training.Seed)
	} else {
		o.coupled = newCoupled(t.(spins.Boltzmann), w.Rank, even, c.Training.Seed)
		o.masks = o.coupled.masks
	}
	penalty := walshPenalty(o.masks, b.Words, w.Bandwidth)
	if o.coupled != nil {
		// The others weigh as products of two spins.
		two := walshPenalty([]uint64{3}, 1, w.Bandwidth)[0]
		for range o.coupled.extra() {
			penalty = append(penalty, two)
		}
	}
	r := len(penalty)
	o.r = r
	o.witness = kfd.New(r, penalty, w.Config, b.Workers)
	o.chi, o.delta = make([]float32, n*r), make([]float32, n*r)
	o.matrix, o.zero = make([]float32, r*b.Spins), make([]float32, max(r, b.Spins))
	for half := range 2 {
		o.mean[half], o.Solutions[half] = make([]float64, r), make([]float32, r)
		o.packed[half] = make([]float32, asm.PackedLen(r, b.Spins))
	}
	const rows = 64
	pieces := (r + rows - 1) / rows
	for range pieces {
		o.column = append(o.column, make([]float32, n*rows))
		o.sums = append(o.sums, make([]float32, r))
	}
	for range b.Lanes.Blocks() {
		o.fields = append(o.fields, make([]float64, b.Spins))
	}
	o.fillRows = func(block int) {
		lo, hi := block*nn.BlockRows(), min((block+1)*nn.BlockRows(), n)
		for i := lo; i < hi; i++ {
			state, next := b.States[i*b.Words:][:b.Words], b.Next[i*b.Words:][:b.Words]
			o.features(o.chi[i*r:][:r], state, o.fields[block])
			d := o.delta[i*r:][:r]
			if slices.Equal(state, next) {
				clear(d)
				continue
			}
			o.features(d, next, o.fields[block])
			for a, x := range o.chi[i*r:][:r] {
				d[a] = x - d[a]
			}
		}
	}
	o.fillSecond = func(piece int) {
		lo, hi := piece*rows, min((piece+1)*rows, r)
		width, x := hi-lo, o.column[piece]
		for i := range n {
			copy(x[i*width:][:width], o.delta[i*r+lo:])
		}
		into := o.witness.Batch()[lo*r : hi*r]
		clear(into)
		clear(o.sums[piece])
		asm.DenseBackwardWeights(into, o.sums[piece], x[:n*width], o.delta, n, width, r)
		for i := range into {
			into[i] /= float32(n)
		}
	}
	o.average = func(piece int) {
		lo, hi := piece*rows, min((piece+1)*rows, r)
		for half := range 2 {
			clear(o.mean[half][lo:hi])
		}
		for i := range n {
			mean := o.mean[stat.Half(i, n)][lo:hi]
			for a, d := range o.delta[i*r+lo:][:hi-lo] {
				mean[a] += float64(d)
			}
		}
		for half := range 2 {
			for a := lo; a < hi; a++ {
				o.mean[half][a] /= float64(stat.HalfSize(half, n))
			}
		}
	}
	o.second = []pool.Span{pool.SpanOf(o.witness.Batch(), rows*r)}
	o.averaged = []pool.Span{pool.SpanOf(o.mean[0], rows), pool.SpanOf(o.mean[1], rows)}
	return o
}

// features sets chi to those of a configuration: χ_A is −1 to the number of spins down
// in A.
func (o *walsh) features(chi []float32, config []uint64, fields []float64) {
	if o.coupled == nil {
		for a, m := range o.masks {
			chi[a] = 1 - 2*float32(bits.OnesCount64(m&^config[0])&1)
		}
		return
	}
	words := len(config)
	products := chi[:len(o.masks)/words]
	for a := range products {
		var down uint64 // its bits' parity is the set's
		for k, m := range o.masks[a*words:][:words] {
			down ^= m &^ config[k]
		}
		products[a] = 1 - 2*float32(bits.OnesCount64(down)&1)
	}
	o.coupled.values(chi[len(products):], config, fields)
}

// State lists what a checkpoint must hold of the witness.
func (o *walsh) State() []engine.Section { return o.witness.State() }

func (o *walsh) Discrepancy() float64 {
	r := o.r
	o.Workers.Run(o.Lanes.Blocks(), o.fillRows)
	if o.witness.Stale() {
		o.Workers.Share(len(o.column), o.fillSecond, o.second...)
	}
	if !o.witness.Update() {
		return math.NaN()
	}
	o.Workers.Share(len(o.column), o.average, o.averaged...)
	o.witness.SolveHalves(&o.Solutions, &o.mean)
	var loss float64
	for half := range 2 {
		for a, f := range o.mean[half] {
			loss += f * float64(o.Solutions[half][a]) / 2
		}
		for a := range len(o.masks) / o.Words {
			mask := o.masks[a*o.Words:][:o.Words]
			for d := range o.Spins {
				o.matrix[a*o.Spins+d] = o.Solutions[half][a] * float32(mask[d/64]>>(d%64)&1)
			}
		}
		asm.PackWeights(o.packed[half], o.matrix, r, o.Spins)
	}
	return loss
}

// Gradient sets ∂L/∂s_d = s_d Σ_{A ∋ d} c_A χ_A(s) / batch.
func (o *walsh) Gradient(lo, hi int) {
	r, n := o.r, o.Spins
	middle := min(max(lo, stat.Middle(o.Rows)), hi)
	for half, rows := range [2][2]int{{lo, middle}, {middle, hi}} {
		if rows[0] < rows[1] {
			asm.DenseForward(o.Grad[rows[0]*n:rows[1]*n], o.chi[rows[0]*r:rows[1]*r], o.packed[half], o.zero[:n], rows[1]-rows[0], r, n, 1)
		}
	}
	scale := 1 / float32(o.Rows)
	for i := lo; i < hi; i++ {
		state, grad := o.States[i*o.Words:][:o.Words], o.Grad[i*n:][:n]
		if o.coupled != nil {
			c := o.Solutions[stat.Half(i, o.Rows)]
			o.coupled.changes(grad, c[len(o.masks)/o.Words:], state, o.fields[lo/nn.BlockRows()])
		}
		for d := range grad {
			grad[d] *= scale * (2*float32(state[d/64]>>(d%64)&1) - 1)
		}
	}
}

func (o *walsh) Contributions(values []float32) {
	r, n := o.r, len(values)
	for i := range values {
		c := o.Solutions[stat.Half(i, n)]
		var sum float32
		for a, chi := range o.chi[i*r:][:r] {
			sum += c[a] * chi
		}
		values[i] = sum
	}
}

// Witness sets values to Σ c_A χ_A(s).
func (o *walsh) Witness(values, c []float64, states []uint64) {
	chi, fields := make([]float32, o.r), make([]float64, o.Spins)
	for i := range values {
		o.features(chi, states[i*o.Words:][:o.Words], fields)
		values[i] = 0
		for a, x := range chi {
			values[i] += c[a] * float64(x)
		}
	}
}
