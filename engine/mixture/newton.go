package mixture

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// In many dimensions a population of thousands knows little of a target's covariances,
// and after resampling few of its modes. But the Gaussian q of the least KL(q‖π)
// nearby has
//
//	E_q[∇ ln π] = 0   and   Σ⁻¹ = −E_q[∇² ln π],
//
// and differences of ln π over parts of each coordinate's deviation tell both, by few
// draws of q where ln π is nearly quadratic. Newton's iteration of the two is a settling.

// InShape is the number of coordinates up to which a population takes a target's shape.
const InShape = 64

const (
	maxAttempts        = 32    // to settle, and Gaussians that do
	minDraws, maxDraws = 2, 16 // draws for ∇², twice as many whenever an iteration gains too little
	slopeFactor        = 8     // times as many draws for ∇ and the diagonal of ∇²
	judgeDraws         = 512   // draws for KL
	maxIterations      = 30
	minGain            = 0.05 // in KL, nats, of an iteration that is worth another
	stepShare          = 0.5  // of a coordinate's deviation: the step of differences
	grid               = 64   // parts of a step, of which draws are multiples
	chunkStates        = 4096 // that are evaluated at once
)

// settled is a Gaussian N(μ, L Lᵀ) that has settled. Its weight is not known yet.
type settled struct {
	Component
	Divergence float64 // KL − ln Z, +Inf if it is not known
}

// settle returns the Gaussians that settle about the best walker, and then about the best walker
// outside all basins so far. The error says that ln π never falls in some direction.
func (s *scout) settle() (all []settled, err error) {
	candidates := lists.Range(0, len(s.LogPi))
	for range maxAttempts {
		if len(candidates) == 0 || s.ctx.Err() != nil {
			break
		}
		best := slices.MaxFunc(candidates, func(a, b int) int { return cmp.Compare(s.LogPi[a], s.LogPi[b]) })
		g, err := s.newSettling(s.X[best*s.dim : (best+1)*s.dim])
		if err != nil {
			return nil, err
		}
		if g == nil || !g.run() {
			break
		}
		if isKnown := slices.ContainsFunc(all, func(other settled) bool { return s.isLevel(number.Narrow(other.Mean), g.Best.Mean) }); !isKnown {
			all = append(all, g.Best)
		}
		candidates = slices.DeleteFunc(candidates, func(r int) bool {
			return r == best || s.isLevel(s.X[r*s.dim:(r+1)*s.dim], g.Best.Mean)
		})
	}
	return all, nil
}

// isLevel reports whether ln π has no deep valley on the straight line from x to another point.
func (s *scout) isLevel(x []float32, to []float64) bool {
	const maxDepth = 3
	f := s.logPiAlong(x, to)
	highest := math.Inf(-1)
	for _, v := range f {
		highest = max(highest, v)
		if v < highest-maxDepth && f[len(f)-1] > v+maxDepth {
			return false
		}
	}
	return true
}

// logPiAlong returns ln π at points of the straight line from x to another point.
func (s *scout) logPiAlong(x []float32, to []float64) []float64 {
	const points = 17
	states, f := make([]float32, points*s.dim), make([]float64, points)
	for k := range points {
		by := float64(k) / (points - 1)
		for i, v := range x {
			states[k*s.dim+i] = float32((1-by)*float64(v) + by*to[i])
		}
	}
	s.evaluate(f, states)
	return f
}

// A settling is Newton's iteration of one Gaussian.
type settling struct {
	*scout
	settlingState
	precision *mat.SymDense // Σ⁻¹
	step      []float64     // of differences, [d]

	gradient  []float64     // E_q[∇ ln π]
	curvature *mat.SymDense // −E_q[∇² ln π]
	draws     []float32     // of an iteration
	states    []float32
	values    []float64

	page *notes.Page
}

