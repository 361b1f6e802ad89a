package mixture

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/notes"
)

// Fit returns a mixture of a number of Gaussians for the points x, [n][d], by the
// EM algorithm from k-means++ seeds, the best of several attempts, and its mean
// log-likelihood per point. Covariances lean towards their diagonals by as much as
// d points would make them. The uniforms of c seed it. Once ctx has ended it returns
// soon, with what is of no use.
func Fit(ctx context.Context, x []float32, dim, components, iterations, attempts int, c *rng.Counter) ([]Component, float64) {
	f := newFit(ctx, x, dim, components)
	var best []Component
	highest := math.Inf(-1)
	for a := range attempts {
		if best != nil && ctx.Err() != nil {
			break
		}
		if likelihood := f.run(iterations, c, uint64(a)<<32); best == nil || likelihood > highest {
			best, highest = f.mixture(), likelihood
		}
	}
	return best, highest
}

// fit is an EM algorithm under way.
type fit struct {
	ctx        context.Context
	x          []float32
	n, dim     int
	shares     []float64 // [n][components]
	packed     *Packed
	components []Component

	mean, variance, deviation []float64 // of all points, [d]

	z            []float64 // the points, less their mean, in units of their deviation, [groups][d][octet]
	column, ones []float64 // a component's shares, [groups][octet]; ones
	u, w         []float64 // what asm.Gather makes of momentRows points
	sums         []float64 // of products of these
}

// momentRows is the number of points whose products are summed at once.
const momentRows = 32 * octet

func newFit(ctx context.Context, x []float32, dim, components int) *fit {
	n := len(x) / dim
	f := &fit{ctx: ctx, x: x, n: n, dim: dim}
	for range components {
		f.components = append(f.components, Component{Mean: make([]float64, dim), Factor: make([]float64, row(dim))})
	}
	f.resize()
	f.mean, f.variance = Moments(x, dim)
	f.deviation = make([]float64, dim)
	for i, v := range f.variance {
		f.variance[i] = max(v, 1e-12*(f.mean[i]*f.mean[i]+1e-24))
		f.deviation[i] = math.Sqrt(f.variance[i])
	}
	f.z, f.column = make([]float64, asm.Octets(n)*dim), make([]float64, asm.Octets(n))
	for i, v := range x {
		r, c := i/dim, i%dim
		f.z[(r/octet*dim+c)*octet+r%octet] = (float64(v) - f.mean[c]) / f.deviation[c]
	}
	f.ones, f.sums = slices.Repeat([]float64{1}, momentRows), make([]float64, row(1+dim))
	f.u, f.w = make([]float64, momentRows*(1+dim)), make([]float64, momentRows*(1+dim))
	return f
}

// Moments returns the mean and the variance of each coordinate of the points x, [n][d].
func Moments(x []float32, dim int) (mean, variance []float64) {
	mean, variance = make([]float64, dim), make([]float64, dim)
	n := float64(len(x) / dim)
	for i, v := range x {
		mean[i%dim] += float64(v) / n
	}
	for i, v := range x {
		off := float64(v) - mean[i%dim]
		variance[i%dim] += off * off / n
	}
	return mean, variance
}

// seed chooses a first point at random, each further one with a probability in
// proportion to its squared distance from the nearest chosen so far, and gives
// every point to its nearest.
func (f *fit) seed(c *asm.Counter, first uint64) {
	k := len(f.components)
	uniforms := make([]float32, 4*k)
	asm.Uniforms(uniforms, c, first)
	nearest, label := make([]float64, f.n), make([]int, f.n)
	chosen := min(f.n-1, int(float64(uniforms[0])*float64(f.n)))
	for j := range k {
		var sum float64
		for r := range f.n {
			var square float64
			for i, v := range f.x[r*f.dim:][:f.dim] {
				off := float64(v - f.x[chosen*f.dim+i])
				square += off * off / f.variance[i]
			}
			if j == 0 || square < nearest[r] {
				nearest[r], label[r] = square, j
			}
			sum += nearest[r]
		}
		if j+1 < k {
			u := float64(uniforms[4*(j+1)]) * sum
			for chosen = 0; chosen < f.n-1 && u >= nearest[chosen]; chosen++ {
				u -= nearest[chosen]
			}
		}
	}
	clear(f.shares)
	for r, j := range label {
		f.shares[r*k+j] = 1
	}
}

