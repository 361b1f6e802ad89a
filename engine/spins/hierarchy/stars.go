package hierarchy

import (
	"cmp"
	"fmt"
	"slices"
)

// A Star is a group of sites that no network draws: a centre and its leaves. Leaves have no
// neighbours but the centre and learned sites, so that a star touches learned sites alone.
type Star struct {
	Centre int
	Leaves []int   // nil for none
	Around []int32 // the learned sites that it touches
}

// Stars groups the sites that are not learned, in the order of their centres; near lists the
// neighbours of each site. A site with more than one exact neighbour is a centre; of two that have
// only each other it is the one with more neighbours, or the first. The error names two centres
// that are neighbours.
func Stars(near [][]int32, learned []bool) (stars []Star, err error) {
	exact := make([][]int, len(near)) // neighbours that are not learned
	for i, list := range near {
		for _, j := range list {
			if !learned[j] {
				exact[i] = append(exact[i], int(j))
			}
		}
	}
	isCentre := func(i int) bool {
		if len(exact[i]) != 1 {
			return true
		}
		j := exact[i][0]
		return len(exact[j]) == 1 && cmp.Or(cmp.Compare(len(near[i]), len(near[j])), j-i) > 0
	}
	for i := range near {
		if learned[i] || !isCentre(i) {
			continue
		}
		s := Star{Centre: i, Leaves: exact[i]}
		if k := slices.IndexFunc(s.Leaves, isCentre); k >= 0 {
			return nil, fmt.Errorf("hierarchy: exact sites %d and %d are both centres of stars", i, s.Leaves[k])
		}
		for _, j := range append([]int{i}, s.Leaves...) {
			for _, k := range near[j] {
				if learned[k] && !slices.Contains(s.Around, k) {
					s.Around = append(s.Around, k)
				}
			}
		}
		stars = append(stars, s)
	}
	return stars, nil
}
