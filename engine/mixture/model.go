package mixture

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
)

// A Model says what the parameters of a mixture mean. It is immutable.
type Model struct {
	dim, labels, each int // coordinates; labels; components of each label
	components        int
	triangle          int  // numbers of a lower triangle
	bent              bool // components have a Shape for each coordinate
	product           bool // labels are coordinates, of all of which a state consists
}

// New returns the model of a number of components of each label, Gaussian or, if
// bent, with a Shape for each coordinate.
func New(dim, labels, each int, bent bool) *Model {
	return &Model{dim: dim, labels: labels, each: each, components: labels * each, triangle: dim * (dim + 1) / 2, bent: bent}
}

// NewProduct returns the model of d independent coordinates, each of which is a mixture
// of a number of components on the line: coordinate k is what a model of one coordinate
// and d labels has for label k, and the weights of each label sum to 1.
func NewProduct(dim, each int, bent bool) *Model {
	m := New(1, dim, each, bent)
	m.product = true
	return m
}

// Factors returns the number of independent parts of a state, which is 1 but for
// products.
func (m *Model) Factors() int {
	if m.product {
		return m.labels
	}
	return 1
}

// Dim returns d, of a product that of a factor.
func (m *Model) Dim() int { return m.dim }

// Each returns the number of components of each label.
func (m *Model) Each() int { return m.each }

// The parameters are the placement of each component, c and the lower triangle of
// S; the logits; of each component a and the lower triangle of T, with τ on its
// diagonal; and of each that is bent ε and ln δ of each coordinate.

// NumParams returns the number of parameters.
func (m *Model) NumParams() int {
	n := 2*m.components*(m.dim+m.triangle) + m.components
	if m.bent {
		n += 2 * m.components * m.dim
	}
	return n
}

// A float is a parameter as it is trained, or as it is checked.
type float interface{ float32 | float64 }

func placement[T float](m *Model, params []T, j int) (center, spread []T) {
	own := params[j*(m.dim+m.triangle):][:m.dim+m.triangle]
	return own[:m.dim], own[m.dim:]
}

func logitsOf[T float](m *Model, params []T) []T {
	return params[m.components*(m.dim+m.triangle):][:m.components]
}

func learned[T float](m *Model, params []T, j int) (shift, factor []T) {
	own := moments(m, params, j)
	return own[:m.dim], own[m.dim:]
}

// moments returns a and T beside each other.
func moments[T float](m *Model, params []T, j int) []T {
	return params[m.components*(m.dim+m.triangle+1)+j*(m.dim+m.triangle):][:m.dim+m.triangle]
}

func shapesOf[T float](m *Model, params []T, j int) (epsilon, tau []T) {
	own := params[m.components*(2*(m.dim+m.triangle)+1)+2*j*m.dim:][:2*m.dim]
	return own[:m.dim], own[m.dim:]
}

// Placement returns how many parameters, the first, are those of the placement, of
// which nothing is learned.
func (m *Model) Placement() int { return m.components * (m.dim + m.triangle) }

// TensorName names the tensor that parameter i is in.
func (m *Model) TensorName(i int) string {
	size := m.dim + m.triangle
	if i < m.components*size {
		return fmt.Sprintf("component %d: placement", i/size)
	}
	if i -= m.components * size; i < m.components {
		return "logits"
	}
	i -= m.components
	if i >= m.components*size {
		return fmt.Sprintf("component %d: shapes", (i-m.components*size)/(2*m.dim))
	}
	if i%size < m.dim {
		return fmt.Sprintf("component %d: mean", i/size)
	}
	return fmt.Sprintf("component %d: factor", i/size)
}

// A Component is a Gaussian and its weight.
type Component struct {
	Weight float64
	Mean   []float64 // [d]
	Factor []float64 // lower triangle of L, Σ = L Lᵀ, row after row
}

