package ising

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/pool"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestSpectrumMatchesTheTransitionMatrix recomputes the witness of two laws on
// the 3×3 lattice from its definition, with the transition matrix.
func TestSpectrumMatchesTheTransitionMatrix(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, even := range []bool{false, true} {
		proposal, err := bitspin.Mixture(0.1)
		require.NoError(t, err)
		target, err := NewTarget(3, 1, 0.05, 0.3)
		if even {
			target, err = NewTarget(3, 1, 0, 0.3)
		}
		require.NoError(t, err)
		step, err := NewTransitionMatrix(target, proposal)
		require.NoError(t, err)
		c := kfdConfig(t, "bernoulli", "none", true)
		c.Loss.Witness.Ridge, c.Loss.Witness.Rank = 1e-4, 60
		o := newSpectrum(target, proposal, even, c, workers)
		r := len(o.masks)
		require.Equal(t, 60, r)
		for s, leave := range o.leaving() {
			require.InDelta(t, 1-step.Row(s)[s], leave, 1e-6)
		}

		const n = 512
		random := rand.New(rand.NewPCG(4, 4))
		var p, g [2][]float32
		for half := range 2 {
			p[half], g[half] = make([]float32, n), make([]float32, n)
			var sum float32
			for s := range p[half] {
				p[half][s] = random.Float32()
				sum += p[half][s]
			}
			for s := range p[half] {
				p[half][s] /= sum
			}
			if even {
				for s := range n / 2 {
					p[half][s] = (p[half][s] + p[half][n-1-s]) / 2
					p[half][n-1-s] = p[half][s]
				}
			}
		}
		loss, ok := o.discrepancy(p, g)
		require.True(t, ok)

		chi := func(a int, s int) float64 {
			return 1 - 2*float64(bits.OnesCount64(o.masks[a]&uint64(s))%2)
		}
		second := mat.NewSymDense(r, nil)
		mean := [2]*mat.VecDense{mat.NewVecDense(r, nil), mat.NewVecDense(r, nil)}
		delta := make([]float64, r)
		for s := range n {
			for next, w := range step.Row(s) {
				if w == 0 || next == s {
					continue
				}
				for a := range delta {
					delta[a] = chi(a, s) - chi(a, next)
					for half := range 2 {
						mean[half].SetVec(a, mean[half].AtVec(a)+float64(p[half][s])*w*delta[a])
					}
				}
				second.SymRankOne(second, float64(p[0][s]+p[1][s])/2*w, mat.NewVecDense(r, delta))
			}
		}
		for a, x := range walshPenalty(o.masks, c.Loss.Witness.Bandwidth) {
			second.SetSym(a, a, second.At(a, a)+1e-4*float64(x))
		}
		var factor mat.Cholesky
		require.True(t, factor.Factorize(second))
		var want float64
		for half := range 2 {
			var coefficients mat.VecDense
			require.NoError(t, factor.SolveVecTo(&coefficients, mean[1-half]))
			coefficients.ScaleVec(2, &coefficients)
			want += mat.Dot(&coefficients, mean[half]) / 2
			var scale float64
			exact := make([]float64, n)
			for s := range exact {
				for a := range r {
					exact[s] += coefficients.AtVec(a) * chi(a, s)
				}
				scale = max(scale, math.Abs(exact[s]))
			}
			for s, x := range exact {
				require.InDelta(t, x, g[half][s], 1e-3*scale)
			}
		}
		require.InEpsilon(t, want, loss, 1e-3)
	}
}

// TestSpectrumStepsAreReproducible covers both heads: same bits for any number
// of threads, nothing allocated, the state complete, and a loss that falls.
func TestSpectrumStepsAreReproducible(t *testing.T) {
	for _, head := range []string{"sign", "bernoulli"} {
		c := kfdConfig(t, head, "z2", head == "bernoulli")
		c.Target.L, c.Loss.Witness.Rank, c.Loss.Witness.Every = 4, 130, 2
		c.Transition.Proposal, c.Transition.Steps = "mixture", 1
		a, b := newTrainer(t, c, 1), newTrainer(t, c, 3)
		for range 3 {
			require.NoError(t, a.Step())
			require.NoError(t, b.Step())
		}
		require.Equal(t, a.Params(), b.Params())
		require.Len(t, a.System().(engine.Stateful).State(), 3)
		require.Zero(t, testing.AllocsPerRun(5, func() {
			if err := a.Step(); err != nil {
				panic(err)
			}
		}), head)
	}
}

// TestWalshMasksFillDegrees wants whole degrees first, and no set twice.
func TestWalshMasksFillDegrees(t *testing.T) {
	for _, even := range []bool{false, true} {
		masks := walshMasks(9, 200, 2, even, 1)
		require.Len(t, masks, 200)
		seen, size := map[uint64]bool{}, map[int]int{}
		for _, m := range masks {
			require.False(t, seen[m])
			seen[m] = true
			size[bits.OnesCount64(m)]++
		}
		require.Equal(t, 36, size[2])
		if even {
			require.Zero(t, size[1]+size[3])
			require.Equal(t, 126, size[4])
		} else {
			require.Equal(t, 9, size[1])
			require.Equal(t, 84, size[3])
		}
	}
}

// TestAnnealRaisesTheInverseTemperature wants the first steps to be taken at a
// fraction of β, the target's from the given step on, and the same acceptance
// whether the average is exact or sampled.
func TestAnnealRaisesTheInverseTemperature(t *testing.T) {
	for _, of := range []struct {
		l         int
		objective string
	}{{3, "kfd"}, {4, "kfd"}, {3, "mmd"}} {
		acceptance := func(average string, step uint32) float64 {
			c := kfdConfig(t, "bernoulli", "z2", false)
			c.Target.L, c.Target.Beta, c.Loss.Average, c.Loss.Objective = of.l, 0.6, average, of.objective
			c.Training.Steps, c.Training.Batch = 100, 2000
			c.Loss.Witness.Rank, c.Transition.Proposal, c.Transition.Steps = 130, "single", 1
			c.Transition.Anneal = 0.5
			require.NoError(t, c.Validate())
			trainer := newTrainer(t, c, 2)
			s := trainer.System()
			s.Generate(trainer.Params(), 1)
			s.Transition(step)
			s.Discrepancy(step)
			return s.Acceptance()
		}
		for _, step := range []uint32{0, 25, 49, 50, 100} {
			exact, sampled := acceptance("exact", step), acceptance("sampled", step)
			require.InDelta(t, exact, sampled, 0.06, "step %d", step)
		}
		require.Greater(t, acceptance("exact", 0), 0.95)
		require.Greater(t, acceptance("exact", 0), acceptance("exact", 25)+0.05)
		require.Greater(t, acceptance("exact", 25), acceptance("exact", 49)+0.05)
		require.Equal(t, acceptance("exact", 50), acceptance("exact", 100))
	}
}
