package asm

// hammingBlock is the number of columns after which partial sums of the loss
// are widened to float64.
const hammingBlock = 64

func hammingSumsGeneric(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	const groupBits = 4
	groups := (c.n + groupBits - 1) / groupBits
	for r := range HammingRows {
		// σ_cd of four spins at a time: column sums are first collected by the
		// pattern of those spins, then signed once per pattern.
		var total float64
		var baseSum float32
		for first := 0; first < groups; first += 16 {
			var buckets [16][1 << groupBits]float32
			block := buckets[:min(16, groups-first)]
			var lossSum float32
			for i, w := range c.weights {
				h := c.distance(rows, r, i)
				v := w * t.Spin[h]
				x := c.states[i*2*c.words+first*groupBits/64]
				for g := range block {
					block[g][x>>(g*groupBits)&15] += v
				}
				if first > 0 {
					continue
				}
				lossSum += w * t.Loss[h]
				if t.Base != nil {
					baseSum += w * t.Base[h]
				} else {
					baseSum += v
				}
				if i%hammingBlock == hammingBlock-1 {
					total += float64(lossSum)
					lossSum = 0
				}
			}
			total += float64(lossSum)
			for g := range block {
				for k := range groupBits {
					if d := (first+g)*groupBits + k; d < c.n {
						spin[d*HammingRows+r] = signedSum(block[g][:], k)
					}
				}
			}
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
