package asm

// HammingGradient turns sums of HammingSums into gradients, row after row: with
// σ = ±1 for spin d of a_r and f = 1 where a_r and b_r differ there, else 0,
//
//	v = base[r] − σ spin[d*HammingRows+r] + own[r][f]
//	grad[r*n+d] = scale·v, or scale·σ·v if signed
//
// for the first len(own) rows, at most HammingRows.
func HammingGradient(grad, base, spin []float32, rows []uint64, own [][2]float32, scale float32, signed bool) {
	n := len(spin) / HammingRows
	words := (n + 63) / 64
	refuse(len(own) > HammingRows || len(grad) != len(own)*n, "gradients of the wrong length")
	refuse(len(base) != HammingRows || len(spin) != n*HammingRows || len(rows) != 2*words*HammingRows, "sums or rows of the wrong length")
	const block = 16 // rows, and spins
	done := 0
	if blocks := n / block; useAVX512 && blocks > 0 {
		done = blocks * block
		signs := 0
		if signed {
			signs = -1
		}
		for lane := 0; lane < len(own); lane += block {
			hammingFinishAVX512(&grad[lane*n], &base[lane], &spin[lane], &rows[lane], &own[lane][0],
				scale, signs, 4*n, words, blocks, len(own)-lane)
		}
	}
	hammingFinishGeneric(done, grad, base, spin, rows, own, scale, signed, n)
}

// hammingFinishGeneric is HammingGradient from spin first on. It takes some spins of
// all rows at a time, whose sums stay in the innermost cache.
func hammingFinishGeneric(first int, grad, base, spin []float32, rows []uint64, own [][2]float32, scale float32, signed bool, n int) {
	const block = 16
	words := (n + 63) / 64
	for ; first < n; first += block {
		last := min(first+block, n)
		for r, self := range own {
			up := rows[first/64*HammingRows+r] >> (first % 64)
			flipped := up ^ rows[(words+first/64)*HammingRows+r]>>(first%64)
			for k := range grad[r*n+first : r*n+last] {
				sigma := float32(2*int(up>>k&1) - 1)
				v := base[r] - sigma*spin[(first+k)*HammingRows+r] + self[flipped>>k&1]
				if signed {
					v *= sigma
				}
				grad[r*n+first+k] = scale * v
			}
		}
	}
}
