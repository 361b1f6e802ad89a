package ising

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/pool"
)

// randomLaws returns estimates of a law over n configurations by two halves of
// a batch.
func randomLaws(r *rand.Rand, n int) (p, g [2][]float32) {
	for half := range 2 {
		p[half], g[half] = make([]float32, n), make([]float32, n)
		var sum float32
		for s := range p[half] {
			p[half][s] = r.Float32()
			sum += p[half][s]
		}
		for s := range p[half] {
			p[half][s] /= sum
		}
	}
	return p, g
}

// TestGraphWitnessSolvesItsEquation recomputes the witness of the averages of
// two batches' laws on the 3×3 lattice from the transition matrix, by
// factorisation.
func TestGraphWitnessSolvesItsEquation(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	const n, ridge = 512, 1e-5
	mixture, err := bitspin.Mixture(0.1)
	require.NoError(t, err)
	for _, c := range []struct {
		proposal bitspin.Proposal
		field    float64
		ownHalf  bool
	}{{mixture, 0, false}, {mixture, 0.05, true}, {bitspin.SingleSpin(), 0.05, false}} {
		target, err := NewTarget(3, 1, c.field, 0.3)
		require.NoError(t, err)
		step, err := NewTransitionMatrix(target, c.proposal)
		require.NoError(t, err)
		config := perceptron.WitnessConfig{Config: kfd.Config{Ridge: ridge, Memory: 0.7, Every: 1, OwnHalf: c.ownHalf}}
		o := newGraphWitness(target, c.proposal, config, workers)
		for s, leave := range o.leaving() {
			require.InDelta(t, 1-step.Row(s)[s], leave, 1e-6)
		}

		random := rand.New(rand.NewPCG(4, 4))
		average := mat.NewSymDense(n, nil)
		for batch := range 2 {
			p, g := randomLaws(random, n)
			loss, ok := o.discrepancy(p, g)
			require.True(t, ok)

			weight := float64(config.Weight(float64(batch)))
			second := mat.NewSymDense(n, nil)
			mean := [2]*mat.VecDense{mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)}
			for s := range n {
				for next, w := range step.Row(s) {
					if next == s {
						continue
					}
					rate := float64(p[0][s]+p[1][s]) / 2 * w
					second.SetSym(s, s, second.At(s, s)+rate)
					second.SetSym(next, next, second.At(next, next)+rate)
					second.SetSym(s, next, second.At(s, next)-rate)
					for half := range 2 {
						flow := float64(p[half][s]) * w
						mean[half].SetVec(s, mean[half].AtVec(s)+flow)
						mean[half].SetVec(next, mean[half].AtVec(next)-flow)
					}
				}
			}
			average.ScaleSym(1-weight, average)
			second.ScaleSym(weight, second)
			average.AddSym(average, second)
			matrix := mat.NewSymDense(n, nil)
			matrix.CopySym(average)
			for s := range n {
				matrix.SetSym(s, s, matrix.At(s, s)+ridge)
			}
			var factor mat.Cholesky
			require.True(t, factor.Factorize(matrix))
			var want float64
			for half := range 2 {
				from := config.Driven(half)
				var exact mat.VecDense
				require.NoError(t, factor.SolveVecTo(&exact, mean[from]))
				want += mat.Dot(&exact, mean[half])
				var off, size float64
				for s := range n {
					off = max(off, math.Abs(float64(g[half][s])-2*exact.AtVec(s)))
					size = max(size, math.Abs(2*exact.AtVec(s)))
				}
				require.Less(t, off, 3e-3*size)
			}
			require.InEpsilon(t, want, loss, 1e-3)
		}
	}
}

// TestGraphWitnessStateIsComplete takes a witness's state between two averages
// into another, which then goes on with the same bits.
func TestGraphWitnessStateIsComplete(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	target, err := NewTarget(4, 1, 0, 0.3)
	require.NoError(t, err)
	config := perceptron.WitnessConfig{Config: kfd.Config{Ridge: 1e-7, Memory: 0.9, Every: 2}}
	a := newGraphWitness(target, bitspin.SingleSpin(), config, workers)
	b := newGraphWitness(target, bitspin.SingleSpin(), config, workers)
	random := rand.New(rand.NewPCG(4, 5))
	for range 3 {
		a.discrepancy(randomLaws(random, 1<<16))
	}
	for i, section := range a.state() {
		copy(b.state()[i].Float32, section.Float32)
		copy(b.state()[i].Float64, section.Float64)
	}
	p, ga := randomLaws(random, 1<<16)
	_, gb := randomLaws(random, 1<<16)
	la, _ := a.discrepancy(p, ga)
	lb, _ := b.discrepancy(p, gb)
	require.Equal(t, la, lb)
	require.Equal(t, ga, gb)
}

// TestGraphWitnessRefusesWhatIsNotFinite wants no witness of a law with NaN, as
// which a step ends with an error.
func TestGraphWitnessRefusesWhatIsNotFinite(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	target, err := NewTarget(3, 1, 0, 0.3)
	require.NoError(t, err)
	o := newGraphWitness(target, bitspin.SingleSpin(), perceptron.WitnessConfig{Config: kfd.Config{Ridge: 1e-7, Every: 1}}, workers)
	p, g := randomLaws(rand.New(rand.NewPCG(1, 1)), 512)
	p[1][7] = float32(math.NaN())
	_, ok := o.discrepancy(p, g)
	require.False(t, ok)
}

// TestGraphStepsAreReproducible covers both heads: same bits for any number of
// threads, and nothing allocated.
func TestGraphStepsAreReproducible(t *testing.T) {
	for _, head := range []string{"sign", "bernoulli"} {
		c := kfdConfig(t, head, "z2", head == "bernoulli")
		c.Target.L, c.Loss.Witness.Every, c.Loss.Witness.Bandwidth = 4, 2, 0
		c.Transition.Proposal, c.Transition.Steps = "mixture", 1
		a, b := newTrainer(t, c, 1), newTrainer(t, c, 3)
		for range 3 {
			require.NoError(t, a.Step())
			require.NoError(t, b.Step())
		}
		require.Equal(t, a.Params(), b.Params())
		require.Len(t, a.System().(engine.Stateful).State(), 2)
		require.Zero(t, alloctest.PerRun(5, func() {
			if err := a.Step(); err != nil {
				panic(err)
			}
		}), head)
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
			c.Target.L, c.Target.Beta, c.Loss.Average, c.Loss.Kind = of.l, 0.6, average, of.objective
			c.Training.Steps, c.Training.Batch = 100, 2000
			c.Loss.Witness.Rank, c.Transition.Proposal, c.Transition.Steps = 130, "single", 1
			c.Transition.Anneal = 0.5
			if of.l == 4 && average == "exact" {
				c.Loss.Witness.Bandwidth = 0
			}
			require.NoError(t, c.Validate())
			trainer := newTrainer(t, c, 2)
			s := trainer.System()
			s.Generate(trainer.Params(), 1)
			s.Transition(step)
			s.Discrepancy(step)
			return s.Acceptance()
		}
		exact := map[uint32]float64{}
		for _, step := range []uint32{0, 25, 49, 50, 100} {
			exact[step] = acceptance("exact", step)
			require.InDelta(t, exact[step], acceptance("sampled", step), 0.06, "step %d", step)
		}
		require.Greater(t, exact[0], 0.95)
		require.Greater(t, exact[0], exact[25]+0.05)
		require.Greater(t, exact[25], exact[49]+0.05)
		require.Equal(t, exact[50], exact[100])
	}
}
