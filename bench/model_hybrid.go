package bench

import (
	"encoding/binary"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/pool"
)

type hybridModel struct{ *hybrid.Config }

func (m hybridModel) sizes() []int {
	return append(append([]int{m.Generator.Latent}, m.Generator.Hidden...), 1+len(m.Target.Mu))
}

func (m hybridModel) generator() (forward, backward work) { return perceptron(true, m.sizes()...) }

// discrepancy counts the kernels that are not zero because of the modes. With
// the fractions p_c of the modes, which a transition changes little, each of
// the two sums has Σ p_c² of all pairs whose s′ agree, or s and s′, in mode; as
// kernels are symmetric, half of them need to be evaluated.
func (m hybridModel) discrepancy(s engine.System, params []float32) ([]phase, error) {
	n := m.Training.Batch
	_, modes, err := hybridStates(s, params, n)
	if err != nil {
		return nil, err
	}
	count := make([]float64, len(m.Target.Mu))
	for _, k := range modes {
		count[k]++
	}
	var evaluations float64
	for _, c := range count {
		evaluations += c * c
	}
	kernel := kernelCounts(m.Loss.Kernel)
	// Two differences and their squares, and the sums of the gradient.
	return []phase{{name: "discrepancy", counts: map[Resource]float64{
		FMA:   evaluations * (kernel[FMA] + 2 + 2),
		Float: evaluations * (kernel[Float] + 4 + 2),
	}}}, nil
}

// hybridStates returns the first n samples of a generator.
func hybridStates(s engine.System, params []float32, n int) (x []float32, k []uint32, err error) {
	data := make([]byte, 8*n)
	if err := s.(engine.Sampler).Sample(data, "states", params, 0, n, 0); err != nil {
		return nil, nil, err
	}
	for i := range n {
		x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(data[8*i:])))
		k = append(k, binary.LittleEndian.Uint32(data[8*i+4:]))
	}
	return x, k, nil
}

func (m hybridModel) reference(s engine.System, workers *pool.Pool) (*reference, error) {
	if m.Transition.Order != "paper-order" {
		return nil, errOwnRecipe
	}
	n, modes := m.Training.Batch, len(m.Target.Mu)
	net := nn.NewMLP(float32(m.Generator.Slope), m.sizes()...)
	params := make([]float32, net.NumParams())
	s.Initialize(params)
	packed, a := net.NewPacked(true), net.NewActivations(n)
	net.Pack(packed, params)
	copy(a[0], noise(n*m.Generator.Latent, 11))
	net.Forward(a, packed, params, 0, n)

	// States from the outputs, the choice of mode by uniform numbers, and any s′.
	out, width := a.Output(), 1+modes
	u := make([]float32, (n+3)/4*4)
	asm.Uniforms(u, &asm.Counter{Seed: 12}, 0)
	moves := noise(n, 13)
	x, y, probabilities := make([]float32, n), make([]float32, n), make([]float32, n*modes)
	k, l := make([]uint8, n), make([]uint8, n)
	t := make([]float32, 0, n*width)
	for i := range n {
		row := out[i*width:][:width]
		x[i], y[i] = row[0], row[0]+0.5*moves[i]
		p := probabilities[i*modes:][:modes]
		sum, below := 0.0, 0.0
		for c, logit := range row[1:] {
			p[c] = float32(math.Exp(float64(logit)))
			sum += float64(p[c])
		}
		for c := range p {
			p[c] /= float32(sum)
			if c < modes-1 {
				if below += float64(p[c]); float64(u[i]) >= below {
					k[i] = uint8(c + 1)
				}
			}
		}
		l[i] = k[i]
		if i%3 == 0 {
			l[i] = uint8((int(k[i]) + 1) % modes)
		}
		t = append(t, y[i])
		for c := range modes {
			t = append(t, 0)
			if c == int(l[i]) {
				t[len(t)-1] = 1
			}
		}
	}
	loss, err := mmd.NewMixed(n, 1, modes, m.Loss.Kernel, m.Loss.Statistic, workers)
	if err != nil {
		return nil, err
	}
	gradX, gradK := make([]float32, n), make([]float32, n*modes)
	r := &reference{grad: make([]float32, len(params))}
	r.loss = loss.LossGradient(x, y, k, l, gradX, gradK)

	// The witness passes straight through the draw to the softmax.
	dout := make([]float32, n*width)
	for i := range n {
		row, p, f := dout[i*width:][:width], probabilities[i*modes:][:modes], gradK[i*modes:][:modes]
		row[0] = gradX[i]
		mean := float32(0)
		for c := range p {
			mean += p[c] * f[c]
		}
		for c := range p {
			row[1+c] = p[c] * (f[c] - mean)
		}
	}
	net.Backward(r.grad, nil, dout, a, packed, 0, n, net.NewScratch(n))
	r.inputs = map[string][]float32{"params": params, "z": a[0], "u": u[:n], "t": t}
	return r, nil
}

func (m hybridModel) samples(s engine.System, params []float32, p *peers.Process) (agreement, error) {
	const n = 2048
	x, k, err := hybridStates(s, params, n)
	if err != nil {
		return agreement{}, err
	}
	// A sample's mode is decided by the first word of its block.
	blocks, u := make([]float32, 4*n), make([]float32, n)
	head := rng.Stream(m.Training.Seed, rng.SampleHead, 0)
	asm.Uniforms(blocks, &head, 0)
	for i := range u {
		u[i] = blocks[4*i]
	}
	width := 1 + len(m.Target.Mu)
	theirs := make([]float32, n*width)
	if err := generated(p, m.Config, params, m.Generator.Latent, n, u, theirs); err != nil {
		return agreement{}, err
	}
	different, coordinates := 0.0, make([]float32, n)
	for i := range n {
		coordinates[i] = theirs[i*width]
		if theirs[i*width+1+int(k[i])] < 0.5 {
			different++
		}
	}
	return agreement{max(worst(x, coordinates), different/n/100), 1e-4,
		"largest difference of coordinates relative to the largest, or a hundredth of the fraction of other modes, from the same noise"}, nil
}
