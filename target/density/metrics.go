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
	referenceChains  = 128
	minDraws         = 16 // of a chain
	maxDraws         = 512
	stepsPerSample   = 16      // steps of all chains together for each sample of the generator
	tableCoordinates = 4       // coordinates that have rows
	observeRows      = 1 << 14 // samples that are observed at once
	leapDraws        = 32      // of a chain that leaps to samples
	firstLeapSample  = 3 << 34 // number of the sample, after those of diagnoses
	maxStateBytes    = 1 << 26 // memory of the chains' states
)

// A reference has the draws of chains.
type reference struct {
	values []float64 // of the observables, [draws][chains][width]
	width  int       // number of observables, without the weight of a sample
	chains int       // number of chains that found weight; the others are left out of values
	states []byte    // of the draws, [referenceChains][draws], nil where they would take too much memory
	logPi  []float64 // [referenceChains][draws]
}

// runChains lets chains move, and returns their draws.
func (s *system) runChains(ctx context.Context, o chains.Options) (*reference, error) {
	if o.Chains = referenceChains; s.Dense && o.Draws*referenceChains*s.Formats()[0].RowBytes <= maxStateBytes {
		o.States = s.Formats()[0].Name
	}
	moved, err := chains.Run(ctx, s, o, nil)
	if err != nil {
		return nil, err
	}
	r, rows := &reference{states: moved.Levels[0].States}, moved.Levels[0].Values
	// Chains that begin where there is no weight may never find any.
	density := s.column("log_density")
	r.width, r.chains = len(moved.Levels[0].Observables), 0
	var found [referenceChains]bool
	for c := range found {
		if found[c] = !math.IsInf(rows[c*r.width+density], -1); found[c] {
			r.chains++
		}
	}
	r.values, r.logPi = make([]float64, 0, o.Draws*r.chains*r.width), make([]float64, o.Draws*referenceChains)
	for i := range r.logPi {
		row, c := rows[i*r.width:][:r.width], i%referenceChains
		r.logPi[c*o.Draws+i/referenceChains] = row[density]
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
	values := make([]float64, samples*width)
	for first := 0; first < samples; first += observeRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(observeRows, samples-first)
		w, err := s.Walk(params, uint64(first), n)
		if err != nil {
			return nil, err
		}
		w.Observe(values[first*width : (first+n)*width])
		if err := s.Err(); err != nil {
			return nil, err
		}
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("a sample of the generator is not finite: its %s is %v", s.names[i%width], v)
		}
	}
	return values, nil
}

// A row of the table is the mean of a function of one observable.
type row struct {
	name, observable string
	squared          bool // the function is (v − mean of the chains)², and v otherwise
}

func (s *system) rows() (list []row) {
	for _, name := range s.names {
		if strings.HasPrefix(name, "mode_weight_") {
			list = append(list, row{name: name, observable: name})
		}
	}
	for i := range tableCoordinates {
		if name := fmt.Sprintf("x%d", i); s.column(name) >= 0 {
			list = append(list, row{name: "mean_" + name, observable: name}, row{name: "variance_" + name, observable: name, squared: true})
		}
	}
	if s.column("mean_square") >= 0 {
		list = append(list, row{name: "mean_square", observable: "mean_square"})
	}
	return append(list, row{name: "mean_log_density", observable: "log_density"}, row{name: "variance_log_density", observable: "log_density", squared: true})
}

