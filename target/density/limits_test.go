package density

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/target/density/expression"
)

// A formula is a target in Go, of so many modes, that may answer otherwise by the number of
// states that it is asked for.
type formula struct {
	dim, modes int
	moody      bool
	of         func(x []float32, k int) float64
}

func (f formula) Dim() int   { return f.dim }
func (f formula) Modes() int { return f.modes }
func (f formula) LogDensity(dst, x []float32, k []uint8) {
	for r := range dst {
		mode := 0
		if k != nil {
			mode = int(k[r])
		}
		if dst[r] = float32(f.of(x[r*f.dim:(r+1)*f.dim], mode)); f.moody {
			dst[r] += float32(len(dst))
		}
	}
}

func quadratic(x []float32, _ int) (sum float64) {
	for _, v := range x {
		sum -= float64(v) * float64(v) / 2
	}
	return sum
}

func bound(v float64) *float64 { return &v }

// TestCoordinates: places, slopes and inverses of each kind of support are those of its formula.
func TestCoordinates(t *testing.T) {
	probit := func(u float64) (share, slope float64) {
		return math.Erfc(-u/math.Sqrt2) / 2, math.Exp(-u*u/2) / math.Sqrt(2*math.Pi)
	}
	logit := func(u float64) (share, slope float64) {
		share = 1 / (1 + math.Exp(-u))
		return share, share * (1 - share)
	}
	t.Run("probit", func(t *testing.T) { testCoordinates(t, "probit", probit, 37) })
	t.Run("logit", func(t *testing.T) { testCoordinates(t, "logit", logit, 700) })
}

func testCoordinates(t *testing.T, link string, between func(u float64) (share, slope float64), beyond float64) {
	c := newChart(4, 2)
	require.NoError(t, c.setBounds([][2]*float64{{}, {bound(1), nil}, {nil, bound(-2)}, {bound(-1), bound(5)}}, link))
	shears := [][][]float64{nil, {{3}, {-2, 0.5}, {0, 1, -7}}}
	require.NoError(t, c.setHints("[0]", 0, []float64{0.5, 1, -1, 2}, []float64{2, 0.5, 3, 1.5}, shears[0]))
	require.NoError(t, c.setHints("[1]", 1, []float64{4}, []float64{0.25}, shears[1]))
	c.derive()
	require.InDeltaSlice(t, []float64{math.Log(2 * 0.5 * 3 * 1.5), 4 * math.Log(0.25)}, c.volumes, 1e-12)
	y := []float32{0.3, -0.7, 1.1, 0.2, -0.5, 0.6, 0.1, -2}
	x, volume := make([]float32, 8), make([]float64, 2)
	c.toTarget(x, volume, y, []uint8{1, 0})
	for r, mode := range []int{1, 0} {
		center, scale := [][]float64{{0.5, 1, -1, 2}, {4, 4, 4, 4}}[mode], [][]float64{{2, 0.5, 3, 1.5}, {0.25, 0.25, 0.25, 0.25}}[mode]
		var u [4]float64
		for i := range u {
			u[i] = center[i] + scale[i]*float64(y[4*r+i])
			if i > 0 && shears[mode] != nil {
				for j, v := range shears[mode][i-1] {
					u[i] += v * scale[j] * float64(y[4*r+j])
				}
			}
		}
		share, slope := between(u[3])
		want := []float64{u[0], 1 + math.Exp(u[1]), -2 - math.Exp(u[2]), -1 + 6*share}
		for i, v := range want {
			require.InEpsilon(t, v, x[4*r+i], 1e-6)
			m := c.coordinates([]uint8{uint8(mode)}, 0)[i]
			require.InDelta(t, y[4*r+i], m.invert(v, y[4*r:]), 1e-9)
		}
		require.InDelta(t, c.volumes[mode]+u[1]+u[2]+math.Log(6*slope), volume[r], 1e-9)
	}
	maps := c.coordinates(nil, 0)
	invert := func(i int, x float64) float64 { return maps[i].invert(x, nil) }
	require.True(t, math.IsNaN(invert(1, 0.5)) && math.IsNaN(invert(2, 0)) && math.IsNaN(invert(3, 6)))
	require.InDelta(t, (-700-1)/0.5, invert(1, 1), 1e-9)
	require.InDelta(t, (-700.+1)/3, invert(2, -2), 1e-9)
	require.InDelta(t, (beyond-2)/1.5, invert(3, 5), 1e-9)
	require.InDelta(t, (-beyond-2)/1.5, invert(3, -1), 1e-9)
	require.InDelta(t, (700-1)/0.5, invert(1, math.Inf(1)), 1e-9)

	require.Equal(t, []float32{1, math.Nextafter32(1, 2), math.Nextafter32(1, 2)}, []float32{nextAbove(1 - 1e-12), nextAbove(1), nextAbove(1 + 1e-12)})
	require.Equal(t, []float64{1. / (1 << 23), 1. / 1024, math.SmallestNonzeroFloat32}, []float64{spacing(-1), spacing(1e4), spacing(0)})
}

