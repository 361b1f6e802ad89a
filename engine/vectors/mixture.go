package vectors

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/pool"
)

// A dense pass knows the density of its generator.
type densePass interface {
	pass
	// logDensity sets dst[r] = ln q of the states of the last forward or density.
	logDensity(dst []float64)
	// density sets dst[r] = ln q of any states.
	density(dst []float64, s States, w *weights)
	// score adds to grad Σ_r c_r ∇_θ ln q(x_r), the states held fixed, of the rows of the last
	// forward or density. For parameters of a base it adds sums that networks.finish completes.
	score(grad []float32, c []float64, w *weights, s *scratch)
	// laws returns the weights of the laws whose mixture is q. Each law is a map of standard normal
	// noise z ∈ R^d.
	laws(w *weights) []float64
	// image sets x to the map of z of one law.
	image(x, z []float32, law int, w *weights)
}

// A mixtureFlow takes a mixture of Gaussians through affine couplings f, if there are any, and then to the
// target's place and units:
//
//	x = c + s ⊙ f(y),   y ~ Σ_j w_j N(μ_j, L_j L_jᵀ)   or   y_i ~ Σ_j w_ij N(μ_ij, σ_ij²).
//
// The first d coordinates of the noise make y. The last one chooses j, or the last d choose j for each
// coordinate of y. The place, c and s, is not learned. Without couplings it is 0 and 1, so that y is
// not rounded again.
//
// With modes there are neither couplings nor a place. Each Gaussian has a mode,
//
//	q(x, k) = Σ_{j of mode k} w_j N(x | μ_j, Σ_j),
//
// and a uniform number chooses j.
type mixtureFlow struct{ *flow }

func newMixtureFlow(c GeneratorConfig, dim, modes int) *mixtureFlow {
	f := newFlow(c, dim)
	n := &f.nets
	n.modes, n.placeStart, n.baseStart = modes, n.params, n.params
	if c.Base == "product" {
		n.base = mixture.NewProduct(dim, c.Components, c.Bent)
	} else {
		n.base = mixture.New(dim, max(1, modes), c.Components, c.Bent)
	}
	if modes == 0 {
		n.latent += n.base.Factors()
		n.baseStart += 2 * dim
	}
	n.params = n.baseStart + n.base.NumParams()
	return &mixtureFlow{f}
}

func (g *mixtureFlow) newPass(rows int, backward bool) pass {
	d := g.nets.dim
	return &mixturePass{
		flowPass: g.flow.newPass(rows, backward).(*flowPass),
		y:        make([]float32, rows*d), dy: make([]float32, rows*d), components: make([]int32, rows*g.nets.base.Factors()),
		work: g.nets.base.NewWork(rows),
	}
}

// logDensity64 returns the function ln q(x, k) in float64 for the given parameters.
func (g *mixtureFlow) logDensity64(params []float64) func(x []float64, k int) float64 {
	d, n := g.nets.dim, &g.nets
	place, base := params[n.placeStart:n.baseStart], n.base.NewPacked()
	base.Set64(params[n.baseStart:])
	return func(x []float64, k int) float64 {
		if len(place) == 0 {
			return base.LogDensity64(x, k)
		}
		var log float64
		y := make([]float64, d)
		for i, v := range x {
			y[i] = (v - place[i]) / place[d+i]
			log -= math.Log(place[d+i])
		}
		z, logVolume := g.inverse64(params, y)
		return log - logVolume + base.LogDensity64(z, 0)
	}
}

// learnedStart returns the first parameter after the place and the base's placement, which are not
// learned.
func (n *networks) learnedStart() int { return n.baseStart + n.base.Placement() }

// placeAndBase returns the place, c and s, both empty with modes, and the parameters of the base.
func (n *networks) placeAndBase(params []float32) (center, scale, base []float32) {
	place := params[n.placeStart:n.baseStart]
	return place[:len(place)/2], place[len(place)/2:], params[n.baseStart:]
}

// A mixturePass is the pass of a flow whose noise y is a mixture.
type mixturePass struct {
	*flowPass
	y, dy      []float32 // points of the base, and the gradient with respect to them, [rows][d]
	components []int32   // of y, [rows][factors]
	work       *mixture.Work

	// Of the last forward or density:
	k       []uint8
	weights *weights
}

func (p *mixturePass) forward(s States, z, u []float32, w *weights) {
	n := &p.flow.nets
	components := p.components[:s.Len()*n.base.Factors()]
	p.k = s.K
	for i := range components {
		if s.K != nil {
			components[i] = int32(w.base.Choose(0, float64(u[4*i])))
			s.K[i] = uint8(int(components[i]) % n.modes)
			continue
		}
		r, f := i/n.base.Factors(), i%n.base.Factors()
		components[i] = int32(w.base.ChooseNormal(f, float64(z[r*n.latent+n.dim+f])))
	}
	w.base.Points(p.y, z, n.latent, components, p.work)
	p.transformPoints(s.X, w)
}

