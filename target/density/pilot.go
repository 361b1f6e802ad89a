package density

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/target/density/program"
)

// A location is where a mode's weight is.
type location struct {
	center, scale []float64   // of each coordinate
	shear         [][]float64 // as in RealsTarget, nil unless the weight is on a ridge
}

// Sizes of the pilot, which takes fewer evaluations than one step of training.
const (
	pilotChains     = 64
	pilotMinRounds  = 10
	pilotMaxRounds  = 60   // for scales that have not settled
	pilotSteps      = 40   // of a round, whose second half is recorded
	pilotSeed       = 0x70 // any
	frugalChains    = 32   // of a frugal pilot, in up to half as many coordinates
	frugalMinRounds = 5    // of a frugal pilot, likewise
	maxChanceGrowth = 1.25 // factor by which a settled scale may grow in a round, by chance
	minChanceFall   = 0.5  // factor by which a settled scale may fall in a round, by chance
	extraRounds     = 3    // rounds after steps have changed, which show whether scales change
	unsettledFactor = 2    // change of a scale in extra rounds that shows that it was not settled
	minShrink       = 0.05 // least factor of a scale in a round, where all steps are refused
	maxCoordinate   = 1e15 // a chain beyond it has drifted away
)

// pilot finds where the weight of each mode is: chains of random-walk Metropolis
// begin around the origin and adapt their steps to what they find. An error says that
// they have found no weight, or that π cannot be normalised. The result is the same for any
// number of threads. A frugal pilot has fewer chains, which settle in fewer rounds.
func (p *problem) pilot(ctx context.Context, frugal bool) ([]location, error) {
	found := make([]location, max(1, p.modes))
	for k := range found {
		e := p.evaluation()
		var err error
		if found[k], err = e.pilot(ctx, k, frugal); err != nil {
			return nil, err
		}
	}
	return found, p.Err()
}

// pilot runs the chains of one mode.
func (e *evaluation) pilot(ctx context.Context, k int, frugal bool) (location, error) {
	d, chains, rounds := e.dim, pilotChains, pilotMinRounds
	if frugal && d <= frugalChains/2 {
		chains, rounds = frugalChains, frugalMinRounds
	}
	states := chains * d
	w := pilotWalk{
		e: e, mode: k, minRounds: rounds, x: make([]float32, states), proposal: make([]float32, states),
		scale: make([]float64, d), stepFactor: [2]float64{2.4 / math.Sqrt(float64(d)), 2.4 / math.Sqrt(float64(d))},
		logPi: make([]float64, chains), proposalLogPi: make([]float64, chains),
		uniforms: make([]float32, rng.Blocks(chains)*4),
		page:     notes.PageOf(ctx, "pilot", k),
	}
	w.page.Recall(&w.recorded)
	if e.modes > 0 {
		w.k = slices.Repeat([]uint8{uint8(k)}, chains)
	}
	found, err := w.find()
	if err == nil {
		err = w.checkTails(found)
	}
	w.page.Done(&w.recorded)
	return found, err
}

// find lets the chains move until their scales have settled, and returns where they are.
func (w *pilotWalk) find() (location, error) {
	d := w.e.dim
	if err := w.begin(); err != nil {
		return location{}, err
	}
	if err := w.settle(w.minRounds, pilotMaxRounds); err != nil {
		return location{}, err
	}
	found := w.locate()
	if d == 1 || d > mixture.InShape {
		return found, nil
	}
	w.moveStragglers()
	// Coordinates that depend on each other hide how far moves along all of them would go.
	w.shape = make([]float64, d*(d+1)/2)
	w.adapt()
	if err := w.settle(extraRounds, extraRounds); err != nil {
		return location{}, err
	}
	further := w.locate()
	for i, s := range further.scale {
		if s > unsettledFactor*found.scale[i] || s < found.scale[i]/unsettledFactor {
			if err := w.settle(w.minRounds, pilotMaxRounds); err != nil {
				return location{}, err
			}
			found = w.locate()
			break
		}
	}
	return found, w.findShear(&found)
}