// maximise makes the components those of the points' shares.
func (f *fit) maximise() {
	k, d, total := len(f.components), f.dim, 0.0
	for j := range f.components {
		c := &f.components[j]
		for r := range f.n {
			f.column[r] = f.shares[r*k+j]
		}
		clear(f.sums)
		for lo := 0; lo < len(f.column); lo += momentRows {
			hi := min(lo+momentRows, len(f.column))
			z := f.z[lo*d : hi*d]
			rows := octet * (1 + d) * asm.Gather(f.u, f.w, f.column[lo:hi], f.ones[:hi-lo], z, z)
			asm.AddProducts(f.sums, f.u[:rows], f.w[:rows], 1+d, 1+d)
		}
		n := f.sums[0]
		least := max(n, asm.Negligible) // where there are none, all sums are 0
		for i := range d {
			products := Row(f.sums, 1+i)
			c.Mean[i] = 0
			if n > 0 {
				c.Mean[i] = f.mean[i] + f.deviation[i]*products[0]/n
			}
			for b := range i + 1 {
				c.Factor[row(i)+b] = f.deviation[i] * f.deviation[b] * (products[1+b] - products[0]*Row(f.sums, 1+b)[0]/least)
			}
		}
		lean := float64(d)
		for i := range d {
			own := c.Factor[row(i)+i]
			c.Factor[row(i)+i] = own + lean*max(own/max(n, 1), 1e-6*f.variance[i]) + 1e-9*f.variance[i]
			for b := range i + 1 {
				c.Factor[row(i)+b] /= n + lean
			}
		}
		Factorise(c.Factor, d, leastPart, leastVariance)
		c.Weight = n + 1
		total += c.Weight
	}
	for j := range f.components {
		f.components[j].Weight /= total
	}
}

// What Factorise leaves of the variances of Gaussians.
const (
	leastPart     = 1e-12
	leastVariance = 1e-300
)

// Factorise replaces the lower triangle of a covariance, row after row, by its Cholesky factor. What
// other rows leave of a row's variance is raised to a part of that variance, and to least, if it is
// less. It returns the first such row, −1 if there is none.
func Factorise(a []float64, d int, part, least float64) (short int) {
	short = -1
	for i := range d {
		for j := range i + 1 {
			sum := a[row(i)+j]
			for b := range j {
				sum -= a[row(i)+b] * a[row(j)+b]
			}
			if i > j {
				a[row(i)+j] = sum / a[row(j)+j]
				continue
			}
			floor := max(part*a[row(i)+i], least)
			if short < 0 && !(sum > floor) {
				short = i
			}
			a[row(i)+i] = math.Sqrt(max(sum, floor))
		}
	}
	return short
}

// set sets the Gaussians that p evaluates.
func (p *Packed) set(all []Component) {
	m := p.model
	for j, c := range all {
		p.weight[j] = c.Weight
		copy(p.mean[j*m.dim:], c.Mean)
		copy(p.factor[j*m.triangle:], c.Factor)
		p.logNorm[j] = math.Log(c.Weight) - float64(m.dim)/2*math.Log(2*math.Pi)
		for i := range m.dim {
			p.logNorm[j] -= math.Log(c.Factor[row(i)+i])
		}
		Invert(p.inverse[j*m.triangle:][:m.triangle], c.Factor, m.dim)
	}
}

// pack returns components as they are evaluated.
func pack(all []Component, dim int) *Packed {
	p := New(dim, 1, len(all), false).NewPacked()
	p.set(all)
	return p
}

// expect sets the points' shares and returns the mean log-likelihood.
func (f *fit) expect() (likelihood float64) {
	f.packed.set(f.components)
	const rows = 32
	w := f.packed.model.NewWork(rows)
	var dst [rows]float64
	for lo := 0; lo < f.n; lo += rows {
		hi := min(f.n, lo+rows)
		f.packed.LogDensity(dst[:hi-lo], f.x[lo*f.dim:hi*f.dim], nil, w)
		w.shares(f.shares[lo*len(f.components) : hi*len(f.components)])
		for _, v := range dst[:hi-lo] {
			likelihood += v / float64(f.n)
		}
	}
	return likelihood
}

