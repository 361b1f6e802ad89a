// Package answer measures how long it takes from a target to averages over it, training
// included, and compares it with what people would run instead: cluster moves and replica
// exchange in C, Stan's NUTS and emcee.
//
// A contender gives a Series: the processor time before its first row, and rows of functions
// of states. All series are judged alike. The integrated autocorrelation time of the rows, by
// one chainVariance, gives the error of each average after any processor time. The averages are
// compared with exact ones or, where there are none, with those of the other contenders.
package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// An observable is a function of means over the target.
type observable struct {
	name  string
	value func(means []float64) float64
	unit  func(means []float64) float64 // contenders are asked for an error of a hundredth of it
	exact float64                       // NaN if unknown
}

// meanObservable returns mean i as an observable, in units of its absolute value.
func meanObservable(name string, i int, exact float64) observable {
	value := func(m []float64) float64 { return m[i] }
	return observable{name, value, func(m []float64) float64 { return math.Abs(m[i]) }, exact}
}

// varianceObservable returns scale times the variance of the quantity whose mean is mean i and
// whose square has mean i+1.
func varianceObservable(name string, scale float64, i int, exact float64) observable {
	value := func(m []float64) float64 { return scale * (m[i+1] - m[i]*m[i]) }
	return observable{name, value, value, exact}
}

// A Series is the rows of a contender, and their cost.
type Series struct {
	Setup            float64 // seconds of processor before the first row
	Sampling         float64 // seconds of processor for all rows
	SetupEvaluations float64 // of ln π or its gradient, before the first row; 0 where not counted
	Evaluations      float64 // of ln π or its gradient, for all rows

	rows    []float64 // [n][width], row-major
	width   int
	weights []float64 // of rows; nil if all are equal
}

func (s *Series) n() int { return len(s.rows) / s.width }

func (s *Series) weight(r int) float64 {
	if s.weights == nil {
		return 1
	}
	return s.weights[r]
}

// means returns the weighted means of the first n rows.
func (s *Series) means(n int) []float64 {
	m, total := make([]float64, s.width), 0.0
	for r := range n {
		w := s.weight(r)
		total += w
		for i, f := range s.rows[r*s.width : (r+1)*s.width] {
			m[i] += w * f
		}
	}
	for i := range m {
		m[i] /= total
	}
	return m
}

// influence returns u_r = w_r (f_r − ⟨f⟩)·∇value/⟨w⟩ of each row r, and the variance of
// (f − ⟨f⟩)·∇value over the target. The error of the mean of u is that of the observable.
func (s *Series) influence(o observable) (u []float64, variance float64) {
	m := s.means(s.n())
	slope := make([]float64, s.width)
	for i, x := range m {
		h := 1e-5 * max(1e-12, math.Abs(x))
		m[i] = x + h
		up := o.value(m)
		m[i] = x - h
		slope[i] = (up - o.value(m)) / (2 * h)
		m[i] = x
	}
	total := 0.0
	for r := range s.n() {
		total += s.weight(r) / float64(s.n())
	}
	u = make([]float64, s.n())
	for r := range u {
		for i, f := range s.rows[r*s.width : (r+1)*s.width] {
			u[r] += slope[i] * (f - m[i])
		}
		w := s.weight(r) / total
		variance += w * u[r] * u[r] / float64(len(u))
		u[r] *= w
	}
	return u, variance
}

// An Average is an observable's value by a contender.
type Average struct {
	Observable string  `json:"observable"`
	Value      float64 `json:"value"`
	Error      float64 `json:"standard_error"` // after all rows
	Reference  float64 `json:"reference"`      // the exact value, or the other contenders'
	Unit       float64 `json:"unit"`           // contenders are asked for an error of a hundredth of it
	// Off is the distance to the reference in standard errors of the difference.
	Off float64 `json:"off"`
	// Independent is how many independent samples a second of processor gives.
	Independent float64 `json:"independent_per_second"`
	// Seconds is the processor time until the standard error is a hundredth of the unit.
	Seconds float64 `json:"seconds_to_one_percent"`
}

// MarshalJSON implements json.Marshaler.
func (a Average) MarshalJSON() ([]byte, error) { return number.Marshal(a) }

