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

// A Density sets dst[r] = ln π(x_r) + const of the rows of x, [len(dst)][d]. Only one thread at a time
// may call it.
type Density func(dst []float64, x []float32)

// A Scout says how to look for where a target has its weight: a population is
// annealed from a wide Gaussian p_0 to the target, π_β ∝ p_0^{1−β} π^β. Metropolis moves
// have an adapted length and the shape of the neighbours, and the population is resampled
// whenever β has risen so far that half of it counts (sequential Monte Carlo). It needs no
// more of a target than its density.
type Scout struct {
	Population int // number of members
	Moves      int // moves of each member at each β
	// Sweeps is how often, after annealing, each coordinate of each member is offered a value drawn
	// from p_0, which may cross a barrier. Members that descend from few others have lost some of a
	// mode's values of each coordinate.
	Sweeps int
	// Center and Scale are those of p_0, [d]. If they are nil, walks from the origin, from near
	// and far, find where to look.
	Center, Scale []float64
	// Settle lets Gaussians settle about walkers that find the weight, instead of annealing a
	// population. If none settles, a population is annealed all the same, up to InShape
	// coordinates.
	Settle bool
	// Sums lets each coordinate find its own values where ln π is a sum of functions of one
	// coordinate each. No Gaussian settles then.
	Sums   bool
	Far    bool // looks for modes that a population misses, up to InShape coordinates
	Spare  bool // takes fewer evaluations
	Seed   uint64
	Stream uint32 // of the seed's random numbers
}

// Found is what a scout has found.
type Found struct {
	X     []float32 // the population, [n][d]
	LogPi []float64 // its ln π
	LogZ  float64   // a rough ln Z
	Lines int       // members drawn from p_0 that have descendants in the population
	Far   int       // modes that the population lacked and walkers found
	// Gaussians are those that have settled, if any. The population is then drawn from them.
	Gaussians []Component
}

// A scout is a Scout at work.
type scout struct {
	Scout
	scoutState
	ctx       context.Context
	dim       int
	densities *pool.Tools[Density]
	workers   *pool.Pool

	proposal               []float32 // [n][d]
	nextLogPi, nextLogBase []float64 // ln π and ln p_0 of the proposals
	uniforms               []float32
	moveShapes             *Packed // shapes of moves, nil for spheres
	logBaseNorm            float64 // of ln p_0
	accepted               []bool
	nextAncestor           []int // ancestors of the resampled members
}

// A scoutState is what an interrupted scout goes on from.
type scoutState struct {
	X                    []float32 // members or walkers, [n][d]
	LogPi, LogBase       []float64 // their ln π and ln p_0
	Beta                 float64
	Lengths              []float64 // of each one's moves
	Round                uint64    // number of draws from the stream so far
	Ancestor, ShapeIndex []int     // each one's ancestor among the members drawn from p_0; index in Shapes

	Steps     int         // moves of a walk, or sweeps, so far
	MovesLeft int         // number of moves still to take at Beta
	Length    float64     // of every member's moves, in annealing
	LogZ      float64     // estimate of ln Z at Beta
	Shapes    []Component // Gaussians whose factors shape the moves
}

// page returns the notes of a part of the work.
func (s *scout) page(part string) *notes.Page {
	return notes.PageOf(s.ctx, "scout", part, s.Scout, s.dim)
}

// recall restores the state that a page holds, and reports whether it does.
func (s *scout) recall(p *notes.Page) bool {
	var m scoutState
	if !p.Recall(&m) || len(m.X) != len(s.X) || len(m.LogPi) != len(s.LogPi) {
		return false
	}
	s.scoutState = m
	return true
}

const scoutRows = 64 // members that one thread moves at once

