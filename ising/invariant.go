package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/stat"
)

// Sides of lattices whose invariants are implemented.
const (
	leastInvariant   = 3
	largestInvariant = 16
)

// invariants are features of configurations that the lattice's symmetry leaves
// alone, and the global flip too if even:
//
//   - pair correlations Σ_i s_i s_{i+r} / √N, averaged over the displacements r
//     that the point group takes to each other;
//   - how many of the N windows of 3×3 sites show each pattern, over √N, for
//     patterns up to the symmetry;
//   - functions of the bond sum B and the magnetisation M: hat functions on
//     grids of B/2N and of M/N, and √N times products of powers.
//
// Their cost does not grow with the size of the orbits, nor their number with
// that of the lattice but for the pairs.
type invariants struct {
	l, n  int
	even  bool
	count int // of features

	displacements []displacement // one of r and −r
	pairs         int            // classes of displacements
	class         []int32        // of each displacement, by row·L + column; −1 for none
	perSpin       []float32      // by class: what pairs have of one spin and its partner

	pattern  []int32 // class of each 9-bit pattern
	patterns int

	levels     int // of B, and of M: N + 1
	collective int // functions of B and M: energies + magnetisations + powers
	// Hat functions of B and of M, and the factors of their products of powers,
	// by level.
	ofBonds, ofSum, bondPower, sumPower []float32

	windows    []int32 // [site][9]: centres of the windows that hold a site
	neighbours []int32 // [site][4]
}

type displacement struct {
	down, right int
	class       int
	weight      float32
}

func newInvariants(l int, even bool) *invariants {
	f := &invariants{l: l, n: l * l, even: even, levels: l*l + 1}
	f.listPairs()
	f.listPatterns()
	f.tabulate()
	f.count = f.pairs + f.patterns + f.collective
	for r := range l {
		for c := range l {
			at := func(down, right int) int32 { return int32((r+down+l)%l*l + (c+right+l)%l) }
			for down := -1; down <= 1; down++ {
				for right := -1; right <= 1; right++ {
					f.windows = append(f.windows, at(-down, -right))
				}
			}
			f.neighbours = append(f.neighbours, at(0, 1), at(0, -1), at(1, 0), at(-1, 0))
		}
	}
	return f
}

// listPairs numbers the displacements up to the point group.
func (f *invariants) listPairs() {
	l := f.l
	known, sizes := map[[2]int]int{}, []int{}
	f.class = make([]int32, f.n)
	for down := range l {
		for right := range l {
			a, b := min(down, l-down), min(right, l-right)
			key := [2]int{max(a, b), min(a, b)}
			if key[0] == 0 {
				f.class[0] = -1
				continue
			}
			k, seen := known[key]
			if !seen {
				k = len(sizes)
				known[key] = k
				sizes = append(sizes, 0)
			}
			f.class[down*l+right] = int32(k)
			sizes[k]++
		}
	}
	f.pairs = len(sizes)
	root := math.Sqrt(float64(f.n))
	for _, size := range sizes {
		f.perSpin = append(f.perSpin, float32(2/(root*float64(size))))
	}
	for down := range l {
		for right := range l {
			k := f.class[down*l+right]
			opposite := (l-down)%l*l + (l-right)%l
			if k < 0 || opposite < down*l+right {
				continue
			}
			w := f.perSpin[k]
			if opposite == down*l+right {
				w /= 2
			}
			f.displacements = append(f.displacements, displacement{down, right, int(k), w})
		}
	}
}

// listPatterns numbers the patterns of 3×3 spins up to the point group and, if
// even, the flip: the orbits of the 3×3 lattice without translations.
func (f *invariants) listPatterns() {
	m := newMover(symmetry{flip: true, lattice: true, side: 3})
	f.pattern = make([]int32, 512)
	for s := range f.pattern {
		f.pattern[s] = -1
	}
	image := make([]uint64, 1)
	for s := range f.pattern {
		if f.pattern[s] >= 0 {
			continue
		}
		for point := range 8 {
			for _, flipped := range []bool{false, f.even} {
				image[0] = uint64(s)
				m.apply(image, element{flipped: flipped, point: uint8(point)})
				f.pattern[image[0]] = int32(f.patterns)
			}
		}
		f.patterns++
	}
}

