package vectors

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/internal/pool"
)

// TestLimits has what is just within each limit of a configuration, and what is just beyond.
func TestLimits(t *testing.T) {
	residual := func(c *Config) {
		c.Generator = GeneratorConfig{Kind: "residual", Depth: 1, Hidden: []int{32}, Slope: 0.01, Gain: 1}
	}
	mixed := func(c *Config) {
		of := testConfig{Config: *c}
		placed(&of, 2)
		*c = of.Config
		c.Generator.Depth = 0
	}
	for _, c := range []struct {
		dim                  int
		base, within, beyond func(c *Config)
		want                 string
	}{
		{2, nil, func(c *Config) { c.Transition.Steps = 1 }, func(c *Config) { c.Transition.Steps = 0 }, "transition.steps: 0 is not between 1 and 65536"},
		{2, nil, func(c *Config) { c.Transition.Steps = 1 << 16 }, func(c *Config) { c.Transition.Steps = 1<<16 + 1 }, "transition.steps: 65537 is not between 1 and 65536"},
		{2, nil, nil, func(c *Config) { c.Transition.Sigma = nil }, "transition.sigma: the list is empty; give at least one standard deviation"},
		{2, nil, func(c *Config) { c.Transition.Annealing = engine.Annealing{Anneal: 0.5, AnnealFrom: 1} }, func(c *Config) { c.Transition.Annealing = engine.Annealing{Anneal: 0.5, AnnealFrom: 1.01} }, "transition.anneal_from: 1.01 is more than 1, the target itself"},
		{2, nil, func(c *Config) { c.Generator.Depth = 1 }, func(c *Config) { c.Generator.Depth = 0 }, "generator.depth: 0 is not between 1 and 256"},
		{2, nil, func(c *Config) { c.Generator.Depth = 256 }, func(c *Config) { c.Generator.Depth = 257 }, "generator.depth: 257 is not between 1 and 256"},
		{2, mixed, func(c *Config) { c.Generator.Depth = 0 }, func(c *Config) { c.Generator.Depth = -1 }, "generator.depth: -1 is not between 0 and 256"},
		{2, nil, nil, func(c *Config) { c.Generator.Hidden = []int{0} }, "generator.hidden[0]: 0 is not between 1 and 1024"},
		{2, nil, nil, func(c *Config) { c.Generator.Slope = 0 }, "generator.slope: 0 "},
		{2, nil, nil, func(c *Config) { c.Generator.Gain = 0 }, "generator.gain: 0 is not a positive finite number"},
		{2, nil, nil, func(c *Config) { c.Generator.Clamp = 0 }, "generator.clamp: 0 is not a positive finite number"},
		{2, mixed, func(c *Config) { c.Generator.Bend = 0 }, func(c *Config) { c.Generator.Bend = -1 }, "generator.bend: -1 is not a finite number ≥ 0"},
		{3, residual, func(c *Config) { c.Generator.Latent = 3 }, func(c *Config) { c.Generator.Latent = 2 }, "generator.latent: 2 is less than the 3 coordinates of a state; set it to 0, for as many, or to more"},
		{3, residual, func(c *Config) { c.Generator.Latent = 4096 }, func(c *Config) { c.Generator.Latent = 4097 }, "generator.latent: 4097 is not between 0 and 4096"},
		{3, residual, func(c *Config) { c.Generator.Latent = 0 }, func(c *Config) { c.Generator.Latent = -1 }, "generator.latent: -1 is not between 0 and 4096"},
		{1, residual, nil, func(c *Config) { c.Generator.Kind, c.Generator.Partition, c.Generator.Clamp = "realnvp", "parity", 1 }, "generator.kind: couplings need two coordinates or more: in one, a realnvp is an affine map, and its states are Gaussian; use residual or mixture"},
		{1, mixed, nil, func(c *Config) { c.Generator.Depth = 1 }, "generator.depth: couplings need two coordinates or more; set it to 0"},
		{2, mixed, func(c *Config) { c.Generator.Components = 1024 }, func(c *Config) { c.Generator.Components = 1025 }, "generator.components: 1025 is not between 1 and 1024"},
		{3, nil, func(c *Config) { c.Generator.Partition, c.Generator.Changed = "listed", []int{2, 0} }, func(c *Config) { c.Generator.Partition, c.Generator.Changed = "listed", []int{0, 3} }, "generator.changed[1]: 3 is not between 0 and 2"},
		{3, nil, nil, func(c *Config) { c.Generator.Partition, c.Generator.Changed = "listed", []int{-1} }, "generator.changed[0]: -1 is not between 0 and 2"},
		{3, nil, nil, func(c *Config) { c.Generator.Partition, c.Generator.Changed = "listed", []int{1, 1} }, "generator.changed[1]: coordinate 1 is listed twice"},
		{3, nil, nil, func(c *Config) { c.Generator.Partition, c.Generator.Changed = "listed", []int{2, 1, 0} }, "generator.changed: 3 of 3 coordinates; list some, not all, for the others to depend on"},
		{3, nil, nil, func(c *Config) { c.Generator.Partition, c.Generator.Changed = "listed", []int{} }, "generator.changed: 0 of 3 coordinates; list some, not all, for the others to depend on"},
		{2, mixed, func(c *Config) { c.Loss.Reuse = 1024 }, func(c *Config) { c.Loss.Reuse = 1025 }, "loss.reuse: 1025 is not between 0 and 1024"},
		{2, mixed, func(c *Config) { c.Loss.Enough = 1 }, func(c *Config) { c.Loss.Enough = 1.01 }, "loss.enough: 1.01 is not between 0 and 1"},
		{2, mixed, func(c *Config) { c.Loss.Partners = 1 }, func(c *Config) { c.Loss.Partners = 1.01 }, "loss.partners: 1.01 is not between 0 and 1"},
		{2, nil, func(c *Config) { c.Loss.Boundary.Weight = 0 }, func(c *Config) { c.Loss.Boundary.Weight = -1 }, "loss.boundary.weight: -1 is not a finite number ≥ 0"},
		{2, nil, func(c *Config) { c.Loss.Boundary.Weight, c.Loss.Boundary.Sharpness = 0, 0 }, func(c *Config) { c.Loss.Boundary.Sharpness = 0 }, "loss.boundary.sharpness: 0 is not a positive finite number"},
		{2, nil, nil, func(c *Config) { c.Loss.Boundary.Radius = 0 }, "loss.boundary.radius: 0 is not a positive finite number"},
		{2, nil, func(c *Config) { c.Loss.Boundary.Center = []float64{1, 2} }, func(c *Config) { c.Loss.Boundary.Center = []float64{1} }, "loss.boundary.center: 1 coordinates where a state has 2; give as many, or none for the origin"},
		{2, nil, nil, func(c *Config) { c.Loss.Boundary.Center = []float64{1, math.Inf(1)} }, "loss.boundary.center[1]: +Inf is not finite"},
	} {
		make := func(change func(c *Config)) error {
			of := paperConfig()
			for _, f := range []func(c *Config){c.base, change} {
				if f != nil {
					f(&of)
				}
			}
			return of.Validate(c.dim)
		}
		require.NoError(t, make(c.within), c.want)
		require.ErrorContains(t, make(c.beyond), c.want)
	}
	plain, modal := paperConfig(), modalPaper()
	for _, validate := range []func(of ...engine.Demand) error{
		func(of ...engine.Demand) error { return plain.Validate(2, of...) }, func(of ...engine.Demand) error { return modal.Validate(2, 3, of...) },
	} {
		require.NoError(t, validate(engine.Demand{Key: "target.own", Bytes: 1}))
		require.ErrorContains(t, validate(engine.Demand{Key: "target.own", Bytes: 1e18}), "target.own: ")
	}
	for _, c := range []struct {
		dim, modes int
		change     func(c *ModalConfig)
		want       string
	}{
		{512, 256, nil, ""}, {513, 1, nil, "target's coordinates: 513 is not between 1 and 512"}, {0, 1, nil, "target's coordinates: 0 is not between 1 and 512"},
		{1, 0, nil, "target's modes: 0 is not between 1 and 256"}, {1, 257, nil, "target's modes: 257 is not between 1 and 256"},
		{1, 1, func(c *ModalConfig) { c.Transition.Flip = 1.1 }, "transition.flip: 1.1 is not"}, {1, 1, func(c *ModalConfig) { c.Transition.Order, c.Transition.Across = "random", 1.1 }, "transition.across: 1.1 is not"},
		{1, 1, func(c *ModalConfig) { c.Generator.Latent = 0 }, "generator.latent: 0 is not between 1 and 4096"},
		{1, 1, func(c *ModalConfig) { *c = modalBest(); c.Generator.Components = 256 }, ""},
		{1, 1, func(c *ModalConfig) { *c = modalBest(); c.Generator.Components = 257 }, "generator.components: 257 is not between 1 and 256"},
	} {
		of := modalPaper()
		of.Training.Batch = 16
		if c.change != nil {
			c.change(&of)
		}
		err := of.Validate(c.dim, c.modes)
		if c.want == "" {
			require.NoError(t, err, c)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	e := Economy{Reuse: 2}
	var fresh []bool
	for step := range uint32(7) {
		fresh = append(fresh, e.fresh(step+1))
	}
	require.Equal(t, []bool{true, false, false, true, false, false, true}, fresh)
	e.Thrift(0.75)
	require.Equal(t, Economy{3, 0.75}, e)
}

// TestConvergence judges each 16,384 weights: their effective size and their tail.
func TestConvergence(t *testing.T) {
	const n = 1 << 14
	random := rand.New(rand.NewPCG(1, 2))
	weights := func(deviation float64) (r []float64) {
		for range n / 4 {
			r = append(r, deviation*random.NormFloat64())
		}
		return r
	}
	c := newConvergence(&Economy{Enough: 0.9, Reuse: 7})
	b := &balance{}
	require.False(t, b.Converged(), "all steps")
	b.convergence = c
	for i := range 8 { // the first quarter is rough
		deviation := 0.1
		if i == 0 {
			deviation = 1
		}
		require.Zero(t, c.state[1])
		require.Equal(t, float64(i%4*n/4), c.state[0])
		c.add(weights(deviation))
	}
	require.True(t, b.Converged())
	c.reset()
	require.False(t, b.Converged())
	c.add(weights(0.1))
	c.reset()
	require.Zero(t, c.state[0])
	// Fewer where batches serve more steps.
	for reuse, want := range map[int]int{0: n, 7: n, 15: n / 2, 31: n / 4} {
		require.Len(t, newConvergence(&Economy{Reuse: reuse}).r, want)
	}
	// A size that is enough, and a tail that is too heavy.
	r := make([]float64, n)
	for i := range r {
		if r[i] = 0.01 * random.NormFloat64(); i%100 == 0 {
			r[i] = -1.5 * (random.ExpFloat64() - 1)
		}
	}
	tail := newConvergence(&Economy{Enough: 0.001})
	tail.add(r)
	require.False(t, (&balance{convergence: tail}).Converged())
}

// many is normal in each of so many modes.
type many struct{ dim, modes int }

func (m many) Dim() int   { return m.dim }
func (m many) Modes() int { return m.modes }
func (m many) LogDensity(dst, x []float32, k []uint8) {
	for r := range dst {
		dst[r] = float32(k[r]) / 8
		for _, v := range x[r*m.dim : (r+1)*m.dim] {
			dst[r] -= v * v / 2
		}
	}
}

// ensemble returns that of a target with modes.
func ensemble(t *testing.T, target Modal) *Ensemble {
	workers := pool.New(1)
	t.Cleanup(workers.Close)
	c := modalBest()
	return newEnsemble(c.settings(), target, workers)
}

// TestObservables: of many modes the first sixteen and the number, of many coordinates the first
// eight, and the first coordinate in each of those modes.
func TestObservables(t *testing.T) {
	for _, c := range []struct{ dim, modes int }{{1, 1}, {2, 1}, {1, 2}, {9, 16}, {10, 17}} {
		e := ensemble(t, many{c.dim, c.modes})
		var want []string
		shown := min(c.modes, 16)
		if c.modes == 1 {
			shown = 0
		}
		for k := range shown {
			want = append(want, fmt.Sprintf("mode_weight_%d", k))
		}
		if c.modes > 16 {
			want = append(want, "mode")
		}
		for i := range min(c.dim, 8) {
			want = append(want, fmt.Sprintf("x%d", i))
		}
		if c.dim > 1 {
			want = append(want, "mean_square")
		}
		for k := range shown {
			want = append(want, fmt.Sprintf("x0_in_mode_%d", k))
		}
		want = append(want, "log_density", engine.LogWeight)
		require.Equal(t, want, e.Observables())

		const n = 20
		s := e.NewStates(n)
		for i := range s.X {
			s.X[i] = float32(i%23) - 9.5
		}
		for i := range s.K {
			s.K[i] = uint8(i % c.modes)
		}
		row := 4*c.dim + 4
		states, values := make([]byte, n*row), make([]float64, n*len(want))
		s.write(states, row)
		require.NoError(t, e.Score(values, nil, "states", states))
		for i := range n {
			x, k := s.X[i*c.dim:(i+1)*c.dim], int(s.K[i])
			var squares float64
			for _, v := range x {
				squares += float64(v) * float64(v) / float64(c.dim)
			}
			for j, name := range want {
				var of, mode int
				value := float64(k)/8 - squares*float64(c.dim)/2
				switch {
				case scan(name, "mode_weight_%d", &mode):
					value = map[bool]float64{true: 1}[mode == k]
				case name == "mode":
					value = float64(k)
				case scan(name, "x0_in_mode_%d", &mode):
					value = map[bool]float64{true: float64(x[0])}[mode == k]
				case name == "mean_square":
					value = squares
				case scan(name, "x%d", &of):
					value = float64(x[of])
				case name == engine.LogWeight:
					require.True(t, math.IsNaN(values[i*len(want)+j]))
					continue
				}
				require.InDelta(t, value, values[i*len(want)+j], 1e-5, "%s of state %d", name, i)
			}
		}
	}
}

// scan reports whether a name has a form, and reads its number.
func scan(name, form string, number *int) bool {
	n, err := fmt.Sscanf(name, form, number)
	return err == nil && n == 1 && fmt.Sprintf(form, *number) == name
}

// TestStates: what is written is read again, and what is none is refused with its place.
func TestStates(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	plain, _ := newTestSystem(plane(0.6), workers)
	modal := ensemble(t, many{2, 3})
	bytes := func(words ...uint32) (all []byte) {
		for _, w := range words {
			all = binary.LittleEndian.AppendUint32(all, w)
		}
		return all
	}
	one, nan := math.Float32bits(1.5), uint32(0x7fc00000)
	inf := math.Float32bits(float32(math.Inf(-1)))
	s, _, err := modal.toLearned("states", bytes(one, 0, 2, 0, one, 0))
	require.NoError(t, err)
	require.Equal(t, States{2, []float32{1.5, 0, 0, 1.5}, []uint8{2, 0}}, s)
	back := make([]byte, 24)
	s.write(back, 12)
	require.Equal(t, bytes(one, 0, 2, 0, one, 0), back)
	short := make([]byte, 16)
	require.NoError(t, modal.Convert(short, "x", back))
	require.Equal(t, bytes(one, 0, 0, one), short)
	require.Equal(t, States{2, []float32{0, 1.5}, []uint8{0}}, s.Part(1, 2))
	for _, c := range []struct {
		e      *Ensemble
		format string
		states []byte
		want   string
	}{
		{modal, "x", nil, "format: x says nothing of the modes; take states"}, {plain.Ensemble, "x", nil, `format: "x" is not states`},
		{modal, "bits", nil, `format: "bits" is not states`}, {modal, "states", make([]byte, 25), "states: 25 bytes are not a number of states of 2 coordinates and a mode"},
		{plain.Ensemble, "states", make([]byte, 12), "states: 12 bytes are not a number of states of 2 coordinates"},
		{modal, "states", bytes(one, one, 0, one, one, 3), "states: the mode of state 1 is 3; there are modes 0 to 2"},
		{modal, "states", bytes(one, one, math.MaxUint32), "states: the mode of state 0 is -1; there are modes 0 to 2"},
		{modal, "states", bytes(one, one, 0, one, nan, 0), "states: coordinate 1 of state 1 is NaN"},
		{plain.Ensemble, "states", bytes(inf, one), "states: coordinate 0 of state 0 is -Inf"},
	} {
		_, _, err := c.e.toLearned(c.format, c.states)
		require.EqualError(t, err, c.want)
		require.EqualError(t, c.e.Refine(c.states, c.format, 0, 1), c.want)
		_, err = c.e.Energies(nil, c.format, c.states)
		require.EqualError(t, err, c.want)
		require.EqualError(t, c.e.Score(nil, nil, c.format, c.states), c.want)
	}
	for _, c := range []struct {
		e      *Ensemble
		dst    int
		format string
		want   string
	}{
		{plain.Ensemble, 8, "x", `format: "x" is not states`}, {modal, 8, "weighted", `format: "weighted" is not states or x`},
		{modal, 12, "x", "states: 12 bytes are not 1 states of 2 coordinates and a mode"}, {modal, 24, "states", "states: 12 bytes are not 2 states of 2 coordinates and a mode"},
	} {
		require.EqualError(t, c.e.Convert(make([]byte, c.dst), c.format, make([]byte, 12)), c.want)
	}
	require.EqualError(t, modal.Convert(make([]byte, 12), "states", make([]byte, 13)), "states: 13 bytes are not 1 states of 2 coordinates and a mode")
	_, err = modal.Energies(make([]float64, 3), "states", make([]byte, 24))
	require.EqualError(t, err, "states: there are 2 for 3 energies")
	require.ErrorContains(t, modal.Score(make([]float64, 3), nil, "states", make([]byte, 24)), "states: there are 2 for 3 values of 11 each")
	energies := make([]float64, 2)
	beta, err := modal.Energies(energies, "states", back)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0.875, 1.125}, append([]float64{beta}, energies...))
	require.NoError(t, modal.Refine(back, "states", 0, 0))
	require.ErrorContains(t, modal.Refine(back, "states", 1<<moveShift-1, 1), "not all among")

	var descriptions []string
	for _, e := range []*Ensemble{plain.Ensemble, modal, ensemble(t, many{1, 2})} {
		for _, f := range e.Formats() {
			descriptions = append(descriptions, fmt.Sprintf("%s %s %v %d %v: %s", f.Name, f.Descr, f.Shape, f.RowBytes, f.Unrefined, f.Doc))
		}
	}
	const means = "ln w = ln π − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w"
	require.Equal(t, []string{
		"states '<f4' [2] 8 false: the coordinates of x as float32",
		"weighted [('x', '<f4', (2,)), ('log_weight', '<f8')] [] 16 true: the coordinates of x as float32, and " + means,
		"states [('x', '<f4', (2,)), ('k', '<i4')] [] 12 false: the coordinates of x as float32 and the mode k = 0 … M−1 as int32",
		"x '<f4' [2] 8 false: the coordinates of x alone as float32",
		"weighted [('x', '<f4', (2,)), ('k', '<i4'), ('log_weight', '<f8')] [] 20 true: the coordinates of x as float32, the mode k as int32, and " + means,
		"states [('x', '<f4'), ('k', '<i4')] [] 8 false: the coordinates of x as float32 and the mode k = 0 … M−1 as int32",
		"x '<f4' [] 4 false: the coordinates of x alone as float32",
		"weighted [('x', '<f4'), ('k', '<i4'), ('log_weight', '<f8')] [] 16 true: the coordinates of x as float32, the mode k as int32, and " + means,
	}, descriptions)
}

