package reals

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A dense pass knows the density of its generator.
type densePass interface {
	pass
	// logDensity sets dst[r] = ln q of the states of the last forward or density.
	logDensity(dst []float64)
	// density sets dst[r] = ln q(x_r) of the rows of x.
	density(dst []float64, x []float32, w *weights)
	// score adds to grad Σ_r c_r ∇_θ ln q(x_r), the states held fixed, of the rows
	// of the last forward or density. What base parameters get are sums that
	// weights.finish completes.
	score(grad []float32, c []float64, w *weights, s *scratch)
	// laws returns how many maps of standard normal noise, z ∈ R^d, make up the
	// generator, each with its weight, and image sets x to the states that one of
	// them makes of z.
	laws() int
	weight(law int, w *weights) float64
	image(x, z []float32, law int, w *weights)
}

// A mixtureFlow is a mixture of Gaussians taken through affine couplings, of which
// there may be none, and then to the target's place and units:
//
//	x = c + s ⊙ f(y),   y ~ Σ_j w_j N(μ_j, L_j L_jᵀ)   or   y_i ~ Σ_j w_ij N(μ_ij, σ_ij²).
//
// The first d coordinates of the noise make y, the last chooses j, or one for each
// coordinate of y does. c and s are not
// learned; without couplings they are 0 and 1, so that nothing is rounded on the
// way.
type mixtureFlow struct{ *flow }

func newMixtureFlow(c GeneratorConfig, dim int) *mixtureFlow {
	f := newFlow(c, dim)
	if c.Base == "product" {
		f.nets.base = mixture.NewProduct(dim, c.Components, c.Bent)
	} else {
		f.nets.base = mixture.New(dim, 1, c.Components, c.Bent)
	}
	f.nets.latent = dim + f.nets.base.Factors()
	f.nets.placed = f.nets.params
	f.nets.params += 2*dim + f.nets.base.NumParams()
	return &mixtureFlow{f}
}

func (g *mixtureFlow) newPass(rows int, backward bool) pass {
	d := g.nets.dim
	return &mixturePass{
		flowPass: g.flow.newPass(rows, backward).(*flowPass),
		y:        make([]float32, rows*d), slope: make([]float32, rows*d),
		work: g.nets.base.NewWork(rows),
	}
}