// A settlingState is what an interrupted settling goes on from.
type settlingState struct {
	Best              settled
	Precision         []float64 // Σ⁻¹, [d][d] by its upper triangle
	Noise             []float32 // of judge
	Rounds            uint64    // of the scout
	Draws, Iterations int
}

// save returns the state of the settling.
func (s *settling) save() *settlingState {
	s.Precision, s.Rounds = s.precision.RawSymmetric().Data, s.Round
	return &s.settlingState
}

// recall restores the state that the page holds, and reports whether it does.
func (s *settling) recall() bool {
	var m settlingState
	if d := s.dim; !s.page.Recall(&m) || len(m.Best.Mean) != d || len(m.Best.Factor) != row(d) || len(m.Precision) != d*d || len(m.Noise) != len(s.Noise) {
		return false
	}
	s.settlingState, s.Round, s.precision = m, m.Rounds, mat.NewSymDense(s.dim, m.Precision)
	return true
}

// newSettling begins at x. It returns nil where ln π has no curvature to be found.
func (s *scout) newSettling(x []float32) (*settling, error) {
	d := s.dim
	t := &settling{
		scout: s, step: make([]float64, d), gradient: make([]float64, d), curvature: mat.NewSymDense(d, nil),
		precision: mat.NewSymDense(d, nil), draws: make([]float32, slopeFactor/2*maxDraws*d),
		states: make([]float32, (chunkStates+2*d)*d), values: make([]float64, chunkStates+2*d),
		settlingState: settlingState{Noise: make([]float32, judgeDraws/2*d), Draws: minDraws},
	}
	t.page = notes.PageOf(s.ctx, "settle", s.Scout, d, s.Round, x)
	if t.recall() {
		return t, nil
	}
	s.drawNormals(t.Noise)
	t.Best.Mean = number.Widen(x)
	if ok, err := t.measureSteps(); !ok {
		return nil, err
	}
	for i, a := range t.step {
		t.precision.SetSym(i, i, 1/(a*a))
	}
	t.Best = t.judge(t.Best.Mean, t.precision)
	return t, nil
}

// measureSteps sets the steps to lengths at which ln π, averaged over both sides of the mean, has
// fallen by about ½: the coordinates' deviations given the others if ln π is quadratic. It reports
// whether there are such lengths. The error says that ln π never falls.
func (s *settling) measureSteps() (ok bool, err error) {
	const minFall, maxFall, maxTries = 0.1, 2, 100
	const maxStep = 1e12
	d := s.dim
	for i, v := range s.Best.Mean {
		s.step[i] = 1e-3 * (1 + math.Abs(v))
	}
	x, side := number.Narrow(s.Best.Mean), [2][]float64{make([]float64, d), make([]float64, d)}
	for range maxTries {
		here, _ := s.evaluateSides(x, side)
		if math.IsInf(here, -1) {
			return false, nil
		}
		measured, factor := 0, stepFactor(here)
		for i := range s.step {
			switch fall := (here - (side[0][i]+side[1][i])/2) / (factor * factor); {
			case s.step[i] == maxStep && here-min(side[0][i], side[1][i]) < minFall:
				return false, fmt.Errorf("ln π does not fall along x[%d], as far as %g: it cannot be normalised; let it fall, or bound the coordinate", i, maxStep)
			case fall > maxFall:
				s.step[i] *= 0.6
			case fall < minFall:
				s.step[i] *= 1.9
			default:
				measured++
			}
			s.step[i] = min(max(s.step[i], 1e-12), maxStep)
		}
		if measured == d {
			for i := range s.step {
				s.step[i] /= factor
			}
			return true, nil
		}
	}
	return false, nil
}

// stepFactor returns how much longer than parts of deviations steps must be, because rounding errors
// grow with ln π, which is large far from the weight.
func stepFactor(logPi float64) float64 {
	const coarse = 1e-4
	return math.Sqrt(max(1, coarse*math.Abs(logPi)))
}