func (f *fit) mixture() []Component { return lists.Map(f.components, Component.clone) }

// nearest returns the component that is most likely that of each point.
func (f *fit) nearest(dst []int) {
	k := len(f.components)
	for r := range dst {
		dst[r] = floats.MaxIdx(f.shares[r*k:][:k])
	}
}

// Many is the number of Gaussians from which on those that are added go where ln π is the
// least quadratic.
const Many = 32

// Place returns a mixture for what has been found, that a generator begins as. Few
// Gaussians, each of which has a mode of its own to find, are tried several times, and
// those that have settled stay. Once ctx has ended it returns soon, with what is of no use.
func (found *Found) Place(ctx context.Context, dim, components int, c *rng.Counter) []Component {
	const iterations, few, rounds = 100, 12, 8
	if len(found.Gaussians) > 0 {
		return resized(found.Gaussians, components)
	}
	for round := 1; ; round++ {
		f := newFit(ctx, found.X, dim, min(components, Many))
		if components <= few {
			f.components, _ = Fit(ctx, found.X, dim, components, iterations, 6, c)
		} else {
			f.run(iterations, c, 0)
		}
		if crowd := f.prune(found.LogPi); len(crowd) > 0 && round < rounds {
			found = found.filter(dim, func(r int) bool { return !slices.Contains(crowd, r) })
			continue
		}
		f.grow(found.LogPi, components, 0, c, 1<<40)
		return f.mixture()
	}
}

// prune removes components whose points are far more than π has there, and returns these points. They
// descend from one member, or one lies in a heavy tail, and its Gaussian would make far too many.
// Components of too few points to span the space are judged as if they were as wide as the others,
// and get their shape.
func (f *fit) prune(logPi []float64) (crowd []int) {
	const maxLack = 5 // of ln π/q below the typical one
	f.expect()
	k := len(f.components)
	points := make([]float64, k)
	for i, share := range f.shares {
		points[i%k] += share
	}
	sparse := func(j int) bool { return points[j] < float64(f.dim+1) }
	whole := f.pooledFactor(sparse)
	if whole == nil {
		return nil
	}
	wide := f.mixture()
	for j := range wide {
		if sparse(j) {
			wide[j].Factor = whole
		}
	}
	f.packed.set(wide)
	ratio, owner := make([]float64, f.n), make([]int, f.n)
	f.nearest(owner)
	f.packed.logDensities(ratio, f.x)
	of := make([][]int, k)
	for r, q := range ratio {
		ratio[r] = logPi[r] - q
		of[owner[r]] = append(of[owner[r]], r)
	}
	typical := slices.Sorted(slices.Values(ratio))[f.n/2]
	var kept []Component
	for j, c := range f.components {
		if len(of[j]) > 0 && !slices.ContainsFunc(of[j], func(r int) bool { return ratio[r] > typical-maxLack }) {
			crowd = append(crowd, of[j]...)
			continue
		}
		if sparse(j) && points[j] > 1.5 {
			c.Factor = c.shaped(whole, points[j])
		}
		kept = append(kept, c)
	}
	f.components = kept
	f.resize()
	return crowd
}

// pooledFactor returns the factor of the mean covariance, by weights, of the components that are not
// left out, or nil if all are.
func (f *fit) pooledFactor(out func(j int) bool) []float64 {
	var weight float64
	factor := make([]float64, row(f.dim))
	for j, c := range f.components {
		if out(j) {
			continue
		}
		weight += c.Weight
		for i := range f.dim {
			for b := range i + 1 {
				factor[row(i)+b] += c.Weight * dot(0, c.Factor[row(i):row(i)+b+1], c.Factor[row(b):row(b)+b+1])
			}
		}
	}
	if weight == 0 {
		return nil
	}
	for i := range factor {
		factor[i] /= weight
	}
	Factorise(factor, f.dim, leastPart, leastVariance)
	return factor
}

