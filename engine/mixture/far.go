package mixture

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
)

// A population that descends from one wide Gaussian has no members in modes far outside it, or
// much narrower than the others. So some walkers begin near and far, and where one ends in a
// place for which the population does not account, another is annealed from a Gaussian there.
const (
	farWalkers  = 128  // or half as many, of half the moves, where evaluations are spared
	farMoves    = 200  // of each
	farMovesBy  = 20   // of each, and for each coordinate
	farPart     = 4    // of a population's members to one of those about a walker
	farFewest   = 32   // of these
	farReach    = 3    // scale of the Gaussian there, in deviations that fit the walker's steps
	farMost     = 8    // populations about walkers that add to what is known
	farVain     = 2    // of them in turn that add nothing, after which there are no more
	settlings   = 20   // iterations by which Gaussians are fitted to a population
	stride      = 37   // by which members are taken in turn
	unaccounted = 7.   // ln of π/q, from which on what was found does not account for a state
	leastMass   = 1e-3 // of what was found, below which a mode adds nothing
	leastShare  = 1. / 16
	tooFew      = 0.25 // of the members that Z asks for in a place
	neighbours  = 32   // members of others that show whether a region goes on where they end
	nextTo      = 2.5  // of its deviations, that these are off in each coordinate
	muchWider   = 10.  // than the region, or narrower, that they are
	clearOf     = 10   // of its deviations that little is off from them, in all
	little      = 0.1  // of Z
)

// prospect returns what a population has found together with modes that walkers find
// elsewhere.
func (e *search) prospect(found *Found) (*Found, error) {
	d := e.dim
	walkers, moves := farWalkers, farMoves+farMovesBy*d
	if e.Spare {
		walkers, moves = walkers/2, moves/2
	}
	s := Scout{Population: walkers, Seed: e.Seed, Stream: e.Stream | 1<<16, Center: e.Center, Scale: e.Scale}
	w := s.search(e.ctx, d, e.own, e.workers)
	w.depart([...]float64{1, 3, 10, 30}, e.Center, e.Scale, func(reach float64) float64 { return reach * slices.Min(e.Scale) })
	w.walk("far", moves)

	known := regions{e.describe(found)}
	for r := range w.Now { // of which some are still on their way where moves are few
		if e.Spare && w.most(r) < known.logZ()+math.Log(leastMass) {
			w.Now[r] = math.Inf(-1)
		}
	}
	ratios := known.ratios(w.X, w.Now)
	for tried, vain := 0, 0; len(known) <= farMost && vain < farVain && e.ctx.Err() == nil; tried++ {
		at := floats.MaxIdx(ratios)
		if !(ratios[at] > unaccounted) {
			break
		}
		if from := w.X[at*d : (at+1)*d]; slices.ContainsFunc(known, func(g region) bool { return e.uphill(from, g.top(d)) }) {
			w.Now[at], ratios[at] = math.Inf(-1), math.Inf(-1)
			continue
		}
		s := Scout{Population: max(e.Population/farPart, farFewest), Moves: e.Moves, Spare: e.Spare, Seed: e.Seed, Stream: e.Stream | uint32(2+tried)<<16}
		for _, v := range w.X[at*d:][:d] {
			s.Center = append(s.Center, float64(v))
			s.Scale = append(s.Scale, farReach*w.Step[at]*math.Sqrt(float64(d))/2.4)
		}
		w.Now[at] = math.Inf(-1)
		vain++
		if lacking := known.outside(s.search(e.ctx, d, e.own, e.workers).anneal(), d); len(lacking.LogPi) > d {
			if another := e.describe(lacking); known.lack(another, d) {
				known, vain = append(known, another), 0
			}
		}
		ratios = known.ratios(w.X, w.Now)
	}
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	return known.together(d), nil
}

// uphill reports whether ln π rises on the straight way from x to a top, and ever less steeply: then x
// is in no mode of its own, and in none around that of the top either.
func (e *search) uphill(x []float32, to []float64) bool {
	const fall, bend = 1, 0.5 // that are hardly any
	f := e.between(x, to)
	highest := math.Inf(-1)
	for k, v := range f {
		if highest = max(highest, v); v < highest-fall || k > 1 && v-2*f[k-1]+f[k-2] > bend {
			return false
		}
	}
	return true
}

