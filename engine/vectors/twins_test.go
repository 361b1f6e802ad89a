package vectors

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// twins is the target of the tests: in each mode x = c + σt, of which t_0 is one of
// two Gaussians about ±1 and all other t_i are standard normal.
type twins []twin

type twin struct {
	weight float64
	center []float64
	scale  float64
}

const twinWidth = 0.4 // of the Gaussians about ±1

// threeTwins are modes of unequal weight, centre and scale in d dimensions.
func threeTwins(d int) twins {
	var t twins
	for k, weight := range []float64{0.5, 0.3, 0.2} {
		m := twin{weight: weight, scale: 0.2 * math.Pow(4, float64(k))}
		for i := range d {
			m.center = append(m.center, 0.5*float64(k*(1-2*(i%2))))
		}
		t = append(t, m)
	}
	return t
}

func (t twins) Dim() int   { return len(t[0].center) }
func (t twins) Modes() int { return len(t) }

func (t twins) Place(k int) ([]float64, float64) { return t[k].center, t[k].scale }

func (t twins) log(x []float64, k int) float64 {
	m := t[k]
	sum := math.Log(m.weight) - float64(len(x))*math.Log(m.scale*math.Sqrt(2*math.Pi)) - math.Log(2*twinWidth)
	for i, v := range x {
		u := (v - m.center[i]) / m.scale
		if i > 0 {
			sum -= u * u / 2
			continue
		}
		a, b := (u-1)/twinWidth, (u+1)/twinWidth
		near, far := min(a*a, b*b), max(a*a, b*b)
		sum += -near/2 + math.Log1p(math.Exp((near-far)/2))
	}
	return sum
}

func (t twins) LogDensity(dst, x []float32, k []uint8) {
	var row [8]float64
	d := t.Dim()
	for r := range dst {
		for i, v := range x[r*d : (r+1)*d] {
			row[i] = float64(v)
		}
		dst[r] = float32(t.log(row[:d], int(k[r])))
	}
}

func (t twins) sample(x []float32, k []uint8, c *asm.Counter, first uint64) {
	d := t.Dim()
	u, z := make([]float32, 4), make([]float32, d)
	for r := range k {
		at := first + uint64(r)
		asm.Uniforms(u, c, upperHalf|at)
		rng.Normals(z, d, c, at)
		k[r] = 0
		for left := float64(u[0]) - t[0].weight; left >= 0 && int(k[r]) < len(t)-1; left -= t[k[r]].weight {
			k[r]++
		}
		m := t[k[r]]
		for i, n := range z {
			v := float64(n)
			if i == 0 {
				v = v*twinWidth - 1
				if u[1] < 0.5 {
					v += 2
				}
			}
			x[r*d+i] = float32(m.center[i] + m.scale*v)
		}
	}
}

// rank is the distribution function of the first coordinate.
func (t twins) rank(x []float32, k uint8) float64 {
	u := (float64(x[0]) - t[k].center[0]) / t[k].scale
	return (math.Erfc(-(u-1)/(twinWidth*math.Sqrt2)) + math.Erfc(-(u+1)/(twinWidth*math.Sqrt2))) / 4
}

// deviation compares the modes' probabilities and the first and second moments of
// t, and of |t_0|, in each mode.
func (t twins) deviation(x []float32, k []uint8) (worst float64) {
	d := t.Dim()
	for mode, m := range t {
		share, moments := stat.Mean{}, make([]stat.Mean, 2*d)
		for r, c := range k {
			if int(c) != mode {
				share.Add(0)
				continue
			}
			share.Add(1)
			for i, v := range x[r*d : (r+1)*d] {
				u := (float64(v) - m.center[i]) / m.scale
				moments[2*i].Add(u)
				moments[2*i+1].Add(u * u)
			}
		}
		off := math.Abs(share.Value()-m.weight) / share.StandardError()
		for i, got := range moments {
			want := float64(i % 2)
			if i == 1 {
				want += twinWidth * twinWidth
			}
			off = max(off, math.Abs(got.Value()-want)/got.StandardError())
		}
		if !(off <= math.MaxFloat64) {
			return math.MaxFloat64
		}
		worst = max(worst, off)
	}
	return worst
}

