package density

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// Sizes of a table.
const (
	ofReference    = 128 // chains
	mostDraws      = 512 // of each, a third of its steps being left out before
	fewestDraws    = 16
	stepsPerSample = 16 // steps of the chains together, for a sample that is measured
	shown          = 4  // coordinates of the table
	observedAtOnce = 1 << 14
	leapDraws      = 32      // of each chain that leaps
	firstLeap      = 3 << 34 // sample, beyond those that are diagnosed
	keptBytes      = 1 << 26 // of the chains' states
)

// A reference is what chains tell.
type reference struct {
	values []float64 // of the observables, [draws][kept][width]
	width  int       // all but the weight
	kept   int       // chains that found weight
	states []byte    // of the draws, [chains][draws], nil where they would take too much memory
	logPi  []float64 // of these
}

// run lets chains move.
func (s *system) run(ctx context.Context, o chains.Options) (*reference, error) {
	if o.Chains = ofReference; s.Dense && o.Draws*ofReference*s.Formats()[0].RowBytes <= keptBytes {
		o.States = s.Formats()[0].Name
	}
	moved, err := chains.Run(ctx, s, o, nil)
	if err != nil {
		return nil, err
	}
	r, all := &reference{states: moved.Levels[0].States}, moved.Levels[0].Values
	// Chains that begin where there is no weight may never find any.
	density := s.column("log_density")
	r.width, r.kept = len(moved.Levels[0].Observables), 0
	var found [ofReference]bool
	for c := range found {
		if found[c] = !math.IsInf(all[c*r.width+density], -1); found[c] {
			r.kept++
		}
	}
	r.values, r.logPi = make([]float64, 0, o.Draws*r.kept*r.width), make([]float64, o.Draws*ofReference)
	for i := range r.logPi {
		row, c := all[i*r.width:][:r.width], i%ofReference
		r.logPi[c*o.Draws+i/ofReference] = row[density]
		if found[c] {
			r.values = append(r.values, row...)
		}
	}
	return r, nil
}

func (s *system) column(name string) int { return slices.Index(s.names, name) }

// samplesOf returns the observables of the generator's first samples, [samples][names].
func (s *system) samplesOf(ctx context.Context, params []float32, samples int) ([]float64, error) {
	width := len(s.names)
	all := make([]float64, samples*width)
	for first := 0; first < samples; first += observedAtOnce {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(observedAtOnce, samples-first)
		w, err := s.Walk(params, uint64(first), n)
		if err != nil {
			return nil, err
		}
		w.Observe(all[first*width : (first+n)*width])
		if err := s.Err(); err != nil {
			return nil, err
		}
	}
	for i, v := range all {
		if math.IsNaN(v) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("a sample of the generator is not finite: its %s is %v", s.names[i%width], v)
		}
	}
	return all, nil
}

// A row of the table is the mean of a function of one observable.
type row struct {
	name, of string
	square   bool // (v − mean of the chains)²
}

func (s *system) rows() (all []row) {
	for _, name := range s.names {
		if strings.HasPrefix(name, "mode_weight_") {
			all = append(all, row{name, name, false})
		}
	}
	for i := range shown {
		if name := fmt.Sprintf("x%d", i); s.column(name) >= 0 {
			all = append(all, row{"mean_" + name, name, false}, row{"variance_" + name, name, true})
		}
	}
	if s.column("mean_square") >= 0 {
		all = append(all, row{"mean_square", "mean_square", false})
	}
	return append(all, row{"mean_log_density", "log_density", false}, row{"variance_log_density", "log_density", true})
}

