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

// A place is where a mode's weight is, coordinate by coordinate, and on a ridge how they go
// together.
type place struct {
	center, scale []float64
	shear         [][]float64
}

// Sizes of the pilot, which takes fewer evaluations than one step of training.
const (
	pilotChains = 64
	pilotRounds = 10 // at least, and as many as go on until the scales have settled
	fewChains   = 32 // where evaluations are dear, in up to half as many coordinates
	fewRounds   = 5  // there
	mostRounds  = 60
	settled     = 1.25 // growth of a scale in a round that may be chance
	shrunk      = 0.5  // and a fall that is none
	pilotAgain  = 3    // rounds after which it shows what other steps find
	stretched   = 2    // by how much these change scales that were not settled
	pilotSteps  = 40   // of a round, the second half of which is looked at
	pilotSeed   = 0x70 // any
	farthest    = 1e15 // of a coordinate, beyond which the chains have no hold
	shrink      = 0.05 // steps that are all refused leave the scale at this factor a round
)

// pilot finds where the weight of each mode is: chains of random-walk Metropolis
// begin around the origin and adapt their steps to what they find. An error says that
// they have found no weight, or that it has no end. It is the same for any number of
// threads. A pilot that spares evaluations has fewer chains, which settle in fewer rounds.
func (p *problem) pilot(ctx context.Context, spare bool) ([]place, error) {
	all := make([]place, max(1, p.modes))
	for k := range all {
		e := p.evaluation()
		var err error
		if all[k], err = e.pilot(ctx, k, spare); err != nil {
			return nil, err
		}
	}
	return all, p.Err()
}

// pilot runs the chains of one mode.
func (e *evaluation) pilot(ctx context.Context, k int, spare bool) (place, error) {
	d, chains, rounds := e.dim, pilotChains, pilotRounds
	if spare && d <= fewChains/2 {
		chains, rounds = fewChains, fewRounds
	}
	states := chains * d
	w := pilotWalk{
		e: e, mode: k, rounds: rounds, x: make([]float32, states), to: make([]float32, states),
		scale: make([]float64, d), factor: [2]float64{2.4 / math.Sqrt(float64(d)), 2.4 / math.Sqrt(float64(d))},
		current: make([]float64, chains), next: make([]float64, chains),
		uniforms: make([]float32, rng.Blocks(chains)*4),
		page:     notes.PageOf(ctx, "pilot", k),
	}
	w.page.Recall(&w.known)
	if e.modes > 0 {
		w.k = slices.Repeat([]uint8{uint8(k)}, chains)
	}
	found, err := w.find()
	if err == nil {
		err = w.endless(found)
	}
	w.page.Done(&w.known)
	return found, err
}

// find lets the chains move until they have settled, and returns where.
func (w *pilotWalk) find() (place, error) {
	d := w.e.dim
	if err := w.begin(); err != nil {
		return place{}, err
	}
	if err := w.settle(w.rounds, mostRounds); err != nil {
		return place{}, err
	}
	found := w.place()
	if d == 1 || d > mixture.InShape {
		return found, nil
	}
	w.cull()
	// Coordinates that depend on each other hide how far moves along all of them would go.
	w.shape = make([]float64, d*(d+1)/2)
	w.adapt()
	if err := w.settle(pilotAgain, pilotAgain); err != nil {
		return place{}, err
	}
	further := w.place()
	for i, s := range further.scale {
		if s > stretched*found.scale[i] || s < found.scale[i]/stretched {
			if err := w.settle(w.rounds, mostRounds); err != nil {
				return place{}, err
			}
			found = w.place()
			break
		}
	}
	return found, w.shear(&found)
}

// shear says how coordinates go together in the shape of the chains, if that is a ridge:
// narrow in a direction that is no coordinate's, and straight, so that ln π between two chains
// is no lower than at both. Modes that are apart, and what is bent, are no ridge.
func (w *pilotWalk) shear(found *place) error {
	const (
		narrow = 0.7  // of a coordinate's deviation, what those before it leave
		fall   = 1    // of ln π between two
		few    = 8    // pairs, of which one may be no part of a ridge
		loose  = 0.03 // of what is left, to which it is rounded
	)
	d, chains := w.e.dim, len(w.current)/2 // of which there are pairs, and more than coordinates
	least := 1.0
	for i := range d {
		own := w.shape[i*(i+1)/2:][:i+1]
		// Of so many chains, i coordinates explain i/chains of another's variance by chance.
		least = min(least, own[i]/floats.Norm(own, 2)/math.Sqrt(1-float64(i)/float64(2*chains)))
	}
	if d > chains || least > narrow {
		return nil
	}
	between := w.to[:chains*d]
	for i := range between {
		between[i] = w.x[i]/2 + w.x[chains*d+i]/2
	}
	w.logDensity(w.next[:chains], between)
	lower := 0
	for r, v := range w.next[:chains] {
		if v < min(w.current[r], w.current[r+chains])-fall {
			lower++
		}
	}
	if err := w.e.Err(); err != nil || few*lower > chains {
		return err
	}
	copy(found.center, w.mean)
	for i := range d {
		own := w.shape[i*(i+1)/2:][:i+1]
		found.scale[i] = max(w.scale[i]*own[i], 2*coarsest*spacing(math.Abs(w.mean[i])+w.scale[i]))
		if i == 0 {
			continue
		}
		row := make([]float64, i)
		for j := range row {
			above := w.shape[j*(j+1)/2+j]
			row[j] = w.scale[i] * own[j] / (w.scale[j] * above)
			row[j] = nearest(row[j], loose*found.scale[i]/found.scale[j])
		}
		found.shear = append(found.shear, row)
	}
	return nil
}

