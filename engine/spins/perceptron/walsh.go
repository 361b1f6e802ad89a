package perceptron

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// walsh is the least-squares witness in Walsh functions
//
//	χ_A(s) = Π_{i ∈ A} s_i,
//
// the Fourier basis of spin configurations, for up to 64 spins, with
// one s′ drawn for each s. Flipping spin d changes the sign of χ_A if A holds d, so the
// differences of the witness are one matrix product.
type walsh struct {
	*Batch
	masks   []uint64
	witness *kfd.Witness

	chi, delta []float32 // χ(s) and χ(s) − χ(s′), [batch][r]
	column     [][]float32
	sums       [][]float32
	mean       [2][]float64
	c          [2][]float32
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
		if size > 2 && !(float64(len(masks))+binomial(spins, size) <= float64(rank)) && !(even && size%2 == 1) {
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

// binomial returns the number of sets of k of n sites.
func binomial(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

// walshPenalty returns the inverse weight of each function in the Gaussian
// kernel, relative to the constant's.
func walshPenalty(masks []uint64, bandwidth float64) []float32 {
	rho := math.Exp(-2 / (bandwidth * bandwidth))
	penalty := make([]float32, len(masks))
	for i, m := range masks {
		penalty[i] = float32(math.Pow((1+rho)/(1-rho), float64(bits.OnesCount64(m))))
	}
	return penalty
}

func newWalsh(c *Config, b *Batch, even bool) *walsh {
	n, w := b.Rows, c.Loss.Witness
	o := &walsh{Batch: b, masks: walshMasks(b.Spins, w.Rank, w.Bandwidth, even, c.Training.Seed)}
	r := len(o.masks)
	o.witness = kfd.New(r, walshPenalty(o.masks, w.Bandwidth), w.Config, b.Workers)
	o.chi, o.delta = make([]float32, n*r), make([]float32, n*r)
	o.matrix, o.zero = make([]float32, r*b.Spins), make([]float32, max(r, b.Spins))
	for half := range 2 {
		o.mean[half], o.c[half] = make([]float64, r), make([]float32, r)
		o.packed[half] = make([]float32, asm.PackedLen(r, b.Spins))
	}
	const rows = 64
	pieces := (r + rows - 1) / rows
	for range pieces {
		o.column = append(o.column, make([]float32, n*rows))
		o.sums = append(o.sums, make([]float32, r))
	}
	o.fillRows = func(block int) {
		lo, hi := block*nn.BlockRows(), min((block+1)*nn.BlockRows(), n)
		for i := lo; i < hi; i++ {
			parities(o.chi[i*r:][:r], o.masks, b.States[i])
			d := o.delta[i*r:][:r]
			if b.States[i] == b.Next[i] {
				clear(d)
				continue
			}
			parities(d, o.masks, b.Next[i])
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

// parities sets chi[a] to χ of the spins: −1 to the number of spins down in
// the set.
func parities(chi []float32, masks []uint64, spins uint64) {
	for a, m := range masks {
		chi[a] = 1 - 2*float32(bits.OnesCount64(m&^spins)&1)
	}
}

// State lists what a checkpoint must hold of the witness.
func (o *walsh) State() []engine.Section { return o.witness.State() }

func (o *walsh) Discrepancy() float64 {
	r := len(o.masks)
	o.Workers.Run(o.Lanes.Blocks(), o.fillRows)
	if o.witness.Stale() {
		o.Workers.Share(len(o.column), o.fillSecond, o.second...)
	}
	if !o.witness.Update() {
		return math.NaN()
	}
	o.Workers.Share(len(o.column), o.average, o.averaged...)
	o.witness.SolveHalves(&o.c, &o.mean)
	var loss float64
	for half := range 2 {
		for a, f := range o.mean[half] {
			loss += f * float64(o.c[half][a]) / 2
		}
		for a, m := range o.masks {
			for d := range o.Spins {
				o.matrix[a*o.Spins+d] = o.c[half][a] * float32(m>>d&1)
			}
		}
		asm.PackWeights(o.packed[half], o.matrix, r, o.Spins)
	}
	return loss
}

// Gradient sets ∂L/∂s_d = s_d Σ_{A ∋ d} c_A χ_A(s) / batch.
func (o *walsh) Gradient(lo, hi int) {
	r, n := len(o.masks), o.Spins
	middle := min(max(lo, stat.Middle(o.Rows)), hi)
	for half, rows := range [2][2]int{{lo, middle}, {middle, hi}} {
		if rows[0] < rows[1] {
			asm.DenseForward(o.Grad[rows[0]*n:rows[1]*n], o.chi[rows[0]*r:rows[1]*r], o.packed[half], o.zero[:n], rows[1]-rows[0], r, n, 1)
		}
	}
	scale := 1 / float32(o.Rows)
	for i := lo; i < hi; i++ {
		for d := range n {
			o.Grad[i*n+d] *= scale * (2*float32(o.States[i]>>d&1) - 1)
		}
	}
}

func (o *walsh) Contributions(values []float32) {
	r, n := len(o.masks), len(values)
	for i := range values {
		c := o.c[stat.Half(i, n)]
		var sum float32
		for a, chi := range o.chi[i*r:][:r] {
			sum += c[a] * chi
		}
		values[i] = sum
	}
}

// Coefficients are those of the mean of the two halves' witnesses.
func (o *walsh) Coefficients(c []float64) []float64 {
	if c == nil {
		c = make([]float64, len(o.masks))
	}
	for a := range c {
		c[a] += float64(o.c[0][a]+o.c[1][a]) / 2
	}
	return c
}

// Witness returns Σ c_A χ_A(s).
func (o *walsh) Witness(c []float64, state uint64) float64 {
	var sum float64
	for a, m := range o.masks {
		if bits.OnesCount64(m&^state)&1 == 0 {
			sum += c[a]
		} else {
			sum -= c[a]
		}
	}
	return sum
}
