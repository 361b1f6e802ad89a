package mixed

import (
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/pool"
)

// An objective is a maximum mean discrepancy: it measures how far a batch's moves are
// from reversible, or its law from stationary, and says how the generator's outputs
// change that.
type objective struct {
	generator *generator
	loss      *mmd.Mixed
	gradX     []float32 // ∂L/∂x, [n][d]
	witness   []float32 // of every mode, [n][M], or of a branch head each sample's own, [n]
}

// objective builds the discrepancy for batches of n states of the generator g.
func (l *LossConfig) objective(g *generator, n int, workers *pool.Pool) (*objective, error) {
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
	o := &objective{generator: g, loss: loss, gradX: make([]float32, n*g.dim), witness: make([]float32, n)}
	if !g.branched {
		o.witness = make([]float32, n*g.modes)
	}
	return o, nil
}

// measure returns the loss of b, whose states have moved to (x, k).
func (o *objective) measure(b *batch, x []float32, k []uint8) float64 {
	if o.generator.branched {
		return o.loss.LossWitness(b.x, x, b.k, k, o.gradX, o.witness)
	}
	return o.loss.LossGradient(b.x, x, b.k, k, o.gradX, o.witness)
}

// outputGradient sets dout, [hi−lo][Out], to the gradient by the outputs of rows
// lo … hi−1 of the batch just measured, through the draw of a choice. A split head
// passes the witness straight through it, as if the loss saw the probabilities
// p_c themselves: ∂L/∂h_c = p_c (F_c − Σ p F). A branch head weighs the draw's
// score with the witness of the state that was drawn: ∂L/∂h_r = (1_r − p_r) F; its
// point alone gets ∂L/∂x.
func (o *objective) outputGradient(dout []float32, b *batch, lo, hi int) {
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
