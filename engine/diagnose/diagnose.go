package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// Levels of the tests.
const (
	familywise = 1e-3 // of a false alarm, of all tests of one kind together
	// maxSettledS is the largest |S| from M steps to the last of a mean that has settled at M. It is
	// less than the alarm's, so no drift that is left can be seen. Chance exceeds it in one of some
	// thousand tests, which errs on the side of more steps.
	maxSettledS      = 3.5
	maxForgotten     = 0.1  // memory below which samples have forgotten where they began
	minRemembered    = 0.5  // and above which something is not crossed
	maxRHat          = 1.02 // largest of chains that tell the same
	minEffectiveSize = 400  // effective size of chains that tell anything
	stateBytes       = 1 << 28
	glanceSteps      = 2 // steps of samples whose weights are level, which show all that moves do
)

// Run diagnoses the generator with parameters params of a system that is an
// chains.Observer. The error is ctx's, or says why it cannot be diagnosed.
func Run(ctx context.Context, system engine.System, params []float32, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	observer, ok := system.(chains.Observer)
	if !ok {
		return nil, errors.New("the system's samples cannot be walked (it is no chains.Observer), and so not diagnosed")
	}
	if s, ok := system.(engine.Sampler); ok {
		if most := stateBytes / max(1, s.Formats()[0].RowBytes); most < o.Samples {
			o.Samples = max(minSamples, most)
		}
	}
	d := &diagnosis{observer: observer, params: params, options: o, observables: observer.Observables(), start: time.Now()}
	_, vectors := observer.(chains.Prospector)
	if vectors {
		var err error
		if d.cheap, err = inside(system); err != nil {
			return nil, err
		}
	}
	if vectors && o.Need && o.Evaluation != nil && o.Evaluation.Weights != nil &&
		(o.Evaluation.Weights.Level() || !d.cheap && o.Evaluation.Weights.Trusted() && o.Evaluation.Weights.Ample()) {
		glance := *d
		glance.options.Samples, glance.options.Draws, glance.glance = max(minSamples, o.Samples/2), 8, true
		all := glanceSteps*glance.options.Samples + prospectSteps*(o.Chains+prospectors)
		glance.patient = d.cheap && (o.Moves == 0 || o.Moves >= all)
		if r, err := glance.run(ctx); err != nil || r.Verdict == Trustworthy && glance.arrived {
			return r, err
		}
		d.chainWalk, d.many = glance.chainWalk, glance.many // what they have met is not lost
	}
	return d.run(ctx)
}

// inside reports whether no other program is asked for the target, so that evaluations are cheap.
func inside(system engine.System) (bool, error) {
	p, ok := system.(engine.Prober)
	if !ok {
		return true, nil
	}
	answers, err := p.Probe()
	return answers == nil, err
}

func (d *diagnosis) run(ctx context.Context) (*Report, error) {
	for _, part := range []func(context.Context) error{d.walk, d.weigh, d.chains, d.prospect} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	return d.report(), nil
}

// A diagnosis is one under way.
type diagnosis struct {
	observer    chains.Observer
	params      []float32
	options     Options
	observables []string // the observer's
	start       time.Time
	moves       int  // of all states so far
	glance      bool // a brief diagnosis, which Run tries before the full one
	cheap       bool // the target is computed within the process
	patient     bool // a glance's chains take all steps: the target is cheap and enough moves are left
	arrived     bool // in a glance, all chains have come to where samples are

	columns []column    // what is judged
	names   []string    // of the columns
	width   int         // their number
	steps   []int       // of the samples at the stages of their walk, 0 first
	stages  [][]float64 // the samples' columns at these, [samples][width]
	logs    []float64   // ln w of the samples as drawn, nil if the density is not known
	limits  []string    // what was cut short

	observed []float64 // observables of the states that were observed last
	logPi    []float64 // of these states, nil where it is not observed
	// Of the samples as drawn: the ln π that the share lowShare of them lie below, and the mean.
	lowLogPi, meanLogPi float64

	sampleWalk chains.Walk // the samples that take steps
	chainWalk  chains.Walk // the independent chains

	center []float64 // of a vector's samples as drawn, [d]
	// spots are the coordinates of the samples that are weighed, or their spins. They are nil where
	// all are observables, or where there are too many.
	spots    []float32
	profiles []profile // of the samples' coordinates at the stages

	chain       *chainResult
	visits      []visits // of the chains
	found       *Prospect
	walkWeights *Weights // of the samples that take steps
	weights     *Weights // of these and more
	many        *multitude
	shifts      []shift // of each column and coordinate, by the weights
}

