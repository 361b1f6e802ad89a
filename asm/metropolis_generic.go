package asm

type replicas = [ReplicaWords]uint64

// site returns the spins of a site.
func (s *Sweep) site(spins []uint64, row, col int) *replicas {
	return (*replicas)(spins[(row*s.l+col)*ReplicaWords:])
}

// bonds counts the unsatisfied bonds u of a site: two is set where u ≥ 2, one
// where u = 1.
func (s *Sweep) bonds(spins []uint64, row, col int) (two, one replicas) {
	l := s.l
	up, down := s.site(spins, (row+l-1)%l, col), s.site(spins, (row+1)%l, col)
	left, right := s.site(spins, row, (col+l-1)%l), s.site(spins, row, (col+1)%l)
	here := s.site(spins, row, col)
	for i := range two {
		x := here[i] ^ s.opposite
		a, b, c, d := x^up[i], x^down[i], x^left[i], x^right[i]
		// A full adder of a, b and c, and a half adder of its sum and d.
		sum := a ^ b ^ c
		carry := a&b | c&(a^b)
		two[i] = carry | sum&d
		one[i] = (sum ^ d) &^ two[i]
	}
	return two, one
}

func (s *Sweep) sharedGeneric(spins []uint64, draws []uint32, first, end, colour int) {
	step := s.step()
	for row := first; row < end; row++ {
		col := (row + colour) % step
		for ; col < s.l; col += step {
			// The thresholds are ordered, so that none implies one, and one two.
			var two, one, none uint64
			if draw := uint64(draws[0]); draw < s.two {
				two = ^uint64(0)
				if draw < s.one {
					one = ^uint64(0)
					if draw < s.none {
						none = ^uint64(0)
					}
				}
			}
			draws = draws[1:]
			ifTwo, ifOne := s.bonds(spins, row, col)
			here := s.site(spins, row, col)
			for i := range here {
				here[i] ^= ifTwo[i]&two | ifOne[i]&one | none
			}
		}
	}
}

func (s *Sweep) independentGeneric(spins []uint64, g *Xoshiro, first, end, colour int) {
	step := s.step()
	for row := first; row < end; row++ {
		col := (row + colour) % step
		for col < s.l {
			n := 1
			if step == 2 && col+(quad-1)*step < s.l {
				n = quad
			}
			s.flip(spins, g, row, col, n)
			col += n * step
		}
	}
}

// flip updates n sites of one colour.
func (s *Sweep) flip(spins []uint64, g *Xoshiro, row, col, n int) {
	var two, one, accepted, open [quad]replicas // open: not yet decided
	for k := range n {
		two[k], one[k] = s.bonds(spins, row, col+2*k)
		for i := range open[k] {
			open[k][i] = ^uint64(0)
		}
	}
	together := false
	for p, plane := range &s.planes {
		together = together || n == quad && p >= surePlanes && disjoint(&open)
		var random replicas
		var left uint64
		for k := range n {
			if k == 0 || !together {
				random = g.next()
			}
			for i, random := range random {
				threshold := plane[0] ^ one[k][i]&plane[1] ^ two[k][i]&plane[2]
				accepted[k][i] |= open[k][i] & threshold &^ random
				open[k][i] &^= threshold ^ random
				left |= open[k][i]
			}
		}
		if left == 0 && (n == 1 && p >= surePlanes-1 || together && p >= quadPlanes-1) {
			break
		}
	}
	for k := range n {
		here := s.site(spins, row, col+2*k)
		for i := range here {
			here[i] ^= accepted[k][i]
		}
	}
}

// disjoint reports whether no bit is set in two of the four.
func disjoint(open *[quad]replicas) bool {
	for i := range ReplicaWords {
		var any uint64
		for k := range open {
			if any&open[k][i] != 0 {
				return false
			}
			any |= open[k][i]
		}
	}
	return true
}
