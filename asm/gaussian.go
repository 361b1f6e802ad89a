package asm

// GaussianRows is the number of rows that the kernels for Gaussians take together. Numbers of
// rows are [...][GaussianRows]; lower triangles are row after row.
const GaussianRows = 8

// An Octet has a number of each of GaussianRows rows.
type Octet = [GaussianRows]float64

// Whiten sets y = L⁻¹(x − μ), [d][GaussianRows] as x, and squares to |y|², given L⁻¹, a lower
// triangle, and μ, [d]. Sums are one number after the other, and nothing is fused: all paths
// give the same bits.
func Whiten(squares *Octet, y, x, mean, inverse []float64) {
	d := len(mean)
	check(len(y) == d*GaussianRows && len(x) == len(y) && len(inverse) == d*(d+1)/2, "Whiten")
	whiten(squares, y, x, mean, inverse)
}

// AddMoments adds Σ_r f_r v_ri to the first d numbers of sums and Σ_r f_r v_ri y_rc, c ≤ i, to
// the rest, a lower triangle; v and y are [d][GaussianRows]. The rows' sums are pairwise, in
// float64, and nothing is fused: all paths give the same bits.
func AddMoments(sums []float32, f *Octet, v, y []float64) {
	d := len(v) / GaussianRows
	check(len(v) == d*GaussianRows && len(y) == len(v) && len(sums) == d+d*(d+1)/2, "AddMoments")
	addMoments(sums, f, v, y)
}

// AddSlope subtracts f_r Σ_i v_ir L⁻¹_ic from each slope_cr, given L⁻¹ as Whiten has it; slope and v
// are [d][GaussianRows]. With v = y that adds f times the slope of −½|y|² by x. Rows of L⁻¹ come one
// after the other, and nothing is fused: all paths give the same bits.
func AddSlope(slope []float64, f *Octet, v, inverse []float64) {
	d := len(v) / GaussianRows
	check(len(v) == d*GaussianRows && len(slope) == len(v) && len(inverse) == d*(d+1)/2, "AddSlope")
	addSlope(slope, f, v, inverse)
}
