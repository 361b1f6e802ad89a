package hierarchy

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/shared"
)

// A Square describes the generator of an Ising model on the periodic square
// lattice, whose side is a multiple of four:
// E = −J Σ_<ij> s_i s_j − h Σ_i s_i over 2·Side² bonds.
type Square struct {
	Side           int
	J, Field, Beta float64

	// Neighbours is about how many known spins a spin looks at: whole shells
	// of equal distance, the nearest first. Refinements of spacing 8 and more,
	// which draw a sixteenth of the spins, look at half as many again, since
	// decimation lengthens the range of the law that they have to learn.
	Neighbours int
	// Hidden is the number of hidden units. Each has eight images under the
	// symmetries of the square.
	Hidden int
	// Rotations leaves each hidden unit its four images under rotations. Twice as many
	// units take the same time then, and come closer to the target.
	Rotations bool
}

// Limits of a lattice's generator.
const (
	MinNeighbours = 4
	MaxNeighbours = asm.BitInputs - 8
	MaxHidden     = asm.BitHidden / 8
)

// NeighboursOf returns the largest Neighbours whose whole shells are at most the given number of
// inputs, but at least MinNeighbours.
func NeighboursOf(inputs int) int { return max(MinNeighbours, inputs-8) }

// Target returns the lattice's target.
func (c Square) Target() Target { return square(c.Side, c.J, c.Field, c.Beta) }

// NewSquare returns the model of the lattice.
//
// With Side = 2ᵏ·q, q odd, the base is the 2q×2q lattice of spacing Side/2q,
// drawn spin by spin. Then for a = Side/2q … 2 the lattice of spacing a is
// refined to a/2, group by group. At a = 2 only half of the centres of faces are
// drawn; the other spins, five eighths of all spins, are exact.
func NewSquare(c Square) (*Model, error) {
	layouts, err := c.Layouts(asm.BitInputs)
	if err != nil {
		return nil, err
	}
	return build(c.Target(), layouts)
}

// Layouts returns the units of NewSquare, which draw the learned spins. A site has at most
// maxInputs inputs.
func (c Square) Layouts(maxInputs int) ([]Layout, error) {
	switch {
	case c.Side < 4 || c.Side%4 != 0 || c.Side > 1024:
		return nil, fmt.Errorf("side: %d is not a multiple of 4 between 4 and 1024", c.Side)
	case c.Neighbours < MinNeighbours || c.Neighbours > MaxNeighbours:
		return nil, fmt.Errorf("neighbours: %d is not between %d and %d", c.Neighbours, MinNeighbours, MaxNeighbours)
	case c.Hidden < 1 || c.Hidden > MaxHidden:
		return nil, fmt.Errorf("hidden: %d is not between 1 and %d", c.Hidden, MaxHidden)
	}
	spacing := 1 << (bits.TrailingZeros(uint(c.Side)) - 1)
	layouts := base(c.Side, spacing, maxInputs)
	for a := spacing; a >= 2; a /= 2 {
		g := grouping{halves: c.Side/a%4 == 0}
		last := groups
		if a == 2 {
			last = lastGroups
		}
		for group := 1; group <= last; group++ {
			neighbours := c.Neighbours
			if a >= 8 {
				neighbours = min(NeighboursOf(maxInputs), neighbours*3/2)
			}
			s := stencils.Get(stencilKey{g, group, neighbours}, func() stencil { return g.stencil(group, neighbours) })
			offsets, images := s.offsets, s.images
			if c.Rotations {
				images = images[:min(rotations, len(images))]
			}
			l := Layout{Name: fmt.Sprintf("%d:%s", a, groupNames[group-1]), Images: images, Hidden: c.Hidden}
			b := a / 2
			for y := range c.Side / b {
				for x := range c.Side / b {
					if g.rank(x, y) != group {
						continue
					}
					inputs := make([]int, len(offsets))
					for j, o := range offsets {
						inputs[j] = siteAt(c.Side, b*(x+o[0]), b*(y+o[1]))
					}
					l.Sites = append(l.Sites, siteAt(c.Side, b*x, b*y))
					l.Inputs = append(l.Inputs, inputs)
				}
			}
			if len(l.Sites) > 0 {
				layouts = append(layouts, l)
			}
		}
	}
	return layouts, nil
}

func siteAt(side, x, y int) int {
	return ((y%side+side)%side)*side + (x%side+side)%side
}

