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

// prospectScales are the distances from the target's known weight at which chains begin, in units of
// the target's scale.
var prospectScales = []float64{10, 20, 40}

const (
	prospectors   = 96            // number of chains
	prospectSteps = 1 << 10       // steps of each chain
	maxTraced     = 64            // states of each chain that are traced, in the second half of its steps
	logDensity    = "log_density" // the observable ln π
	lowShare      = 0.01          // share of the samples whose ln π is too low for a state of a mode
)

// A Prospect is what chains found that began far from where the target is known to have
// weight. There may be modes that they did not find.
type Prospect struct {
	Chains int     `json:"chains"`
	Scale  float64 `json:"scale"` // largest distance at which they began, in units of the target's scale
	Steps  int     `json:"steps"` // steps of each chain
	// Lost is the number of chains that ended where ln π is as high as that of samples, and the
	// generator's density too small to draw them.
	Lost int `json:"lost"`
	// Thin replaces Lost if the places where they ended hold too little to show in averages.
	Thin int `json:"thin,omitempty"`
	// Near shows the first observables of the lost state with the largest weight.
	Near string `json:"near,omitempty"`
}

// prospectSize returns the number of chains and the steps of each. A glance at a target that another
// program computes has fewer of both.
func (d *diagnosis) prospectSize() (n, steps int) {
	if d.glance && !d.cheap {
		return prospectors / 2, prospectSteps / 8
	}
	return prospectors, prospectSteps
}

// prospect runs chains that begin far away, and counts those that end in modes that samples lack.
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
	limited, cancel := d.deadline(ctx, 1)
	defer cancel()
	w, err := o.Prospect(d.params, n, prospectScales)
	seen, draws := trace{n: n}, min(maxTraced, steps/2)
	if v, ok := w.(chains.VectorWalk); ok && err == nil && d.glance {
		steps, _, err = d.approach(limited, v, prospectSteps/16, steps, false, nil)
		draws = 0
	} else if err == nil {
		err = w.Advance(limited, steps-steps/2)
	}
	for t := 0; t < draws && err == nil; t++ {
		if err = w.Advance(limited, steps/2/draws); err == nil {
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
	logWeights := make([]float64, n)
	for i, logPi := range d.logDensities(w, ends) {
		if logWeights[i] = ends[i*stride+weight]; logPi < d.lowLogPi {
			logWeights[i] = math.Inf(-1)
		}
	}
	p := &Prospect{Chains: n, Scale: slices.Max(prospectScales), Steps: steps, Lost: d.weights.CountBeyond(logWeights)}
	lost := largest(logWeights, p.Lost)
	switch {
	case d.thin(&seen, lost):
		p.Lost, p.Thin = 0, p.Lost
	case p.Lost > 0:
		p.Near = d.describeState(ends[lost[p.Lost-1]*stride:][:stride])
	}
	d.found = p
	return nil
}

// describeState returns the first observables of a state as text.
func (d *diagnosis) describeState(values []float64) string {
	const shown = 4
	var list []string
	for j := range min(shown, len(values)) {
		list = append(list, fmt.Sprintf("%s = %.4g", d.observables[j], values[j]))
	}
	return strings.Join(list, ", ")
}

// logDensities returns ln π of a walk's states, in the coordinates that they move in. values are the
// states' observables. It returns nil if ln π is not observed.
func (d *diagnosis) logDensities(w chains.Walk, values []float64) (logPi []float64) {
	if v, ok := w.(chains.VectorWalk); ok {
		return v.LogDensities()
	}
	if j := slices.Index(d.observables, logDensity); j >= 0 {
		for i := j; i < len(values); i += len(d.observables) {
			logPi = append(logPi, values[i])
		}
	}
	return logPi
}

// lowQuantile returns the quantile of ln π at the probability lowShare, −∞ if ln π is not observed.
func lowQuantile(logPi []float64) float64 {
	if logPi == nil {
		return math.Inf(-1)
	}
	return slices.Sorted(slices.Values(logPi))[int(lowShare*float64(len(logPi)))]
}