// TestLimits has what is just within each limit of a target, and what is just beyond.
func TestLimits(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	list := func(v ...float64) []float64 { return v }
	rows := func(v ...[]float64) [][]float64 { return v }
	pairs := func(v ...[2]*float64) [][2]*float64 { return v }
	type change = func(c *RealsConfig)
	program := func(c *RealsConfig) {
		c.Target.Kind, c.Target.Command, c.Target.TimeoutSeconds = "program", []string{"cat"}, 1
	}
	with := func(first, then change) change { return func(c *RealsConfig) { first(c); then(c) } }
	for _, c := range []struct {
		within, beyond change
		want           string
	}{
		{nil, func(c *RealsConfig) { c.Target.Kind = "luck" }, `target.kind: "luck" is not one of expression, program, go`},
		{nil, func(c *RealsConfig) { c.Target.Kind = "go" }, "target.kind: this program was built without a target in Go for reals; take expression or program"},
		{func(c *RealsConfig) { c.Target.Dim = 1 << 14 }, func(c *RealsConfig) { c.Target.Dim = 1<<14 + 1 }, "target.dim: 16385 is not between 1 and 16384"},
		{func(c *RealsConfig) { c.Target.Dim, c.Target.Expression = 1, "-x[0]^2" }, func(c *RealsConfig) { c.Target.Dim = 0 }, "target.dim: 0 is not between 1 and 16384"},
		{nil, func(c *RealsConfig) { c.Target.Expression = "y" }, "target.expression: column 1, at y: unknown name y"},
		{nil, func(c *RealsConfig) { c.Target.Parameters["exp"] = expression.Number(1) }, `target.parameters.exp: "exp" has a meaning of its own in expressions; take another name`},
		{nil, func(c *RealsConfig) { c.Target.Parameters["none"] = expression.Vector() }, "target.parameters.none: 0 numbers; there may be 1 to 1048576"},
		{program, with(program, func(c *RealsConfig) { c.Target.Command = nil }), "target.command: the list is empty; it is the program and its arguments, [\"python3\", \"target.py\"] say"},
		{program, with(program, func(c *RealsConfig) { c.Target.Command = []string{"", "x"} }), "target.command: the list is empty"},
		{with(program, func(c *RealsConfig) { c.Target.TimeoutSeconds = 1e6 }), with(program, func(c *RealsConfig) { c.Target.TimeoutSeconds = 1.001e6 }), "target.timeout_seconds: 1.001e+06 is not between 0 and 1e+06"},
		{program, with(program, func(c *RealsConfig) { c.Target.TimeoutSeconds = 0 }), "target.timeout_seconds: 0 is not between 0 and 1e+06"},
		{func(c *RealsConfig) { c.Target.Support = pairs([2]*float64{}, [2]*float64{}) }, func(c *RealsConfig) { c.Target.Support = pairs([2]*float64{}, [2]*float64{}, [2]*float64{}) }, "target.support: 3 pairs for 2 coordinates; give one for each, or one for all"},
		{func(c *RealsConfig) { c.Target.Support = pairs([2]*float64{bound(1), bound(2)}) }, func(c *RealsConfig) { c.Target.Support = pairs([2]*float64{}, [2]*float64{bound(2), bound(2)}) }, "target.support[1]: 2 is not below 2"},
		{func(c *RealsConfig) { c.Target.Support = pairs([2]*float64{bound(1), bound(1 + 0x1p-22)}) }, func(c *RealsConfig) { c.Target.Support = pairs([2]*float64{bound(1), bound(1 + 0x1p-23)}) }, "target.support[0]: states are float32, of which none is between 1 and 1.0000001192092896"},
		{func(c *RealsConfig) { c.Target.Center = list(1) }, func(c *RealsConfig) { c.Target.Center = list(1, 2, 3) }, "target.center: 3 numbers for 2 coordinates; give one for each, or one for all"},
		{func(c *RealsConfig) { c.Target.Center, c.Target.Scale = list(1), list(1) }, func(c *RealsConfig) { c.Target.Center, c.Target.Scale = list(1, 2, 3), list(1, 2, 3) }, "target.center: 3 numbers for 2 coordinates"},
		{func(c *RealsConfig) { c.Target.Scale = list(1, 2) }, func(c *RealsConfig) { c.Target.Scale = list(1, 2, 3) }, "target.scale: 3 numbers for 2 coordinates; give one for each, or one for all"},
		{func(c *RealsConfig) { c.Target.Center = list(0, -1e30) }, func(c *RealsConfig) { c.Target.Center = list(0, -1.001e30) }, "target.center[1]: -1.001e+30 is beyond 1e30"},
		{nil, func(c *RealsConfig) { c.Target.Center = list(math.NaN()) }, "target.center[0]: NaN is beyond 1e30"},
		{func(c *RealsConfig) { c.Target.Scale = list(1e-30) }, func(c *RealsConfig) { c.Target.Scale = list(1, 0.999e-30) }, "target.scale[1]: 9.99e-31 is not between 1e-30 and 1e30"},
		{func(c *RealsConfig) { c.Target.Scale = list(1e30) }, func(c *RealsConfig) { c.Target.Scale = list(1.001e30) }, "target.scale[0]: 1.001e+30 is not between 1e-30 and 1e30"},
		{func(c *RealsConfig) { c.Target.Shear = rows(list(-1e30)) }, func(c *RealsConfig) { c.Target.Shear = rows(list(1.001e30)) }, "target.shear[0][0]: 1.001e+30 is beyond 1e30"},
		{nil, func(c *RealsConfig) { c.Target.Shear = rows(list(), list(1)) }, "target.shear: 2 rows for 2 coordinates; give one for each but the first, or none"},
		{nil, func(c *RealsConfig) { c.Target.Shear = rows(list(1, 2)) }, "target.shear[0]: 2 numbers, and there are 1 coordinates before the one that it is of"},
		{nil, func(c *RealsConfig) { c.Target.Scale = list(0) }, "target.scale[0]: 0 is not between 1e-30 and 1e30"},
		{func(c *RealsConfig) { c.Target.Center, c.Target.Scale = list(1e4), list(1./512) }, func(c *RealsConfig) { c.Target.Center, c.Target.Scale = list(1e4), list(1./513) }, "target.scale[0]: 0.001949317738791423 is too little about 10000: states are float32, which are 0.00098 apart there; let the coordinate be the distance from 10000, and add that in ln π"},
		{func(c *RealsConfig) {
			c.Target.Support = pairs([2]*float64{bound(0), nil})
			c.Target.Center, c.Target.Scale = list(1e4), list(1./513)
		}, nil, ""},
	} {
		problem := func(f change) error {
			of := realsPreset(&origin{name: "reals"}, ring(), "paper")
			if f != nil {
				f(of)
			}
			p, err := of.problem(1)
			if err == nil {
				require.NoError(t, p.Close())
			}
			return err
		}
		require.NoError(t, problem(c.within), c.want)
		if c.beyond != nil {
			require.ErrorContains(t, problem(c.beyond), c.want)
			of := realsPreset(&origin{name: "reals"}, ring(), "paper")
			c.beyond(of)
			_, err := of.New(workers)
			require.ErrorContains(t, err, c.want)
		}
	}
	for _, c := range []struct {
		change func(c *MixedTarget)
		want   string
	}{
		{func(c *MixedTarget) { c.Modes = 0 }, "target.modes: 0 is not between 1 and 256"}, {func(c *MixedTarget) { c.Modes = 257 }, "target.modes: 257 is not between 1 and 256"},
		{func(c *MixedTarget) { c.Center, c.Scale = [][]float64{{1}, {2}}, [][]float64{{1}} }, "target.center: 2 lists for 3 modes"},
		{func(c *MixedTarget) { c.Center = [][]float64{{1}, {2}} }, "target.center: 2 lists for 3 modes"}, {func(c *MixedTarget) { c.Scale = [][]float64{{1}} }, "target.scale: 1 lists for 3 modes"},
		{func(c *MixedTarget) { c.Scale = [][]float64{{1}, {2}, {-1}} }, "target.scale[2][0]: -1 is not between 1e-30 and 1e30"},
		{func(c *MixedTarget) { c.Center = [][]float64{{1}, {2, 3}, {1}} }, "target.center[1]: 2 numbers for 1 coordinates; give one for each, or one for all"},
		{func(c *MixedTarget) { c.Expression = "mu[k" }, "target.expression: column 5: the expression ends too early"},
	} {
		target := wells()
		c.change(&target)
		_, err := mixedPreset(&origin{name: "mixed"}, target, "paper").New(workers)
		require.ErrorContains(t, err, c.want)
	}
	plain, modal := formula{dim: 2, of: quadratic}, formula{dim: 2, modes: 3, of: quadratic}
	for _, c := range []struct {
		target formula
		change func(c *TargetConfig)
		want   string
	}{
		{plain, func(c *TargetConfig) { c.Kind = "expression" }, "kind: mine is a target in Go; leave it at go"},
		{plain, func(c *TargetConfig) { c.Dim = 3 }, "dim: 3, and the states of mine have 2 coordinates"}, {modal, func(*TargetConfig) {}, "modes: 0, and mine has 3"},
	} {
		of := newTarget("go", 2)
		c.change(&of)
		_, err := of.problem(0, 1, &origin{name: "mine", target: c.target})
		require.EqualError(t, err, c.want)
	}
}

