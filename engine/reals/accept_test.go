package reals

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAcceptFewIsABranch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	special := []float32{0, 1, 0x1p-149, float32(math.NaN()), float32(math.Copysign(math.NaN(), -1)), math.Nextafter32(1, 0)}
	for d := 1; d <= fewCoordinates; d++ {
		const rows = 500
		x, proposal, uniforms := make([]float32, rows*d), make([]float32, rows*d), make([]float32, 4*rows)
		current, next, ratio := make([]float32, rows), make([]float32, rows), make([]float32, rows)
		for _, values := range [][]float32{x, proposal, current, next} {
			for i := range values {
				values[i] = float32(r.NormFloat64())
			}
		}
		for i := range rows {
			uniforms[4*i] = (float32(r.IntN(1<<23)) + 0.5) / (1 << 23)
			switch ratio[i] = r.Float32(); {
			case i < len(special):
				ratio[i] = special[i]
			case i%7 == 0:
				ratio[i] = uniforms[4*i]
			}
		}
		next[9], proposal[0] = float32(math.Inf(-1)), float32(math.Inf(1))
		wantX, wantCurrent, want := append([]float32(nil), x...), append([]float32(nil), current...), uint64(0)
		for i, p := range ratio {
			if uniforms[4*i] < p {
				copy(wantX[i*d:(i+1)*d], proposal[i*d:])
				wantCurrent[i] = next[i]
				want++
			}
		}
		require.Equal(t, want, acceptFew(x, current, proposal, next, ratio, uniforms))
		require.Equal(t, wantX, x)
		require.Equal(t, wantCurrent, current)
	}
}
