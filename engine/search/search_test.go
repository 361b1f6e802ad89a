package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/ctxtest"
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

func unevenLoss(params []float32, step uint32) (float64, error) {
	return uneven(params, int(step)), nil
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
	s := New(Methods{Method: "consensus", Consensus: c}, Problem{Params: params, Loss: unevenLoss, EMA: 0.3, Seed: testSeed, Workers: workers})

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
		require.True(t, s.Move(step, rate))
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
			Params: params, Grad: grad, Loss: unevenLoss, Seed: testSeed, Workers: workers,
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
	s := New(Methods{Method: "consensus", Consensus: ByGradient().Consensus}, Problem{Params: start(), Loss: unevenLoss, Workers: workers})
	require.Nil(t, s.Average())
	require.Len(t, s.State(), 1)
}

// TestLimits has what is just within each limit, and what is just beyond.
func TestLimits(t *testing.T) {
	evolution := func(pairs int, sigma float64, fitness string) Methods {
		return Methods{Method: "evolution", Evolution: Evolution{pairs, sigma, fitness}}
	}
	consensus := func(particles int, spread, sharpness, noise, step float64) Methods {
		return Methods{Method: "consensus", Consensus: Consensus{particles, spread, sharpness, noise, step}}
	}
	for _, c := range []struct {
		m    Methods
		clip float64
		want string
	}{
		{Methods{Method: "gradient"}, 1, ""}, {evolution(1, 1, "plain"), 1, ""}, {evolution(2048, 1, "rank"), 0, ""},
		{consensus(2, 1, 1, 1, 1), 0, ""}, {consensus(4096, 1, 1, 0, 1), 0, ""}, {consensus(2, 1, 1, 1.2, 0.5), 0, ""},
		{Methods{Method: "luck"}, 0, `method: "luck" is not one of gradient, evolution, consensus`},
		{evolution(0, 1, "plain"), 0, "evolution.pairs: 0 is not between 1 and 2048"},
		{evolution(2049, 1, "plain"), 0, "evolution.pairs: 2049 is not between 1 and 2048"},
		{evolution(1, 0, "plain"), 0, "evolution.sigma: 0 is not a positive finite number"},
		{evolution(1, 1, "fit"), 0, `evolution.fitness: "fit" is not one of plain, rank`},
		{consensus(2, 1, 1, 1, 1), 1e-9, "clip_norm: consensus-based optimisation has no gradient to clip; set it to 0"},
		{consensus(1, 1, 1, 1, 1), 0, "consensus.particles: 1 is not between 2 and 4096"},
		{consensus(4097, 1, 1, 1, 1), 0, "consensus.particles: 4097 is not between 2 and 4096"},
		{consensus(2, 0, 1, 1, 1), 0, "consensus.spread: 0 is not a positive finite number"},
		{consensus(2, 1, 0, 1, 1), 0, "consensus.sharpness: 0 is not a positive finite number"},
		{consensus(2, 1, 1, 1, 0), 0, "consensus.time_step: 0 is not a positive finite number"},
		{consensus(2, 1, 1, 0, 1.001), 0, "consensus.time_step: 1.001 is not in (0, 1]"},
		{consensus(2, 1, 1, 1.001, 1), 0, "consensus.noise: 1.001 is not in [0, √(2 − time_step)] = [0, 1], within which the particles contract"},
		{consensus(2, 1, 1, 1.23, 0.5), 0, "consensus.noise: 1.23 is not in [0, √(2 − time_step)] = [0, 1.225], within which the particles contract"},
		{consensus(2, 1, 1, -0.1, 1), 0, "consensus.noise: -0.1 is not in"},
	} {
		err := cmp.Or(conf.Check(&c.m), c.m.Validate(c.clip))
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	usual := ByGradient()
	require.Nil(t, New(usual, Problem{}))
	require.Equal(t, 0.3, usual.StepLength(0.3))
	usual.Method = "consensus"
	require.Equal(t, 0.02, usual.StepLength(0.3))
	require.Equal(t, Methods{"consensus", Evolution{32, 0.03, "rank"}, Consensus{64, 0.3, 20, 1, 0.02}}, usual)
}

// TestEndedLooks: a look in a context that has ended changes nothing.
func TestEndedLooks(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	before := New(Methods{Method: "consensus", Consensus: Consensus{6, 0.4, 3, 0.9, 0.2}}, Problem{Params: start(), Loss: unevenLoss, EMA: 0.3, Seed: testSeed, Workers: workers})
	_, _, err := before.Look(ended, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, slices.Max(before.Average()))
	_, _, err = New(Methods{Method: "evolution", Evolution: Evolution{1, 1, "plain"}}, Problem{Params: start(), Workers: workers}).Look(ended, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// TestStopsAnywhere: before whichever loss a look ends, it computes no loss any more, does not
// ask again, and θ stays.
func TestStopsAnywhere(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for name, c := range map[string]struct {
		m    Methods
		asks int
	}{
		"a look":            {Methods{Method: "consensus", Consensus: Consensus{6, 0.4, 3, 0.9, 0.2}}, 6},
		"an estimate":       {Methods{Method: "evolution", Evolution: Evolution{3, 1, "plain"}}, 6},
		"a ranked estimate": {Methods{Method: "evolution", Evolution: Evolution{3, 1, "rank"}}, 6},
	} {
		for left := range c.asks + 1 {
			ctx := ctxtest.CancelAfter(t.Context(), left)
			params, lately := start(), 0
			s := New(c.m, Problem{
				Params: params, Grad: make([]float32, testSize), Seed: testSeed, Workers: workers, EMA: 0.5,
				Loss: func(params []float32, step uint32) (float64, error) {
					_, ended := ctx.Asked()
					lately += ended
					return unevenLoss(params, step)
				},
				Optimizer: optim.NewOptimizer(optim.AdamW{LearningRate: 1, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}, 0, 0, testSize, workers),
			})
			_, _, err := s.Look(ctx, 1)
			asked, ended := ctx.Asked()
			if left == c.asks {
				require.NoError(t, err, name)
				require.Equal(t, c.asks, asked, name)
				continue
			}
			require.ErrorIs(t, err, context.Canceled, "%s, asked %d times", name, left)
			require.Equal(t, 1, ended, "%s, asked %d times", name, left)
			require.Zero(t, lately, name)
			require.Equal(t, start(), params, name)
		}
	}
}

// TestLossesThatFail: the first error of a loss ends a look, and θ stays.
func TestLossesThatFail(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	gone := errors.New("gone")
	for _, m := range []Methods{{Method: "consensus", Consensus: Consensus{6, 0.4, 3, 0.9, 0.2}}, {Method: "evolution", Evolution: Evolution{3, 1, "plain"}}} {
		params, calls := start(), 0
		s := New(m, Problem{Params: params, Grad: make([]float32, testSize), Workers: workers, Loss: func([]float32, uint32) (float64, error) {
			if calls++; calls == 3 {
				return 0, gone
			}
			return 1, nil
		}})
		_, _, err := s.Look(t.Context(), 1)
		require.Equal(t, gone, err)
		require.Equal(t, 3, calls)
		require.Equal(t, start(), params)
	}
}

// TestEqualParticles: losses that are equal weigh all particles alike.
func TestEqualParticles(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	params := start()
	s := newConsensus(Problem{Params: params, Loss: func([]float32, uint32) (float64, error) { return 7, nil }, Seed: testSeed, Workers: workers}, Consensus{4, 0.4, 3, 0.9, 0.2})
	loss, _, err := s.Look(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 7., loss)
	require.Equal(t, []float32{0.25, 0.25, 0.25, 0.25}, s.weights)
	for i, x := range params {
		want := 0.
		for p := range 4 {
			want += float64(start()[i]+0.4*normals(0, p)[i]) / 4
		}
		require.InDelta(t, want, x, 1e-6)
		if i == 20 {
			break // normals takes its time
		}
	}
}

// TestFarParticles: a step after which any number is infinite is told.
func TestFarParticles(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, at := range []int{0, testSize - 1} {
		params := start()
		s := newConsensus(Problem{Params: params, Loss: unevenLoss, Seed: testSeed, Workers: workers}, Consensus{6, 0.4, 3, 0.9, 0.2})
		_, _, err := s.Look(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, s.Move(1, 1))
		s.particles[testSize+at] = float32(math.Inf(1))
		require.False(t, s.Move(2, 1))
	}
}
