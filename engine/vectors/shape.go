package vectors

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/number"
)

// Isotropic steps mix in d times as many as the largest variance has of the smallest: on a ridge
// or in many coordinates, in more than a diagnosis has. Steps L ε, with the covariance L Lᵀ of a
// generator's samples, need d alone, and steps that leave their Gaussian N as it is,
//
//	x′ = c + √(1−β²)(x − c) + β L ε,  accepted with min{1, π(x′) N(x) / π(x) N(x′)},
//
// few where π is near to it. But these pull towards the generator's samples, of which chains
// are to be evidence. A chain takes them only once it has come to rest without, where π
// alone has led it. From then on all its steps leave π as it is, and a mode that the
// generator lacks is as hard to leave as π/N is large there.

const (
	shapeStates  = 1 << 14 // samples whose shape is taken, fewer of many coordinates
	shapeNumbers = 1 << 23
	shapeLeast   = 4 // times d samples, of which a covariance is known well enough

	plainPart = 8    // one step in so many is the kernel's own, in many coordinates
	plainHalf = 2    // and in few, where it may be that which crosses
	typical   = 2.4  // /√d: steps ε in which a Gaussian mixes best
	adaptedTo = 0.25 // acceptance that steps ε are adapted to while a chain is on its way
	adapted   = 0.1  // rate of that
	leastStep = 0.01 // of the typical

	rowShift = 36 // a step's random numbers are rows step·2³⁶ + chain of the stream
)

// betas are those of steps that leave N as it is, half of a chain's at rest.
var betas = [4]float64{1, 0.5, 0.25, 0.125}

// A shape is the Gaussian N(c, L Lᵀ).
type shape struct {
	center, factor []float32 // c; Lᵀ, packed
	lower          []float64 // L, [d][d]
}

