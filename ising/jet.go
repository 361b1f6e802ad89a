package ising

import "math"

// A jet is the value of a function of one variable with its first and second
// derivative.
type jet struct{ v, d, dd float64 }

func constant(v float64) jet { return jet{v: v} }

// apply returns f(a) for an f with the given value and derivatives at a.v.
func (a jet) apply(f, df, ddf float64) jet {
	return jet{f, df * a.d, df*a.dd + ddf*a.d*a.d}
}

func (a jet) add(b jet) jet       { return jet{a.v + b.v, a.d + b.d, a.dd + b.dd} }
func (a jet) sub(b jet) jet       { return jet{a.v - b.v, a.d - b.d, a.dd - b.dd} }
func (a jet) neg() jet            { return jet{-a.v, -a.d, -a.dd} }
func (a jet) scale(c float64) jet { return jet{c * a.v, c * a.d, c * a.dd} }
func (a jet) mul(b jet) jet {
	return jet{a.v * b.v, a.d*b.v + a.v*b.d, a.dd*b.v + 2*a.d*b.d + a.v*b.dd}
}
func (a jet) div(b jet) jet { return a.mul(b.apply(1/b.v, -1/(b.v*b.v), 2/(b.v*b.v*b.v))) }
func (a jet) log() jet      { return a.apply(math.Log(a.v), 1/a.v, -1/(a.v*a.v)) }
func (a jet) log1p() jet    { u := 1 + a.v; return a.apply(math.Log1p(a.v), 1/u, -1/(u*u)) }
func (a jet) exp() jet      { e := math.Exp(a.v); return a.apply(e, e, e) }
func (a jet) expm1() jet    { e := math.Exp(a.v); return a.apply(math.Expm1(a.v), e, e) }

func (a jet) sqrt() jet {
	r := math.Sqrt(a.v)
	return a.apply(r, 0.5/r, -0.25/(r*a.v))
}

// pow returns aⁿ for n ≥ 2.
func (a jet) pow(n int) jet {
	p := math.Pow(a.v, float64(n-2))
	m := float64(n)
	return a.apply(p*a.v*a.v, m*p*a.v, m*(m-1)*p)
}
