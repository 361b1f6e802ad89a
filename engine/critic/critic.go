package critic

import (
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// Config describes a discriminator and how it learns.
type Config struct {
	// Form is "pair" for f = h(s, s′) − h(s′, s), or "difference" for
	// f = g(s) − g(s′).
	Form   string `json:"form" enum:"pair,difference"`
	Hidden []int  `json:"hidden" is:"widths"` // widths of the perceptron's hidden layers
	// LearningRate and WeightDecay are those of AdamW.
	LearningRate float64 `json:"learning_rate" is:"positive"`
	WeightDecay  float64 `json:"weight_decay" is:"not negative"` // of its weights
	// Steps of the discriminator, on the same batch, to each of the generator.
	Steps int `json:"steps" is:"1..1000"`
}

// Default returns a discriminator of moderate size. It learns faster than a generator
// at a usual learning rate, since the gradient of a discriminator that lags behind
// sends the generator into a corner.
func Default() Config {
	return Config{Form: "difference", Hidden: []int{64, 64}, LearningRate: 3e-3, WeightDecay: 1e-2, Steps: 4}
}

// slope is LeakyReLU's: the gradient with respect to a state must not vanish.
const slope = 0.2

// A Critic is a discriminator of moves s → t between states of dim numbers,
// bound to one batch size, and the loss (1/n) Σ f(s_i, t_i). A step calls Evaluate; then
// Values, Scores, Gradient and Changes as the generator needs them; and then Learn. None
// of them allocates, none may be called concurrently, and all give the same bits for any
// number of threads.
type Critic struct {
	n, dim  int
	paired  bool // f is h(s, t) − h(t, s)
	config  Config
	net     *nn.MLP
	lanes   *nn.Lanes
	workers *pool.Pool

	Params    []float32 // φ
	Taken     []float64 // number of steps, as one float64
	optimizer *optim.Optimizer
	grad      []float32
	packed    *nn.Packed

	s, t         []float32           // the batch, [n][dim]
	gain         float64             // J of the batch
	sides        [2]nn.Activations   // of (s, t) and of (t, s), or of s and of t
	values       []float32           // f of each pair
	gains        []float64           // Σ (f − ½f²) of each block
	gainSpans    []pool.Span         // gains, shared among ranks
	dout         [][]float32         // ∂/∂f of each lane
	din          [][2][]float32      // gradient with respect to inputs, of each lane and side
	scratch      []*nn.Scratch       // of each lane
	alternatives [][2]nn.Activations // of each block

	// Arguments of the call in progress.
	dst   []float32
	count int
	alter func(state []float32, i, a int)

	evaluate, vary  func(block, lo, hi int, _ []float32)
	descend, ascend func(lane, lo, hi int, grad []float32)
}

// New returns a discriminator for batches of n moves between states of dim
// numbers, of a valid configuration. Its initial weights follow from the seed.
func New(n, dim int, config Config, seed uint64, workers *pool.Pool) *Critic {
	c := &Critic{n: n, dim: dim, paired: config.Form == "pair", config: config, workers: workers}
	in := dim
	if c.paired {
		in = 2 * dim
	}
	c.net = config.net(in)
	params := c.net.NumParams()
	c.lanes = nn.NewLanes(n, params, workers)
	c.Params, c.Taken, c.grad = make([]float32, params), make([]float64, 1), make([]float32, params)
	stream := rng.Stream(seed, rng.Features, 0)
	c.net.Initialize(c.Params, &stream, 0)
	adam := optim.AdamW{LearningRate: config.LearningRate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: config.WeightDecay}
	c.optimizer = optim.NewOptimizer(adam, 0, 0, params, workers)
	c.packed = c.net.NewPacked(true)
	for side := range c.sides {
		c.sides[side] = c.net.NewActivations(n)
	}
	c.values, c.gains = make([]float32, n), make([]float64, c.lanes.Blocks())
	c.gainSpans = []pool.Span{nn.BlockSpan(c.lanes, c.gains)}
	rows := nn.BlockRows()
	c.dout = nn.PerLane(c.lanes, func() []float32 { return make([]float32, rows) })
	c.din = nn.PerLane(c.lanes, func() [2][]float32 { return [2][]float32{make([]float32, rows*in), make([]float32, rows*in)} })
	c.scratch = nn.PerLane(c.lanes, func() *nn.Scratch { return nn.NewScratch(rows, c.net) })
	for range c.lanes.Blocks() {
		c.alternatives = append(c.alternatives, [2]nn.Activations{c.net.NewActivations(rows), c.net.NewActivations(rows)})
	}
	c.evaluate, c.vary, c.descend, c.ascend = c.evaluateBlock, c.varyBlock, c.descendBlock, c.ascendBlock
	return c
}

// net returns the perceptron for a number of inputs.
func (c *Config) net(in int) *nn.MLP {
	return nn.NewMLP(slope, slices.Concat([]int{in}, c.Hidden, []int{1})...)
}

// State lists what a checkpoint must hold of the discriminator.
func (c *Critic) State() []state.Section {
	sections := []state.Section{{Name: "critic.params", Float32: c.Params}}
	for _, s := range c.optimizer.State() {
		s.Name = "critic." + strings.TrimPrefix(s.Name, "adam.")
		sections = append(sections, s)
	}
	return append(sections, state.Section{Name: "critic.taken", Float64: c.Taken})
}

// Evaluate returns J of the batch of moves s → t, [n][dim] row-major each, which
// must stay as they are until Learn has returned. It reads a rank's own rows of s and t.
func (c *Critic) Evaluate(s, t []float32) float64 {
	if len(s) != c.n*c.dim || len(t) != c.n*c.dim {
		panic("critic: batch of the wrong size")
	}
	c.s, c.t = s, t
	c.forward()
	c.lanes.Gather(c.gainSpans...)
	var sum float64
	for _, g := range c.gains {
		sum += g
	}
	c.gain = sum / float64(c.n)
	return c.gain
}

// Values returns f(s_i, t_i) of the last Evaluate, [n], of a rank's own rows.
func (c *Critic) Values() []float32 { return c.values }

// Gradient sets grad, [n][dim], to the gradient of the loss with respect to s, with t and
// f fixed, in a rank's own rows.
func (c *Critic) Gradient(grad []float32) {
	c.dst = grad
	c.lanes.Each(c.descend)
}

// Scores sets values, [n], to the coefficients of the score function: f(s_i, t_i), or
// g(s_i) for the form g(s) − g(t), whose second term does not depend on s.
func (c *Critic) Scores(values []float32) {
	if c.paired {
		copy(values, c.values)
	} else {
		copy(values, c.sides[0].Output())
	}
	c.lanes.Gather(nn.RowSpan(c.lanes, values, 1))
}

// Changes sets changes[i·count + a] to the change of the loss, (f(s̃, t_i) − f(s_i, t_i))/n,
// for a rank's own rows. s̃ is a copy of s_i that alter has changed to alternative a.
// Pass the same alter in every step: a new function value would allocate.
func (c *Critic) Changes(changes []float32, count int, alter func(state []float32, i, a int)) {
	if len(changes) != c.n*count {
		panic("critic: alternatives of the wrong number")
	}
	c.dst, c.count, c.alter = changes, count, alter
	c.lanes.Own(c.vary)
}

// Learn takes the discriminator's steps on the batch. It returns J as Evaluate did, or
// NaN if a parameter is not finite.
func (c *Critic) Learn() float64 {
	for step := range c.config.Steps {
		if step > 0 {
			c.forward()
		}
		c.lanes.Backward(c.grad, c.ascend)
		c.Taken[0]++
		if !c.optimizer.Step(c.Params, c.grad, 0, int(c.Taken[0]), 1) {
			return math.NaN()
		}
	}
	return c.gain
}

func (c *Critic) forward() {
	c.net.PackOn(c.workers, c.packed, c.Params)
	c.lanes.Own(c.evaluate)
}

// setInputs writes the inputs of the two sides for one move.
func (c *Critic) setInputs(sides *[2]nn.Activations, row int, s, t []float32) {
	in := c.net.In()
	a, b := sides[0][0][row*in:][:in], sides[1][0][row*in:][:in]
	copy(a, s)
	copy(b, t)
	if c.paired {
		copy(a[c.dim:], t)
		copy(b[c.dim:], s)
	}
}

func (c *Critic) state(states []float32, i int) []float32 { return states[i*c.dim:][:c.dim] }

func (c *Critic) evaluateBlock(block, lo, hi int, _ []float32) {
	for i := lo; i < hi; i++ {
		c.setInputs(&c.sides, i, c.state(c.s, i), c.state(c.t, i))
	}
	for _, side := range c.sides {
		c.net.Forward(side, c.packed, c.Params, lo, hi)
	}
	var sum float64
	for i := lo; i < hi; i++ {
		f := c.sides[0].Output()[i] - c.sides[1].Output()[i]
		c.values[i] = f
		sum += float64(f) - float64(f)*float64(f)/2
	}
	c.gains[block] = sum
}

// varyBlock evaluates all alternatives of rows lo … hi−1, a block at a time.
func (c *Critic) varyBlock(block, lo, hi int, _ []float32) {
	sides := &c.alternatives[block]
	for first := lo * c.count; first < hi*c.count; first += nn.BlockRows() {
		rows := min(nn.BlockRows(), hi*c.count-first)
		for row := range rows {
			i, a := (first+row)/c.count, (first+row)%c.count
			c.setInputs(sides, row, c.state(c.s, i), c.state(c.t, i))
			in := c.net.In()
			altered := sides[0][0][row*in:][:c.dim]
			c.alter(altered, i, a)
			if c.paired {
				copy(sides[1][0][row*in+c.dim:], altered)
			}
		}
		c.net.Forward(sides[0], c.packed, c.Params, 0, rows)
		if c.paired {
			c.net.Forward(sides[1], c.packed, c.Params, 0, rows)
		}
		for row := range rows {
			i := (first + row) / c.count
			change := sides[0].Output()[row] - c.sides[0].Output()[i]
			if c.paired {
				change -= sides[1].Output()[row] - c.sides[1].Output()[i]
			}
			c.dst[first+row] = change * (1 / float32(c.n))
		}
	}
}

// backward takes dout, the gradient with respect to one side's output, through the perceptron.
func (c *Critic) backward(side, lane, lo, hi int, grad []float32) []float32 {
	din := c.din[lane][side][:(hi-lo)*c.net.In()]
	c.net.Backward(grad, din, c.dout[lane][:hi-lo], c.sides[side], c.packed, lo, hi, c.scratch[lane])
	return din
}

// descendBlock sets the gradient with respect to s. Nobody uses the gradient of the parameters.
func (c *Critic) descendBlock(lane, lo, hi int, grad []float32) {
	dout := c.dout[lane][:hi-lo]
	for r := range dout {
		dout[r] = 1
	}
	dinForward := c.backward(0, lane, lo, hi, grad)
	var dinReversed []float32 // of h(t, s); there is none of g(t), since t is fixed
	if c.paired {
		dinReversed = c.backward(1, lane, lo, hi, grad)
	}
	share := 1 / float32(c.n)
	for i := lo; i < hi; i++ {
		row := (i - lo) * c.net.In()
		for d := range c.dim {
			g := dinForward[row+d]
			if c.paired {
				g -= dinReversed[row+c.dim+d]
			}
			c.dst[i*c.dim+d] = g * share
		}
	}
}

// ascendBlock adds the gradient of −J: ∂J/∂f_i = (1 − f_i)/n.
func (c *Critic) ascendBlock(lane, lo, hi int, grad []float32) {
	dout := c.dout[lane][:hi-lo]
	for side, sign := range [2]float32{-1, 1} {
		for r := range dout {
			dout[r] = sign * (1 - c.values[lo+r]) / float32(c.n)
		}
		c.backward(side, lane, lo, hi, grad)
	}
}

// Bytes bounds what a Critic of batches of n moves between states of dim numbers
// allocates.
func (c *Config) Bytes(n, dim int) float64 {
	net := c.net(2 * dim)
	width, widest := net.Widths()
	rows, lanes, params := float64(n+nn.BlockRows()), float64(nn.LanesOf(n)), net.NumParams()
	return 4 * (rows*(4*float64(width)+8) + lanes*float64(nn.BlockRows())*4*float64(widest) + (9+lanes)*float64(params))
}