// transformPoints sets x to the states of the base's points y.
func (p *mixturePass) transformPoints(x []float32, w *weights) {
	n := &p.flow.nets
	p.weights = w
	if p.flow.depth == 0 {
		p.rows = len(x) / n.dim
		copy(x, p.y)
		return
	}
	p.transform(x, p.y[:len(x)], w)
	center, scale, _ := n.placeAndBase(w.params)
	for i, v := range x {
		x[i] = center[i%n.dim] + scale[i%n.dim]*v
	}
}

func (p *mixturePass) density(dst []float64, s States, w *weights) {
	n, x := &p.flow.nets, s.X
	p.k, p.weights = s.K, w
	if p.flow.depth == 0 {
		p.rows = len(dst)
		copy(p.y, x)
	} else {
		center, scale, _ := n.placeAndBase(w.params)
		placed := p.dy[:len(x)] // free until score
		for i, v := range x {
			placed[i] = (v - center[i%n.dim]) / scale[i%n.dim]
		}
		p.inverse(p.y[:len(x)], placed, w)
	}
	p.logDensity(dst)
}

func (p *mixturePass) logDensity(dst []float64) {
	p.weights.base.LogDensity(dst, p.y[:p.rows*p.flow.nets.dim], p.k, p.work)
	p.volume(dst)
	floats.AddConst(-p.weights.logScale, dst)
}

func (p *mixturePass) score(grad []float32, c []float64, w *weights, s *scratch) {
	n := &p.flow.nets
	if p.flow.depth == 0 {
		w.base.Score(grad[n.baseStart:], nil, c, p.work)
		return
	}
	dy := p.dy[:p.rows*n.dim]
	w.base.Score(grad[n.baseStart:], dy, c, p.work)
	p.scoreFrom(grad, dy, c, w, s)
}

// laws implements densePass. A product has a law for each choice of a component for every coordinate, too
// many unless there are few coordinates. The choice for the first coordinate changes fastest.
func (p *mixturePass) laws(w *weights) []float64 {
	b, products := p.flow.nets.base, []float64{1}
	for f := range b.Factors() {
		var next []float64
		for e := range b.Each() {
			for _, weight := range products {
				next = append(next, weight*w.base.Weight(e*b.Factors()+f))
			}
		}
		products = next
	}
	return products
}

func (p *mixturePass) image(x, z []float32, law int, w *weights) {
	b, d := p.flow.nets.base, p.flow.nets.dim
	components, digits := p.components[:len(x)/d*b.Factors()], law // whose digits are the choices
	for i := range components {
		f := i % b.Factors()
		if f == 0 {
			digits = law
		}
		components[i], digits = int32(digits%b.Each()*b.Factors()+f), digits/b.Each()
	}
	w.base.Points(p.y, z, d, components, p.work)
	p.k = nil
	p.transformPoints(x, w)
}

// finish completes the sums of the base that score has left, for coefficients that sum to 0.
func (n *networks) finish(grad []float32, w *weights) {
	if n.base != nil {
		w.base.Finish(grad[n.baseStart:], 0)
	}
}

// A population of walkers finds the shape of modes up to maxShapeDim coordinates. With more than
// manyModes that takes reasonable time up to maxManyModesDim coordinates. On all other modes
// Gaussians settle.
const (
	maxShapeDim     = 16
	maxManyModesDim = 6
	manyModes       = 16
)

// gaussiansSettle reports whether Gaussians settle on a target, or on its modes.
func gaussiansSettle(t Target) bool {
	d, modes := t.Dim(), modesOf(t)
	if modes == 0 {
		return d > mixture.InShape
	}
	return d > maxShapeDim || d > maxManyModesDim && modes > manyModes
}

// scout finds where a target, or one of its modes, has its weight. It starts from the place of a
// Placed target.
func (g *GeneratorConfig) scout(ctx context.Context, t Target, mode int, seed uint64, workers *pool.Pool) (*mixture.Found, error) {
	var center []float64
	var scale float64
	if p, ok := t.(Placed); ok {
		center, scale = p.Place(mode)
	}
	modes := modesOf(t)
	s := g.Scout.Scout(center, scale, seed)
	s.Stream, s.Settle, s.Sums = 2*uint32(mode), gaussiansSettle(t), modes == 0
	switch {
	case modes == 0 && g.Base == "joint":
		s.Far, s.Spare = true, g.Scout.Moves == sparingMoves
	case modes == 0:
		s.Sweeps = 10
	}
	newDensity := func() mixture.Density { return modeDensity(t, mode) }
	path, _, _ := asm.Active()
	about := notes.AboutOnly(ctx, path, signature(newDensity(), center, scale, t.Dim(), seed))
	page, found := notes.PageOf(about, "found", s), new(mixture.Found)
	var err error
	if !page.Recall(found) {
		if found, err = s.Run(ctx, t.Dim(), newDensity, workers); err == nil {
			page.Leave(found)
		}
	}
	switch {
	case modes == 0:
		return found, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("mode %d: %w", mode, err)
	case len(found.Gaussians) == 0 && t.Dim() > mixture.InShape:
		return nil, fmt.Errorf("mode %d: no Gaussian settles where walkers found weight: ln π has no curvature there that differences of it show, or is −∞ all around; bound the coordinates, say where the weight is, or take a generator of another kind", mode)
	}
	return found, nil
}