// findShear sets the shear of a location, and its center and scale along the shear, if the chains
// are on a ridge: their shape is narrow in a direction that is no coordinate's, and straight, so
// that ln π midway between two chains is no lower than at the lower one. Separate modes and bent
// shapes are no ridge.
func (w *pilotWalk) findShear(found *location) error {
	const (
		maxRidgeWidth = 0.7  // share of a coordinate's deviation that the coordinates before it do not explain
		maxFall       = 1    // of ln π midway between two chains
		pairsPerLower = 8    // one pair of so many may be lower midway
		roundTo       = 0.03 // tolerance of rounding, in scales
	)
	d, pairs := w.e.dim, len(w.logPi)/2
	ridgeWidth := 1.0
	for i := range d {
		factor := w.shape[i*(i+1)/2:][:i+1]
		// With n chains, i coordinates explain i/n of another one's variance by chance.
		ridgeWidth = min(ridgeWidth, factor[i]/floats.Norm(factor, 2)/math.Sqrt(1-float64(i)/float64(2*pairs)))
	}
	if d > pairs || ridgeWidth > maxRidgeWidth {
		return nil
	}
	middle := w.proposal[:pairs*d]
	for i := range middle {
		middle[i] = w.x[i]/2 + w.x[pairs*d+i]/2
	}
	w.logDensity(w.proposalLogPi[:pairs], middle)
	lower := 0
	for r, v := range w.proposalLogPi[:pairs] {
		if v < min(w.logPi[r], w.logPi[r+pairs])-maxFall {
			lower++
		}
	}
	if err := w.e.Err(); err != nil || pairsPerLower*lower > pairs {
		return err
	}
	copy(found.center, w.mean)
	for i := range d {
		factor := w.shape[i*(i+1)/2:][:i+1]
		found.scale[i] = max(w.scale[i]*factor[i], 2*minScaleSpacings*spacing(math.Abs(w.mean[i])+w.scale[i]))
		if i == 0 {
			continue
		}
		row := make([]float64, i)
		for j := range row {
			diagonal := w.shape[j*(j+1)/2+j]
			row[j] = w.scale[i] * factor[j] / (w.scale[j] * diagonal)
			row[j] = roundWithin(row[j], roundTo*found.scale[i]/found.scale[j])
		}
		found.shear = append(found.shear, row)
	}
	return nil
}

// roundWithin rounds x to the fewest digits, at least 3, that change it by at most tolerance.
func roundWithin(x, tolerance float64) float64 {
	rounded := number.Rounded(x, 3)
	for digits := 4; math.Abs(rounded-x) > tolerance && digits < 16; digits++ {
		rounded = number.Rounded(x, digits)
	}
	return rounded
}

// settle lets the chains move for minRounds, and then up to maxRounds until no scale grows and
// none has fallen in the last rounds. A scale that falls was too long for its coordinate, and
// has kept the chains where they were.
func (w *pilotWalk) settle(minRounds, maxRounds int) error {
	growing := true
	for round := 0; round < minRounds || growing && round < maxRounds; round++ {
		w.lastRound = w.lastRound[:0]
		for step := range pilotSteps {
			if err := w.step(); err != nil {
				return err
			}
			if step >= pilotSteps/2 {
				w.lastRound = append(w.lastRound, w.x...)
			}
		}
		growth, fall := w.adapt()
		growing = growth > maxChanceGrowth
		if fall < minChanceFall {
			minRounds = min(max(minRounds, round+1+extraRounds), maxRounds)
		}
	}
	return nil
}

// locate returns where the states of the last round were.
func (w *pilotWalk) locate() location {
	d := w.e.dim
	found := location{center: make([]float64, d), scale: make([]float64, d)}
	for i := range d {
		low, high := quantiles(w.lastRound, i, d)
		found.center[i] = (low + high) / 2
		found.scale[i] = max((high-low)/spread, spacing(found.center[i])/2) // states may round to one number
	}
	return found
}

// spread is the distance between the two quantiles of a normal law, in its standard deviations.
const spread = 2 * 1.2816

// quantiles returns the quantiles of coordinate i at 10 % and 90 %.
func quantiles(x []float32, i, d int) (low, high float64) {
	column := lists.Column(x, i, d)
	slices.Sort(column)
	n := len(column)
	return float64(column[n/10]), float64(column[n-1-n/10])
}

