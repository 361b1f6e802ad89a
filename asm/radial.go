package asm

import (
	"cmp"
	"math"
	"slices"
)

// A Gaussian is the function Weight·exp(−Exponent·d²) of a squared distance.
type Gaussian struct{ Exponent, Weight float64 }

// A Multiquadric is the inverse multiquadric Weight·(C2+d²)^(−Beta).
type Multiquadric struct{ C2, Beta, Weight float64 }

// A Matern is Weight times the Matérn function of a distance d with smoothness
// ν = Order + ½ and length ℓ. With a = √(2ν) d/ℓ that is
//
//	e^−a,   (1+a) e^−a   or   (1 + a + a²/3) e^−a
//
// for the orders 0, 1 and 2. Order 0 is the Laplacian kernel, whose derivative
// with respect to d² has a pole at 0, which is cut off at a = 2^−20/log₂e.
type Matern struct {
	Order          int
	Length, Weight float64
}

// A Radial is a kernel k(d²), a sum of Gaussians, inverse multiquadrics and Matérn
// functions, compiled to a list of steps that GramTile, KernelSums and RadialValues
// interpret. A step works on several vectors of distances at once, so that a list costs
// no more than code written for it.
//
// Gaussians whose exponents differ by a factor 2, 4, 8 or 16 form a ladder: only
// the widest is evaluated as an exponential, and the others are its powers by
// squaring. A ladder has at most four squarings, each of which doubles the relative
// error.
//
// With ε = 2^−22, a Gaussian has a relative error of at most ε(1 + a·d²) for
// the exponent a, sixteen times ε at most in a ladder; a multiquadric,
// ε(2 + 2β + β·|log₂(c²+d²)|). Gaussians below the smallest normal number are
// that number or zero, and multiquadrics stay constant beyond c²+d² = 1e38 or,
// beside a Gaussian, beyond a·d² = 2^79. A Matérn function has a relative error
// of at most ε(4 + a) and stays constant, below 1e-33 of its largest value,
// beyond a = 87. NaN propagates.
type Radial struct {
	steps []radialStep
}

// The kinds of steps. y is the value of the last Gaussian.
const (
	stepExp    = iota // y = 2^(c·d²), add
	stepPower         // y = y^(2^count), add
	stepRSqrt         // r = 2(c+d²)^(−½); add r^count, whose derivative is proportional to r^(count+2)
	stepPow           // z = (c+d²)^exponent; add z, whose derivative is proportional to z/(c+d²)
	stepMatern        // x = (c·d²)^½; add the Matérn function of order count of a = x ln 2
)

// stepLanes is the number of copies of each constant in a step, which fill an AVX2 register.
const stepLanes = 8

// A radialStep adds weight·z to the kernel's value and slope·z′ to its derivative, with z and
// z′ by its kind. The assembly depends on this layout.
type radialStep struct {
	kind, count uint32
	unit        uint32  // 1 if weight is 1
	limit       float32 // bound of squared distances, in the first step only
	_           [4]uint32
	c           [stepLanes]float32
	weight      [stepLanes]float32
	slope       [stepLanes]float32
	exponent    [stepLanes]float32
}

// maxDoublings bounds the squarings of a ladder, which double its relative error.
const maxDoublings = 4

// NewRadial compiles a kernel. Exponents, C2, Beta, lengths and weights must be
// positive and finite, orders 0, 1 or 2.
func NewRadial(gaussians []Gaussian, multiquadrics []Multiquadric, materns []Matern) *Radial {
	k := &Radial{}
	g := slices.Clone(gaussians)
	slices.SortStableFunc(g, func(a, b Gaussian) int { return cmp.Compare(a.Exponent, b.Exponent) })
	for compiled := make([]bool, len(g)); ; {
		first := slices.Index(compiled, false)
		if first < 0 {
			break
		}
		last, doublings := first, 0
		for i := first; i < len(g); i++ {
			if compiled[i] {
				continue
			}
			n, ok := 0, i == first
			if !ok {
				n, ok = powerOfTwo(g[i].Exponent / g[last].Exponent)
			}
			if !ok || doublings+n > maxDoublings {
				continue
			}
			compiled[i] = true
			s := radialStep{kind: stepPower, count: uint32(n)}
			if i == first {
				s = radialStep{kind: stepExp}
				s.c = splat(-g[i].Exponent * math.Log2E)
			}
			k.add(s, g[i].Weight, -g[i].Weight*g[i].Exponent)
			last, doublings = i, doublings+n
		}
	}
	for _, m := range multiquadrics {
		s := radialStep{c: splat(min(m.C2, maxSquaredDistance)), exponent: splat(-m.Beta)}
		if n := int(2 * m.Beta); float64(n) == 2*m.Beta && n <= maxRootPower {
			s.kind, s.count = stepRSqrt, uint32(n)
			k.add(s, math.Ldexp(m.Weight, -n), math.Ldexp(-m.Weight*m.Beta, -n-2))
			continue
		}
		s.kind = stepPow
		k.add(s, m.Weight, -m.Weight*m.Beta)
	}
	for _, m := range materns {
		square := float64(2*m.Order+1) / (m.Length * m.Length) // a²/d²
		s := radialStep{kind: stepMatern, count: uint32(m.Order), c: splat(square * math.Log2E * math.Log2E)}
		k.add(s, m.Weight, -m.Weight*square/2*[]float64{math.Log2E, 1, 1. / 3}[m.Order])
	}
	k.setLimit()
	return k
}

// maxSquaredDistance is the squared distance beyond which kernels stay constant.
const maxSquaredDistance = 1e38

// setLimit bounds the distances of AVX-512's exponentials, so that the factors of their tables'
// entries are finite.
func (k *Radial) setLimit() {
	limit := maxSquaredDistance
	for i := range k.steps {
		if s := &k.steps[i]; s.kind == stepExp {
			limit = min(limit, -0x1p80/float64(s.c[0]))
		}
	}
	if len(k.steps) > 0 {
		k.steps[0].limit = float32(limit)
	}
}

// maxRootPower bounds the powers of an inverse root that are computed by products.
const maxRootPower = 16

func (k *Radial) add(s radialStep, weight, slope float64) {
	s.weight, s.slope = splat(weight), splat(slope)
	if weight == 1 {
		s.unit = 1
	}
	k.steps = append(k.steps, s)
}

// powerOfTwo returns n if ratio is 2^n up to rounding and 0 ≤ n ≤ maxDoublings; otherwise ok is false.
func powerOfTwo(ratio float64) (n int, ok bool) {
	n = int(math.Round(math.Log2(ratio)))
	return n, n >= 0 && n <= maxDoublings && math.Abs(math.Ldexp(ratio, -n)-1) < 1e-12
}

func splat(x float64) (v [stepLanes]float32) {
	for i := range v {
		v[i] = float32(x)
	}
	return v
}
