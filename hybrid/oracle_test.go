package hybrid

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
)

// TestTransitionFollowsItsStreams moves samples one by one: move number i of a
// sample takes a block of uniforms of its own, for the kind of move, the choice
// within it, the acceptance and σ, and four steps share a block of normals.
func TestTransitionFollowsItsStreams(t *testing.T) {
	target := paperTarget(t)
	const n, steps, first = 300, 9, 70
	stream := asm.Counter{Seed: 8, Purpose: 3, Step: 2}
	for name, c := range testTransitions {
		x, k := exactBatch(target, n, 5)
		wantX, wantK := exactBatch(target, n, 5)
		moved := 0
		for i := range wantX {
			move := func(index, step int, across float64) {
				u, z := make([]float32, 4), make([]float32, 4)
				asm.Uniforms(u, &stream, uint64(index)<<40|uint64(first+i))
				asm.Normals(z, &stream, 1<<63|uint64(step/4)<<40|uint64(first+i))
				from, to, stretch := int(wantK[i]), int(wantK[i]), 1.0
				v := float64(wantX[i])
				y := v + c.Sigma[int(float64(u[3])*float64(len(c.Sigma)))]*float64(z[step%4])
				switch {
				case float64(u[0]) < across:
					to = (from + 1 + int(float64(u[1])*float64(target.Modes()-1))) % target.Modes()
					stretch = math.Sqrt(target.Well(to).Mu() / target.Well(from).Mu())
					y = stretch * v
				case u[1] < float32(c.Flip):
					y -= 2 * v
				}
				y = float64(float32(y))
				log := func(k int, x float64) float64 {
					square := x*x - target.Well(k).Mu()
					return -square*square - target.Well(k).LogZ()
				}
				if float64(u[2]) < math.Exp(log(to, y)-log(from, v))*stretch {
					wantX[i], wantK[i] = float32(y), uint8(to)
					moved++
				}
			}
			for step := range steps {
				if c.Order == "random" {
					move(2*step, step, c.Across)
					continue
				}
				move(2*step, step, 0)
				move(2*step+1, step, 1)
			}
		}
		var counts moveCounts
		newTransition(target, c).run(x, k, steps, &stream, first, &counts)
		require.Equal(t, wantK, k, name)
		for i := range x {
			require.InDelta(t, wantX[i], x[i], 1e-5, fmt.Sprintf("%s, sample %d", name, i))
		}
		require.EqualValues(t, moved, counts.total().Accepted, name)
	}
}
