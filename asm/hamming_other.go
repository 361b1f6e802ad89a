//go:build !amd64 || purego

package asm

type hammingPacked struct{}

func (*hammingPacked) init(n, capacity int) {}
func (*hammingPacked) invalidate()          {}

// Pack prepares the columns for HammingSums. It must be called after the last
// Append and before HammingSums.
func (c *HammingColumns) Pack() {}

func hammingSums(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	hammingSumsGeneric(loss, base, spin, rows, c, t)
}
