package mixture

import (
	"context"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/pool"
)

// A Density sets dst[r] = ln π(x_r) + const of the rows of x, [len(dst)][d]. It is
// one thread's.
type Density func(dst []float64, x []float32)

// A Scout says how to look for where a target has its weight: a population is
// annealed from a wide Gaussian to the target, π_b ∝ p_0^{1−b} π^b, by Metropolis
// moves of a length that is adapted and in the shape of the neighbours, and by
// resampling whenever b has risen so far that half of the population counts
// (sequential Monte Carlo). It needs no more of a target than its density.
type Scout struct {
	Population int // members
	Moves      int // of each member at each b
	// Sweeps are how often, at last, each coordinate of each member may take a value that
	// p_0 has, whatever lies between: members that descend from few others have few of
	// the choices of a mode for each coordinate.
	Sweeps int
	// Center and Scale, if not nil, [d], are those of p_0. Otherwise walks
	// from the origin, from near and far, say where to look.
	Center, Scale []float64
	// Settle lets Gaussians settle about the walkers that find the weight, in place of a
	// population that is annealed, which up to InShape coordinates there is if none does.
	// Sums says that none is to where ln π is a sum of functions of one coordinate each:
	// each coordinate then finds its own values.
	Settle, Sums bool
	Far          bool // looks for modes that a population misses, up to InShape coordinates
	Spare        bool // takes fewer evaluations
	Seed         uint64
	Stream       uint32 // which of a seed's
}

// Found is what a scout has found.
type Found struct {
	X     []float32 // the population, [n][d]
	LogPi []float64 // its ln π
	LogZ  float64   // a rough ln Z
	Lines int       // members of p_0 from whom the population descends
	Far   int       // modes that the population lacked, which walkers from elsewhere found
	// Gaussians are those that have settled, and of which the population is then drawn;
	// otherwise there are none.
	Gaussians []Component
}

// A search is a scout's under way.
type search struct {
	Scout
	march
	ctx     context.Context
	dim     int
	own     *pool.Tools[Density]
	workers *pool.Pool

	proposal     []float32 // [n][d]
	next, beyond []float64 // ln π and ln p_0 of the proposals
	uniforms     []float32
	local        *Packed // shapes of moves, nil for spheres
	logBase      float64
	accepted     []bool
	heirs        []int // lines of those that are resampled
}

// A march is where a search is, from which one that was interrupted goes on.
type march struct {
	X           []float32 // members, [n][d]
	Now, Base   []float64 // ln π and ln p_0
	B           float64
	Step        []float64 // each member's length of moves
	Round       uint64
	Line, Label []int // the member of p_0 from whom each descends; its shape of moves

	Taken        int // moves of a walk, or sweeps
	Left         int // moves to be taken at a temperature
	Length, LogZ float64
	Local        []Component // shapes of moves
}

// page returns the notes of a part of the search.
func (e *search) page(part string) *notes.Page {
	return notes.PageOf(e.ctx, "scout", part, e.Scout, e.dim)
}

// recall goes to where a page says that the search was, if it does.
func (e *search) recall(p *notes.Page) bool {
	var m march
	if !p.Recall(&m) || len(m.X) != len(e.X) || len(m.Now) != len(e.Now) {
		return false
	}
	e.march = m
	return true
}

const scoutRows = 64 // members that one thread moves at once