// Evaluate compares averages over the generator's samples with those over long chains
// that begin apart from each other and owe nothing to it, or few that leap to its samples where
// weights are level and nothing refutes them: of the first coordinates,
// of all squares, of modes and of ln π, as means and as variances about the chains'
// means. Exact is what the chains say and Uncertainty its standard error; chains that
// do not agree with each other (R̂) are a warning, as is what is far from them. A
// generator whose density is known has its effective sample size and ln Z beside
// them.
func (s *system) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	values, err := s.samplesOf(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	var weights *measure.Reweighing
	var r []float64
	if weight := s.column(engine.LogWeight); weight >= 0 {
		r = lists.Column(values, weight, len(s.names))
		floats.Scale(-1, r)
		weights = measure.NewReweighing(r)
	}
	s.params, s.values = slices.Clone(params), values
	// Level weights leave little to be seen. Samples as proposals then serve chains best.
	level, perSample, scales := weights != nil && weights.Level(), stepsPerSample, []float64{1, 3}
	if s.spare { // what a diagnosis looks for far away needs no look here
		scales = []float64{0.5}
		level, perSample = weights != nil && weights.Trusted() && weights.Ample(), stepsPerSample/4
	}
	for again, burnIn := range [...]int{8, 128} {
		if !level {
			break
		}
		leaps := func(_ []float32, n int) (chains.Walk, error) { // to other samples than before
			return s.Leaps(params, n, firstLeap+uint64(again)<<32, scales...)
		}
		if s.reference, err = s.run(ctx, chains.Options{Draws: leapDraws, BurnIn: burnIn, Spacing: 1, Start: leaps}); err != nil {
			return nil, err
		}
		if out, err := s.tabulate(r, weights); err != nil || out.Warnings == nil && out.Refuted() == nil {
			return out, err
		}
	}
	if s.long == nil {
		draws := min(max(perSample*samples/ofReference, fewestDraws), mostDraws)
		steps := max(1, perSample*samples/(ofReference*draws))
		if s.long, err = s.run(ctx, chains.Options{Draws: draws, BurnIn: steps * draws / 2, Spacing: steps}); err != nil {
			return nil, err
		}
	}
	s.reference = s.long
	return s.tabulate(r, weights)
}

// tabulate compares the samples with the reference, given their R = ln q − ln π and weights, if known.
func (s *system) tabulate(r []float64, weights *measure.Reweighing) (*measure.Evaluation, error) {
	values := s.values
	out := &measure.Evaluation{Samples: len(values) / len(s.names)}
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	switch {
	case s.reference.kept == 0:
		warn("there is no reference: none of %d chains found a state where ln π is finite; say where the weight is with target.center and target.scale", ofReference)
	case s.reference.kept < ofReference/2:
		warn("%d of %d reference chains found no state where ln π is finite; they are left out", ofReference-s.reference.kept, ofReference)
	}
	outside := 0
	for _, v := range lists.Column(values, s.column("log_density"), len(s.names)) {
		if math.IsInf(v, -1) {
			outside++
		}
	}
	if outside > 0 {
		warn("ln π is −∞ at %s of the samples; the rows about ln π leave them out", number.Percent(float64(outside)/float64(out.Samples)))
	}
	if weights != nil {
		importance(out, r, weights)
	}
	if s.reference.kept > 0 {
		rest := out.Metrics
		out.Metrics = nil
		s.compare(out, values, weights, warn)
		if weights != nil && weights.EffectiveSize > 0 {
			if err := s.visit(out, s.params, &weights.Weights, values); err != nil {
				return nil, err
			}
		}
		out.Metrics = append(out.Metrics, rest...)
	}
	return out, nil
}

// compare adds the rows that the chains are the reference of.
func (s *system) compare(out *measure.Evaluation, values []float64, weights *measure.Reweighing, warn func(string, ...any)) {
	const (
		agree      = 1.05 // R̂
		deviations = 5    // standard errors
		share      = 0.1  // of a function's deviation, below which nobody minds
		lost       = 0.2  // of a mode's weight
		mostBeyond = 0.01 // of the samples, where no chain came
	)
	width := len(s.names)
	worst, unsettled, beyond := 0.0, "", 0.0
	if weights != nil && weights.Trusted() {
		// Of two laws that are one so many draws leave out, above and below, by chance.
		beyond = s.beyond(values) - 2*float64(s.reference.width*s.reference.width)/float64(len(s.reference.values))
	}
	var centre float64
	var far []string
	for _, r := range s.rows() {
		column := s.column(r.of)
		reference, sample := lists.Column(s.reference.values, column, s.reference.width), lists.Column(values, column, width)
		if !r.square {
			centre = stat.Chains(reference, s.reference.kept).Mean
		} else {
			for _, list := range [][]float64{reference, sample} {
				for i, v := range list {
					list[i] = (v - centre) * (v - centre)
				}
			}
		}
		chain := stat.Chains(reference, s.reference.kept)
		var mean stat.Mean
		for _, v := range sample {
			if !math.IsInf(v, 0) {
				mean.Add(v)
			}
		}
		off := math.Abs(mean.Value() - chain.Mean)
		out.Metrics = append(out.Metrics, measure.Average(r.name, measure.Estimate{Value: chain.Mean, Uncertainty: chain.StandardError},
			mean.Value(), mean.StandardError(), stat.MeanAbsolute(chain.Deviation/math.Sqrt(float64(out.Samples))), false))
		// The effective size tells of ln π, and finer than any average that is asked for.
		if weights != nil && weights.EffectiveSize > 0 && r.of != "log_density" {
			out.Metrics[len(out.Metrics)-1].Reweigh(weights.Mean(sample))
		}
		if chain.RHat > worst || math.IsNaN(chain.RHat) {
			worst, unsettled = chain.RHat, r.name
		}
		scatter := math.Hypot(mean.StandardError(), chain.StandardError)
		if beyond > mostBeyond || !(chain.RHat <= agree) || !(off > deviations*scatter) {
			continue
		}
		if off > share*chain.Deviation {
			far = append(far, fmt.Sprintf("%s is %.3g where the chains have %.3g: off by %.2g standard errors, and by %.2g of the deviation of a state",
				r.name, mean.Value(), chain.Mean, off/scatter, off/chain.Deviation))
		}
		if mode, ok := strings.CutPrefix(r.name, "mode_weight_"); ok && mean.Value() < lost*chain.Mean {
			warn("mode %s is all but lost: its weight is %.3g where the chains have %.3g", mode, mean.Value(), chain.Mean)
			out.Lost = append(out.Lost, out.Warnings[len(out.Warnings)-1])
		}
	}
	switch {
	case worst <= agree && beyond <= mostBeyond:
		out.Warnings = append(out.Warnings, far...)
		return
	case worst <= agree:
		warn(measure.Unknown+"%.3g %% of the samples, whose weights are level, are where no reference chain came", 100*beyond)
	default:
		warn(measure.Unsettled+"(R̂ = %.3g for %s): they mix too slowly, or π cannot be normalised", worst, unsettled)
	}
	for i := range out.Metrics {
		out.Metrics[i].Unsettled = true
	}
}

