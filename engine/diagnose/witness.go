package diagnose

import (
	"context"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/internal/state"
)

// A Witness is what the least-squares witness g of a loss, fitted anew, tells of a
// generator whose density is not known. Near the target g is ln q − ln π up to a constant,
// and ½Var(g) the divergence KL(q‖π) to second order; of what moves do not connect, and of
// what its features do not see, it knows nothing.
type Witness struct {
	// Divergence is ½Cov(g, g′) of two fits to different samples, whose noise is
	// independent, so that it does not count.
	Divergence float64 `json:"divergence"`
	// Noise is by how much ½Var(g) of one fit would be larger, for its noise.
	Noise float64 `json:"noise"`
}

// witness fits the witness of the system's loss twice, if it has one and the density is
// not known.
func (d *diagnosis) witness(ctx context.Context, system engine.System) (*Witness, error) {
	w, ok := system.(engine.Witnesser)
	sampler, draws := system.(engine.Sampler)
	if !ok || !draws || !d.options.Witness || d.logs != nil {
		return nil, nil
	}
	defer restore(state.Of(system))()
	f := sampler.Formats()[0]
	states := make([]byte, d.options.Samples*f.RowBytes)
	if err := sampler.Sample(states, f.Name, d.params, d.options.First, d.options.Samples, 0); err != nil {
		return nil, err
	}
	var g [2][]float64
	for i := range g {
		of, err := w.Witness(ctx, d.params, i)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if of == nil || err != nil {
			return nil, nil // there is none, or none with numbers that can be used
		}
		g[i] = make([]float64, d.options.Samples)
		if err := of(g[i], f.Name, states); err != nil {
			return nil, err
		}
	}
	return compareFits(g[0], g[1]), nil
}

// restore keeps what a system carries from step to step, and returns what puts it back.
func restore(carried []engine.Section) func() {
	kept := make([]engine.Section, len(carried))
	for i, s := range carried {
		kept[i] = engine.Section{Float32: append([]float32(nil), s.Float32...), Float64: append([]float64(nil), s.Float64...)}
	}
	return func() {
		for i, s := range carried {
			copy(s.Float32, kept[i].Float32)
			copy(s.Float64, kept[i].Float64)
		}
	}
}

// compareFits returns what the values of two fits at the same states tell.
func compareFits(g, h []float64) *Witness {
	both := stat.Covariance(g, h)
	return &Witness{Divergence: both / 2, Noise: (stat.Covariance(g, g) + stat.Covariance(h, h) - 2*both) / 4}
}