// Place sets params to a mixture of the given components, those of one label
// beside each other: component i of label k is all[k][i]. Weights of all labels
// sum to 1, of a product those of each.
func (m *Model) Place(params []float32, all [][]Component) {
	clear(params)
	logits := logitsOf(m, params)
	for j := range m.components {
		c := all[j%m.labels][j/m.labels]
		center, spread := placement(m, params, j)
		for i, v := range c.Mean {
			center[i] = float32(v)
		}
		for i, v := range c.Factor {
			spread[i] = float32(v)
		}
		logits[j] = float32(math.Log(c.Weight))
	}
}

// Packed are a mixture's parameters as they are evaluated.
type Packed struct {
	model                 *Model
	weight, logNorm       []float64   // w; ln w − Σ ln L_ii − (d/2) ln 2π
	below                 []float64   // Σ of the weights before, of a product of the same label
	mean, factor, inverse []float64   // μ, L, L⁻¹ of each component
	triangular            []float64   // T
	shapes                []Shape     // of each component and coordinate, nil for Gaussians
	bends, octets         []asm.Bends // of each component, of [d] and [d][octet] coordinates
	wide                  []float64   // the parameters, and room for Finish
}

// NewPacked makes room for the parameters of a model.
func (m *Model) NewPacked() *Packed {
	k := m.components
	p := &Packed{
		model: m, weight: make([]float64, k), logNorm: make([]float64, k), below: make([]float64, k),
		mean: make([]float64, k*m.dim), factor: make([]float64, k*m.triangle),
		inverse: make([]float64, k*m.triangle), triangular: make([]float64, k*m.triangle),
		wide: make([]float64, m.NumParams()),
	}
	if m.bent {
		p.shapes = make([]Shape, k*m.dim)
		for range k {
			p.bends, p.octets = append(p.bends, asm.NewBends(m.dim)), append(p.octets, asm.NewBends(m.dim*octet))
		}
	}
	return p
}

// row returns where row i of a lower triangle begins.
func row(i int) int { return i * (i + 1) / 2 }

// Set takes parameters. It allocates nothing.
func (p *Packed) Set(params []float32) {
	for i, v := range params {
		p.wide[i] = float64(v)
	}
	p.Set64(p.wide)
}

// Set64 is Set of parameters in float64.
func (p *Packed) Set64(params []float64) {
	m, d := p.model, p.model.dim
	logits := logitsOf(m, params)
	for f := range m.Factors() {
		p.normalise(logits, f)
	}
	for j := range p.weight {
		center, spread := placement(m, params, j)
		shift, factor := learned(m, params, j)
		t, l := p.triangular[j*m.triangle:][:m.triangle], p.factor[j*m.triangle:][:m.triangle]
		mean := p.mean[j*d:][:d]
		p.logNorm[j] -= float64(d) / 2 * math.Log(2*math.Pi)
		for i := range d {
			for c := range i {
				t[row(i)+c] = factor[row(i)+c]
			}
			t[row(i)+i] = math.Exp(factor[row(i)+i])
		}
		clear(l)
		for i := range d {
			s := spread[row(i):][:i+1]
			mean[i] = center[i]
			for c, v := range s {
				mean[i] += v * shift[c]
			}
			for b, v := range s { // L = S T, row by row
				floats.AddScaled(l[row(i):][:b+1], v, t[row(b):][:b+1])
			}
			p.logNorm[j] -= math.Log(math.Abs(l[row(i)+i]))
		}
		Invert(p.inverse[j*m.triangle:][:m.triangle], l, d)
		if m.bent {
			epsilon, tau := shapesOf(m, params, j)
			for i := range d {
				up, delta := math.Exp(epsilon[i]), math.Exp(tau[i])
				p.shapes[j*d+i] = MakeShape(epsilon[i], up, delta)
				one, all := &p.bends[j], &p.octets[j]
				one.Epsilon[i], one.Up[i], one.Delta[i] = epsilon[i], up, delta
				for r := i * octet; r < (i+1)*octet; r++ {
					all.Epsilon[r], all.Up[r], all.Delta[r] = epsilon[i], up, delta
				}
			}
		}
	}
}

