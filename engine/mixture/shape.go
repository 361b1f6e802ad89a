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
	epsilon                  float64
	delta, inverse           float64 // δ, 1/δ
	sinhEpsilon, coshEpsilon float64
	scale                    float64 // δ cosh ε
}

// maxArgument bounds the argument of sinh, so that samples do not overflow.
const maxArgument = 300

// NewShape returns the map of ε and τ = ln δ.
func NewShape(epsilon, tau float64) Shape {
	return MakeShape(epsilon, math.Exp(epsilon), math.Exp(tau))
}

// MakeShape returns the map of ε, e^ε and δ.
func MakeShape(epsilon, up, delta float64) Shape {
	down := 1 / up
	s := Shape{epsilon: epsilon, delta: delta, inverse: 1 / delta, sinhEpsilon: (up - down) / 2, coshEpsilon: (up + down) / 2}
	s.scale = delta * s.coshEpsilon
	return s
}

// asinhRoot returns asinh x, with an absolute error of a rounding, and √(1 + x²).
func asinhRoot(x float64) (w, root float64) {
	root = math.Sqrt(1 + x*x)
	if x < 0 {
		return -math.Log(root - x), root
	}
	return math.Log(root + x), root
}

// sinhCosh returns sinh w and cosh w.
func sinhCosh(w float64) (sinh, cosh float64) {
	up := math.Exp(max(-maxArgument, min(w, maxArgument)))
	down := 1 / up
	return (up - down) / 2, (up + down) / 2
}

// Apply returns h(z) and its slope.
func (s *Shape) Apply(z float64) (y, slope float64) {
	w, root := asinhRoot(z)
	sinh, cosh := sinhCosh(s.delta*w + s.epsilon)
	return (sinh - s.sinhEpsilon) / s.scale, cosh / (root * s.coshEpsilon)
}

// Invert returns z = h⁻¹(y) and its slope.
func (s *Shape) Invert(y float64) (z, slope float64) {
	w, root := asinhRoot(s.scale*y + s.sinhEpsilon)
	z, slope = sinhCosh((w - s.epsilon) * s.inverse)
	return z, slope * s.coshEpsilon / root
}

// A Volume sums the logarithms of slopes. It multiplies the slopes, and takes a logarithm only before
// the product leaves the range of float64.
type Volume struct{ log, product float64 }

// NewVolume returns ln 1.
func NewVolume() Volume { return Volume{product: 1} }

// Times adds ln slope.
func (v *Volume) Times(slope float64) {
	if v.product *= slope; v.product > 1e150 || v.product < 1e-150 {
		v.collect()
	}
}

func (v *Volume) collect() { v.log, v.product = v.log+math.Log(v.product), 1 }

// Log returns the sum.
func (v *Volume) Log() float64 { return v.log + math.Log(v.product) }
