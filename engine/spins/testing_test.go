package spins

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func build(t testing.TB, h Hamiltonian) *Graph {
	t.Helper()
	g, err := NewGraph(h)
	require.NoError(t, err)
	return g
}

// ring couples each of n spins to the next.
func ring(n int, coupling float64) Hamiltonian {
	h := Hamiltonian{Spins: n}
	for i := range n {
		h.Edges = append(h.Edges, Edge{i, (i + 1) % n, coupling})
	}
	return h
}

// cubicGlass is the periodic L×L×L lattice with random couplings ±1.
func cubicGlass(l int, seed uint64) Hamiltonian {
	r := rand.New(rand.NewPCG(seed, 1))
	h := Hamiltonian{Spins: l * l * l}
	for z := range l {
		for y := range l {
			for x := range l {
				i := (z*l+y)*l + x
				for _, j := range [3]int{(z*l+y)*l + (x+1)%l, (z*l+(y+1)%l)*l + x, ((z+1)%l*l+y)*l + x} {
					h.Edges = append(h.Edges, Edge{i, j, float64(2*r.IntN(2) - 1)})
				}
			}
		}
	}
	return h
}

// sherringtonKirkpatrick couples all spins by normal numbers over √n, in normal
// fields.
func sherringtonKirkpatrick(n int, seed uint64) Hamiltonian {
	r := rand.New(rand.NewPCG(seed, 2))
	h := Hamiltonian{Spins: n}
	for i := range n {
		for j := range i {
			h.Edges = append(h.Edges, Edge{i, j, r.NormFloat64() / math.Sqrt(float64(n))})
		}
		h.Fields = append(h.Fields, 0.3*r.NormFloat64())
	}
	return h
}

// sparse joins random pairs of spins by couplings that draw returns.
func sparse(n, edges int, seed uint64, draw func(r *rand.Rand) float64) Hamiltonian {
	r := rand.New(rand.NewPCG(seed, 3))
	h := Hamiltonian{Spins: n}
	seen := map[[2]int]bool{}
	for len(h.Edges) < edges {
		i, j := r.IntN(n), r.IntN(n)
		if i == j || seen[[2]int{min(i, j), max(i, j)}] {
			continue
		}
		seen[[2]int{min(i, j), max(i, j)}] = true
		h.Edges = append(h.Edges, Edge{i, j, draw(r)})
	}
	return h
}

func normal(r *rand.Rand) float64   { return r.NormFloat64() }
func someSign(r *rand.Rand) float64 { return float64(2*r.IntN(2) - 1) }

// energyOf is the definition.
func energyOf(h *Hamiltonian, s []int) float64 {
	e := h.Offset
	for _, x := range h.Edges {
		e -= x.Coupling * float64(s[x.I]*s[x.J])
	}
	for i, x := range h.Fields {
		e -= x * float64(s[i])
	}
	return e
}

// randomBatch returns packed configurations and their spins.
func randomBatch(r *rand.Rand, n, rows int) (batch []uint64, all [][]int) {
	words := (n + 63) / 64
	batch = make([]uint64, rows*words)
	for k := range rows {
		s := make([]int, n)
		for i := range s {
			s[i] = 2*r.IntN(2) - 1
			if s[i] > 0 {
				batch[k*words+i/64] |= 1 << (i % 64)
			}
		}
		all = append(all, s)
	}
	return batch, all
}
