package mixture

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/number"
)

// A Model says what the parameters of a mixture mean. It is immutable.
type Model struct {
	dim, labels, each int  // coordinates; labels; components of each label
	components        int  // labels · each
	triangle          int  // numbers in a lower triangle, d(d+1)/2
	bent              bool // components have a Shape for each coordinate
	product           bool // a label is a coordinate, a state has all of them, and dim is 1
}

// New returns the model of a number of components of each label, Gaussian or, if
// bent, with a Shape for each coordinate.
func New(dim, labels, each int, bent bool) *Model {
	return &Model{dim: dim, labels: labels, each: each, components: labels * each, triangle: dim * (dim + 1) / 2, bent: bent}
}

// NewProduct returns the model of d independent coordinates. Each is a mixture on the line:
// coordinate k is label k of a model of one coordinate and d labels, and the weights of
// each label sum to 1.
func NewProduct(dim, each int, bent bool) *Model {
	m := New(1, dim, each, bent)
	m.product = true
	return m
}

// Factors returns the number of independent parts of a state: d of a product, and 1 of
// other models.
func (m *Model) Factors() int {
	if m.product {
		return m.labels
	}
	return 1
}

// Dim returns the number of coordinates of a state, or of one factor of a product, which is 1.
func (m *Model) Dim() int { return m.dim }

// Each returns the number of components of each label.
func (m *Model) Each() int { return m.each }

// The parameters are, in this order, each component's placement, c and the lower triangle
// of S; the logits; each component's a and lower triangle of T, with τ on its diagonal; and,
// if components are bent, each one's ε and ln δ, [d] both.

// NumParams returns the number of parameters.
func (m *Model) NumParams() int {
	n := 2*m.components*(m.dim+m.triangle) + m.components
	if m.bent {
		n += 2 * m.components * m.dim
	}
	return n
}

// A float is a parameter in training, float32, or in a check, float64.
type float interface{ float32 | float64 }

func placementOf[T float](m *Model, params []T, j int) (center, spread []T) {
	own := params[j*(m.dim+m.triangle):][:m.dim+m.triangle]
	return own[:m.dim], own[m.dim:]
}

func logitsOf[T float](m *Model, params []T) []T {
	return params[m.components*(m.dim+m.triangle):][:m.components]
}

func learnedOf[T float](m *Model, params []T, j int) (shift, factor []T) {
	own := params[m.components*(m.dim+m.triangle+1)+j*(m.dim+m.triangle):][:m.dim+m.triangle]
	return own[:m.dim], own[m.dim:]
}

func shapesOf[T float](m *Model, params []T, j int) (epsilon, tau []T) {
	own := params[m.components*(2*(m.dim+m.triangle)+1)+2*j*m.dim:][:2*m.dim]
	return own[:m.dim], own[m.dim:]
}

// Placement returns the number of parameters of the placements. They come first, and are
// not learned.
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

func (c Component) clone() Component {
	return Component{c.Weight, slices.Clone(c.Mean), slices.Clone(c.Factor)}
}

// Place sets params to a mixture of the given components, component i of label k being
// components[k][i]. The weights of all labels sum to 1, or those of each label of a
// product.
func (m *Model) Place(params []float32, components [][]Component) {
	clear(params)
	logits := logitsOf(m, params)
	for j := range m.components {
		c := components[j%m.labels][j/m.labels]
		center, spread := placementOf(m, params, j)
		copy(center, number.Narrow(c.Mean))
		copy(spread, number.Narrow(c.Factor))
		logits[j] = float32(math.Log(c.Weight))
	}
}

// Packed holds a mixture's parameters in the form in which it is evaluated.
type Packed struct {
	model                 *Model
	weight, logNorm       []float64   // w; ln w − Σ ln L_ii − (d/2) ln 2π
	below, normal         []float64   // sum of the weights before w in its factor, and Φ⁻¹ of it: bounds of Choose and ChooseNormal
	mean, factor, inverse []float64   // μ, L, L⁻¹ of each component
	triangular            []float64   // T
	affine                []float64   // of each component a triangle with rows (1), (μ_i, L_i0 … L_ii)
	shapes                []Shape     // of each component and coordinate, nil for Gaussians
	bends                 []asm.Bends // the shapes of each component, for [d][octet] coordinates
	params                []float64   // the parameters, and then scratch of Finish
}