// most returns ln of what a mode about a walker would hold if it were as wide as the walker's steps, or
// as the places where others begin if that is more: hardly any holds as much.
func (e *search) most(walker int) float64 {
	d := float64(e.dim)
	mass := e.Now[walker] + d/2*(1+math.Log(2*math.Pi))
	for _, v := range e.Scale {
		mass += math.Log(max(e.Step[walker]*math.Sqrt(d)/2.4, farReach*v))
	}
	return mass
}

// A region is a population with the Gaussians that are fitted to it and the ln Z that they tell:
// where a population is annealed to something narrow, its own is a matter of luck.
type region struct {
	*Found
	fit  *fit
	logZ float64
}

// describe fits Gaussians q to a population. Z is about π/q, of whose values it takes the median.
func (e *search) describe(found *Found) region {
	n := len(found.LogPi)
	c := e.stream()
	f := newFit(e.ctx, found.X, e.dim, min(shapes, max(1, n/(4*(e.dim+1)))))
	f.run(settlings, &c, 3<<62|e.Round<<32)
	e.Round++
	g := region{Found: found, fit: f}
	ratios := regions{g}.ratios(found.X, found.LogPi)
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

// ratios returns ln π/q of states of which ln π is known, where q is the sum of the regions'
// Gaussians times their Z.
func (known regions) ratios(x []float32, logPi []float64) []float64 {
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

// outside returns the members of a population for which the regions do not account.
func (known regions) outside(found *Found, dim int) *Found {
	ratios := known.ratios(found.X, found.LogPi)
	return found.only(dim, func(r int) bool { return ratios[r] > unaccounted/2 })
}

// lack reports whether a region is missing: it holds something; around most of its members, as far
// as their next ones are, there are far fewer others than its share of Z asks for; and it does
// not go on where those end, as a funnel's neck or mouth does, which is there but for Gaussians
// that describe it badly.
func (known regions) lack(another region, dim int) bool {
	logZ := known.logZ()
	share := math.Exp(another.logZ - logZ)
	if !(share > leastMass) || math.IsInf(share, 1) { // where nothing is described at all
		return false
	}
	lonely, n := 0, len(another.LogPi)
	next := 1 + n/16
	for m := range n {
		from := another.X[m*dim:][:dim]
		reach, have := slices.Sorted(slices.Values(another.away(another.X, from)))[next], 0.0
		for _, g := range known {
			each := math.Exp(g.logZ-logZ) / float64(len(g.LogPi))
			for _, v := range another.away(g.X, from) {
				if v <= reach {
					have += each
				}
			}
		}
		if have < tooFew*share*float64(next)/float64(n) {
			lonely++
		}
	}
	return 2*lonely > n && !slices.ContainsFunc(known, func(g region) bool {
		off, ratio := another.beside(g, dim)
		return off < nextTo && ratio > 1/muchWider && ratio < muchWider || off*math.Sqrt(float64(dim)) < clearOf && share < little
	})
}

// beside returns how far the members of another region that are nearest are from this one's mean,
// in its deviations in each coordinate, and how many times as wide as it they are.
func (g region) beside(other region, dim int) (off, ratio float64) {
	mean, variance := Moments(g.X, dim)
	squares := g.away(other.X, number.Narrow(mean))
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

// away returns the squared distances of the points x from another, in the region's deviations.
func (g region) away(x, from []float32) []float64 {
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

// together returns a population of as many members as the first, with as many of each region as
// it has of Z, but not too few.
func (known regions) together(dim int) *Found {
	first := known[0].Found
	if len(known) == 1 {
		return first
	}
	all := &Found{LogZ: known.logZ(), Lines: first.Lines, Far: len(known) - 1}
	shares := make([]float64, len(known))
	for j, g := range known {
		shares[j] = max(math.Exp(g.logZ-all.LogZ), leastShare)
	}
	floats.Scale(float64(len(first.LogPi))/floats.Sum(shares), shares)
	had := 0.0
	for j, g := range known {
		had += shares[j]
		for len(all.LogPi) < int(math.Round(had)) {
			r := len(all.LogPi) * stride % len(g.LogPi) // those of one line are beside each other
			all.X = append(all.X, g.X[r*dim:(r+1)*dim]...)
			all.LogPi = append(all.LogPi, g.LogPi[r])
		}
	}
	return all
}
