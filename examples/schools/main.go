// Schools is the posterior of docs/guide.md as a target in Go, with every verb of the
// command line:
//
//	go run ./examples/schools train --preset best -o schools
package main

import (
	"math"

	"github.com/revgen/revgen/cmd"
	"github.com/revgen/revgen/target/density"
)

// schools are what coaching seemed to do at eight schools, and its standard errors.
type schools struct{ effect, deviation [8]float64 }

// Dim returns the number of coordinates of a state: μ, ln τ and eight z.
func (schools) Dim() int { return 10 }

// LogDensity sets dst[r] = ln π of row r of x, [len(dst)][10]. Calls are concurrent.
func (s schools) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		row := x[10*r : 10*r+10]
		mu, logTau := float64(row[0]), float64(row[1])
		tau := math.Exp(logTau)
		sum := -mu*mu/50 - math.Log1p(tau*tau/25) + logTau
		for i, v := range row[2:] {
			z := float64(v)
			off := (s.effect[i] - mu - tau*z) / s.deviation[i]
			sum -= z*z/2 + off*off/2
		}
		dst[r] = float32(sum)
	}
}

func main() {
	cmd.Main(density.Reals("schools", "what coaching did at eight schools", schools{
		effect:    [8]float64{28, 8, -3, 7, -1, 1, 18, 12},
		deviation: [8]float64{15, 10, 16, 11, 9, 11, 10, 18},
	}))
}
