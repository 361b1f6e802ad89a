package mixture

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/notes"
)

// points returns so many random ones, [n][d], in units of 1, 2, … about 3, 6, ….
func points(r *rand.Rand, n, d int) (x []float32) {
	for range n {
		for i := range d {
			x = append(x, float32(i+1)*float32(3+r.NormFloat64()))
		}
	}
	return x
}

// symmetric returns L Lᵀ.
func symmetric(factor []float64, d int) *mat.SymDense {
	s := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			var v float64
			for k := range j + 1 {
				v += factor[row(i)+k] * factor[row(j)+k]
			}
			s.SetSym(i, j, v)
		}
	}
	return s
}

// gaussian returns a random one.
func gaussian(r *rand.Rand, d int, weight float64) Component {
	c := Component{Weight: weight}
	for i := range d {
		c.Mean = append(c.Mean, float64(3*(i+1))+r.NormFloat64())
		for range i {
			c.Factor = append(c.Factor, r.NormFloat64())
		}
		c.Factor = append(c.Factor, 1+r.Float64())
	}
	return c
}

// logOf is ln w N(x; μ, L Lᵀ).
func (c *Component) logOf(x []float32) float64 {
	d := len(c.Mean)
	var cholesky mat.Cholesky
	cholesky.Factorize(symmetric(c.Factor, d))
	off, solved := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	for i := range d {
		off.SetVec(i, float64(x[i])-c.Mean[i])
	}
	_ = cholesky.SolveVecTo(solved, off)
	return math.Log(c.Weight) - (mat.Dot(off, solved)+cholesky.LogDet()+float64(d)*math.Log(2*math.Pi))/2
}

// TestMaximise computes means, covariances that lean towards their diagonals, and weights by
// their definitions: of shares, of less than a point, and of none.
func TestMaximise(t *testing.T) {
	const n, d, k = 9, 2, 4
	r := rand.New(rand.NewPCG(1, 2))
	x := points(r, n, d)
	f := newFit(t.Context(), x, d, k)
	_, variance := Moments(x, d)
	require.Equal(t, variance, f.variance)
	for i := range n {
		own := []float64{r.Float64(), 0.05 * r.Float64(), 0, 0.999e-9}
		if i == 4 {
			own[2] = 1e-9 // enough to count
		}
		copy(f.shares[i*k:], own)
	}
	f.maximise()
	var total float64
	sizes := make([]float64, k)
	for j := range k - 1 {
		for i := range n {
			sizes[j] += f.shares[i*k+j]
		}
	}
	for _, v := range sizes {
		total += v + 1
	}
	for j, got := range f.components {
		require.InEpsilon(t, (sizes[j]+1)/total, got.Weight, 1e-12)
		mean := make([]float64, d)
		s := mat.NewSymDense(d, nil)
		if j < k-1 {
			for i := range n {
				for a := range mean {
					mean[a] += f.shares[i*k+j] * float64(x[i*d+a]) / sizes[j]
				}
			}
			for i := range n {
				for a := range d {
					for b := range a + 1 {
						s.SetSym(a, b, s.At(a, b)+f.shares[i*k+j]*(float64(x[i*d+a])-mean[a])*(float64(x[i*d+b])-mean[b]))
					}
				}
			}
		}
		for a := range d {
			s.SetSym(a, a, s.At(a, a)+d*max(s.At(a, a)/max(sizes[j], 1), 1e-6*variance[a])+1e-9*variance[a])
		}
		s.ScaleSym(1/(sizes[j]+d), s)
		require.InDeltaSlice(t, mean, got.Mean, 1e-9)
		require.True(t, mat.EqualApprox(s, symmetric(got.Factor, d), 1e-9*mat.Max(s)), "component %d", j)
	}
	// Constants have a variance too, and a covariance that is none has a factor.
	constant := newFit(t.Context(), []float32{3, 0, 3, 0}, 2, 1)
	require.InEpsilonSlice(t, []float64{9e-12, 1e-36}, constant.variance, 1e-9)
	flat := []float64{4, 8, 16}
	Factorise(flat, 2, minPart, minVariance)
	require.InEpsilonSlice(t, []float64{2, 4, 4e-6}, flat, 1e-12)
	nothing := []float64{0}
	Factorise(nothing, 1, minPart, minVariance)
	require.InEpsilon(t, 1e-150, nothing[0], 1e-12)
}

