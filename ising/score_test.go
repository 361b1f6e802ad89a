package ising

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/alloctest"
)

// roadConfig is a small configuration of the given objective and gradient.
func roadConfig(t *testing.T, objective, average, gradient, symmetry string) *Config {
	c := mmdConfig(t)
	c.Loss.Kind, c.Loss.Average, c.Loss.Gradient = objective, average, gradient
	c.Loss.Statistic = mmd.V
	c.Loss.Discriminator.Hidden, c.Loss.Discriminator.Steps = []int{12}, 2
	c.Loss.Witness.Rank = 60
	c.Generator.Symmetry = symmetry
	return c
}

// TestScoreIsThatOfTheDraw recomputes the gradient by the logits from the
// values, the spins before the symmetry and central differences of ln p.
func TestScoreIsThatOfTheDraw(t *testing.T) {
	for _, symmetry := range []string{"none", "z2+lattice"} {
		c := roadConfig(t, "mmd", "sampled", "score", symmetry)
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		loss := s.Discrepancy(1)
		o := s.objective.(*scoreObjective)

		n, half := c.Training.Batch, c.Training.Batch/2
		f := make([]float32, n)
		o.contributions(f)
		var mean, total float64
		for i, v := range f {
			total += float64(v)
			if i < half {
				mean += float64(v) / float64(half-1)
			}
		}
		require.InDelta(t, 2*loss, total/float64(n), 1e-6, "the mean of the values is twice the loss")
		require.InDelta(t, float64(f[3])-mean+float64(f[3])/float64(half-1), o.values[3], 1e-6)

		logits := append([]float32(nil), s.activations.Output()...)
		o.headGradient(0, 256)
		mover := newMover(s.generator.symmetry)
		for r := range 100 {
			spins := make([]float32, 9)
			for d := range spins {
				spins[d] = 2*float32(s.spins[r]>>d&1) - 1
			}
			if symmetry != "none" {
				mover.pullBack(spins, s.moves[r])
			}
			for d, spin := range spins {
				logP := func(h float64) float64 { return -math.Log1p(math.Exp(-2 * h * float64(spin))) }
				h := float64(logits[r*9+d])
				want := (logP(h+1e-5) - logP(h-1e-5)) / 2e-5 * float64(o.values[r]) / float64(n)
				require.InDelta(t, want, s.grad[r*9+d], 1e-4*(1e-6+math.Abs(float64(o.values[r])))/float64(n))
			}
		}
	}
}

// TestWitnessIsTheDerivativeOfTheLoss: adding a copy of a pair to the batch
// changes N²L of the V-statistic by what its values say.
func TestWitnessIsTheDerivativeOfTheLoss(t *testing.T) {
	c := roadConfig(t, "mmd", "sampled", "score", "none")
	trainer := newTrainer(t, c, 1)
	s := trainer.System().(*system)
	s.Generate(trainer.Params(), 1)
	s.Transition(1)
	loss := s.Discrepancy(1)
	o := s.objective.(*scoreObjective).valued.(*pairObjective)
	n := c.Training.Batch
	f := make([]float32, n)
	o.contributions(f)
	for _, i := range []int{0, 5, 77} {
		more, _ := mmd.HammingNaive(append(append([]uint64(nil), s.spins...), s.spins[i]),
			append(append([]uint64(nil), o.next...), o.next[i]), n+1, 9, c.Loss.Kernel, mmd.Surrogate, mmd.V)
		self, _ := mmd.HammingNaive(s.spins[i:i+1], o.next[i:i+1], 1, 9, c.Loss.Kernel, mmd.Surrogate, mmd.V)
		change := more*float64(n+1)*float64(n+1) - loss*float64(n)*float64(n) - self
		require.InDelta(t, change/float64(n), f[i], 1e-4)
	}
}

// TestScoreAgreesWithDifferences: for a function of configurations the mean of
// the score function's gradient is that of flipping spins, which has the
// smaller variance.
func TestScoreAgreesWithDifferences(t *testing.T) {
	var grads [2][]float32
	for i, gradient := range []string{"score", "difference"} {
		c := roadConfig(t, "mmd", "exact", gradient, "none")
		c.Training.Batch = 1 << 16
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		grads[i] = make([]float32, len(trainer.Params()))
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		s.Discrepancy(1)
		s.Backward(trainer.Params(), grads[i])
	}
	var off, size float64
	for i, v := range grads[1] {
		off += math.Pow(float64(grads[0][i]-v), 2)
		size += float64(v) * float64(v)
	}
	require.Less(t, off, 0.01*size)
}