// run lets the Gaussian settle and reports whether it has become one.
func (s *settling) run() bool {
	for ; s.Iterations < maxIterations; s.Iterations++ {
		s.page.Keep(s.save())
		before := s.Best.Divergence
		if s.ctx.Err() != nil {
			return false
		}
		s.differentiate(s.Draws)
		if s.advance(); s.Best.Divergence < before-minGain {
			continue
		}
		if s.Draws *= 2; s.Draws > maxDraws {
			s.Iterations = maxIterations
		}
	}
	s.page.Done(s.save())
	return !math.IsInf(s.Best.Divergence, 0) && s.ctx.Err() == nil
}

// place sets x to μ ± L z.
func place(x, z []float32, mean, factor []float64, sign float64) {
	for i := range x {
		v := 0.0
		for c, f := range factor[row(i):][:i+1] {
			v += f * float64(z[c])
		}
		x[i] = float32(mean[i] + sign*v)
	}
}

// differentiate estimates gradient and curvature under the present Gaussian: mixed derivatives by
// that many draws, the others by slopeFactor times as many.
func (s *settling) differentiate(curvatures int) {
	d := s.dim
	length := stepShare * stepFactor(s.Best.Divergence)
	for i := range s.step {
		s.step[i] = math.Exp2(math.Round(math.Log2(length / math.Sqrt(s.precision.At(i, i)))))
	}
	s.curvature.Zero()
	s.drawNormals(s.draws[:slopeFactor/2*curvatures*d])
	x := make([]float32, d)
	count, pairs := 0.0, 0.0
	slope, bow := make([]float64, d), make([]float64, d)
	side := [2][]float64{make([]float64, d), make([]float64, d)}
	for k := range slopeFactor * curvatures {
		sign := float64(1 - 2*(k%2))
		place(x, s.draws[k/2*d:][:d], s.Best.Mean, s.Best.Factor, sign)
		for i, a := range s.step { // so that states a step apart are so in float32 too
			x[i] = float32(math.Round(float64(x[i])/a*grid) / grid * a)
		}
		here, ok := s.evaluateSides(x, side)
		if !ok {
			continue
		}
		count++
		for i, a := range s.step {
			slope[i] += (side[0][i] - side[1][i]) / (2 * a)
			bow[i] += (2*here - side[0][i] - side[1][i]) / (a * a)
		}
		if k >= curvatures {
			continue
		}
		pairs++
		s.addMixed(x, side[k%2], here, sign)
	}
	for i := range d {
		s.gradient[i] = slope[i] / max(count, 1)
		for j := range i {
			s.curvature.SetSym(i, j, s.curvature.At(i, j)/max(pairs, 1))
		}
		s.curvature.SetSym(i, i, bow[i]/max(count, 1))
	}
}

// evaluateSides sets side[0] and side[1] to ln π at x with each coordinate a step further, and a step
// back. here is ln π at x; ok says that all are finite.
func (s *settling) evaluateSides(x []float32, side [2][]float64) (here float64, ok bool) {
	d := s.dim
	states := s.states[:(2*d+1)*d]
	for r := range 2*d + 1 {
		copy(states[r*d:], x)
	}
	for i, a := range s.step {
		states[2*i*d+i] += float32(a)
		states[(2*i+1)*d+i] -= float32(a)
	}
	f := s.values[:2*d+1]
	s.evaluate(f, states)
	for i := range s.step {
		side[0][i], side[1][i] = f[2*i], f[2*i+1]
	}
	return f[2*d], !slices.ContainsFunc(f, func(v float64) bool { return math.IsInf(v, -1) })
}

