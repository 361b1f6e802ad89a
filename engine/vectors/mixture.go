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
	// score adds to grad Σ_r c_r ∇_θ ln q(x_r), the states held fixed, of the rows
	// of the last forward or density. What base parameters get are sums that
	// weights.finish completes.
	score(grad []float32, c []float64, w *weights, s *scratch)
	// laws returns the weights of the maps of standard normal noise, z ∈ R^d, that make up
	// the generator, and image sets x to the states that one of them makes of z.
	laws(w *weights) []float64
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
//
// With modes there are neither couplings nor a place, Gaussians have a mode,
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
		y:        make([]float32, rows*d), slope: make([]float32, rows*d), own: make([]int32, rows*g.nets.base.Factors()),
		work: g.nets.base.NewWork(rows),
	}
}

// logDensity64 is a flow's of a mixture for its noise.
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

// learnedStart returns the first parameter after those of the couplings and of the placement,
// of which nothing is learned.
func (n *networks) learnedStart() int { return n.baseStart + n.base.Placement() }

// place returns c and s, both empty with modes, and the parameters of the base.
func (n *networks) place(params []float32) (center, scale, base []float32) {
	place := params[n.placeStart:n.baseStart]
	return place[:len(place)/2], place[len(place)/2:], params[n.baseStart:]
}

// A mixturePass is a flow's whose noise y is a mixture.
type mixturePass struct {
	*flowPass
	y, slope []float32 // [rows][d]
	k        []uint8   // modes of the last forward or density
	own      []int32   // components of points, [rows][factors]
	work     *mixture.Work
	last     *weights // of the last forward or density
}

func (p *mixturePass) forward(s States, z, u []float32, w *weights) {
	n := &p.flow.nets
	own := p.own[:s.Len()*n.base.Factors()]
	p.k = s.K
	for i := range own {
		if s.K != nil {
			own[i] = int32(w.base.Choose(0, float64(u[4*i])))
			s.K[i] = uint8(int(own[i]) % n.modes)
			continue
		}
		r, f := i/n.base.Factors(), i%n.base.Factors()
		own[i] = int32(w.base.ChooseNormal(f, float64(z[r*n.latent+n.dim+f])))
	}
	w.base.Points(p.y, z, n.latent, own, p.work)
	p.show(s.X, w)
}

// show sets x to the states of the base's points y.
func (p *mixturePass) show(x []float32, w *weights) {
	n := &p.flow.nets
	p.last = w
	if p.flow.depth == 0 {
		p.rows = len(x) / n.dim
		copy(x, p.y)
		return
	}
	p.transform(x, p.y[:len(x)], w)
	center, scale, _ := n.place(w.params)
	for i, v := range x {
		x[i] = center[i%n.dim] + scale[i%n.dim]*v
	}
}

func (p *mixturePass) density(dst []float64, s States, w *weights) {
	n, x := &p.flow.nets, s.X
	p.k, p.last = s.K, w
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
	p.last.base.LogDensity(dst, p.y[:p.rows*p.flow.nets.dim], p.k, p.work)
	p.volume(dst)
	floats.AddConst(-p.last.logScale, dst)
}

func (p *mixturePass) score(grad []float32, c []float64, w *weights, s *scratch) {
	n := &p.flow.nets
	if p.flow.depth == 0 {
		w.base.Score(grad[n.baseStart:], nil, c, p.work)
		return
	}
	slope := p.slope[:p.rows*n.dim]
	w.base.Score(grad[n.baseStart:], slope, c, p.work)
	p.scoreFrom(grad, slope, c, w, s)
}

// The laws of a product are all choices of a component for each coordinate, those of the
// first changing fastest: of use in few coordinates.
func (p *mixturePass) laws(w *weights) []float64 {
	b, all := p.flow.nets.base, []float64{1}
	for f := range b.Factors() {
		var more []float64
		for e := range b.Each() {
			for _, weight := range all {
				more = append(more, weight*w.base.Weight(e*b.Factors()+f))
			}
		}
		all = more
	}
	return all
}

func (p *mixturePass) image(x, z []float32, law int, w *weights) {
	b, d := p.flow.nets.base, p.flow.nets.dim
	own, rest := p.own[:len(x)/d*b.Factors()], law
	for i := range own {
		f := i % b.Factors()
		if f == 0 {
			rest = law
		}
		own[i], rest = int32(rest%b.Each()*b.Factors()+f), rest/b.Each()
	}
	w.base.Points(p.y, z, d, own, p.work)
	p.k = nil
	p.show(x, w)
}

