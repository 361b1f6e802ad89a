package vectors

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/internal/pool"
)

// A lineFit is the posterior of a line y = a + bt through a few measurements,
// x = (a, b) with standard normal priors, and of the law of their errors, k: Gaussian,
// Laplace's or Cauchy's, of scale 0.4 each.
type lineFit struct{}

var measurements = [][2]float64{{-1, -0.9}, {-0.6, -0.2}, {-0.2, -0.3}, {0.2, 0.5}, {0.6, 0.4}, {1, 1.7}}

func (lineFit) Dim() int   { return 2 }
func (lineFit) Modes() int { return 3 }

func (lineFit) log(a, b float64, k int) float64 {
	sum := -(a*a + b*b) / 2
	for _, m := range measurements {
		r := math.Abs(m[1]-a-b*m[0]) / 0.4
		switch k {
		case 0:
			sum -= r*r/2 + math.Log(2*math.Pi)/2
		case 1:
			sum -= r + math.Ln2
		case 2:
			sum -= math.Log(math.Pi * (1 + r*r))
		}
	}
	return sum
}

func (t lineFit) LogDensity(dst, x []float32, k []uint8) {
	for r := range dst {
		dst[r] = float32(t.log(float64(x[2*r]), float64(x[2*r+1]), int(k[r])))
	}
}

// lineStatistics are P(k) and, in each mode, ⟨a⟩, ⟨b⟩, ⟨a²⟩ and ⟨b²⟩ times it.
const lineStatistics = 15

func addLine(sum *[lineStatistics]float64, weight, a, b float64, k int) {
	for i, v := range [5]float64{1, a, b, a * a, b * b} {
		sum[5*k+i] += weight * v
	}
}

// exact integrates by the trapezoidal rule.
func (t lineFit) exact() (sum [lineStatistics]float64) {
	const h = 0.02
	var total float64
	for k := range 3 {
		for a := -5.0; a <= 5; a += h {
			for b := -5.0; b <= 5; b += h {
				weight := math.Exp(t.log(a, b, k))
				total += weight
				addLine(&sum, weight, a, b, k)
			}
		}
	}
	for i := range sum {
		sum[i] /= total
	}
	return sum
}

// TestTrainingFindsAPosterior trains a perceptron by pairs and a density by the loss of
// detailed balance, from moves and from independent samples, and compares the modes'
// probabilities and moments with quadrature.
func TestTrainingFindsAPosterior(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	for name, within := range map[string]float64{"pairs": 0.08, "moves": 0.02, "partners": 0.02} {
		t.Run(name, func(t *testing.T) { findsAPosterior(t, name, within) })
	}
}

func findsAPosterior(t *testing.T, name string, within float64) {
	c := &modalConfig{modalBest(), lineFit{}}
	c.Training.Batch, c.Training.Steps, c.Training.EMA = 512, 400, 0.99
	c.Training.Optimizer.LearningRate = 1e-2
	c.Training.Schedule = optim.Schedule{Kind: "cosine", Final: 0.01}
	c.Transition.Sigma = []float64{0.1, 0.4}
	c.Loss.Partners = map[string]float64{"moves": 0, "partners": 1}[name]
	if name == "pairs" {
		c.Training.Steps, c.Training.Optimizer.LearningRate = 800, 3e-3
		c.Generator.Kind, c.Generator.Latent, c.Generator.Hidden, c.Generator.Gain = "perceptron", 4, []int{32, 32}, 2
		c.Loss = ModalLoss{Kind: "mmd", Kernel: mmd.Kernel{Bandwidths: []float64{1}, IMQ: []mmd.IMQ{{C: 0.2, Beta: 0.5, Weight: 1}}}, Statistic: mmd.U}
	}
	workers := pool.New(2)
	defer workers.Close()
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	s := trainer.System().(*System)
	before := lineError(trainer)
	for trainer.Steps() < c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	require.Less(t, lineError(trainer), min(within, before/3))
	require.Equal(t, name != "partners", s.transition.Acceptance() > 0.05)
}

// TestEveryMoveIsAccepted: where modes are alike, a fair part of each kind of
// proposal.
func TestEveryMoveIsAccepted(t *testing.T) {
	for name, c := range bothKinds(threeTwins(1)) {
		c.Transition.Order = "random"
		trainer := newTrainer(t, c, 2)
		var counts [numMoves]engine.Count // of the last move of each step
		for range c.Training.Steps {
			require.NoError(t, trainer.Step())
			for _, m := range trainer.System().(*System).transition.movers {
				m.countKinds(&counts)
			}
		}
		for m, count := range counts {
			require.Greater(t, count.Rate(), 0.02, "%s %s", name, moveNames[m])
		}
	}
}

func TestExplain(t *testing.T) {
	vector, modal := Paper("gmm"), ModalPaper("hybrid")
	for kind, name := range map[string]string{"mmd": "MMD²", "discriminator": "a learned discriminator"} {
		vector.Loss.Kind, modal.Loss.Kind = kind, kind
		require.Contains(t, vector.Explain(), name+" between the laws")
		require.Contains(t, modal.Explain(), name+" between the laws")
	}
	require.Equal(t, "a perceptron with a point and a logit for each mode, "+engine.ByPairs("a learned discriminator", "3 Metropolis steps within and across modes in the paper's order"), strings.ReplaceAll(modal.Explain(), "MMD²", "a learned discriminator"))
	modal = modalBest()
	modal.Training.Batch, modal.Loss.Partners, modal.Transition.Steps, modal.Generator.Bent = 400, 0.25, 7, true
	require.Equal(t, "a mixture of 3 Gaussians for each mode, bent, "+modal.Loss.Explain("7 Metropolis steps within and across modes")+"; a step evaluates ln π 2500 times", modal.Explain(), "400 + 300·7")
	require.Contains(t, vector.Explain(), "; a step evaluates ln π 8192 times", "2048 (1 + 3)")
	vector.Flow(2, false)
	require.Contains(t, vector.Explain(), "; a step evaluates ln π 4352 times", "512 (1 + ¾ 10)")
	require.NotContains(t, vector.Explain(), "early")
	vector.Loss.Thrift(0.995)
	require.Contains(t, vector.Explain(), "a batch serves 4 steps and evaluates ln π 4352 times; training stops early once the effective sample size reaches 0.995")
}