// normalise sets weights, what is below them and their logarithms, in logNorm, of the
// components that share out the probability of one factor.
func (p *Packed) normalise(logits []float64, factor int) {
	highest, sum, below, step := math.Inf(-1), 0.0, 0.0, p.model.Factors()
	for j := factor; j < len(logits); j += step {
		highest = max(highest, logits[j])
	}
	for j := factor; j < len(logits); j += step {
		p.weight[j] = math.Exp(logits[j] - highest)
		sum += p.weight[j]
	}
	for j := factor; j < len(logits); j += step {
		p.below[j] = below
		p.weight[j] /= sum
		below += p.weight[j]
		p.logNorm[j] = logits[j] - highest - math.Log(sum)
	}
}

// Row returns row i of a lower triangle.
func Row(l []float64, i int) []float64 { return l[row(i):row(i+1)] }

// Invert sets inverse to that of a lower triangle, row by row.
func Invert(inverse, l []float64, d int) {
	clear(inverse)
	for i := range d {
		own, diagonal := inverse[row(i):][:i], l[row(i)+i]
		for b, v := range l[row(i):][:i] {
			floats.AddScaled(own[:b+1], v, inverse[row(b):][:b+1])
		}
		for c, sum := range own {
			own[c] = -sum / diagonal
		}
		inverse[row(i)+i] = 1 / diagonal
	}
}

// Weight returns w_j.
func (p *Packed) Weight(j int) float64 { return p.weight[j] }

// Choose returns the component of a factor that a uniform number selects.
func (p *Packed) Choose(factor int, u float64) int {
	step := p.model.Factors()
	j := len(p.below) - step + factor
	for j >= step && p.below[j] > u {
		j -= step
	}
	return j
}

// Point sets x to μ_j + L_j h(z), of a product the coordinate that component j is of.
func (p *Packed) Point(x, z []float32, j int, w *Work) {
	m, y := p.model, w.point
	l := p.factor[j*m.triangle:][:m.triangle]
	for i := range x {
		y[i] = float64(z[i])
	}
	switch {
	case m.bent && m.dim < octet/2: // where most of an octet would be left over
		for i := range x {
			y[i], _ = p.shapes[j*m.dim+i].Apply(y[i])
		}
	case m.bent:
		p.bends[j].Apply(w.point, w.point, &w.bent)
	}
	for i := range x {
		x[i] = float32(dot(p.mean[j*m.dim+i], l[row(i):][:i+1], y))
	}
}

// octet is the number of rows that are evaluated together.
const octet = asm.GaussianRows

// A Work keeps what Score needs of a number of rows, of a product of each coordinate of
// a row as if it were one.
type Work struct {
	groups []group
	next   []int     // of each label, its last group, or -1
	x      []float64 // of the rows of one group, [d][octet]
	slope  []float64 // ∂ ln q/∂x of them, likewise

	down, byEpsilon, byTau []float64 // derivatives of one component, [d][octet]
	pull, ones             []float64 // −z, the slope of −z²/2, of one component, likewise; ones
	point                  []float64 // of one row, [d], and what it leaves
	bent                   asm.Bent
}

// A group is up to eight rows of one label. Places that are left over repeat the last row.
type group struct {
	label, n int
	rows     [octet]int
	y        []float64   // L⁻¹(x − μ), [each][d][octet]
	bent     []asm.Bent  // of h⁻¹(y), [each]
	share    []asm.Octet // responsibilities, [each]
}

// NewWork makes room for a number of rows.
func (m *Model) NewWork(rows int) *Work {
	n := (rows + octet - 1) / octet
	if m.product {
		n *= m.labels
	} else {
		n += min(rows, m.labels) - 1
	}
	size := m.dim * octet
	w := &Work{
		groups: make([]group, max(n, 0)), next: make([]int, m.labels),
		x: make([]float64, size), slope: make([]float64, size), point: make([]float64, asm.Octets(m.dim)), bent: asm.NewBent(m.dim),
		down: make([]float64, size), byEpsilon: make([]float64, size), byTau: make([]float64, size),
		pull: make([]float64, size), ones: make([]float64, size),
	}
	for i := range w.ones {
		w.ones[i] = 1
	}
	for i := range w.groups {
		b := &w.groups[i]
		b.y, b.share = make([]float64, m.each*size), make([]asm.Octet, m.each)
		if m.bent {
			for range m.each {
				b.bent = append(b.bent, asm.NewBent(size))
			}
		}
	}
	w.groups = w.groups[:0]
	return w
}