// A pilotWalk is some chains that move together.
type pilotWalk struct {
	e                    *evaluation
	mode                 int
	minRounds            int
	k                    []uint8    // mode of each chain, nil without modes
	x, proposal          []float32  // [chains][dim]
	logPi, proposalLogPi []float64  // [chains]
	uniforms             []float32  // of acceptance
	lastRound            []float32  // states of the last round, [steps][chains][dim]
	scale                []float64  // of each coordinate's steps
	mean                 []float64  // of the last round's states, nil until steps have a shape
	shape                []float64  // lower triangle by rows, in units of the scales, of every other step; nil for none
	stepFactor           [2]float64 // of all steps, for spherical steps and for those with a shape
	taken                int        // number of steps

	page     *notes.Page
	recorded []float64 // ln π of all calls, also of an earlier walk that was interrupted
	replayed int       // number of recorded values that this walk has used
}

// logDensity sets dst to ln π of the states x. It takes the values that an earlier walk has
// recorded, and evaluates the others.
func (w *pilotWalk) logDensity(dst []float64, x []float32) {
	if w.replayed+len(dst) <= len(w.recorded) {
		copy(dst, w.recorded[w.replayed:])
	} else {
		w.e.logDensity(dst, x, w.k)
		w.recorded = append(w.recorded[:w.replayed], dst...)
		w.page.Keep(&w.recorded)
	}
	w.replayed += len(dst)
}

func (w *pilotWalk) stream(purpose rng.Purpose, step int) asm.Counter {
	return rng.Stream(pilotSeed, purpose, uint32(w.mode)<<16|uint32(step))
}

// pilotReaches are the distances from the origin at which begin looks for weight.
var pilotReaches = [...]float64{1, 0.1, 10, 0.01, 100, 1e-3, 1e3, 1e-4, 1e4, 1e-5, 1e5, 1e-6, 1e6}

// begin puts the chains where there is weight about the origin, near or far.
func (w *pilotWalk) begin() error {
	d := w.e.dim
	for i, reach := range pilotReaches {
		c := w.stream(rng.ChainStart, i)
		rng.Normals(w.x, d, &c, 0)
		for j := range w.x {
			w.x[j] *= float32(reach)
		}
		w.logDensity(w.logPi, w.x)
		if err := w.e.Err(); err != nil {
			return err
		}
		if !w.moveLost(-math.MaxFloat64) {
			continue
		}
		for j := range w.scale {
			w.scale[j] = reach
		}
		return nil
	}
	where := ""
	if w.e.modes > 0 {
		where = fmt.Sprintf(" in mode %d", w.mode)
	}
	return fmt.Errorf("%s: ln π is −∞ at all of %d states about the origin, near and far%s; say where it is finite with target.center and target.scale, or bound the coordinates with target.support", w.e.key, len(pilotReaches)*len(w.logPi), where)
}

// step moves every chain once, and makes the next steps longer if more than three in
// ten of these were accepted.
func (w *pilotWalk) step() error {
	d := w.e.dim
	c := w.stream(rng.ChainTransition, w.taken)
	w.taken++
	rng.Normals(w.proposal, d, &c, 0)
	kind := 0
	if w.shape != nil && w.taken%2 == 0 {
		kind = 1
		w.applyShape(w.proposal)
	}
	for i, v := range w.proposal {
		w.proposal[i] = w.x[i] + float32(w.stepFactor[kind]*w.scale[i%d])*v
	}
	asm.Uniforms(w.uniforms, &c, 1<<63)
	w.logDensity(w.proposalLogPi, w.proposal)
	if err := w.e.Err(); err != nil {
		return err
	}
	accepted := 0
	for r := range w.logPi {
		if math.Log(float64(w.uniforms[r])) < w.proposalLogPi[r]-w.logPi[r] {
			accepted++
			copy(w.x[r*d:(r+1)*d], w.proposal[r*d:])
			w.logPi[r] = w.proposalLogPi[r]
		}
	}
	const targetAcceptance, rate = 0.3, 0.5
	w.stepFactor[kind] *= math.Exp(rate * (float64(accepted)/float64(len(w.logPi)) - targetAcceptance))
	for i, v := range w.x {
		if math.Abs(float64(v)) > maxCoordinate {
			row := i / d
			return fmt.Errorf("%s: π cannot be normalised: chains drift away without end, after %d steps to %s, where ln π is %v; bound the coordinates with target.support",
				w.e.key, w.taken, program.State(w.x[row*d:(row+1)*d], lists.Part(w.k, row, row+1)), w.logPi[row])
		}
	}
	return nil
}

