package hierarchy

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/asm"
)

// A Square describes the generator of an Ising model on the periodic square
// lattice, whose side is a multiple of four:
// E = −J Σ_<ij> s_i s_j − h Σ_i s_i over 2·Side² bonds.
type Square struct {
	Side           int
	J, Field, Beta float64

	// Neighbours is about how many known spins a spin looks at: whole shells
	// of equal distance, the nearest first.
	Neighbours int
	// Hidden is the number of hidden units, of which there are eight images
	// each.
	Hidden int
}

// NewSquare returns the model of the lattice.
//
// With Side = 2ᵏ·q, q odd, the base is the 2q×2q lattice of spacing Side/2q,
// drawn spin by spin. Then for a = Side/2q … 2 the lattice of spacing a is
// refined to a/2 by the groups that rank names. Of a = 2 only Fa1 and Fa2 are
// drawn; the others, five eighths of all spins, are exact.
func NewSquare(c Square) (*Model, error) {
	t := square(max(c.Side, 0), c.J, c.Field, c.Beta)
	switch {
	case c.Side < 4 || c.Side%4 != 0 || c.Side > 1024:
		return nil, fmt.Errorf("side: %d is not a multiple of 4 between 4 and 1024", c.Side)
	case c.Neighbours < 4 || c.Neighbours > asm.BitInputs-8:
		return nil, fmt.Errorf("neighbours: %d is not between 4 and %d", c.Neighbours, asm.BitInputs-8)
	case c.Hidden < 1 || 8*c.Hidden > asm.BitHidden:
		return nil, fmt.Errorf("hidden: %d is not between 1 and %d", c.Hidden, asm.BitHidden/8)
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	spacing := 1 << (bits.TrailingZeros(uint(c.Side)) - 1)
	layouts := base(c.Side, spacing, asm.BitInputs)
	for a := spacing; a >= 2; a /= 2 {
		groups := groupNames
		if a == 2 {
			groups = groups[:2]
		}
		for g, name := range groups {
			offsets, images := stencil(g+1, c.Neighbours)
			l := layout{name: fmt.Sprintf("%d:%s", a, name), images: images, hidden: c.Hidden}
			b := a / 2
			for y := range c.Side / b {
				for x := range c.Side / b {
					if rank(x, y) != g+1 {
						continue
					}
					inputs := make([]int, len(offsets))
					for j, o := range offsets {
						inputs[j] = siteAt(c.Side, b*(x+o[0]), b*(y+o[1]))
					}
					l.sites = append(l.sites, siteAt(c.Side, b*x, b*y))
					l.inputs = append(l.inputs, inputs)
				}
			}
			layouts = append(layouts, l)
		}
	}
	return build(t, layouts)
}

func siteAt(side, x, y int) int {
	return ((y%side+side)%side)*side + (x%side+side)%side
}

// The groups of a refinement in the order in which they are drawn, as ranks 1
// to 8.
var groupNames = []string{"Fa1", "Fa2", "Fb1", "Fb2", "E1a", "E1b", "E2a", "E2b"}

// rank returns the number of the group of a refinement that the site at (x, y)
// belongs to, in units of half the spacing a: 0 for the lattice that is known,
// 1–4 for the centres of its faces, 5–8 for those of its edges. It has period
// four in x and y; no two members of a group are nearer than a√2.
func rank(x, y int) int {
	x, y = x&3, y&3
	i, j := x>>1, y>>1 // of the cell
	switch {
	case x&1 == 0 && y&1 == 0:
		return 0
	case x&1 == 1 && y&1 == 1:
		switch {
		case i == 0 && j == 0:
			return 1
		case i == 1 && j == 1:
			return 2
		case i == 0:
			return 3
		}
		return 4
	case x&1 == 1:
		return 5 + (i+j)&1
	}
	return 7 + (i+j)&1
}

// stencil returns the offsets from a spin of the group to the nearest spins
// drawn before, at least n in whole shells and sorted by distance, and their
// permutations under the symmetries of the square.
func stencil(group, n int) (offsets [][2]int, images [][]int) {
	const reach = 16
	var x0, y0 int
	for rank(x0, y0) != group {
		if x0++; x0 == 4 {
			x0, y0 = 0, y0+1
		}
	}
	for y := -reach; y <= reach; y++ {
		for x := -reach; x <= reach; x++ {
			if rank(x0+x, y0+y) < group {
				offsets = append(offsets, [2]int{x, y})
			}
		}
	}
	square := func(o [2]int) int { return o[0]*o[0] + o[1]*o[1] }
	slices.SortStableFunc(offsets, func(a, b [2]int) int { return square(a) - square(b) })
	m := n
	for square(offsets[m]) == square(offsets[n-1]) {
		m++
	}
	offsets = offsets[:m]
	for _, g := range [8][4]int{{1, 0, 0, 1}, {0, -1, 1, 0}, {-1, 0, 0, -1}, {0, 1, -1, 0}, {1, 0, 0, -1}, {-1, 0, 0, 1}, {0, 1, 1, 0}, {0, -1, -1, 0}} {
		image := make([]int, m)
		for j, o := range offsets {
			image[j] = slices.Index(offsets, [2]int{g[0]*o[0] + g[1]*o[1], g[2]*o[0] + g[3]*o[1]})
		}
		images = append(images, image)
	}
	return offsets, images
}

// base returns one layout for each spin of the coarsest lattice, which looks at
// the nearest before it. It has no symmetry that weights could share.
func base(side, spacing, neighbours int) (layouts []layout) {
	n := side / spacing
	distance := func(a, b int) float64 {
		dx, dy := math.Abs(float64(a%n-b%n)), math.Abs(float64(a/n-b/n))
		return math.Hypot(min(dx, float64(n)-dx), min(dy, float64(n)-dy))
	}
	for i := range n * n {
		before := make([]int, i)
		for j := range before {
			before[j] = j
		}
		slices.SortStableFunc(before, func(a, b int) int {
			return cmp.Compare(distance(a, i), distance(b, i))
		})
		inputs := make([]int, min(i, neighbours))
		for j := range inputs {
			inputs[j] = siteAt(side, spacing*(before[j]%n), spacing*(before[j]/n))
		}
		layouts = append(layouts, layout{
			name:   fmt.Sprintf("base:%d", i),
			sites:  []int{siteAt(side, spacing*(i%n), spacing*(i/n))},
			inputs: [][]int{inputs},
			hidden: asm.BitLanes,
		})
	}
	return layouts
}
