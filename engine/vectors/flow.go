package vectors

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
)

// A flow is a RealNVP: depth affine couplings, each of which changes one part
// of the coordinates by a map that depends on the other part,
//
//	v_{l+2} = v_l ⊙ e^{σ_l} + t_l,   σ_l = κ tanh(s_l / κ),
//
// where v_{l+1} is the input of the perceptrons s_l and t_l, and the clamp κ bounds σ_l. The parts
// take turns: v_0 and v_1 are the parts of the noise z, and v_{depth} and v_{depth+1} those of the
// state x. So
//
//	v_l = (v_{l+2} − t_l) ⊙ e^{−σ_l}   and   ln |∂x/∂z| = Σ_l Σ_i σ_l,i.
type flow struct {
	nets  networks // netsPerCoupling for each coupling
	depth int      // number of couplings
	clamp float32  // κ
	parts [2][]int // coordinates of v_l for even and for odd l

	netsPerCoupling int // scale and translation; lean and tail where couplings bend
	bent            bool
	maxEpsilon      float32 // a, the bound of the bends' ε
	maxLogDelta     float32 // b, the bound of their ln δ
}

func newFlow(c GeneratorConfig, dim int) *flow {
	f := &flow{nets: networks{dim: dim, latent: dim}, depth: c.Depth, clamp: float32(c.Clamp), bent: c.Bent}
	names := []string{"scale", "translation"}
	if f.bent {
		f.maxEpsilon, f.maxLogDelta = c.bendBounds()
		names = append(names, "lean", "tail")
	}
	f.netsPerCoupling = len(names)
	for i := range dim {
		part := i % 2
		switch c.Partition {
		case "halves":
			part = i / ((dim + 1) / 2)
		case "listed":
			part = 1
			if slices.Contains(c.Changed, i) {
				part = 0
			}
		}
		f.parts[part] = append(f.parts[part], i)
	}
	for l := range f.depth {
		sizes := slices.Concat([]int{f.width(l + 1)}, c.Hidden, []int{f.width(l)})
		for _, name := range names {
			f.nets.add(fmt.Sprintf("coupling %d, %s: ", l+1, name), nn.NewMLP(float32(c.Slope), sizes...))
		}
	}
	return f
}

func (f *flow) networks() *networks { return &f.nets }

// width returns the number of coordinates of v_l.
func (f *flow) width(l int) int { return len(f.parts[l%2]) }

// A flowPass holds the rows that the last forward or inverse took through a flow.
type flowPass struct {
	flow     *flow
	rows     int
	v        [][]float32 // v_l, [rows][width(l)]
	squashed [][]float32 // tanh(s_l/κ)
	stretch  [][]float32 // e^{σ_l}
	shift    []float32   // t_l of the present coupling
	noise    []float32   // of states whose density is asked for, [rows][dim]
	recorder recorder
	layers   []nn.Activations // of the perceptrons

	// For couplings that bend:
	lean, tail    [][]float32 // tanh(s_ε/a) and tanh(s_δ/b)
	exponents     []float32   // ε, and then ln δ, of the present coupling, and their exponentials
	bends         []asm.Bends // h
	intermediates []asm.Bent  // of h, for its gradient
	u             [][]float32 // u_l = h(v_l)
	x64           []float64   // argument of h, and then its value
	logSlopes     []float64   // Σ ln h′ of each row
}

func (f *flow) newPass(rows int, backward bool) pass {
	widest := max(f.width(0), f.width(1))
	p := &flowPass{flow: f, recorder: recorder{rows: rows, backward: backward}, shift: make([]float32, rows*widest), noise: make([]float32, rows*f.nets.dim)}
	for l := range f.depth + 2 {
		p.v = append(p.v, make([]float32, rows*f.width(l)))
	}
	for l := range f.depth {
		p.squashed = append(p.squashed, make([]float32, rows*f.width(l)))
		p.stretch = append(p.stretch, make([]float32, rows*f.width(l)))
		outs := [][]float32{p.squashed[l], p.shift}
		if f.bent {
			n := rows * f.width(l)
			p.lean, p.tail = append(p.lean, make([]float32, n)), append(p.tail, make([]float32, n))
			p.u, p.bends, p.intermediates = append(p.u, make([]float32, n)), append(p.bends, asm.NewBends(n)), append(p.intermediates, asm.NewBent(n))
			outs = append(outs, p.lean[l], p.tail[l])
		}
		for i, out := range outs {
			p.layers = append(p.layers, p.recorder.activations(f.nets.nets[f.netsPerCoupling*l+i], p.v[l+1], out))
		}
	}
	if f.bent {
		p.exponents, p.x64 = make([]float32, rows*widest), make([]float64, asm.Octets(rows*widest))
		p.logSlopes = make([]float64, rows)
	}
	return p
}