// nearest returns x by as few digits as leave it where it is, but for so much.
func nearest(x, loose float64) float64 {
	rounded := number.Rounded(x, 3)
	for digits := 4; math.Abs(rounded-x) > loose && digits < 16; digits++ {
		rounded = number.Rounded(x, digits)
	}
	return rounded
}

// settle lets the chains move in so many rounds, and in further ones, to so many in all,
// until no scale grows any more, and none has fallen lately: steps that were too long for
// one coordinate have kept all others where they were.
func (w *pilotWalk) settle(least, most int) error {
	growing := true
	for round := 0; round < least || growing && round < most; round++ {
		w.seen = w.seen[:0]
		for step := range pilotSteps {
			if err := w.step(); err != nil {
				return err
			}
			if step >= pilotSteps/2 {
				w.seen = append(w.seen, w.x...)
			}
		}
		growth, fall := w.adapt()
		growing = growth > settled
		if fall < shrunk {
			least = min(max(least, round+1+pilotAgain), most)
		}
	}
	return nil
}

// place returns where the states of the last round were.
func (w *pilotWalk) place() place {
	d := w.e.dim
	found := place{center: make([]float64, d), scale: make([]float64, d)}
	for i := range d {
		low, high := quantiles(w.seen, i, d)
		found.center[i] = (low + high) / 2
		found.scale[i] = max((high-low)/spread, spacing(found.center[i])/2) // of states that are rounded to one number
	}
	return found
}

// spread is the distance between the quantiles of a normal law in its deviations.
const spread = 2 * 1.2816

// quantiles returns those at 10 % and 90 % of a coordinate.
func quantiles(x []float32, i, d int) (low, high float64) {
	column := lists.Column(x, i, d)
	slices.Sort(column)
	n := len(column)
	return float64(column[n/10]), float64(column[n-1-n/10])
}

// A pilotWalk is some chains that move together.
type pilotWalk struct {
	e             *evaluation
	mode          int
	rounds        int // in which scales settle, at least
	x, to         []float32
	k             []uint8
	seen          []float32  // states of the last round
	scale         []float64  // of a coordinate's steps
	mean          []float64  // of the states of the last round, where steps have a shape
	shape         []float64  // of every other step in units of the scales, a triangle by rows, nil if all are spheres
	factor        [2]float64 // common to all, of steps that are spheres and of the others
	taken         int        // steps
	current, next []float64
	uniforms      []float32

	page  *notes.Page
	known []float64 // values of ln π, one call after the other
	told  int       // of them, in this walk
}

// logDensity sets dst to ln π of the states x, if an earlier walk has not done so.
func (w *pilotWalk) logDensity(dst []float64, x []float32) {
	if w.told+len(dst) <= len(w.known) {
		copy(dst, w.known[w.told:])
	} else {
		w.e.logDensity(dst, x, w.k)
		w.known = append(w.known[:w.told], dst...)
		w.page.Keep(&w.known)
	}
	w.told += len(dst)
}

func (w *pilotWalk) stream(purpose rng.Purpose, step int) asm.Counter {
	return rng.Stream(pilotSeed, purpose, uint32(w.mode)<<16|uint32(step))
}

// pilotReaches are how far from the origin weight is looked for.
var pilotReaches = [...]float64{1, 0.1, 10, 0.01, 100, 1e-3, 1e3, 1e-4, 1e4, 1e-5, 1e5, 1e-6, 1e6}