// A sized target has so many coordinates.
type sized struct {
	gaussians
	dim int
}

func (s sized) Dim() int { return s.dim }

// TestRecipesOfKnownTargets sets what a target asks for that needs no look.
func TestRecipesOfKnownTargets(t *testing.T) {
	for _, c := range []struct {
		dim, components          int
		quick                    bool
		population, moves, steps int
		rate                     float64
	}{
		{2, 1, false, 2048, 10, 1500, 0.02}, {2, 3, true, 1024, 10, 600, 0.02}, {8, 3, false, 2048, 10, 1500, 0.02}, {9, 3, false, 2048, 11, 1500, 0.02},
		{64, 2, false, 2048, 80, 1500, 0.02}, {65, 1, false, 512, 10, 1000, 0.003}, {65, 1, true, 512, 10, 400, 0.003},
	} {
		of := paperConfig()
		of.Generator.Kind = "mixture"
		why, err := of.Recipe(t.Context(), sized{dim: c.dim}, Seen{Components: c.components, Width: 2}, c.quick)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("a mixture of %d Gaussians, because the target is one", c.components), why)
		require.Equal(t, GeneratorConfig{
			Kind: "mixture", Base: "joint", Components: c.components, Scout: mixture.ScoutConfig{Population: c.population, Moves: c.moves},
			Hidden: []int{32, 32}, Slope: 0.01, Gain: 0.01, Partition: "parity", Clamp: 3, Bend: 0.5,
		}, of.Generator)
		require.Equal(t, TransitionConfig{Sigma: mixture.Lengths(2, c.dim), Steps: 5, Annealing: engine.Annealing{AnnealFrom: 1}}, of.Transition)
		require.Equal(t, []any{"balance", 0.75, c.steps, c.rate, "gradient"}, []any{of.Loss.Kind, of.Loss.Partners, of.Training.Steps, of.Training.Optimizer.LearningRate, of.Training.Method})
	}
	unknown := paperConfig()
	unknown.Generator.Kind = "mixture"
	_, err := unknown.Recipe(t.Context(), plane(0.6), Seen{Components: 2}, false)
	require.NoError(t, err)
	require.Equal(t, mixture.Lengths(1, 2), unknown.Transition.Sigma)

	flow := paperConfig()
	why, err := flow.Recipe(t.Context(), sized{dim: 8}, Seen{}, false)
	require.NoError(t, err)
	require.Equal(t, "a RealNVP, as generator.kind asks", why)
	require.Equal(t, Paper("test").Generator, flow.Generator)
	require.Equal(t, []any{[]float64{0.15, 0.5, 1}, 10, "balance", 0.25, 3000, 512, 0.004}, []any{flow.Transition.Sigma, flow.Transition.Steps, flow.Loss.Kind, flow.Loss.Partners, flow.Training.Steps, flow.Training.Batch, flow.Training.Optimizer.LearningRate})
	ours := Ours("test", "quick")
	require.Equal(t, []any{"quick", "mixture", 0, "balance", 1500, 0.02}, []any{ours.Preset, ours.Generator.Kind, ours.Generator.Depth, ours.Loss.Kind, ours.Training.Steps, ours.Training.Optimizer.LearningRate})

	for _, c := range []struct {
		dim, modes int
		seen       Seen
		quick      bool
		population int
		across     float64
		partners   float64
		rate       float64
		steps      int
	}{
		{2, 1, Seen{1, false, 2}, false, 2048, 0, 0.9, 0.02, 3000}, {2, 3, Seen{3, true, 2}, true, 1024, 0.5, 0.5, 0.02, 1000},
		{2, manyModes, Seen{3, true, 2}, false, 2048, 0.5, 0.5, 0.02, 3000}, {2, manyModes + 1, Seen{3, false, 2}, false, 1024, 0.5, 0.9, 0.02, 3000},
		{16, 1, Seen{3, true, 2}, false, 2048, 0, 0.5, 0.02, 3000}, {6, manyModes + 1, Seen{3, true, 2}, false, 1024, 0.5, 0.5, 0.02, 3000},
		{17, 1, Seen{3, true, 2}, false, 512, 0, 0.5, 0.003, 1000}, {17, 5, Seen{3, true, 2}, true, 409, 0.5, 0.5, 0.003, 400}, // each mode has walkers of its own
		{64, 16, Seen{3, false, 2}, false, 128, 0.5, 0.9, 0.0001, 400}, {128, 3, Seen{3, false, 2}, true, 512, 0.5, 0.9, 0.000025, 400},
		{7, manyModes + 1, Seen{3, true, 2}, false, 128, 0.5, 0.5, 0.003, 1000},
	} {
		of := modalPaper()
		why, err := of.Recipe(t.Context(), many{c.dim, c.modes}, c.seen, c.quick)
		require.NoError(t, err)
		require.Equal(t, mixture.Name(c.seen.Components, fmt.Sprintf(" for each of %d modes", c.modes), c.seen.Bent)+" with a density", why)
		require.Equal(t, ModalTransition{Order: "random", Across: c.across, Sigma: mixture.Lengths(2, c.dim), Flip: 0.5, Steps: 3, Annealing: engine.Annealing{AnnealFrom: 1}}, of.Transition)
		require.Equal(t, []any{"mixture", c.seen.Components, c.seen.Bent, mixture.ScoutConfig{Population: c.population, Moves: 10}}, []any{of.Generator.Kind, of.Generator.Components, of.Generator.Bent, of.Generator.Scout})
		require.Equal(t, []any{"balance", c.partners, c.steps}, []any{of.Loss.Kind, of.Loss.Partners, of.Training.Steps})
		require.InEpsilon(t, c.rate, of.Training.Optimizer.LearningRate, 1e-12)
		of.Training.Optimizer.LearningRate = 1
		require.Equal(t, optim.AdamW{LearningRate: 1, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}, of.Training.Optimizer)
	}
}

