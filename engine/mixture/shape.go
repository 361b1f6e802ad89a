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

// asinh returns asinh x, up to an absolute error of rounding, and √(1 + x²).
func asinh(x float64) (w, root float64) {
	root = math.Sqrt(1 + x*x)
	if x < 0 {
		return -math.Log(root - x), root
	}
	return math.Log(root + x), root
}

// sinh returns sinh w and cosh w.
func sinh(w float64) (sinh, cosh float64) {
	up := math.Exp(max(-far, min(w, far)))
	down := 1 / up
	return (up - down) / 2, (up + down) / 2
}

// Apply returns h(z) and its slope.
func (s *Shape) Apply(z float64) (y, slope float64) {
	w, root := asinh(z)
	up, cosh := sinh(s.delta*w + s.epsilon)
	return (up - s.sinh) / s.steep, cosh / (root * s.cosh)
}

// Invert returns z = h⁻¹(y) and its slope.
func (s *Shape) Invert(y float64) (z, slope float64) {
	w, root := asinh(s.steep*y + s.sinh)
	z, slope = sinh((w - s.epsilon) * s.flat)
	return z, slope * s.cosh / root
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