func (t twins) known() Known {
	k := Known{
		Target: t, Log: t.log, Sample: t.sample, Rank: t.rank, Deviation: t.deviation,
		Width: 0.05,
	}
	if t.Dim() > 1 {
		k.Width = 0.4 // states have few neighbours nearer than that
	}
	for _, m := range t {
		k.Weights = append(k.Weights, m.weight)
	}
	return k
}

// changed returns the target with one of its modes changed.
func (t twins) changed(change func(m *twin)) twins {
	t = slices.Clone(t)
	t[1].center = slices.Clone(t[1].center)
	change(&t[1])
	return t
}

func exactTwins(t twins, n int, seed uint64) States {
	s := newStates(n, t.Dim(), t.Modes())
	t.sample(s.X, s.K, &asm.Counter{Seed: seed, Purpose: 9}, 0)
	return s
}

// A modalConfig is a configuration of the kit with a target that has modes.
type modalConfig struct {
	ModalConfig
	target Modal
}

func (c *modalConfig) Validate() error {
	return c.ModalConfig.Validate(c.target.Dim(), c.target.Modes())
}

func (c *modalConfig) New(workers *pool.Pool) (engine.System, error) {
	return New(&c.ModalConfig, c.target, workers), nil
}

// modalPaper has the paper's architecture, loss and moves.
func modalPaper() ModalConfig {
	c := ModalPaper("test")
	c.Training.Steps, c.Training.LogEvery, c.Training.Schedule = 100, 10, optim.Schedule{Kind: "constant"}
	c.Training.CheckpointEvery, c.Evaluation.Samples = 0, 1000
	c.Generator.Components, c.Generator.Scout = 3, mixture.ScoutConfig{Population: 100, Moves: 2}
	return c
}

// modalBest learns a density from moves and independent samples.
func modalBest() ModalConfig {
	c := modalPaper()
	c.Training.Optimizer = optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16}
	c.Training.EMA = 0.999
	c.Transition = ModalTransition{Order: "random", Across: 0.5, Sigma: []float64{0.1, 0.5}, Flip: 0.5, Steps: 10}
	c.Generator.Kind = "mixture"
	c.Loss = ModalLoss{Kind: "balance", Balancing: engine.Balancing{Partners: 0.5}}
	return c
}

// small returns a configuration cut down to run in milliseconds.
func small(c ModalConfig, target Modal) *modalConfig {
	c.Training.Batch, c.Training.Steps = 400, 4
	c.Generator.Hidden, c.Generator.Latent = []int{16, 16}, 5
	return &modalConfig{c, target}
}

// bothKinds are a configuration of each loss.
func bothKinds(target Modal) map[string]*modalConfig {
	return map[string]*modalConfig{"pairs": small(modalPaper(), target), "balance": small(modalBest(), target)}
}

func newTrainer(t *testing.T, c engine.Config, threads int) *engine.Trainer {
	t.Helper()
	workers := pool.New(threads)
	t.Cleanup(workers.Close)
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	return trainer
}

// TestTwins holds the exact samples against the moments and the density, by
// quadrature in one dimension.
func TestTwins(t *testing.T) {
	for _, d := range dims {
		target := threeTwins(d)
		s := exactTwins(target, 1<<15, 1)
		require.Less(t, target.deviation(s.X, s.K), 5.5)
		require.Greater(t, target.changed(func(m *twin) { m.scale *= 1.05 }).deviation(s.X, s.K), 6.0)
	}
	var total float64
	for k := range 3 {
		for u := -40.0; u < 40; u += 1e-3 {
			total += 1e-3 * math.Exp(threeTwins(1).log([]float64{u}, k))
		}
	}
	require.InDelta(t, 1, total, 1e-9)
	require.Equal(t, [numMoves]string{walking: "walk", flip: "flip", teleport: "teleport"}, moveNames)
}
