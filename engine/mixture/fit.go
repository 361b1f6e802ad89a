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
// log-likelihood per point. Covariances lean towards their diagonals as if d further points
// of each component had no correlations. The uniforms of c seed the fit. After ctx has
// ended, Fit returns soon with a useless result.
func Fit(ctx context.Context, x []float32, dim, components, iterations, attempts int, c *rng.Counter) ([]Component, float64) {
	f := newFit(ctx, x, dim, components)
	var best []Component
	bestLikelihood := math.Inf(-1)
	for a := range attempts {
		if best != nil && ctx.Err() != nil {
			break
		}
		if likelihood := f.run(iterations, c, uint64(a)<<32); best == nil || likelihood > bestLikelihood {
			best, bestLikelihood = f.mixture(), likelihood
		}
	}
	return best, bestLikelihood
}

// A fit is the EM algorithm at work on the points x.
type fit struct {
	ctx        context.Context
	x          []float32 // [n][d]
	n, dim     int
	shares     []float64 // responsibilities, [n][components]
	packed     *Packed   // components as expect evaluates them
	components []Component

	mean, variance, deviation []float64 // of all points, [d]

	z            []float64 // the points, less their mean, in units of their deviation, [groups][d][octet]
	column, ones []float64 // one component's shares, [groups][octet]; coefficients of 1
	u, w         []float64 // of momentRows points, set by asm.Gather: shares times (1, z), and (1, z)
	sums         []float64 // of products of u and w, a triangle
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

// maximise sets the components' weights and moments to those of the points, by their shares.
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
		divisor := max(n, asm.Negligible) // if n is 0, all sums are
		for i := range d {
			products := Row(f.sums, 1+i)
			c.Mean[i] = 0
			if n > 0 {
				c.Mean[i] = f.mean[i] + f.deviation[i]*products[0]/n
			}
			for b := range i + 1 {
				c.Factor[row(i)+b] = f.deviation[i] * f.deviation[b] * (products[1+b] - products[0]*Row(f.sums, 1+b)[0]/divisor)
			}
		}
		lean := float64(d) // further points without correlations
		for i := range d {
			sum := c.Factor[row(i)+i]
			c.Factor[row(i)+i] = sum + lean*max(sum/max(n, 1), 1e-6*f.variance[i]) + 1e-9*f.variance[i]
			for b := range i + 1 {
				c.Factor[row(i)+b] /= n + lean
			}
		}
		Factorise(c.Factor, d, minPart, minVariance)
		c.Weight = n + 1
		total += c.Weight
	}
	for j := range f.components {
		f.components[j].Weight /= total
	}
}

// Lower limits of the variances of Gaussians, for Factorise.
const (
	minPart     = 1e-12
	minVariance = 1e-300
)

// Factorise replaces the lower triangle of a covariance, row after row, by its Cholesky factor. The
// variance of a row given the rows before it is raised to minPart of its variance and to minVariance.
// Factorise returns the first row whose variance does not exceed these limits, or −1.
func Factorise(a []float64, d int, minPart, minVariance float64) (first int) {
	first = -1
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
			floor := max(minPart*a[row(i)+i], minVariance)
			if first < 0 && !(sum > floor) {
				first = i
			}
			a[row(i)+i] = math.Sqrt(max(sum, floor))
		}
	}
	return first
}