// A column is an observable, or its squared distance from its mean as drawn, whose average is
// a variance. The importance weight has no column: it depends on errors that no average shows.
type column struct {
	observable int // index in diagnosis.observables
	squared    bool
	fourth     bool // the observable is a square itself, or ln π
	center     float64
	low, high  float64 // bounds of finite values as drawn, which replace values that are not finite
}

// spread names the squared distances of an observable from its mean.
const spread = "_spread"

// choose makes the columns from the values of samples as drawn.
func (d *diagnosis) choose(values []float64) {
	stride := len(d.observables)
	for j, name := range d.observables {
		if name == engine.LogWeight {
			d.keepLogs(values)
			continue
		}
		c := column{observable: j, low: math.Inf(1), high: math.Inf(-1)}
		for i := j; i < len(values); i += stride {
			if number.Finite(values[i]) {
				c.low, c.high = min(c.low, values[i]), max(c.high, values[i])
			}
		}
		if c.low > c.high {
			c.low, c.high = 0, 0 // none is finite
		}
		var mean stat.Mean
		two := true
		for i := j; i < len(values); i += stride {
			v := c.value(values[i])
			mean.Add(v)
			two = two && (v == c.low || v == c.high)
		}
		d.columns, d.names = append(d.columns, c), append(d.names, name)
		if two {
			continue // whose mean determines its spread
		}
		c.squared, c.center = true, mean.Value()
		c.fourth = name == logDensity || strings.HasSuffix(name, "_square") || strings.HasSuffix(name, "_squared")
		d.columns, d.names = append(d.columns, c), append(d.names, name+spread)
	}
	d.width = len(d.columns)
}

// value returns what stands for an observable's value: itself, if it is finite.
func (c *column) value(v float64) float64 {
	switch {
	case math.IsInf(v, 1):
		v = c.high
	case !number.Finite(v):
		v = c.low // as what has no weight
	}
	if c.squared {
		return (v - c.center) * (v - c.center)
	}
	return v
}

// columnsOf returns the columns of states by the values of their observables.
func (d *diagnosis) columnsOf(values []float64) []float64 {
	stride := len(d.observables)
	columns := make([]float64, len(values)/stride*d.width)
	for i := range len(values) / stride {
		for j := range d.columns {
			columns[i*d.width+j] = d.columns[j].value(values[i*stride+d.columns[j].observable])
		}
	}
	return columns
}

// observe returns the columns of a walk's states.
func (d *diagnosis) observe(w chains.Walk, states int) []float64 {
	values := make([]float64, states*len(d.observables))
	if d.columns != nil && d.weights == nil {
		w.ObserveUnweighted(values)
	} else {
		w.Observe(values)
	}
	d.observed = values
	d.logPi = d.logDensities(w, values)
	if d.columns == nil {
		d.choose(values)
		d.lowLogPi, d.meanLogPi = lowQuantile(d.logPi), floats.Sum(d.logPi)/float64(states)
	}
	return d.columnsOf(values)
}

// deadline returns a context for a share of the time.
func (d *diagnosis) deadline(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	if d.options.Time == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, d.start.Add(time.Duration(share*float64(d.options.Time))))
}

// afford reports whether so many more moves stay within a share of those allowed, and
// counts them if they do.
func (d *diagnosis) afford(share float64, moves int) bool {
	if most := d.options.Moves; most > 0 && float64(d.moves+moves) > share*float64(most) {
		return false
	}
	d.moves += moves
	return true
}

// late reports whether err is that of the time, and not of the caller's context.
func late(ctx context.Context, err error) bool { return ctx.Err() == nil && engine.Cancelled(err) }

