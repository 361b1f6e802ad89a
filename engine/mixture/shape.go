package mixture

import "math"

// A Shape is a monotone map of a coordinate, that of Jones and Pewsey's
// sinh-arcsinh laws, in units in which it leaves the origin and the slope there as
// they are:
//
//	h(z) = (sinh(δ asinh z + ε) − sinh ε) / (δ cosh ε).
//
// δ < 1 makes tails lighter, δ > 1 heavier, and ε leans to one side; ε = 0 and δ = 1
// change nothing. It and its inverse are smooth, and cost an exponential and a
// logarithm each.
type Shape struct {
	epsilon     float64
	delta, flat float64 // and 1/δ
	sinh, cosh  float64 // of ε
	steep       float64 // δ cosh ε
}

// far bounds the arguments of sinh: beyond, numbers of samples overflow.
const far = 300

// NewShape returns the map of ε and τ = ln δ.
func NewShape(epsilon, tau float64) Shape {
	return MakeShape(epsilon, math.Exp(epsilon), math.Exp(tau))
}

// MakeShape returns the map of ε, e^ε and δ.
func MakeShape(epsilon, up, delta float64) Shape {
	down := 1 / up
	s := Shape{epsilon: epsilon, delta: delta, flat: 1 / delta, sinh: (up - down) / 2, cosh: (up + down) / 2}
	s.steep = delta * s.cosh
	return s
}

// asinh returns asinh x, up to an absolute error of rounding, with its exponential, and
// root √(1 + x²).
func asinh(x float64) (at Bent, root float64) {
	root = math.Sqrt(1 + x*x)
	if x < 0 {
		e := root - x
		return Bent{W: -math.Log(e), E: 1 / e}, root
	}
	e := root + x
	return Bent{W: math.Log(e), E: e}, root
}

// sinh returns sinh w and cosh w, and e^w.
func sinh(w float64) (sinh, cosh, e float64) {
	if w > far {
		w = far
	} else if w < -far {
		w = -far
	}
	e = math.Exp(w)
	inverse := 1 / e
	return (e - inverse) / 2, (e + inverse) / 2, e
}

// Apply returns h(z) and its slope, and what Differentiate takes.
func (s *Shape) Apply(z float64) (y, slope float64, at Bent) {
	at, root := asinh(z)
	up, cosh, _ := sinh(s.delta*at.W + s.epsilon)
	return (up - s.sinh) / s.steep, cosh / (root * s.cosh), at
}

// Bent is a coordinate that has been inverted: W, of which z = sinh W, and E = e^W.
type Bent struct{ W, E float64 }

// Invert returns z = h⁻¹(y) and its slope, and what Differentiate takes.
func (s *Shape) Invert(y float64) (z, slope float64, at Bent) {
	a, root := asinh(s.steep*y + s.sinh)
	at.W = (a.W - s.epsilon) * s.flat
	z, slope, at.E = sinh(at.W)
	return z, slope * s.cosh / root, at
}

// Z returns z.
func (b Bent) Z() float64 { return (b.E - 1/b.E) / 2 }

// Differentiate returns the derivatives with respect to y, ε and τ of
// f(z) + c ln ∂z/∂y at z = h⁻¹(y), given f′(z) there.
func (s *Shape) Differentiate(y float64, at Bent, slope, c float64) (byY, byEpsilon, byTau float64) {
	x := s.steep*y + s.sinh
	inverse, e := 1/math.Sqrt(1+x*x), 1/at.E
	cosh := (at.E + e) / 2
	byW := slope*cosh + c*(at.E-e)/(2*cosh)
	byA := byW * s.flat
	byX := (byA - c*x*inverse) * inverse
	return byX * s.steep,
		byX*(y*s.delta*s.sinh+s.cosh) - byA + c*s.sinh/s.cosh,
		byX*s.steep*y - byW*at.W
}

// A Volume is ln of a product of slopes, of which few logarithms are taken.
type Volume struct{ log, product float64 }

// NewVolume returns ln 1.
func NewVolume() Volume { return Volume{product: 1} }

// Times adds ln slope.
func (v *Volume) Times(slope float64) {
	if v.product *= slope; v.product > 1e150 || v.product < 1e-150 {
		v.settle()
	}
}

func (v *Volume) settle() { v.log, v.product = v.log+math.Log(v.product), 1 }

// Log returns the sum.
func (v *Volume) Log() float64 { return v.log + math.Log(v.product) }
