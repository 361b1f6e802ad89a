package mmd

// Witness sets values[i], of the batch of the last LossGradient, to
//
//	F_i = (4/(N−1)) Σ_{j≠i} [K(p_i, p_j) − K(p_i, q_j)],   p = (s, t), q = (t, s),
//
// with N in place of N−1 and j = i included for the V-statistic: the derivative
// of the loss by the share of the pair p_i in the law of pairs. Its mean over the
// batch is twice the loss.
func (h *Hamming) Witness(values []float32) {
	if len(values) != h.n {
		panic("mmd: a witness of the wrong length")
	}
	scale := 4 * float64(h.n) / pairs(h.stat, h.n)
	for i, id := range h.fold.id {
		values[i] = float32(scale * h.loss[id])
	}
}
