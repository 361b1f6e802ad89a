package mixed

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/internal/state"
)

// An objective of states as they were drawn says what each contributes.
type drawn interface {
	objective
	// contributions sets, for the batch just measured, gradX to ∂L/∂x with the
	// choice fixed and values to the derivative of the loss by the share of each
	// state in the batch, over the number of states; at least of a rank's own states.
	contributions(b *batch, gradX, values []float32)
}

// score takes the gradient through the draw of a choice by the score function
// (REINFORCE), for any head: ∂L/∂h_c = (1_c − p_c)(F − b), where b is the mean of
// F over the other states of the same half of the batch; the point that
// was drawn gets ∂L/∂x.
type score struct {
	drawn
	generator     *generator
	lanes         *nn.Lanes
	gradX, values []float32
	valued        []pool.Span
}

func newScore(of drawn, g *generator, lanes *nn.Lanes, n int) *score {
	o := &score{drawn: of, generator: g, lanes: lanes, gradX: make([]float32, n*g.dim), values: make([]float32, n)}
	o.valued = []pool.Span{nn.RowSpan(lanes, o.values, 1)}
	return o
}

// State lists what the objective carries from step to step.
func (o *score) State() []engine.Section { return state.Of(o.drawn) }

func (o *score) measure(b *batch, x []float32, k []uint8) float64 {
	loss := o.drawn.measure(b, x, k)
	o.contributions(b, o.gradX, o.values)
	o.lanes.Gather(o.valued...)
	stat.LeaveOneOut(o.values)
	return loss
}

func (o *score) outputGradient(dout []float32, b *batch, _, lo, hi int) {
	g := o.generator
	for i := lo; i < hi; i++ {
		row := dout[(i-lo)*g.net.Out():][:g.net.Out()]
		clear(row[:g.coordinates])
		copy(b.drawn(g, row, i), o.gradX[i*g.dim:][:g.dim])
		f, logits := o.values[i], row[g.coordinates:]
		for c, p := range b.probabilities[i*g.choices:][:g.choices] {
			logits[c] = -p * f
		}
		logits[b.choice[i]] += f
	}
}

// drawn returns the coordinates, in a row of the generator's outputs, of the point
// that sample i is at.
func (b *batch) drawn(g *generator, row []float32, i int) []float32 {
	return row[g.point(int(b.choice[i]))*g.dim:][:g.dim]
}

func (o *meanDiscrepancy) contributions(_ *batch, gradX, values []float32) {
	copy(gradX, o.gradX)
	copy(values, o.witness)
}

func (o *leastSquares) contributions(b *batch, gradX, values []float32) {
	n, modes, d := len(b.k), o.generator.modes, o.generator.dim
	c := &o.all
	lo, hi := o.lanes.OwnRows()
	o.fit.Evaluate(c.value[lo*modes:hi*modes], c.slope[lo*modes*d:hi*modes*d], b.x[lo*d:hi*d], c.scratch[:o.fit.ScratchLen(hi-lo)], lo, hi, 1)
	for i := lo; i < hi; i++ {
		at := i*modes + int(b.k[i])
		for j, v := range c.slope[at*d:][:d] {
			gradX[i*d+j] = v / float32(n)
		}
		values[i] = c.value[at] / float32(n)
	}
}