// TestContributionsDifferAsTheWitnessDoes: where a gradient flips spins, its
// values are differences of the contributions.
func TestContributionsDifferAsTheWitnessDoes(t *testing.T) {
	for name, c := range map[string]*Config{
		"walsh": roadConfig(t, "kfd", "sampled", "difference", "z2"), "exact": roadConfig(t, "kfd", "exact", "difference", "none"),
		"invariant": invariantScore(t, "difference"),
	} {
		trainer := newTrainer(t, c, 1)
		s := trainer.System().(*system)
		n := s.model.N
		s.Generate(trainer.Params(), 1)
		for i := range s.moves {
			s.moves[i] = element{} // pulls nothing back
		}
		s.Transition(1)
		s.Discrepancy(1)
		o := s.objective.(valued)
		before, after := make([]float32, c.Training.Batch), make([]float32, c.Training.Batch)
		o.contributions(before)
		spins := append([]uint64(nil), s.spins...)
		for i := range s.spins {
			s.spins[i] ^= 1
		}
		if w, ok := o.(*walshObjective); ok {
			s.workers.Run(s.lanes.Blocks(), w.fillRows)
		}
		o.contributions(after)
		copy(s.spins, spins)
		if w, ok := o.(*walshObjective); ok {
			s.workers.Run(s.lanes.Blocks(), w.fillRows)
		}
		width, logits := s.width, append([]float32(nil), s.activations.Output()...)
		o.headGradient(0, 200)
		for i := range 200 {
			th := math.Tanh(float64(logits[i*n]) / width)
			sign := float64(2*(spins[i]&1)) - 1
			want := -sign * float64(after[i]-before[i]) / 2 * (1 - th*th) / width / float64(c.Training.Batch)
			require.InDelta(t, want, s.grad[i*n], 2e-4*(1e-4+math.Abs(want)), name)
		}
	}
}

// TestBaselinesAreOfTheWitnesssHalf: of an odd batch the first half has one
// sample more, for the witness, the baseline and the values alike.
func TestBaselinesAreOfTheWitnesssHalf(t *testing.T) {
	for name, c := range map[string]*Config{
		"walsh": roadConfig(t, "kfd", "sampled", "score", "z2"), "exact": roadConfig(t, "kfd", "exact", "score", "none"),
		"invariant": invariantScore(t, "score"),
	} {
		c.Training.Batch = 601
		trainer := newTrainer(t, c, 1)
		s := trainer.System().(*system)
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		s.Discrepancy(1)
		o := s.objective.(*scoreObjective)
		f := make([]float32, 601)
		o.contributions(f)
		for half, rows := range [2][2]int{{0, 301}, {301, 601}} {
			var sum float64
			for _, v := range f[rows[0]:rows[1]] {
				sum += float64(v)
			}
			n := float64(rows[1] - rows[0])
			for i := rows[0]; i < rows[1]; i++ {
				v := float64(f[i])
				require.InDelta(t, v-(sum-v)/(n-1), o.values[i], 1e-5, "%s, half %d, sample %d", name, half, i)
				switch w := o.valued.(type) {
				case *invariantObjective:
					v := w.features.newView()
					phi := make([]float32, w.features.count)
					w.features.look(v, s.spins[i:i+1])
					w.features.evaluate(phi, v)
					require.InDelta(t, dot(w.fit.Coefficients(half), phi), f[i], 1e-5)
				case *walshObjective:
					require.InDelta(t, dot(w.c[half], w.chi[i*len(w.masks):][:len(w.masks)]), f[i], 1e-5)
				case *enumeratedObjective:
					require.Equal(t, w.g[half][s.spins[i]], f[i])
				}
			}
		}
	}
}

// invariantScore is the witness in invariants of a lattice of 5×5 spins.
func invariantScore(t *testing.T, gradient string) *Config {
	c := roadConfig(t, "kfd", "sampled", gradient, "z2+lattice")
	c.Target.L, c.Loss.Witness.Features = 5, "invariant"
	return c
}