// addMixed adds −∂²/∂x_i∂x_j at x to the curvature, by steps of the given sign.
func (s *settling) addMixed(x []float32, side []float64, here, sign float64) {
	d := s.dim
	for low := 1; low < d; {
		high, rows := low, 0
		for high < d && rows+high <= chunkStates+2*d {
			for j := range high {
				state := s.states[rows*d:][:d]
				copy(state, x)
				state[high] += float32(sign * s.step[high])
				state[j] += float32(sign * s.step[j])
				rows++
			}
			high++
		}
		s.evaluate(s.values[:rows], s.states[:rows*d])
		at := 0
		for i := low; i < high; i++ {
			for j := range i {
				if v := side[i] + side[j] - here - s.values[at]; !math.IsInf(v, 0) {
					s.curvature.SetSym(i, j, s.curvature.At(i, j)+v/(s.step[i]*s.step[j]))
				}
				at++
			}
		}
		low = high
	}
}

// advance takes a Newton step, damped until it is definite and shortened until KL falls, or none.
func (s *settling) advance() {
	d := s.dim
	const minCurvature = 0.01 // in units of the present precision
	aim := mat.NewSymDense(d, nil)
	var cholesky mat.Cholesky
	definite := false
	for _, damp := range []float64{0, 0.01, 0.1, 1, 10, 100} {
		aim.CopySym(s.curvature)
		for i := range d {
			aim.SetSym(i, i, (1+damp)*max(s.curvature.At(i, i), minCurvature*s.precision.At(i, i)))
		}
		if definite = cholesky.Factorize(aim); definite {
			break
		}
	}
	if !definite {
		return
	}
	var shift mat.VecDense
	if err := cholesky.SolveVecTo(&shift, mat.NewVecDense(d, s.gradient)); err != nil {
		return
	}
	mean := make([]float64, d)
	for by := 1.0; by > 0.01; by /= 2 {
		precision := mat.NewSymDense(d, nil)
		for i := range d {
			mean[i] = s.Best.Mean[i] + by*shift.AtVec(i)
			for j := range i + 1 {
				precision.SetSym(i, j, (1-by)*s.precision.At(i, j)+by*aim.At(i, j))
			}
		}
		if next := s.judge(slices.Clone(mean), precision); next.Divergence < s.Best.Divergence {
			s.Best, s.precision = next, precision
			return
		}
	}
}

// judge returns a Gaussian with its divergence. All are judged by the same noise.
func (s *settling) judge(mean []float64, precision *mat.SymDense) settled {
	d := s.dim
	q := settled{Component{Mean: mean, Factor: make([]float64, row(d))}, math.Inf(1)}
	var cholesky mat.Cholesky
	var covariance mat.SymDense
	if !cholesky.Factorize(precision) || cholesky.InverseTo(&covariance) != nil || !cholesky.Factorize(&covariance) {
		return q
	}
	var l mat.TriDense
	cholesky.LTo(&l)
	logQ := -float64(d) / 2 * math.Log(2*math.Pi)
	for i := range d {
		for j := range i + 1 {
			q.Factor[row(i)+j] = l.At(i, j)
		}
		logQ -= math.Log(l.At(i, i))
	}
	x, f := s.states[:judgeDraws*d], s.values[:judgeDraws]
	var squares float64
	for k := range judgeDraws {
		z := s.Noise[k/2*d:][:d]
		place(x[k*d:][:d], z, q.Mean, q.Factor, float64(1-2*(k%2)))
		for _, v := range z {
			squares += float64(v) * float64(v)
		}
	}
	s.evaluate(f, x)
	q.Divergence = logQ - squares/2/judgeDraws
	for _, v := range f {
		q.Divergence -= v / judgeDraws
	}
	return q
}

// startNear lets walkers begin about the centre, from near and far.
func (s *scout) startNear() {
	d := s.dim
	s.scatter([...]float64{0.5, 1.5, 5, 15}, s.Center, s.Scale, func(reach float64) float64 { return reach * s.Scale[0] / math.Sqrt(float64(d)) })
	s.walk("approach", 200+10*d)
}