// beyond returns the share of the samples that have an observable larger or smaller than the
// chains ever had.
func (s *system) beyond(values []float64) float64 {
	width, count, samples := len(s.names), 0, len(values)/len(s.names)
	low, high := slices.Repeat([]float64{math.Inf(1)}, width), slices.Repeat([]float64{math.Inf(-1)}, width)
	for i, v := range s.reference.values {
		j := i % s.reference.width
		low[j], high[j] = min(low[j], v), max(high[j], v)
	}
	for ; len(values) > 0; values = values[width:] {
		for j, v := range values[:s.reference.width] {
			if v < low[j] || v > high[j] {
				count++
				break
			}
		}
	}
	return float64(count) / float64(samples)
}

// visit looks for states of the chains that the generator does not draw: whose weight π/q is
// beyond what its density accounts for, of any, or of the chains' last ones together. What chains
// visit and leave again has the weight of their visits; a thin tail, of less than a probability's
// error by chance in as many samples, and less likely than nearly all of the chains' states, is
// warned of and not lost. Chains that have not settled do not know how thin it is by their number:
// there, the chains' own states tell how much of Z it has.
func (s *system) visit(out *measure.Evaluation, params []float32, weights *measure.Weights, samples []float64) error {
	states, whole, width := s.reference.states, s.Formats()[0], len(s.names)
	n := len(states) / whole.RowBytes
	if n == 0 {
		return nil
	}
	draws, weight := n/ofReference, s.column(engine.LogWeight)
	values := make([]float64, n*width)
	learned, likelihood, err := s.Likelihoods(values, params, whole.Name, states, s.reference.logPi)
	if err != nil {
		return err
	}
	ends := lists.Column(lists.Column(values, weight, width), draws-1, draws)
	slices.Sort(ends)
	beyond, heaviest, bound := make([]bool, n), 0, weights.LogZ-math.Log(weights.EffectiveSize)+math.Log(measure.TooRare*float64(n))
	if m := weights.Beyond(ends); m > 1 {
		bound = min(bound, ends[ofReference-m])
	}
	for i := range beyond {
		w := values[i*width+weight]
		beyond[i] = w >= bound
		if w > values[heaviest*width+weight] {
			heaviest = i
		}
	}
	visitors, share, mode := visits(beyond, likelihood, draws)
	if visitors == 0 {
		return nil
	}
	var place []string
	for j, name := range s.names {
		if row := values[heaviest*width:]; strings.HasPrefix(name, "x") && !strings.Contains(name, "_") || strings.HasPrefix(name, "mode_weight_") && row[j] == 1 {
			place = append(place, fmt.Sprintf("%s = %.4g", name, row[j]))
		}
	}
	why := fmt.Sprintf("%d of %d chains came to states that the generator hardly draws, in %s of their steps: near %s π/q is e^%.3g times its mean",
		visitors, ofReference, number.Percent(share), strings.Join(place, ", "), values[heaviest*width+weight]-weights.LogZ)
	lost := mode || share*math.Sqrt(float64(out.Samples)) > 1
	if slices.ContainsFunc(out.Metrics, func(m measure.Metric) bool { return m.Unsettled }) {
		lack := weights.Missing(s.places(learned, likelihood, values, beyond, samples))
		switch {
		case measure.Thin(lack, out.Samples):
			lost = false
			why += fmt.Sprintf("; averages lack about %.1g standard deviations without these states", lack)
		case math.IsNaN(lack):
			lost, out.Doubt = weights.Beyond(s.likely(values, samples)) > 0, why
		default:
			lost, out.Doubt = true, why
		}
	}
	out.Warnings = append(out.Warnings, why)
	if lost {
		out.Lost = append(out.Lost, why)
	}
	return nil
}