// Evaluate compares averages over the generator's samples with averages over chains: means of the
// first coordinates, of all squares, of modes and of ln π, and variances about the chains' means.
// Exact is the chains' average and Uncertainty its standard error. Chains that do not agree with
// each other (R̂) are a warning, and so are samples far from them. A generator whose density is known
// also has rows with its effective sample size and ln Z.
//
// Where the samples' weights are level, short chains that leap to other samples are the reference,
// if they raise no warning. Otherwise it is long chains that begin apart from each other and do
// not depend on the generator.
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
	// With level weights, samples of the generator are the best proposals of chains.
	level, perSample, scales := weights != nil && weights.Level(), stepsPerSample, []float64{1, 3}
	if s.frugal { // a diagnosis looks farther away
		scales = []float64{0.5}
		level, perSample = weights != nil && weights.Trusted() && weights.Ample(), stepsPerSample/4
	}
	for attempt, burnIn := range [...]int{8, 128} {
		if !level {
			break
		}
		leaps := func(_ []float32, n int) (chains.Walk, error) { // each attempt leaps to other samples
			return s.Leaps(params, n, firstLeapSample+uint64(attempt)<<32, scales...)
		}
		if s.reference, err = s.runChains(ctx, chains.Options{Draws: leapDraws, BurnIn: burnIn, Spacing: 1, Start: leaps}); err != nil {
			return nil, err
		}
		if out, err := s.tabulate(r, weights); err != nil || out.Warnings == nil && out.Refuted() == nil {
			return out, err
		}
	}
	if s.independent == nil {
		draws := min(max(perSample*samples/referenceChains, minDraws), maxDraws)
		steps := max(1, perSample*samples/(referenceChains*draws))
		if s.independent, err = s.runChains(ctx, chains.Options{Draws: draws, BurnIn: steps * draws / 2, Spacing: steps}); err != nil {
			return nil, err
		}
	}
	s.reference = s.independent
	return s.tabulate(r, weights)
}

// tabulate compares the samples with the reference. r has R = ln q − ln π of the samples, and
// weights follows from it; both are nil if the density is not known.
func (s *system) tabulate(r []float64, weights *measure.Reweighing) (*measure.Evaluation, error) {
	values := s.values
	out := &measure.Evaluation{Samples: len(values) / len(s.names)}
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	switch {
	case s.reference.chains == 0:
		warn("there is no reference: none of %d chains found a state where ln π is finite; say where the weight is with target.center and target.scale", referenceChains)
	case s.reference.chains < referenceChains/2:
		warn("%d of %d reference chains found no state where ln π is finite; they are left out", referenceChains-s.reference.chains, referenceChains)
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
		addImportance(out, r, weights)
	}
	if s.reference.chains > 0 {
		importance := out.Metrics
		out.Metrics = nil
		s.compare(out, values, weights, warn)
		if weights != nil && weights.EffectiveSize > 0 {
			if err := s.checkCoverage(out, s.params, &weights.Weights, values); err != nil {
				return nil, err
			}
		}
		out.Metrics = append(out.Metrics, importance...)
	}
	return out, nil
}