// TestSeed chooses points as k-means++ does, by the stream's numbers.
func TestSeed(t *testing.T) {
	const n, d, k = 12, 2, 5
	x := points(rand.New(rand.NewPCG(3, 4)), n, d)
	for first := range uint64(20) {
		f := newFit(t.Context(), x, d, k)
		for i := range f.shares {
			f.shares[i] = 7
		}
		c := rng.Stream(9, rng.Scouting, 3)
		f.seed(&c, first)
		uniforms := make([]float32, 4*k)
		asm.Uniforms(uniforms, &c, first)
		chosen := []int{int(float64(uniforms[0]) * n)}
		square := func(r, s int) (sum float64) {
			for i := range d {
				sum += math.Pow(float64(x[r*d+i]-x[s*d+i]), 2) / f.variance[i]
			}
			return sum
		}
		nearest := func(r int) (at int, least float64) {
			for j, s := range chosen {
				if v := square(r, s); j == 0 || v < least {
					at, least = j, v
				}
			}
			return at, least
		}
		for len(chosen) < k {
			var sum, below float64
			for r := range n {
				_, v := nearest(r)
				sum += v
			}
			u := float64(uniforms[4*len(chosen)]) * sum
			for r := range n {
				_, v := nearest(r)
				if below += v; u < below {
					chosen = append(chosen, r)
					break
				}
			}
		}
		for r := range n {
			want := make([]float64, k)
			at, _ := nearest(r)
			want[at] = 1
			require.Equal(t, want, f.shares[r*k:][:k], "seed %d, point %d", first, r)
		}
	}
}

// TestExpect: shares and the mean log-likelihood are those of the densities.
func TestExpect(t *testing.T) {
	const n, d, k = 70, 2, 3
	r := rand.New(rand.NewPCG(5, 6))
	f := newFit(t.Context(), points(r, n, d), d, k)
	for j := range f.components {
		f.components[j] = gaussian(r, d, float64(j+1)/6)
	}
	likelihood, likeliest := 0.0, make([]int, n)
	shares := make([]float64, n*k)
	for i := range n {
		var sum float64
		for j := range f.components {
			shares[i*k+j] = math.Exp(f.components[j].logOf(f.x[i*d:]))
			sum += shares[i*k+j]
		}
		for j := range f.components {
			if shares[i*k+j] /= sum; shares[i*k+j] > shares[i*k+likeliest[i]] {
				likeliest[i] = j
			}
		}
		likelihood += math.Log(sum) / n
	}
	require.InDelta(t, likelihood, f.expect(), 1e-10)
	require.InDeltaSlice(t, shares, f.shares, 1e-10)
	owner := make([]int, n)
	f.nearest(owner)
	require.Equal(t, likeliest, owner)
	copied := f.mixture()
	require.Equal(t, f.components, copied)
	copied[0].Mean[0], copied[0].Factor[0] = 99, 99
	require.NotContains(t, []float64{f.components[0].Mean[0], f.components[0].Factor[0]}, 99.0)
}