// NewPacked allocates for the parameters of a model.
func (m *Model) NewPacked() *Packed {
	k := m.components
	p := &Packed{
		model: m, weight: make([]float64, k), logNorm: make([]float64, k), below: make([]float64, k), normal: make([]float64, k),
		mean: make([]float64, k*m.dim), factor: make([]float64, k*m.triangle),
		inverse: make([]float64, k*m.triangle), triangular: make([]float64, k*m.triangle),
		affine: make([]float64, k*row(1+m.dim)), params: make([]float64, m.NumParams()),
	}
	if m.bent {
		p.shapes = make([]Shape, k*m.dim)
		for range k {
			p.bends = append(p.bends, asm.NewBends(m.dim*octet))
		}
	}
	return p
}

// row returns where row i of a lower triangle begins.
func row(i int) int { return i * (i + 1) / 2 }

// Set makes p evaluate the mixture of these parameters. It allocates nothing.
func (p *Packed) Set(params []float32) {
	for i, v := range params {
		p.params[i] = float64(v)
	}
	p.Set64(p.params)
}

// Set64 is Set of parameters in float64.
func (p *Packed) Set64(params []float64) {
	m, d := p.model, p.model.dim
	logits := logitsOf(m, params)
	for f := range m.Factors() {
		p.normalise(logits, f)
	}
	for j := range p.weight {
		center, spread := placementOf(m, params, j)
		shift, factor := learnedOf(m, params, j)
		t, l := p.triangular[j*m.triangle:][:m.triangle], p.factor[j*m.triangle:][:m.triangle]
		mean := p.mean[j*d:][:d]
		p.logNorm[j] -= float64(d) / 2 * math.Log(2*math.Pi)
		for i := range d {
			copy(t[row(i):], factor[row(i):][:i])
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
		affine := p.affine[j*row(1+d):][:row(1+d)]
		affine[0] = 1
		for i := range d {
			own := affine[row(1+i):]
			own[0] = mean[i]
			copy(own[1:], Row(l, i))
		}
		if m.bent {
			epsilon, tau := shapesOf(m, params, j)
			for i := range d {
				up, delta := math.Exp(epsilon[i]), math.Exp(tau[i])
				p.shapes[j*d+i] = MakeShape(epsilon[i], up, delta)
				b := &p.bends[j]
				for r := i * octet; r < (i+1)*octet; r++ {
					b.Epsilon[r], b.Up[r], b.Delta[r] = epsilon[i], up, delta
				}
			}
		}
	}
}

// normalise sets weight, below and normal of the components of one factor, and logNorm to ln w.
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
		p.below[j], p.normal[j] = below, math.Sqrt2*math.Erfinv(2*min(below, 1)-1)
		p.weight[j] /= sum
		below += p.weight[j]
		p.logNorm[j] = logits[j] - highest - math.Log(sum)
	}
}

// Row returns row i of a lower triangle.
func Row[T float](l []T, i int) []T { return l[row(i):row(i+1)] }

// Invert sets inverse to the inverse of a lower triangle L.
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

// Choose returns a factor's component, drawn by its weight with a uniform number.
func (p *Packed) Choose(factor int, u float64) int { return p.lastBelow(p.below, factor, u) }

// ChooseNormal returns a factor's component, drawn by its weight with a normal number.
func (p *Packed) ChooseNormal(factor int, z float64) int { return p.lastBelow(p.normal, factor, z) }

// lastBelow returns the last component of a factor whose bound is not above x, or the first.
func (p *Packed) lastBelow(bounds []float64, factor int, x float64) int {
	step := p.model.Factors()
	j := len(bounds) - step + factor
	for j >= step && bounds[j] > x {
		j -= step
	}
	return j
}

// Points sets the rows of x, [len(own)][d], to μ_j + L_j h(z), where j = own[row] is the row's
// component. The rows of a product are single coordinates, state after state. The noise z of a state
// begins stride after that of the state before.
func (p *Packed) Points(x, z []float32, stride int, own []int32, w *Work) {
	m, d, factors := p.model, p.model.dim, p.model.Factors()
	noise := w.noise[octet:]
	for lo, hi, order := 0, 0, w.sort(own); lo < len(order); lo = hi {
		j := own[order[lo]]
		for hi = lo + 1; hi < min(lo+octet, len(order)) && own[order[hi]] == j; {
			hi++
		}
		for r := range octet { // vacant places repeat the last row
			row := int(order[min(lo+r, hi-1)])
			for c, v := range z[row/factors*stride+row%factors*d:][:d] {
				noise[c*octet+r] = float64(v)
			}
		}
		if m.bent {
			p.bends[j].Apply(noise, noise, &w.noiseBent)
		}
		asm.Whiten(w.point, w.noise, w.origin, p.affine[int(j)*row(1+d):][:row(1+d)])
		for r, row := range order[lo:hi] {
			point := x[int(row)*d:][:d]
			for c := range point {
				point[c] = float32(w.point[(1+c)*octet+r])
			}
		}
	}
}

