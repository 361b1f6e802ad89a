package asm

// hammingBlock is the number of columns after which partial sums of the loss
// are widened to float64.
const hammingBlock = 64

func hammingSumsGeneric(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	const groupBits = 4
	groups := (c.n + groupBits - 1) / groupBits // at most 16: n ≤ hammingNarrow
	for r := range HammingRows {
		// σ_cd of four spins at a time: column sums are first collected by the
		// pattern of those spins, then signed once per pattern.
		var total float64
		var lossSum, baseSum float32
		var buckets [hammingNarrow / groupBits][1 << groupBits]float32
		for i, w := range c.weights {
			h := c.distance(rows, r, i)
			v := w * t.spin[h]
			x := c.states[2*i]
			for g := range groups {
				buckets[g][x>>(g*groupBits)&15] += v
			}
			lossSum += w * t.loss[h]
			if t.base != nil {
				baseSum += w * t.base[h]
			} else {
				baseSum += v
			}
			if i%hammingBlock == hammingBlock-1 {
				total += float64(lossSum)
				lossSum = 0
			}
		}
		total += float64(lossSum)
		for d := range c.n {
			spin[d*HammingRows+r] = signedSum(buckets[d/groupBits][:], d%groupBits)
		}
		loss[r], base[r] = total, baseSum
	}
}

// signedSum adds the values whose index has bit k set and subtracts the others.
func signedSum(values []float32, k int) float32 {
	var sum float32
	for p, v := range values {
		if p>>k&1 == 1 {
			sum += v
		} else {
			sum -= v
		}
	}
	return sum
}
