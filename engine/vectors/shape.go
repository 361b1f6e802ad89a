package vectors

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/number"
)

// Isotropic steps mix in about d times the ratio of the largest to the smallest variance: on a ridge or
// in many coordinates, that is more steps than a diagnosis takes. Steps L ε, with the covariance
// L Lᵀ of a generator's samples, need about d. Steps that leave the Gaussian N(c, L Lᵀ) invariant,
//
//	x′ = c + √(1−β²)(x − c) + β L ε,  accepted with min{1, π(x′) N(x) / π(x) N(x′)},
//
// need few where π is close to N. But they pull towards the generator's samples, for which chains are to be
// independent evidence. So a chain takes them only once it has come to rest without them, where π
// alone has led it. From then on all its steps leave π invariant, and a mode that the generator
// lacks is as hard to leave as π/N is large there.

const (
	shapeStates   = 1 << 14 // samples whose covariance is taken
	shapeNumbers  = 1 << 23 // limit of these samples' coordinates
	samplesPerDim = 4       // samples for each coordinate with which a covariance is known well enough

	plainEveryManyDim = 8 // one step in so many is the kernel's own, from chains.ManyCoordinates on
	plainEveryFewDim  = 2 // likewise with fewer coordinates, where it may cross between modes

	typicalStep      = 2.4  // length of steps L ε in which a Gaussian mixes best, times √d
	targetAcceptance = 0.25 // to which the length is adapted until a chain is at rest
	adaptRate        = 0.1
	minStep          = 0.01 // shortest step, of the typical one

	rowShift = 36 // a step's random numbers are rows step·2³⁶ + chain of the stream
)

// betas are the β of steps that leave N invariant. A chain at rest takes one of them in half of its
// steps.
var betas = [4]float64{1, 0.5, 0.25, 0.125}

// A shape is the Gaussian N(c, L Lᵀ).
type shape struct {
	center []float32 // c
	factor []float32 // Lᵀ, packed
	lower  []float64 // L, [d][d]
}

// newShape returns the shape with a centre c and the covariance of states' distances from it, [n][d].
// It returns nil if they are too few or have no positive definite covariance.
func newShape(center, distances []float64) *shape {
	d := len(center)
	n := len(distances) / d
	if n < samplesPerDim*d {
		return nil
	}
	var covariance mat.SymDense
	covariance.SymOuterK(1/float64(n), mat.NewDense(n, d, distances).T())
	var cholesky mat.Cholesky
	if !cholesky.Factorize(&covariance) {
		return nil
	}
	var l mat.TriDense
	cholesky.LTo(&l)
	s := &shape{center: make([]float32, d), factor: make([]float32, asm.PackedLen(d, d)), lower: make([]float64, d*d)}
	transposed := make([]float32, d*d)
	for i, c := range center {
		s.center[i] = float32(c)
		for j := range i + 1 {
			s.lower[i*d+j], transposed[j*d+i] = l.At(i, j), float32(l.At(i, j))
		}
	}
	asm.PackWeights(s.factor, transposed, d, d)
	return s
}

// inverse sets z to L⁻¹(x − c).
func (s *shape) inverse(z, x []float32) {
	d := len(x)
	for i, v := range x {
		sum, row := float64(v-s.center[i]), s.lower[i*d:(i+1)*d]
		for j, l := range row[:i] {
			sum -= l * float64(z[j])
		}
		z[i] = float32(sum / row[i])
	}
}

// A shaping is the state of chains that take steps in the shape of the generator's samples.
type shaping struct {
	shapes     []*shape  // of the modes
	plainEvery int       // one step in plainEvery is the kernel's own
	steps      int       // of each chain so far
	lookedAt   int       // value of steps at the last look whether chains have come to rest
	lastLogPi  []float64 // of each chain at that look
	stepSize   []float64 // length of each chain's steps L ε
	atRest     []bool    // whether each chain has come to rest
}

// Shape implements chains.VectorWalk.
func (w *walk) Shape(first uint64) {
	d := w.e.Dim
	n := min(shapeStates, shapeNumbers/d)
	if n < samplesPerDim*d {
		return
	}
	samples := w.e.NewStates(n)
	w.sampler.Draw(samples, nil, first)
	chainCount := w.states.Len()
	s := &shaping{
		plainEvery: plainEveryFewDim, lastLogPi: make([]float64, chainCount),
		stepSize: make([]float64, chainCount), atRest: make([]bool, chainCount),
	}
	if d >= chains.ManyCoordinates {
		s.plainEvery = plainEveryManyDim
	}
	for i := range s.stepSize {
		s.lastLogPi[i], s.stepSize[i] = math.Inf(-1), typicalStep/math.Sqrt(float64(d))
	}
	// A mode with few samples has the covariance of all samples about their modes' centres.
	var allDistances []float64
	centers := make([][]float64, max(1, w.e.Modes))
	for mode := range centers {
		center, distances := w.centred(samples, mode)
		s.shapes = append(s.shapes, newShape(center, distances))
		centers[mode], allDistances = center, append(allDistances, distances...)
	}
	for mode, shape := range s.shapes {
		if shape == nil {
			s.shapes[mode] = newShape(centers[mode], allDistances)
		}
		if s.shapes[mode] == nil {
			return
		}
	}
	w.shaping = s
}