// TestNames says in words what generators are.
func TestNames(t *testing.T) {
	for want, g := range map[string]GeneratorConfig{
		"3 residual perceptrons":    {Kind: "residual", Depth: 3},
		"a RealNVP of 8 couplings":  {Kind: "realnvp", Depth: 8},
		"a Gaussian":                {Kind: "mixture", Base: "joint", Components: 1},
		"a Gaussian, bent":          {Kind: "mixture", Base: "joint", Components: 1, Bent: true},
		"a mixture of 24 Gaussians": {Kind: "mixture", Base: "joint", Components: 24},
		"a mixture of 8 Gaussians for each coordinate, bent, through 1 couplings": {Kind: "mixture", Base: "product", Components: 8, Bent: true, Depth: 1},
	} {
		require.Equal(t, strings.ReplaceAll(want, ", through", " through"), g.name())
	}
	c := testConfigs()["mixture alone"]
	c.Loss.Partners, c.Loss.Reuse, c.Loss.Enough = 1, 3, 0.9
	require.Regexp(t, `^a mixture of 4 Gaussians, .*; a batch serves 4 steps and evaluates ln π 400 times; training stops early once the effective sample size reaches 0\.9 of the samples$`, c.Explain())
	c.Loss.Partners, c.Loss.Reuse, c.Loss.Enough, c.Transition.Steps = 0, 0, 0, 3
	require.Regexp(t, `; a step evaluates ln π 1600 times$`, c.Explain())
}

