package mmd

import (
	"fmt"
	"math"
)

// A Statistic says which pairs of samples the double sums run over.
type Statistic int

// The V-statistic of eq. (empirical_loss) sums over all i and j and divides by
// N². The U-statistic leaves out i = j in both sums and divides by N(N−1); it
// is unbiased, so the target is a fixed point at any batch size.
const (
	V Statistic = iota
	U
)

var statisticNames = [...]string{V: "V", U: "U"}

// String returns "V" or "U".
func (s Statistic) String() string { return statisticNames[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Statistic) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Statistic) UnmarshalText(text []byte) error {
	for v, name := range statisticNames {
		if name == string(text) {
			*s = Statistic(v)
			return nil
		}
	}
	return fmt.Errorf("unknown statistic %q; it is V or U", text)
}

// An IMQ is an inverse multiquadric, Weight·(C²+d²)^(−Beta).
type IMQ struct {
	C      float64 `json:"c"`
	Beta   float64 `json:"beta"`
	Weight float64 `json:"weight"`
}

// A Kernel is a sum of Gaussians exp(−d²/(2σ²)), one per bandwidth σ, and of
// inverse multiquadrics, as a function of the squared distance d² between two
// pairs of states. Both are characteristic, so the discrepancy vanishes only
// in detailed balance.
type Kernel struct {
	Bandwidths []float64 `json:"bandwidths"`
	Weights    []float64 `json:"weights,omitempty"` // of the Gaussians; nil means all 1
	IMQ        []IMQ     `json:"imq,omitempty"`
}

// Validate reports the first parameter that is not usable, by its name.
func (k *Kernel) Validate() error {
	if len(k.Bandwidths)+len(k.IMQ) == 0 {
		return fmt.Errorf("bandwidths: the kernel is empty; give at least one bandwidth or one imq")
	}
	for i, s := range k.Bandwidths {
		if !(s > 0) || math.IsInf(s, 0) {
			return fmt.Errorf("bandwidths[%d]: %v is not a positive finite number", i, s)
		}
	}
	if k.Weights != nil && len(k.Weights) != len(k.Bandwidths) {
		return fmt.Errorf("weights: %d values for %d bandwidths", len(k.Weights), len(k.Bandwidths))
	}
	for i, w := range k.Weights {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("weights[%d]: %v is not a positive finite number", i, w)
		}
	}
	for i, q := range k.IMQ {
		for _, p := range []struct {
			name  string
			value float64
		}{{"c", q.C}, {"beta", q.Beta}, {"weight", q.Weight}} {
			if !(p.value > 0) || math.IsInf(p.value, 0) {
				return fmt.Errorf("imq[%d].%s: %v is not a positive finite number", i, p.name, p.value)
			}
		}
	}
	return k.validateRange()
}

// validateRange reports the first term whose value or slope at the origin,
// where both are largest, is out of reach of single precision.
func (k *Kernel) validateRange() error {
	const most = 1e30 // leaves room for sums
	for i, s := range k.Bandwidths {
		if e := 1 / (2 * s * s); !(max(1, e)*max(1, k.weight(i)) < most) {
			return fmt.Errorf("bandwidths[%d]: %v with weight %v makes the kernel too steep for single precision", i, s, k.weight(i))
		}
	}
	for i, q := range k.IMQ {
		value := q.Weight * math.Pow(q.C, -2*q.Beta)
		if !(value < most && value*q.Beta/(q.C*q.C) < most) {
			return fmt.Errorf("imq[%d]: c = %v, beta = %v and weight = %v make the kernel too steep for single precision", i, q.C, q.Beta, q.Weight)
		}
	}
	return nil
}

func (k *Kernel) weight(i int) float64 {
	if k.Weights == nil {
		return 1
	}
	return k.Weights[i]
}

// Value returns k(d²).
func (k *Kernel) Value(d2 float64) float64 {
	var sum float64
	for i, s := range k.Bandwidths {
		sum += k.weight(i) * math.Exp(-d2/(2*s*s))
	}
	for _, q := range k.IMQ {
		sum += q.Weight * math.Pow(q.C*q.C+d2, -q.Beta)
	}
	return sum
}

// Derivative returns dk/d(d²).
func (k *Kernel) Derivative(d2 float64) float64 {
	var sum float64
	for i, s := range k.Bandwidths {
		sum -= k.weight(i) * math.Exp(-d2/(2*s*s)) / (2 * s * s)
	}
	for _, q := range k.IMQ {
		sum -= q.Weight * q.Beta * math.Pow(q.C*q.C+d2, -q.Beta-1)
	}
	return sum
}