// hats sets dst to the hat functions on a grid of [lo, hi] at x.
func hats(dst []float32, x, lo, hi float64) {
	clear(dst)
	u := (x - lo) / (hi - lo) * float64(len(dst)-1)
	i := min(max(int(u), 0), len(dst)-2)
	dst[i], dst[i+1] = float32(1-(u-float64(i))), float32(u-float64(i))
}

// Numbers of hat functions.
const (
	energies       = 33
	magnetisations = 17
)

// tabulate evaluates the functions of bond sum and magnetisation.
func (f *invariants) tabulate() {
	least := -1.0
	if f.even {
		least = 0
	}
	powers := [][2]int{{2, 0}, {1, 2}, {0, 4}, {3, 0}, {2, 2}} // of B/2N and M/N
	if !f.even {
		powers = append(powers, [2]int{0, 1}, [2]int{1, 1}, [2]int{0, 3}, [2]int{2, 1})
	}
	f.collective = energies + magnetisations + len(powers)
	f.ofBonds, f.ofSum = make([]float32, f.levels*energies), make([]float32, f.levels*magnetisations)
	root := math.Sqrt(float64(f.n))
	for level := range f.levels {
		x, y := 1-2*float64(level)/float64(f.n), 2*float64(level)/float64(f.n)-1
		if f.even {
			y = math.Abs(y)
		}
		hats(f.ofBonds[level*energies:][:energies], x, -1, 1)
		hats(f.ofSum[level*magnetisations:][:magnetisations], y, least, 1)
		for _, p := range powers {
			f.bondPower = append(f.bondPower, float32(root*math.Pow(x, float64(p[0]))))
			f.sumPower = append(f.sumPower, float32(math.Pow(y, float64(p[1]))))
		}
	}
}

// powersOf returns the factors of the products of powers at a level of B and one
// of M.
func (f *invariants) powersOf(bonds, up int) (x, y []float32) {
	n := f.collective - energies - magnetisations
	return f.bondPower[bonds*n:][:n], f.sumPower[up*n:][:n]
}

// A view is a configuration as one goroutine looks at it.
type view struct {
	rows    []uint32 // bit c of row r is the spin there
	turned  []uint32 // [shift][row]: rows with what is shift columns to the right
	pattern []uint16 // about each site
	bonds   int      // (2N − B)/4
	up      int      // (M + N)/2
}

func (f *invariants) newView() *view {
	return &view{rows: make([]uint32, f.l), turned: make([]uint32, f.n), pattern: make([]uint16, f.n)}
}

// look prepares v for a configuration.
func (f *invariants) look(v *view, config []uint64) {
	l := f.l
	full := uint32(1)<<l - 1
	rowsOf(v.rows, config)
	v.up = 0
	unequal := 0
	for r, x := range v.rows {
		v.up += bits.OnesCount32(x)
		unequal += bits.OnesCount32(x^(x>>1|x<<(l-1)&full)) + bits.OnesCount32(x^v.rows[(r+1)%l])
	}
	v.bonds = unequal / 2
	for r := range l {
		wide := func(x uint32) uint32 { return x<<1 | x>>(l-1) | x&1<<(l+1) }
		above, here, below := wide(v.rows[(r+l-1)%l]), wide(v.rows[r]), wide(v.rows[(r+1)%l])
		for c := range l {
			v.pattern[r*l+c] = uint16(above>>c&7 | here>>c&7<<3 | below>>c&7<<6)
		}
	}
}

