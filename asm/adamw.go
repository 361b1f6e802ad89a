package asm

import "math"

// AdamW holds what a step of the AdamW optimizer needs besides the arrays, in
// PyTorch's notation.
type AdamW struct {
	LearningRate float32
	Beta1        float32 // decay of the first moment
	Beta2        float32 // decay of the second moment
	Epsilon      float32
	WeightDecay  float32
	Correction1  float32 // 1 - Beta1^t at step t = 1, 2, ...
	Correction2  float32 // 1 - Beta2^t
	GradScale    float32 // factor on the gradient: the clipping
	EMADecay     float32 // decay of the moving average of the parameters
}

// AdamWStep updates the parameters p, their moments m and v and, unless ema
// is nil, their exponential moving average, from the gradient g, in one pass:
//
//	g = GradScale g
//	p = p - LearningRate WeightDecay p
//	m = Beta1 m + (1-Beta1) g
//	v = Beta2 v + (1-Beta2) g²
//	p = p - LearningRate/Correction1 · m / (sqrt(v)/sqrt(Correction2) + Epsilon)
//	ema = EMADecay ema + (1-EMADecay) p
//
// g is not written. All slices have the length of p. The arithmetic is
// float32, rounded after each operation, so that all paths give the same bits;
// each term of an update has a relative error of a few 2⁻²⁴. NaN and infinity
// propagate.
func AdamWStep(p, g, m, v, ema []float32, h *AdamW) {
	checkSame("AdamWStep", "g", len(g), len(p))
	checkSame("AdamWStep", "m", len(m), len(p))
	checkSame("AdamWStep", "v", len(v), len(p))
	if ema != nil {
		checkSame("AdamWStep", "ema", len(ema), len(p))
	}
	f := h.factors()
	for len(p) >= streamBlock {
		n := streamPart(len(p))
		numEMA := min(n, len(ema)) // n, or 0 without ema
		adamWStep(p[:n], g[:n], m[:n], v[:n], ema[:numEMA], &f)
		p, g, m, v, ema = p[n:], g[n:], m[n:], v[n:], ema[numEMA:]
	}
	adamWStepGeneric(p, g, m, v, ema, &f)
}

// The assembly takes whole blocks of streamBlock elements, and at most streamLimit elements
// a call, which bounds the time that the goroutine cannot be preempted. The generic kernels
// take the remaining elements, with the same bits.
const (
	streamBlock = 32
	streamLimit = 1 << 15
)

// streamPart returns how many of n elements a call of the assembly takes.
func streamPart(n int) int { return min(n, streamLimit) &^ (streamBlock - 1) }

// The elements of adamWFactors, which assembly reads by position.
const (
	gradScale   = iota
	decayFactor // 1 - learning rate · weight decay
	beta1
	oneMinusBeta1
	beta2
	oneMinusBeta2
	rootScale // 1/sqrt(Correction2)
	epsilon
	stepSize // learning rate / Correction1
	emaDecay
	oneMinusEMADecay
	numFactors
)

type adamWFactors = [numFactors]float32

func (h *AdamW) factors() adamWFactors {
	return adamWFactors{
		gradScale:        h.GradScale,
		decayFactor:      float32(1 - float64(h.LearningRate)*float64(h.WeightDecay)),
		beta1:            h.Beta1,
		oneMinusBeta1:    1 - h.Beta1,
		beta2:            h.Beta2,
		oneMinusBeta2:    1 - h.Beta2,
		rootScale:        float32(1 / math.Sqrt(float64(h.Correction2))),
		epsilon:          h.Epsilon,
		stepSize:         float32(float64(h.LearningRate) / float64(h.Correction1)),
		emaDecay:         h.EMADecay,
		oneMinusEMADecay: 1 - h.EMADecay,
	}
}

// SumSquares returns the sum of the squares of x in float64. A NaN or an
// infinity in x makes the result one, and nothing else does, so that the sum
// is a check for finite elements as well.
//
// The order is fixed and the same on all paths: element i goes to the partial
// sum i mod 32, and the partial sums are added pairwise. Squares of float32
// are exact in float64, so that all paths give the same bits.
func SumSquares(x []float32) float64 {
	var lanes squareLanes
	for len(x) >= len(lanes) {
		n := streamPart(len(x))
		sumSquares(&lanes, x[:n])
		x = x[n:]
	}
	for i, v := range x {
		lanes[i] += float64(v) * float64(v)
	}
	for half := len(lanes) / 2; half > 0; half /= 2 {
		for i := range half {
			lanes[i] += lanes[i+half]
		}
	}
	return lanes[0]
}

// squareLanes are the partial sums of SumSquares.
type squareLanes = [streamBlock]float64

// Accumulate adds src to dst: dst[i] += src[i]. The slices have one length.
func Accumulate(dst, src []float32) {
	checkSame("Accumulate", "src", len(src), len(dst))
	for len(dst) >= streamBlock {
		n := streamPart(len(dst))
		accumulate(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
	accumulateGeneric(dst, src)
}

// AllFinite reports whether x holds neither NaN nor infinity.
func AllFinite(x []float32) bool {
	for len(x) >= streamBlock {
		n := streamPart(len(x))
		if !allFinite(x[:n]) {
			return false
		}
		x = x[n:]
	}
	return allFiniteGeneric(x)
}

// The conversions keep the compiler from fusing products with sums.
func adamWStepGeneric(p, g, m, v, ema []float32, f *adamWFactors) {
	for i := range p {
		gi := float32(f[gradScale] * g[i])
		m[i] = float32(f[beta1]*m[i]) + float32(f[oneMinusBeta1]*gi)
		v[i] = float32(f[beta2]*v[i]) + float32(f[oneMinusBeta2]*float32(gi*gi))
		root := float32(math.Sqrt(float64(v[i])))
		move := m[i] / (float32(root*f[rootScale]) + f[epsilon])
		p[i] = float32(f[decayFactor]*p[i]) - float32(f[stepSize]*move)
		if ema != nil {
			ema[i] = float32(f[emaDecay]*ema[i]) + float32(f[oneMinusEMADecay]*p[i])
		}
	}
}

// sumSquaresGeneric adds to the partial sums. len(x) is a multiple of len(lanes).
func sumSquaresGeneric(lanes *squareLanes, x []float32) {
	for ; len(x) >= len(lanes); x = x[len(lanes):] {
		for i := range lanes {
			v := float64(x[i])
			lanes[i] += v * v
		}
	}
}

func accumulateGeneric(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}

func allFiniteGeneric(x []float32) bool {
	const exponent = 0xff << 23
	for _, v := range x {
		if math.Float32bits(v)&exponent == exponent {
			return false
		}
	}
	return true
}
