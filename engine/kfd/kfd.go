package kfd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/conf"
)

// Config holds the parameters of the witness.
type Config struct {
	// Ridge is λ.
	Ridge float64 `json:"ridge"`
	// Memory is the decay of the average of E[δδᵀ], reached gradually over
	// the first steps.
	Memory float64 `json:"memory"`
	// Every is the number of steps for which a factorisation of the averaged
	// matrix is used.
	Every    int      `json:"every"`
	Features Features `json:"features"`
}

// Features describes random features of real vectors,
//
//	φ_k(x) = tanh(ω_k·x − |ω_k| b_k),   ω_k ~ e^{0.7 n_k} N(0, I)/Scale,   b_k ~ N(0, Range²),
//
// with n_k ~ N(0, 1): ridges of all directions and of widths about Scale, whose
// middles lie within about Range of the origin.
type Features struct {
	Number int     `json:"number"` // r
	Scale  float64 `json:"scale"`  // width of the ridges
	Range  float64 `json:"range"`  // standard deviation of their middles b
}

const (
	maxFeatures = 4096
	spread      = 0.7 // of the logarithms of the features' widths
)

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	return conf.First(
		conf.Positive("ridge", c.Ridge),
		conf.Decay("memory", c.Memory),
		conf.Between("every", c.Every, 1, math.MaxInt32),
		conf.Under("features", c.Features.validate()))
}

func (f *Features) validate() error {
	if err := conf.First(
		conf.Between("number", f.Number, 1, maxFeatures),
		conf.Positive("scale", f.Scale),
		conf.NotNegative("range", f.Range)); err != nil {
		return err
	}
	const steepest = 1e15 // leaves room for the widths' scatter and for sums
	if !(1/f.Scale <= steepest && f.Range/f.Scale <= steepest) {
		return fmt.Errorf("scale: %v with range %v makes the features too steep for single precision", f.Scale, f.Range)
	}
	return nil
}

// draw makes the features of real vectors of the given dimension: ω, [dim][r],
// and −|ω| b, [r].
func (f *Features) draw(dim int, seed uint64) (omega, offset []float32) {
	r := f.Number
	stream := rng.Stream(seed, rng.Features, 0)
	draws := make([]float32, r*(dim+2))
	rng.Normals(draws, dim+2, &stream, 0)
	omega, offset = make([]float32, dim*r), make([]float32, r)
	for k := range r {
		row := draws[k*(dim+2):][:dim+2]
		scale := math.Exp(spread*float64(row[dim])) / f.Scale
		var square float64
		for i, v := range row[:dim] {
			w := scale * float64(v)
			square += w * w
			omega[i*r+k] = float32(w)
		}
		offset[k] = float32(-math.Sqrt(square) * f.Range * float64(row[dim+1]))
	}
	return omega, offset
}