// logDensity64 is a flow's of a mixture for its noise.
func (g *mixtureFlow) logDensity64(params []float64) func(x []float64) float64 {
	d, place := g.nets.dim, params[g.nets.placed:]
	base := g.nets.base.NewPacked()
	base.Set64(place[2*d:])
	return func(x []float64) float64 {
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

// learned returns the first of the parameters of which something is learned after
// those of the couplings.
func (n *networks) learned() int { return n.placed + 2*n.dim + n.base.Placement() }

// place returns c and s, and the parameters of the base.
func (n *networks) place(params []float32) (center, scale, base []float32) {
	params = params[n.placed:]
	return params[:n.dim], params[n.dim : 2*n.dim], params[2*n.dim:]
}

// A mixturePass is a flow's whose noise y is a mixture.
type mixturePass struct {
	*flowPass
	y, slope []float32 // [rows][d]
	work     *mixture.Work
	last     *weights // of the last forward or density
}

// chosen returns the component of a factor that the noise chooses.
func chosen(p *mixture.Packed, factor int, noise float32) int {
	return p.Choose(factor, math.Erfc(-float64(noise)/math.Sqrt2)/2)
}

func (p *mixturePass) forward(x, z []float32, w *weights) {
	n := &p.flow.nets
	d, width := n.dim, n.dim/n.base.Factors()
	for r := range len(x) / d {
		noise := z[r*n.latent : (r+1)*n.latent]
		for f, choice := range noise[d:] {
			at := f * width
			w.base.Point(p.y[r*d+at:][:width], noise[at:at+width], chosen(w.base, f, choice), p.work)
		}
	}
	p.transform(x, w)
}

// transform sets x to the states of the base's points y.
func (p *mixturePass) transform(x []float32, w *weights) {
	n := &p.flow.nets
	p.last = w
	if p.flow.depth == 0 {
		p.rows = len(x) / n.dim
		copy(x, p.y)
		return
	}
	p.flowPass.forward(x, p.y[:len(x)], w)
	center, scale, _ := n.place(w.params)
	for i, v := range x {
		x[i] = center[i%n.dim] + scale[i%n.dim]*v
	}
}

func (p *mixturePass) density(dst []float64, x []float32, w *weights) {
	n := &p.flow.nets
	p.last = w
	if p.flow.depth == 0 {
		p.rows = len(dst)
		copy(p.y, x)
	} else {
		center, scale, _ := n.place(w.params)
		for i, v := range x {
			p.slope[i] = (v - center[i%n.dim]) / scale[i%n.dim]
		}
		p.inverse(p.y[:len(x)], p.slope[:len(x)], w)
	}
	p.logDensity(dst)
}

func (p *mixturePass) logDensity(dst []float64) {
	p.last.base.LogDensity(dst, p.y[:p.rows*p.flow.nets.dim], nil, p.work)
	p.volume(dst)
	for r := range dst {
		dst[r] -= p.last.logScale
	}
}

func (p *mixturePass) score(grad []float32, c []float64, w *weights, s *scratch) {
	n := &p.flow.nets
	w.base.Score(grad[n.placed+2*n.dim:], c, p.work)
	if p.flow.depth == 0 {
		return
	}
	slope := p.slope[:p.rows*n.dim]
	w.base.Slope(slope, p.work)
	p.scoreFrom(grad, slope, c, w, s)
}

// The laws of a product are all choices of a component for each coordinate, those of the
// first changing fastest: of use in few coordinates.
func (p *mixturePass) laws() int {
	n := 1
	for range p.flow.nets.base.Factors() {
		n *= p.flow.nets.base.Each()
	}
	return n
}

func (p *mixturePass) weight(law int, w *weights) float64 {
	b, weight := p.flow.nets.base, 1.0
	for f := range b.Factors() {
		weight *= w.base.Weight(law%b.Each()*b.Factors() + f)
		law /= b.Each()
	}
	return weight
}

func (p *mixturePass) image(x, z []float32, law int, w *weights) {
	b, d := p.flow.nets.base, p.flow.nets.dim
	width := d / b.Factors()
	for r := 0; r*d < len(x); r++ {
		rest := law
		for f := range b.Factors() {
			at := r*d + f*width
			w.base.Point(p.y[at:at+width], z[at:at+width], rest%b.Each()*b.Factors()+f, p.work)
			rest /= b.Each()
		}
	}
	p.transform(x, w)
}

// finish completes the sums that score has left of the base, of coefficients of
// the given total.
func (n *networks) finish(grad []float32, total float64, w *weights) {
	if n.base != nil {
		_, _, base := n.place(grad)
		w.base.Finish(base, total)
	}
}

// scout looks for where a target has its weight. A target that says where it is
// Placed is believed.
func (g *GeneratorConfig) scout(ctx context.Context, t Target, seed uint64, workers *pool.Pool) (*mixture.Found, error) {
	var center []float64
	var scale float64
	if p, ok := t.(Placed); ok {
		center, scale = p.Place()
	}
	s := g.Scout.Scout(center, scale, seed)
	s.Settle, s.Sums = t.Dim() > mixture.InShape, true
	if g.Base != "joint" {
		s.Sweeps = 10
	}
	return s.Run(ctx, t.Dim(), func() mixture.Density { return densityOf(t) }, workers)
}

// densityOf returns one thread's ln π of a target.
func densityOf(t Target) mixture.Density {
	target, narrow := own(t), []float32(nil)
	return func(dst []float64, x []float32) {
		if len(narrow) < len(dst) {
			narrow = make([]float32, len(dst))
		}
		target.LogDensity(narrow[:len(dst)], x)
		for r, v := range narrow[:len(dst)] {
			dst[r] = float64(v)
		}
	}
}

// initialize places the base on the target.
func (g *mixtureFlow) initialize(ctx context.Context, params []float32, found *mixture.Found, seed uint64) {
	n := &g.nets
	center, scale, base := n.place(params)
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
	if ctx.Err() != nil {
		return // all may be few
	}
	n.base.Place(base, all)
}

// spread returns the mean and the standard deviation of each coordinate.
func spread(x []float32, d int) (mean, deviation []float64) {
	mean, deviation = mixture.Moments(x, d)
	for i, v := range deviation {
		deviation[i] = max(math.Sqrt(v), 1e-6*(1e-6+math.Abs(mean[i])))
	}
	return mean, deviation
}