// replaceLost moves walkers that found no weight to those that did.
func (s *scout) replaceLost() {
	good := s.arrived()
	for r := range s.LogPi {
		if len(good) > 0 && !slices.Contains(good, r) {
			from := good[r%len(good)]
			copy(s.X[r*s.dim:(r+1)*s.dim], s.X[from*s.dim:])
			s.LogPi[r] = s.LogPi[from]
		}
	}
}

// settleAll lets Gaussians settle about the walkers, and draws the population from them. If ln π is a
// sum over the coordinates, each coordinate finds its own values instead. If nothing settles it
// returns the walkers, or nil where a population is to be annealed.
func (s *scout) settleAll() (*Found, error) {
	const sweeps = 40
	d, n := s.dim, len(s.LogPi)
	s.replaceLost()
	found := &Found{X: s.X, LogPi: s.LogPi, Lines: n}
	separable := false
	if s.Sums {
		s.densities.Lend(func(own Density) { separable = found.Separable(d, own) })
	}
	if separable {
		s.sweeps(sweeps, found)
		return found, nil
	}
	all, err := s.settle()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if d <= InShape {
			return nil, nil
		}
		return found, nil
	}
	lowest := slices.Min(lists.Map(all, func(g settled) float64 { return g.Divergence }))
	var sum float64
	for _, g := range all {
		g.Weight = math.Exp(lowest - g.Divergence)
		sum += g.Weight
		found.Gaussians = append(found.Gaussians, g.Component)
	}
	for k := range found.Gaussians {
		found.Gaussians[k].Weight /= sum
	}
	s.drawNormals(s.proposal)
	k, below := 0, found.Gaussians[0].Weight
	for r := range n {
		for k+1 < len(all) && float64(r)+0.5 > below*float64(n) {
			k++
			below += found.Gaussians[k].Weight
		}
		place(s.X[r*d:(r+1)*d], s.proposal[r*d:(r+1)*d], all[k].Mean, all[k].Factor, 1)
	}
	s.evaluate(s.LogPi, s.X)
	found.LogZ = measure.Weigh(found.logQOverPi(d)).LogZ
	return found, nil
}

// logQOverPi returns R = ln q − ln π of the population, q the mixture of the Gaussians.
func (found *Found) logQOverPi(dim int) []float64 {
	p, r := pack(found.Gaussians, dim), make([]float64, len(found.LogPi))
	p.logDensities(r, found.X)
	floats.Sub(r, found.LogPi)
	return r
}

// settledLook is Look of Gaussians that have settled.
func (found *Found) settledLook(dim int) Look {
	const rounding = 0.01 // deviation of ln q − ln π
	if len(found.Gaussians) == 0 {
		_, variance := Moments(found.X, dim)
		var log float64
		for _, v := range variance {
			log += math.Log(max(v, 1e-300)) / 2 / float64(dim)
		}
		return Look{Width: math.Exp(log), Components: 1}
	}
	const minWeight = 1e-4 // of a mode that is worth a component
	look := Look{Width: Width(found.Gaussians)}
	for _, c := range found.Gaussians {
		look.Freedom += c.Weight * c.Freedom()
		if c.Weight > minWeight {
			look.Components++
		}
	}
	look.Several = look.Components > 1
	look.Apart = look.Several
	look.Gaussian = !look.Several && stat.MeanOf(found.logQOverPi(dim)).Deviation() < rounding
	return look
}

// resized returns n Gaussians: the heaviest, or all with the heaviest halved until there are enough.
func resized(all []Component, n int) []Component {
	all = slices.Clone(all)
	for len(all) < n {
		k := floats.MaxIdx(lists.Map(all, func(c Component) float64 { return c.Weight }))
		parts := all[k].halves()
		all[k] = parts[0]
		all = append(all, parts[1])
	}
	if len(all) > n {
		slices.SortStableFunc(all, func(a, b Component) int { return cmp.Compare(b.Weight, a.Weight) })
		all = all[:n]
	}
	return all
}