// walk takes samples through stages of 1, 2, 4, … steps until they have forgotten
// where they began and nothing moves any longer, or a limit is reached.
func (d *diagnosis) walk(ctx context.Context) error {
	limited, cancel := d.deadline(ctx, 0.6)
	defer cancel()
	w, err := d.observer.Walk(d.params, d.options.First, d.options.Samples)
	if err != nil {
		return err
	}
	d.sampleWalk = w
	look := func(steps int) {
		d.stages = append(d.stages, d.observe(w, d.options.Samples))
		d.steps = append(d.steps, steps)
		d.locate()
	}
	look(0)
	if d.logs != nil && d.spots == nil {
		if d.spots, err = d.spins(w, d.options.Samples); err != nil {
			return err
		}
	}
	share := 0.6
	if len(d.center) >= chains.ManyCoordinates {
		share = 0.25 // in which a few steps forget nothing, and chains have a long way
	}
	for steps := 1; steps <= d.options.Refine; steps *= 2 {
		more := steps - d.steps[len(d.steps)-1]
		if !d.afford(share, more*d.options.Samples) {
			d.limits = append(d.limits, fmt.Sprintf("its share of work allowed %d steps of %d", d.steps[len(d.steps)-1], d.options.Refine))
			break
		}
		err := w.Advance(limited, more)
		if late(ctx, err) {
			d.limits = append(d.limits, fmt.Sprintf("time allowed %d steps of %d", d.steps[len(d.steps)-1], d.options.Refine))
			break
		}
		if err != nil {
			return err
		}
		look(steps)
		if len(d.steps) > 4 && d.quiet() || d.glance && steps == glanceSteps {
			break
		}
	}
	return nil
}

// quiet reports whether the walk has nothing more to show.
func (d *diagnosis) quiet() bool {
	last := len(d.stages) - 1
	for j := range d.width {
		if d.memory(j) > maxForgotten {
			return false
		}
		for from := last - 2; from < last; from++ {
			if c := d.change(j, from, last); math.Abs(c.Z) > maxSettledS {
				return false
			}
		}
	}
	for j := range d.width {
		if !d.watched(d.settled(j)) {
			return false
		}
	}
	return true
}

// change returns how a mean changes from one stage to another.
func (d *diagnosis) change(j, from, to int) Drift {
	a, b := d.stages[from], d.stages[to]
	n := float64(d.options.Samples)
	var sum, squares float64
	for i := j; i < len(a); i += d.width {
		c := b[i] - a[i]
		sum += c
		squares += c * c
	}
	c := Drift{Steps: d.steps[to], Change: sum / n, StandardError: math.Sqrt(max(0, squares/n-sum/n*sum/n) / n)}
	if squares > 0 {
		c.Z = sum / math.Sqrt(squares)
	}
	return c
}

// memory returns the correlation of an observable at the first and the last stage.
func (d *diagnosis) memory(j int) float64 {
	a, b := d.stages[0], d.stages[len(d.stages)-1]
	n := float64(d.options.Samples)
	var sa, sb, saa, sbb, sab float64
	for i := j; i < len(a); i += d.width {
		x, y := a[i]-a[j], b[i]-a[j] // near a constant, so that squares do not cancel
		sa, sb, saa, sbb, sab = sa+x, sb+y, saa+x*x, sbb+y*y, sab+x*y
	}
	va, vb := saa-sa*sa/n, sbb-sb*sb/n
	if va <= 1e-12*saa || vb <= 1e-12*sbb {
		return 0 // a constant has nothing to remember
	}
	return (sab - sa*sb/n) / math.Sqrt(va*vb)
}

// moments returns an observable's mean and standard deviation at a stage.
func (d *diagnosis) moments(j, stage int) (mean, deviation float64) {
	values := d.stages[stage]
	n := float64(d.options.Samples)
	for i := j; i < len(values); i += d.width {
		mean += values[i] / n
	}
	var squares float64
	for i := j; i < len(values); i += d.width {
		squares += (values[i] - mean) * (values[i] - mean)
	}
	return mean, math.Sqrt(squares / max(1, n-1))
}

// alarm returns the |S| that no walk of the target's samples reaches at any of the
// tests together, but with a probability of familywise.
func (d *diagnosis) alarm() float64 {
	planned := 1 + math.Log2(float64(d.options.Refine))
	return math.Sqrt(2 * math.Log(2*planned*float64(d.width)/familywise))
}

// settled returns the first stage from which on a mean is that of the last stage.
func (d *diagnosis) settled(j int) int {
	last := len(d.stages) - 1
	first := last
	for from := last - 1; from >= 0 && math.Abs(d.change(j, from, last).Z) <= maxSettledS; from-- {
		first = from
	}
	return first
}

// watched reports whether the walk went on long enough after a stage to tell: to four
// times its steps.
func (d *diagnosis) watched(stage int) bool {
	return 4*d.steps[stage] <= d.steps[len(d.steps)-1]
}
