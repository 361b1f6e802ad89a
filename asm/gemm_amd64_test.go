//go:build !purego

package asm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A call of a product does what it can within its budget: whole tiles, and columns of equal
// parts of all.
func TestBlocksOfProducts(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		budget := map[Path]int{AVX2: 1 << 20, AVX512: 1 << 21}[path]
		if budget == 0 {
			t.Skip("it has no calls")
		}
		for _, k := range []int{1, 9, 64, 300, 5000} {
			for _, columns := range []int{1, 32, 33, 256, 1000} {
				rows, block := denseBlock(k, columns)
				require.Zero(t, rows%tileRows)
				require.Zero(t, block%(2*Panel))
				each := (k + Panel) * block // of a row
				require.True(t, rows*each <= budget || rows == tileRows, "%d %d", k, columns)
				require.Greater(t, (rows+tileRows)*each, budget, "another tile would fit")
				calls := (columns + block - 1) / block
				require.Less(t, (block-2*Panel)*calls, columns, "narrower ones would do")
				if calls > 1 {
					require.Greater(t, tileRows*(k+Panel)*columns, budget*(calls-1), "fewer would do")
				}
			}
		}
	})
}

// TestLimitsOfCalls: how much one call of the assembly does at most, so that what cannot be
// preempted is short, and from where on another way is taken.
func TestLimitsOfCalls(t *testing.T) {
	require.Equal(t, []int{1 << 14, 2048, 512}, []int{philoxLimit, gramWork, kernelColumns})
	require.Equal(t, []int{9, 192}, []int{fewColumns, aheadSide})
}