// split sets v[0] and v[1] to the columns of v_l and v_{l+1} in x, [rows][dim].
func (p *flowPass) split(v [][]float32, x []float32, l int) {
	for i := range 2 {
		columns, d := p.flow.parts[(l+i)%2], p.flow.nets.dim
		for r := range p.rows {
			row, part := x[r*d:(r+1)*d], v[i][r*len(columns):]
			for j, column := range columns {
				part[j] = row[column]
			}
		}
	}
}

// join is the inverse of split.
func (p *flowPass) join(x []float32, v [][]float32, l int) {
	for i := range 2 {
		columns, d := p.flow.parts[(l+i)%2], p.flow.nets.dim
		for r := range p.rows {
			row, part := x[r*d:(r+1)*d], v[i][r*len(columns):]
			for j, column := range columns {
				row[column] = part[j]
			}
		}
	}
}

// condition evaluates the perceptrons of coupling l at v_{l+1}. It sets squashed, stretch and shift,
// and the bends.
func (p *flowPass) condition(l int, w *weights) {
	f := p.flow
	for i := f.netsPerCoupling * l; i < f.netsPerCoupling*(l+1); i++ {
		f.nets.nets[i].Forward(p.layers[i], w.packed[i], f.nets.slice(w.params, i), 0, p.rows)
	}
	n := p.rows * f.width(l)
	squashed, stretch := p.squashed[l][:n], p.stretch[l][:n]
	if f.clamp != 1 {
		for i := range squashed {
			squashed[i] /= f.clamp
		}
	}
	asm.Tanh(squashed, squashed)
	for i, v := range squashed {
		stretch[i] = f.clamp * v
	}
	asm.Exp(stretch, stretch)
	if f.bent {
		p.setBends(l)
	}
}

func (p *flowPass) forward(s States, z, _ []float32, w *weights) { p.transform(s.X, z, w) }

// transform sets x to the states of the noise z.
func (p *flowPass) transform(x, z []float32, w *weights) {
	f := p.flow
	p.rows = len(z) / f.nets.dim
	clear(p.logSlopes)
	p.split(p.v, z, 0)
	for l := range f.depth {
		p.condition(l, w)
		v, next := p.v[l], p.v[l+2]
		if f.bent {
			p.bend(l)
			v = p.u[l]
		}
		shift := p.shift[:len(v)]
		for i, e := range p.stretch[l][:p.rows*f.width(l)] {
			next[i] = v[i]*e + shift[i]
		}
	}
	p.join(x, p.v[f.depth:], f.depth)
}

// inverse sets z to the noise from which transform makes x.
func (p *flowPass) inverse(z, x []float32, w *weights) {
	f := p.flow
	p.rows = len(x) / f.nets.dim
	clear(p.logSlopes)
	p.split(p.v[f.depth:], x, f.depth)
	for l := f.depth - 1; l >= 0; l-- {
		p.condition(l, w)
		v, next := p.v[l], p.v[l+2]
		if f.bent {
			v = p.u[l]
		}
		shift := p.shift[:len(v)]
		for i, e := range p.stretch[l][:p.rows*f.width(l)] {
			v[i] = (next[i] - shift[i]) / e
		}
		if f.bent {
			p.unbend(l)
		}
	}
	p.join(z, p.v, 0)
}

// density implements densePass.
func (p *flowPass) density(dst []float64, s States, w *weights) {
	p.inverse(p.noise[:len(s.X)], s.X, w)
	p.logDensity(dst)
}

// logDensity sets dst[r] = ln q(x_r) of the rows of the last forward or inverse,
// ln N(z | 0, I) − ln |∂x/∂z|.
func (p *flowPass) logDensity(dst []float64) {
	f := p.flow
	for r := range dst {
		dst[r] = -float64(f.nets.dim) / 2 * math.Log(2*math.Pi)
	}
	for l := range 2 {
		width := f.width(l)
		for r := range dst {
			for _, z := range p.v[l][r*width : (r+1)*width] {
				dst[r] -= float64(z) * float64(z) / 2
			}
		}
	}
	p.volume(dst)
}

