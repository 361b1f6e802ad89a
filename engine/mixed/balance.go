package mixed

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
)

// balance is the loss of detailed balance of a density.
type balance struct {
	*System
	loss    *engine.Balance
	density *density
	packed  *mixture.Packed
	normals [][]float32     // of blocks
	work    []*mixture.Work // of each block's s
	after   []*mixture.Work // of its s′, nil where none moves
	params  []float32       // of the step under way
	stepped []pool.Span

	drawBlock func(block, lo, hi int, _ []float32)
	moveBlock func(block, lo, hi int, _ []float32)
	backBlock func(lane, lo, hi int, grad []float32)
}

func (g *density) learner(s *System) (learner, error) {
	n, d := s.config.Training.Batch, g.Dim()
	b := &balance{
		System: s, loss: engine.NewBalance(s.config.Loss.Balancing, n, nn.BlockRows(), 1),
		density: g, packed: g.NewPacked(),
	}
	s.s, s.Dense = newStates(n, d), true
	b.stepped = []pool.Span{nn.RowSpan(s.lanes, b.loss.R, 1), nn.RowSpan(s.lanes, b.loss.Next, 1), nn.BlockSpan(s.lanes, s.counts)}
	if b.loss.Moved() == 0 {
		b.stepped = b.stepped[:1]
	} else {
		s.next = newStates(n, d)
	}
	for lo := 0; lo < n; lo += nn.BlockRows() {
		hi := min(lo+nn.BlockRows(), n)
		b.normals = append(b.normals, make([]float32, (hi-lo)*d))
		b.work = append(b.work, g.NewWork(hi-lo))
		if moving := b.loss.Moving(lo, hi) - lo; moving > 0 {
			b.after = append(b.after, g.NewWork(moving))
		}
	}
	b.drawBlock = func(block, lo, hi int, _ []float32) {
		g.draw(s.s.Part(lo, hi), b.packed, &s.from, uint64(lo), s.uniforms[block], b.normals[block], b.work[block])
	}
	b.moveBlock = b.weigh
	b.backBlock = func(_, lo, hi int, grad []float32) {
		block, end := lo/nn.BlockRows(), b.loss.Moving(lo, hi)
		b.packed.Score(grad, b.loss.Weight[lo:hi], b.work[block])
		if end > lo {
			b.packed.Score(grad, b.loss.NextWeight[lo:end], b.after[block])
		}
	}
	return b, nil
}

func (b *balance) generate(params []float32) {
	b.params = params
	b.packed.Set(params)
	b.lanes.Own(b.drawBlock)
}

func (b *balance) transition() { b.lanes.Share(b.moveBlock, b.stepped...) }

// weigh sets R of a block's states, at the step's temperature, and of where those that
// move have gone. The moves know ln π of both.
func (b *balance) weigh(block, lo, hi int, _ []float32) {
	m, s, end := b.moves[block], b.s.Part(lo, hi), b.loss.Moving(lo, hi)
	b.packed.LogDensity(b.loss.R[lo:hi], s.X, s.K, b.work[block])
	m.begin(s)
	m.subtract(b.loss.R[lo:hi])
	if end > lo {
		b.move(block, lo, end)
		s = b.next.Part(lo, end)
		b.packed.LogDensity(b.loss.Next[lo:end], s.X, s.K, b.after[block])
		m.subtract(b.loss.Next[lo:end])
	}
}

func (b *balance) measure() float64 { return b.loss.Measure() }

func (b *balance) backward(_, grad []float32) {
	b.lanes.Backward(grad, b.backBlock)
	b.packed.Finish(grad, b.loss.Total+b.loss.NextTotal)
}

func (b *balance) carried() []engine.Section { return nil }

func (b *balance) acceptance(moves float64) float64 { return b.loss.Acceptance(moves) }
