package stat

// LeaveOneOut subtracts from each value of a batch the mean of the others of its
// half, of which the first has one more if there is an odd number: what the score
// function's weights take as baseline, which a sample must not have a part in.
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