// Run looks for the weight of a target of d coordinates. own returns a density for
// each thread. When ctx ends it returns ctx's error, after the move under way.
func (s Scout) Run(ctx context.Context, dim int, own func() Density, workers *pool.Pool) (*Found, error) {
	e := s.search(ctx, dim, pool.NewTools(workers, own), workers)
	placed := e.Center != nil && e.Scale != nil
	if !placed {
		e.find()
	}
	var found *Found
	if s.Settle {
		if placed {
			e.approach()
		}
		var err error
		if found, err = e.gather(); err != nil {
			return nil, err
		}
	}
	if found == nil {
		found = e.anneal()
		e.sweeps(s.Sweeps, found)
		if s.Far && placed && dim <= InShape {
			return e.prospect(found)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return found, nil
}

// search returns a scout's search that has not begun.
func (s Scout) search(ctx context.Context, dim int, own *pool.Tools[Density], workers *pool.Pool) *search {
	n := s.Population
	return &search{
		Scout: s, ctx: ctx, dim: dim, workers: workers, own: own,
		march: march{
			X: make([]float32, n*dim), Now: make([]float64, n), Base: make([]float64, n),
			Step: make([]float64, n), Line: make([]int, n), Label: make([]int, n),
		},
		proposal: make([]float32, n*dim), next: make([]float64, n), beyond: make([]float64, n),
		uniforms: make([]float32, 4*n), accepted: make([]bool, n), heirs: make([]int, n),
	}
}

func (e *search) stream() asm.Counter { return rng.Stream(e.Seed, rng.Scouting, e.Stream) }

// evaluate sets dst to ln π of x, −Inf where it is not a number.
func (e *search) evaluate(dst []float64, x []float32) {
	d := e.dim
	e.own.Rows(len(dst), scoutRows, func(own Density, lo, hi int) {
		own(dst[lo:hi], x[lo*d:hi*d])
		for r, v := range dst[lo:hi] {
			if math.IsNaN(v) || math.IsInf(v, 1) {
				dst[lo+r] = math.Inf(-1)
			}
		}
	})
}

// normals fills x with the next normals of the stream.
func (e *search) normals(x []float32) {
	c := e.stream()
	rng.Normals(x, e.dim, &c, e.Round<<32)
	e.Round++
}

// uniform fills the members' uniforms with the next of the stream.
func (e *search) uniform() {
	c := e.stream()
	asm.Uniforms(e.uniforms, &c, 1<<63|e.Round<<32)
	e.Round++
}

// move takes a Metropolis step of every member and adapts its length.
func (e *search) move() {
	d := e.dim
	e.normals(e.proposal)
	e.uniform()
	e.workers.Run((len(e.Now)+scoutRows-1)/scoutRows, func(piece int) {
		z := make([]float32, d)
		for r := piece * scoutRows; r < min((piece+1)*scoutRows, len(e.Now)); r++ {
			to, from := e.proposal[r*d:][:d], e.X[r*d:][:d]
			copy(z, to)
			// Lengths are spread: narrow directions and wide ones both move.
			length := e.Step[r] * math.Exp(2*float64(e.uniforms[4*r+1])-1)
			for i := range to {
				v := float64(z[i])
				if e.local != nil {
					v = 0
					for c, f := range e.local.factor[e.Label[r]*e.local.model.triangle+row(i):][:i+1] {
						v += f * float64(z[c])
					}
				}
				to[i] = from[i] + float32(length*v)
			}
		}
	})
	e.evaluate(e.next, e.proposal)
	e.ofBase(e.beyond, e.proposal)
	for r := range e.Now {
		ratio := e.B * (e.next[r] - e.Now[r])
		if math.IsInf(e.Now[r], -1) && !math.IsInf(e.next[r], -1) {
			ratio = math.Inf(1)
		}
		if e.B < 1 {
			ratio += (1 - e.B) * (e.beyond[r] - e.Base[r])
		}
		e.accepted[r] = float64(e.uniforms[4*r]) < math.Exp(min(0, ratio))
		if e.accepted[r] {
			copy(e.X[r*d:(r+1)*d], e.proposal[r*d:])
			e.Now[r], e.Base[r] = e.next[r], e.beyond[r]
		}
	}
}

// ofBase sets dst to ln p_0.
func (e *search) ofBase(dst []float64, x []float32) {
	if e.B == 1 {
		return
	}
	for r := range dst {
		var square float64
		for i, v := range x[r*e.dim:][:e.dim] {
			off := (float64(v) - e.Center[i]) / e.Scale[i]
			square += off * off
		}
		dst[r] = e.logBase - square/2
	}
}

// depart lets walkers begin near and far in turns, at so many times a scale from a centre, with a
// step for each reach.
func (e *search) depart(reaches [4]float64, center, scale []float64, step func(reach float64) float64) {
	e.B = 1
	e.normals(e.X)
	for r := range e.Step {
		reach := reaches[r%len(reaches)]
		e.Step[r] = step(reach)
		reach = float64(float32(reach)) // as states have it
		for i, v := range e.X[r*e.dim:][:e.dim] {
			e.X[r*e.dim+i] = float32(center[i] + reach*scale[i]*float64(v))
		}
	}
}

// arrived returns the walkers that have got nearly as high as the best, none where none has
// found weight.
func (e *search) arrived() (good []int) {
	enough := slices.Max(e.Now) - 30 - 3*float64(e.dim)
	for r, v := range e.Now {
		if v >= enough && !math.IsInf(v, -1) {
			good = append(good, r)
		}
	}
	return good
}

// find sets the centre and the scale of p_0 by walks uphill from about the origin.
func (e *search) find() {
	d := e.dim
	e.depart([...]float64{0.3, 3, 30, 300}, make([]float64, d), slices.Repeat([]float64{1}, d), func(reach float64) float64 { return reach })
	e.walk("find", 200+20*d)
	low, high := slices.Repeat([]float64{math.Inf(1)}, d), slices.Repeat([]float64{math.Inf(-1)}, d)
	for _, r := range e.arrived() {
		for i, v := range e.X[r*d:][:d] {
			low[i], high[i] = min(low[i], float64(v)), max(high[i], float64(v))
		}
	}
	e.Center, e.Scale = make([]float64, d), make([]float64, d)
	for i := range d {
		if !(high[i] > low[i]) { // nothing was found
			low[i], high[i] = -1, 1
		}
		e.Center[i], e.Scale[i] = (low[i]+high[i])/2, (high[i]-low[i])/2
	}
}

// walk takes walkers, each with its own step, so many moves uphill.
func (e *search) walk(part string, moves int) {
	p := e.page(part)
	if !e.recall(p) {
		e.Taken = 0
		e.evaluate(e.Now, e.X)
	}
	for ; e.Taken < moves && e.ctx.Err() == nil; e.Taken++ {
		p.Keep(&e.march)
		e.move()
		for r, yes := range e.accepted {
			// Balanced where a fifth of the moves is accepted.
			if yes {
				e.Step[r] *= 1.5
			} else {
				e.Step[r] /= 1.1
			}
		}
	}
	p.Done(&e.march)
}

const (
	shapes    = 8    // Gaussians that give moves their shapes
	survivors = 0.5  // of a population, by weight, at a rise of b
	accepting = 0.25 // of moves
	last      = 4    // times as many moves at b = 1, or half of that
)

// anneal takes the population from p_0 to the target.
func (e *search) anneal() *Found {
	n, d := len(e.Now), e.dim
	e.logBase = -float64(d) / 2 * math.Log(2*math.Pi)
	for _, v := range e.Scale {
		e.logBase -= math.Log(v)
	}
	p := e.page("anneal")
	if !e.recall(p) {
		e.Length = 2.4 / math.Sqrt(float64(d))
		e.begin()
	} else if len(e.Local) > 0 {
		e.shape(e.Local)
	}
	for (e.B < 1 || e.Left > 0) && e.ctx.Err() == nil {
		if e.Left == 0 {
			e.LogZ += e.warm()
			if e.Local = e.group(); e.ctx.Err() != nil {
				break
			}
			if e.Left = e.Moves; e.B == 1 {
				e.Left *= last
				if e.Spare {
					e.Left /= 2
				}
			}
		}
		p.Keep(&e.march)
		for r := range e.Step {
			e.Step[r] = e.Length
		}
		e.move()
		var rate float64
		for _, yes := range e.accepted {
			if yes {
				rate += 1 / float64(n)
			}
		}
		e.Length *= math.Exp(rate - accepting)
		e.Left--
	}
	p.Done(&e.march)
	found := &Found{X: e.X, LogPi: e.Now, LogZ: e.LogZ, Lines: 1}
	for r := range n - 1 { // those of a line are beside each other
		if e.Line[r] != e.Line[r+1] {
			found.Lines++
		}
	}
	return found
}

// begin draws the population from p_0.
func (e *search) begin() {
	e.B = 0
	e.Line = lists.Range(0, len(e.Line))
	e.normals(e.X)
	for i := range e.X {
		e.X[i] = float32(e.Center[i%e.dim] + e.Scale[i%e.dim]*float64(e.X[i]))
	}
	e.evaluate(e.Now, e.X)
	e.ofBase(e.Base, e.X)
}

// warm lets b rise, resamples the population, and returns what that adds to ln Z.
func (e *search) warm() (logZ float64) {
	weights, from := make([]float64, len(e.Now)), e.B
	e.B = e.rise(weights)
	logZ = e.weigh(weights, e.B-from)
	e.resample(weights)
	return logZ
}

// group gives moves the shapes of Gaussians that are fitted to the population, and returns
// those.
func (e *search) group() []Component {
	f := newFit(e.ctx, e.X, e.dim, min(shapes, max(1, len(e.Now)/(4*(e.dim+1)))))
	c := e.stream()
	f.seed(&c, 3<<62|e.Round<<32)
	e.Round++
	f.maximise()
	for range 3 {
		f.expect()
		f.maximise()
	}
	f.expect()
	f.nearest(e.Label)
	e.local = f.packed
	return f.mixture()
}

// shape gives moves shapes that group has returned.
func (e *search) shape(all []Component) {
	e.local = pack(all, e.dim)
}

// sweeps takes so many sweeps of what has been found.
func (e *search) sweeps(n int, found *Found) {
	p := e.page("sweeps")
	if !e.recall(p) {
		e.Taken = 0
	}
	for ; e.Taken < n && e.ctx.Err() == nil; e.Taken++ {
		p.Keep(&e.march)
		e.sweep()
	}
	p.Done(&e.march)
	found.X, found.LogPi = e.X, e.Now
}

// sweep offers each coordinate of each member in turn a value that is drawn from p_0, at
// b = 1.
func (e *search) sweep() {
	n, d := len(e.Now), e.dim
	z := make([]float32, n*d)
	e.normals(z)
	for i := range d {
		if e.ctx.Err() != nil {
			return
		}
		e.uniform()
		copy(e.proposal, e.X)
		for r := range n {
			e.proposal[r*d+i] = float32(e.Center[i] + e.Scale[i]*float64(z[r*d+i]))
		}
		e.evaluate(e.next, e.proposal)
		for r := range n {
			old, now := (float64(e.X[r*d+i])-e.Center[i])/e.Scale[i], float64(z[r*d+i])
			ratio := e.next[r] - e.Now[r] + (now*now-old*old)/2
			if math.Log(float64(e.uniforms[4*r])) < ratio {
				e.X[r*d+i], e.Now[r] = e.proposal[r*d+i], e.next[r]
			}
		}
	}
}

// rise returns the largest b of which enough of the population survives.
func (e *search) rise(weights []float64) float64 {
	low, high := e.B, 1.0
	if e.survive(weights, 1-e.B) {
		return 1
	}
	for range 50 {
		middle := (low + high) / 2
		if e.survive(weights, middle-e.B) {
			low = middle
		} else {
			high = middle
		}
	}
	return max(low, math.Nextafter(e.B, 1))
}

func (e *search) survive(weights []float64, by float64) bool {
	e.weigh(weights, by)
	var sum, squares float64
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	return sum*sum >= survivors*float64(len(weights))*squares
}

// weigh sets the weights of a rise of b, the largest 1, and returns the logarithm
// of their mean.
func (e *search) weigh(weights []float64, by float64) float64 {
	highest := math.Inf(-1)
	for r := range weights {
		weights[r] = by * (e.Now[r] - e.Base[r])
		highest = max(highest, weights[r])
	}
	if math.IsInf(highest, -1) {
		for r := range weights {
			weights[r] = 1
		}
		return 0
	}
	var sum float64
	for r, v := range weights {
		weights[r] = math.Exp(v - highest)
		sum += weights[r]
	}
	return highest + math.Log(sum/float64(len(weights)))
}

// resample draws the population anew by its weights, at even distances.
func (e *search) resample(weights []float64) {
	n, d := len(weights), e.dim
	e.uniform()
	var sum float64
	for _, w := range weights {
		sum += w
	}
	at, below := 0, weights[0]
	for r := range n {
		u := (float64(r) + float64(e.uniforms[0])) / float64(n) * sum
		for below < u && at < n-1 {
			at++
			below += weights[at]
		}
		copy(e.proposal[r*d:(r+1)*d], e.X[at*d:])
		e.next[r], e.beyond[r], e.heirs[r] = e.Now[at], e.Base[at], e.Line[at]
	}
	e.Line, e.heirs = e.heirs, e.Line
	e.X, e.proposal = e.proposal, e.X
	e.Now, e.next = e.next, e.Now
	e.Base, e.beyond = e.beyond, e.Base
}