// set makes p evaluate the components, Gaussians of one label.
func (p *Packed) set(components []Component) {
	m := p.model
	for j, c := range components {
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
func pack(components []Component, dim int) *Packed {
	p := New(dim, 1, len(components), false).NewPacked()
	p.set(components)
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

// nearest sets dst to the component with the largest share in each point.
func (f *fit) nearest(dst []int) {
	k := len(f.components)
	for r := range dst {
		dst[r] = floats.MaxIdx(f.shares[r*k:][:k])
	}
}

// Many is the largest number of Gaussians with which Place begins a fit. More are added where ln π
// is the least quadratic.
const Many = 32

// Place returns the mixture that a generator begins as: the Gaussians that have settled, if
// any, and otherwise a fit to the population. A fit of few, each of which has a mode of its
// own to find, is tried several times. After ctx has ended, Place returns soon with a useless result.
func (found *Found) Place(ctx context.Context, dim, components int, c *rng.Counter) []Component {
	const iterations, attempts, maxRetried, maxRounds = 100, 6, 12, 8
	if len(found.Gaussians) > 0 {
		return resized(found.Gaussians, components)
	}
	for round := 1; ; round++ {
		f := newFit(ctx, found.X, dim, min(components, Many))
		if components <= maxRetried {
			f.components, _ = Fit(ctx, found.X, dim, components, iterations, attempts, c)
		} else {
			f.run(iterations, c, 0)
		}
		if crowd := f.prune(found.LogPi); len(crowd) > 0 && round < maxRounds {
			found = found.filter(dim, func(r int) bool { return !slices.Contains(crowd, r) })
			continue
		}
		f.grow(found.LogPi, components, 0, c, 1<<40)
		return f.mixture()
	}
}

// prune removes components at all of whose points ln π/q is far below its median, and returns these
// points. They descend from one member, or lie in a heavy tail, and their Gaussian would make far too
// many. Components of too few points to span the space are judged with the others' pooled factor, and
// get its shape.
func (f *fit) prune(logPi []float64) (crowd []int) {
	const maxLack = 5 // of ln π/q below its median
	f.expect()
	k := len(f.components)
	points := make([]float64, k)
	for i, share := range f.shares {
		points[i%k] += share
	}
	sparse := func(j int) bool { return points[j] < float64(f.dim+1) }
	pooled := f.pooledFactor(sparse)
	if pooled == nil {
		return nil
	}
	judged := f.mixture()
	for j := range judged {
		if sparse(j) {
			judged[j].Factor = pooled
		}
	}
	f.packed.set(judged)
	ratio, owner := make([]float64, f.n), make([]int, f.n)
	f.nearest(owner)
	f.packed.logDensities(ratio, f.x)
	owned := make([][]int, k)
	for r, q := range ratio {
		ratio[r] = logPi[r] - q
		owned[owner[r]] = append(owned[owner[r]], r)
	}
	median := slices.Sorted(slices.Values(ratio))[f.n/2]
	var kept []Component
	for j, c := range f.components {
		if len(owned[j]) > 0 && !slices.ContainsFunc(owned[j], func(r int) bool { return ratio[r] > median-maxLack }) {
			crowd = append(crowd, owned[j]...)
			continue
		}
		if sparse(j) && points[j] > 1.5 {
			c.Factor = c.shaped(pooled, points[j])
		}
		kept = append(kept, c)
	}
	f.components = kept
	f.resize()
	return crowd
}

// pooledFactor returns the factor of the components' mean covariance, by their weights. It leaves the
// excluded ones out, and is nil if all are excluded.
func (f *fit) pooledFactor(excluded func(j int) bool) []float64 {
	var weight float64
	factor := make([]float64, row(f.dim))
	for j, c := range f.components {
		if excluded(j) {
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
	Factorise(factor, f.dim, minPart, minVariance)
	return factor
}

// filter returns a copy of found with only the points that keep selects.
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

// shaped returns the factor, scaled to the component's mean variance, which so few points underestimate.
func (c *Component) shaped(factor []float64, points float64) (scaled []float64) {
	d, ratio := len(c.Mean), 0.0
	for i := range d {
		own, other := c.Factor[row(i):row(i+1)], factor[row(i):row(i+1)]
		ratio += dot(0, own, own) / dot(0, other, other) / float64(d) * points / (points - 1)
	}
	for _, v := range factor {
		scaled = append(scaled, v*math.Sqrt(ratio))
	}
	return scaled
}

// In returns what has been found in other units, (x − center)/scale.
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

// PlaceEach returns a mixture for each coordinate of the points x, [n][d]. Its first
// component, of a small weight, is the Gaussian of all points, so that there are samples
// far out and between modes, where a fit to few points has none.
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
			const wholeWeight = 0.02
			f := newFit(ctx, column, 1, components-1)
			f.run(iterationsEach, c, uint64(i)<<32)
			own[0].Weight = wholeWeight
			for _, part := range f.mixture() {
				part.Weight *= 1 - wholeWeight
				own = append(own, part)
			}
		}
		all = append(all, own)
	}
	return all
}

// iterationsEach is the number of EM steps of a fit to one coordinate.
const iterationsEach = 30

// run seeds the fit with the uniforms of c from first on, takes steps of EM until they gain little,
// and returns the mean log-likelihood per point.
func (f *fit) run(iterations int, c *rng.Counter, first uint64) float64 {
	state := fitState{Likelihood: math.Inf(-1)}
	page := notes.PageOf(f.ctx, "fit", f.x, f.dim, len(f.components), iterations, *c, first)
	if page.Recall(&state) && len(state.All) == len(f.components) {
		f.components = state.All
	} else {
		state = fitState{Likelihood: math.Inf(-1)}
		f.seed(c, first)
		f.maximise()
	}
	for ; state.Iterations < iterations && f.ctx.Err() == nil; state.Iterations++ {
		state.All = f.components
		page.Keep(&state)
		likelihood := f.expect()
		f.maximise()
		if likelihood-state.Likelihood < 1e-5 {
			state.Iterations = iterations
		}
		state.Likelihood = likelihood
	}
	state.All = f.components
	page.Done(&state)
	return f.expect()
}

// A fitState is what an interrupted fit goes on from.
type fitState struct {
	All        []Component // present components
	Likelihood float64
	Iterations int // of run, or rounds of grow
}

// Width returns the geometric mean of |Σ|^(1/2d) over the components, by their weights.
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

// Freedom returns the geometric mean over the coordinates of 1/√(Σ_ii (Σ⁻¹)_ii), the part of a
// coordinate's standard deviation that remains given the others. It is 1 if they are independent.
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

// A Look is what a population shows of a target, as far as recipes ask.
type Look struct {
	Gaussian bool    // ln π is quadratic
	Curved   bool    // a quadratic function explains less than half of the variance of ln π
	Several  bool    // several Gaussians describe the target better than one
	Apart    bool    // several Gaussians describe it, which hardly overlap
	Excess   float64 // mean excess kurtosis of the coordinates, below 0 if their tails are light
	Width    float64 // typical standard deviation of the Gaussians that describe it
	Freedom  float64 // mean Component.Freedom of the Gaussians that settled, 0 if none did
	// Components is how many Gaussians settled, but for light ones. If none did, it is 1 above
	// InShape coordinates, 0 if Gaussian, and else how many leave little of ln π unexplained,
	// from Many to 2 Many.
	Components int
}

// Look returns what the population shows. The uniforms of c seed fits. After ctx has
// ended, Look returns soon with a useless result.
func (found *Found) Look(ctx context.Context, dim int, c *rng.Counter) Look {
	const rounding = 1e-6 // variance of ln π about a quadratic function that float32 may cause
	const maxResidual, maxComponents, iterations = 0.002, 2 * Many, 30
	if len(found.Gaussians) > 0 || dim > InShape {
		return found.settledLook(dim)
	}
	residual, variance := found.unexplained(dim)
	if residual < rounding {
		all, _ := Fit(ctx, found.X, dim, 1, 1, 1, c)
		return Look{Gaussian: true, Width: Width(all)}
	}
	const lowDim, groups, minAdvantage, minShare = 16, 8, 0.1, 0.9
	components := groups
	if dim > lowDim { // a fit takes long, and has few points for each component
		components = 1
	}
	all, _ := Fit(ctx, found.X, dim, components, iterations, 1, c)
	one, _ := found.heldOut(ctx, dim, 1, 1, c)
	several, share := found.heldOut(ctx, dim, groups, iterations, c)
	look := Look{Curved: residual > variance/2, Several: several-one > minAdvantage, Width: Width(all), Components: Many}
	look.Apart = look.Several && share > minShare
	look.Excess = found.excessKurtosis(dim)
	if points := len(found.LogPi); points >= Many*2*numCoefficients(dim) {
		f := newFit(ctx, found.X, dim, Many)
		f.run(iterations, c, 1<<32)
		f.grow(found.LogPi, maxComponents, maxResidual, c, 1<<40)
		look.Components = len(f.components)
	}
	return look
}

// heldOut fits a mixture to one half of the population and returns the mean log-likelihood
// of the other half's points, and the mean of their largest shares.
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

// Factorises reports whether a product of mixtures, one for each coordinate, has a lower
// KL(q‖π) than a joint mixture, one Gaussian and a product of Gaussians, all fitted to the
// population. Points do not show the modes that the population has lost, as it must if they
// are too many; ln π at the samples of q does. The uniforms of c seed fits and samples.
// After ctx has ended, Factorises returns soon with a useless result.
func (found *Found) Factorises(ctx context.Context, dim int, density Density, c *rng.Counter) bool {
	const groups, iterations, margin = 8, 30, 1
	product := func(components int) float64 {
		return NewProduct(dim, components, false).divergence(PlaceEach(ctx, found.X, dim, components, c), density, c)
	}
	joint := func(components int) float64 {
		all, _ := Fit(ctx, found.X, dim, components, iterations, 1, c)
		return New(dim, 1, components, false).divergence([][]Component{all}, density, c)
	}
	bound := product(groups) + margin
	return bound < product(1) && bound < joint(1) && bound < joint(groups) && ctx.Err() == nil
}

// divergence estimates KL(q‖π) − ln Z of a mixture by its samples.
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

// excessKurtosis returns the coordinates' mean kurtosis, less a Gaussian's.
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

// unexplained returns the variance of ln π over the population that no quadratic function
// of x explains, 0 if π is Gaussian, and the whole variance. Both are NaN unless at least
// twice as many points as coefficients have a finite ln π.
func (found *Found) unexplained(dim int) (residual, variance float64) {
	features := numCoefficients(dim)
	finite := found.filter(dim, func(r int) bool { return !math.IsInf(found.LogPi[r], 0) })
	x, logPi := finite.X, finite.LogPi
	n := float64(len(logPi))
	if len(logPi) < 2*features {
		return math.NaN(), math.NaN()
	}
	mean, deviation := Moments(x, dim)
	for i, v := range deviation {
		deviation[i] = math.Sqrt(max(v, 1e-300))
	}
	center := 0.0
	for _, v := range logPi {
		center += v / n
	}
	// The normal equations, whose last row is that of ln π: the square of the last
	// diagonal entry of their Cholesky factor is the sum of squares that remains.
	f := make([]float64, features+1)
	equations := make([]float64, row(features+1))
	for r, v := range logPi {
		at := dim + 1
		f[0] = 1
		for i, v := range x[r*dim:][:dim] {
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
	variance = equations[row(features)+features] / n
	Factorise(equations, features+1, minPart, minVariance)
	residual = equations[row(features)+features]
	return residual * residual / n, variance
}
