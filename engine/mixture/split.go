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

// Points alone do not tell from how many Gaussians they come: a hundred points of two modes
// that are five deviations apart are hardly likelier under two than under one. But ln π is
// known at each point, and where one Gaussian dominates it is quadratic.

// grow splits components in rounds, each time those with residuals of at least a quarter of the
// largest, until none exceeds maxResidual or there are maxComponents. c from first on seeds the halves.
func (f *fit) grow(logPi []float64, maxComponents int, maxResidual float64, c *rng.Counter, first uint64) {
	const iterations = 6
	var state fitState
	page := notes.PageOf(f.ctx, "grow", f.x, logPi, f.components, maxComponents, maxResidual, *c, first)
	if page.Recall(&state) {
		f.components = state.All
		f.resize()
	} else {
		state = fitState{}
	}
	f.expect()
	for ; len(f.components) < maxComponents && f.ctx.Err() == nil; state.Iterations++ {
		state.All = f.components
		page.Keep(&state)
		domains := f.domains(logPi)
		order := lists.Range(0, len(domains))
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(domains[b].residual, domains[a].residual) })
		worst := domains[order[0]].residual
		var added []Component
		for _, j := range order {
			if residual := domains[j].residual; residual <= maxResidual || residual < worst/4 || len(f.components)+len(added) == maxComponents {
				break
			}
			parts := domains[j].halves(f.dim, f.components[j], c, first+uint64(state.Iterations)<<32+uint64(j)<<8)
			f.components[j] = parts[0]
			added = append(added, parts[1])
		}
		if len(added) == 0 {
			break
		}
		f.components = append(f.components, added...)
		f.resize()
		f.expect()
		for range iterations {
			f.maximise()
			f.expect()
		}
	}
	state.All = f.components
	page.Done(&state)
}

// resize allocates packed and shares for the present number of components.
func (f *fit) resize() {
	f.packed, f.shares = New(f.dim, 1, len(f.components), false).NewPacked(), make([]float64, f.n*len(f.components))
}

// A domain holds the points in which one component has the largest share.
type domain struct {
	x        []float32 // [n][d]
	logPi    []float64
	residual float64 // variance of ln π that no quadratic function explains, times the component's weight
}

// domains returns the components' domains.
func (f *fit) domains(logPi []float64) []domain {
	owner := make([]int, f.n)
	f.nearest(owner)
	domains := make([]domain, len(f.components))
	for r, j := range owner {
		domains[j].x = append(domains[j].x, f.x[r*f.dim:(r+1)*f.dim]...)
		domains[j].logPi = append(domains[j].logPi, logPi[r])
	}
	for j := range domains {
		d := &domains[j]
		residual, _ := (&Found{X: d.x, LogPi: d.logPi}).unexplained(f.dim)
		const minResidual = 1e-12 // if there are too few points to tell, so that heavy components go first
		d.residual = f.components[j].Weight * max(residual, minResidual)
		if math.IsNaN(residual) {
			d.residual = f.components[j].Weight * minResidual
		}
	}
	return domains
}

// halves returns two components to replace the domain's own, fitted to its points if there are enough.
func (d *domain) halves(dim int, own Component, c *rng.Counter, first uint64) [2]Component {
	const iterations = 12
	var parts [2]Component
	if len(d.logPi) < 2*(dim+2) {
		return own.halves()
	}
	f := newFit(context.Background(), d.x, dim, 2)
	f.seed(c, first)
	for range iterations {
		f.maximise()
		f.expect()
	}
	f.maximise()
	copy(parts[:], f.mixture())
	for i := range parts {
		parts[i].Weight *= own.Weight
	}
	return parts
}

// halves returns two components of half the weight, one deviation along L's first column apart.
func (c Component) halves() (parts [2]Component) {
	for i, shift := range []float64{-0.5, 0.5} {
		parts[i] = c.clone()
		parts[i].Weight /= 2
		for b := range c.Mean {
			parts[i].Mean[b] += shift * c.Factor[row(b)]
		}
	}
	return parts
}
