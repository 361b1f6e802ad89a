package hybrid

import "math"

// A density is the vectors.Target of the wells. It is a vectors.Precise one, because energies far from a
// well are so large that their differences need float64.
type density struct{ mu, logZ []float64 }

func newDensity(t *Target) *density {
	f := &density{}
	for _, w := range t.wells {
		f.mu, f.logZ = append(f.mu, w.mu), append(f.logZ, w.LogZ())
	}
	return f
}

// Dim returns 1.
func (f *density) Dim() int { return 1 }

// Modes returns M.
func (f *density) Modes() int { return len(f.mu) }

// LogDensity64 sets dst[r] = −(x_r² − μ_k)² − ln Z_k.
func (f *density) LogDensity64(dst []float64, x []float32, k []uint8) {
	for r, v := range x {
		e := float64(v)*float64(v) - f.mu[k[r]]
		dst[r] = -e*e - f.logZ[k[r]]
	}
}

// LogDensity is LogDensity64 in float32.
func (f *density) LogDensity(dst, x []float32, k []uint8) {
	for r, v := range x {
		e := float64(v)*float64(v) - f.mu[k[r]]
		dst[r] = float32(-e*e - f.logZ[k[r]])
	}
}

// Place returns 0 and √μ_k, the distance of a mode's minima from 0.
func (f *density) Place(k int) (center []float64, scale float64) {
	return []float64{0}, math.Sqrt(f.mu[k])
}