// volume subtracts ln |∂x/∂z| of the rows of the last forward or inverse.
func (p *flowPass) volume(dst []float64) {
	f := p.flow
	for l := range f.depth {
		width := f.width(l)
		for r := range dst {
			for _, v := range p.squashed[l][r*width : (r+1)*width] {
				dst[r] -= float64(f.clamp) * float64(v)
			}
		}
	}
	if f.bent {
		floats.Sub(dst, p.logSlopes[:len(dst)])
	}
}

// backward goes through the couplings in reverse. With g the gradient with respect to
// v_{l+2},
//
//	∂L/∂t_l = g,   ∂L/∂s_l = g ⊙ v_l ⊙ e^{σ_l} (1 − tanh²(s_l/κ)),
//	∂L/∂v_l = g ⊙ e^{σ_l},
//
// and both perceptrons add their share to the gradient with respect to v_{l+1}.
func (p *flowPass) backward(grad []float32, ds stateGradient, w *weights, s *scratch) {
	f := p.flow
	p.split(s.dv[:], ds.x, 0)
	for l := f.depth - 1; l >= 0; l-- {
		n := p.rows * f.width(l)
		g, dInput := s.dv[l%2][:n], s.dv[(l+1)%2][:p.rows*f.width(l+1)]
		v, stretch, squashed := p.v[l][:n], p.stretch[l][:n], p.squashed[l][:n]
		dScale := s.dScale[:n]
		for i, q := range squashed {
			dScale[i] = g[i] * v[i] * stretch[i] * (1 - q*q)
		}
		if l == 0 { // v_1 is noise
			dInput = nil
		}
		p.propagate(grad, l, dInput, w, s, dScale, g)
		for i, e := range stretch {
			g[i] *= e
		}
	}
}

// score implements densePass. The gradient of ln N(z | 0, I) is −z.
func (p *flowPass) score(grad []float32, c []float64, w *weights, s *scratch) {
	dz := p.noise[:p.rows*p.flow.nets.dim]
	p.join(dz, p.v, 0)
	for i, z := range dz {
		dz[i] = -z
	}
	p.scoreFrom(grad, dz, c, w, s)
}

// scoreFrom goes through the couplings of the inverse, given dz, the gradient of the base's ln density
// with respect to the noise. With g the gradient of Σ_r c_r ln q(x_r) with respect to v_l, the
// states held fixed,
//
//	∂/∂t_l = −g ⊙ e^{−σ_l},   ∂/∂s_l = −(g ⊙ v_l + c_r) (1 − tanh²(s_l/κ)),
//	∂/∂v_{l+2} = g ⊙ e^{−σ_l}.
func (p *flowPass) scoreFrom(grad, dz []float32, c []float64, w *weights, s *scratch) {
	f, d := p.flow, p.flow.nets.dim
	for r, coefficient := range c {
		for i := r * d; i < (r+1)*d; i++ {
			dz[i] *= float32(coefficient)
		}
	}
	p.split(s.dv[:], dz, 0)
	for l := range f.depth {
		width := f.width(l)
		n := p.rows * width
		g, dInput := s.dv[l%2][:n], s.dv[(l+1)%2][:p.rows*f.width(l+1)]
		v, stretch, squashed := p.v[l][:n], p.stretch[l][:n], p.squashed[l][:n]
		dScale := s.dScale[:n]
		if f.bent {
			p.backwardBend(l, g, c, s)
			v = p.u[l][:n]
		}
		for r := range p.rows {
			coefficient := float32(c[r])
			for i := r * width; i < (r+1)*width; i++ {
				q := squashed[i]
				dScale[i] = -(g[i]*v[i] + coefficient) * (1 - q*q)
				g[i] /= stretch[i]
			}
		}
		dShift := s.dShift[:n]
		for i, v := range g {
			dShift[i] = -v
		}
		if l+1 == f.depth { // v_{depth} is the state
			dInput = nil
		}
		outs := [...][]float32{dScale, dShift, s.dLean, s.dTail}
		p.propagate(grad, l, dInput, w, s, outs[:f.netsPerCoupling]...)
	}
}