// filter returns what is found with only the points that keep selects.
func (found *Found) filter(dim int, keep func(r int) bool) *Found {
	other := *found
	other.X, other.LogPi = nil, nil
	for r, l := range found.LogPi {
		if keep(r) {
			other.X, other.LogPi = append(other.X, found.X[r*dim:(r+1)*dim]...), append(other.LogPi, l)
		}
	}
	return &other
}

// shaped returns the shape of a factor in the size of a component of so few points.
func (c *Component) shaped(factor []float64, points float64) (all []float64) {
	d, size := len(c.Mean), 0.0
	for i := range d {
		own, other := c.Factor[row(i):row(i+1)], factor[row(i):row(i+1)]
		size += dot(0, own, own) / dot(0, other, other) / float64(d) * points / (points - 1)
	}
	for _, v := range factor {
		all = append(all, v*math.Sqrt(size))
	}
	return all
}

// In returns what has been found in other units, of (x − center)/scale.
func (found *Found) In(center, scale []float32) *Found {
	d, other := len(center), *found
	other.X, other.Gaussians = make([]float32, len(found.X)), nil
	for i, v := range found.X {
		other.X[i] = (v - center[i%d]) / scale[i%d]
	}
	for _, c := range found.Gaussians {
		c = c.clone()
		for i := range d {
			c.Mean[i] = (c.Mean[i] - float64(center[i])) / float64(scale[i])
			for b := range i + 1 {
				c.Factor[row(i)+b] /= float64(scale[i])
			}
		}
		other.Gaussians = append(other.Gaussians, c)
	}
	return &other
}

// PlaceEach returns mixtures for the coordinates of points, x [n][d], each by itself. The
// first component is the Gaussian of all points of a coordinate, so that there are samples
// far out and between modes, where those of a fit to few points end too soon.
func PlaceEach(ctx context.Context, x []float32, dim, components int, c *rng.Counter) (all [][]Component) {
	for i := range dim {
		if ctx.Err() != nil {
			break
		}
		column := lists.Column(x, i, dim)
		whole := newFit(ctx, column, 1, 1)
		whole.run(1, c, 0)
		own := whole.mixture()
		if components > 1 {
			const wide = 0.02
			f := newFit(ctx, column, 1, components-1)
			f.run(iterationsEach, c, uint64(i)<<32)
			own[0].Weight = wide
			for _, part := range f.mixture() {
				part.Weight *= 1 - wide
				own = append(own, part)
			}
		}
		all = append(all, own)
	}
	return all
}

// iterationsEach are those of a fit to one coordinate.
const iterationsEach = 30

// run fits from the seeds that the uniforms of c from first on give, and returns the mean
// log-likelihood per point.
func (f *fit) run(iterations int, c *rng.Counter, first uint64) float64 {
	at := fitState{Likelihood: math.Inf(-1)}
	page := notes.PageOf(f.ctx, "fit", f.x, f.dim, len(f.components), iterations, *c, first)
	if page.Recall(&at) && len(at.All) == len(f.components) {
		f.components = at.All
	} else {
		at = fitState{Likelihood: math.Inf(-1)}
		f.seed(c, first)
		f.maximise()
	}
	for ; at.Iterations < iterations && f.ctx.Err() == nil; at.Iterations++ {
		at.All = f.components
		page.Keep(&at)
		next := f.expect()
		f.maximise()
		if next-at.Likelihood < 1e-5 {
			at.Iterations = iterations
		}
		at.Likelihood = next
	}
	at.All = f.components
	page.Done(&at)
	return f.expect()
}

// A fitState is what an interrupted fit goes on from.
type fitState struct {
	All        []Component
	Likelihood float64
	Iterations int // or rounds
}

// Width returns the geometric mean of the components' standard deviations.
func Width(all []Component) float64 {
	var sum float64
	for _, c := range all {
		d := len(c.Mean)
		for i := range d {
			sum += c.Weight * math.Log(c.Factor[row(i)+i]) / float64(d)
		}
	}
	return math.Exp(sum)
}

