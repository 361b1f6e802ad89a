package hierarchy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Glass returns the periodic square lattice with couplings ±1 drawn from the
// seed.
func Glass(side int, seed uint64, beta float64) Target {
	t := square(side, 1, 0, beta)
	r := rand.New(rand.NewPCG(seed, 13))
	for k := range t.Bonds {
		t.Bonds[k].Coupling = float64(r.IntN(2)*2 - 1)
	}
	return t
}

// TransferLogZ returns ln Z of a periodic square lattice with the bonds of
// square, any couplings and no field, by its transfer matrix.
func TransferLogZ(side int, t Target) (logZ float64) {
	n := 1 << side
	a := make([]float64, n*n) // [state of the first row][state of the present row]
	for i := range n {
		a[i*n+i] = 1
	}
	for row := range side {
		bonds := t.Bonds[2*side*row:][:2*side] // right and down of each site in turn
		for s := range n {
			var e float64
			for c := range side {
				e += bonds[2*c].Coupling * spinOf(s, c) * spinOf(s, (c+1)%side)
			}
			w := math.Exp(t.Beta * e)
			for i := range n {
				a[i*n+s] *= w
			}
		}
		for c := range side {
			same, other := math.Exp(t.Beta*bonds[2*c+1].Coupling), math.Exp(-t.Beta*bonds[2*c+1].Coupling)
			for i := range n {
				for s := range n {
					if s>>c&1 == 0 {
						x, y := a[i*n+s], a[i*n+s|1<<c]
						a[i*n+s], a[i*n+s|1<<c] = same*x+other*y, other*x+same*y
					}
				}
			}
		}
		var largest float64
		for _, x := range a {
			largest = max(largest, x)
		}
		for i := range a {
			a[i] /= largest
		}
		logZ += math.Log(largest)
	}
	var trace float64
	for i := range n {
		trace += a[i*n+i]
	}
	return logZ + math.Log(trace)
}

func TestTransferLogZ(t *testing.T) {
	g := Glass(4, 1, 0.7)
	var z float64
	for s := range uint64(1 << 16) {
		z += math.Exp(-g.Beta * naiveEnergy(&g, []uint64{s}))
	}
	require.InDelta(t, math.Log(z), TransferLogZ(4, g), 1e-10)
}