// signature returns ln π of some states about a place, by which notes recognise a target.
func signature(density mixture.Density, center []float64, scale float64, dim int, seed uint64) []float64 {
	const states = 16
	x, c := make([]float32, states*dim), rng.Stream(seed, rng.Scouting, math.MaxUint32)
	rng.Normals(x, dim, &c, 0)
	for i := range x {
		if center != nil {
			x[i] = float32(center[i%dim] + scale*float64(x[i]))
		}
	}
	logPi := make([]float64, states)
	density(logPi, x)
	return logPi
}

// modeDensity returns ln π of the vectors of a mode, or of all vectors without modes, for one thread.
func modeDensity(t Target, mode int) mixture.Density {
	density, k := Evaluator(t), []uint8(nil)
	if modesOf(t) == 0 {
		return func(dst []float64, x []float32) { density(dst, x, nil) }
	}
	return func(dst []float64, x []float32) {
		for len(k) < len(dst) {
			k = append(k, uint8(mode))
		}
		density(dst, x, k[:len(dst)])
	}
}

// initialize places the base where populations find the target's weight.
func (g *mixtureFlow) initialize(ctx context.Context, params []float32, c *Config, t Target, workers *pool.Pool) error {
	if g.nets.modes > 0 {
		return g.placeModes(ctx, params, c, t, workers)
	}
	seed := c.Training.Seed
	found, err := c.Generator.scout(ctx, t, 0, seed, workers)
	if err != nil {
		return err
	}
	g.placeBase(ctx, params, found, seed)
	return ctx.Err()
}

// placeBase places the base of a generator without modes where a scout has found weight.
func (g *mixtureFlow) placeBase(ctx context.Context, params []float32, found *mixture.Found, seed uint64) {
	n := &g.nets
	center, scale, base := n.placeAndBase(params)
	d := n.dim
	for i := range d {
		center[i], scale[i] = 0, 1
	}
	if g.depth > 0 {
		mean, deviation := spread(found.X, d)
		for i := range d {
			center[i], scale[i] = float32(mean[i]), float32(deviation[i])
		}
		found = found.In(center, scale)
	}
	c := rng.Stream(seed, rng.Scouting, 1)
	var all [][]mixture.Component
	if n.base.Factors() > 1 {
		all = mixture.PlaceEach(ctx, found.X, d, n.base.Each(), &c)
	} else {
		all = [][]mixture.Component{found.Place(ctx, d, n.base.Each(), &c)}
	}
	if ctx.Err() == nil { // otherwise components may be missing
		n.base.Place(base, all)
	}
}

// placeModes places Gaussians on each mode, with the weights that populations of walkers estimate.
func (g *mixtureFlow) placeModes(ctx context.Context, params []float32, c *Config, t Target, workers *pool.Pool) error {
	seed, modes := c.Training.Seed, g.nets.modes
	all := make([][]mixture.Component, modes)
	logZ, minWeight := make([]float64, modes), make([]float64, modes)
	highest := math.Inf(-1)
	// A mode that seems to have no weight starts with a little, and can still gain. But where
	// Gaussians have settled its ln Z is known, and samples of it would be of no use.
	const minEstimated, minKnown = 1e-3, 1e-30 // relative to the heaviest mode
	for mode := range all {
		found, err := c.Generator.scout(ctx, t, mode, seed, workers)
		if err != nil {
			return err
		}
		stream := rng.Stream(seed, rng.Scouting, 2*uint32(mode)+1)
		all[mode] = found.Place(ctx, g.nets.dim, c.Generator.Components, &stream)
		if err := ctx.Err(); err != nil {
			return err
		}
		logZ[mode], minWeight[mode] = found.LogZ, minEstimated
		if len(found.Gaussians) > 0 {
			minWeight[mode] = minKnown
		}
		highest = max(highest, found.LogZ)
	}
	for mode, components := range all {
		for i := range components {
			components[i].Weight *= max(minWeight[mode], math.Exp(logZ[mode]-highest))
		}
	}
	g.nets.base.Place(params, all)
	return nil
}

// spread returns the mean and the standard deviation of each coordinate, which is at least a tiny
// fraction of the mean.
func spread(x []float32, d int) (mean, deviation []float64) {
	mean, deviation = mixture.Moments(x, d)
	for i, v := range deviation {
		deviation[i] = max(math.Sqrt(v), 1e-6*(1e-6+math.Abs(mean[i])))
	}
	return mean, deviation
}
