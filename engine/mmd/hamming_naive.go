package mmd

import "math/bits"

// HammingNaive computes what Hamming computes, from the definitions, in float64
// and in O(n²·spins) time (surrogate) or twice that (difference). It is the
// oracle of the fast versions, and slow.
func HammingNaive(s, t []uint64, n, spins int, k Kernel, mode HammingGradient, stat Statistic) (loss float64, grad []float64) {
	w := (spins + 63) / 64
	pairs := pairs(stat, n)
	value, slope := make([]float64, 2*spins+1), make([]float64, 2*spins+1)
	for h := range value {
		value[h], slope[h] = k.Value(4*float64(h)), k.Derivative(4*float64(h))
	}
	distance := func(x, y []uint64) int {
		h := 0
		for i := range x {
			h += bits.OnesCount64(x[i] ^ y[i])
		}
		return h
	}
	state := func(batch []uint64, i int) []uint64 { return batch[i*w : (i+1)*w] }
	spin := func(x []uint64, d int) float64 { return float64(2*int(x[d/64]>>(d%64)&1) - 1) }
	term := func(a, b, c, d []uint64) float64 {
		return value[distance(a, c)+distance(b, d)] - value[distance(a, d)+distance(b, c)]
	}

	grad = make([]float64, n*spins)
	flipped := make([]uint64, w)
	for i := range n {
		a, b := state(s, i), state(t, i)
		g := grad[i*spins : (i+1)*spins]
		for j := range n {
			if i == j && stat == U {
				continue
			}
			c, d := state(s, j), state(t, j)
			loss += 2 / pairs * term(a, b, c, d)
			if mode == Surrogate {
				xx := slope[distance(a, c)+distance(b, d)]
				xy := slope[distance(a, d)+distance(b, c)]
				for e := range g {
					g[e] += 8 / pairs * (xx*(spin(a, e)-spin(c, e)) - xy*(spin(a, e)-spin(d, e)))
				}
				continue
			}
			unflipped := term(a, b, c, d)
			for e := range g {
				copy(flipped, a)
				flipped[e/64] ^= 1 << (e % 64)
				if i == j {
					g[e] += 2 / pairs * (term(flipped, b, flipped, b) - unflipped)
				} else { // in row i and, by symmetry, in column i
					g[e] += 4 / pairs * (term(flipped, b, c, d) - unflipped)
				}
			}
		}
	}
	return loss, grad
}
