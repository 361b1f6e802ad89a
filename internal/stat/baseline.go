package stat

// LeaveOneOut subtracts from each value of a batch the mean of the other values in its half. If
// their number is odd, the first half has one more. It is the baseline of the score function's
// weights: a sample must have no part in its own.
func LeaveOneOut(values []float32) {
	middle := (len(values) + 1) / 2
	for _, half := range [2][]float32{values[:middle], values[middle:]} {
		var sum float64
		for _, v := range half {
			sum += float64(v)
		}
		n := float64(len(half))
		for i, v := range half {
			half[i] = float32((float64(v) - sum/n) * n / max(1, n-1))
		}
	}
}