// UnmarshalJSON implements json.Unmarshaler.
func (a *Average) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, a) }

// A Point is the error after some processor time.
type Point struct {
	Seconds  float64 `json:"seconds"`
	Error    float64 `json:"error"`          // the largest distance to a reference, in units
	Standard float64 `json:"standard_error"` // the largest standard error, in units
}

// MarshalJSON implements json.Marshaler.
func (p Point) MarshalJSON() ([]byte, error) { return number.Marshal(p) }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Point) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, p) }

// An Outcome is the result of one contender for one problem.
type Outcome struct {
	Contender string `json:"contender"`
	Preset    string `json:"preset,omitempty"`  // of RevGen; empty for a peer
	About     string `json:"about,omitempty"`   // the contender's version
	Missing   string `json:"missing,omitempty"` // why it did not run
	Series    `json:"series"`
	Averages  []Average `json:"averages"`
	// Slowest is the index of the average with the largest Seconds.
	Slowest int     `json:"slowest"`
	Curve   []Point `json:"curve"` // in order of time

	chainVariances  []float64 // of each average: error² times the number of rows
	targetVariances []float64 // of each average: the variance over the target
}

func (o *Outcome) slowest() *Average { return &o.Averages[o.Slowest] }

// maxDeviation bounds the distance of an average from its reference in standard errors. A few
// dozen averages do not reach it by chance, although their τ are themselves estimates.
const maxDeviation = 5

// Consistent reports whether no average contradicts its reference.
func (o *Outcome) Consistent() bool {
	return o.Missing == "" && !slices.ContainsFunc(o.Averages, func(a Average) bool { return !(a.Off < maxDeviation) })
}

// An Answer is the outcomes of all contenders for a problem.
type Answer struct {
	Problem  string    `json:"problem"`
	About    string    `json:"about"`
	Outcomes []Outcome `json:"outcomes"` // RevGen's presets first
}

// A contender draws rows for a problem.
type contender interface {
	name() string
	// run draws rows for about so many seconds of processor, set-up excluded, and returns them
	// with the contender's version.
	run(ctx context.Context, w *peers.Workshop, seconds float64, seed uint64) (series *Series, about string, err error)
}

// A problem is a target, its observables and its contenders.
type problem struct {
	name, about string
	observables []observable
	solve       func() []float64 // computes the observables' exact values; nil if those stand there
	ours        revgen           // without a preset
	peers       []contender
}

// setExact sets the exact values that take a while to compute.
func (p *problem) setExact() {
	if p.solve != nil {
		for i, v := range p.solve() {
			p.observables[i].exact = v
		}
	}
}

// Options are the arguments of Run.
type Options struct {
	Only    []string // names of problems; empty means all
	Seconds float64  // of processor that each contender draws samples for
	Seed    uint64
	Peers   bool
	Log     func(format string, args ...any)
}

// Names returns the names of all problems.
func Names() []string { return lists.Map(problems(), func(p problem) string { return p.name }) }

// Run runs the contenders of each problem, one after another on one thread.
func Run(ctx context.Context, o Options) ([]Answer, error) {
	workshop, err := peers.NewWorkshop(ctx)
	if err != nil {
		return nil, err
	}
	defer workshop.Close()
	chosen, err := lists.Choose(problems(), o.Only, func(p problem) string { return p.name }, "unknown problem %q; the problems are %s")
	if err != nil {
		return nil, err
	}
	var answers []Answer
	for _, p := range chosen {
		p.setExact()
		a := Answer{Problem: p.name, About: p.about}
		var contenders []contender
		for _, preset := range presets {
			ours := p.ours
			ours.preset = preset
			contenders = append(contenders, &ours)
		}
		if o.Peers {
			contenders = append(contenders, p.peers...)
		}
		for _, c := range contenders {
			o.Log("%s: %s", p.name, c.name())
			outcome := Outcome{Contender: c.name()}
			if c, ok := c.(*revgen); ok {
				outcome.Preset = c.preset
			}
			series, about, err := c.run(ctx, workshop, o.Seconds, o.Seed)
			var missing *peers.MissingError
			switch {
			case errors.As(err, &missing):
				outcome.Missing = missing.Reason + "; " + missing.Install
			case err != nil:
				if len(a.Outcomes) > 0 { // with the error, return the outcomes so far
					p.judge(a.Outcomes)
					answers = append(answers, a)
				}
				return answers, fmt.Errorf("%s: %s: %w", p.name, c.name(), err)
			default:
				outcome.About, outcome.Series = about, *series
			}
			a.Outcomes = append(a.Outcomes, outcome)
		}
		p.judge(a.Outcomes)
		answers = append(answers, a)
	}
	return answers, ctx.Err()
}

