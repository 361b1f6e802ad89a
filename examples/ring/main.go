// Ring is a target of one's own in Go with every verb of the command line:
//
//	go run ./examples/ring train
//	go run ./examples/ring sample runs/ring-quick-seed1 -n 1e5 -o ring.npy
//
// The target is all that it says; presets find where its weight is.
package main

import (
	"math"

	"github.com/revgen/revgen/cmd"
	"github.com/revgen/revgen/target/density"
)

// ring is π(x) ∝ exp(−(|x| − radius)²/2width²) in the plane.
type ring struct{ radius, width float64 }

// Dim returns the number of coordinates of a state.
func (ring) Dim() int { return 2 }

// LogDensity sets dst[r] = ln π(x_r) + const for the rows of x, [len(dst)][2]. There
// are no modes. Calls are concurrent.
func (t ring) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		off := (math.Hypot(float64(x[2*r]), float64(x[2*r+1])) - t.radius) / t.width
		dst[r] = float32(-off * off / 2)
	}
}

func main() { cmd.Main(density.Reals("ring", "a ring in the plane", ring{2, 0.4})) }
