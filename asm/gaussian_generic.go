package asm

// The conversions keep the compiler from fusing products with sums.
func whitenGeneric(squares *Lane, y, x, mean, inverse []float64) {
	d := len(mean)
	lane := func(of []float64, i int) *Lane { return (*Lane)(of[i*GaussianRows:]) }
	for i, m := range mean {
		from, to := lane(x, i), lane(y, i)
		for r, v := range from {
			to[r] = v - m
		}
	}
	for i := d - 1; i >= 0; i-- { // the last first: what is left needs those before
		var sum Lane
		for c, f := range inverse[i*(i+1)/2:][:i+1] {
			for r, v := range lane(y, c) {
				sum[r] += float64(f * v)
			}
		}
		*lane(y, i) = sum
	}
	*squares = Lane{}
	for i := range d {
		for r, v := range lane(y, i) {
			squares[r] += float64(v * v)
		}
	}
}

func addMomentsGeneric(sums []float32, f *Lane, v, y []float64) {
	d := len(v) / GaussianRows
	triangle := sums[d:]
	for i := range d {
		var scaled, product Lane
		for r := range scaled {
			scaled[r] = f[r] * v[i*GaussianRows+r]
		}
		sums[i] += float32(sumOfLane(scaled))
		for c := range i + 1 {
			for r := range product {
				product[r] = scaled[r] * y[c*GaussianRows+r]
			}
			triangle[c] += float32(sumOfLane(product))
		}
		triangle = triangle[i+1:]
	}
}

// sumOfLane adds those four apart, then neighbours, then both halves.
func sumOfLane(x Lane) float64 {
	return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]))
}
