package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/state"
)

// Evolution describes evolution strategies (Salimans et al. 2017): AdamW along
//
//	(1/2Pσ) Σ_p [F(θ + σε_p) − F(θ − σε_p)] ε_p,   ε_p ~ N(0, I),
//
// an estimate of the gradient of the loss smoothed over θ by N(0, σ²).
type Evolution struct {
	Pairs int     `json:"pairs" is:"1..2048"`  // P
	Sigma float64 `json:"sigma" is:"positive"` // σ
	// Fitness F is "plain", the loss itself, or "rank", the loss's rank among
	// the 2P candidates' in [−½, ½].
	Fitness string `json:"fitness" enum:"plain,rank"`
}

// pieceLen is the number of parameters that a piece of work handles, a
// multiple of a block of random numbers.
const pieceLen = 2048

func pieces(n int) int { return (n + pieceLen - 1) / pieceLen }

// evolution estimates ∂L/∂θ by losses at perturbed θ, for AdamW to descend. The
// candidates of a step share its random numbers. Perturbations are not kept but drawn
// again.
type evolution struct {
	Problem
	config    Evolution
	norm      float64 // of the estimate
	candidate []float32
	losses    []float64 // at θ + σε and at θ − σε, pair by pair
	weights   []float32 // of each ε in the estimate
	order     []int32   // indices of the losses, ascending
	perturbations

	pair             int     // of the candidate
	shift            float32 // σ or −σ
	perturb, combine func(piece int)
}

func newEvolution(p Problem, c Evolution) *evolution {
	n := len(p.Params)
	e := &evolution{
		Problem: p, config: c, candidate: make([]float32, n),
		losses: make([]float64, 2*c.Pairs), weights: make([]float32, c.Pairs), order: make([]int32, 2*c.Pairs),
		perturbations: newPerturbations(n),
	}
	e.perturb = func(piece int) {
		lo := piece * pieceLen
		for i, v := range e.draw(piece, e.pair) {
			e.candidate[lo+i] = e.Params[lo+i] + e.shift*v
		}
	}
	e.combine = func(piece int) {
		lo := piece * pieceLen
		grad := e.Grad[lo:min(lo+pieceLen, n)]
		clear(grad)
		for pair, w := range e.weights {
			for i, v := range e.draw(piece, pair) {
				grad[i] += w * v
			}
		}
	}
	return e
}

// perturbations are the normal numbers ε of candidates, drawn by pieces of the parameters.
type perturbations struct {
	params int
	draws  [][]float32
	stream asm.Counter
}

func newPerturbations(params int) perturbations {
	p := perturbations{params: params}
	for range pieces(params) {
		p.draws = append(p.draws, make([]float32, pieceLen))
	}
	return p
}

// draw returns a piece of a candidate's ε.
func (p *perturbations) draw(piece, candidate int) []float32 {
	asm.Normals(p.draws[piece], &p.stream, uint64(candidate*len(p.draws)+piece)*pieceLen/4)
	return p.draws[piece][:min(pieceLen, p.params-piece*pieceLen)]
}

// Look returns the mean loss of the candidates and the estimate's norm.
func (e *evolution) Look(ctx context.Context, step int) (loss, norm float64, err error) {
	e.stream = rng.Stream(e.Seed, rng.Perturbation, uint32(step))
	for i := range e.losses {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		e.pair, e.shift = i/2, float32(e.config.Sigma)
		if i%2 == 1 {
			e.shift = -e.shift
		}
		e.Workers.Run(len(e.draws), e.perturb)
		if e.losses[i], err = e.Loss(e.candidate, uint32(step)); err != nil {
			return 0, 0, err
		}
		loss += e.losses[i] / float64(len(e.losses))
	}
	e.setWeights()
	e.Workers.Run(len(e.draws), e.combine)
	e.norm = e.Optimizer.Norm(e.Grad)
	return loss, e.norm, nil
}

// Move takes a step of AdamW.
func (e *evolution) Move(step int, rate float64) (finite bool) {
	return e.Optimizer.Step(e.Params, e.Grad, e.norm, step, rate)
}

func (e *evolution) Average() []float32     { return e.Optimizer.EMA }
func (e *evolution) State() []state.Section { return e.Optimizer.State() }

// setWeights sets the weights of the estimate to those of the losses' fitness.
func (e *evolution) setWeights() {
	if e.config.Fitness == "rank" {
		for i := range e.order {
			e.order[i] = int32(i)
		}
		slices.SortStableFunc(e.order, func(a, b int32) int { return cmp.Compare(e.losses[a], e.losses[b]) })
	}
	scale := 1 / (2 * float64(e.config.Pairs) * e.config.Sigma)
	for p := range e.weights {
		e.weights[p] = float32(scale * (e.losses[2*p] - e.losses[2*p+1]))
	}
	if e.config.Fitness == "plain" {
		return
	}
	clear(e.weights)
	for rank, i := range e.order {
		fitness := float64(rank)/float64(len(e.order)-1) - 0.5
		if i%2 == 1 {
			fitness = -fitness
		}
		e.weights[i/2] += float32(scale * fitness)
	}
}