// adapt sets the scale of each coordinate, and the shape of steps if they have one, from the states
// of the last round. It returns the largest and the least factor by which a scale changed.
func (w *pilotWalk) adapt() (growth, fall float64) {
	fall = math.Inf(1)
	for i, previous := range w.scale {
		low, high := quantiles(w.lastRound, i, w.e.dim)
		w.scale[i] = max((high-low)/spread, previous*minShrink)
		growth, fall = max(growth, w.scale[i]/previous), min(fall, w.scale[i]/previous)
	}
	if w.shape != nil {
		w.fitShape()
	}
	return growth, fall
}

// moveStragglers moves chains that have been left behind to where others are: a few stragglers
// would make a ridge appear as wide as they are far away.
func (w *pilotWalk) moveStragglers() {
	const maxFallPerDim = 10 // below the median of ln π
	w.moveLost(slices.Sorted(slices.Values(w.logPi))[len(w.logPi)/2] - maxFallPerDim*float64(w.e.dim))
}

// moveLost moves chains with ln π < lowest, and their states of the last round, to where other
// chains are. It reports whether there are others.
func (w *pilotWalk) moveLost(lowest float64) bool {
	d := w.e.dim
	var found []int
	for r, v := range w.logPi {
		if v >= lowest {
			found = append(found, r)
		}
	}
	for r, v := range w.logPi {
		if v >= lowest || len(found) == 0 {
			continue
		}
		from := found[r%len(found)]
		w.logPi[r] = w.logPi[from]
		copy(w.x[r*d:(r+1)*d], w.x[from*d:])
		for states := w.lastRound; len(states) > 0; states = states[len(w.x):] {
			copy(states[r*d:(r+1)*d], states[from*d:])
		}
	}
	return len(found) > 0
}

// fitShape sets the shape of steps to the Cholesky factor of the covariance of the last round's
// states, in units of the scales.
func (w *pilotWalk) fitShape() {
	const maxDeviation = 4 // a state farther away is moved towards the mean, to this distance
	const minPivot = 1e-12 // of a square: float32 holds no more
	d := w.e.dim
	rows := float64(len(w.lastRound) / d)
	w.mean, _ = mixture.Moments(w.lastRound, d)
	clear(w.shape)
	z := make([]float64, d)
	for states := w.lastRound; len(states) > 0; states = states[d:] {
		shrink := 1.0
		for i, v := range states[:d] {
			z[i] = (float64(v) - w.mean[i]) / w.scale[i]
			shrink = max(shrink, math.Abs(z[i])/maxDeviation)
		}
		for i, v := range z {
			for j, u := range z[:i+1] {
				w.shape[i*(i+1)/2+j] += v * u / (shrink * shrink * rows)
			}
		}
	}
	mixture.Factorise(w.shape, d, 0, minPivot)
}

// applyShape replaces the normals z of each state by shape·z.
func (w *pilotWalk) applyShape(z []float32) {
	for d := w.e.dim; len(z) > 0; z = z[d:] {
		for i := d - 1; i >= 0; i-- {
			var sum float64
			for j, f := range w.shape[i*(i+1)/2:][:i+1] {
				sum += f * float64(z[j])
			}
			z[i] = float32(sum)
		}
	}
}

// ridgeNote returns a note for messages if the weight is on a ridge.
func (f *location) ridgeNote() string {
	if f.shear == nil {
		return ""
	}
	return ", on a ridge"
}

// rounded returns center and scale, rounded: one scale where the coordinates' scales are alike, and
// no center where all are 0.
func (f *location) rounded() (center, scale []float64) {
	const maxScaleRatio, tolerance = 1.3, 0.3
	low, high := slices.Min(f.scale), slices.Max(f.scale)
	centred := true
	roundingError := make([]float64, len(f.center)) // what rounding adds, beyond the shear of errors before it
	for i, c := range f.center {
		if i > 0 && f.shear != nil {
			c += floats.Dot(roundingError[:i], f.shear[i-1])
		}
		rounded := roundWithin(c, tolerance*f.scale[i])
		if math.Abs(c) < tolerance*f.scale[i] {
			rounded = 0
		}
		roundingError[i] = rounded - c
		center, scale = append(center, rounded), append(scale, number.Rounded(f.scale[i], 3))
		centred = centred && rounded == 0
	}
	if centred {
		center = []float64{}
	}
	if high <= maxScaleRatio*low {
		scale = []float64{number.Rounded(math.Sqrt(low*high), 3)}
	}
	return center, scale
}
