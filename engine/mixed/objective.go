package mixed

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
)

// An objective measures how far a batch's moves are from reversible and says how
// the generator's outputs change that.
type objective interface {
	// measure returns the loss of b, whose states have moved to (x, k).
	measure(b *batch, x []float32, k []uint8) float64
	// outputGradient sets dout, [hi−lo][Out], to the gradient by the outputs of
	// rows lo … hi−1 of the batch just measured. Calls in different lanes may be
	// concurrent.
	outputGradient(dout []float32, b *batch, lane, lo, hi int)
}

// objective builds the discrepancy for batches of n states of the generator g.
func (l *LossConfig) objective(g *generator, n int, lanes *nn.Lanes, seed uint64, workers *pool.Pool) (objective, error) {
	if l.Kind == "kfd" {
		fit, err := kfd.NewMixed(n, g.dim, g.modes, l.Witness.Features, l.Witness.Config, seed, workers)
		if err != nil {
			return nil, fmt.Errorf("witness.%w", err)
		}
		o := &leastSquares{generator: g, fit: fit}
		o.scratch = nn.PerLane(lanes, func() candidates { return newCandidates(fit, nn.BlockRows()*g.points, g) })
		return o, nil
	}
	var loss *mmd.Mixed
	var err error
	if l.Kind == "stationarity" {
		loss, err = mmd.NewMixedStationarity(n, g.dim, g.modes, l.Kernel, l.Statistic, workers)
	} else {
		loss, err = mmd.NewMixed(n, g.dim, g.modes, l.Kernel, l.Statistic, workers)
	}
	if err != nil {
		return nil, err
	}
	o := &meanDiscrepancy{generator: g, loss: loss, gradX: make([]float32, n*g.dim), witness: make([]float32, n)}
	if !g.branched {
		o.witness = make([]float32, n*g.modes)
	}
	return o, nil
}

// meanDiscrepancy is a maximum mean discrepancy.
type meanDiscrepancy struct {
	generator *generator
	loss      *mmd.Mixed
	gradX     []float32 // ∂L/∂x, [n][d]
	witness   []float32 // of every mode, [n][M], or of a branch head each sample's own, [n]
}

func (o *meanDiscrepancy) measure(b *batch, x []float32, k []uint8) float64 {
	if o.generator.branched {
		return o.loss.LossWitness(b.x, x, b.k, k, o.gradX, o.witness)
	}
	return o.loss.LossGradient(b.x, x, b.k, k, o.gradX, o.witness)
}

// outputGradient takes the gradient through the draw of a choice. A split head
// passes the witness straight through it, as if the loss saw the probabilities
// p_c themselves: ∂L/∂h_c = p_c (F_c − Σ p F). A branch head weighs the draw's
// score with the witness of the state that was drawn: ∂L/∂h_r = (1_r − p_r) F; its
// point alone gets ∂L/∂x.
func (o *meanDiscrepancy) outputGradient(dout []float32, b *batch, _, lo, hi int) {
	g := o.generator
	for i := lo; i < hi; i++ {
		row := dout[(i-lo)*g.net.Out():][:g.net.Out()]
		prob := b.probabilities[i*g.choices:][:g.choices]
		logits := row[g.coordinates:]
		if g.branched {
			clear(row[:g.coordinates])
			copy(row[int(b.choice[i])*g.dim:][:g.dim], o.gradX[i*g.dim:][:g.dim])
			f := o.witness[i]
			for c, p := range prob {
				logits[c] = -p * f
			}
			logits[b.choice[i]] += f
			continue
		}
		copy(row, o.gradX[i*g.dim:][:g.dim])
		var mean float32
		f := o.witness[i*g.modes:][:g.modes]
		for c, p := range prob {
			mean += p * f[c]
		}
		for c, p := range prob {
			logits[c] = p * (f[c] - mean)
		}
	}
}

// leastSquares is the least-squares witness g of package kfd. As g is a function
// of one state, its mean over the choices that softmax could have drawn is a
// finite sum, and the gradient is that of the mean:
//
//	(1/n) Σ_r p_r g(x_r, k_r):   ∂/∂x_r = p_r g′(x_r, k_r)/n,   ∂/∂h_r = p_r (g(x_r, k_r) − Σ p g)/n.
type leastSquares struct {
	generator *generator
	fit       *kfd.Mixed
	scratch   []candidates // of each lane
}

// State lists what a checkpoint must hold of the witness.
func (o *leastSquares) State() []engine.Section { return o.fit.State() }

// candidates are the states that a block of rows could have drawn: points,
// [rows][points][d], and the witness there in every mode.
type candidates struct{ x, value, slope, scratch []float32 }

func newCandidates(fit *kfd.Mixed, points int, g *generator) candidates {
	return candidates{
		make([]float32, points*g.dim), make([]float32, points*g.modes), make([]float32, points*g.modes*g.dim),
		make([]float32, fit.ScratchLen(points)),
	}
}

func (o *leastSquares) measure(b *batch, x []float32, k []uint8) float64 {
	return o.fit.Fit(b.x, x, b.k, k)
}

func (o *leastSquares) outputGradient(dout []float32, b *batch, lane, lo, hi int) {
	g, c := o.generator, &o.scratch[lane]
	out, width := b.activations.Output(), g.net.Out()
	points := (hi - lo) * g.points
	x := c.x[:points*g.dim]
	for i := lo; i < hi; i++ {
		copy(x[(i-lo)*g.coordinates:], out[i*width:][:g.coordinates])
	}
	o.fit.Evaluate(c.value[:points*g.modes], c.slope[:points*g.modes*g.dim], x, c.scratch[:o.fit.ScratchLen(points)], lo, hi, g.points)

	share := 1 / float32(len(b.k))
	for i := range hi - lo {
		row := dout[i*width:][:width]
		coordinates, logits := row[:g.coordinates], row[g.coordinates:]
		clear(coordinates)
		prob := b.probabilities[(lo+i)*g.choices:][:g.choices]
		var mean float32
		for r, p := range prob {
			at := g.point(r)
			point := (i*g.points+at)*g.modes + r%g.modes
			for j, v := range c.slope[point*g.dim:][:g.dim] {
				coordinates[at*g.dim+j] += share * p * v
			}
			logits[r] = c.value[point]
			mean += p * c.value[point]
		}
		for r, p := range prob {
			logits[r] = share * p * (logits[r] - mean)
		}
	}
}
