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

// Where prospectors begin, in scales of the target about where it is known to have weight,
// how many they are, and how many steps they take, if work allows.
var prospected = []float64{10, 20, 40}

const (
	prospectors   = 96
	prospectSteps = 1 << 10
	logDensity    = "log_density" // the observable ln π
	lowDensity    = 0.01          // share of the samples that a state of a mode may lie below in ln π
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
	// Near names observables of the likeliest of them.
	Near string `json:"near,omitempty"`
}

// prospect lets chains begin far away, and looks at where they end.
func (d *diagnosis) prospect(ctx context.Context) error {
	o, ok := d.observer.(chains.Prospector)
	weight, density := slices.Index(d.all, engine.LogWeight), slices.Index(d.all, logDensity)
	if !ok || d.weight == nil || density < 0 {
		return nil
	}
	steps := prospectSteps
	for ; steps > 0 && !d.afford(1, steps*prospectors); steps /= 2 {
	}
	if steps == 0 {
		d.limits = append(d.limits, "its share of work allowed no chains from far away")
		return nil
	}
	within, cancel := d.deadline(ctx, 1)
	defer cancel()
	w, err := o.Prospect(d.params, prospectors, prospected)
	if err == nil {
		err = w.Advance(within, steps)
	}
	if late(ctx, err) {
		d.limits = append(d.limits, "time allowed no chains from far away")
		return nil
	}
	if err != nil {
		return err
	}
	stride := len(d.all)
	ends := make([]float64, prospectors*stride)
	w.Observe(ends)
	heaviest, lowest := d.weight.LogZ+math.Log(tooRare*prospectors), d.lowDensity()
	p := &Prospect{Chains: prospectors, Scale: slices.Max(prospected), Steps: steps}
	likeliest := math.Inf(-1)
	for ; len(ends) > 0; ends = ends[stride:] {
		if !(ends[weight] > heaviest && ends[density] >= lowest) {
			continue
		}
		p.Lost++
		if ends[density] > likeliest {
			likeliest, p.Near = ends[density], d.place(ends[:stride])
		}
	}
	d.found = p
	return nil
}

// place writes the first observables of a state.
func (d *diagnosis) place(values []float64) string {
	const shown = 4
	var list []string
	for j := range min(shown, len(values)) {
		list = append(list, fmt.Sprintf("%s = %.4g", d.all[j], values[j]))
	}
	return strings.Join(list, ", ")
}

// lowDensity returns the ln π that the share lowDensity of the samples as drawn lie below, −∞
// where it is not observed.
func (d *diagnosis) lowDensity() float64 {
	j := slices.Index(d.names, logDensity)
	if j < 0 {
		return math.Inf(-1)
	}
	values := make([]float64, 0, d.options.Samples)
	for i := j; i < len(d.stages[0]); i += d.width {
		values = append(values, d.stages[0][i])
	}
	slices.Sort(values)
	return values[int(lowDensity*float64(len(values)))]
}
