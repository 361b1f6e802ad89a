package diagnose

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
)

// prospectScales are the distances at which chains begin, in scales of the target, from where it is
// known to have weight.
var prospectScales = []float64{10, 20, 40}

const (
	prospectors   = 96
	prospectSteps = 1 << 10
	maxTraced     = 64            // states of each, of the second half of the steps
	logDensity    = "log_density" // the observable ln π
	lowShare      = 0.01          // share of the samples that a state of a mode may lie below in ln π
)

// A Prospect is what chains found that began far from where the target is known to have
// weight. What they did not find may be there all the same.
type Prospect struct {
	Chains int     `json:"chains"`
	Scale  float64 `json:"scale"` // the largest, in scales of the target, at which they began
	Steps  int     `json:"steps"`
	// Lost is how many ended where ln π is as high as of samples, and the generator's
	// density too small to draw them.
	Lost int `json:"lost"`
	// Thin is how many did in places that hold too little for averages to miss it.
	Thin int `json:"thin,omitempty"`
	// Near names observables of the one of them with the largest weight.
	Near string `json:"near,omitempty"`
}

// prospectSize returns the number of chains from far away and of their steps. A glance at a target that
// another program computes has fewer.
func (d *diagnosis) prospectSize() (n, steps int) {
	if d.glance && !d.cheap {
		return prospectors / 2, prospectSteps / 8
	}
	return prospectors, prospectSteps
}

// prospect lets chains begin far away, and looks at where they end.
func (d *diagnosis) prospect(ctx context.Context) error {
	o, ok := d.observer.(chains.Prospector)
	weight := slices.Index(d.observables, engine.LogWeight)
	if !ok || d.weights == nil || d.logPi == nil {
		return nil
	}
	n, steps := d.prospectSize()
	for ; steps > 0 && !d.glance && !d.afford(1, steps*n); steps /= 2 {
	}
	if steps == 0 {
		d.limits = append(d.limits, "its share of work allowed no chains from far away")
		return nil
	}
	within, cancel := d.deadline(ctx, 1)
	defer cancel()
	w, err := o.Prospect(d.params, n, prospectScales)
	seen, draws := trace{n: n}, min(maxTraced, steps/2)
	if v, ok := w.(chains.VectorWalk); ok && err == nil && d.glance {
		steps, _, err = d.approach(within, v, prospectSteps/16, steps, false, nil)
		draws = 0
	} else if err == nil {
		err = w.Advance(within, steps-steps/2)
	}
	for t := 0; t < draws && err == nil; t++ {
		if err = w.Advance(within, steps/2/draws); err == nil {
			seen.add(w, d.observe(w, n), draws)
		}
	}
	if late(ctx, err) {
		d.limits = append(d.limits, "time allowed no chains from far away")
		return nil
	}
	if err != nil {
		return err
	}
	stride := len(d.observables)
	ends := make([]float64, n*stride)
	w.Observe(ends)
	logs, likely := make([]float64, n), d.logDensities(w, ends)
	for i, v := range likely {
		if logs[i] = ends[i*stride+weight]; v < d.lowLogPi {
			logs[i] = math.Inf(-1)
		}
	}
	p := &Prospect{Chains: n, Scale: slices.Max(prospectScales), Steps: steps, Lost: d.weights.CountBeyond(logs)}
	which := largest(logs, p.Lost)
	switch {
	case d.thin(&seen, which):
		p.Lost, p.Thin = 0, p.Lost
	case p.Lost > 0:
		p.Near = d.place(ends[which[p.Lost-1]*stride:][:stride])
	}
	d.found = p
	return nil
}

// place writes the first observables of a state.
func (d *diagnosis) place(values []float64) string {
	const shown = 4
	var list []string
	for j := range min(shown, len(values)) {
		list = append(list, fmt.Sprintf("%s = %.4g", d.observables[j], values[j]))
	}
	return strings.Join(list, ", ")
}

// logDensities returns ln π of a walk's states in the coordinates that they move in. values are their
// observables. It returns nil where ln π is not observed.
func (d *diagnosis) logDensities(w chains.Walk, values []float64) (all []float64) {
	if v, ok := w.(chains.VectorWalk); ok {
		return v.LogDensities()
	}
	if j := slices.Index(d.observables, logDensity); j >= 0 {
		for i := j; i < len(values); i += len(d.observables) {
			all = append(all, values[i])
		}
	}
	return all
}

// low returns the ln π that the share lowShare of states lie below, −∞ where none is observed.
func low(likelihoods []float64) float64 {
	if likelihoods == nil {
		return math.Inf(-1)
	}
	return slices.Sorted(slices.Values(likelihoods))[int(lowShare*float64(len(likelihoods)))]
}
