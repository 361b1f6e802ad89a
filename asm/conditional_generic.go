package asm

import "math"

// bitIndicesGeneric sets dst[q·64+b] to scale times the number of four bits that the spins
// of sample b at sites 4q … 4q+3 make, the first lowest.
func bitIndicesGeneric(dst []uint16, state []uint64, sites []int32, scale int) {
	for ; len(sites) > 0; dst, sites = dst[BitSamples:], sites[4:] {
		w0, w1, w2, w3 := state[sites[0]], state[sites[1]], state[sites[2]], state[sites[3]]
		for b := range BitSamples {
			n := w0>>b&1 | w1>>b&1<<1 | w2>>b&1<<2 | w3>>b&1<<3
			dst[b] = uint16(scale * int(n))
		}
	}
}

// bitHiddenSums sets u to the hidden layer's inputs of sample b.
func bitHiddenSums(u, tables []float32, index []uint16, b int) {
	clear(u)
	for q := range len(index) / BitSamples {
		row := tables[q*16*len(u)+int(index[q*BitSamples+b]):]
		for k := range u {
			u[k] += row[k]
		}
	}
}

func bitLogitsGeneric(dst *[BitSamples]float32, tables, output []float32, index []uint16, bias float32) {
	var hidden [BitHidden]float32
	u := hidden[:len(output)]
	for b := range dst {
		bitHiddenSums(u, tables, index, b)
		var sum float64
		for k, v := range output {
			f, _ := bitActivation(u[k])
			sum += float64(v) * float64(f)
		}
		dst[b] = bias + float32(sum)
	}
}

func bitGradientGeneric(dTables, dOutput, tables, output []float32, index []uint16, scale, residual *[BitSamples]float32) {
	var hidden [BitHidden]float32
	u := hidden[:len(output)]
	for b, e := range residual {
		e *= scale[b]
		bitHiddenSums(u, tables, index, b)
		for k, v := range output {
			f, r := bitActivation(u[k])
			dOutput[k] += e * f
			u[k] = e * v * r * r * r
		}
		for q := range len(index) / BitSamples {
			row := dTables[q*16*len(u)+int(index[q*BitSamples+b]):]
			for k, d := range u {
				row[k] += d
			}
		}
	}
}

func heatBathGeneric(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, words *[BitSamples]uint32) (spins uint64) {
	for b, l := range logits {
		z := math.Exp(-math.Abs(float64(l)))
		if less := words[b]>>1 < uint32(0x1p31*float32(z/(1+z))); less == math.Signbit(float64(l)) {
			spins |= 1 << b
		}
	}
	bitScoreGeneric(logq, residual, logits, spins)
	return spins
}

func bitScoreGeneric(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, spins uint64) {
	for b, l := range logits {
		x := float64(int(spins>>b&1)*2 - 1)
		t := -x * float64(l)
		z := math.Exp(-math.Abs(t))
		logq[b] -= float64(float32(max(t, 0) + math.Log1p(z)))
		switch {
		case residual == nil:
		case t >= 0:
			residual[b] = float32(x / (1 + z))
		default:
			residual[b] = float32(x * z / (1 + z))
		}
	}
}

func bitTablesGeneric(tables, weights, bias []float32) {
	k := len(bias)
	for q := range len(weights) / (4 * k) {
		for lane := range k {
			w := func(j int) float32 { return weights[(4*q+j)*k+lane] }
			var base float32
			if q == 0 {
				base = bias[lane]
			}
			low := [4]float32{base - w(0) - w(1), base + w(0) - w(1), base - w(0) + w(1), base + w(0) + w(1)}
			high := [4]float32{-w(2) - w(3), w(2) - w(3), -w(2) + w(3), w(2) + w(3)}
			for i := range 16 {
				tables[(16*q+i)*k+lane] = low[i&3] + high[i>>2]
			}
		}
	}
}

func bitFoldGeneric(weights, tables []float32, k int) {
	for q := range len(weights) / (4 * k) {
		for lane := range k {
			var low, high [4]float32
			for i := range 16 {
				x := tables[(16*q+i)*k+lane]
				low[i&3] += x
				high[i>>2] += x
			}
			for j, x := range [4]float32{
				(low[1] + low[3]) - (low[0] + low[2]), (low[2] + low[3]) - (low[0] + low[1]),
				(high[1] + high[3]) - (high[0] + high[2]), (high[2] + high[3]) - (high[0] + high[1]),
			} {
				weights[(4*q+j)*k+lane] += x
			}
		}
	}
}

// bitNumber returns the number that sample b's spins make.
func bitNumber(state []uint64, sites []int32, b int) (i int) {
	for j, s := range sites {
		i |= int(state[s]>>b&1) << j
	}
	return i
}

func bitDrawGeneric(thresholds []uint32, state []uint64, sites []int32, words *[BitSamples]uint32) (spins uint64) {
	for b, w := range words {
		if w < thresholds[bitNumber(state, sites, b)] {
			spins |= 1 << b
		}
	}
	return spins
}

func bitLookupGeneric(dst *[BitSamples]float64, table []float64, scale float64, state []uint64, sites []int32) {
	for b := range dst {
		dst[b] += scale * table[bitNumber(state, sites, b)]
	}
}

func bitSelectGeneric(dst *[BitSamples]float32, table []float32, state []uint64, sites []int32) {
	for b := range dst {
		dst[b] = table[bitNumber(state, sites, b)]
	}
}

func categoryDrawGeneric(dst *[BitSamples]byte, thresholds []uint32, rows, levels, last int, state []byte, sites, strides []int32, words *[BitSamples]uint32) {
	for b, w := range words {
		i := 0
		for j, s := range sites {
			i += int(strides[j]) * int(state[int(s)*BitSamples+b])
		}
		row := thresholds[min(i, rows-1)*(1<<levels-1):][:1<<levels-1]
		x := 0
		for half := 1 << levels / 2; half > 0; half /= 2 {
			if row[x+half-1] <= w {
				x += half
			}
		}
		dst[b] = byte(min(x, last))
	}
}