// evaluate sets dst to the features of the configuration that v shows.
func (f *invariants) evaluate(dst []float32, v *view) {
	l := f.l
	full := uint32(1)<<l - 1
	for shift := range l {
		for r, x := range v.rows {
			v.turned[shift*l+r] = x>>shift | x<<(l-shift)&full
		}
	}
	clear(dst)
	for _, d := range f.displacements {
		other := v.turned[d.right*l:][:l]
		unequal := 0
		for r, x := range v.rows[:l-d.down] {
			unequal += bits.OnesCount32(x ^ other[r+d.down])
		}
		for r, x := range v.rows[l-d.down:] {
			unequal += bits.OnesCount32(x ^ other[r])
		}
		dst[d.class] += d.weight * float32(f.n-2*unequal)
	}
	counts := dst[f.pairs:][:f.patterns]
	for _, p := range v.pattern {
		counts[f.pattern[p]]++
	}
	scale := float32(1 / math.Sqrt(float64(f.n)))
	for i := range counts {
		counts[i] *= scale
	}
	dst = dst[f.pairs+f.patterns:]
	copy(dst, f.ofBonds[v.bonds*energies:][:energies])
	copy(dst[energies:], f.ofSum[v.up*magnetisations:][:magnetisations])
	x, y := f.powersOf(v.bonds, v.up)
	for i, p := range x {
		dst[energies+magnetisations+i] = p * y[i]
	}
}

// An invariantWitness is g = Σ c_k φ_k in the form that its differences are
// taken in.
type invariantWitness struct {
	pairs      []float32       // packed [N][N]: what flipping a spin takes from each other
	flips      [9][512]float32 // by place in the window and pattern
	collective []float32       // [B][M]
	ofSum      []float32       // scratch
	matrix     []float32       // scratch
}

func (f *invariants) newWitness() *invariantWitness {
	return &invariantWitness{
		pairs: make([]float32, asm.PackedLen(f.n, f.n)), collective: make([]float32, f.levels*f.levels), matrix: make([]float32, f.n*f.n), ofSum: make([]float32, f.levels),
	}
}

// set takes the coefficients c of the features.
func (f *invariants) set(w *invariantWitness, c []float32) {
	l := f.l
	for i := range f.n {
		for j := range f.n {
			k := f.class[(j/l-i/l+l)%l*l+(j%l-i%l+l)%l]
			if k < 0 {
				w.matrix[i*f.n+j] = 0
				continue
			}
			w.matrix[i*f.n+j] = -2 * c[k] * f.perSpin[k]
		}
	}
	asm.PackWeights(w.pairs, w.matrix, f.n, f.n)
	counts, scale := c[f.pairs:][:f.patterns], float32(1/math.Sqrt(float64(f.n)))
	for place := range w.flips {
		for p := range w.flips[place] {
			w.flips[place][p] = scale * (counts[f.pattern[p^1<<place]] - counts[f.pattern[p]])
		}
	}
	rest := c[f.pairs+f.patterns:][:f.collective]
	for level := range f.levels {
		w.ofSum[level] = dot(rest[energies:][:magnetisations], f.ofSum[level*magnetisations:])
	}
	powers := rest[energies+magnetisations:]
	for bonds := range f.levels {
		ofBonds := dot(rest[:energies], f.ofBonds[bonds*energies:])
		for up, sum := range w.ofSum {
			sum += ofBonds
			x, y := f.powersOf(bonds, up)
			for i, p := range x {
				sum += powers[i] * p * y[i]
			}
			w.collective[bonds*f.levels+up] = sum
		}
	}
}

func dot(x, y []float32) (sum float32) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// differences adds to grad, which holds the spins times w's matrix of pairs,
// what else flipping each spin changes g by, and turns it into ∂g/∂s, half the
// difference between spin up and spin down.
func (f *invariants) differences(grad []float32, w *invariantWitness, v *view) {
	l := f.l
	here := w.collective[v.bonds*f.levels+v.up]
	for site := range f.n {
		up := int(v.rows[site/l] >> (site % l) & 1)
		sign := 2*up - 1
		change := float32(sign) * grad[site]
		for place, centre := range f.windows[site*9:][:9] {
			change += w.flips[place][v.pattern[centre]]
		}
		aligned := 0 // neighbours that agree, less two
		for _, k := range f.neighbours[site*4:][:4] {
			aligned += int(v.rows[int(k)/l] >> (int(k) % l) & 1)
		}
		aligned = sign * (aligned - 2)
		change += w.collective[(v.bonds+aligned)*f.levels+v.up-sign] - here
		grad[site] = change * (0.5 - float32(up))
	}
}

