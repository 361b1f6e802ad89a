package mixed

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// measured returns a system in its first step, after the discrepancy, and the
// outputs that the batch was drawn from.
func measured(t *testing.T, c *testConfig) (*System, []float32) {
	t.Helper()
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*System)
	s.Generate(trainer.Params(), 1)
	s.Transition(1)
	require.False(t, math.IsNaN(s.Discrepancy(1)))
	return s, s.batch.activations.Output()
}

func headConfig(c *testConfig, objective, gradient string) *testConfig {
	c.Loss.Kind, c.Loss.Gradient = objective, gradient
	return c
}

// TestScoreIsThatOfTheChoice differentiates the logarithm of the probability
// of the choice that was drawn.
func TestScoreIsThatOfTheChoice(t *testing.T) {
	for _, c := range bothHeads(threeTwins(2)) {
		s, out := measured(t, headConfig(c, "mmd", "score"))
		g, o, width := s.generator, s.objective.(*score), s.generator.net.Out()
		dout := make([]float32, len(out))
		s.objective.outputGradient(dout, s.batch, 0, 0, len(s.k))
		var total float64
		for _, v := range o.values {
			total += float64(v)
		}
		require.InDelta(t, 0, total, 1e-6, "the baseline")
		for i := range 50 {
			choice := int(s.batch.choice[i])
			for c := range g.choices {
				logP := func(shift float64) float64 {
					var sum float64
					logits := out[i*width+g.coordinates:][:g.choices]
					for r, h := range logits {
						v := float64(h)
						if r == c {
							v += shift
						}
						sum += math.Exp(v)
					}
					v := float64(logits[choice])
					if choice == c {
						v += shift
					}
					return v - math.Log(sum)
				}
				want := (logP(1e-5) - logP(-1e-5)) / 2e-5 * float64(o.values[i])
				require.InDelta(t, want, dout[i*width+g.coordinates+c], 1e-4*math.Abs(float64(o.values[i]))+1e-12)
			}
			for r := range g.coordinates {
				want := float32(0)
				if r/g.dim == g.point(choice) {
					want = o.gradX[i*g.dim+r%g.dim]
				}
				require.Equal(t, want, dout[i*width+r])
			}
		}
	}
}

// TestDiscriminatorMeansOverChoices differentiates (1/n) Σ_r p_r f((x_r, k_r), s′)
// with p and the drawn x from the outputs, by a discriminator of the same seed
// that has not learned yet.
func TestDiscriminatorMeansOverChoices(t *testing.T) {
	for _, c := range bothHeads(threeTwins(2)) {
		s, out := measured(t, headConfig(c, "discriminator", "surrogate"))
		g, width, n := s.generator, s.generator.net.Out(), len(s.k)
		o := s.objective.(*discriminator)
		dout := make([]float32, len(out))
		o.outputGradient(dout, s.batch, 0, 0, n)

		fresh, err := newDiscriminator(g, n, c.Loss.Discriminator, false, c.Training.Seed, s.workers)
		require.NoError(t, err)
		value := make([][]float32, g.choices) // f of each choice
		slope := make([][]float32, g.choices)
		for r := range g.choices {
			for i := range n {
				fresh.embed(o.from[i*(g.dim+g.modes):][:g.dim+g.modes], out[i*width+g.point(r)*g.dim:][:g.dim], uint8(r%g.modes))
			}
			fresh.critic.Evaluate(o.from, o.to)
			fresh.critic.Gradient(fresh.grad)
			value[r] = append([]float32(nil), fresh.critic.Values()...)
			slope[r] = append([]float32(nil), fresh.grad...)
		}
		for i := range n {
			prob, choice := s.batch.probabilities[i*g.choices:][:g.choices], int(s.batch.choice[i])
			var mean float32
			for r, p := range prob {
				mean += p * value[r][i]
			}
			for r, p := range prob {
				require.InDelta(t, p*(value[r][i]-mean), float32(n)*dout[i*width+g.coordinates+r], 1e-4)
			}
			for j := range g.dim {
				require.InDelta(t, slope[choice][i*(g.dim+g.modes)+j], float32(n)*dout[i*width+g.point(choice)*g.dim+j], 1e-4)
			}
		}
	}
}

// TestScoresAgreeWithMeans: the score function's gradient of a large batch is
// that of the mean over choices, for a witness with s′ fixed.
func TestScoresAgreeWithMeans(t *testing.T) {
	for _, objective := range []string{"kfd", "discriminator"} {
		var grads [2][]float32
		for j, gradient := range values("loss.gradient") {
			c := headConfig(small(paperConfig(), threeTwins(2)), objective, gradient)
			c.Training.Batch = 1 << 15
			s, _ := measured(t, c)
			grads[j] = make([]float32, s.NumParams())
			params := make([]float32, s.NumParams())
			s.Initialize(params)
			s.Backward(params, grads[j])
		}
		var off, size float64
		for i, v := range grads[0] {
			off += math.Pow(float64(grads[1][i]-v), 2)
			size += float64(v) * float64(v)
		}
		require.Less(t, off, 0.02*size, objective)
	}
}
