package asm

// The elementwise functions set dst[i] = f(x[i]). The slices have one length;
// dst may be x itself but not overlap it otherwise. Each function's error is
// against the exact value, in units in the last place of the float32 result,
// over all float32 arguments. Where a result is below the normal range, the
// vector paths may return zero.

// Exp sets dst[i] = e^x[i], within 1.1 ulp. It is infinite above 88.73 and
// zero below −87.33 on the paths that flush.
func Exp(dst, x []float32) {
	check(len(dst) == len(x), "Exp")
	exp(dst, x)
}

// Log sets dst[i] = ln x[i], within 1.5 ulp: −Inf at zero, NaN below it.
func Log(dst, x []float32) {
	check(len(dst) == len(x), "Log")
	log(dst, x)
}

// RSqrt sets dst[i] = 1/√x[i], within 1.5 ulp: +Inf at zero, NaN below it.
func RSqrt(dst, x []float32) {
	check(len(dst) == len(x), "RSqrt")
	rsqrt(dst, x)
}

// Tanh sets dst[i] = tanh x[i], within 2.5 ulp.
func Tanh(dst, x []float32) {
	check(len(dst) == len(x), "Tanh")
	tanh(dst, x)
}

// Sigmoid sets dst[i] = 1/(1+e^−x[i]), within 2.5 ulp.
func Sigmoid(dst, x []float32) {
	check(len(dst) == len(x), "Sigmoid")
	sigmoid(dst, x)
}

// LogSumExp sets dst[r] = ln Σ_c e^x[r·cols+c] for each of len(dst) rows,
// with absolute error at most 3e-7·(1 + |dst[r]|). An empty row gives −Inf.
func LogSumExp(dst, x []float32, cols int) {
	check(len(x) == len(dst)*cols, "LogSumExp")
	logSumExp(dst, x, cols)
}