// invariantObjective is the least-squares witness in invariants, for lattices
// whose configurations cannot be listed.
type invariantObjective struct {
	*perceptron.Batch
	features *invariants
	fit      *kfd.Given
	witness  [2]*invariantWitness
	views    []*view
	values   [][]float32 // φ(s′), by block
	spins    []float32   // ±1, [rows][spins]
	zero     []float32

	fill      func(block, lo, hi int, _ []float32)
	configure func(half int)
}

func newInvariantObjective(c *Config, b *perceptron.Batch) *invariantObjective {
	f := newInvariants(c.Target.L, newSymmetry(c.Generator.Symmetry, c.Target.L).flip)
	o := &invariantObjective{
		Batch: b, features: f, fit: kfd.NewGiven(b.Rows, f.count, c.Loss.Witness.Config, b.Workers),
		witness: [2]*invariantWitness{f.newWitness(), f.newWitness()},
		spins:   make([]float32, b.Rows*b.Spins), zero: make([]float32, b.Spins),
	}
	for range b.Lanes.Blocks() {
		o.views, o.values = append(o.views, f.newView()), append(o.values, make([]float32, f.count))
	}
	o.fill = o.fillBlock
	o.configure = func(half int) { f.set(o.witness[half], o.fit.Coefficients(half)) }
	return o
}

// State lists what a checkpoint must hold of the witness.
func (o *invariantObjective) State() []engine.Section { return o.fit.State() }

func (o *invariantObjective) fillBlock(block, lo, hi int, _ []float32) {
	f, words, v, after := o.features, o.Words, o.views[block], o.values[block]
	bitspin.Unpack(o.spins[lo*f.n:hi*f.n], o.States[lo*words:hi*words], f.n)
	for i := lo; i < hi; i++ {
		change := o.fit.Change()[i*f.count:][:f.count]
		f.look(v, o.Next[i*words:][:words])
		f.evaluate(after, v)
		f.look(v, o.States[i*words:][:words])
		f.evaluate(change, v)
		for k, x := range after {
			change[k] -= x
		}
	}
}

func (o *invariantObjective) Discrepancy() float64 {
	o.Lanes.Forward(o.fill)
	loss := o.fit.Solve()
	o.Workers.Run(2, o.configure)
	return loss
}

// Gradient implements perceptron.Objective.
func (o *invariantObjective) Gradient(lo, hi int) {
	f := o.features
	n, v := f.n, o.views[lo/nn.BlockRows()]
	middle := min(max(lo, stat.Middle(o.Rows)), hi)
	scale := 1 / float32(o.Rows)
	for half, rows := range [2][2]int{{lo, middle}, {middle, hi}} {
		if rows[0] == rows[1] {
			continue
		}
		asm.DenseForward(o.Grad[rows[0]*n:rows[1]*n], o.spins[rows[0]*n:rows[1]*n], o.witness[half].pairs, o.zero, rows[1]-rows[0], n, n, 1)
		for i := rows[0]; i < rows[1]; i++ {
			grad := o.Grad[i*n:][:n]
			f.look(v, o.States[i*o.Words:][:o.Words])
			f.differences(grad, o.witness[half], v)
			for d := range grad {
				grad[d] *= scale
			}
		}
	}
}

// Contributions implements perceptron.Valued.
func (o *invariantObjective) Contributions(values []float32) {
	f, words, v, phi := o.features, o.Words, o.views[0], o.values[0]
	for i := range values {
		f.look(v, o.States[i*words:][:words])
		f.evaluate(phi, v)
		var sum float32
		for k, c := range o.fit.Coefficients(stat.Half(i, len(values))) {
			sum += c * phi[k]
		}
		values[i] = sum
	}
}
