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

// A tail is flat if the weight does not fall on the last doublings of the distance.
const (
	tailDoublings     = 20   // of the distance, beginning at the scales
	tailFlatDoublings = 10   // the last of them, over which the weight would have to fall
	tailMinFall       = 1e-3 // exponent of the distance: a weight that falls less does not fall
	tailMaxDip        = 5.0  // largest fall of ln weight on the way: a lower tail hardly matters
	tailRaysPerFlat   = 8    // chance and rounding make fewer than one flat ray of so many
)

// checkTails returns an error if π has no integral as far as can be seen. If π has one, it falls
// faster than 1/r^d on almost every ray through d coordinates, and faster than 1/r on almost
// every line along one coordinate. Proper heavy tails fall fast enough: Student's t of ν degrees
// of freedom falls like 1/r^(d+ν). checkTails looks at as many rays from the center of the weight
// as there are chains, and at lines along the coordinates from the chains' states. A target that
// fails so far out is no error.
func (w *pilotWalk) checkTails(weight location) error {
	d, chains := w.e.dim, len(w.logPi)
	start, step := make([]float64, len(w.x)), make([]float64, len(w.x))
	c := w.stream(rng.ChainStart, len(pilotReaches))
	rng.Normals(w.proposal, d, &c, 0)
	for i, v := range w.proposal {
		start[i], step[i] = weight.center[i%d], float64(v)*weight.scale[i%d]
	}
	if rows := w.flatTails(start, step, d); tailRaysPerFlat*len(rows) >= chains {
		return w.flatTailError(fmt.Sprintf("in %d of %d directions", len(rows), chains), start, step, rows[0], d)
	}
	start = number.Widen(w.x)
	for lo := 0; lo < d; lo += chains / 2 {
		clear(step)
		for r := range chains {
			if i := lo + r/2; i < d {
				step[r*d+i] = weight.scale[i] * float64(1-2*(r%2))
			}
		}
		for _, r := range w.flatTails(start, step, 1) {
			if i := lo + r/2; i < d {
				return w.flatTailError(fmt.Sprintf("along coordinate %d", i), start, step, r, 1)
			}
		}
	}
	return nil
}

// flatTails returns the rows whose lines start + 2^k·step have a flat tail: ln weight, which is
// ln π + power·ln r, does not fall on the last doublings.
func (w *pilotWalk) flatTails(start, step []float64, power int) (rows []int) {
	var weight [tailDoublings + 1][]float64
	for k := range weight {
		weight[k] = make([]float64, len(w.logPi))
		if !w.e.farLogDensity(weight[k], w.statesOnLines(start, step, k), w.k) {
			return nil
		}
	}
	for r := range w.logPi {
		peak, falls := math.Inf(-1), false
		for k := range weight {
			weight[k][r] += float64(power*k) * math.Ln2
			peak = max(peak, weight[k][r])
			falls = falls || !(weight[k][r] > peak-tailMaxDip)
		}
		fall := weight[tailDoublings-tailFlatDoublings][r] - weight[tailDoublings][r]
		if !falls && fall < tailMinFall*tailFlatDoublings*math.Ln2 {
			rows = append(rows, r)
		}
	}
	return rows
}

// statesOnLines returns the states start + 2^doublings·step, in the buffer of proposals.
func (w *pilotWalk) statesOnLines(start, step []float64, doublings int) []float32 {
	for i := range w.proposal {
		w.proposal[i] = float32(start[i] + math.Ldexp(step[i], doublings))
	}
	return w.proposal
}

// flatTailError returns the error about the line of row r, on which the tail is flat.
func (w *pilotWalk) flatTailError(where string, start, step []float64, r, power int) error {
	d := w.e.dim
	near, far := make([]float64, len(w.logPi)), make([]float64, len(w.logPi))
	w.e.farLogDensity(near, w.statesOnLines(start, step, tailDoublings-tailFlatDoublings), w.k)
	nearState := program.State(w.proposal[r*d:(r+1)*d], lists.Part(w.k, r, r+1))
	w.e.farLogDensity(far, w.statesOnLines(start, step, tailDoublings), w.k)
	return fmt.Errorf("%s: π cannot be normalised, as far as can be seen: %s its weight does not fall with the distance; ln π is %.6g at %s and %.6g at %s, %d times as far, where it would have to be %.6g less; bound the coordinates with target.support, or say where the weight is with target.center and target.scale",
		w.e.key, where, near[r], nearState, far[r], program.State(w.proposal[r*d:(r+1)*d], lists.Part(w.k, r, r+1)), 1<<tailFlatDoublings, float64(power*tailFlatDoublings)*math.Ln2)
}

// farLogDensity sets dst to ln π of the states y as logDensity does. So far from the weight NaN
// and +∞ do not count as failures of the target, and −∞ replaces them. It reports false if the
// target fails or has failed.
func (e *evaluation) farLogDensity(dst []float64, y []float32, k []uint8) bool {
	x := e.x[:len(y)]
	e.chart.toTarget(x, e.volume[:len(dst)], y, k)
	if e.Err() != nil || e.evaluateSource(dst, x, k) != nil {
		return false
	}
	for r := range dst {
		if dst[r] += e.volume[r]; !asm.AllFinite(x[r*e.dim:(r+1)*e.dim]) || !(dst[r] < math.Inf(1)) {
			dst[r] = math.Inf(-1)
		}
	}
	return true
}
