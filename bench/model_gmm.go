package bench

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/internal/pool"
)

type mixtureModel struct{ *gmm.Config }

func (m mixtureModel) dim() int { return len(m.Target.Components[0].Mean) }

// width returns the number of coordinates of one of the two parts of a flow.
func (m mixtureModel) width(part int) int {
	half := (m.dim() + 1) / 2
	if part%2 == 0 {
		return half
	}
	return m.dim() - half
}

// sizes returns the widths of the two perceptrons of coupling l.
func (m mixtureModel) sizes(l int) []int {
	sizes := append([]int{m.width(l + 1)}, m.Generator.Hidden...)
	return append(sizes, m.width(l))
}

func (m mixtureModel) generator() (forward, backward work) {
	g := &m.Generator
	forward, backward = work{}, work{}
	for l := range g.Depth {
		var sizes []int
		nets := 2.0
		if g.Kind == "realnvp" {
			sizes = m.sizes(l)
		} else {
			latent := cmp.Or(g.Latent, m.dim())
			sizes, nets = append(append([]int{latent}, g.Hidden...), latent), 1
		}
		f, b := perceptron(l == 0, sizes...) // only the first sees noise, whose gradient nobody needs
		forward.add(nets, f)
		backward.add(nets, b)
	}
	return forward, backward
}

func (m mixtureModel) discrepancy(engine.System, []float32) ([]phase, error) {
	if m.Loss.Kind != "mmd" {
		return nil, nil
	}
	return []phase{pairwise("discrepancy", m.Training.Batch, m.Loss.Kernel, m.dim())}, nil
}

// A coupling is one affine coupling of the paper's flow in two dimensions with
// what its backward pass needs.
type coupling struct {
	scale, translation *nn.MLP
	packed             [2]*nn.Packed
	activations        [2]nn.Activations
	before             []float32 // the coordinate that it changes
	offset             int       // of its parameters
}

func (m mixtureModel) reference(s engine.System, workers *pool.Pool) (*reference, error) {
	g, l := &m.Generator, &m.Loss
	if g.Kind != "realnvp" || m.dim() != 2 || g.Partition != "parity" || l.Kind != "mmd" || len(m.Transition.Sigma) > 1 {
		return nil, errOwnRecipe
	}
	n, params := m.Training.Batch, make([]float32, s.NumParams())
	s.Initialize(params)
	z := noise(2*n, 11)
	v := [2][]float32{make([]float32, n), make([]float32, n)}
	for i, x := range z {
		v[i%2][i/2] = x
	}

	var couplings []*coupling
	offset := 0
	for k := range g.Depth {
		c := &coupling{before: append([]float32(nil), v[k%2]...), offset: offset}
		c.scale = nn.NewMLP(float32(g.Slope), m.sizes(k)...)
		c.translation = nn.NewMLP(float32(g.Slope), m.sizes(k)...)
		for i, net := range []*nn.MLP{c.scale, c.translation} {
			c.packed[i], c.activations[i] = net.NewPacked(true), net.NewActivations(n)
			net.Pack(c.packed[i], params[offset:])
			copy(c.activations[i][0], v[(k+1)%2])
			net.Forward(c.activations[i], c.packed[i], params[offset:], 0, n)
			offset += net.NumParams()
		}
		for i := range n {
			stretch, _ := m.stretch(c, i)
			v[k%2][i] = v[k%2][i]*float32(stretch) + c.activations[1].Output()[i]
		}
		couplings = append(couplings, c)
	}

	// The loss of any moves, and the penalty.
	states, moved, grad := make([]float32, 2*n), noise(2*n, 12), make([]float32, 2*n)
	for i := range states {
		states[i] = v[i%2][i/2]
		moved[i] = states[i] + 0.1*moved[i]
	}
	gram, err := mmd.NewGram(n, 2, l.Kernel, l.Statistic, workers)
	if err != nil {
		return nil, err
	}
	r := &reference{grad: make([]float32, len(params))}
	r.loss = gram.LossGradient(states, moved, grad) + m.penalty(states, grad)

	// Back through the couplings.
	dv := [2][]float32{make([]float32, n), make([]float32, n)}
	for i, x := range grad {
		dv[i%2][i/2] = x
	}
	for k := g.Depth - 1; k >= 0; k-- {
		c := couplings[k]
		dscale, din := make([]float32, n), make([]float32, n)
		dtranslation := append([]float32(nil), dv[k%2]...)
		for i := range n {
			stretch, slope := m.stretch(c, i)
			dscale[i] = float32(float64(dv[k%2][i]*c.before[i]) * stretch * slope)
			dv[k%2][i] *= float32(stretch)
		}
		at := c.offset
		for i, net := range []*nn.MLP{c.scale, c.translation} {
			dout := [][]float32{dscale, dtranslation}[i]
			net.Backward(r.grad[at:], din, dout, c.activations[i], c.packed[i], 0, n, net.NewScratch(n))
			at += net.NumParams()
			for j, d := range din {
				dv[(k+1)%2][j] += d
			}
		}
	}
	r.inputs = map[string][]float32{"params": params, "z": z, "t": moved}
	return r, nil
}

// stretch returns e^σ of row i of a coupling, σ = c·tanh(s/c), and dσ/ds.
func (m mixtureModel) stretch(c *coupling, i int) (stretch, slope float64) {
	clamp := m.Generator.Clamp
	th := math.Tanh(float64(c.activations[0].Output()[i]) / clamp)
	return math.Exp(clamp * th), 1 - th*th
}

// penalty returns the soft boundary penalty and adds its gradient.
func (m mixtureModel) penalty(states, grad []float32) (sum float64) {
	b := &m.Loss.Boundary
	n := float64(len(states) / 2)
	for i := 0; i < len(states); i += 2 {
		var offset [2]float64
		square := -b.Radius * b.Radius
		for d := range offset {
			offset[d] = float64(states[i+d])
			if len(b.Center) > 0 {
				offset[d] -= b.Center[d]
			}
			square += offset[d] * offset[d]
		}
		p := 1 / (1 + math.Exp(-b.Sharpness*square))
		sum += b.Weight * p / n
		for d := range offset {
			grad[i+d] += float32(2 * b.Sharpness * b.Weight * p * (1 - p) * offset[d] / n)
		}
	}
	return sum
}

func (m mixtureModel) samples(s engine.System, params []float32, p *peers.Process) (agreement, error) {
	const n = 2048
	if m.Generator.Kind != "realnvp" || m.Generator.Partition != "parity" {
		return agreement{}, errOwnRecipe
	}
	sampler := s.(engine.Sampler)
	data := make([]byte, 4*n*m.dim())
	if err := sampler.Sample(data, sampler.Formats()[0].Name, params, 0, n, 0); err != nil {
		return agreement{}, err
	}
	ours, theirs := make([]float32, n*m.dim()), make([]float32, n*m.dim())
	if _, err := binary.Decode(data, binary.LittleEndian, ours); err != nil {
		return agreement{}, err
	}
	if err := generated(p, m.Config, params, m.dim(), n, nil, theirs); err != nil {
		return agreement{}, err
	}
	return agreement{worst(ours, theirs), 1e-4, "largest difference relative to the largest coordinate, from the same noise"}, nil
}