// sort returns the indices of rows, ordered by their components, own.
func (w *Work) sort(own []int32) []int32 {
	clear(w.begin)
	for _, j := range own {
		w.begin[j+1]++
	}
	for j, n := range w.begin[1:] {
		w.begin[j+1] = w.begin[j] + n
	}
	order := w.order[:len(own)]
	for i, j := range own {
		order[w.begin[j]] = int32(i)
		w.begin[j]++
	}
	return order
}

// octet is the number of rows that are evaluated together.
const octet = asm.GaussianRows

// A Work holds the intermediate results of a number of rows, which LogDensity leaves for Score.
// In the Work of a product, each coordinate of a state is a row.
type Work struct {
	each   int        // components of each label
	groups []group    // label after label
	first  []int      // index of each label's first group, and then the number of groups
	count  []int      // rows of each label
	x      []float64  // coordinates, [groups][d][octet]
	y      []float64  // L⁻¹(x − μ), [each][groups][d][octet]
	share  []float64  // responsibilities, [each][groups][octet]
	bent   []asm.Bent // intermediate results of h⁻¹(y), [each], for [groups][d][octet] coordinates
	log    []float64  // ln q, [groups][octet]
	c      []float64  // coefficients, [groups][octet]
	slope  []float64  // −∂ ln q/∂x, or ∂ ln q/∂x if bent, [groups][d][octet]

	// For Points:
	order, begin         []int32   // rows by component; where each component's begin in order
	noise, point, origin []float64 // (1, z) and (1, x) of a group, [1+d][octet]; zeros, [1+d]
	noiseBent            asm.Bent  // intermediate results of h(z), not used

	// For one component at a time:
	z                     []float64 // h⁻¹(y), [groups][d][octet]
	byY, byEpsilon, byTau []float64 // ∂/∂y, ∂/∂ε and ∂/∂τ of ln of its density, [groups][d][octet]
	u, w                  []float64 // set by asm.Gather: share·c·(1, derivatives) and (1, y), [groups][1+d][octet]
	sums                  []float64 // of products of u and w, a triangle
}

// A group is up to eight rows of one label. Vacant places repeat the last row.
type group struct {
	n    int        // rows
	rows [octet]int // their indices
}

// NewWork allocates for a number of states.
func (m *Model) NewWork(rows int) *Work {
	n := (rows + octet - 1) / octet
	if m.product {
		n *= m.labels
	} else {
		n += max(min(rows, m.labels)-1, 0)
	}
	points := rows * m.Factors()
	rows = n * octet
	size := rows * m.dim
	numbers := func(n int) []float64 { return make([]float64, n) }
	w := &Work{
		each: m.each, groups: make([]group, n), first: make([]int, m.labels+1), count: make([]int, m.labels),
		x: numbers(size), y: numbers(m.each * size), share: numbers(m.each * rows), log: numbers(rows),
		c: numbers(rows), slope: numbers(size),
		u: numbers(size + rows), w: numbers(size + rows), sums: numbers(row(1 + m.dim)),
	}
	w.order, w.begin = make([]int32, points), make([]int32, m.components+1)
	w.noise, w.point, w.origin = numbers((1+m.dim)*octet), numbers((1+m.dim)*octet), numbers(1+m.dim)
	for r := range octet {
		w.noise[r] = 1
	}
	if m.bent {
		w.noiseBent = asm.NewBent(m.dim * octet)
		w.z, w.byY, w.byEpsilon, w.byTau = numbers(size), numbers(size), numbers(size), numbers(size)
		for range m.each {
			w.bent = append(w.bent, asm.NewBent(size))
		}
	}
	return w
}

// divide divides rows among groups, in their order, by their labels k. If k is nil, each label has a row
// of every state.
func (w *Work) divide(rows int, k []uint8) {
	for label := range w.count {
		w.count[label] = rows
	}
	if k != nil {
		clear(w.count)
		for _, label := range k[:rows] {
			w.count[label]++
		}
	}
	n := 0
	for label, rows := range w.count {
		w.first[label] = n
		n += (rows + octet - 1) / octet
		w.count[label] = 0
	}
	w.first[len(w.count)] = n
	w.groups = w.groups[:n]
	assign := func(label, row int) {
		at := w.count[label]
		w.groups[w.first[label]+at/octet].fill(at%octet, row)
		w.count[label]++
	}
	if k != nil {
		for r, label := range k[:rows] {
			assign(int(label), r)
		}
		return
	}
	factors := len(w.count)
	for i := range factors {
		for r := range rows {
			assign(i, r*factors+i)
		}
	}
}

