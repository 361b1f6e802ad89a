package ising

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/crash"
)

// eachChain calls visit with the one-step matrix and the probabilities of the paper's two targets.
func (v *subject) eachChain(p bitspin.Proposal, visit func(m *TransitionMatrix, pi []float64)) {
	for _, beta := range []float64{0.2, 0.5} {
		t := crash.Must(NewTarget(3, 1, 0, beta))
		visit(crash.Must(v.matrix(t, p)), crash.Must(t.Probabilities()))
	}
}

// largestOver returns the check that a value is at most bound for each chain.
func largestOver(bound float64, detail string, value func(m *TransitionMatrix, pi []float64) float64) func(*subject, bitspin.Proposal) engine.Check {
	return func(v *subject, p bitspin.Proposal) engine.Check {
		var worst float64
		v.eachChain(p, func(m *TransitionMatrix, pi []float64) { worst = max(worst, math.Abs(value(m, pi))) })
		return engine.AtMost("", worst, bound, "%s β = 0.2 and 0.5", detail)
	}
}

// familywise is the false-alarm probability of the χ² test of one proposal.
const familywise = 1e-6

// checkMetropolis starts samples from every configuration and compares where the packed engine
// takes them with the rows of the matrix. The 512 rows of a setting are tested one by one, and
// their statistics' sum once; all p-values are corrected for the number of tests (Bonferroni).
// Forbidden transitions must not occur, and the engine must report as many acceptances as samples
// have moved.
func (v *subject) checkMetropolis(p bitspin.Proposal) engine.Check {
	settings := []struct {
		j, h, beta float64
		steps      int
	}{{1, 0, 0.2, 1}, {1, 0, 0.5, 1}, {-1, 0.25, 0.3, 1}, {1, 0, 0.2, 3}}
	minP := 1.0
	for i, set := range settings {
		t := crash.Must(NewTarget(3, set.j, set.h, set.beta))
		m := crash.Must(v.matrix(t, p))
		kernel := crash.Must(v.metropolis(t, p))
		m = m.Power(set.steps)
		rows := make([]rowTest, m.States)
		v.workers.Run(m.States, func(s int) {
			c := asm.Counter{Seed: 1, Step: uint32(i)}
			rows[s] = testRow(kernel, m.Row(s), s, v.samples, set.steps, &c)
		})
		var sum rowTest
		for _, r := range rows {
			sum.statistic += r.statistic
			sum.freedom += r.freedom
			minP = min(minP, r.pValue())
		}
		minP = min(minP, sum.pValue())
	}
	tests := float64(len(settings) * (512 + 1))
	return engine.AtLeast("", min(1, minP*tests), familywise,
		"smallest p-value of %g χ² tests, times their number: %d samples from each of 512 configurations, %d settings of J, h, β and m",
		tests, v.samples, len(settings))
}

// A rowTest is the χ² statistic of one row and its degrees of freedom.
type rowTest struct {
	statistic float64
	freedom   int
}

func (r rowTest) pValue() float64 {
	if r.freedom < 1 { // too few samples for a test
		return 1
	}
	return mathext.GammaIncRegComp(float64(r.freedom)/2, r.statistic/2)
}

// testRow compares where steps take samples from configuration s with the row of the matrix.
func testRow(k spins.Kernel, row []float64, s, samples, steps int, c *asm.Counter) rowTest {
	const batchSamples = 1 << 12
	counts := make([]int, len(row))
	from, batch := make([]uint64, batchSamples), make([]uint64, batchSamples)
	for i := range from {
		from[i] = uint64(s)
	}
	var st bitspin.Count
	for first := 0; first < samples; first += batchSamples {
		k.Run(nil, batch, from, 0, batchSamples, steps, c, uint64(s*samples+first), &st)
		for _, x := range batch {
			counts[x]++
		}
	}
	if st.Proposed != uint64(samples*steps) || steps == 1 && st.Accepted != uint64(samples-counts[s]) {
		return impossible
	}
	expected := make([]float64, len(row))
	for to, p := range row {
		expected[to] = p * float64(samples)
	}
	return chiSquare(counts, expected)
}

// impossible is the outcome where a count cannot occur by chance.
var impossible = rowTest{math.MaxFloat64, 1}

// chiSquare compares counts with their expectations. Cells with expectations below minExpected are
// pooled.
func chiSquare(counts []int, expected []float64) (r rowTest) {
	const minExpected = 10
	add := func(count, expected float64) {
		r.statistic += (count - expected) * (count - expected) / expected
		r.freedom++
	}
	var pooledCount, pooledExpected float64
	for i, e := range expected {
		switch {
		case e == 0 && counts[i] > 0:
			return impossible
		case e >= minExpected:
			add(float64(counts[i]), e)
		default:
			pooledCount += float64(counts[i])
			pooledExpected += e
		}
	}
	if pooledExpected >= minExpected {
		add(pooledCount, pooledExpected)
	}
	r.freedom--
	return r
}