// divide divides rows among groups, in their order; of a product those of a coordinate are
// beside each other.
func (w *Work) divide(factors, rows int, k []uint8) {
	w.groups = w.groups[:0]
	for i := range w.next {
		w.next[i] = -1
	}
	for i := range factors {
		for r := range rows {
			label := i
			if k != nil {
				label = int(k[r])
			}
			if at := w.next[label]; at < 0 || w.groups[at].n == octet {
				w.next[label] = len(w.groups)
				w.groups = w.groups[:len(w.groups)+1]
				b := &w.groups[len(w.groups)-1]
				b.label, b.n = label, 0
			}
			w.groups[w.next[label]].put(r*factors + i)
		}
	}
}

// put adds a row where there is room.
func (b *group) put(row int) {
	for i := b.n; i < octet; i++ {
		b.rows[i] = row
	}
	b.n++
}

// LogDensity sets dst[r] = ln q(x_r, k_r) of the rows of x, [len(dst)][d]; k is
// nil where there is one label, or a product. The rows stay in w.
func (p *Packed) LogDensity(dst []float64, x []float32, k []uint8, w *Work) {
	m, factors := p.model, p.model.Factors()
	w.divide(factors, len(dst), k)
	clear(dst)
	var log asm.Octet
	for i := range w.groups {
		b := &w.groups[i]
		for r, row := range b.rows {
			for c, v := range x[row*m.dim:][:m.dim] {
				w.x[c*octet+r] = float64(v)
			}
		}
		p.logDensity(&log, b, w)
		for r, row := range b.rows[:b.n] {
			dst[row/factors] += log[r]
		}
	}
}

// logDensity sets log to ln q(x, label) of a group's rows.
func (p *Packed) logDensity(log *asm.Octet, b *group, w *Work) {
	m, d := p.model, p.model.dim
	highest, sum := asm.Octet{}, asm.Octet{}
	for e := range b.share {
		j, terms := e*m.labels+b.label, &b.share[e]
		y := b.y[e*d*octet:][:d*octet]
		asm.Whiten(terms, y, w.x, p.mean[j*d:][:d], p.inverse[j*m.triangle:][:m.triangle])
		if m.bent {
			p.logBent(terms, w.down, y, &b.bent[e], j)
			for r, v := range terms {
				terms[r] = p.logNorm[j] + v
			}
		} else {
			for r, square := range terms {
				terms[r] = p.logNorm[j] - square/2
			}
		}
		for r, v := range terms {
			if e == 0 || v > highest[r] || v != v {
				highest[r] = v
			}
		}
	}
	for e := range b.share {
		terms := &b.share[e]
		for r, v := range terms {
			if terms[r] = v - highest[r]; terms[r] < lost {
				terms[r] = math.Inf(-1)
			}
		}
		asm.Exp64(terms[:], terms[:])
		for r, v := range terms {
			sum[r] += v
		}
	}
	for e := range b.share {
		for r, v := range sum {
			b.share[e][r] /= v
		}
	}
	asm.Log64(log[:], sum[:])
	for r, v := range highest {
		if log[r] += v; math.IsInf(v, -1) {
			log[r] = v
			b.leave(r)
		}
	}
}

// leave makes a row one that no component is responsible for.
func (b *group) leave(r int) {
	for e := range b.share {
		b.share[e][r] = 0
	}
	for i := r; i < len(b.y); i += octet {
		b.y[i] = 0
	}
}