// judge fills in the averages and curves of outcomes from their series.
func (p *problem) judge(outcomes []Outcome) {
	for k := range outcomes {
		o := &outcomes[k]
		if o.Missing != "" {
			continue
		}
		m := o.means(o.n())
		for _, f := range p.observables {
			u, variance := o.influence(f)
			chain := stat.Chains(u, 1)
			chainVariance := chain.Deviation * chain.Deviation * chain.Time
			o.Averages = append(o.Averages, Average{
				Observable: f.name, Value: f.value(m), Unit: f.unit(m), Reference: f.exact,
				Error: math.Sqrt(chainVariance / float64(o.n())),
			})
			o.chainVariances, o.targetVariances = append(o.chainVariances, chainVariance), append(o.targetVariances, variance)
		}
	}
	for k := range outcomes {
		o := &outcomes[k]
		if o.Missing != "" {
			continue
		}
		rowSeconds := o.Sampling / float64(o.n())
		for i := range o.Averages {
			a := &o.Averages[i]
			referenceError := 0.0
			if math.IsNaN(a.Reference) {
				a.Reference, referenceError = consensus(outcomes, k, i)
			}
			a.Off = math.Abs(a.Value-a.Reference) / math.Hypot(a.Error, referenceError)
			if math.IsNaN(a.Off) {
				a.Off = 0 // there is no other outcome
			}
			// The variance over the target is taken from our samples, as peers' rows may be means.
			a.Independent = outcomes[0].targetVariances[i] / (o.chainVariances[i] * rowSeconds)
			a.Seconds = o.Setup + rowSeconds*o.chainVariances[i]/math.Pow(a.Unit/100, 2)
			if a.Seconds > o.slowest().Seconds {
				o.Slowest = i
			}
		}
		p.addCurve(o)
	}
}

// consensus returns the mean of average i of the outcomes other than number self, weighted by
// their inverse variances, and its standard error. RevGen's presets are not compared with
// each other.
func consensus(outcomes []Outcome, self, i int) (value, standardError float64) {
	var sum, weight float64
	for k := range outcomes {
		bothOurs := outcomes[k].Preset != "" && outcomes[self].Preset != ""
		if k != self && !bothOurs && outcomes[k].Missing == "" {
			a := outcomes[k].Averages[i]
			w := 1 / (a.Error * a.Error)
			sum, weight = sum+w*a.Value, weight+w
		}
	}
	return sum / weight, 1 / math.Sqrt(weight)
}

// addCurve fills in the curve, whose points are after 1, ½, ¼, … of the rows.
func (p *problem) addCurve(o *Outcome) {
	for n := o.n(); n >= 64; n /= 2 {
		point := Point{Seconds: o.Setup + o.Sampling*float64(n)/float64(o.n())}
		m := o.means(n)
		for i := range o.Averages {
			a := &o.Averages[i]
			point.Error = max(point.Error, math.Abs(p.observables[i].value(m)-a.Reference)/a.Unit)
			point.Standard = max(point.Standard, math.Sqrt(o.chainVariances[i]/float64(n))/a.Unit)
		}
		o.Curve = append(o.Curve, point)
	}
	slices.SortFunc(o.Curve, func(a, b Point) int { return cmp.Compare(a.Seconds, b.Seconds) })
}

// Paid returns the number of independent samples for which o and other take equally long,
// set-up included: +Inf if o's samples are not cheaper, else 0 if its set-up is not longer.
func (o *Outcome) Paid(other *Outcome) float64 {
	saved := 1/other.slowest().Independent - 1/o.slowest().Independent
	if saved <= 0 {
		return math.Inf(1)
	}
	return max(0, o.Setup-other.Setup) / saved
}
