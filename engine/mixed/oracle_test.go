package mixed

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/number"
)

// TestTransitionFollowsItsStreams moves samples one by one: move number i of a
// sample takes a block of uniforms of its own, for the kind of move, the choice
// within it, the acceptance and σ, and four steps share d blocks of normals.
func TestTransitionFollowsItsStreams(t *testing.T) {
	const n, steps, first = 300, 9, 70
	stream := asm.Counter{Seed: 8, Purpose: 3, Step: 2}
	for _, d := range []int{1, 3} {
		target := threeTwins(d)
		for name, c := range testTransitions {
			followsItsStreams(t, fmt.Sprintf("%s in %d", name, d), target, c, stream, n, steps, first)
		}
	}
}

func followsItsStreams(t *testing.T, name string, target twins, c TransitionConfig, stream asm.Counter, n, steps, first int) {
	d := target.Dim()
	x, k := exact(target, n, 5)
	wantX, wantK := exact(target, n, 5)
	accepted := 0
	for i := range wantK {
		state := wantX[i*d : (i+1)*d]
		move := func(index, step int, across float64) {
			u, z := make([]float32, 4), make([]float32, 4*d)
			asm.Uniforms(u, &stream, uint64(index)<<40|uint64(first+i))
			for j := range d {
				asm.Normals(z[4*j:4*j+4], &stream, 1<<63|uint64(step/4*d+j)<<40|uint64(first+i))
			}
			from, to, stretch := int(wantK[i]), int(wantK[i]), 1.0
			sigma := c.Sigma[int(float64(u[3])*float64(len(c.Sigma)))]
			y := make([]float32, d)
			if float64(u[0]) < across {
				to = (from + 1 + int(float64(u[1])*float64(target.Modes()-1))) % target.Modes()
				stretch = target[to].scale / target[from].scale
			}
			for j, v := range number.Widen(state) {
				switch e := sigma * float64(z[step%4*d+j]); {
				case to != from:
					y[j] = float32(target[to].center[j] + stretch*(v-target[from].center[j]))
				case u[1] < float32(c.Flip) && float64(u[0]) >= across:
					y[j] = float32(2*target[from].center[j] - v + e)
				default:
					y[j] = float32(v + e)
				}
			}
			ratio := math.Exp(target.log(number.Widen(y), to)-target.log(number.Widen(state), from)) * math.Pow(stretch, float64(d))
			if float64(u[2]) < ratio {
				copy(state, y)
				wantK[i] = uint8(to)
				accepted++
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
	tr := newTransition(target, c)
	tr.run(x, k, steps, &stream, uint64(first), tr.newScratch(), &counts)
	require.Equal(t, wantK, k, name)
	for i := range x {
		require.InDelta(t, wantX[i], x[i], 1e-4, fmt.Sprintf("%s, sample %d", name, i/d))
	}
	require.EqualValues(t, accepted, counts.total().Accepted, name)
}
