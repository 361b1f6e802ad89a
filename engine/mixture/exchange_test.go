package mixture

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExchanges: members of a population exchange the coordinates whose number has a bit,
// and each bit is the one for as many pairs.
func TestExchanges(t *testing.T) {
	const d = 8
	found := &Found{X: make([]float32, 48*d)}
	for i := range found.X {
		found.X[i] = float32(i)
	}
	pairs := map[int]int{} // by the coordinates that were exchanged, as bits
	pair := 0
	require.True(t, found.exchangeable(d, func(log []float64, states []float32) {
		require.Equal(t, []float32{float32(2 * pair * d), float32((47 - 2*pair) * d)}, []float32{states[0], states[d]}, "members from both ends")
		pair++
		exchanged := 0
		for i := range d {
			if states[2*d+i] == states[d+i] && states[3*d+i] == states[i] {
				exchanged |= 1 << i
			} else {
				require.Equal(t, []float32{states[i], states[d+i]}, []float32{states[2*d+i], states[3*d+i]})
			}
		}
		pairs[exchanged]++
		clear(log)
	}))
	require.Equal(t, map[int]int{0b10101010: 8, 0b11001100: 8, 0b11110000: 8}, pairs)
}
