package asm

// In all kernels the conversions keep the compiler from fusing products with sums.
func whitenGeneric(squares *Octet, y, x, mean, inverse []float64) {
	d := len(mean)
	octet := func(of []float64, i int) *Octet { return (*Octet)(of[i*GaussianRows:]) }
	for i, m := range mean {
		from, to := octet(x, i), octet(y, i)
		for r, v := range from {
			to[r] = v - m
		}
	}
	for i := d - 1; i >= 0; i-- { // the last first: what is left needs those before
		var sum Octet
		for c, f := range inverse[i*(i+1)/2:][:i+1] {
			for r, v := range octet(y, c) {
				sum[r] += float64(f * v)
			}
		}
		*octet(y, i) = sum
	}
	*squares = Octet{}
	for i := range d {
		for r, v := range octet(y, i) {
			squares[r] += float64(v * v)
		}
	}
}

func addMomentsGeneric(sums []float32, f *Octet, v, y []float64) {
	d := len(v) / GaussianRows
	triangle := sums[d:]
	for i := range d {
		var scaled, product Octet
		for r := range scaled {
			scaled[r] = float64(f[r] * v[i*GaussianRows+r])
		}
		sums[i] += float32(sumOfOctet(scaled))
		for c := range i + 1 {
			for r := range product {
				product[r] = float64(scaled[r] * y[c*GaussianRows+r])
			}
			triangle[c] += float32(sumOfOctet(product))
		}
		triangle = triangle[i+1:]
	}
}

func addSlopeGeneric(slope []float64, f *Octet, v, inverse []float64) {
	for i := range len(v) / GaussianRows {
		var scaled Octet
		for r := range scaled {
			scaled[r] = float64(f[r] * v[i*GaussianRows+r])
		}
		for c, of := range inverse[i*(i+1)/2:][:i+1] {
			to := (*Octet)(slope[c*GaussianRows:])
			for r, x := range scaled {
				to[r] -= float64(x * of)
			}
		}
	}
}

// sumOfOctet adds those four apart, then neighbours, then both halves.
func sumOfOctet(x Octet) float64 {
	return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]))
}