// compare adds the rows of averages over samples and chains, and warnings about differences.
func (s *system) compare(out *measure.Evaluation, values []float64, weights *measure.Reweighing, warn func(string, ...any)) {
	const (
		maxRHat    = 1.05 // R̂ of chains that agree
		minErrors  = 5    // a smaller difference, in standard errors, may be chance
		minShare   = 0.1  // a smaller difference, in deviations of the function, does not matter
		lostShare  = 0.2  // a mode with less than this share of its weight is lost
		maxOutside = 0.01 // share of the samples where no chain came
	)
	width := len(s.names)
	worstRHat, worstRow, outside := 0.0, "", 0.0
	if weights != nil && weights.Trusted() {
		// By chance, draws of the same law leave out so many samples above and below.
		outside = s.shareOutside(values) - 2*float64(s.reference.width*s.reference.width)/float64(len(s.reference.values))
	}
	var centre float64
	var farRows []string
	for _, r := range s.rows() {
		column := s.column(r.observable)
		reference, sample := lists.Column(s.reference.values, column, s.reference.width), lists.Column(values, column, width)
		if !r.squared {
			centre = stat.Chains(reference, s.reference.chains).Mean
		} else {
			for _, list := range [][]float64{reference, sample} {
				for i, v := range list {
					list[i] = (v - centre) * (v - centre)
				}
			}
		}
		chain := stat.Chains(reference, s.reference.chains)
		var mean stat.Mean
		for _, v := range sample {
			if !math.IsInf(v, 0) {
				mean.Add(v)
			}
		}
		difference := math.Abs(mean.Value() - chain.Mean)
		out.Metrics = append(out.Metrics, measure.Average(r.name, measure.Estimate{Value: chain.Mean, Uncertainty: chain.StandardError},
			mean.Value(), mean.StandardError(), stat.MeanAbsolute(chain.Deviation/math.Sqrt(float64(out.Samples))), false))
		// Rows of ln π are not reweighed: the effective size says more about ln π.
		if weights != nil && weights.EffectiveSize > 0 && r.observable != "log_density" {
			out.Metrics[len(out.Metrics)-1].Reweigh(weights.Mean(sample))
		}
		if chain.RHat > worstRHat || math.IsNaN(chain.RHat) {
			worstRHat, worstRow = chain.RHat, r.name
		}
		standardError := math.Hypot(mean.StandardError(), chain.StandardError)
		if outside > maxOutside || !(chain.RHat <= maxRHat) || !(difference > minErrors*standardError) {
			continue
		}
		if difference > minShare*chain.Deviation {
			farRows = append(farRows, fmt.Sprintf("%s is %.3g where the chains have %.3g: off by %.2g standard errors, and by %.2g of the deviation of a state",
				r.name, mean.Value(), chain.Mean, difference/standardError, difference/chain.Deviation))
		}
		if mode, ok := strings.CutPrefix(r.name, "mode_weight_"); ok && mean.Value() < lostShare*chain.Mean {
			warn("mode %s is all but lost: its weight is %.3g where the chains have %.3g", mode, mean.Value(), chain.Mean)
			out.Lost = append(out.Lost, out.Warnings[len(out.Warnings)-1])
		}
	}
	switch {
	case worstRHat <= maxRHat && outside <= maxOutside:
		out.Warnings = append(out.Warnings, farRows...)
		return
	case worstRHat <= maxRHat:
		warn(measure.Unknown+"%.3g %% of the samples, whose weights are level, are where no reference chain came", 100*outside)
	default:
		warn(measure.Unsettled+"(R̂ = %.3g for %s): they mix too slowly, or π cannot be normalised", worstRHat, worstRow)
	}
	for i := range out.Metrics {
		out.Metrics[i].Unsettled = true
	}
}

