package density

import (
	"cmp"
	"context"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/target/density/expression"
)

// verify checks ln π of a target, and its coordinates, at states near its probability mass. The
// mathematics of the kits is checked with systems whose laws are known.
func verify(ctx context.Context, problemOf func(threads int) (*problem, error), workers *pool.Pool, emit func(engine.Check)) error {
	p, err := problemOf(workers.Threads())
	if err != nil {
		return err
	}
	defer p.Close()
	return cmp.Or(engine.RunChecks(ctx, emit, p.checkBatching, p.checkCoordinates, p.checkExpression), p.Err())
}

// VerifyModel implements engine.SelfChecker. It checks the target in the coordinates of the run's
// configuration.
func (s *system) VerifyModel(ctx context.Context, _ []float32, _ int, emit func(engine.Check)) error {
	return cmp.Or(engine.RunChecks(ctx, emit, s.checkBatching, s.checkCoordinates), s.Err())
}

// states returns n normal states in the coordinates of a generator, of each mode in turn.
func (p *problem) states(n int, purpose rng.Purpose, step uint32) (y []float32, k []uint8) {
	y = make([]float32, n*p.dim)
	c := rng.Stream(pilotSeed, purpose, step)
	rng.Normals(y, p.dim, &c, 0)
	for r := 0; p.modes > 0 && r < n; r++ {
		k = append(k, uint8(r%p.modes))
	}
	return y, k
}

// checkBatching: ln π of a state does not depend on the other states of a call.
func (p *problem) checkBatching(emit func(engine.Check)) {
	const n = 64
	e := p.evaluation()
	y, k := p.states(n, rng.Reference, 0)
	together, alone := make([]float64, n), make([]float64, 1)
	e.logDensity(together, y, k)
	mismatches := 0
	for r := range n {
		e.logDensity(alone, y[r*p.dim:(r+1)*p.dim], lists.Part(k, r, r+1))
		if math.Float64bits(alone[0]) != math.Float64bits(together[r]) {
			mismatches++
		}
	}
	emit(engine.AtMost("target.alone", float64(mismatches), 0,
		"number of the %d states whose ln π has other bits when evaluated alone; the samples would depend on how the work is divided", n))
}

// checkCoordinates: the map of each coordinate and its slope agree with a central
// difference and with its inverse.
func (p *problem) checkCoordinates(emit func(engine.Check)) {
	const h = 1.0 / (1 << 10) // exact in float32, as the y are
	slopeError, inverseError := 0.0, 0.0
	states := [...]float32{-1.5, -0.25, 0, 0.75, 2}
	y := make([]float32, p.dim)
	for n := range p.chart.maps {
		i, m := n%p.dim, &p.chart.maps[n]
		for first := range states {
			for j := range y {
				y[j] = states[(first+j)%len(states)]
			}
			yi := y[i]
			x, logSlope := m.toSupport(m.linear(y, i))
			inverseError = max(inverseError, math.Abs(m.invert(x, y)-float64(y[i])))
			var neighbours [2]float64
			for side := range neighbours {
				y[i] = yi + float32(h*float64(2*side-1))
				neighbours[side], _ = m.toSupport(m.linear(y, i))
			}
			want := (neighbours[1] - neighbours[0]) / (2 * h)
			slopeError = max(slopeError, math.Abs(math.Abs(want)/(m.scale*math.Exp(logSlope))-1))
		}
	}
	emit(engine.AtMost("target.volume", slopeError, 1e-4, "ln |∂x/∂y| of %d coordinates against central differences", len(p.chart.maps)))
	emit(engine.AtMost("target.inverse", inverseError, 1e-3, "largest difference of y(x(y)) from y"))
}

// checkExpression: the compiled expression returns the same bits as its specification.
func (p *problem) checkExpression(emit func(engine.Check)) {
	c := p.config
	if c.Kind != "expression" {
		return
	}
	compiled := crash.Must(expression.Compile(c.Expression, expression.Environment{Dim: c.Dim, Modes: p.modes, Parameters: c.Parameters}))
	const n = 256
	x, k := p.states(n, rng.Reference, 0)
	got := make([]float64, n)
	compiled.NewEvaluator().Evaluate(got, x, k)
	different := 0
	for r, v := range got {
		var mode uint8
		if k != nil {
			mode = k[r]
		}
		if math.Float64bits(compiled.Naive(x[r*p.dim:(r+1)*p.dim], mode)) != math.Float64bits(v) {
			different++
		}
	}
	emit(engine.AtMost("target.expression", float64(different), 0, "of %d states, those where the compiled expression has other bits than its specification", n))
}

var _ engine.SelfChecker = (*system)(nil)
