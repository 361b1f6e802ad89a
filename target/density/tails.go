package density

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/target/density/program"
)

// Limits from which on weight counts as endless.
const (
	tailDoublings = 20   // of the distance, from that of the scales on
	tailLast      = 10   // of them, over which the weight does not fall
	tailFall      = 1e-3 // of a power of the distance, that is no fall
	tailDip       = 5.0  // by which ln of the weight may have fallen before: else the tail hardly matters
	tailRays      = 8    // rays to one that does not fall: chance and rounding make fewer of these
)

// endless returns an error if π has no integral as far as can be seen. If it has, then on
// almost every ray through d coordinates it falls faster than 1/r^d, and on almost every
// line along one coordinate faster than 1/r. Heavy tails that are proper do: Student's t of
// ν degrees of freedom like 1/r^(d+ν). Looked at are as many rays as chains from where the weight
// is, and lines from where chains are; of a target that fails so far out nothing is said.
func (w *pilotWalk) endless(at place) error {
	d, chains := w.e.dim, len(w.current)
	start, step := make([]float64, len(w.x)), make([]float64, len(w.x))
	c := w.stream(rng.ChainStart, len(pilotReaches))
	rng.Normals(w.to, d, &c, 0)
	for i, v := range w.to {
		start[i], step[i] = at.center[i%d], float64(v)*at.scale[i%d]
	}
	if rows := w.unfallen(start, step, d); tailRays*len(rows) >= chains {
		return w.improper(fmt.Sprintf("in %d of %d directions", len(rows), chains), start, step, rows[0], d)
	}
	start = number.Widen(w.x)
	for lo := 0; lo < d; lo += chains / 2 {
		clear(step)
		for r := range chains {
			if i := lo + r/2; i < d {
				step[r*d+i] = at.scale[i] * float64(1-2*(r%2))
			}
		}
		for _, r := range w.unfallen(start, step, 1) {
			if i := lo + r/2; i < d {
				return w.improper(fmt.Sprintf("along coordinate %d", i), start, step, r, 1)
			}
		}
	}
	return nil
}

// unfallen returns the rows on whose lines start + 2^k·step the weight, ln π + power·ln r,
// does not fall at last.
func (w *pilotWalk) unfallen(start, step []float64, power int) (rows []int) {
	var weight [tailDoublings + 1][]float64
	for k := range weight {
		weight[k] = make([]float64, len(w.current))
		if !w.e.probe(weight[k], w.line(start, step, k), w.k) {
			return nil
		}
	}
	for r := range w.current {
		most, falls := math.Inf(-1), false
		for k := range weight {
			weight[k][r] += float64(power*k) * math.Ln2
			most = max(most, weight[k][r])
			falls = falls || !(weight[k][r] > most-tailDip)
		}
		fall := weight[tailDoublings-tailLast][r] - weight[tailDoublings][r]
		if !falls && fall < tailFall*tailLast*math.Ln2 {
			rows = append(rows, r)
		}
	}
	return rows
}

// line sets the states at a number of doublings on each line.
func (w *pilotWalk) line(start, step []float64, doublings int) []float32 {
	for i := range w.to {
		w.to[i] = float32(start[i] + math.Ldexp(step[i], doublings))
	}
	return w.to
}

// improper is the error of a line.
func (w *pilotWalk) improper(where string, start, step []float64, r, power int) error {
	d := w.e.dim
	near, far := make([]float64, len(w.current)), make([]float64, len(w.current))
	w.e.probe(near, w.line(start, step, tailDoublings-tailLast), w.k)
	first := program.State(w.to[r*d:(r+1)*d], lists.Part(w.k, r, r+1))
	w.e.probe(far, w.line(start, step, tailDoublings), w.k)
	return fmt.Errorf("%s: π cannot be normalised, as far as can be seen: %s its weight does not fall with the distance; ln π is %.6g at %s and %.6g at %s, %d times as far, where it would have to be %.6g less; bound the coordinates with target.support, or say where the weight is with target.center and target.scale",
		w.e.key, where, near[r], first, far[r], program.State(w.to[r*d:(r+1)*d], lists.Part(w.k, r, r+1)), 1<<tailLast, float64(power*tailLast)*math.Ln2)
}

// probe sets dst to ln π of the states y as logDensity does, but for failures of the
// target, which are none so far from its weight: −∞ stands for them. It reports false for
// a program that has failed.
func (e *evaluation) probe(dst []float64, y []float32, k []uint8) bool {
	x := e.x[:len(y)]
	e.chart.place(x, e.volume[:len(dst)], y, k)
	if e.Err() != nil || e.ask(dst, x, k) != nil {
		return false
	}
	for r := range dst {
		if dst[r] += e.volume[r]; !asm.AllFinite(x[r*e.dim:(r+1)*e.dim]) || !(dst[r] < math.Inf(1)) {
			dst[r] = math.Inf(-1)
		}
	}
	return true
}