// Freedom returns the geometric mean of what of a coordinate's standard deviation the others
// leave it, 1/√(Σ_ii (Σ⁻¹)_ii): 1 where coordinates are independent.
func (c *Component) Freedom() float64 {
	d, sum := len(c.Mean), 0.0
	inverse := make([]float64, len(c.Factor))
	Invert(inverse, c.Factor, d)
	for i := range d {
		var variance, precision float64
		for _, v := range c.Factor[row(i):][:i+1] {
			variance += v * v
		}
		for b := i; b < d; b++ {
			precision += inverse[row(b)+i] * inverse[row(b)+i]
		}
		sum -= math.Log(variance*precision) / 2
	}
	return math.Exp(sum / float64(d))
}

// A Look is what a population shows of a target, as far as a recipe asks.
type Look struct {
	Gaussian bool    // ln π is quadratic
	Curved   bool    // a quadratic explains less than half of the variance of ln π
	Several  bool    // several Gaussians describe it better than one
	Apart    bool    // and hardly overlap
	Excess   float64 // the coordinates' mean excess kurtosis: below 0 where their tails are light
	Width    float64 // typical standard deviation of what makes up the target
	Freedom  float64 // of Gaussians that settled, by which coordinates are free of each other
	// Components is how many Gaussians would leave little of ln π unexplained, Many at
	// least and most at most.
	Components int
}

// Look returns what the population shows. The uniforms of c seed a fit. Once ctx has
// ended it returns soon, with what is of no use.
func (found *Found) Look(ctx context.Context, dim int, c *rng.Counter) Look {
	// The variance of ln π about a quadratic function below which it is one, up to
	// the rounding of float32.
	const rounding = 1e-6
	// The variance of ln π that a component may leave, and how many components there may be.
	const little, most = 0.002, 2 * Many
	if len(found.Gaussians) > 0 || dim > InShape {
		return found.settledLook(dim)
	}
	left, of := found.unexplained(dim)
	if left < rounding {
		all, _ := Fit(ctx, found.X, dim, 1, 1, 1, c)
		return Look{Gaussian: true, Width: Width(all)}
	}
	const iterations, low = 30, 16
	const groups, better, sure = 8, 0.1, 0.9
	few := 8
	if dim > low { // where a fit takes long, and has few points for each
		few = 1
	}
	all, _ := Fit(ctx, found.X, dim, few, iterations, 1, c)
	one, _ := found.heldOut(ctx, dim, 1, 1, c)
	several, share := found.heldOut(ctx, dim, groups, iterations, c)
	look := Look{Curved: left > of/2, Several: several-one > better, Width: Width(all), Components: Many}
	look.Apart = look.Several && share > sure
	look.Excess = found.excessKurtosis(dim)
	if points := len(found.LogPi); points >= Many*2*numCoefficients(dim) {
		f := newFit(ctx, found.X, dim, Many)
		f.run(iterations, c, 1<<32)
		f.grow(found.LogPi, most, little, c, 1<<40)
		look.Components = len(f.components)
	}
	return look
}

// heldOut returns the mean log-likelihood of one half of the population under a mixture
// fitted to the other, and the mean share of each point's likeliest component in it.
func (found *Found) heldOut(ctx context.Context, dim, components, iterations int, c *rng.Counter) (likelihood, share float64) {
	half := len(found.X) / dim / 2 * dim
	all, _ := Fit(ctx, found.X[:half], dim, components, iterations, 1, c)
	f := newFit(ctx, found.X[half:], dim, components)
	f.components = all
	likelihood = f.expect()
	for r := range f.n {
		share += slices.Max(f.shares[r*components:][:components]) / float64(f.n)
	}
	return likelihood, share
}