// shares sets dst, [rows][each], to the responsibilities for the rows of the last LogDensity.
func (w *Work) shares(dst []float64) {
	for i := range w.groups {
		b := &w.groups[i]
		for r, row := range b.rows[:b.n] {
			for e := range b.share {
				dst[row*len(b.share)+e] = b.share[e][r]
			}
		}
	}
}

// LogDensity64 returns ln q(x, k) in float64, of a state of float64: the
// specification of LogDensity. A product has no k.
func (p *Packed) LogDensity64(x []float64, label int) float64 {
	if !p.model.product {
		return p.logDensity64(x, label)
	}
	var log float64
	for i := range x {
		log += p.logDensity64(x[i:i+1], i)
	}
	return log
}

func (p *Packed) logDensity64(x []float64, label int) float64 {
	m, highest, sum := p.model, math.Inf(-1), 0.0
	terms := make([]float64, m.each)
	for e := range terms {
		j := e*m.labels + label
		inverse, mean := p.inverse[j*m.triangle:][:m.triangle], p.mean[j*m.dim:][:m.dim]
		terms[e] = p.logNorm[j]
		for i := range x {
			var y float64
			for c, f := range inverse[row(i):][:i+1] {
				y += f * (x[c] - mean[c])
			}
			if m.bent {
				z, slope := p.shapes[j*m.dim+i].Invert(y)
				y = z
				terms[e] += math.Log(slope)
			}
			terms[e] -= y * y / 2
		}
		highest = max(highest, terms[e])
	}
	for _, v := range terms {
		sum += math.Exp(v - highest)
	}
	return highest + math.Log(sum)
}

// dot returns start + Σ_i a_i b_i, one after the other where there are few.
func dot(start float64, a, b []float64) float64 {
	if len(a) > InShape {
		return start + floats.Dot(a, b[:len(a)])
	}
	for i, v := range a {
		start += v * b[i]
	}
	return start
}

// logBent sets log to −|z|²/2 + Σ ln ∂z/∂y of z = h⁻¹(y), y = L⁻¹(x − μ) of component j.
func (p *Packed) logBent(log *asm.Octet, z, y []float64, bent *asm.Bent, j int) {
	p.octets[j].Invert(z, y, bent)
	d := p.model.dim
	for r := range log {
		square, volume := 0.0, NewVolume()
		for i := range d {
			square += z[i*octet+r] * z[i*octet+r]
			volume.Times(bent.Slope[i*octet+r])
		}
		log[r] = volume.Log() - square/2
	}
}

// negligible is the responsibility below which a component's part in a gradient is
// not worth the time.
const negligible = 1e-9

// lost is below the logarithm of what a sum of terms, the largest of which is 1, keeps of one.
const lost = -45

// worth returns the responsibilities of component e that are not negligible, 0 for all others,
// and whether there are some.
func (b *group) worth(e int) (shares asm.Octet, some bool) {
	for r, share := range b.share[e][:b.n] {
		if !(share < negligible) { // NaN is kept
			shares[r], some = share, true
		}
	}
	return shares, some
}

// Score adds to grad, of the length of the parameters, the sums from which Finish
// makes Σ_r C_r ∇ ln q of the rows of the last LogDensity with w.
func (p *Packed) Score(grad []float32, coefficients []float64, w *Work) {
	m, factors := p.model, p.model.Factors()
	logits := logitsOf(m, grad)
	for i := range w.groups {
		b := &w.groups[i]
		var own asm.Octet
		for r, row := range b.rows {
			own[r] = coefficients[row/factors]
		}
		for e := range b.share {
			f, some := b.worth(e)
			if !some {
				continue
			}
			for r, c := range own {
				f[r] *= c
			}
			j := e*m.labels + b.label
			logits[j] += float32(sumOf(&f))
			down := p.descend(w, b, e)
			if m.bent {
				epsilon, tau := shapesOf(m, grad, j)
				for i := range m.dim {
					var byEpsilon, byTau float64
					for r, f := range f {
						byEpsilon += f * w.byEpsilon[i*octet+r]
						byTau += f * w.byTau[i*octet+r]
					}
					epsilon[i] += float32(byEpsilon)
					tau[i] += float32(byTau)
				}
			}
			asm.AddMoments(moments(m, grad, j), &f, down, b.whitened(m, e))
		}
	}
}