// TestDefinitions of targets in Go have the hints that come with them, and describe themselves.
func TestDefinitions(t *testing.T) {
	inf := math.Inf(1)
	d := Reals("mine", "a target", formula{dim: 2, of: quadratic}, Hints{Center: []float64{1, 2}, Scale: []float64{3}, Support: [][2]float64{{0, inf}, {-inf, 5}}})
	cfg, err := d.Preset("paper")
	require.NoError(t, err)
	c := cfg.(*RealsConfig)
	require.Equal(t, []any{[]float64{1, 2}, []float64{3}, "go", 2, 60.0}, []any{c.Target.Center, c.Target.Scale, c.Target.Kind, c.Target.Dim, c.Target.TimeoutSeconds})
	require.Equal(t, [][2]*float64{{bound(0), nil}, {nil, bound(5)}}, c.Target.Support)
	require.Equal(t, "mine, ln π of 2 coordinates in Go", c.Describe())
	_, err = d.Preset("better")
	require.ErrorContains(t, err, `preset: "better" is not one of `)

	d = Mixed("mine", "a target", formula{dim: 1, modes: 2, of: quadratic}, MixedHints{Center: [][]float64{{1}, {2}}, Scale: [][]float64{{3}, {4}}, Support: [][2]float64{{0, inf}}})
	cfg, err = d.Preset("paper")
	require.NoError(t, err)
	m := cfg.(*MixedConfig)
	require.Equal(t, []any{2, [][]float64{{1}, {2}}, [][]float64{{3}, {4}}, [][2]*float64{{bound(0), nil}}}, []any{m.Target.Modes, m.Target.Center, m.Target.Scale, m.Target.Support})
	require.Equal(t, "mine, ln π of 1 coordinates and 2 modes in Go", m.Describe())
	r := realsPreset(&origin{name: "reals"}, ring(), "paper")
	require.Equal(t, "ln π of 2 coordinates = "+r.Target.Expression, r.Describe())
	r.Target.Kind, r.Target.Command = "program", []string{"python3", "t.py"}
	require.Equal(t, "ln π of 2 coordinates by the program python3 t.py", r.Describe())
	r.Target.Dim = 0
	require.Nil(t, r.Demands())
	bad := mixedPreset(&origin{name: "mixed"}, wells(), "paper")
	bad.Target.Dim = 0
	require.Nil(t, bad.Demands())
}

