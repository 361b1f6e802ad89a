package hierarchy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveExactSpins is the definition of leaves and centres.
func naiveExactSpins(near [][]neighbour) []bool {
	n := len(near)
	coupled := func(i, j int) bool {
		for _, b := range near[i] {
			if b.spin == j {
				return true
			}
		}
		return false
	}
	few := func(i int) bool { return len(near[i]) <= 8 }
	leaf := naiveHalf(n, coupled, few)
	if other, most := naiveIndependent(n, coupled, few); most > count(leaf) {
		leaf = other
	}
	share := func(i, j int) bool {
		for k := range n {
			if leaf[k] && coupled(i, k) && coupled(j, k) {
				return true
			}
		}
		return false
	}
	centres, _ := naiveIndependent(n, func(i, j int) bool {
		return i != j && !leaf[i] && (!leaf[j] && coupled(i, j) || share(i, j))
	}, func(i int) bool {
		own, touched := 0, 0
		for j := range n {
			switch {
			case j == i || leaf[i]:
			case leaf[j] && coupled(i, j):
				own++
			case !leaf[j] && (coupled(i, j) || share(i, j)):
				touched++
			}
		}
		return own > 0 && touched <= 12
	})
	all := make([]bool, n)
	for i := range all {
		all[i] = leaf[i] || centres[i]
	}
	return all
}

// naiveHalf returns the spins at an even or an odd number of steps from the first of every
// component in which no bond joins two of a kind: the odd ones, unless more of the even ones
// are wanted.
func naiveHalf(n int, coupled func(i, j int) bool, wanted func(int) bool) []bool {
	in, steps := make([]bool, n), make([]int, n)
	for i := range steps {
		steps[i] = -1
	}
	for first := range n {
		if steps[first] >= 0 {
			continue
		}
		steps[first] = 0
		of, count, proper := []int{first}, [2]int{}, true
		for k := 0; k < len(of); k++ {
			for j := range n {
				if coupled(of[k], j) && steps[j] < 0 {
					steps[j], of = steps[of[k]]+1, append(of, j)
				}
			}
		}
		for _, i := range of {
			if wanted(i) {
				count[steps[i]%2]++
			}
			for _, j := range of {
				proper = proper && !(coupled(i, j) && steps[i]%2 == steps[j]%2)
			}
		}
		odd := 1
		if count[0] > count[1] {
			odd = 0
		}
		for _, i := range of {
			in[i] = proper && wanted(i) && steps[i]%2 == odd
		}
	}
	return in
}

// naiveIndependent takes the vertex with the fewest neighbours left, again and again, sixteen
// times with another order of equals, and returns the first of the largest sets.
func naiveIndependent(n int, joined func(i, j int) bool, wanted func(int) bool) (best []bool, most int) {
	best = make([]bool, n)
	r := rand.New(rand.NewPCG(1, 0))
	for range 16 {
		order, in, left := r.Perm(n), make([]bool, n), map[int]bool{}
		for i := range n {
			if wanted(i) {
				left[i] = true
			}
		}
		size := 0
		for len(left) > 0 {
			next, fewest := -1, 0
			for i := range left {
				neighbours := 0
				for j := range left {
					if joined(i, j) {
						neighbours++
					}
				}
				if next < 0 || neighbours < fewest || neighbours == fewest && order[i] < order[next] {
					next, fewest = i, neighbours
				}
			}
			in[next] = true
			size++
			for j := range left {
				if j == next || joined(next, j) {
					delete(left, j)
				}
			}
		}
		if size > most {
			best, most = in, size
		}
	}
	return best, most
}

// TestExactSpins: leaves and centres are those of the definition, on graphs of many kinds.
func TestExactSpins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	targets := smallGraphs()
	targets["cubic glass"] = cubicGlass(4, 1)
	targets["pair"] = Target{Spins: 2, Beta: 1, Bonds: []Bond{{I: 0, J: 1, Coupling: 1}}} // one centre, after nothing else
	for k := range 24 {
		n := 20 + r.IntN(20)
		g, bonds := Target{Spins: n, Beta: 1}, n/2+r.IntN(3*n)
		for range bonds {
			i, j := r.IntN(n), r.IntN(n)
			if k%3 == 0 { // two colours, of different sizes
				i, j = r.IntN(n/3), n/3+r.IntN(n-n/3)
			}
			if i != j {
				g.Bonds = append(g.Bonds, Bond{I: i, J: j, Coupling: 1})
			}
		}
		targets[fmt.Sprint("random ", k)] = g
	}
	for name, g := range targets {
		near := g.neighbours()
		require.Equal(t, naiveExactSpins(near), exactSpins(near), name)
	}
}

// TestTermsOfEnergies: each bond and each field is in one term, with its lower spin first.
func TestTermsOfEnergies(t *testing.T) {
	g := Target{Spins: 4, Fields: []float64{0, 2, 0, 2}, Bonds: []Bond{{I: 3, J: 0, Coupling: 1}, {I: 2, J: 1, Coupling: 3}, {I: 1, J: 0, Coupling: 1}, {I: 2, J: 3}}}
	x, err := newExact(&g, []bool{true, true, true, true})
	require.NoError(t, err)
	require.Equal(t, []term{{1, []int32{0, 0}, []int32{3, 1}}, {3, []int32{1}, []int32{2}}}, x.bonds)
	require.Equal(t, []term{{2, []int32{1, 3}, nil}}, x.fields)
	x, err = newExact(&g, []bool{true, true, true, false})
	require.NoError(t, err)
	require.Equal(t, []term{{1, []int32{0}, []int32{1}}, {3, []int32{1}, []int32{2}}}, x.bonds)
	require.Equal(t, []term{{2, []int32{1}, nil}}, x.fields)
}
