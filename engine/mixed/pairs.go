package mixed

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// pairs are the paper's losses: the maximum mean discrepancy between the laws of (s, s′)
// and (s′, s), or a learned discriminator of both, through the outputs of a perceptron.
type pairs struct {
	*System
	perceptron *perceptron
	batch      *batch // s
	packed     *nn.Packed
	loss       lossGradient
	gradX      []float32 // ∂L/∂x, [n][d]
	witness    []float32 // of every mode, [n][M]
	dout       [][]float32
	scratch    []*nn.Scratch
	params     []float32 // of the step under way
	stepped    []pool.Span

	pack      func(part int)
	drawBlock func(block, lo, hi int, _ []float32)
	moveBlock func(block, lo, hi int, _ []float32)
	backBlock func(lane, lo, hi int, grad []float32)
}

func (g *perceptron) learner(s *System) (learner, error) {
	n, d := s.config.Training.Batch, g.dim
	loss, err := s.config.Loss.lossGradient(n, d, g.modes, s.config.Training.Seed, s.workers)
	if err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	p := &pairs{
		System: s, perceptron: g, batch: g.newBatch(n), packed: g.NewPacked(true), loss: loss,
		gradX: make([]float32, n*d), witness: make([]float32, n*g.modes),
		scratch: nn.PerLane(s.lanes, func() *nn.Scratch { return g.NewScratch(nn.BlockRows()) }),
		dout:    nn.PerLane(s.lanes, func() []float32 { return make([]float32, nn.BlockRows()*g.Out()) }),
	}
	s.s, s.next = p.batch.States, newStates(n, d)
	p.stepped = []pool.Span{
		nn.RowSpan(s.lanes, s.s.X, d), nn.RowSpan(s.lanes, s.s.K, 1),
		nn.RowSpan(s.lanes, s.next.X, d), nn.RowSpan(s.lanes, s.next.K, 1), nn.BlockSpan(s.lanes, s.counts),
	}
	p.pack = func(part int) { g.PackPart(p.packed, p.params, part) }
	p.drawBlock = func(block, lo, hi int, _ []float32) {
		g.forward(p.batch, p.packed, p.params, lo, hi, &s.from, uint64(lo), s.uniforms[block])
	}
	p.moveBlock = func(block, lo, hi int, _ []float32) {
		s.moves[block].begin(s.s.Part(lo, hi))
		s.move(block, lo, hi)
	}
	p.backBlock = func(lane, lo, hi int, grad []float32) {
		dout := p.dout[lane][:(hi-lo)*g.Out()]
		p.outputGradient(dout, lo, hi)
		g.Backward(grad, nil, dout, p.batch.activations, p.packed, lo, hi, p.scratch[lane])
	}
	return p, nil
}

func (p *pairs) generate(params []float32) {
	p.params = params
	p.workers.Run(p.perceptron.PackParts(), p.pack)
	p.lanes.Own(p.drawBlock)
}

func (p *pairs) transition() { p.lanes.Share(p.moveBlock, p.stepped...) }

func (p *pairs) measure() float64 {
	return p.loss.LossGradient(p.s.X, p.next.X, p.s.K, p.next.K, p.gradX, p.witness)
}

func (p *pairs) backward(params, grad []float32) {
	p.params = params
	p.lanes.Backward(grad, p.backBlock)
}

func (p *pairs) carried() []engine.Section { return state.Of(p.loss) }

func (p *pairs) acceptance(moves float64) float64 { return moves }

// outputGradient sets dout, [hi−lo][Out], to the gradient with respect to the outputs of
// rows lo … hi−1. It passes the witness F straight through the draw of a mode, as if the
// loss saw the probabilities p_c themselves: ∂L/∂h_c = p_c (F_c − Σ p F).
func (p *pairs) outputGradient(dout []float32, lo, hi int) {
	g := p.perceptron
	for i := lo; i < hi; i++ {
		row := dout[(i-lo)*g.Out():][:g.Out()]
		copy(row, p.gradX[i*g.dim:][:g.dim])
		prob, f := p.batch.probabilities[i*g.modes:][:g.modes], p.witness[i*g.modes:][:g.modes]
		var mean float32
		for c, p := range prob {
			mean += p * f[c]
		}
		for c, p := range prob {
			row[g.dim+c] = p * (f[c] - mean)
		}
	}
}