// TestChecks: every check of a target passes of those that presets have, and one that answers
// otherwise by how many states it is asked for fails.
func TestChecks(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, d := range []engine.Definition{RealsDefinition, MixedDefinition, Reals("mine", "", formula{dim: 2, of: quadratic}), Reals("moody", "", formula{dim: 2, moody: true, of: quadratic})} {
		var checks []engine.Check
		require.NoError(t, d.Verify(t.Context(), workers, func(c engine.Check) { checks = append(checks, c) }))
		want := []string{"target.alone", "target.volume", "target.inverse", "target.expression"}
		if d.Name == "mine" || d.Name == "moody" {
			want = want[:3]
		}
		var names []string
		for _, c := range checks {
			names = append(names, c.Name)
			require.Equal(t, c.Name != "target.alone" || d.Name != "moody", c.OK, "%s: %+v", d.Name, c)
			if !c.OK {
				require.Equal(t, 64.0, c.Value)
			}
		}
		require.Equal(t, want, names)
		require.Contains(t, checks[1].Detail, fmt.Sprintf("of %d coordinates", map[string]int{"mixed": 3}[d.Name]+2*map[bool]int{true: 1}[d.Name != "mixed"]))
	}
}

// TestPilotFigures computes what a pilot makes of its states.
func TestPilotFigures(t *testing.T) {
	const d, n = 3, 40
	random := rand.New(rand.NewPCG(1, 2))
	w := &pilotWalk{e: &evaluation{problem: &problem{dim: d}}, scale: []float64{1, 2, 1e9}, shape: make([]float64, d*(d+1)/2)}
	columns := make([][]float64, d)
	for range n {
		u := random.NormFloat64()
		for i := range d {
			v := float64(float32(float64(i) + float64(i+1)*(u+random.NormFloat64())))
			w.lastRound, columns[i] = append(w.lastRound, float32(v)), append(columns[i], v)
		}
	}
	var scales []float64
	for i, column := range columns {
		sorted := slices.Sorted(slices.Values(column))
		low, high := quantiles(w.lastRound, i, d)
		require.Equal(t, []float64{sorted[4], sorted[35]}, []float64{low, high})
		scales = append(scales, (high-low)/(2*1.2816))
	}
	at := w.locate()
	for i := range d {
		require.InDelta(t, scales[i], at.scale[i], 1e-12)
		low, high := quantiles(w.lastRound, i, d)
		require.InDelta(t, (low+high)/2, at.center[i], 1e-12)
	}
	growth, fall := w.adapt()
	require.InDelta(t, max(scales[0], scales[1]/2), growth, 1e-12)
	require.InDelta(t, 0.05, fall, 1e-12)
	scales[2] = 0.05e9
	require.InDeltaSlice(t, scales, w.scale, 1e-9)
	means := make([]float64, d)
	for i := range d {
		for r := range n {
			means[i] += columns[i][r] / n
		}
	}
	require.InDeltaSlice(t, means, w.mean, 1e-6)
	covariance := mat.NewSymDense(d, nil)
	for r := range n {
		off := make([]float64, d)
		for i := range d {
			off[i] = (columns[i][r] - means[i]) / scales[i]
		}
		by := 1.0
		for _, v := range off {
			by = min(by, 4/math.Abs(v))
		}
		for i := range d {
			for j := range i + 1 {
				covariance.SetSym(i, j, covariance.At(i, j)+by*by*off[i]*off[j]/n)
			}
		}
	}
	factor := mat.NewTriDense(d, mat.Lower, nil)
	for i := range d {
		for j := range i + 1 {
			factor.SetTri(i, j, w.shape[i*(i+1)/2+j])
		}
	}
	var product mat.Dense
	product.Mul(factor, factor.T())
	for i := range 2 { // the third is so narrow that rounding counts
		for j := range i + 1 {
			require.InDelta(t, covariance.At(i, j), product.At(i, j), 1e-12)
		}
	}
	require.InDelta(t, 1e-6, factor.At(2, 2), 1e-9, "at least")
	z := []float32{1, -2, 0.5, 0.25, 1, 2}
	want := make([]float64, 6)
	for r := range 2 {
		for i := range d {
			for j := range i + 1 {
				want[r*d+i] += factor.At(i, j) * float64(z[r*d+j])
			}
		}
	}
	w.applyShape(z)
	for i, v := range want {
		require.InDelta(t, v, z[i], 1e-6)
	}

	for _, c := range []struct {
		at            location
		center, scale []float64
	}{
		{location{center: []float64{0.29, -0.29}, scale: []float64{1, 1.3}}, []float64{}, []float64{1.14}},
		{location{center: []float64{0.31, 0}, scale: []float64{1, 1.31}}, []float64{0.31, 0}, []float64{1, 1.31}},
		{location{center: []float64{12345.678, 0}, scale: []float64{1e4, 1e4}}, []float64{12300, 0}, []float64{10000}},
		{location{center: []float64{12345.678, 0}, scale: []float64{0.1, 1}}, []float64{12345.7, 0}, []float64{0.1, 1}},
		{location{center: []float64{1234.5678}, scale: []float64{1.23456}}, []float64{1234.6}, []float64{1.23}},
	} {
		center, scale := c.at.rounded()
		require.InDeltaSlice(t, c.center, center, 1e-9)
		require.Len(t, center, len(c.center))
		require.InDeltaSlice(t, c.scale, scale, 1e-9)
	}
}

