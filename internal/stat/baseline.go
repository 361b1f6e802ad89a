package stat

// Middle returns where the second half of a batch of n samples begins: the first
// half has one more if n is odd. Whatever treats the halves of a batch apart, as
// cross-fitted witnesses do, cuts it here.
func Middle(n int) int { return (n + 1) / 2 }

// Half returns the half of a batch of n samples, 0 or 1, that sample i is in.
func Half(i, n int) int {
	if i < Middle(n) {
		return 0
	}
	return 1
}

// HalfSize returns the number of samples of a half, 0 or 1, of a batch of n.
func HalfSize(half, n int) int { return (n + 1 - half) / 2 }

// LeaveOneOut subtracts from each value of a batch the mean of the others of its
// half: what the score function's weights take as baseline, which a sample must
// not have a part in.
func LeaveOneOut(values []float32) {
	middle := Middle(len(values))
	leaveOneOut(values[:middle])
	leaveOneOut(values[middle:])
}

func leaveOneOut(values []float32) {
	var sum float64
	for _, v := range values {
		sum += float64(v)
	}
	n := float64(len(values))
	for i, v := range values {
		values[i] = float32((float64(v) - sum/n) * n / max(1, n-1))
	}
}
