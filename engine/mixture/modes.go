package mixture

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
)

// A population that descends from one wide Gaussian has no members in modes far outside it, or in
// modes much narrower than the others. So some walkers begin near and far. Where one ends in a place
// for which the population does not account, another population is annealed from a Gaussian there.
const (
	farWalkers     = 128 // half as many, of half the moves, if evaluations are spared
	farMoves       = 200 // of each walker
	farMovesPerDim = 20  // of each walker, for each coordinate
	farDivisor     = 4   // a population about a walker has 1/farDivisor of the members
	minFarMembers  = 32
	farReach       = 3 // scale of the Gaussian about a walker, in deviations that fit its steps
	maxFarModes    = 8 // populations about walkers that add a mode
	maxFarFailures = 2 // such populations in a row that add none, before the end

	regionIterations = 20   // of the fit to a region
	memberStride     = 37   // between members that are taken one after the other
	minLogRatio      = 7.   // ln π/q of a state for which no region accounts
	minModeMass      = 1e-3 // share of Z from which on a mode adds something
	minRegionShare   = 1. / 16

	lonelyShare   = 0.25 // of the members that Z asks for in a place, below which a member is lonely
	neighbours    = 32   // members of another region that show whether this one goes on there
	maxOffset     = 2.5  // of neighbours, in this region's deviations per coordinate
	maxWidthRatio = 10.  // between neighbours and this region
	minClearance  = 10   // in deviations over all coordinates, of a region with less than smallShare
	smallShare    = 0.1  // of Z
)