// onTheLine is a target of two wells, or of one Gaussian.
type onTheLine struct{ wells bool }

func (onTheLine) Dim() int { return 1 }
func (o onTheLine) LogDensity(dst, x []float32, _ []uint8) {
	for r, v := range x {
		if dst[r] = -v * v / 8; o.wells {
			dst[r] = -(v*v - 4) * (v*v - 4)
		}
	}
}

// TestRecipesOnTheLine look at a target of which nothing is known.
func TestRecipesOnTheLine(t *testing.T) {
	for wells, want := range map[bool]struct {
		why        string
		components int
		steps      int
	}{
		true:  {"a mixture of 24 Gaussians, because ln π is not quadratic where 1024 Metropolis chains found probability mass", 24, 1000},
		false: {"a Gaussian, because ln π is quadratic where 1024 Metropolis chains found probability mass", 1, 600},
	} {
		c := paperConfig()
		c.Generator.Kind = "mixture"
		why, err := c.Recipe(t.Context(), onTheLine{wells}, Seen{}, true)
		require.NoError(t, err)
		require.Equal(t, want.why, why)
		require.Equal(t, []any{want.components, 0, false, "joint", "parity", want.steps}, []any{c.Generator.Components, c.Generator.Depth, c.Generator.Bent, c.Generator.Base, c.Generator.Partition, c.Training.Steps})
		if !wells {
			require.InDelta(t, 2*2.4, c.Transition.Sigma[2], 0.5)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	c := paperConfig()
	c.Generator.Kind = "mixture"
	_, err := c.Recipe(ended, onTheLine{}, Seen{}, true)
	require.ErrorIs(t, err, context.Canceled)
}