// fill assigns a row to a place and to all after it.
func (b *group) fill(at, row int) {
	b.n = at + 1
	for i := at; i < octet; i++ {
		b.rows[i] = row
	}
}

// ofComponent returns the values of a label's component e in groups lo … hi−1, n values of each group.
func (w *Work) ofComponent(values []float64, e, n, lo, hi int) []float64 {
	first := e * len(w.groups)
	return values[(first+lo)*n : (first+hi)*n]
}

// eachComponent calls f for each component j of labels that have rows. j is component e of its label,
// whose groups are lo … hi−1.
func (p *Packed) eachComponent(w *Work, f func(j, e, lo, hi int)) {
	m := p.model
	for label := range m.labels {
		if lo, hi := w.first[label], w.first[label+1]; lo < hi {
			for e := range m.each {
				f(e*m.labels+label, e, lo, hi)
			}
		}
	}
}

// LogDensity sets dst[r] = ln q(x_r, k_r) of the rows of x, [len(dst)][d]; k is
// nil if there is one label, or a product. w keeps what Score needs.
func (p *Packed) LogDensity(dst []float64, x []float32, k []uint8, w *Work) {
	m, factors := p.model, p.model.Factors()
	size := m.dim * octet
	w.divide(len(dst), k)
	for i := range w.groups {
		to := w.x[i*size:][:size]
		for r, row := range w.groups[i].rows {
			for c, v := range x[row*m.dim:][:m.dim] {
				to[c*octet+r] = float64(v)
			}
		}
	}
	p.eachComponent(w, func(j, e, lo, hi int) {
		y := w.ofComponent(w.y, e, size, lo, hi)
		asm.Whiten(y, w.x[lo*size:hi*size], p.mean[j*m.dim:][:m.dim], p.inverse[j*m.triangle:][:m.triangle])
		z, slope := y, []float64(nil)
		if m.bent {
			bent := bentOf(&w.bent[e], lo*size, hi*size)
			z, slope = w.z[:len(y)], bent.Slope
			p.bends[j].Invert(z, y, &bent)
		}
		asm.LogNormals(w.ofComponent(w.share, e, octet, lo, hi), z, slope, p.logNorm[j])
	})
	n := len(w.groups)
	if clear(dst); n == 0 {
		return
	}
	asm.LogSumExp64(w.log[:n*octet], w.share[:m.each*n*octet])
	for i := range w.groups {
		for r, row := range w.groups[i].rows[:w.groups[i].n] {
			dst[row/factors] += w.log[i*octet+r]
		}
	}
}

// logDensities is LogDensity of any number of rows without labels, with a Work of its own.
func (p *Packed) logDensities(dst []float64, x []float32) {
	const rows = 256
	w, d := p.model.NewWork(min(rows, len(dst))), p.model.dim*p.model.Factors()
	for lo := 0; lo < len(dst); lo += rows {
		hi := min(lo+rows, len(dst))
		p.LogDensity(dst[lo:hi], x[lo*d:hi*d], nil, w)
	}
}

// bentOf returns the intermediate results of numbers lo … hi−1.
func bentOf(b *asm.Bent, lo, hi int) asm.Bent {
	return asm.Bent{Slope: b.Slope[lo:hi], W: b.W[lo:hi], E: b.E[lo:hi]}
}

