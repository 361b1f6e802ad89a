package mixture

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// asked runs a scout on one thread and returns how often so many rows were asked for at once, and the
// last row of the first question of a size.
func asked(t *testing.T, s Scout, d, size int, logPi func(x []float32) float64) (calls map[int]int, rows int, first []float32, found *Found) {
	t.Helper()
	calls = make(map[int]int)
	workers := pool.New(1)
	defer workers.Close()
	found, err := s.Run(t.Context(), d, func() Density {
		return func(dst []float64, x []float32) {
			if calls[len(dst)]++; len(dst) == size && first == nil {
				first = append(first, x[(size-1)*d:]...)
			}
			rows += len(dst)
			for r := range dst {
				dst[r] = logPi(x[r*d : (r+1)*d])
			}
		}
	}, workers)
	require.NoError(t, err)
	return calls, rows, first, found
}

// TestWorkOfScouts: what each part of a scout asks of a target.
func TestWorkOfScouts(t *testing.T) {
	const d, n = 3, 48
	one := func(x []float32) float64 { return round{2, 1, 0}.logDensity(x) }
	s := Scout{Population: n, Moves: 5, Seed: 5, Center: make([]float64, d), Scale: []float64{1.5, 1.5, 1.5}}
	_, near, _, _ := asked(t, s, d, 0, one)
	temperatures := near/n - 1 - 4*5 // where moves are fewer than at the last
	require.Zero(t, near%n)
	require.Zero(t, temperatures%5)
	s.Far = true
	calls, rows, _, _ := asked(t, s, d, 0, one)
	require.Equal(t, near+128*(1+200+20*d), rows)
	require.Equal(t, 2*(1+200+20*d), calls[64])
	s.Far, s.Sweeps = false, 2
	_, rows, _, _ = asked(t, s, d, 0, one)
	require.Equal(t, near+2*d*n, rows)
	unknown := Scout{Population: n, Moves: 5, Seed: 5}
	_, rows, _, _ = asked(t, unknown, d, 0, one)
	require.Zero(t, (rows-n*(1+200+20*d)-n*(1+4*5))%(5*n))

	// A Gaussian with deviations of its own settles: 8 times 2, 2, 4, 8 and 16 draws tell slopes, as
	// many pairs of all coordinates couplings, and no other walker is apart from it.
	const many = 5
	deviation := func(i int) float64 { return math.Exp2(float64(i - 2)) }
	calls, _, x, found := asked(t, Scout{Population: n, Moves: 5, Seed: 5, Settle: true, Center: make([]float64, many), Scale: []float64{1, 1, 1, 1, 1}}, many, 2*many+1, func(x []float32) (v float64) {
		for i, u := range x {
			v -= float64(u*u) / (2 * deviation(i) * deviation(i))
		}
		return v
	})
	require.Len(t, found.Gaussians, 1)
	step, measured := make([]float64, many), 0
	for i, v := range x {
		step[i] = 1e-3 * (1 + math.Abs(float64(v)))
	}
	for known := 0; known < many; measured++ {
		known = 0
		for i, a := range step {
			switch fall := a * a / (2 * deviation(i) * deviation(i)); {
			case fall > 2:
				step[i] *= 0.6
			case fall < 0.1:
				step[i] *= 1.9
			default:
				known++
			}
		}
	}
	require.Equal(t, measured+8*32, calls[2*many+1])
	require.Equal(t, 32, calls[many*(many-1)/2])
	require.Equal(t, n-1, calls[17])
	require.Equal(t, 1+200+10*many+1, calls[n])
	require.Zero(t, calls[64]%8)
	require.Len(t, calls, 5)
}

// TestWalkersAdapt: the step of a walker is longer by a half after a move that was taken, and shorter by
// an eleventh after one that was not.
func TestWalkersAdapt(t *testing.T) {
	const n, d, moves = 30, 2, 4
	e, twin := population(t, n, d, quartic), population(t, n, d, quartic)
	for _, s := range []*scout{e, twin} {
		s.Beta = 1
		for r := range s.Lengths {
			s.Lengths[r] = 0.1 * float64(1+r)
		}
	}
	e.walk("walk", moves)
	twin.evaluate(twin.LogPi, twin.X)
	taken := 0
	for range moves {
		twin.move()
		for r, yes := range twin.accepted {
			if yes {
				twin.Lengths[r] *= 1.5
				taken++
			} else {
				twin.Lengths[r] /= 1.1
			}
		}
	}
	require.True(t, 0 < taken && taken < n*moves, taken)
	require.Equal(t, twin.Lengths, e.Lengths)
	require.Equal(t, twin.X, e.X)
	require.Equal(t, twin.LogPi, e.LogPi)
}

// TestAnnealing: at each temperature so many moves, four times as many at the last, of a length that begins
// at 2.4/√d and changes by how far the rate of acceptance is from a quarter.
func TestAnnealing(t *testing.T) {
	const n, d, moves = 80, 2, 3
	e, twin := population(t, n, d, quartic), population(t, n, d, quartic)
	e.Moves = moves
	found := e.anneal()
	twin.logBaseNorm = -math.Log(2*math.Pi) - 2*math.Log(2)
	twin.drawBase()
	length, logZ, temperatures := 2.4/math.Sqrt(d), 0.0, 0
	for twin.Beta < 1 {
		logZ += twin.raiseBeta()
		twin.fitShapes()
		temperatures++
		left := moves
		if twin.Beta == 1 {
			left = 4 * moves
		}
		for range left {
			for r := range twin.Lengths {
				twin.Lengths[r] = length
			}
			twin.move()
			rate := 0.0
			for _, yes := range twin.accepted {
				if yes {
					rate += 1. / n
				}
			}
			length *= math.Exp(rate - 0.25)
		}
	}
	require.Greater(t, temperatures, 1)
	lines := map[int]bool{}
	for _, line := range twin.Ancestor {
		lines[line] = true
	}
	require.Equal(t, twin.X, found.X)
	require.Equal(t, twin.LogPi, found.LogPi)
	require.InDelta(t, logZ, found.LogZ, 1e-12)
	require.Equal(t, len(lines), found.Lines)
	require.Less(t, found.Lines, n)
}