// Run looks for the weight of a target of d coordinates. newDensity returns a density
// for each thread. When ctx ends it returns ctx's error, after the move under way.
func (s Scout) Run(ctx context.Context, dim int, newDensity func() Density, workers *pool.Pool) (*Found, error) {
	e := s.newScout(ctx, dim, pool.NewTools(workers, newDensity), workers)
	placed := e.Center != nil && e.Scale != nil
	if !placed {
		e.locate()
	}
	var found *Found
	if s.Settle {
		if placed {
			e.startNear()
		}
		var err error
		if found, err = e.settleAll(); err != nil {
			return nil, err
		}
	}
	if found == nil {
		found = e.anneal()
		e.sweeps(s.Sweeps, found)
		if s.Far && placed && dim <= InShape {
			return e.findMissedModes(found)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return found, nil
}

// newScout returns a scout that has done nothing yet.
func (s Scout) newScout(ctx context.Context, dim int, densities *pool.Tools[Density], workers *pool.Pool) *scout {
	n := s.Population
	return &scout{
		Scout: s, ctx: ctx, dim: dim, workers: workers, densities: densities,
		scoutState: scoutState{
			X: make([]float32, n*dim), LogPi: make([]float64, n), LogBase: make([]float64, n),
			Lengths: make([]float64, n), Ancestor: make([]int, n), ShapeIndex: make([]int, n),
		},
		proposal: make([]float32, n*dim), nextLogPi: make([]float64, n), nextLogBase: make([]float64, n),
		uniforms: make([]float32, 4*n), accepted: make([]bool, n), nextAncestor: make([]int, n),
	}
}

func (s *scout) stream() asm.Counter { return rng.Stream(s.Seed, rng.Scouting, s.Stream) }

// evaluate sets dst to ln π of x, −Inf where it is not a number.
func (s *scout) evaluate(dst []float64, x []float32) {
	d := s.dim
	s.densities.Rows(len(dst), scoutRows, func(own Density, lo, hi int) {
		own(dst[lo:hi], x[lo*d:hi*d])
		for r, v := range dst[lo:hi] {
			if math.IsNaN(v) || math.IsInf(v, 1) {
				dst[lo+r] = math.Inf(-1)
			}
		}
	})
}

// drawNormals fills x with the next normal numbers of the stream.
func (s *scout) drawNormals(x []float32) {
	c := s.stream()
	rng.Normals(x, s.dim, &c, s.Round<<32)
	s.Round++
}

// drawUniforms fills the members' uniforms with the next of the stream.
func (s *scout) drawUniforms() {
	c := s.stream()
	asm.Uniforms(s.uniforms, &c, 1<<63|s.Round<<32)
	s.Round++
}

// move takes a Metropolis step of every member and adapts its length.
func (s *scout) move() {
	d := s.dim
	s.drawNormals(s.proposal)
	s.drawUniforms()
	s.workers.Run((len(s.LogPi)+scoutRows-1)/scoutRows, func(piece int) {
		z := make([]float32, d)
		for r := piece * scoutRows; r < min((piece+1)*scoutRows, len(s.LogPi)); r++ {
			to, from := s.proposal[r*d:][:d], s.X[r*d:][:d]
			copy(z, to)
			// Lengths are spread: narrow directions and wide ones both move.
			length := s.Lengths[r] * math.Exp(2*float64(s.uniforms[4*r+1])-1)
			for i := range to {
				v := float64(z[i])
				if s.moveShapes != nil {
					v = 0
					for c, f := range s.moveShapes.factor[s.ShapeIndex[r]*s.moveShapes.model.triangle+row(i):][:i+1] {
						v += f * float64(z[c])
					}
				}
				to[i] = from[i] + float32(length*v)
			}
		}
	})
	s.evaluate(s.nextLogPi, s.proposal)
	s.evaluateBase(s.nextLogBase, s.proposal)
	for r := range s.LogPi {
		ratio := s.Beta * (s.nextLogPi[r] - s.LogPi[r])
		if math.IsInf(s.LogPi[r], -1) && !math.IsInf(s.nextLogPi[r], -1) {
			ratio = math.Inf(1)
		}
		if s.Beta < 1 {
			ratio += (1 - s.Beta) * (s.nextLogBase[r] - s.LogBase[r])
		}
		s.accepted[r] = float64(s.uniforms[4*r]) < math.Exp(min(0, ratio))
		if s.accepted[r] {
			copy(s.X[r*d:(r+1)*d], s.proposal[r*d:])
			s.LogPi[r], s.LogBase[r] = s.nextLogPi[r], s.nextLogBase[r]
		}
	}
}

// evaluateBase sets dst to ln p_0.
func (s *scout) evaluateBase(dst []float64, x []float32) {
	if s.Beta == 1 {
		return
	}
	for r := range dst {
		var square float64
		for i, v := range x[r*s.dim:][:s.dim] {
			off := (float64(v) - s.Center[i]) / s.Scale[i]
			square += off * off
		}
		dst[r] = s.logBaseNorm - square/2
	}
}

// scatter places walkers about a centre. They take turns among the reaches, in units of scale, and
// step gives the length of a walker's moves by its reach.
func (s *scout) scatter(reaches [4]float64, center, scale []float64, step func(reach float64) float64) {
	s.Beta = 1
	s.drawNormals(s.X)
	for r := range s.Lengths {
		reach := reaches[r%len(reaches)]
		s.Lengths[r] = step(reach)
		reach = float64(float32(reach)) // as states have it
		for i, v := range s.X[r*s.dim:][:s.dim] {
			s.X[r*s.dim+i] = float32(center[i] + reach*scale[i]*float64(v))
		}
	}
}

// arrived returns the walkers whose ln π is nearly as high as the best one's, none where no walker has
// found weight.
func (s *scout) arrived() (good []int) {
	lowest := slices.Max(s.LogPi) - 30 - 3*float64(s.dim)
	for r, v := range s.LogPi {
		if v >= lowest && !math.IsInf(v, -1) {
			good = append(good, r)
		}
	}
	return good
}

// locate sets the centre and the scale of p_0 by walks uphill from about the origin.
func (s *scout) locate() {
	d := s.dim
	s.scatter([...]float64{0.3, 3, 30, 300}, make([]float64, d), slices.Repeat([]float64{1}, d), func(reach float64) float64 { return reach })
	s.walk("find", 200+20*d)
	low, high := slices.Repeat([]float64{math.Inf(1)}, d), slices.Repeat([]float64{math.Inf(-1)}, d)
	for _, r := range s.arrived() {
		for i, v := range s.X[r*d:][:d] {
			low[i], high[i] = min(low[i], float64(v)), max(high[i], float64(v))
		}
	}
	s.Center, s.Scale = make([]float64, d), make([]float64, d)
	for i := range d {
		if !(high[i] > low[i]) { // nothing was found
			low[i], high[i] = -1, 1
		}
		s.Center[i], s.Scale[i] = (low[i]+high[i])/2, (high[i]-low[i])/2
	}
}

// walk takes a number of moves with every walker, at a length of its own.
func (s *scout) walk(part string, moves int) {
	p := s.page(part)
	if !s.recall(p) {
		s.Steps = 0
		s.evaluate(s.LogPi, s.X)
	}
	for ; s.Steps < moves && s.ctx.Err() == nil; s.Steps++ {
		p.Keep(&s.scoutState)
		s.move()
		for r, yes := range s.accepted {
			// Balanced where a fifth of the moves is accepted.
			if yes {
				s.Lengths[r] *= 1.5
			} else {
				s.Lengths[r] /= 1.1
			}
		}
	}
	p.Done(&s.scoutState)
}

const (
	maxShapes       = 8    // Gaussians that give moves their shapes
	minSurvival     = 0.5  // effective share of a population after a rise of β
	aimedAcceptance = 0.25 // share of moves that adapted lengths aim for
	finalFactor     = 4    // times as many moves at β = 1, or half of that
)

// anneal takes the population from p_0 to the target.
func (s *scout) anneal() *Found {
	n, d := len(s.LogPi), s.dim
	s.logBaseNorm = -float64(d) / 2 * math.Log(2*math.Pi)
	for _, v := range s.Scale {
		s.logBaseNorm -= math.Log(v)
	}
	p := s.page("anneal")
	if !s.recall(p) {
		s.Length = 2.4 / math.Sqrt(float64(d))
		s.drawBase()
	} else if len(s.Shapes) > 0 {
		s.moveShapes = pack(s.Shapes, s.dim)
	}
	for (s.Beta < 1 || s.MovesLeft > 0) && s.ctx.Err() == nil {
		if s.MovesLeft == 0 {
			s.LogZ += s.raiseBeta()
			if s.Shapes = s.fitShapes(); s.ctx.Err() != nil {
				break
			}
			if s.MovesLeft = s.Moves; s.Beta == 1 {
				s.MovesLeft *= finalFactor
				if s.Spare {
					s.MovesLeft /= 2
				}
			}
		}
		p.Keep(&s.scoutState)
		for r := range s.Lengths {
			s.Lengths[r] = s.Length
		}
		s.move()
		var rate float64
		for _, yes := range s.accepted {
			if yes {
				rate += 1 / float64(n)
			}
		}
		s.Length *= math.Exp(rate - aimedAcceptance)
		s.MovesLeft--
	}
	p.Done(&s.scoutState)
	found := &Found{X: s.X, LogPi: s.LogPi, LogZ: s.LogZ, Lines: 1}
	for r := range n - 1 { // members of one ancestor are beside each other
		if s.Ancestor[r] != s.Ancestor[r+1] {
			found.Lines++
		}
	}
	return found
}

// drawBase draws the population from p_0.
func (s *scout) drawBase() {
	s.Beta = 0
	s.Ancestor = lists.Range(0, len(s.Ancestor))
	s.drawNormals(s.X)
	for i := range s.X {
		s.X[i] = float32(s.Center[i%s.dim] + s.Scale[i%s.dim]*float64(s.X[i]))
	}
	s.evaluate(s.LogPi, s.X)
	s.evaluateBase(s.LogBase, s.X)
}

// raiseBeta lets β rise, resamples the population, and returns what that adds to ln Z.
func (s *scout) raiseBeta() (logZ float64) {
	weights, from := make([]float64, len(s.LogPi)), s.Beta
	s.Beta = s.nextBeta(weights)
	logZ = s.setWeights(weights, s.Beta-from)
	s.resample(weights)
	return logZ
}

// fitShapes fits Gaussians to the population, gives moves their shapes, and returns them.
func (s *scout) fitShapes() []Component {
	f := newFit(s.ctx, s.X, s.dim, min(maxShapes, max(1, len(s.LogPi)/(4*(s.dim+1)))))
	c := s.stream()
	f.seed(&c, 3<<62|s.Round<<32)
	s.Round++
	f.maximise()
	for range 3 {
		f.expect()
		f.maximise()
	}
	f.expect()
	f.nearest(s.ShapeIndex)
	s.moveShapes = f.packed
	return f.mixture()
}

// sweeps takes a number of sweeps and puts the members into found.
func (s *scout) sweeps(n int, found *Found) {
	p := s.page("sweeps")
	if !s.recall(p) {
		s.Steps = 0
	}
	for ; s.Steps < n && s.ctx.Err() == nil; s.Steps++ {
		p.Keep(&s.scoutState)
		s.sweep()
	}
	p.Done(&s.scoutState)
	found.X, found.LogPi = s.X, s.LogPi
}

// sweep offers each coordinate of each member in turn a value drawn from p_0, at
// β = 1.
func (s *scout) sweep() {
	n, d := len(s.LogPi), s.dim
	z := make([]float32, n*d)
	s.drawNormals(z)
	for i := range d {
		if s.ctx.Err() != nil {
			return
		}
		s.drawUniforms()
		copy(s.proposal, s.X)
		for r := range n {
			s.proposal[r*d+i] = float32(s.Center[i] + s.Scale[i]*float64(z[r*d+i]))
		}
		s.evaluate(s.nextLogPi, s.proposal)
		for r := range n {
			old, now := (float64(s.X[r*d+i])-s.Center[i])/s.Scale[i], float64(z[r*d+i])
			ratio := s.nextLogPi[r] - s.LogPi[r] + (now*now-old*old)/2
			if math.Log(float64(s.uniforms[4*r])) < ratio {
				s.X[r*d+i], s.LogPi[r] = s.proposal[r*d+i], s.nextLogPi[r]
			}
		}
	}
}

// nextBeta returns the largest β of which enough of the population survives.
func (s *scout) nextBeta(weights []float64) float64 {
	low, high := s.Beta, 1.0
	if s.survives(weights, 1-s.Beta) {
		return 1
	}
	for range 50 {
		middle := (low + high) / 2
		if s.survives(weights, middle-s.Beta) {
			low = middle
		} else {
			high = middle
		}
	}
	return max(low, math.Nextafter(s.Beta, 1))
}

func (s *scout) survives(weights []float64, by float64) bool {
	s.setWeights(weights, by)
	var sum, squares float64
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	return sum*sum >= minSurvival*float64(len(weights))*squares
}

// setWeights sets the weights of a rise of β, the largest to 1, and returns the logarithm of their
// mean.
func (s *scout) setWeights(weights []float64, by float64) float64 {
	highest := math.Inf(-1)
	for r := range weights {
		weights[r] = by * (s.LogPi[r] - s.LogBase[r])
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

// resample draws the population anew by its weights: systematic resampling.
func (s *scout) resample(weights []float64) {
	n, d := len(weights), s.dim
	s.drawUniforms()
	var sum float64
	for _, w := range weights {
		sum += w
	}
	at, below := 0, weights[0]
	for r := range n {
		u := (float64(r) + float64(s.uniforms[0])) / float64(n) * sum
		for below < u && at < n-1 {
			at++
			below += weights[at]
		}
		copy(s.proposal[r*d:(r+1)*d], s.X[at*d:])
		s.nextLogPi[r], s.nextLogBase[r], s.nextAncestor[r] = s.LogPi[at], s.LogBase[at], s.Ancestor[at]
	}
	s.Ancestor, s.nextAncestor = s.nextAncestor, s.Ancestor
	s.X, s.proposal = s.proposal, s.X
	s.LogPi, s.nextLogPi = s.nextLogPi, s.LogPi
	s.LogBase, s.nextLogBase = s.nextLogBase, s.LogBase
}