// TestFiguresOfPoints computes what a population shows by other ways.
func TestFiguresOfPoints(t *testing.T) {
	const n, d = 40, 3
	r := rand.New(rand.NewPCG(7, 8))
	found := &Found{X: points(r, n, d), LogPi: make([]float64, n)}
	mean, variance := Moments(found.X, d)
	excess := 0.0
	for i := range d {
		var m, m2, m4 float64
		column := lists.Column(found.X, i, d)
		require.Len(t, column, n)
		for k, v := range column {
			require.Equal(t, found.X[k*d+i], v)
			m += float64(v) / n
		}
		for _, v := range column {
			off := float64(v) - m
			m2, m4 = m2+off*off/n, m4+off*off*off*off/n
		}
		require.InDelta(t, m, mean[i], 1e-9)
		require.InDelta(t, m2, variance[i], 1e-9)
		excess += m4 / (m2 * m2) / d
	}
	require.InDelta(t, excess-3, found.excessKurtosis(d), 1e-9)

	// The least squares of a quadratic function, by another way.
	features := numCoefficients(d)
	require.Equal(t, []int{3, 6, 10}, []int{numCoefficients(1), numCoefficients(2), features})
	for k := range n {
		x := found.X[k*d:]
		found.LogPi[k] = 5 + math.Sin(float64(x[0])) + float64(x[1]*x[2])
	}
	found.LogPi[11], found.LogPi[20] = math.Inf(-1), math.Inf(1)
	design, values := mat.NewDense(n-2, features, nil), mat.NewVecDense(n-2, nil)
	at, centre := 0, 0.0
	for k := range n {
		if k == 11 || k == 20 {
			continue
		}
		x := found.X[k*d:]
		terms := []float64{1}
		for i := range d {
			terms = append(terms, float64(x[i]))
			for j := range i + 1 {
				terms = append(terms, float64(x[i]*x[j]))
			}
		}
		design.SetRow(at, terms)
		values.SetVec(at, found.LogPi[k])
		centre += found.LogPi[k] / (n - 2)
		at++
	}
	var solved, residual mat.VecDense
	require.NoError(t, solved.SolveVec(design, values))
	residual.MulVec(design, &solved)
	residual.SubVec(values, &residual)
	left, of := found.unexplained(d)
	require.InEpsilon(t, mat.Dot(&residual, &residual)/(n-2), left, 1e-4)
	var squares float64
	for k := range n - 2 {
		squares += math.Pow(values.AtVec(k)-centre, 2) / (n - 2)
	}
	require.InEpsilon(t, squares, of, 1e-9)
	for k, tells := range map[int]bool{2 * features: true, 2*features - 1: false} {
		few := &Found{X: points(r, k, d), LogPi: make([]float64, k)}
		left, of := few.unexplained(d)
		require.Equal(t, tells, !math.IsNaN(left) && !math.IsNaN(of))
	}

	// What is found but for some points, and in other units.
	found.Gaussians = []Component{gaussian(r, d, 0.5)}
	less := found.filter(d, func(r int) bool { return r != 0 && r != 7 && r != n-1 })
	require.Len(t, less.LogPi, n-3)
	require.Equal(t, slices.Concat(found.X[d:7*d], found.X[8*d:(n-1)*d]), less.X)
	require.Equal(t, slices.Concat(found.LogPi[1:7], found.LogPi[8:n-1]), less.LogPi)
	before := found.Gaussians[0].Mean[0]
	center, scale := []float32{1, 2, 4}, []float32{2, 4, 0.5}
	in := found.In(center, scale)
	units := mat.NewDiagDense(d, []float64{0.5, 0.25, 2})
	var covariance mat.Dense
	covariance.Product(units, symmetric(found.Gaussians[0].Factor, d), units)
	require.True(t, mat.EqualApprox(&covariance, symmetric(in.Gaussians[0].Factor, d), 1e-9))
	for i := range d {
		require.InDelta(t, (found.Gaussians[0].Mean[i]-float64(center[i]))/float64(scale[i]), in.Gaussians[0].Mean[i], 1e-12)
	}
	require.Equal(t, before, found.Gaussians[0].Mean[0])
	for i, v := range in.X {
		require.Equal(t, (found.X[i]-center[i%d])/scale[i%d], v)
	}
	// Without Gaussians there is a width.
	wide := math.Pow(variance[0]*variance[1]*variance[2], 1/6.)
	look := (&Found{X: found.X}).settledLook(d)
	require.InEpsilon(t, wide, look.Width, 1e-9)
	look.Width = 0
	require.Equal(t, Look{Components: 1}, look)
}

// TestFiguresOfGaussians computes those of components by matrices.
func TestFiguresOfGaussians(t *testing.T) {
	const d = 3
	r := rand.New(rand.NewPCG(9, 10))
	all := []Component{gaussian(r, d, 0.25), gaussian(r, d, 0.5)}
	var width float64
	for _, c := range all {
		s := symmetric(c.Factor, d)
		var inverse mat.Dense
		require.NoError(t, inverse.Inverse(s))
		freedom := 1.0
		for i := range d {
			freedom /= math.Sqrt(s.At(i, i) * inverse.At(i, i))
		}
		require.InEpsilon(t, math.Pow(freedom, 1./d), c.Freedom(), 1e-9)
		width += c.Weight * math.Log(mat.Det(s)) / 2 / d
	}
	require.InEpsilon(t, math.Exp(width), Width(all), 1e-9)

	f := newFit(t.Context(), points(r, 8, d), d, 3)
	f.components = append(slices.Clone(all), gaussian(r, d, 7))
	var pooled, one mat.SymDense
	pooled.ScaleSym(1./3, symmetric(all[0].Factor, d))
	one.ScaleSym(2./3, symmetric(all[1].Factor, d))
	pooled.AddSym(&pooled, &one)
	factor := f.pooledFactor(func(j int) bool { return j == 2 })
	require.True(t, mat.EqualApprox(&pooled, symmetric(factor, d), 1e-9))
	require.Nil(t, f.pooledFactor(func(int) bool { return true }))

	shape := all[0].shaped(factor, 2.5)
	var size float64
	for i := range d {
		size += symmetric(all[0].Factor, d).At(i, i) / pooled.At(i, i) / d * 2.5 / 1.5
	}
	for i, v := range shape {
		require.InEpsilon(t, factor[i]*math.Sqrt(size), v, 1e-9)
	}

	// Halves are half a deviation along the first axis to each side.
	parts := all[0].halves()
	for i, side := range []float64{-0.5, 0.5} {
		require.Equal(t, 0.125, parts[i].Weight)
		require.Equal(t, all[0].Factor, parts[i].Factor)
		for b := range d {
			require.InDelta(t, all[0].Mean[b]+side*all[0].Factor[row(b)], parts[i].Mean[b], 1e-12)
		}
	}
	weights := func(all []Component) (w []float64) {
		for _, c := range all {
			w = append(w, c.Weight)
		}
		return w
	}
	three := []Component{gaussian(r, d, 0.2), gaussian(r, d, 0.5), gaussian(r, d, 0.3)}
	require.Equal(t, []float64{0.2, 0.5, 0.3}, weights(resized(three, 3)))
	require.Equal(t, []float64{0.5, 0.3}, weights(resized(three, 2)))
	require.Equal(t, []float64{0.2, 0.25, 0.15, 0.25, 0.15}, weights(resized(three, 5)))
	require.Equal(t, []float64{0.2, 0.5, 0.3}, weights(three))
}