// newShape returns that of a centre c and of states' distances from it, [n][d], nil if they
// have none.
func newShape(center, about []float64) *shape {
	d := len(center)
	n := len(about) / d
	if n < shapeLeast*d {
		return nil
	}
	var covariance mat.SymDense
	covariance.SymOuterK(1/float64(n), mat.NewDense(n, d, about).T())
	var cholesky mat.Cholesky
	if !cholesky.Factorize(&covariance) {
		return nil
	}
	var l mat.TriDense
	cholesky.LTo(&l)
	s := &shape{make([]float32, d), make([]float32, asm.PackedLen(d, d)), make([]float64, d*d)}
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

// A shaping is what chains have that take such steps.
type shaping struct {
	shapes []*shape  // of the modes
	plain  int       // one step in so many is the kernel's own
	steps  int       // of each chain so far
	looked int       // how many they were when it was last asked whether chains rest
	last   []float64 // ln π then
	size   []float64 // of a chain's steps ε
	rests  []bool    // a chain has come to rest
}

// Shape implements chains.VectorWalk.
func (w *walk) Shape(first uint64) {
	d := w.e.Dim
	n := min(shapeStates, shapeNumbers/d)
	if n < shapeLeast*d {
		return
	}
	samples := w.e.NewStates(n)
	w.sampler.Draw(samples, nil, first)
	s := &shaping{plain: plainHalf, last: make([]float64, w.all.Len()), size: make([]float64, w.all.Len()), rests: make([]bool, w.all.Len())}
	if d >= chains.ManyCoordinates {
		s.plain = plainPart
	}
	for i := range s.size {
		s.last[i], s.size[i] = math.Inf(-1), typical/math.Sqrt(float64(d))
	}
	// Modes of few samples have the shape of all about their own modes' centres.
	var together []float64
	centers := make([][]float64, max(1, w.e.Modes))
	for mode := range centers {
		center, about := w.about(samples, mode)
		s.shapes = append(s.shapes, newShape(center, about))
		centers[mode], together = center, append(together, about...)
	}
	for mode, shape := range s.shapes {
		if shape == nil {
			s.shapes[mode] = newShape(centers[mode], together)
		}
		if s.shapes[mode] == nil {
			return
		}
	}
	w.shaped = s
}

// about returns the mean of the samples of a mode, its place if there are none, and their
// distances from it.
func (w *walk) about(samples States, mode int) (center, about []float64) {
	d := samples.Dim
	for i := range samples.Len() {
		if samples.mode(i) == mode {
			about = append(about, number.Widen(samples.X[i*d:(i+1)*d])...)
		}
	}
	if len(about) == 0 {
		center, _ = placeOf(w.e.target, mode)
		return center, nil
	}
	center = make([]float64, d)
	for i, v := range about {
		center[i%d] += v * float64(d) / float64(len(about))
	}
	for i := range about {
		about[i] -= center[i%d]
	}
	return center, about
}

// advance takes a slice's steps, those of the kernel first.
func (w *walk) advance(stream *rng.Counter, steps int) {
	s := w.shaped
	plain := (steps + int(w.Calls)%s.plain) / s.plain // in the long run, however few at once
	look := s.steps-s.looked >= w.e.Dim
	if look {
		s.looked = s.steps
	}
	s.steps += steps
	w.each(func(t *Tools, lo, hi int) {
		c, part := *stream, w.all.Part(lo, hi)
		if plain > 0 {
			t.mover.resume(w.logPi[lo:hi], part, plain, &c, w.first+uint64(lo))
		}
		if plain == steps {
			return
		}
		for mode, shape := range s.shapes {
			var chains []int
			for i := lo; i < hi; i++ {
				if w.all.mode(i) == mode {
					chains = append(chains, i)
				}
			}
			if len(chains) > 0 {
				w.step(t, shape, chains, steps-plain, look)
			}
		}
	})
}

// step takes steps with some chains, of up to a piece, of one mode.
func (w *walk) step(t *Tools, shape *shape, chains []int, steps int, look bool) {
	d, n, s := w.e.Dim, len(chains), w.shaped
	from := rng.Stream(w.Seed, rng.ShapeTransition, w.Calls)
	now, to := w.e.NewStates(n), w.e.NewStates(n)
	z, y, noise := make([]float32, n*d), make([]float32, n*d), make([]float32, d)
	density, next, wide := make([]float64, n), make([]float64, n), make([]bool, n)
	uniforms := make([]float32, 4*n)
	for r, i := range chains {
		now.Part(r, r+1).set(w.all.Part(i, i+1))
		shape.inverse(z[r*d:(r+1)*d], now.X[r*d:(r+1)*d])
		density[r] = w.logPi[i]
		if look {
			// ln π rises within d steps on a chain's way, and at rest in half of the cases.
			s.rests[i] = s.rests[i] || density[r] < s.last[i]
			s.last[i] = density[r]
		}
	}
	copy(to.K, now.K)
	for step := range steps {
		for r, i := range chains {
			at := uint64(step)<<rowShift | w.first + uint64(i)
			u := uniforms[4*r : 4*r+4]
			rng.Normals(noise, d, &from, at)
			asm.Uniforms(u, &from, upperHalf|at)
			keep, fresh := float32(1), float32(s.size[i])
			if wide[r] = s.rests[i] && u[1] < 0.5; wide[r] {
				beta := betas[int(8*u[1])]
				keep, fresh = float32(math.Sqrt(1-beta*beta)), float32(beta)
			}
			for j, v := range z[r*d : (r+1)*d] {
				y[r*d+j] = keep*v + fresh*noise[j]
			}
		}
		asm.DenseForward(to.X, y, shape.factor, shape.center, n, d, d, 1)
		t.mover.LogDensity(next, to)
		for r, i := range chains {
			ratio, a, b := next[r]-density[r], z[r*d:(r+1)*d], y[r*d:(r+1)*d]
			if wide[r] {
				ratio += (square(b) - square(a)) / 2
			}
			accepted := float64(uniforms[4*r]) < math.Exp(min(0, ratio)) // never for NaN
			if accepted {
				copy(a, b)
				copy(now.X[r*d:(r+1)*d], to.X[r*d:])
				density[r] = next[r]
			}
			if !s.rests[i] {
				s.adapt(i, accepted, d)
			}
		}
	}
	for r, i := range chains {
		copy(w.all.X[i*d:(i+1)*d], now.X[r*d:])
		w.logPi[i] = density[r]
	}
}

// adapt makes a chain's steps in d coordinates larger or smaller.
func (s *shaping) adapt(chain int, accepted bool, d int) {
	by := -adaptedTo
	if accepted {
		by = 1 - adaptedTo
	}
	s.size[chain] = max(s.size[chain]*math.Exp(adapted*by), leastStep*typical/math.Sqrt(float64(d)))
}

func square(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}