// Factorises reports whether mixtures of each coordinate by itself, fitted to the
// population, come nearer to the target by KL(q‖π), up to ln Z, than a joint mixture, than
// one Gaussian, and than a Gaussian for each coordinate: of modes that a population has
// lost, as it must where they are too many, its points know nothing, but ln π does. The
// uniforms of c seed fits and samples. Once ctx has ended it returns soon, with what is of
// no use.
func (found *Found) Factorises(ctx context.Context, dim int, density Density, c *rng.Counter) bool {
	const groups, iterations, clear = 8, 30, 1
	product := func(components int) float64 {
		return NewProduct(dim, components, false).divergence(PlaceEach(ctx, found.X, dim, components, c), density, c)
	}
	joint := func(components int) float64 {
		all, _ := Fit(ctx, found.X, dim, components, iterations, 1, c)
		return New(dim, 1, components, false).divergence([][]Component{all}, density, c)
	}
	most := product(groups) + clear
	return most < product(1) && most < joint(1) && most < joint(groups) && ctx.Err() == nil
}

// divergence estimates KL(q‖π) − ln Z of a mixture by samples of it.
func (m *Model) divergence(all [][]Component, density Density, c *rng.Counter) (mean float64) {
	const n = 1024
	if len(all) < m.labels {
		return math.NaN() // the context has ended
	}
	params := make([]float32, m.NumParams())
	m.Place(params, all)
	p, w := m.NewPacked(), m.NewWork(n)
	p.Set(params)
	factors := m.Factors()
	d := m.dim * factors
	z, x, uniforms, own := make([]float32, n*d), make([]float32, n*d), make([]float32, 4*n*factors), make([]int32, n*factors)
	rng.Normals(z, d, c, 1<<40)
	asm.Uniforms(uniforms, c, 1<<41)
	for i := range own {
		own[i] = int32(p.Choose(i%factors, float64(uniforms[4*i])))
	}
	p.Points(x, z, d, own, w)
	logQ, logPi := make([]float64, n), make([]float64, n)
	p.LogDensity(logQ, x, nil, w)
	density(logPi, x)
	for r, v := range logPi {
		mean += (logQ[r] - v) / n
	}
	return mean
}

// excessKurtosis returns by how much the coordinates' mean kurtosis is above that of a Gaussian.
func (found *Found) excessKurtosis(dim int) (excess float64) {
	mean, variance := Moments(found.X, dim)
	fourth := make([]float64, dim)
	for i, v := range found.X {
		square := (float64(v) - mean[i%dim]) * (float64(v) - mean[i%dim])
		fourth[i%dim] += square * square / float64(len(found.X)/dim)
	}
	for i, v := range variance {
		excess += (fourth[i]/max(v*v, 1e-300) - 3) / float64(dim)
	}
	return excess
}

// numCoefficients returns the number of coefficients of a quadratic function.
func numCoefficients(dim int) int { return (dim + 1) * (dim + 2) / 2 }

// unexplained returns the variance of what no quadratic function of x explains of
// ln π over a population, and that of ln π. The first is 0 if π is Gaussian. It takes
// at least twice as many points as coefficients, and returns NaN for fewer.
func (found *Found) unexplained(dim int) (left, of float64) {
	features := numCoefficients(dim)
	finite := found.filter(dim, func(r int) bool { return !math.IsInf(found.LogPi[r], 0) })
	all, logPi := finite.X, finite.LogPi
	n := float64(len(logPi))
	if len(logPi) < 2*features {
		return math.NaN(), math.NaN()
	}
	mean, deviation := Moments(all, dim)
	for i, v := range deviation {
		deviation[i] = math.Sqrt(max(v, 1e-300))
	}
	center := 0.0
	for _, v := range logPi {
		center += v / n
	}
	// The normal equations, whose last row is that of ln π: the square of the last
	// diagonal entry of their Cholesky factor is the sum of squares that is left.
	f := make([]float64, features+1)
	equations := make([]float64, row(features+1))
	for r, v := range logPi {
		at := dim + 1
		f[0] = 1
		for i, v := range all[r*dim:][:dim] {
			f[1+i] = (float64(v) - mean[i]) / deviation[i]
			for j := range i + 1 {
				f[at] = f[1+i] * f[1+j]
				at++
			}
		}
		f[features] = v - center
		for i, v := range f {
			for j, u := range f[:i+1] {
				equations[row(i)+j] += v * u
			}
		}
	}
	of = equations[row(features)+features] / n
	Factorise(equations, features+1, leastPart, leastVariance)
	left = equations[row(features)+features]
	return left * left / n, of
}