// propagate takes the gradients douts with respect to the outputs of coupling l's perceptrons back. It
// adds the gradient with respect to their parameters to grad, and that with respect to their
// input v_{l+1} to dInput unless it is nil.
func (p *flowPass) propagate(grad []float32, l int, dInput []float32, w *weights, s *scratch, douts ...[]float32) {
	f, n := p.flow, p.rows*p.flow.width(l)
	for i, dout := range douts {
		net := f.netsPerCoupling*l + i
		din := s.dInput[:len(dInput)]
		if dInput == nil {
			din = nil
		}
		p.recorder.backprop(f.nets.nets[net], f.nets.slice(grad, net), din, dout[:n], f.nets.slice(w.params, net),
			p.layers[net], w.packed[net], p.rows, s.net)
		if dInput != nil {
			asm.Accumulate(dInput, din)
		}
	}
}

func (p *flowPass) laws(*weights) []float64                 { return []float64{1} }
func (p *flowPass) image(x, z []float32, _ int, w *weights) { p.transform(x, z, w) }

func (f *flow) forward64(params, z []float64) (x, _ []float64) {
	x, _ = f.transform64(params, z)
	return x, nil
}

// transform64 returns the state of the noise z and ln |∂x/∂z| in float64. It is the specification of
// transform, and gradients are checked against its central differences.
func (f *flow) transform64(params, z []float64) (x []float64, logVolume float64) {
	v := f.split64(z)
	for l := range f.depth {
		sigma, shift, bends := f.condition64(params, l, v[(l+1)%2])
		for i := range sigma {
			if f.bent {
				u, slope := bends[i].Apply(v[l%2][i])
				v[l%2][i] = u
				logVolume += math.Log(slope)
			}
			v[l%2][i] = v[l%2][i]*math.Exp(sigma[i]) + shift[i]
			logVolume += sigma[i]
		}
	}
	return f.join64(v), logVolume
}

// split64 returns the parts of a row: v[0] has v_l of even l, v[1] those of odd l.
func (f *flow) split64(x []float64) (v [2][]float64) {
	for part, columns := range f.parts {
		for _, i := range columns {
			v[part] = append(v[part], x[i])
		}
	}
	return v
}

// join64 is the inverse of split64.
func (f *flow) join64(v [2][]float64) []float64 {
	x := make([]float64, f.nets.dim)
	for part, columns := range f.parts {
		for i, column := range columns {
			x[column] = v[part][i]
		}
	}
	return x
}

// inverse64 returns the noise of the state x and ln |∂x/∂z| in float64.
func (f *flow) inverse64(params, x []float64) (z []float64, logVolume float64) {
	v := f.split64(x)
	for l := f.depth - 1; l >= 0; l-- {
		sigma, shift, bends := f.condition64(params, l, v[(l+1)%2])
		for i := range sigma {
			v[l%2][i] = (v[l%2][i] - shift[i]) * math.Exp(-sigma[i])
			logVolume += sigma[i]
			if f.bent {
				unbent, slope := bends[i].Invert(v[l%2][i])
				v[l%2][i] = unbent
				logVolume -= math.Log(slope)
			}
		}
	}
	return f.join64(v), logVolume
}

// logDensity64 returns the function ln q(x) in float64 for the given parameters. It is the
// specification of logDensity.
func (f *flow) logDensity64(params []float64) func(x []float64, k int) float64 {
	return func(x []float64, _ int) float64 {
		z, logVolume := f.inverse64(params, x)
		log := -float64(f.nets.dim)/2*math.Log(2*math.Pi) - logVolume
		for _, v := range z {
			log -= v * v / 2
		}
		return log
	}
}

// condition64 returns σ_l and t_l, and the bends if there are any, given the perceptrons' input
// v_{l+1}.
func (f *flow) condition64(params []float64, l int, input []float64) (sigma, shift []float64, bends []mixture.Shape) {
	n := &f.nets
	output := func(i int) []float64 {
		net := f.netsPerCoupling*l + i
		return n.nets[net].Forward64(params[n.offsets[net]:], input)
	}
	sigma, shift = output(0), output(1)
	clamp := float64(f.clamp)
	for i, s := range sigma {
		sigma[i] = clamp * math.Tanh(s/clamp)
	}
	if f.bent {
		lean, tail := output(2), output(3)
		a, b := float64(f.maxEpsilon), float64(f.maxLogDelta)
		for i, s := range lean {
			bends = append(bends, mixture.NewShape(a*math.Tanh(s/a), b*math.Tanh(tail[i]/b)))
		}
	}
	return sigma, shift, bends
}