// The groups of a refinement in the order in which they are drawn: centres of
// faces, on one colour of a checkerboard and then the other, and centres of
// edges. The last refinement draws the first four.
var groupNames = []string{"A1", "A2", "A3", "A4", "B1", "B2", "B3", "B4", "X1", "X2", "X3", "X4", "Y1", "Y2", "Y3", "Y4"}

const (
	groups     = 16
	lastGroups = 4 // that the last refinement draws
)

// A grouping says which group of a refinement each site belongs to.
type grouping struct {
	// halves splits each group of centres of faces in two. The number of cells along a side must
	// be a multiple of four.
	halves bool
}

// rank returns the number of the group of the site at (x, y), in units of half the
// spacing a: 0 for the known lattice, 1–8 for the centres of its faces, 9–16 for the
// centres of its edges. It has period eight in x and y, or four without halves. Members
// of a group are 2a apart, or 2√2a if they are centres of faces in halves.
func (g grouping) rank(x, y int) int {
	i, j := x>>1, y>>1 // of the cell
	switch {
	case x&1 == 0 && y&1 == 0:
		return 0
	case x&1 == 1 && y&1 == 1:
		half := 0
		if g.halves {
			half = (i>>1 + j>>1) & 1
		}
		return 1 + 4*((i+j)&1) + 2*(i&1) + half
	case x&1 == 1:
		return 9 + 2*((i+j)&1) + i&1
	}
	return 13 + 2*((i+j)&1) + i&1
}

// A stencil has the inputs of the spins of a group, for all lattices.
type stencil struct {
	offsets [][2]int // from a spin to its inputs
	images  [][]int  // permutations of the inputs: the rotations, then the reflections
}

const rotations = 4 // the identity among them

type stencilKey struct {
	grouping
	group, n int
}

// stencils has room for all groups of both groupings, and two numbers of neighbours.
var stencils = shared.Cache[stencilKey, stencil]{MaxKept: 4 * groups}

// stencil returns the offsets from a spin of the group to the nearest spins
// drawn before, at least n in whole shells and sorted by distance, and their
// permutations under the symmetries of the square.
func (g grouping) stencil(group, n int) stencil {
	var offsets [][2]int
	var images [][]int
	const reach = 16
	var x0, y0 int
	for g.rank(x0, y0) != group {
		if x0++; x0 == 8 {
			if x0, y0 = 0, y0+1; y0 == 8 {
				return stencil{}
			}
		}
	}
	for y := -reach; y <= reach; y++ {
		for x := -reach; x <= reach; x++ {
			if g.rank(x0+x, y0+y) < group {
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
	offsets = slices.Clone(offsets[:m])
	for _, d := range [8][4]int{{1, 0, 0, 1}, {0, -1, 1, 0}, {-1, 0, 0, -1}, {0, 1, -1, 0}, {1, 0, 0, -1}, {-1, 0, 0, 1}, {0, 1, 1, 0}, {0, -1, -1, 0}} {
		image := make([]int, m)
		for j, o := range offsets {
			image[j] = slices.Index(offsets, [2]int{d[0]*o[0] + d[1]*o[1], d[2]*o[0] + d[3]*o[1]})
		}
		images = append(images, image)
	}
	return stencil{offsets, images}
}

// base returns a layout for each spin of the coarsest lattice, which looks at the
// nearest spins before it. It shares no weights.
func base(side, spacing, neighbours int) (layouts []Layout) {
	n := side / spacing
	distance := func(a, b int) float64 {
		dx, dy := math.Abs(float64(a%n-b%n)), math.Abs(float64(a/n-b/n))
		return math.Hypot(min(dx, float64(n)-dx), min(dy, float64(n)-dy))
	}
	for i := range n * n {
		before := lists.Range(0, i)
		slices.SortStableFunc(before, func(a, b int) int {
			return cmp.Compare(distance(a, i), distance(b, i))
		})
		inputs := make([]int, min(i, neighbours))
		for j := range inputs {
			inputs[j] = siteAt(side, spacing*(before[j]%n), spacing*(before[j]/n))
		}
		layouts = append(layouts, Layout{
			Name:   fmt.Sprintf("base:%d", i),
			Sites:  []int{siteAt(side, spacing*(i%n), spacing*(i/n))},
			Inputs: [][]int{inputs},
			Hidden: asm.BitLanes,
		})
	}
	return layouts
}