// shareOutside returns the share of the samples that have an observable outside its range in the
// chains.
func (s *system) shareOutside(values []float64) float64 {
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

// checkCoverage warns of states of the chains that the generator hardly draws: the weight π/q of one
// of them, or those of the chains' last states together, are too large for a generator that covers π.
//
// Such states are lost, and not only warned of, if they are a mode, or if their share of the chains'
// draws is more than chance explains in the table's samples. Chains that have not settled do not know
// that share: there, UnseenBias estimates from the states themselves how much averages miss.
func (s *system) checkCoverage(out *measure.Evaluation, params []float32, weights *measure.Weights, samples []float64) error {
	states, format, width := s.reference.states, s.Formats()[0], len(s.names)
	n := len(states) / format.RowBytes
	if n == 0 {
		return nil
	}
	draws, weight := n/referenceChains, s.column(engine.LogWeight)
	values := make([]float64, n*width)
	learned, likelihood, err := s.Likelihoods(values, params, format.Name, states, s.reference.logPi)
	if err != nil {
		return err
	}
	lastWeights := lists.Column(lists.Column(values, weight, width), draws-1, draws)
	slices.Sort(lastWeights)
	undrawn, heaviest, minWeight := make([]bool, n), 0, weights.LogZ-math.Log(weights.EffectiveSize)+math.Log(measure.TooRare*float64(n))
	if m := weights.CountBeyond(lastWeights); m > 1 {
		minWeight = min(minWeight, lastWeights[referenceChains-m])
	}
	for i := range undrawn {
		w := values[i*width+weight]
		undrawn[i] = w >= minWeight
		if w > values[heaviest*width+weight] {
			heaviest = i
		}
	}
	visitors, share, isMode := countVisits(undrawn, likelihood, draws)
	if visitors == 0 {
		return nil
	}
	var place []string
	for j, name := range s.names {
		if row := values[heaviest*width:]; strings.HasPrefix(name, "x") && !strings.Contains(name, "_") || strings.HasPrefix(name, "mode_weight_") && row[j] == 1 {
			place = append(place, fmt.Sprintf("%s = %.4g", name, row[j]))
		}
	}
	warning := fmt.Sprintf("%d of %d chains came to states that the generator hardly draws, in %s of their steps: near %s π/q is e^%.3g times its mean",
		visitors, referenceChains, number.Percent(share), strings.Join(place, ", "), values[heaviest*width+weight]-weights.LogZ)
	lost := isMode || share*math.Sqrt(float64(out.Samples)) > 1
	if slices.ContainsFunc(out.Metrics, func(m measure.Metric) bool { return m.Unsettled }) {
		bias := weights.UnseenBias(s.undrawnPlaces(learned, likelihood, values, undrawn, samples))
		switch {
		case measure.Negligible(bias, out.Samples):
			lost = false
			warning += fmt.Sprintf("; averages lack about %.1g standard deviations without these states", bias)
		case math.IsNaN(bias):
			lost, out.Doubt = weights.CountBeyond(s.lastLogWeights(values, samples)) > 0, warning
		default:
			lost, out.Doubt = true, warning
		}
	}
	out.Warnings = append(out.Warnings, warning)
	if lost {
		out.Lost = append(out.Lost, warning)
	}
	return nil
}

// undrawnPlaces returns a place for each chain that had undrawn states: these states, given the
// observables of all states and of samples. A place counts as if it had every mode.
func (s *system) undrawnPlaces(states vectors.States, logPi, values []float64, undrawn []bool, samples []float64) (places []measure.Place) {
	width, draws, density := len(s.names), len(undrawn)/referenceChains, s.column("log_density")
	moments := make([]stat.Mean, width)
	for i, v := range samples {
		moments[i%width].Add(v)
	}
	for c := 0; c < len(undrawn); c += draws {
		p := measure.Place{Above: math.Inf(-1)}
		for i := c; i < c+draws; i++ {
			if !undrawn[i] {
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
			places = append(places, p)
		}
	}
	return places
}

// lastLogWeights returns ln w of the chains' last states. It is −∞ for states whose ln π is below
// the first percentile of the samples'.
func (s *system) lastLogWeights(values, samples []float64) (logs []float64) {
	const rare = 0.01
	width, density, weight := len(s.names), s.column("log_density"), s.column(engine.LogWeight)
	heights := lists.Column(samples, density, width)
	slices.Sort(heights)
	draws := len(values) / width / referenceChains
	for i := draws - 1; i < draws*referenceChains; i += draws {
		if row := values[i*width:]; row[density] >= heights[int(rare*float64(len(heights)))] {
			logs = append(logs, row[weight])
		} else {
			logs = append(logs, math.Inf(-1))
		}
	}
	return logs
}

// countVisits counts the chains that had undrawn states, and returns the share of these in all
// draws. They are a mode if the last hundredth of some chain's draws is undrawn, or if the
// likelihood of an undrawn state is at least the first percentile of all draws'.
func countVisits(undrawn []bool, likelihood []float64, draws int) (chains int, share float64, isMode bool) {
	const rare = 0.01
	minLikelihood := slices.Sorted(slices.Values(likelihood))[int(rare*float64(len(likelihood)))]
	for c := 0; c < len(undrawn); c += draws {
		count := 0
		for i, there := range undrawn[c : c+draws] {
			if there {
				count++
				isMode = isMode || likelihood[c+i] >= minLikelihood
			}
		}
		if count > 0 {
			chains++
		}
		share += float64(count) / float64(len(undrawn))
		last := undrawn[c+draws-max(1, int(rare*float64(draws))) : c+draws]
		isMode = isMode || !slices.Contains(last, false)
	}
	return chains, share, isMode
}

// addImportance adds the metrics that follow from R = ln q − ln π of the samples, in the target's
// units of volume.
func addImportance(out *measure.Evaluation, r []float64, weights *measure.Reweighing) {
	const minESS = 0.1
	out.Weights = &weights.Weights
	if !(weights.EffectiveSize > 0) {
		return // other code warns of it
	}
	rows := measure.ImportanceMetrics(r, math.NaN())
	out.Metrics = append(out.Metrics, rows...)
	if ess := rows[0].Generated; ess < minESS {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the effective size of %d weighted samples is %.2g: the generator is far from the target, or lacks its tails", out.Samples, ess*float64(out.Samples)))
	}
}
