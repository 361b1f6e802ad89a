package mixture

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/notes"
)

// Points alone do not tell how many Gaussians they are worth: a hundred of two modes at
// five deviations from each other are hardly likelier under two than under one. But ln π
// is known at each of them, and in the domain of a Gaussian it is quadratic.

// grow splits components, those first whose domains contribute most to the variance of
// ln π that quadratic functions leave, until each contributes less than level or there
// are as many as most. The uniforms of c from first on seed the halves.
func (f *fit) grow(logPi []float64, most int, level float64, c *rng.Counter, first uint64) {
	const iterations = 6
	var at fitState
	page := notes.PageOf(f.ctx, "grow", f.x, logPi, f.components, most, level, *c, first)
	if page.Recall(&at) {
		f.components = at.All
		f.resize()
	} else {
		at = fitState{}
	}
	f.expect()
	for ; len(f.components) < most && f.ctx.Err() == nil; at.Iterations++ {
		at.All = f.components
		page.Keep(&at)
		domains := f.domains(logPi)
		order := lists.Range(0, len(domains))
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(domains[b].residual, domains[a].residual) })
		worst := domains[order[0]].residual
		var more []Component
		for _, j := range order {
			if left := domains[j].residual; left <= level || left < worst/4 || len(f.components)+len(more) == most {
				break
			}
			parts := domains[j].halves(f.dim, f.components[j], c, first+uint64(at.Iterations)<<32+uint64(j)<<8)
			f.components[j] = parts[0]
			more = append(more, parts[1])
		}
		if len(more) == 0 {
			break
		}
		f.components = append(f.components, more...)
		f.resize()
		f.expect()
		for range iterations {
			f.maximise()
			f.expect()
		}
	}
	at.All = f.components
	page.Done(&at)
}

// resize makes room for as many components as there are.
func (f *fit) resize() {
	f.packed, f.shares = New(f.dim, 1, len(f.components), false).NewPacked(), make([]float64, f.n*len(f.components))
}

// A domain is the points that are most likely a component's.
type domain struct {
	x        []float32
	logPi    []float64
	residual float64 // of the variance of ln π, with the component's weight
}

func (f *fit) domains(logPi []float64) []domain {
	owner := make([]int, f.n)
	f.nearest(owner)
	all := make([]domain, len(f.components))
	for r, j := range owner {
		all[j].x = append(all[j].x, f.x[r*f.dim:(r+1)*f.dim]...)
		all[j].logPi = append(all[j].logPi, logPi[r])
	}
	for j := range all {
		d := &all[j]
		left, _ := (&Found{X: d.x, LogPi: d.logPi}).unexplained(f.dim)
		// Where there are too few points to tell, the heavier first, and last.
		const untold = 1e-12
		d.residual = f.components[j].Weight * max(left, untold)
		if math.IsNaN(left) {
			d.residual = f.components[j].Weight * untold
		}
	}
	return all
}

// halves returns two components in place of one.
func (d *domain) halves(dim int, whole Component, c *rng.Counter, first uint64) [2]Component {
	const iterations = 12
	var parts [2]Component
	if len(d.logPi) < 2*(dim+2) {
		return whole.halves()
	}
	two := newFit(context.Background(), d.x, dim, 2)
	two.seed(c, first)
	for range iterations {
		two.maximise()
		two.expect()
	}
	two.maximise()
	copy(parts[:], two.mixture())
	for i := range parts {
		parts[i].Weight *= whole.Weight
	}
	return parts
}

// halves returns two components beside each other in place of one.
func (c Component) halves() (parts [2]Component) {
	for i, side := range []float64{-0.5, 0.5} {
		parts[i] = c.clone()
		parts[i].Weight /= 2
		for b := range c.Mean {
			parts[i].Mean[b] += side * c.Factor[row(b)]
		}
	}
	return parts
}