func sumOf(x *asm.Octet) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// whitened returns what is y of a component.
func (b *group) whitened(m *Model, e int) []float64 { return b.y[e*m.dim*octet:][:m.dim*octet] }

// descend returns −∂/∂y of the logarithm of the law of a group's component e, [d][octet], which
// of Gaussians is y, and leaves the other derivatives in w. Those of negligible rows are 0.
func (p *Packed) descend(w *Work, b *group, e int) []float64 {
	m, y := p.model, b.whitened(p.model, e)
	if !m.bent {
		return y
	}
	bent := &b.bent[e]
	for i, up := range bent.E {
		w.pull[i] = (1/up - up) / 2 // −z
	}
	p.octets[e*m.labels+b.label].Differentiate(w.down, w.byEpsilon, w.byTau, y, w.pull, w.ones, bent)
	for i := range w.down {
		if b.share[e][i%octet] < negligible {
			w.down[i], w.byEpsilon[i], w.byTau[i] = 0, 0, 0
		}
		w.down[i] = -w.down[i]
	}
	return w.down
}

// Finish turns the sums of Score over all rows, Σ_r C_r = total, into the gradient:
// with y = L⁻¹(x − μ) and v = −∂/∂y, which is y of a Gaussian, of ln N they are
//
//	∂/∂a = T⁻ᵀ v,   ∂/∂T = T⁻ᵀ v yᵀ,   ∂/∂τ_i = T_ii ∂/∂T_ii − 1.
//
// It allocates nothing.
func (p *Packed) Finish(grad []float32, total float64) {
	m, d := p.model, p.model.dim
	logits, wide := logitsOf(m, grad), p.wide[:m.triangle]
	for j := range m.components {
		shift, factor := learned(m, grad, j)
		t := p.triangular[j*m.triangle:][:m.triangle]
		// The last row of the sums of v yᵀ first, of which the lower triangle is enough:
		// row i of T⁻ᵀ v needs the rows from i on.
		solve(shift, t, d)
		for i := d - 1; i >= 0; i-- {
			own := wide[row(i):][:i+1]
			for c := range own {
				own[c] = float64(factor[row(i)+c])
			}
			for b := i + 1; b < d; b++ {
				floats.AddScaled(own, -t[row(b)+i], wide[row(b):][:i+1])
			}
			for c, v := range own {
				factor[row(i)+c] = float32(v / t[row(i)+i])
				own[c] = float64(factor[row(i)+c])
			}
		}
		for i := range d {
			at := row(i) + i
			factor[at] = float32(float64(factor[at])*t[at] - float64(logits[j]))
		}
	}
	for j := range logits {
		logits[j] -= float32(total * p.weight[j])
	}
}

// solve replaces v by T⁻ᵀ v.
func solve(v []float32, t []float64, d int) {
	for i := d - 1; i >= 0; i-- {
		sum := float64(v[i])
		for b := i + 1; b < d; b++ {
			sum -= t[row(b)+i] * float64(v[b])
		}
		v[i] = float32(sum / t[row(i)+i])
	}
}

// Slope sets dx to ∂ ln q/∂x of the rows of the last LogDensity with w.
func (p *Packed) Slope(dx []float32, w *Work) {
	m, d := p.model, p.model.dim
	for i := range w.groups {
		b := &w.groups[i]
		clear(w.slope)
		for e := range b.share {
			shares, some := b.worth(e)
			if !some {
				continue
			}
			inverse := p.inverse[(e*m.labels+b.label)*m.triangle:][:m.triangle]
			asm.AddSlope(w.slope, &shares, p.descend(w, b, e), inverse)
		}
		for r, row := range b.rows[:b.n] {
			for c := range d {
				dx[row*d+c] = float32(w.slope[c*octet+r])
			}
		}
	}
}
