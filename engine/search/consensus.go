package search

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/state"
)

// Consensus describes consensus-based optimisation (Pinnau et al. 2017) with the
// anisotropic noise of Carrillo et al. (2021). Particles θ_p move by
//
//	dθ_p = −(θ_p − v) dt + σ (θ_p − v) ∘ dB_p,
//	v = Σ_p w_p θ_p,   w_p ∝ exp(−α (L_p − min L)/s),
//
// where s is the standard deviation of the losses L_p, so that α has no unit.
// The generator is that of the consensus point v.
type Consensus struct {
	Particles int `json:"particles" is:"2..4096"` // number of candidates θ_p
	// Spread is the standard deviation of each parameter over the initial
	// particles, about the initial θ.
	Spread    float64 `json:"spread" is:"positive"`
	Sharpness float64 `json:"sharpness" is:"positive"` // α
	Noise     float64 `json:"noise"`                   // σ
	TimeStep  float64 `json:"time_step" is:"positive"` // Δt, which the schedule multiplies
}

func (c *Consensus) validate() error {
	switch {
	case c.TimeStep > 1:
		return fmt.Errorf("time_step: %v is not in (0, 1]", c.TimeStep)
	case !(c.Noise >= 0 && c.Noise*c.Noise <= 2-c.TimeStep):
		return fmt.Errorf("noise: %v is not in [0, √(2 − time_step)] = [0, %.4g], within which the particles contract", c.Noise, math.Sqrt(2-c.TimeStep))
	}
	return nil
}

// consensus moves particles instead of θ, which is their consensus point. The
// particles of a step share its random numbers.
type consensus struct {
	Problem
	config    Consensus
	particles []float32 // [Particles][params]
	ema       []float32
	losses    []float64
	weights   []float32
	spread    []float64 // Σ_p |θ_p − v|² of each piece
	finite    []bool
	perturbations

	keep, noise            float32 // factors of a particle's distance from v
	scatter, average, step func(piece int)
}

func newConsensus(p Problem, config Consensus) *consensus {
	n := len(p.Params)
	c := &consensus{
		Problem: p, config: config, particles: make([]float32, config.Particles*n),
		losses: make([]float64, config.Particles), weights: make([]float32, config.Particles),
		spread: make([]float64, pieces(n)), finite: make([]bool, pieces(n)), perturbations: newPerturbations(n),
	}
	if p.EMA > 0 {
		c.ema = make([]float32, n)
	}
	c.scatter, c.average, c.step = c.scatterPiece, c.averagePiece, c.stepPiece
	return c
}

// scatterPiece scatters the particles about θ.
func (c *consensus) scatterPiece(piece int) {
	lo, hi := c.bounds(piece)
	n, theta := len(c.Params), c.Params[lo:hi]
	for p := range c.losses {
		particle := c.particles[p*n+lo : p*n+hi]
		for i, epsilon := range c.draw(piece, p) {
			particle[i] = theta[i] + float32(c.config.Spread)*epsilon
		}
	}
}

// Look moves θ to the consensus point. The first step scatters the particles about θ
// before that. It returns the particles' loss under their weights, and the root mean
// square of their distance from θ.
func (c *consensus) Look(ctx context.Context, step int) (loss, norm float64, err error) {
	n := len(c.Params)
	if step == 1 {
		c.stream = rng.Stream(c.Seed, rng.Perturbation, 0)
		c.Workers.Run(len(c.draws), c.scatter)
	}
	for p := range c.losses {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if c.losses[p], err = c.Loss(c.particles[p*n:][:n], uint32(step)); err != nil {
			return 0, 0, err
		}
	}
	loss = c.setWeights()
	c.Workers.Run(len(c.draws), c.average)
	for _, s := range c.spread {
		norm += s
	}
	return loss, math.Sqrt(norm / float64(len(c.losses))), nil
}

// setWeights sets the Laplace weights and returns the mean loss under them.
func (c *consensus) setWeights() (loss float64) {
	var mean, variance float64
	for _, l := range c.losses {
		mean += l / float64(len(c.losses))
	}
	for _, l := range c.losses {
		variance += (l - mean) * (l - mean) / float64(len(c.losses))
	}
	minLoss, scale := slices.Min(c.losses), 0.0
	if variance > 0 {
		scale = c.config.Sharpness / math.Sqrt(variance)
	}
	var sum float64
	for _, l := range c.losses {
		sum += math.Exp(-scale * (l - minLoss))
	}
	for p, l := range c.losses {
		w := math.Exp(-scale*(l-minLoss)) / sum
		c.weights[p] = float32(w)
		loss += w * l
	}
	return loss
}

func (c *consensus) bounds(piece int) (lo, hi int) {
	return piece * pieceLen, min((piece+1)*pieceLen, len(c.Params))
}

// averagePiece sets θ to v, and computes the particles' squared distances from it.
func (c *consensus) averagePiece(piece int) {
	lo, hi := c.bounds(piece)
	n, v := len(c.Params), c.Params[lo:hi]
	clear(v)
	for p, w := range c.weights {
		for i, x := range c.particles[p*n+lo : p*n+hi] {
			v[i] += w * x
		}
	}
	var sum float64
	for p := range c.weights {
		for i, x := range c.particles[p*n+lo : p*n+hi] {
			d := float64(x - v[i])
			sum += d * d
		}
	}
	c.spread[piece] = sum
}

// Move takes a time step, and averages v.
func (c *consensus) Move(step int, rate float64) (finite bool) {
	dt := c.config.TimeStep * rate
	c.keep, c.noise = float32(1-dt), float32(c.config.Noise*math.Sqrt(dt))
	c.stream = rng.Stream(c.Seed, rng.Perturbation, uint32(step))
	c.Workers.Run(len(c.draws), c.step)
	if c.ema != nil {
		decay := float32(min(c.EMA, float64(step)/float64(step+10)))
		for i, x := range c.Params {
			c.ema[i] = decay*c.ema[i] + (1-decay)*x
		}
	}
	return !slices.Contains(c.finite, false)
}

func (c *consensus) stepPiece(piece int) {
	lo, hi := c.bounds(piece)
	n, v := len(c.Params), c.Params[lo:hi]
	c.finite[piece] = asm.AllFinite(v)
	for p := range c.weights {
		particle := c.particles[p*n+lo : p*n+hi]
		for i, epsilon := range c.draw(piece, p) {
			particle[i] = v[i] + (particle[i]-v[i])*(c.keep+c.noise*epsilon)
		}
		c.finite[piece] = c.finite[piece] && asm.AllFinite(particle)
	}
}

func (c *consensus) Average() []float32 { return c.ema }

func (c *consensus) State() []state.Section {
	sections := []state.Section{{Name: "consensus.particles", Float32: c.particles}}
	if c.ema != nil {
		sections = append(sections, state.Section{Name: "ema", Float32: c.ema})
	}
	return sections
}