// centred returns the mean of the samples of a mode, or the mode's place if there are none, and the
// samples' distances from it, [n][d].
func (w *walk) centred(samples States, mode int) (center, distances []float64) {
	d := samples.Dim
	for i := range samples.Len() {
		if samples.mode(i) == mode {
			distances = append(distances, number.Widen(samples.X[i*d:(i+1)*d])...)
		}
	}
	if len(distances) == 0 {
		center, _ = placeOf(w.e.target, mode)
		return center, nil
	}
	center = make([]float64, d)
	for i, v := range distances {
		center[i%d] += v * float64(d) / float64(len(distances))
	}
	for i := range distances {
		distances[i] -= center[i%d]
	}
	return center, distances
}

// advance takes a slice's steps: first the kernel's own, then steps in the modes' shapes.
func (w *walk) advance(stream *rng.Counter, steps int) {
	s := w.shaping
	plain := (steps + int(w.Calls)%s.plainEvery) / s.plainEvery // one in plainEvery over many slices, however short
	look := s.steps-s.lookedAt >= w.e.Dim
	if look {
		s.lookedAt = s.steps
	}
	s.steps += steps
	w.eachPiece(func(t *Tools, lo, hi int) {
		c := *stream
		if plain > 0 {
			t.mover.resume(w.logPi[lo:hi], w.states.Part(lo, hi), plain, &c, w.first+uint64(lo))
		}
		if plain == steps {
			return
		}
		for mode, shape := range s.shapes {
			var chains []int
			for i := lo; i < hi; i++ {
				if w.states.mode(i) == mode {
					chains = append(chains, i)
				}
			}
			if len(chains) > 0 {
				w.shapedSteps(t, shape, chains, steps-plain, look)
			}
		}
	})
}

// shapedSteps takes steps with some of a piece's chains, all in one mode. With look it first asks
// which of them have come to rest.
func (w *walk) shapedSteps(t *Tools, shape *shape, chains []int, steps int, look bool) {
	d, n, s := w.e.Dim, len(chains), w.shaping
	stream := rng.Stream(w.Seed, rng.ShapeTransition, w.Calls)
	current, next := w.e.NewStates(n), w.e.NewStates(n)
	z, nextZ, noise := make([]float32, n*d), make([]float32, n*d), make([]float32, d) // x = c + L z
	logPi, logNext, invariant := make([]float64, n), make([]float64, n), make([]bool, n)
	uniforms := make([]float32, 4*n)
	for r, i := range chains {
		current.Part(r, r+1).set(w.states.Part(i, i+1))
		shape.inverse(z[r*d:(r+1)*d], current.X[r*d:(r+1)*d])
		logPi[r] = w.logPi[i]
		if look {
			// Within d steps ln π rises on a chain's way to the target, and in half of the cases at rest.
			s.atRest[i] = s.atRest[i] || logPi[r] < s.lastLogPi[i]
			s.lastLogPi[i] = logPi[r]
		}
	}
	copy(next.K, current.K)
	for step := range steps {
		for r, i := range chains {
			at := uint64(step)<<rowShift | w.first + uint64(i)
			u := uniforms[4*r : 4*r+4]
			rng.Normals(noise, d, &stream, at)
			asm.Uniforms(u, &stream, upperHalf|at)
			keep, fresh := float32(1), float32(s.stepSize[i])
			if invariant[r] = s.atRest[i] && u[1] < 0.5; invariant[r] {
				beta := betas[int(8*u[1])]
				keep, fresh = float32(math.Sqrt(1-beta*beta)), float32(beta)
			}
			for j, v := range z[r*d : (r+1)*d] {
				nextZ[r*d+j] = keep*v + fresh*noise[j]
			}
		}
		asm.DenseForward(next.X, nextZ, shape.factor, shape.center, n, d, d, 1)
		t.mover.LogDensity(logNext, next)
		for r, i := range chains {
			ratio, a, b := logNext[r]-logPi[r], z[r*d:(r+1)*d], nextZ[r*d:(r+1)*d]
			if invariant[r] {
				ratio += (square(b) - square(a)) / 2
			}
			accepted := float64(uniforms[4*r]) < math.Exp(min(0, ratio)) // never for NaN
			if accepted {
				copy(a, b)
				copy(current.X[r*d:(r+1)*d], next.X[r*d:])
				logPi[r] = logNext[r]
			}
			if !s.atRest[i] {
				s.adapt(i, accepted, d)
			}
		}
	}
	for r, i := range chains {
		copy(w.states.X[i*d:(i+1)*d], current.X[r*d:])
		w.logPi[i] = logPi[r]
	}
}

// adapt makes a chain's steps in d coordinates longer if the last one was accepted, and shorter if not.
func (s *shaping) adapt(chain int, accepted bool, d int) {
	excess := -targetAcceptance
	if accepted {
		excess = 1 - targetAcceptance
	}
	s.stepSize[chain] = max(s.stepSize[chain]*math.Exp(adaptRate*excess), minStep*typicalStep/math.Sqrt(float64(d)))
}

func square(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}