// finish completes the sums that score has left of the base, of coefficients whose total
// is 0.
func (n *networks) finish(grad []float32, w *weights) {
	if n.base != nil {
		w.base.Finish(grad[n.baseStart:], 0)
	}
}

// With modes a population takes their shape up to inShape coordinates, and of more than
// someModes in reasonable time up to inTime coordinates. On all others Gaussians settle.
const (
	inShape   = 16
	inTime    = 6
	someModes = 16
)

// settles reports whether Gaussians settle on a target, or on its modes.
func settles(t Target) bool {
	d, modes := t.Dim(), modesOf(t)
	if modes == 0 {
		return d > mixture.InShape
	}
	return d > inShape || d > inTime && modes > someModes
}

// scout looks for where a target, or one of its modes, has its weight. A target that says
// where it is Placed is believed.
func (g *GeneratorConfig) scout(ctx context.Context, t Target, mode int, seed uint64, workers *pool.Pool) (*mixture.Found, error) {
	var center []float64
	var scale float64
	if p, ok := t.(Placed); ok {
		center, scale = p.Place(mode)
	}
	modes := modesOf(t)
	s := g.Scout.Scout(center, scale, seed)
	s.Stream, s.Settle, s.Sums = 2*uint32(mode), settles(t), modes == 0
	switch {
	case modes == 0 && g.Base == "joint":
		s.Far, s.Spare = true, g.Scout.Moves == fewMoves
	case modes == 0:
		s.Sweeps = 10
	}
	own := func() mixture.Density { return inMode(t, mode) }
	path, _, _ := asm.Active()
	again := notes.AboutOnly(ctx, path, signature(own(), center, scale, t.Dim(), seed))
	page, found := notes.PageOf(again, "found", s), new(mixture.Found)
	var err error
	if !page.Recall(found) {
		if found, err = s.Run(ctx, t.Dim(), own, workers); err == nil {
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

// signature returns ln π of some states about a place, by which a target is known again.
func signature(own mixture.Density, center []float64, scale float64, dim int, seed uint64) []float64 {
	const states = 16
	x, c := make([]float32, states*dim), rng.Stream(seed, rng.Scouting, math.MaxUint32)
	rng.Normals(x, dim, &c, 0)
	for i := range x {
		if center != nil {
			x[i] = float32(center[i%dim] + scale*float64(x[i]))
		}
	}
	logPi := make([]float64, states)
	own(logPi, x)
	return logPi
}

// inMode returns one thread's ln π of the vectors of a mode, or of all if there are none.
func inMode(t Target, mode int) mixture.Density {
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
	g.place(ctx, params, found, seed)
	return ctx.Err()
}

// place places the base of a generator without modes on what has been found.
func (g *mixtureFlow) place(ctx context.Context, params []float32, found *mixture.Found, seed uint64) {
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
	if ctx.Err() == nil { // otherwise all may be few
		n.base.Place(base, all)
	}
}

// placeModes places Gaussians on each mode, with the weights that populations say.
func (g *mixtureFlow) placeModes(ctx context.Context, params []float32, c *Config, t Target, workers *pool.Pool) error {
	seed, modes := c.Training.Seed, g.nets.modes
	all := make([][]mixture.Component, modes)
	logZ, least := make([]float64, modes), make([]float64, modes)
	highest := math.Inf(-1)
	// A mode that seems to have nothing starts with little, and can still gain; but where
	// Gaussians have settled its ln Z is known, and samples of it would be of no use.
	const little, next = 1e-3, 1e-30
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
		logZ[mode], least[mode] = found.LogZ, little
		if len(found.Gaussians) > 0 {
			least[mode] = next
		}
		highest = max(highest, found.LogZ)
	}
	for mode, components := range all {
		for i := range components {
			components[i].Weight *= max(least[mode], math.Exp(logZ[mode]-highest))
		}
	}
	g.nets.base.Place(params, all)
	return nil
}

// spread returns the mean and the standard deviation of each coordinate.
func spread(x []float32, d int) (mean, deviation []float64) {
	mean, deviation = mixture.Moments(x, d)
	for i, v := range deviation {
		deviation[i] = max(math.Sqrt(v), 1e-6*(1e-6+math.Abs(mean[i])))
	}
	return mean, deviation
}
