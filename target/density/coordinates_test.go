package density

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// TestLikelihoodAtWall: ln π of the target may be highest at a wall; of what is learned it falls
// towards it as the weight that is left does.
func TestLikelihoodAtWall(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "paper", "target.dim=1", "target.parameters={}", "target.expression=12*x[0]", "target.support=[[0,1]]",
		"generator.kind=mixture", "generator.components=1", "generator.depth=0", "training.optimizer.weight_decay=0", "loss.kind=balance")
	s, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	x := []float32{0.9, 0.99, 0.9999}
	values := make([]float64, len(x)*len(s.(*system).names))
	_, logs, err := s.(*system).Likelihoods(values, params, s.(*system).Formats()[0].Name, asm.Bytes(x), nil)
	require.NoError(t, err)
	for i, v := range x {
		u, first := mathext.NormalQuantile(float64(v)), mathext.NormalQuantile(0.9)
		require.InDelta(t, 12*(float64(v)-0.9)-(u*u-first*first)/2, logs[i]-logs[0], 1e-3)
	}
	require.Less(t, logs[2], logs[0])
	// What has been observed is not evaluated again.
	asked := new(engine.Tally)
	s.(engine.Counted).Count(asked)
	stride := len(s.(*system).names)
	_, again, err := s.(*system).Likelihoods(make([]float64, len(values)), params, s.(*system).Formats()[0].Name, asm.Bytes(x), lists.Column(values, s.(*system).column("log_density"), stride))
	require.NoError(t, err)
	require.InDeltaSlice(t, logs, again, 1e-9)
	require.Zero(t, asked.Evaluations())
}

// TestInside: however far out on the line, a state is between its bounds and on none, so
// that ln π is asked for inside alone.
func TestInside(t *testing.T) {
	bound := func(v float64) *float64 { return &v }
	for _, pair := range [][2]*float64{
		{bound(0), nil}, {nil, bound(0)}, {bound(0.1), nil}, {nil, bound(0.3)}, {bound(-1e9), nil},
		{bound(0), bound(1)}, {bound(-0.1), bound(0.7)}, {bound(1), bound(1.000001)},
	} {
		for _, link := range []string{"probit", "logit"} {
			c := newChart(1, 1)
			require.NoError(t, c.setBounds([][2]*float64{pair}, link))
			for y := -1000.0; y <= 1000; y += 0.37 {
				x, volume := []float32{0}, []float64{0}
				c.toTarget(x, volume, []float32{float32(y)}, nil)
				require.True(t, pair[0] == nil || float64(x[0]) > *pair[0], y)
				require.True(t, pair[1] == nil || float64(x[0]) < *pair[1], y)
				require.True(t, volume[0] <= 1000, y) // a number, or −∞
			}
		}
	}
}

// TestShear: energies are those of ln π, whatever ridges and bounds there are between the target's
// coordinates and those that are learned, and the way there and back ends where it began.
func TestShear(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	cfg := configure(t, MixedDefinition, "paper", "target.dim=3", "target.modes=2", "target.parameters={}", "target.support=[[null,null],[0,null],[-1,1]]",
		"target.expression=-sum(x^2)/2 - k*x[0] - 2*log(x[1])", "target.center=[[1,0,0],[0,-1,0.5]]", "target.scale=[[2,0.5,1],[3,0.1,0.2]]", "target.shear=[[],[[2],[-1,0.5]]]")
	s, err := cfg.New(workers)
	require.NoError(t, err)
	scorer := s.(engine.Scorer)
	format := s.(*system).Formats()[0]
	x := []float32{0.5, 1.5, 0.25, -2, 0.125, -0.75, 3, 20, 0.875, 0.1, 1, 0}
	k := []int32{0, 1, 1, 0}
	states, want := []byte{}, make([]float64, len(k))
	for r, mode := range k {
		row := x[3*r:][:3]
		states = append(append(states, asm.Bytes(row)...), asm.Bytes([]int32{mode})...)
		for _, v := range row {
			want[r] += float64(v) * float64(v) / 2
		}
		want[r] += float64(mode)*float64(row[0]) + 2*math.Log(float64(row[1]))
	}
	energies := make([]float64, len(k))
	_, err = scorer.Energies(energies, format.Name, states)
	require.NoError(t, err)
	for r := range want {
		require.InDelta(t, want[r]-want[0], energies[r]-energies[0], 1e-5)
	}
	learned := vectors.States{Dim: 3, X: slices.Clone(x), K: []uint8{0, 1, 1, 0}}
	p := s.(*system).problem
	_, err = p.ToLearned(learned)
	require.NoError(t, err)
	for _, c := range []struct {
		at   int
		x    float32
		want string
	}{{1, -1, "states: coordinate 1 of state 0 is -1, outside the target's support"}, {8, 1.5, "states: coordinate 2 of state 2 is 1.5, outside the target's support"}} {
		outside := vectors.States{Dim: 3, X: slices.Clone(x), K: []uint8{0, 1, 1, 0}}
		outside.X[c.at] = c.x
		_, err = p.ToLearned(outside)
		require.EqualError(t, err, c.want)
	}
	shown, _ := p.ToTarget(learned)
	for i, v := range x {
		require.InDelta(t, v, shown.X[i], 1e-5)
	}
}