// TestPrune: a component is left out if ln(π/q) of all its points lies more than 5 below what
// it is of the middle one, and those of fewer points than span the space get the others' shape.
func TestPrune(t *testing.T) {
	const d = 2
	r := rand.New(rand.NewPCG(11, 12))
	for _, below := range []float64{4.99, 5.01} {
		var x []float32
		for i := range 24 {
			at := float32(0)
			if i >= 16 {
				at = 100
			}
			x = append(x, at+float32(r.NormFloat64()), at+float32(r.NormFloat64()))
		}
		x = append(x, -100, -100, -100.5, -100) // two points, fewer than span the plane
		n := len(x) / d
		f := newFit(t.Context(), x, d, 3)
		whole := Component{Factor: []float64{1, 0.5, 1}}
		two := Component{0.1, []float64{-100.25, -100}, []float64{0.2, 0.1, 0.3}}
		f.components = []Component{{0.6, []float64{0, 0}, whole.Factor}, {0.3, []float64{100, 100}, whole.Factor}, two}
		logPi := make([]float64, n)
		for i := range n {
			switch at := x[i*d:]; {
			case i < 16:
				logPi[i] = 7 + f.components[0].logOf(at)
			case i < 23:
				logPi[i] = 7 - 6 + f.components[1].logOf(at)
			case i < 24:
				logPi[i] = 7 - below + f.components[1].logOf(at)
			default:
				wide := Component{0.1, two.Mean, whole.Factor}
				logPi[i] = 7 + wide.logOf(at)
			}
		}
		crowd := f.prune(logPi)
		if below < 5 {
			require.Empty(t, crowd)
			require.Len(t, f.components, 3)
		} else {
			require.Equal(t, []int{16, 17, 18, 19, 20, 21, 22, 23}, crowd)
			require.Len(t, f.components, 2)
		}
		last := f.components[len(f.components)-1]
		require.InDeltaSlice(t, two.shaped(whole.Factor, 2), last.Factor, 1e-6)
		require.Len(t, f.shares, n*len(f.components))
	}
}

// TestDivergence: KL(q‖π) − ln Z of Gaussians is that of the formula, up to its samples'
// scatter.
func TestDivergence(t *testing.T) {
	c := rng.Stream(3, rng.Scouting, 1)
	const mean, s, d = 0.3, 0.8, 3
	standard := func(dst []float64, x []float32) {
		width := len(x) / len(dst)
		for r := range dst {
			dst[r] = 0
			for _, v := range x[r*width:][:width] {
				dst[r] -= float64(v) * float64(v) / 2
			}
		}
	}
	each := -math.Log(s) - 0.5 + (s*s+mean*mean)/2 - math.Log(2*math.Pi)/2
	one := []Component{{1, []float64{mean}, []float64{s}}}
	require.InDelta(t, each, New(1, 1, 1, false).divergence([][]Component{one}, standard, &c), 0.06)
	require.InDelta(t, d*each, NewProduct(d, 1, false).divergence([][]Component{one, one, one}, standard, &c), 0.1)
	require.True(t, math.IsNaN(NewProduct(d, 1, false).divergence([][]Component{one, one}, standard, &c)))
	joint := Component{1, []float64{mean, mean, mean}, []float64{s, 0, s, 0, 0, s}}
	require.InDelta(t, d*each, New(d, 1, 1, false).divergence([][]Component{{joint}}, standard, &c), 0.1)
}