// findMissedModes returns what a population has found, with the modes that walkers find elsewhere.
func (s *scout) findMissedModes(found *Found) (*Found, error) {
	d := s.dim
	walkers, moves := farWalkers, farMoves+farMovesPerDim*d
	if s.Spare {
		walkers, moves = walkers/2, moves/2
	}
	o := Scout{Population: walkers, Seed: s.Seed, Stream: s.Stream | 1<<16, Center: s.Center, Scale: s.Scale}
	w := o.newScout(s.ctx, d, s.densities, s.workers)
	w.scatter([...]float64{1, 3, 10, 30}, s.Center, s.Scale, func(reach float64) float64 { return reach * slices.Min(s.Scale) })
	w.walk("far", moves)

	known := regions{s.describe(found)}
	for r := range w.LogPi { // some walkers are still on their way if moves are few
		if s.Spare && w.maxLogMass(r) < known.logZ()+math.Log(minModeMass) {
			w.LogPi[r] = math.Inf(-1)
		}
	}
	ratios := known.logRatios(w.X, w.LogPi)
	for tried, vain := 0, 0; len(known) <= maxFarModes && vain < maxFarFailures && s.ctx.Err() == nil; tried++ {
		at := floats.MaxIdx(ratios)
		if !(ratios[at] > minLogRatio) {
			break
		}
		if from := w.X[at*d : (at+1)*d]; slices.ContainsFunc(known, func(g region) bool { return s.risesTo(from, g.top(d)) }) {
			w.LogPi[at], ratios[at] = math.Inf(-1), math.Inf(-1)
			continue
		}
		o := Scout{Population: max(s.Population/farDivisor, minFarMembers), Moves: s.Moves, Spare: s.Spare, Seed: s.Seed, Stream: s.Stream | uint32(2+tried)<<16}
		for _, v := range w.X[at*d:][:d] {
			o.Center = append(o.Center, float64(v))
			o.Scale = append(o.Scale, farReach*w.Lengths[at]*math.Sqrt(float64(d))/2.4)
		}
		w.LogPi[at] = math.Inf(-1)
		vain++
		if lacking := known.outside(o.newScout(s.ctx, d, s.densities, s.workers).anneal(), d); len(lacking.LogPi) > d {
			if another := s.describe(lacking); known.misses(another, d) {
				known, vain = append(known, another), 0
			}
		}
		ratios = known.logRatios(w.X, w.LogPi)
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	return known.merge(d), nil
}

// risesTo reports whether ln π rises from x straight to a top, and ever less steeply. Then x is in no
// mode but the top's.
func (s *scout) risesTo(x []float32, to []float64) bool {
	const fall, bend = 1, 0.5 // of ln π that do not count
	f := s.logPiAlong(x, to)
	highest := math.Inf(-1)
	for k, v := range f {
		if highest = max(highest, v); v < highest-fall || k > 1 && v-2*f[k-1]+f[k-2] > bend {
			return false
		}
	}
	return true
}

// maxLogMass returns ln of the mass of a mode about a walker, as wide as the walker's steps or as the
// places where others begin, whichever is more. Hardly any mode holds as much.
func (s *scout) maxLogMass(walker int) float64 {
	d := float64(s.dim)
	mass := s.LogPi[walker] + d/2*(1+math.Log(2*math.Pi))
	for _, v := range s.Scale {
		mass += math.Log(max(s.Lengths[walker]*math.Sqrt(d)/2.4, farReach*v))
	}
	return mass
}

// A region is a population with the Gaussians q that are fitted to it, and ln Z by these. The
// population's own LogZ is a matter of luck where it was annealed to something narrow.
type region struct {
	*Found
	fit  *fit
	logZ float64
}

// describe fits Gaussians q to a population. It takes Z for the median of π/q.
func (s *scout) describe(found *Found) region {
	n := len(found.LogPi)
	c := s.stream()
	f := newFit(s.ctx, found.X, s.dim, min(maxShapes, max(1, n/(4*(s.dim+1)))))
	f.run(regionIterations, &c, 3<<62|s.Round<<32)
	s.Round++
	g := region{Found: found, fit: f}
	ratios := regions{g}.logRatios(found.X, found.LogPi)
	slices.Sort(ratios)
	g.logZ = ratios[n/2]
	return g
}

// top returns the member of the highest ln π.
func (g region) top(dim int) []float64 {
	at := floats.MaxIdx(g.LogPi) * dim
	return number.Widen(g.X[at : at+dim])
}

// regions are what has been found.
type regions []region

// logZ returns ln Z of all.
func (known regions) logZ() float64 {
	return floats.LogSumExp(lists.Map(known, func(g region) float64 { return g.logZ }))
}

// logRatios returns ln π/q of states whose ln π is given. q is the sum of the regions' Gaussians
// times their Z.
func (known regions) logRatios(x []float32, logPi []float64) []float64 {
	all, each := make([]float64, len(logPi)), make([][]float64, len(known))
	for j, g := range known {
		each[j] = make([]float64, len(logPi))
		g.fit.packed.logDensities(each[j], x)
	}
	logs := make([]float64, len(known))
	for r, v := range logPi {
		for j, g := range known {
			logs[j] = each[j][r] + g.logZ
		}
		all[r] = v - floats.LogSumExp(logs)
	}
	return all
}

// outside returns the members of a population for which no region accounts.
func (known regions) outside(found *Found, dim int) *Found {
	ratios := known.logRatios(found.X, found.LogPi)
	return found.filter(dim, func(r int) bool { return ratios[r] > minLogRatio/2 })
}

// misses reports whether another region is missing. It must hold something. Around most of its
// members, as far as their next ones are, there must be far fewer others than its share of Z asks
// for. And it must not go on where the others end, as a funnel's neck does: such a region is known,
// but Gaussians describe it badly.
func (known regions) misses(another region, dim int) bool {
	logZ := known.logZ()
	share := math.Exp(another.logZ - logZ)
	if !(share > minModeMass) || math.IsInf(share, 1) { // no region describes anything
		return false
	}
	lonely, n := 0, len(another.LogPi)
	next := 1 + n/16
	for m := range n {
		from := another.X[m*dim:][:dim]
		reach, have := slices.Sorted(slices.Values(another.squaredDistances(another.X, from)))[next], 0.0
		for _, g := range known {
			each := math.Exp(g.logZ-logZ) / float64(len(g.LogPi))
			for _, v := range another.squaredDistances(g.X, from) {
				if v <= reach {
					have += each
				}
			}
		}
		if have < lonelyShare*share*float64(next)/float64(n) {
			lonely++
		}
	}
	return 2*lonely > n && !slices.ContainsFunc(known, func(g region) bool {
		off, ratio := another.neighbourhood(g, dim)
		return off < maxOffset && ratio > 1/maxWidthRatio && ratio < maxWidthRatio || off*math.Sqrt(float64(dim)) < minClearance && share < smallShare
	})
}

// neighbourhood returns how far the nearest members of another region are from this one's mean, in its
// deviations per coordinate, and how many times as wide as it they are.
func (g region) neighbourhood(other region, dim int) (off, ratio float64) {
	mean, variance := Moments(g.X, dim)
	squares := g.squaredDistances(other.X, number.Narrow(mean))
	order := make([]int, len(squares))
	floats.Argsort(squares, order)
	var x []float32
	for _, r := range order[:min(neighbours, len(order))] {
		x = append(x, other.X[r*dim:(r+1)*dim]...)
	}
	theirs, spread := Moments(x, dim)
	for i, v := range variance {
		ratio += math.Log(spread[i]/v) / float64(2*dim)
		off += (theirs[i] - mean[i]) * (theirs[i] - mean[i]) / v / float64(dim)
	}
	return math.Sqrt(off), math.Exp(ratio)
}

// squaredDistances returns those of the points x from another point, in the region's deviations.
func (g region) squaredDistances(x, from []float32) []float64 {
	dim := len(from)
	squares := make([]float64, len(x)/dim)
	for r := range squares {
		for i, v := range x[r*dim:][:dim] {
			off := float64(v - from[i])
			squares[r] += off * off / g.fit.variance[i]
		}
	}
	return squares
}

// merge returns a population of as many members as the first region has. Each region has its share
// of Z in it, but at least minRegionShare.
func (known regions) merge(dim int) *Found {
	first := known[0].Found
	if len(known) == 1 {
		return first
	}
	all := &Found{LogZ: known.logZ(), Lines: first.Lines, Far: len(known) - 1}
	shares := make([]float64, len(known))
	for j, g := range known {
		shares[j] = max(math.Exp(g.logZ-all.LogZ), minRegionShare)
	}
	floats.Scale(float64(len(first.LogPi))/floats.Sum(shares), shares)
	had := 0.0
	for j, g := range known {
		had += shares[j]
		for len(all.LogPi) < int(math.Round(had)) {
			r := len(all.LogPi) * memberStride % len(g.LogPi) // members of one line are beside each other
			all.X = append(all.X, g.X[r*dim:(r+1)*dim]...)
			all.LogPi = append(all.LogPi, g.LogPi[r])
		}
	}
	return all
}