// TestRoadsAreReproducible: same bits for any number of threads, nothing
// allocated, and a state that says all.
func TestRoadsAreReproducible(t *testing.T) {
	for _, c := range []*Config{
		roadConfig(t, "mmd", "sampled", "score", "none"),
		roadConfig(t, "stationarity", "sampled", "score", "z2"),
		roadConfig(t, "stationarity", "sampled", "full", "none"),
		roadConfig(t, "stationarity", "sampled", "difference", "none"),
		roadConfig(t, "kfd", "sampled", "score", "z2"),
		roadConfig(t, "kfd", "exact", "score", "z2"),
		roadConfig(t, "stationarity", "sampled", "score", "none"),
		invariantScore(t, "score"),
		roadConfig(t, "discriminator", "sampled", "surrogate", "none"),
		roadConfig(t, "discriminator", "sampled", "difference", "z2"),
		roadConfig(t, "discriminator", "sampled", "score", "none"),
	} {
		name := c.Loss.Kind + " " + c.Loss.Gradient
		a, b := newTrainer(t, c, 1), newTrainer(t, c, 3)
		for range 3 {
			require.NoError(t, a.Step())
			require.NoError(t, b.Step())
		}
		require.Equal(t, a.Params(), b.Params(), name)
		require.Equal(t, c.Loss.Kind == "mmd" || c.Loss.Kind == "stationarity", len(a.System().(engine.Stateful).State()) == 0, name)
		require.Zero(t, alloctest.PerRun(5, func() {
			if err := a.Step(); err != nil {
				panic(err)
			}
		}), name)
	}
}

// TestDiscriminatorGradient recomputes what each gradient makes of the
// discriminator's values, which package critic tests.
func TestDiscriminatorGradient(t *testing.T) {
	for _, form := range []string{"pair", "difference"} {
		c := roadConfig(t, "discriminator", "sampled", "difference", "none")
		c.Loss.Discriminator.Form = form
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		o := s.objective.(*criticObjective)
		s.Discrepancy(1)
		got, spins := append([]float32(nil), s.grad...), append([]float32(nil), o.from...)

		fresh := newTrainer(t, c, 1).System().(*system).objective.(*criticObjective).critic
		fresh.Evaluate(spins, o.to)
		now := append([]float32(nil), fresh.Values()...)
		for d := range 9 {
			for r := range c.Training.Batch {
				spins[r*9+d] = -spins[r*9+d]
			}
			fresh.Evaluate(spins, o.to)
			for r, f := range fresh.Values() {
				spins[r*9+d] = -spins[r*9+d]
				require.InDelta(t, f-now[r], got[r*9+d], 1e-5)
			}
		}
	}
}

func TestRoadsAreRefused(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"loss.gradient":           func(c *Config) { c.Generator.Head = "sign" },
		"loss.kind":               func(c *Config) { c.Loss.Kind, c.Target.L = "discriminator", 17 },
		"loss.discriminator.form": func(c *Config) { c.Loss.Kind, c.Loss.Discriminator.Form = "discriminator", "" },
	} {
		c := roadConfig(t, "mmd", "sampled", "score", "none")
		require.NoError(t, c.Validate())
		change(c)
		require.ErrorContains(t, c.Validate(), key+":")
	}
	c := roadConfig(t, "mmd", "exact", "score", "none")
	c.Loss.RaoBlackwell = true
	require.ErrorContains(t, c.Validate(), "loss.gradient: with loss.rao_blackwell")
}

// TestRoadsLead trains small generators by each of the paper's other roads.
func TestRoadsLead(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"discriminator": func(c *Config) {
			c.Loss.Kind, c.Loss.Gradient = "discriminator", "difference"
			c.Loss.Discriminator.LearningRate, c.Loss.Discriminator.Steps = 3e-3, 4
		},
		"pairs": func(c *Config) {
			c.Loss.Kind, c.Loss.Gradient = "discriminator", "difference"
			c.Loss.Discriminator.LearningRate, c.Loss.Discriminator.Steps, c.Loss.Discriminator.Form = 3e-3, 4, "pair"
		},
		"score": func(c *Config) { c.Loss.Kind = "kfd" },
		"evolution": func(c *Config) {
			c.Training.Method, c.Loss.Gradient, c.Training.Evolution.Pairs = "evolution", "difference", 16
			c.Loss.Average, c.Loss.Statistic = "exact", mmd.V
		},
	} {
		c := roadConfig(t, "mmd", "sampled", "score", "none")
		c.Target.L, c.Training.Steps, c.Training.Optimizer.LearningRate = 2, 200, 3e-3
		change(c)
		trainer := newTrainer(t, c, 1)
		s := trainer.System().(*system)
		measure := func() float64 {
			e, err := s.Evaluate(context.Background(), trainer.Params(), 20_000)
			require.NoError(t, err)
			return e.Metrics[4].Error
		}
		before := measure()
		for range c.Training.Steps {
			require.NoError(t, trainer.Step())
		}
		require.Less(t, measure(), 0.7*before, name)
	}
}
