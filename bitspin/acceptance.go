package bitspin

// An acceptance holds the probability min{1, exp(−β·ΔE)} (eq. (2.6) for
// a symmetric proposal) as a threshold: a proposal is accepted if a uniform
// 64-bit integer lies below probability·2⁶⁴. Certain acceptance is realised
// with probability 1 − 2⁻⁶⁴.
//
// Up to 64 sites a table holds the threshold of every pair (ΔB, ΔM), or of every
// ΔB if there is no field. On larger lattices such a table would outgrow the
// caches: flips of one spin are tabulated, and other thresholds are computed when
// they are needed.
type acceptance struct {
	model Model
	beta  float64

	table  []uint64 // threshold of ΔB/4 = b, ΔM/2 = m at origin + b + row·m
	origin int
	row    int // 2N+1, or 0 without a field

	oneFlip [5][3]uint64 // thresholds of ΔB/4 = −2 … 2, ΔM/2 = −1 … 1
}

func newAcceptance(model Model, beta float64) (a acceptance) {
	a.model, a.beta = model, beta
	n := model.N
	if n > 64 {
		for b := range a.oneFlip {
			for m := range a.oneFlip[b] {
				a.oneFlip[b][m] = a.compute(b-2, m-1)
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

// compute returns the threshold of ΔB/4 = b, ΔM/2 = m.
func (a *acceptance) compute(b, m int) uint64 { return Threshold(-a.beta * a.model.EnergyOf(4*b, 2*m)) }

// threshold returns what compute does, from the table if there is one.
func (a *acceptance) threshold(b, m int) uint64 {
	if a.table != nil {
		return a.table[a.origin+b+a.row*m]
	}
	return a.compute(b, m)
}

// FlipOne implements Flippable, on more than 64 sites.
func (a *acceptance) FlipOne(config []uint64, k int) uint64 {
	b, m := a.model.differenceOne(config, k)
	return a.oneFlip[b+2][m+1]
}

// FlipAll implements Flippable.
func (a *acceptance) FlipAll(config []uint64) uint64 {
	return a.compute(0, -a.model.Magnetisation(config))
}