// shares sets dst, [rows][each], to the responsibilities for the rows of the last LogDensity.
func (w *Work) shares(dst []float64) {
	n := len(w.groups) * octet
	for i, b := range w.groups {
		for r, row := range b.rows[:b.n] {
			for e := range w.each {
				dst[row*w.each+e] = w.share[e*n+i*octet+r]
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
	m := p.model
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
	}
	return floats.LogSumExp(terms)
}

// dot returns start + Σ_i a_i b_i, added in order if there are few.
func dot(start float64, a, b []float64) float64 {
	if len(a) > InShape {
		return start + floats.Dot(a, b[:len(a)])
	}
	for i, v := range a {
		start += v * b[i]
	}
	return start
}

// differentiate returns −∂/∂y ln N = y for groups lo … hi−1 of component j, number e of its label. If
// it is bent, differentiate returns ∂/∂y of ln of its density and leaves the other derivatives in w;
// those of groups in which all shares are negligible may be anything.
func (p *Packed) differentiate(w *Work, j, e, lo, hi int) []float64 {
	m := p.model
	size := m.dim * octet
	if !m.bent {
		return w.ofComponent(w.y, e, size, lo, hi)
	}
	matters := func(g int) bool {
		return slices.ContainsFunc(w.ofComponent(w.share, e, octet, g, g+1), func(share float64) bool { return !(share < asm.Negligible) })
	}
	for g := lo; g < hi; {
		first := g
		for g < hi && matters(g) {
			g++
		}
		if first < g {
			at := (first - lo) * size
			bent := bentOf(&w.bent[e], first*size, g*size)
			p.bends[j].DifferentiateNormal(w.byY[at:], w.byEpsilon[at:], w.byTau[at:], w.ofComponent(w.y, e, size, first, g), &bent)
		} else {
			g++
		}
	}
	return w.byY[:(hi-lo)*size]
}

// Score adds to grad, [NumParams], the sums that Finish turns into Σ_r C_r ∇ ln q, over the rows of the
// last LogDensity with w. It sets dx, unless it is nil, to their ∂ ln q/∂x.
func (p *Packed) Score(grad, dx []float32, coefficients []float64, w *Work) {
	m, d, factors, sign := p.model, p.model.dim, p.model.Factors(), 1.0
	size := d * octet
	if m.bent {
		sign = -1
	}
	for i, b := range w.groups {
		c := w.c[i*octet:][:octet]
		clear(c)
		for r, row := range b.rows[:b.n] {
			c[r] = coefficients[row/factors]
		}
	}
	if dx != nil {
		clear(w.slope)
	}
	logits := logitsOf(m, grad)
	p.eachComponent(w, func(j, e, lo, hi int) {
		y, share := w.ofComponent(w.y, e, size, lo, hi), w.ofComponent(w.share, e, octet, lo, hi)
		// products returns sums of share·c·(1, derivatives) times the first columns of (1, y), and
		// the number of rows in them.
		products := func(derivatives []float64, columns int) (sums []float64, rows int) {
			rows = octet * asm.Gather(w.u, w.w, share, w.c[lo*octet:hi*octet], derivatives[:len(y)], y)
			sums = w.sums[:columns*(columns+1)/2+(1+d-columns)*columns]
			clear(sums)
			asm.AddProducts(sums, w.u[:rows*(1+d)], w.w[:rows*(1+d)], 1+d, columns)
			return sums, rows
		}
		byY := p.differentiate(w, j, e, lo, hi)
		sums, rows := products(byY, 1+d)
		if rows == 0 {
			return
		}
		logits[j] += float32(sums[0])
		shift, factor := learnedOf(m, grad, j)
		for i := range d {
			own := Row(sums, 1+i)
			shift[i] += float32(sign * own[0])
			for c, product := range own[1:] {
				factor[row(i)+c] += float32(sign * product)
			}
		}
		if dx != nil {
			asm.AddSlopes(w.slope[lo*size:hi*size], share, byY, p.inverse[j*m.triangle:][:m.triangle])
		}
		if m.bent {
			add := func(to []float32, derivatives []float64) {
				sums, _ := products(derivatives, 1)
				for i, sum := range sums[1:] {
					to[i] += float32(sum)
				}
			}
			epsilon, tau := shapesOf(m, grad, j)
			add(epsilon, w.byEpsilon)
			add(tau, w.byTau)
		}
	})
	if dx == nil {
		return
	}
	for i, b := range w.groups {
		for r, row := range b.rows[:b.n] {
			for c := range d {
				dx[row*d+c] = float32(-sign * w.slope[i*size+c*octet+r])
			}
		}
	}
}

// Finish turns the sums of Score over all rows, Σ_r C_r = total, into the gradient:
// with y = L⁻¹(x − μ) and v = −∂/∂y, which is y of a Gaussian, of ln N they are
//
//	∂/∂a = T⁻ᵀ v,   ∂/∂T = T⁻ᵀ v yᵀ,   ∂/∂τ_i = T_ii ∂/∂T_ii − 1.
//
// It allocates nothing.
func (p *Packed) Finish(grad []float32, total float64) {
	m, d := p.model, p.model.dim
	logits, solved := logitsOf(m, grad), p.params[:m.triangle]
	for j := range m.components {
		shift, factor := learnedOf(m, grad, j)
		t := p.triangular[j*m.triangle:][:m.triangle]
		// The last row of T⁻ᵀ v yᵀ comes first, because row i of it needs the rows after i.
		// The lower triangle of the sums is enough.
		solve(shift, t, d)
		for i := d - 1; i >= 0; i-- {
			own := solved[row(i):][:i+1]
			for c := range own {
				own[c] = float64(factor[row(i)+c])
			}
			for b := i + 1; b < d; b++ {
				floats.AddScaled(own, -t[row(b)+i], solved[row(b):][:i+1])
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
