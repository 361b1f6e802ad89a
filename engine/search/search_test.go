package search

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

const (
	testSeed = 17
	testSize = pieceLen + 13 // two pieces, the last cut
)

// uneven is a loss with a minimum, whose ranks are not those of any coordinate.
func uneven(params []float32, step int) (loss float64) {
	for i, p := range params {
		d := float64(p) - math.Sin(float64(i+step))
		loss += d * d / (1 + float64(i%7))
	}
	return loss
}

// normals returns ε of a candidate of a step: of the step's stream, the candidates
// one after another, each in whole pieces.
func normals(step, candidate int) []float32 {
	stream := rng.Stream(testSeed, rng.Perturbation, uint32(step))
	all := make([]float32, pieces(testSize)*pieceLen)
	asm.Normals(all, &stream, uint64(candidate*len(all)/4))
	return all[:testSize]
}

func start() []float32 {
	params := make([]float32, testSize)
	for i := range params {
		params[i] = float32(i%5) / 4
	}
	return params
}

// TestConsensusFollowsItsEquation takes the particles through four steps of
//
//	θ_p ← v + (θ_p − v) (1 − Δt + σ √Δt ε_p),   v = Σ w_p θ_p,   w_p ∝ exp(−α L_p/s)
//
// in float64, with a time step that the schedule changes.
func TestConsensusFollowsItsEquation(t *testing.T) {
	c := Consensus{Particles: 6, Spread: 0.4, Sharpness: 3, Noise: 0.9, TimeStep: 0.2}
	workers := pool.New(2)
	defer workers.Close()
	params := start()
	s := New(Methods{Method: "consensus", Consensus: c}, Problem{Params: params, Loss: uneven, EMA: 0.3, Seed: testSeed, Workers: workers})

	particles, narrow := make([][]float64, c.Particles), make([]float32, testSize)
	for p := range particles {
		for i, epsilon := range normals(0, p) {
			particles[p] = append(particles[p], float64(params[i])+c.Spread*float64(epsilon))
		}
	}
	average := make([]float64, testSize)
	for step := 1; step <= 4; step++ {
		losses, v := make([]float64, c.Particles), make([]float64, testSize)
		var mean, deviation, total, loss, spread float64
		for p, particle := range particles {
			for i, x := range particle {
				narrow[i] = float32(x)
			}
			losses[p] = uneven(narrow, step)
			mean += losses[p] / float64(c.Particles)
		}
		for _, l := range losses {
			deviation += (l - mean) * (l - mean) / float64(c.Particles)
		}
		weights := make([]float64, c.Particles)
		for p, l := range losses {
			weights[p] = math.Exp(-c.Sharpness * (l - mean) / math.Sqrt(deviation))
			total += weights[p]
		}
		for p, particle := range particles {
			loss += weights[p] / total * losses[p]
			for i, x := range particle {
				v[i] += weights[p] / total * x
			}
		}
		for _, particle := range particles {
			for i, x := range particle {
				spread += (x - v[i]) * (x - v[i]) / float64(c.Particles)
			}
		}
		gotLoss, norm, err := s.Look(t.Context(), step)
		require.NoError(t, err)
		require.InEpsilon(t, loss, gotLoss, 1e-4, "step %d", step)
		require.InEpsilon(t, math.Sqrt(spread), norm, 1e-4, "step %d", step)
		rate := 1 / float64(step)
		finite, err := s.Move(t.Context(), step, rate)
		require.NoError(t, err)
		require.True(t, finite)
		dt, decay := c.TimeStep*rate, min(0.3, float64(step)/float64(step+10))
		for i := range v {
			require.InDelta(t, v[i], params[i], 1e-4, "step %d", step)
			average[i] = decay*average[i] + (1-decay)*v[i]
			require.InDelta(t, average[i], s.Average()[i], 1e-4, "step %d", step)
		}
		for p, particle := range particles {
			for i, epsilon := range normals(step, p) {
				particle[i] = v[i] + (particle[i]-v[i])*(1-dt+c.Noise*math.Sqrt(dt)*float64(epsilon))
			}
		}
	}
}

// TestEvolutionFollowsItsEquation computes (1/2Pσ) Σ_p [F(θ+σε_p) − F(θ−σε_p)] ε_p
// in float64, for losses and for their ranks.
func TestEvolutionFollowsItsEquation(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, fitness := range []string{"plain", "rank"} {
		c := Evolution{Pairs: 5, Sigma: 0.1, Fitness: fitness}
		params, grad := start(), make([]float32, testSize)
		s := New(Methods{Method: "evolution", Evolution: c}, Problem{
			Params: params, Grad: grad, Loss: uneven, Seed: testSeed, Workers: workers,
			Optimizer: optim.NewOptimizer(optim.AdamW{LearningRate: 1, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}, 0, 0, testSize, workers),
		})
		const step = 3
		losses, candidate := make([]float64, 2*c.Pairs), make([]float32, testSize)
		var mean float64
		for k := range losses {
			for i, epsilon := range normals(step, k/2) {
				candidate[i] = params[i] + float32(c.Sigma)*float32(1-2*(k%2))*epsilon
			}
			losses[k] = uneven(candidate, step)
			mean += losses[k] / float64(len(losses))
		}
		of := slices.Clone(losses)
		if fitness == "rank" {
			for k, l := range losses {
				rank := 0
				for _, other := range losses {
					if other < l {
						rank++
					}
				}
				of[k] = float64(rank)/float64(len(losses)-1) - 0.5
			}
		}
		want := make([]float64, testSize)
		var square float64
		for p := range c.Pairs {
			for i, epsilon := range normals(step, p) {
				want[i] += (of[2*p] - of[2*p+1]) * float64(epsilon) / (2 * float64(c.Pairs) * c.Sigma)
			}
		}
		for _, w := range want {
			square += w * w
		}
		loss, norm, err := s.Look(t.Context(), step)
		require.NoError(t, err)
		require.InEpsilon(t, mean, loss, 1e-6, fitness)
		require.InEpsilon(t, math.Sqrt(square), norm, 1e-3, fitness)
		for i, w := range want {
			require.InDelta(t, w, grad[i], 1e-3*math.Sqrt(square/testSize), "%s, parameter %d", fitness, i)
		}
	}
}

// TestNoAverageIsNil, so that nobody takes it for one.
func TestNoAverageIsNil(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s := New(Methods{Method: "consensus", Consensus: ByGradient().Consensus}, Problem{Params: start(), Loss: uneven, Workers: workers})
	require.Nil(t, s.Average())
	require.Len(t, s.State(), 1)
}