// TestPlaceEach: a broad Gaussian of each coordinate has a weight of 0.02, and a fit the rest.
func TestPlaceEach(t *testing.T) {
	const n, d = 200, 2
	x := points(rand.New(rand.NewPCG(13, 14)), n, d)
	mean, variance := Moments(x, d)
	c := rng.Stream(3, rng.Scouting, 1)
	for _, components := range []int{1, 3} {
		all := PlaceEach(t.Context(), x, d, components, &c)
		require.Len(t, all, d)
		for i, own := range all {
			require.Len(t, own, components)
			require.InDelta(t, mean[i], own[0].Mean[0], 1e-6)
			require.InEpsilon(t, math.Sqrt(variance[i]), own[0].Factor[0], 1e-2)
			var sum float64
			for _, c := range own {
				sum += c.Weight
			}
			require.InDelta(t, 1, sum, 1e-12)
			require.InDelta(t, map[int]float64{1: 1, 3: 0.02}[components], own[0].Weight, 1e-12)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.Empty(t, PlaceEach(ended, x, d, 1, &c))
}

// TestNotesOfFits: what has been fitted or grown is not done again, but by another number of
// components, iterations or attempts.
func TestNotesOfFits(t *testing.T) {
	const n, d, k = 800, 3, 5
	x := points(rand.New(rand.NewPCG(15, 16)), n, d)
	logPi := make([]float64, n)
	for i := range logPi {
		logPi[i] = -math.Pow(float64(x[i*d]), 4)
	}
	dir := t.TempDir()
	place := func(ctx context.Context, components int) []Component {
		c := rng.Stream(3, rng.Scouting, 1)
		f := newFit(ctx, x, d, components)
		f.run(20, &c, 0)
		f.grow(logPi, 2*components, 0, &c, 1<<40)
		return f.mixture()
	}
	want := place(t.Context(), k)
	for range 2 {
		ctx := notes.With(t.Context(), notes.Open(dir))
		require.Equal(t, want, place(ctx, k))
	}
	require.Equal(t, place(t.Context(), k-1), place(notes.With(t.Context(), notes.Open(dir)), k-1))
}

// TestSettings has names and settings of mixtures, and limits on both sides.
func TestSettings(t *testing.T) {
	require.Equal(t, "a Gaussian", Name(1, "", false))
	require.Equal(t, "a mixture of 2 Gaussians of each mode, bent,", Name(2, " of each mode", true))
	require.Equal(t, []float64{0.4, 1, 2.4}, Lengths(2, 4))
	require.Equal(t, []float64{0.69, 1.7, 4.2}, Lengths(3, 3))
	s := ScoutConfig{Population: 64, Moves: 3}.Scout([]float64{1, 2}, 4, 9)
	require.Equal(t, Scout{Population: 64, Moves: 3, Seed: 9, Center: []float64{1, 2}, Scale: []float64{6, 6}}, s)
	require.Nil(t, ScoutConfig{}.Scout(nil, 4, 9).Scale)
	var to engine.Training
	to.EMA = 0.5
	Train(&to, 0.02, 700)
	require.Equal(t, optim.AdamW{LearningRate: 0.02, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}, to.Optimizer)
	require.Equal(t, optim.Schedule{Kind: "cosine", Final: 0.001, Warmup: 20}, to.Schedule)
	require.Equal(t, []any{700, 1024, 2.0, 0.0, 200, 10}, []any{to.Steps, to.Batch, to.ClipNorm, to.EMA, to.CheckpointEvery, to.LogEvery})

	for _, c := range []struct {
		population, moves int
		method            string
		decay             float64
		want              string
	}{
		{2, 1, "gradient", 0, ""}, {1 << 20, 1 << 16, "gradient", 0, ""},
		{1, 1, "gradient", 0, "population: 1 is not between 2 and 1048576"},
		{1<<20 + 1, 1, "gradient", 0, "population: 1048577 is not between 2 and 1048576"},
		{2, 0, "gradient", 0, "moves: 0 is not between 1 and 65536"},
		{2, 1<<16 + 1, "gradient", 0, "moves: 65537 is not between 1 and 65536"},
		{2, 1, "evolution", 0, "training.method: a mixture that has been placed is trained by the gradient; set it to gradient, or generator.kind to another"},
		{2, 1, "gradient", 1e-9, "training.optimizer.weight_decay: it would move a mixture away from where it has been placed; set it to 0, or generator.kind to another"},
	} {
		of := engine.Training{}
		of.Method, of.Optimizer.WeightDecay = c.method, c.decay
		err := conf.First(conf.Check(&ScoutConfig{Population: c.population, Moves: c.moves}), ValidateTraining(&of))
		require.Equal(t, c.want, map[bool]string{true: "", false: fmt.Sprint(err)}[err == nil])
	}
	// Two coordinates have no parts, and fewer than 24 points do not tell.
	coupled := func(dst []float64, x []float32) {
		d := len(x) / len(dst)
		for r := range dst {
			dst[r] = float64(x[r*d]*x[r*d+1]) - float64(x[r*d+1]*x[r*d+d-1])/2
		}
	}
	r := rand.New(rand.NewPCG(17, 18))
	for _, c := range []struct {
		n, d int
		part []int
	}{{24, 2, nil}, {24, 3, nil}, {24, 4, []int{1}}, {23, 4, nil}} {
		require.Equal(t, c.part, (&Found{X: points(r, c.n, c.d)}).Part(c.d, coupled), c)
	}
}

// TestSettledLook: one Gaussian of which ln π differs by less than 0.01 is one, components count from
// a weight of 1e-4 on, and several lie apart.
func TestSettledLook(t *testing.T) {
	const n, d = 400, 2
	r := rand.New(rand.NewPCG(19, 20))
	one := gaussian(r, d, 1)
	for deviation, want := range map[float64]bool{0.0099: true, 0.0101: false} {
		found := &Found{X: points(r, n, d), Gaussians: []Component{one}}
		for i := range n {
			found.LogPi = append(found.LogPi, 3+one.logOf(found.X[i*d:(i+1)*d])+deviation*float64(2*(i%2)-1))
		}
		look := found.settledLook(d)
		require.Equal(t, Look{Gaussian: want, Width: Width(found.Gaussians), Freedom: one.Freedom(), Components: 1}, look)
	}
	found := &Found{X: points(r, n, d), LogPi: make([]float64, n), Gaussians: []Component{gaussian(r, d, 0.6), gaussian(r, d, 0.3998), gaussian(r, d, 1e-4), gaussian(r, d, 1e-4)}}
	look := found.settledLook(d)
	require.Equal(t, []any{2, true, true, false}, []any{look.Components, look.Several, look.Apart, look.Gaussian})
	free := 0.0
	for _, c := range found.Gaussians {
		free += c.Weight * c.Freedom()
	}
	require.InDelta(t, free, look.Freedom, 1e-12)
}

// TestFarRows: no component answers for a state infinitely far away, which has no gradient.
func TestFarRows(t *testing.T) {
	for _, bent := range []bool{false, true} {
		m, params := scattered(New(1, 1, 2, bent), rand.New(rand.NewPCG(21, 22)))
		p, w := m.NewPacked(), m.NewWork(3)
		p.Set(params)
		dst, shares, grad, slope := make([]float64, 3), make([]float64, 6), make([]float32, len(params)), make([]float32, 3)
		x := []float32{float32(math.Inf(1)), 0.5, float32(math.Inf(-1))}
		p.LogDensity(dst, x, nil, w)
		w.shares(shares)
		require.Equal(t, []float64{math.Inf(-1), math.Inf(-1)}, []float64{dst[0], dst[2]})
		require.Equal(t, []float64{0, 0, 0, 0}, append(shares[:2:2], shares[4:]...))
		require.InDelta(t, 1, shares[2]+shares[3], 1e-12)
		p.Score(grad, slope, []float64{1, 0, 1}, w)
		require.Equal(t, make([]float32, len(params)), grad)
		require.Equal(t, []float32{0, 0}, []float32{slope[0], slope[2]})
	}
}

// TestFactorises: mixtures of each coordinate by itself are taken where they come nearer to the target than a joint one,
// than one Gaussian, and than one for each coordinate.
func TestFactorises(t *testing.T) {
	const n, d = 600, 3
	normal := func(v, at, deviation float64) float64 {
		off := (v - at) / deviation
		return math.Exp(-off*off/2) / deviation
	}
	r := rand.New(rand.NewPCG(23, 24))
	sign := func() float64 { return float64(2*r.IntN(2) - 1) }
	for name, c := range map[string]struct {
		draw  func(x []float64)
		logPi func(x []float64) float64
		want  bool
	}{
		"two modes of each": {func(x []float64) { // of which the population has lost all but two
			s := sign()
			for i := range x {
				x[i] = 5*s + r.NormFloat64()
			}
		}, func(x []float64) (v float64) {
			for _, u := range x {
				v += math.Log(normal(u, 5, 1) + normal(u, -5, 1))
			}
			return v
		}, true},
		"two modes of all": {func(x []float64) {
			s := sign()
			for i := range x {
				x[i] = 5*s + r.NormFloat64()
			}
		}, func(x []float64) float64 {
			a, b := 1.0, 1.0
			for _, u := range x {
				a, b = a*normal(u, 5, 1), b*normal(u, -5, 1)
			}
			return math.Log(a + b)
		}, false},
		"a Gaussian of each": {func(x []float64) {
			for i := range x {
				x[i] = r.NormFloat64()
			}
		}, func(x []float64) float64 { return -(x[0]*x[0] + x[1]*x[1] + x[2]*x[2]) / 2 }, false},
		"a Gaussian of all": {func(x []float64) {
			x[0] = r.NormFloat64()
			x[1], x[2] = x[0]+0.1*r.NormFloat64(), x[0]+0.1*r.NormFloat64()
		}, func(x []float64) float64 {
			return -x[0]*x[0]/2 - (x[1]-x[0])*(x[1]-x[0])/0.02 - (x[2]-x[0])*(x[2]-x[0])/0.02
		}, false},
	} {
		found, x := &Found{}, make([]float64, d)
		for range n {
			c.draw(x)
			for _, v := range x {
				found.X = append(found.X, float32(v))
			}
		}
		density := func(dst []float64, rows []float32) {
			for k := range dst {
				for i := range x {
					x[i] = float64(rows[k*d+i])
				}
				dst[k] = c.logPi(x)
			}
		}
		stream := rng.Stream(3, rng.Scouting, 1)
		require.Equal(t, c.want, found.Factorises(t.Context(), d, density, &stream), name)
		ended, end := context.WithCancel(t.Context())
		end()
		require.False(t, found.Factorises(ended, d, density, &stream), name)
	}
}

// TestHeldOut: one half of a population tells how likely the other is, and how sure shares are.
func TestHeldOut(t *testing.T) {
	const n, d = 200, 2
	r := rand.New(rand.NewPCG(25, 26))
	found := &Found{X: points(r, n+1, d)} // of an odd number the second half has one more
	for i := range n + 1 {
		if i%2 == 1 {
			found.X[i*d] += 30
		}
	}
	stream := rng.Stream(3, rng.Scouting, 1)
	for _, components := range []int{1, 2, 3} {
		all, _ := Fit(t.Context(), found.X[:n/2*d], d, components, 20, 1, &stream)
		want, sure := 0.0, 0.0
		for i := n / 2; i <= n; i++ {
			var sum, most float64
			for j := range all {
				p := math.Exp(all[j].logOf(found.X[i*d:]))
				sum, most = sum+p, max(most, p)
			}
			want, sure = want+math.Log(sum)/(n/2+1), sure+most/sum/(n/2+1)
		}
		likelihood, share := found.heldOut(t.Context(), d, components, 20, &stream)
		require.InDelta(t, want, likelihood, 1e-9)
		require.InDelta(t, sure, share, 1e-9)
	}
}

// TestFitsThatEnd: with its context, a fit that is tried several times is what the first attempt begins as.
func TestFitsThatEnd(t *testing.T) {
	x := points(rand.New(rand.NewPCG(27, 28)), 60, 2)
	ended, end := context.WithCancel(t.Context())
	end()
	c := rng.Stream(3, rng.Scouting, 1)
	once, likelihood := Fit(ended, x, 2, 4, 50, 1, &c)
	again, same := Fit(ended, x, 2, 4, 50, 9, &c)
	require.Len(t, once, 4)
	require.Equal(t, once, again)
	require.Equal(t, likelihood, same)
	_, best := Fit(t.Context(), x, 2, 4, 50, 9, &c)
	require.Greater(t, best, likelihood)
}

// TestPlaceLeavesCrowdsOut: points that are far more than π has there get no component, however many are placed, and
// where all components are of fewer points than span the space none is known to be crowded.
func TestPlaceLeavesCrowdsOut(t *testing.T) {
	const d = 2
	r := rand.New(rand.NewPCG(29, 30))
	found := &Found{}
	add := func(n int, at, logPi float64) {
		for range n {
			a, b := r.NormFloat64(), r.NormFloat64()
			found.X = append(found.X, float32(at+a), float32(b))
			found.LogPi = append(found.LogPi, logPi-(a*a+b*b)/2)
		}
	}
	add(300, 0, 0)
	add(60, 40, -30)
	for _, components := range []int{3, 20} { // tried several times, and once
		c := rng.Stream(3, rng.Scouting, 1)
		all := found.Place(t.Context(), d, components, &c)
		require.Len(t, all, components)
		for _, one := range all {
			require.Less(t, math.Abs(one.Mean[0]), 20.0, components)
		}
	}
	for i := range 60 {
		found.LogPi[300+i] += 30
	}
	c := rng.Stream(3, rng.Scouting, 1)
	all := found.Place(t.Context(), d, 3, &c)
	require.True(t, slices.ContainsFunc(all, func(one Component) bool { return one.Mean[0] > 20 }))

	f := newFit(t.Context(), []float32{0, 0, 5, 5, -5, 5}, d, 3)
	f.run(3, &c, 0)
	before := f.mixture()
	require.Nil(t, f.prune([]float64{0, -99, -99}))
	require.Equal(t, before, f.mixture())
}

// TestLookOfManyCoordinates: a population's width is that of eight Gaussians in up to 16 coordinates, and of one in more.
func TestLookOfManyCoordinates(t *testing.T) {
	for d, few := range map[int]int{16: 8, 17: 1} {
		const n = 200
		found := &Found{X: points(rand.New(rand.NewPCG(31, 32)), n, d), LogPi: make([]float64, n)}
		for i := range n {
			found.LogPi[i] = -math.Pow(float64(found.X[i*d]), 4)
		}
		c := rng.Stream(3, rng.Scouting, 1)
		all, _ := Fit(t.Context(), found.X, d, few, 30, 1, &c)
		look := found.Look(t.Context(), d, &c)
		require.Equal(t, Width(all), look.Width, d)
		require.Equal(t, found.excessKurtosis(d), look.Excess)
		require.Equal(t, Many, look.Components, "too few points to tell")
	}
}

// TestAttemptsOfPlacing: up to twelve components are the best of six fits, and more are those of the first.
func TestAttemptsOfPlacing(t *testing.T) {
	const n = 130
	for _, seed := range []uint64{1, 20} { // of which five attempts, or seven, and 101 iterations fit otherwise
		r := rand.New(rand.NewPCG(33, seed))
		found := &Found{LogPi: make([]float64, n)}
		for i := range n {
			found.X = append(found.X, float32(4*(i%5))+float32(r.NormFloat64()))
		}
		for components, tries := range map[int]int{12: 6, 13: 1} {
			c := rng.Stream(seed, rng.Scouting, 1)
			want, _ := Fit(t.Context(), found.X, 1, components, 100, tries, &c)
			f := newFit(t.Context(), found.X, 1, components)
			f.components = want
			require.Empty(t, f.prune(found.LogPi))
			require.Equal(t, f.mixture(), found.Place(t.Context(), 1, components, &c))
		}
	}
}

// TestLooksAtModes: modes are several where eight Gaussians make a point of the other half likelier than one does by more
// than a tenth, and apart where points are nine tenths sure of theirs.
func TestLooksAtModes(t *testing.T) {
	const n = 400
	seen := map[[2]bool]bool{}
	for _, distance := range []float64{0, 1, 2, 6, 12} {
		r := rand.New(rand.NewPCG(35, uint64(distance)))
		found := &Found{}
		for range n {
			at := distance * float64(r.IntN(8))
			u := at + r.NormFloat64()
			found.X, found.LogPi = append(found.X, float32(u)), append(found.LogPi, -math.Abs(u-at))
		}
		c := rng.Stream(3, rng.Scouting, 1)
		one, _ := found.heldOut(t.Context(), 1, 1, 1, &c)
		many, share := found.heldOut(t.Context(), 1, 8, 30, &c)
		look := found.Look(t.Context(), 1, &c)
		require.Equal(t, many-one > 0.1, look.Several, distance)
		require.Equal(t, many-one > 0.1 && share > 0.9, look.Apart, "%v: %v", distance, share)
		seen[[2]bool{look.Several, look.Apart}] = true
		left, of := found.unexplained(1)
		require.Equal(t, left > of/2, look.Curved)
	}
	require.Len(t, seen, 3, "neither, several and apart")
}
