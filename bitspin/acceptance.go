package bitspin

// An acceptance holds the probability min{1, exp(−β·ΔE)} (eq. (2.6) for
// a symmetric proposal) as a threshold: a proposal is accepted if a uniform
// 64-bit integer lies below probability·2⁶⁴. Certain acceptance is realised
// with probability 1 − 2⁻⁶⁴.
//
// Up to 64 sites there is one threshold for each pair of differences, without
// a field for each ΔB. Beyond, where such a table would outgrow the caches,
// those of single spins are tabulated and the others computed when they are
// needed.
type acceptance struct {
	model Model
	beta  float64

	table  []uint64 // threshold of ΔB/4 = b, ΔM/2 = m at origin + b + row·m
	origin int
	row    int // 2N+1, or 0 without a field

	near [5][3]uint64 // thresholds of ΔB/4 = −2 … 2, ΔM/2 = −1 … 1: single spins
}

func newAcceptance(model Model, beta float64) (a acceptance) {
	a.model, a.beta = model, beta
	n := model.N
	if n > 64 {
		for b := range a.near {
			for m := range a.near[b] {
				a.near[b][m] = a.compute(b-2, m-1)
			}
		}
		return a
	}
	width := 2*n + 1
	a.origin = n
	rows := 1
	if model.H != 0 {
		rows, a.row = width, width
		a.origin += n * width
	}
	a.table = make([]uint64, rows*width)
	for i := range a.table {
		b, m := i%width-n, 0
		if rows > 1 {
			m = i/width - n
		}
		a.table[i] = a.compute(b, m)
	}
	return a
}

// compute returns a threshold that is not tabulated.
func (a *acceptance) compute(b, m int) uint64 { return Threshold(-a.beta * a.model.EnergyOf(4*b, 2*m)) }

// of returns the threshold of differences.
func (a *acceptance) of(b, m int) uint64 {
	if a.table != nil {
		return a.table[a.origin+b+a.row*m]
	}
	return a.compute(b, m)
}

// FlipOne implements Flippable, on more than 64 sites.
func (a *acceptance) FlipOne(config []uint64, k int) uint64 {
	b, m := a.model.siteDifference(config, k)
	return a.near[b+2][m+1]
}

// FlipAll implements Flippable.
func (a *acceptance) FlipAll(config []uint64) uint64 {
	return a.compute(0, -a.model.Magnetisation(config))
}