// walking is a pilot of a target in Go at its beginning.
func walking(t *testing.T, f formula, mode int) *pilotWalk {
	of := newTarget("go", f.dim)
	p, err := of.problem(f.modes, 1, &origin{name: "mine", target: f})
	require.NoError(t, err)
	p.chart.derive()
	w := &pilotWalk{
		e: p.evaluation(), mode: mode, x: make([]float32, pilotChains*f.dim), proposal: make([]float32, pilotChains*f.dim), scale: make([]float64, f.dim), stepFactor: [2]float64{0.5, 0.7},
		logPi: make([]float64, pilotChains), proposalLogPi: make([]float64, pilotChains), uniforms: make([]float32, pilotChains),
	}
	if f.modes > 0 {
		w.k = slices.Repeat([]uint8{uint8(mode)}, pilotChains)
	}
	return w
}

// TestPilotSteps: chains begin at the first reach with weight, and take Metropolis steps whose
// length follows how many are accepted.
func TestPilotSteps(t *testing.T) {
	const d, mode = 2, 1
	ring := func(x []float32, _ int) float64 { // none within 5 of the origin
		if r := math.Hypot(float64(x[0]), float64(x[1])); r > 5 {
			return -r
		}
		return math.Inf(-1)
	}
	w := walking(t, formula{dim: d, modes: 3, of: ring}, mode)
	require.NoError(t, w.begin())
	c := rng.Stream(0x70, rng.ChainStart, mode<<16|2)
	z := make([]float32, pilotChains*d)
	rng.Normals(z, d, &c, 0)
	var inside []int
	for i := range z {
		z[i] *= 10
	}
	for r := range pilotChains {
		if ring(z[r*d:], 0) > math.Inf(-1) {
			inside = append(inside, r)
		}
	}
	for r := range pilotChains {
		from := r
		if !slices.Contains(inside, r) {
			from = inside[r%len(inside)]
		}
		require.Equal(t, z[from*d:(from+1)*d], w.x[r*d:(r+1)*d])
		require.InDelta(t, ring(z[from*d:], 0), w.logPi[r], 1e-5)
	}
	require.Equal(t, []float64{10, 10}, w.scale)
	w.shape = []float64{1, 0.5, 2}
	for taken := range 4 {
		x, current, factor := slices.Clone(w.x), slices.Clone(w.logPi), w.stepFactor
		c := rng.Stream(0x70, rng.ChainTransition, mode<<16|uint32(taken))
		z, u := make([]float32, pilotChains*d), make([]float32, pilotChains)
		rng.Normals(z, d, &c, 0)
		asm.Uniforms(u, &c, 1<<63)
		kind := taken % 2
		if kind == 1 {
			w.applyShape(z)
		}
		accepted := 0
		for r := range pilotChains {
			to := make([]float32, d)
			for i := range to {
				to[i] = x[r*d+i] + float32(factor[kind]*10)*z[r*d+i]
			}
			next := float64(float32(ring(to, 0)))
			if float64(u[r]) < math.Exp(next-current[r]) {
				accepted++
				copy(x[r*d:], to)
				current[r] = next
			}
		}
		factor[kind] *= math.Exp(0.5 * (float64(accepted)/64 - 0.3))
		require.NoError(t, w.step())
		require.Equal(t, x, w.x)
		require.InDeltaSlice(t, factor[:], w.stepFactor[:], 1e-12)
		require.True(t, 0 < accepted && accepted < pilotChains)
	}
	none := walking(t, formula{dim: d, modes: 3, of: func([]float32, int) float64 { return math.Inf(-1) }}, mode)
	require.EqualError(t, none.begin(), "target: ln π is −∞ at all of 832 states about the origin, near and far in mode 1; say where it is finite with target.center and target.scale, or bound the coordinates with target.support")
	endless := walking(t, formula{dim: d, of: func([]float32, int) float64 { return 0 }}, 0)
	require.NoError(t, endless.begin())
	endless.scale = []float64{1e14, 1}
	endless.stepFactor[0] = 9
	require.ErrorContains(t, endless.step(), "target: π cannot be normalised: chains drift away without end, after 1 steps to x = [")
	_, err := endless.e.pilot(context.Background(), 0, false)
	require.ErrorContains(t, err, "cannot be normalised")
}