// places are those of the chains that were somewhere, given the observables of their states and of
// samples. They count as if they had every mode.
func (s *system) places(states vectors.States, logPi, values []float64, there []bool, samples []float64) (all []measure.Place) {
	width, draws, density := len(s.names), len(there)/ofReference, s.column("log_density")
	moments := make([]stat.Mean, width)
	for i, v := range samples {
		moments[i%width].Add(v)
	}
	for c := 0; c < len(there); c += draws {
		p := measure.Place{Above: math.Inf(-1)}
		for i := c; i < c+draws; i++ {
			if !there[i] {
				continue
			}
			p.X = append(p.X, number.Widen(states.X[i*states.Dim:][:states.Dim])...)
			p.LogPi = append(p.LogPi, logPi[i]+math.Log(float64(max(1, s.Modes))))
			p.Above = max(p.Above, values[i*width+density]-moments[density].Value())
			for j, name := range s.names {
				if v := values[i*width+j]; name != "log_density" && name != engine.LogWeight && moments[j].Deviation() > 0 {
					p.Away = max(p.Away, math.Abs(v-moments[j].Value())/moments[j].Deviation())
				}
			}
		}
		if p.LogPi != nil {
			all = append(all, p)
		}
	}
	return all
}

// likely returns the ln w of the chains' last states, −∞ where ln π is not as high as for all but the
// lowest hundredth of the samples.
func (s *system) likely(values, samples []float64) (logs []float64) {
	const rare = 0.01
	width, density, weight := len(s.names), s.column("log_density"), s.column(engine.LogWeight)
	heights := lists.Column(samples, density, width)
	slices.Sort(heights)
	draws := len(values) / width / ofReference
	for i := draws - 1; i < draws*ofReference; i += draws {
		if row := values[i*width:]; row[density] >= heights[int(rare*float64(len(heights)))] {
			logs = append(logs, row[weight])
		} else {
			logs = append(logs, math.Inf(-1))
		}
	}
	return logs
}

// visits counts the chains, of so many draws, that were somewhere, and returns the share of
// draws there, and whether that is a mode: one of the chains was there for its last hundredth, or
// at a state there whose ln π no more than a hundredth of all draws are below.
func visits(there []bool, likelihood []float64, draws int) (chains int, share float64, mode bool) {
	const rare = 0.01
	low := slices.Sorted(slices.Values(likelihood))[int(rare*float64(len(likelihood)))]
	for c := 0; c < len(there); c += draws {
		seen := 0
		for i, yes := range there[c : c+draws] {
			if yes {
				seen++
				mode = mode || likelihood[c+i] >= low
			}
		}
		if seen > 0 {
			chains++
		}
		share += float64(seen) / float64(len(there))
		last := there[c+draws-max(1, int(rare*float64(draws))) : c+draws]
		mode = mode || !slices.Contains(last, false)
	}
	return chains, share, mode
}

// importance adds what R = ln q − ln π of the samples tells, in the target's units of
// volume.
func importance(out *measure.Evaluation, r []float64, weights *measure.Reweighing) {
	const fewest = 0.1
	out.Weights = &weights.Weights
	if !(weights.EffectiveSize > 0) {
		return // which is warned of
	}
	rows := measure.ImportanceMetrics(r, math.NaN())
	out.Metrics = append(out.Metrics, rows...)
	if ess := rows[0].Generated; ess < fewest {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the effective size of %d weighted samples is %.2g: the generator is far from the target, or lacks its tails", out.Samples, ess*float64(out.Samples)))
	}
}
