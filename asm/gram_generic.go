package asm

import "math"

// exp2Generic returns 2^t for t ≤ 0 with relative error at most 2e-7, and 0
// below the normal range. NaN propagates.
func exp2Generic(t float32) float32 {
	if t < -126 {
		return 0
	}
	const magic = 1.5 * (1 << 23) // rounds to an integer in float32
	n := float32(t-0.5+magic) - magic
	f := t - n
	p := exp2c5
	p = p*f + exp2c4
	p = p*f + exp2c3
	p = p*f + exp2c2
	p = p*f + exp2c1
	p = p*f + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// Minimax polynomial of 2^f on 0 ≤ f ≤ 1 with constant term 1; its relative
// error is 8.3e-8.
const (
	exp2c1 float32 = 0.6931513
	exp2c2 float32 = 0.24016444
	exp2c3 float32 = 0.055799913
	exp2c4 float32 = 0.00901703
	exp2c5 float32 = 0.0018671302
)

// valuesGeneric returns k(d²) and k′(d²).
func (k *Radial) valuesGeneric(d2 float32) (value, derivative float32) {
	var y float32
	for i := range k.steps {
		s := &k.steps[i]
		var z, dz float32
		switch s.kind {
		case stepExp:
			y = exp2Generic(s.c[0] * d2)
			z, dz = y, y
		case stepPower:
			for range s.count {
				y *= y
			}
			z, dz = y, y
		case stepRSqrt:
			r2 := 4 / (s.c[0] + d2)
			r := float32(math.Sqrt(float64(r2)))
			z = r
			if s.count%2 == 0 {
				z = r2
			}
			for range (s.count - 1) / 2 {
				z *= r2
			}
			dz = z * r2
		case stepPow:
			x := s.c[0] + d2
			z = float32(math.Pow(float64(x), float64(s.exponent[0])))
			dz = z / x
		case stepMatern:
			x := min(float32(math.Sqrt(float64(s.c[0]*d2))), 126)
			y := exp2Generic(-x)
			switch s.count {
			case 0:
				z, dz = y, y/max(x, 0x1p-20)
			case 1:
				z, dz = y+y*(x*math.Ln2), y
			case 2:
				dz = y + y*(x*math.Ln2)
				z = dz + y*(x*x*(math.Ln2*math.Ln2/3))
			}
		}
		value += s.weight[0] * z
		derivative += s.slope[0] * dz
	}
	return value, derivative
}

func radialValuesGeneric(k *Radial, value, derivative, d2 []float32) {
	for i, d := range d2 {
		value[i], derivative[i] = k.valuesGeneric(d)
	}
}

func gramTileGeneric(k *Radial, x *GramBatch, t GramRange, rows, cols []float32) float64 {
	var loss float64
	dim, nr, nc := x.Dim, t.Row1-t.Row0, t.Col1-t.Col0
	plane := func(c int) []float32 { return x.Planes[c*x.Stride:][:x.Stride] }
	for i := t.Row0; i < min(t.Row1, x.N); i++ {
		for j := max(t.Col0, i+1); j < min(t.Col1, x.N); j++ {
			var du2, minus2, plus2 float32
			for c := range dim {
				u, v := plane(c), plane(dim+c)
				du, minus, plus := u[i]-u[j], v[i]-v[j], v[i]+v[j]
				du2 += du * du
				minus2 += minus * minus
				plus2 += plus * plus
			}
			kxx, p := k.valuesGeneric(du2 + minus2)
			kxy, q := k.valuesGeneric(du2 + plus2)
			loss += float64(kxx - kxy)
			for c := range dim {
				v, w := plane(dim+c), plane(2*dim+c)
				e := (p - q) * (w[i] - w[j])
				rows[c*nr+i-t.Row0] += e - q*v[j]
				cols[c*nc+j-t.Col0] -= e + q*v[i]
			}
		}
	}
	return loss
}

func kernelSumsGeneric(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim, gradDim int) {
	for i := range rows {
		var sum float64
		for j := range cols {
			var d2 float32
			for c := range dim {
				d := x[c*xStride+i] - y[c*yStride+j]
				d2 += d * d
			}
			v, p := k.valuesGeneric(d2)
			sum += float64(v)
			for c := range gradDim {
				grad[c*gradStride+i] += p * (x[c*xStride+i] - y[c*yStride+j])
			}
		}
		value[i] += float32(sum)
	}
}