// TestComparisons: rows are averages of samples beside those of chains, and warnings say what is far,
// what is lost, and where chains are no reference.
func TestComparisons(t *testing.T) {
	const draws, n, width = 100, 20_000, 4
	random := rand.New(rand.NewPCG(3, 4))
	fill := func(rows int, upper, mean float64, split func(row int) float64) (values []float64) {
		for r := range rows {
			k := 0.0
			if random.Float64() < upper {
				k = 1
			}
			x := mean + random.NormFloat64() + split(r)
			values = append(values, 1-k, k, x, -x*x/2)
		}
		return values
	}
	same := func(int) float64 { return 0 }
	for _, c := range []struct {
		name            string
		upper, mean     float64
		split           func(row int) float64
		kept            int
		warnings        []string
		lost, unsettled bool
	}{
		{"the same", 0.5, 0, same, referenceChains, nil, false, false},
		{"fewer chains", 0.5, 0, same, referenceChains / 2, nil, false, false},
		{"few chains", 0.5, 0, same, referenceChains/2 - 1, []string{"65 of 128 reference chains found no state where ln π is finite; they are left out"}, false, false},
		{"a mode that is lost", 0.09, 0, same, referenceChains, []string{"mode 1 is all but lost: its weight is 0.", "mode_weight_0 is 0.9", "mode_weight_1 is 0."}, true, false},
		{"a mode that is hardly lost", 0.11, 0, same, referenceChains, []string{"mode_weight_0 is 0.8", "mode_weight_1 is 0.1"}, false, false},
		{"far, and seen", 0.5, 0.12, same, referenceChains, []string{"mean_x0 is 0.1"}, false, false},
		{"far, but little", 0.5, 0.08, same, referenceChains, nil, false, false},
		{"chains apart", 0.5, 9, func(r int) float64 { return 3 * float64(r%2) }, referenceChains, []string{"no reference: the reference chains have not converged (R̂ = "}, false, true},
	} {
		s := &system{System: &vectors.System{Ensemble: &vectors.Ensemble{}}, names: []string{"mode_weight_0", "mode_weight_1", "x0", "log_density"}}
		s.reference = &reference{chains: c.kept, width: width, values: fill(c.kept*draws, 0.5, 0, c.split)}
		s.values = fill(n, c.upper, c.mean, same)
		out, err := s.tabulate(nil, nil)
		require.NoError(t, err)
		require.Equal(t, n, out.Samples)
		require.Len(t, out.Warnings, len(c.warnings), "%s: %v", c.name, out.Warnings)
		for i, want := range c.warnings {
			require.Contains(t, out.Warnings[i], want, c.name)
		}
		require.Equal(t, c.lost, len(out.Lost) == 1, c.name)
		var names []string
		for _, m := range out.Metrics {
			names = append(names, m.Name)
			require.Equal(t, c.unsettled, m.Unsettled)
			require.Nil(t, m.Reweighted)
		}
		require.Equal(t, []string{"mode_weight_0", "mode_weight_1", "mean_x0", "variance_x0", "mean_log_density", "variance_log_density"}, names)
		for i, m := range out.Metrics {
			if c.name != "the same" && c.name != "far, and seen" {
				break
			}
			column, centre := []int{0, 1, 2, 2, 3, 3}[i], 0.0
			chain, sample := lists.Column(s.reference.values, column, width), lists.Column(s.values, column, width)
			if i == 3 || i == 5 {
				centre = stat.Chains(chain, c.kept).Mean
				for _, list := range [][]float64{chain, sample} {
					for j, v := range list {
						list[j] = (v - centre) * (v - centre)
					}
				}
			}
			want := stat.Chains(chain, c.kept)
			var mean stat.Mean
			for _, v := range sample {
				mean.Add(v)
			}
			require.Equal(t, []float64{want.Mean, want.StandardError, mean.Value()}, []float64{m.Exact, m.Uncertainty, m.Generated}, m.Name)
			require.InEpsilon(t, math.Sqrt(2/math.Pi)*want.Deviation/math.Sqrt(n), m.Floor, 1e-9)
			require.InDelta(t, math.Abs(want.Mean-mean.Value()), m.Error, 1e-12)
		}
		if c.name == "far, and seen" {
			chain := stat.Chains(lists.Column(s.reference.values, 2, width), c.kept)
			m := out.Metrics[2]
			var mean stat.Mean
			for _, v := range lists.Column(s.values, 2, width) {
				mean.Add(v)
			}
			require.Equal(t, fmt.Sprintf("mean_x0 is %.3g where the chains have %.3g: off by %.2g standard errors, and by %.2g of the deviation of a state",
				m.Generated, m.Exact, m.Error/math.Hypot(mean.StandardError(), chain.StandardError), m.Error/chain.Deviation), out.Warnings[0])
		}
		// Some samples without weight, and no chains that found any.
		for i := range n / 4 {
			s.values[width*i+3] = math.Inf(-1)
		}
		s.reference.chains = 0
		out, err = s.tabulate(nil, nil)
		require.NoError(t, err)
		require.Empty(t, out.Metrics)
		require.Equal(t, []string{
			"there is no reference: none of 128 chains found a state where ln π is finite; say where the weight is with target.center and target.scale",
			"ln π is −∞ at 25 % of the samples; the rows about ln π leave them out",
		}, out.Warnings)
	}
	// The share of samples beyond what chains ever had, of any observable.
	s := &system{names: []string{"a", "b", engine.LogWeight}, reference: &reference{width: 2, values: []float64{0, 5, 1, 6, 0.5, 7}}}
	require.Equal(t, 0.5, s.shareOutside([]float64{0, 5, 99, 1, 7, -99, -0.1, 6, 0, 0.5, 7.1, 0}))

	// Weights that are worth less than a tenth of the samples are warned of.
	for _, c := range []struct {
		heavy int
		warns bool
	}{{100, false}, {99, true}} {
		r := make([]float64, 1000)
		for i := range r {
			if r[i] = 60; i < c.heavy {
				r[i] = 0
			}
		}
		weights := measure.NewReweighing(r)
		out := &measure.Evaluation{Samples: 1000}
		addImportance(out, r, weights)
		require.Equal(t, &weights.Weights, out.Weights)
		require.Len(t, out.Metrics, 2)
		if c.warns {
			require.Equal(t, []string{"the effective size of 1000 weighted samples is 99: the generator is far from the target, or lacks its tails"}, out.Warnings)
		} else {
			require.LessOrEqual(t, math.Abs(weights.EffectiveSize-0.1), 1e-9)
		}
	}
}