// begin looks for weight about the origin, near and far.
func (w *pilotWalk) begin() error {
	d := w.e.dim
	for i, reach := range pilotReaches {
		c := w.stream(rng.ChainStart, i)
		rng.Normals(w.x, d, &c, 0)
		for j := range w.x {
			w.x[j] *= float32(reach)
		}
		w.logDensity(w.current, w.x)
		if err := w.e.Err(); err != nil {
			return err
		}
		if !w.fetch(-math.MaxFloat64) { // those outside begin where others do
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
	return fmt.Errorf("%s: ln π is −∞ at all of %d states about the origin, near and far%s; say where it is finite with target.center and target.scale, or bound the coordinates with target.support", w.e.key, len(pilotReaches)*len(w.current), where)
}

// step moves every chain once, and makes the next steps longer if more than three in
// ten of these were accepted.
func (w *pilotWalk) step() error {
	d := w.e.dim
	c := w.stream(rng.ChainTransition, w.taken)
	w.taken++
	rng.Normals(w.to, d, &c, 0)
	kind := 0
	if w.shape != nil && w.taken%2 == 0 {
		kind = 1
		w.stretch(w.to)
	}
	for i, v := range w.to {
		w.to[i] = w.x[i] + float32(w.factor[kind]*w.scale[i%d])*v
	}
	asm.Uniforms(w.uniforms, &c, 1<<63)
	w.logDensity(w.next, w.to)
	if err := w.e.Err(); err != nil {
		return err
	}
	accepted := 0
	for r := range w.current {
		if math.Log(float64(w.uniforms[r])) < w.next[r]-w.current[r] {
			accepted++
			copy(w.x[r*d:(r+1)*d], w.to[r*d:])
			w.current[r] = w.next[r]
		}
	}
	const wanted, rate = 0.3, 0.5
	w.factor[kind] *= math.Exp(rate * (float64(accepted)/float64(len(w.current)) - wanted))
	for i, v := range w.x {
		if math.Abs(float64(v)) > farthest {
			row := i / d
			return fmt.Errorf("%s: π cannot be normalised: chains drift away without end, after %d steps to %s, where ln π is %v; bound the coordinates with target.support",
				w.e.key, w.taken, program.State(w.x[row*d:(row+1)*d], lists.Part(w.k, row, row+1)), w.current[row])
		}
	}
	return nil
}

// adapt gives each coordinate the scale that its states have, and steps the shape of their
// correlations, if they have one. It returns the largest growth of a scale and its largest
// fall.
func (w *pilotWalk) adapt() (growth, fall float64) {
	fall = math.Inf(1)
	for i, before := range w.scale {
		low, high := quantiles(w.seen, i, w.e.dim)
		w.scale[i] = max((high-low)/spread, before*shrink)
		growth, fall = max(growth, w.scale[i]/before), min(fall, w.scale[i]/before)
	}
	if w.shape != nil {
		w.correlate()
	}
	return growth, fall
}

// cull puts chains that have been left behind where others are: few of them would make a
// ridge as wide as they are away.
func (w *pilotWalk) cull() {
	const behind = 10 // times the dimension below the median of ln π
	w.fetch(slices.Sorted(slices.Values(w.current))[len(w.current)/2] - behind*float64(w.e.dim))
}

// fetch puts chains whose ln π is below the lowest, with all that was seen of them, where
// others are, and reports whether there are others.
func (w *pilotWalk) fetch(lowest float64) bool {
	d := w.e.dim
	var others []int
	for r, v := range w.current {
		if v >= lowest {
			others = append(others, r)
		}
	}
	for r, v := range w.current {
		if v >= lowest || len(others) == 0 {
			continue
		}
		from := others[r%len(others)]
		w.current[r] = w.current[from]
		copy(w.x[r*d:(r+1)*d], w.x[from*d:])
		for seen := w.seen; len(seen) > 0; seen = seen[len(w.x):] {
			copy(seen[r*d:(r+1)*d], seen[from*d:])
		}
	}
	return len(others) > 0
}

// correlate gives steps the shape of the states of the last round in units of the scales,
// the Cholesky factor of their covariance.
func (w *pilotWalk) correlate() {
	const reach = 4     // beyond which a state counts as if it were on the way there
	const least = 1e-12 // of a square: float32 holds no more
	d := w.e.dim
	rows := float64(len(w.seen) / d)
	w.mean, _ = mixture.Moments(w.seen, d)
	clear(w.shape)
	off := make([]float64, d)
	for seen := w.seen; len(seen) > 0; seen = seen[d:] {
		far := 1.0
		for i, v := range seen[:d] {
			off[i] = (float64(v) - w.mean[i]) / w.scale[i]
			far = max(far, math.Abs(off[i])/reach)
		}
		for i, v := range off {
			for j, u := range off[:i+1] {
				w.shape[i*(i+1)/2+j] += v * u / (far * far * rows)
			}
		}
	}
	mixture.Factorise(w.shape, d, 0, least)
}

// stretch replaces the normals z of each state by those of the shape.
func (w *pilotWalk) stretch(z []float32) {
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

// ridge says whether there is one.
func (f *place) ridge() string {
	if f.shear == nil {
		return ""
	}
	return ", on a ridge"
}

// describe rounds what a pilot has found: one number where the coordinates are alike.
func (f *place) describe() (center, scale []float64) {
	const alike, centred = 1.3, 0.3
	low, high := slices.Min(f.scale), slices.Max(f.scale)
	same := true
	off := make([]float64, len(f.center)) // what rounding adds to each, but for what those before it bring
	for i, c := range f.center {
		if i > 0 && f.shear != nil {
			c += floats.Dot(off[:i], f.shear[i-1])
		}
		rounded := nearest(c, centred*f.scale[i])
		if math.Abs(c) < centred*f.scale[i] {
			rounded = 0
		}
		off[i] = rounded - c
		center, scale = append(center, rounded), append(scale, number.Rounded(f.scale[i], 3))
		same = same && rounded == 0
	}
	if same {
		center = []float64{}
	}
	if high <= alike*low {
		scale = []float64{number.Rounded(math.Sqrt(low*high), 3)}
	}
	return center, scale
}
