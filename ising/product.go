package ising

import "github.com/revgen/revgen/asm"

// A productLaw holds the laws of independent spins for a block of rows of
// probabilities. The spins fall into two groups, so that the law of a row over
// all 2^N configurations is the outer product of two laws over 2^{N/2}, and
// sums over rows or over configurations are matrix products.
type productLaw struct {
	spins, low    int // N, and the spins of the first group
	up            []float32
	lows, highs   []float32    // laws of the groups, [rows][2^low] and [rows][2^{N−low}]
	sums          [2][]float32 // over the rows of each half of the batch
	rows          [2]int       // that are in the sums
	lowG, highG   []float32    // g averaged over the other group
	folded, carry []float32    // scratch of a group
	ignored       []float32
}

func newProductLaw(spins, rows int, floats func(n int) []float32) *productLaw {
	low := (spins + 1) / 2
	nl, nh := 1<<low, 1<<(spins-low)
	return &productLaw{
		spins: spins, low: low, up: floats(rows * spins),
		lows: floats(rows * nl), highs: floats(rows * nh),
		sums: [2][]float32{make([]float32, nl*nh), make([]float32, nl*nh)},
		lowG: floats(rows * nl), highG: floats(rows * nh),
		folded: make([]float32, 2*nl), carry: make([]float32, nl), ignored: make([]float32, nl),
	}
}

// measure takes rows of logits h, with P(s = +1) = 1/(1 + exp(−2h)).
func (p *productLaw) measure(logits []float32) {
	nl, nh := 1<<p.low, 1<<(p.spins-p.low)
	up := p.up[:len(logits)]
	for i, h := range logits {
		up[i] = 2 * h
	}
	asm.Sigmoid(up, up)
	for r := 0; r*p.spins < len(up); r++ {
		row := up[r*p.spins:][:p.spins]
		lawOf(p.lows[r*nl:][:nl], row[:p.low])
		lawOf(p.highs[r*nh:][:nh], row[p.low:])
	}
}

// negligible probabilities of a group count as 0, so that no product of two is
// subnormal, which would slow the matrix products down.
const negligible = 1e-18

// lawOf sets law to the probabilities of all configurations.
func lawOf(law, up []float32) {
	law[0] = 1
	for i, q := range up {
		half := 1 << i
		above := law[half : 2*half]
		for s, p := range law[:half] {
			above[s] = p * q
			law[s] = p - p*q
		}
	}
	for s, p := range law {
		if p < negligible {
			law[s] = 0
		}
	}
}

// sum adds up the laws of rows lo … hi−1, for a half of the batch.
func (p *productLaw) sum(half, lo, hi int) {
	p.rows[half] = hi - lo
	if lo == hi {
		return
	}
	nl, nh := 1<<p.low, 1<<(p.spins-p.low)
	clear(p.sums[half])
	asm.DenseBackwardWeights(p.sums[half], p.ignored, p.highs[lo*nh:hi*nh], p.lows[lo*nl:hi*nl], hi-lo, nh, nl)
}

func (p *productLaw) addTo(law []float32, half int) {
	if p.rows[half] > 0 {
		asm.Accumulate(law, p.sums[half])
	}
}

// gradient sets grad to scale times the gradient of E[g(s)] by the logits of
// rows lo … hi−1.
func (p *productLaw) gradient(grad []float32, g *packedTable, lo, hi int, scale float32) {
	if lo == hi {
		return
	}
	nl, nh := 1<<p.low, 1<<(p.spins-p.low)
	asm.DenseForward(p.lowG, p.highs[lo*nh:hi*nh], g.forward, g.zero, hi-lo, nh, nl, 1)
	asm.DenseBackwardInput(p.highG, p.lows[lo*nl:hi*nl], g.transposed, nil, hi-lo, nh, nl, 1)
	for r := range hi - lo {
		up, row := p.up[(lo+r)*p.spins:][:p.spins], grad[r*p.spins:][:p.spins]
		p.group(row[:p.low], p.lowG[r*nl:][:nl], up[:p.low], scale)
		p.group(row[p.low:], p.highG[r*nh:][:nh], up[p.low:], scale)
	}
}

// group is gradient for one row and the spins of one group.
func (p *productLaw) group(grad, g, up []float32, scale float32) {
	// folded[2^i … 2^{i+1}) holds g averaged over spins i and up.
	copy(p.folded[len(g):], g)
	for i := len(up) - 1; i >= 0; i-- {
		half, q := 1<<i, up[i]
		down, up := p.folded[2*half:3*half], p.folded[3*half:4*half]
		to := p.folded[half : 2*half]
		for s := range to {
			to[s] = down[s] + q*(up[s]-down[s])
		}
	}
	p.carry[0] = 1
	for i, q := range up {
		half := 1 << i
		down, up := p.folded[2*half:3*half], p.folded[3*half:4*half]
		above := p.carry[half:]
		var sum float32
		for s, law := range p.carry[:half] {
			sum += law * (up[s] - down[s])
			above[s] = law * q
			p.carry[s] = law - law*q
		}
		grad[i] = scale * 2 * q * (1 - q) * sum // dq/dh = 2q(1−q)
	}
}

// A packedTable is a function of all configurations as the matrix that takes
// the law of one group of spins to the means of the function over it.
type packedTable struct {
	low, high           int // configurations of the groups
	forward, transposed []float32
	zero                []float32
}

func newPackedTable(spins int) packedTable {
	low := 1 << ((spins + 1) / 2)
	high := 1 << spins / low
	return packedTable{low, high, make([]float32, asm.PackedLen(high, low)), make([]float32, asm.PackedLen(low, high)), make([]float32, low)}
}

func (t *packedTable) set(g []float32) {
	asm.PackWeights(t.forward, g, t.high, t.low)
	asm.PackWeightsTransposed(t.transposed, g, t.high, t.low)
}
